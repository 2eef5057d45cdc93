//! Finds run folders, and changes since the last scan.

use gage_core::FileFingerprint;
use gage_record::format::{LOCK_FILE, MANIFEST_FILE, SUMMARY_FILE};
use gage_record::{MissingManifest, RunFolder};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunPosition {
    /// Name in the folder of runs.
    pub(crate) name: String,
    /// The path.
    pub(crate) path: PathBuf,
    /// Changes whenever the folder, or a file that is read from it, is rewritten.
    pub(crate) fingerprint: String,
}

/// Returns all run folders in a folder. Names that start with a dot are skipped: they are being deleted.
pub(crate) fn scan(root: &Path) -> io::Result<Vec<RunPosition>> {
    let mut places = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        // Run names are valid UTF-8.
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        if name.starts_with('.') || !is_run(&path) {
            continue;
        }
        let fingerprint = fingerprint(&path);
        places.push(RunPosition { name, path, fingerprint });
    }
    Ok(places)
}

/// Returns true for the folder of a run, or of one without its manifest.
fn is_run(path: &Path) -> bool {
    RunFolder::has_manifest(path) || MissingManifest::of(path) == MissingManifest::Lost
}

/// Returns true if a folder contains a run.
pub(crate) fn has_runs(root: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(root)? {
        if is_run(&entry?.path()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Computes the fingerprint. Files are replaced by renaming, so new content has a new inode; without inodes, the time
/// and the length are used. A new file changes the modification time of the folder.
///
/// An index may have come with the runs, in an archive. The time of the last change of the inode is the one part that no
/// archive sets, so that such an index knows no fingerprint of this machine.
fn fingerprint(folder: &Path) -> String {
    let files = [MANIFEST_FILE, SUMMARY_FILE, LOCK_FILE].map(|name| folder.join(name).symlink_metadata());
    let parts = files.into_iter().chain([fs::metadata(folder)]);
    let of = |data: &Metadata| format!("{:?} {:?}", FileFingerprint::of(data), inode_changed(data));
    let parts: Vec<String> = parts.map(|data| data.as_ref().map_or_else(|_| "-".to_owned(), of)).collect();
    parts.join(" ")
}

/// Returns the time at which the inode of a file changed last, in seconds and nanoseconds since 1970.
#[cfg(unix)]
fn inode_changed(data: &Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (data.ctime(), data.ctime_nsec())
}

#[cfg(not(unix))]
fn inode_changed(_: &Metadata) -> (i64, i64) {
    (0, 0)
}

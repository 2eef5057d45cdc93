//! Scan for run folders, and for changes since the last scan.

use gage_core::FileFingerprint;
use gage_record::MissingManifest;
use gage_record::format::{LOCK_FILE, MANIFEST_FILE, SUMMARY_FILE};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunPosition {
    /// The name in the folder of runs.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Another text whenever the folder or one of the files that are read from it was written again.
    pub(crate) fingerprint: String,
}

/// All run folders in a folder, without those whose names begin with a point: they are being deleted.
pub(crate) fn scan(root: &Path) -> io::Result<Vec<RunPosition>> {
    let mut places = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        // A name that is no text cannot be that of a run.
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        if name.starts_with('.') || !is_run(&path) {
            continue;
        }
        let fingerprint = fingerprint(&path);
        places.push(RunPosition { name, path, fingerprint });
    }
    Ok(places)
}

/// Returns whether a folder is that of a run, or of one that has lost its manifest.
fn is_run(path: &Path) -> bool {
    path.join(MANIFEST_FILE).is_file() || MissingManifest::of(path) == MissingManifest::Lost
}

/// Returns whether a folder holds a run.
pub(crate) fn has_runs(root: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(root)? {
        if is_run(&entry?.path()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Files are put in their places by renaming, so another content is another inode; where there are none the time and
/// the length tell. A file more in the folder changes the folder's own time.
fn fingerprint(folder: &Path) -> String {
    let files = [MANIFEST_FILE, SUMMARY_FILE, LOCK_FILE].map(|name| folder.join(name));
    let parts = files.iter().map(PathBuf::as_path).chain([folder]);
    parts
        .map(|path| format!("{:?}", fs::metadata(path).ok().map(|data| FileFingerprint::of(&data))))
        .collect::<Vec<_>>()
        .join(" ")
}

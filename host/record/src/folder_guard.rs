//! Guard of a run folder: notices that the folder or its journal was deleted or replaced while the run goes on.
//!
//! The writer has the folder and the journal open, so it could continue to write to files that no path leads to.
//!
//! **A folder that was moved is not an error.** Records, events and the count of records go through open files, and
//! arrive at the new place. Files that are created by path do not:
//!
//! - The next segment of the journal cannot be created, so the current one grows on. Full segments are not sealed.
//! - Media of replies cannot be stored, which ends the run with an error.
//! - The reports at the end cannot be written. [`FolderGuard::check_in_place`] finds that before the first of them.
//!
//! By then every answer is recorded. The run can be resumed once the folder is back in its place. A folder that was
//! created at the old place would get these files instead, so it is an error.

use crate::RecordError;
use crate::error::FolderChange;
use crate::format::RECORDED_PATH;
use gage_core::FileFingerprint;
use std::fs::{File, Metadata, metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The file of the journal that is appended to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalFile<'j> {
    /// Path of the file.
    pub(crate) path: &'j Path,
    /// The open file.
    pub(crate) file: &'j File,
    /// Number of bytes that the file has at least.
    pub(crate) bytes: u64,
}

/// Guard of a run folder.
#[derive(Debug)]
pub(crate) struct FolderGuard {
    path: PathBuf,
    /// The open folder. While it is open, no other folder gets its inode. `None` if folders cannot be guarded here.
    folder: Option<File>,
}

impl FolderGuard {
    /// Creates the guard of a folder that is in its place.
    pub(crate) fn new(path: &Path, journal: JournalFile<'_>, count: &File) -> FolderGuard {
        let mut guard = FolderGuard { path: path.to_owned(), folder: File::open(path).ok() };
        // Some file systems give a file another identity each time, and each check would fail.
        if guard.check(journal, count).is_err() {
            guard.folder = None;
        }
        guard
    }

    /// Checks that the folder, its journal and the count of records are in their places, or were moved together. Costs a few
    /// system calls.
    ///
    /// # Errors
    /// If one of them was deleted or replaced, or the journal was shortened, or moved alone.
    pub(crate) fn check(&self, journal: JournalFile<'_>, count: &File) -> Result<(), RecordError> {
        // A file that cannot be examined may be in its place.
        match self.change(journal, count) {
            Ok(Some(change)) => Err(RecordError::FolderChanged { path: self.path.clone(), change }),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Does the same, and checks that the folder was not moved, so that files can be created in it by path.
    ///
    /// # Errors
    /// Same as for [`FolderGuard::check`], or if the folder was moved.
    pub(crate) fn check_in_place(&self, journal: JournalFile<'_>, count: &File) -> Result<(), RecordError> {
        self.check(journal, count)?;
        match metadata_at(&self.path) {
            Ok(None) => {
                Err(RecordError::FolderChanged { path: self.path.clone(), change: FolderChange::Moved })
            }
            Ok(Some(_)) | Err(_) => Ok(()),
        }
    }

    fn change(&self, journal: JournalFile<'_>, count: &File) -> io::Result<Option<FolderChange>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let (folder, file) = (folder.metadata()?, journal.file.metadata()?);
        let Some(found) = metadata_at(&self.path)? else {
            let is_deleted = is_deleted(&folder) || is_deleted(&file);
            return Ok(is_deleted.then_some(FolderChange::Deleted));
        };
        if !is_same(&found, &folder) {
            return Ok(Some(FolderChange::Replaced));
        }
        Ok(match metadata_at(journal.path)? {
            None if is_deleted(&file) => Some(FolderChange::JournalDeleted),
            None => Some(FolderChange::JournalMoved),
            Some(found) if !is_same(&found, &file) => Some(FolderChange::JournalReplaced),
            Some(_) if file.len() < journal.bytes => Some(FolderChange::JournalShortened),
            Some(_) => {
                let count = count.metadata()?;
                let found = metadata_at(&self.path.join(RECORDED_PATH))?;
                let is_in_place = found.is_some_and(|found| is_same(&found, &count));
                (!is_in_place).then_some(FolderChange::CountLost)
            }
        })
    }
}

/// Returns the metadata of what is at a path, or `None` if nothing is.
fn metadata_at(path: &Path) -> io::Result<Option<Metadata>> {
    match metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    FileFingerprint::of(one).is_same_file(&FileFingerprint::of(other))
}

/// Returns whether an open file has no path any more. A moved file has one.
#[cfg(unix)]
fn is_deleted(open: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    open.nlink() == 0
}

#[cfg(not(unix))]
fn is_deleted(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::{JournalWriter, Manifest, RunFolder, RunIdentity};
    use gage_recorded_messages::RecordedError as _;
    use std::fs;

    /// A run folder `run` with an open journal.
    fn begin(root: &Path) -> (RunFolder, JournalWriter) {
        let folder = RunFolder::create(root, "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        let writer = JournalWriter::open(&folder).unwrap().writer;
        (folder, writer)
    }

    fn rename(from: PathBuf, to: PathBuf) {
        fs::rename(from, to).unwrap();
    }

    #[test]
    fn changes_of_a_folder_are_named() {
        const JOURNAL: &str = "journal/000001.jsonl";
        const COUNT: &str = "journal/recorded";
        type Change = fn(&Path);
        let cases: [(Change, &str); 10] = [
            (|run| fs::remove_dir_all(run).unwrap(), "was deleted"),
            (
                |run| {
                    fs::remove_dir_all(run).unwrap();
                    fs::create_dir(run).unwrap();
                },
                "was replaced by another folder",
            ),
            (
                |run| {
                    rename(run.to_owned(), run.with_file_name("moved"));
                    fs::create_dir(run).unwrap();
                },
                "was replaced by another folder",
            ),
            (
                |run| {
                    rename(run.to_owned(), run.with_file_name("moved"));
                    fs::remove_dir_all(run.with_file_name("moved")).unwrap();
                },
                "was deleted",
            ),
            (|run| fs::remove_file(run.join(JOURNAL)).unwrap(), "a file of it was deleted"),
            (|run| rename(run.join("journal"), run.join("aside")), "a file of it was moved away"),
            (
                |run| {
                    fs::copy(run.join(JOURNAL), run.join("copy")).unwrap();
                    rename(run.join("copy"), run.join(JOURNAL));
                },
                "a file of it was replaced",
            ),
            (|run| fs::write(run.join(JOURNAL), "short").unwrap(), "a file of it was shortened"),
            (|run| fs::remove_file(run.join(COUNT)).unwrap(), "lost its file journal/recorded"),
            (
                |run| {
                    fs::copy(run.join(COUNT), run.join("copy")).unwrap();
                    rename(run.join("copy"), run.join(COUNT));
                },
                "lost its file journal/recorded",
            ),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            let root = tempfile::tempdir().unwrap();
            let (folder, writer) = begin(root.path());
            writer.check_folder().unwrap();
            change(folder.path());
            let error = writer.check_folder().unwrap_err();
            assert!(matches!(error, RecordError::FolderChanged { .. }), "{number}: {error}");
            let error = error.recorded("run_folders");
            let folder = format!("the run folder {} ", folder.path().display());
            assert!(error.starts_with(&folder) && error.contains(expected), "{number}: {error}");
            // Without a part of its journal, a run can be repaired.
            let is_of_journal =
                ["a file of it", "lost its file"].iter().any(|part| expected.starts_with(part));
            assert_eq!(error.contains("`gage-host runs repair RUN`"), is_of_journal, "{number}: {error}");
        }
    }

    #[test]
    fn folder_that_was_moved_is_still_written_to() {
        let root = tempfile::tempdir().unwrap();
        let (folder, mut writer) = begin(root.path());
        let moved = root.path().join("moved");
        rename(folder.path().to_owned(), moved.clone());
        writer.check_folder().unwrap();
        writer.append_whole(&[crate::sample_record::tests::record("t", 0, "a")]).unwrap();
        writer.check_folder().unwrap();
        let error = writer.check_in_place().unwrap_err().recorded("run_folders");
        assert!(error.contains("run was moved while") && error.contains("move the folder back"), "{error}");
        rename(moved, folder.path().to_owned());
        writer.check_in_place().unwrap();
        drop(writer);
        assert_eq!(crate::JournalIndex::read(&folder).unwrap().len(), 1);
    }

    /// Records that are written after the loss do not hide it, in the first segment and in a later one.
    #[test]
    fn shortened_journal_is_noticed_while_it_grows() {
        let records: Vec<_> =
            (0..9).map(|index| crate::sample_record::tests::record("t", index, "a")).collect();
        for segment_bytes in [u64::MAX, 1] {
            let root = tempfile::tempdir().unwrap();
            let (folder, mut writer) = begin(root.path());
            writer.set_segment_bytes(segment_bytes);
            writer.append_whole(&records[..1]).unwrap();
            writer.set_segment_bytes(u64::MAX);
            writer.append_whole(&records[1..2]).unwrap();
            writer.check_folder().unwrap();
            let segment = if segment_bytes == 1 { "000002" } else { "000001" };
            let path = folder.path_of(&format!("journal/{segment}.jsonl"));
            File::options().write(true).open(path).unwrap().set_len(100).unwrap();
            writer.append_whole(&records[2..]).unwrap();
            let error = writer.check_folder().unwrap_err();
            assert!(error.to_string().contains("a file of it was shortened"), "{error}");
        }
    }

    #[test]
    fn a_new_segment_is_guarded_as_the_first_one() {
        let root = tempfile::tempdir().unwrap();
        let (folder, mut writer) = begin(root.path());
        writer.set_segment_bytes(1);
        writer.append_whole(&[crate::sample_record::tests::record("t", 0, "a")]).unwrap();
        writer.check_folder().unwrap();
        fs::remove_file(folder.path_of("journal/000002.jsonl")).unwrap();
        assert!(writer.check_folder().is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_examined_is_not_reported() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _writer) = begin(root.path());
        let path = folder.path_of("journal/000001.jsonl");
        let other = File::open(folder.path_of("manifest.json")).unwrap();
        // As on a file system without stable identities.
        let journal = JournalFile { path: &path, file: &other, bytes: 0 };
        assert!(FolderGuard::new(folder.path(), journal, &other).check(journal, &other).is_ok());
    }
}

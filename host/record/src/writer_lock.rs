//! The lock that the only writer of a run holds. It has two parts:
//!
//! - **The run folder itself is locked.** A separate lock file could be deleted, and a second writer would then be
//!   admitted.
//! - **`journal/recorded` is locked as well.** NFS and other network file systems lock a folder only among the processes
//!   of one machine. They lock a file for all machines, if it is open for writing. Every run has this file from its start
//!   to its end, and no step replaces it while a run is written.
//!
//! If a process is killed, the operating system releases both.

use crate::RecordError;
use crate::format::RECORDED_PATH;
use crate::run_files::open_run_file;
use gage_core::foreign_file;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of attempts to take a lock before it counts as held by another process, and the pause between them.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(4);

/// The writer's lock of a run, released when it is dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    /// The run folder. Then `journal/recorded`, unless it is missing: the run is new, or its journal is damaged.
    locked: Vec<File>,
}

impl WriterLock {
    /// Takes the lock of a run folder.
    ///
    /// # Errors
    /// If another process holds it, or the file system refuses.
    pub(crate) fn take(folder: &Path) -> Result<WriterLock, RecordError> {
        let file = File::open(folder).map_err(|source| RecordError::io("open", folder, source))?;
        acquire(&file, folder, folder)?;
        let mut lock = WriterLock { locked: vec![file] };
        lock.take_recorded(folder)?;
        Ok(lock)
    }

    /// Locks the present file `journal/recorded` instead of an earlier one. A missing file is no error.
    ///
    /// # Errors
    /// If a process on another machine holds it, or the file system refuses.
    pub(crate) fn take_recorded(&mut self, folder: &Path) -> Result<(), RecordError> {
        self.locked.truncate(1);
        let path = recorded_in(folder);
        let file = match foreign_file::open_to_write(&path, OpenOptions::new().write(true)) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(());
            }
            opened => opened.map_err(|source| RecordError::io("open", &path, source))?,
        };
        acquire(&file, &path, folder)?;
        self.locked.push(file);
        Ok(())
    }

    /// Returns whether a process holds the lock of a run folder.
    pub(crate) fn is_held(folder: &Path) -> bool {
        // Opened read-only, so that this also works for read-only folders.
        let is_locked = |opened: io::Result<File>| {
            opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        };
        is_locked(File::open(folder)) || is_locked(open_run_file(folder, RECORDED_PATH))
    }
}

fn recorded_in(folder: &Path) -> PathBuf {
    folder.join(RECORDED_PATH)
}

/// Locks an open file or folder at a path, for the writer of a run folder.
fn acquire(file: &File, path: &Path, folder: &Path) -> Result<(), RecordError> {
    // Other processes hold the lock for an instant while they check whether the run is being written.
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            Err(TryLockError::Error(source)) => return Err(refused(path, folder, source)),
        }
    }
    Err(RecordError::Locked { path: folder.to_owned() })
}

/// Creates the error of a file at a path that the system refused to lock, for the writer of a run folder.
fn refused(path: &Path, folder: &Path, source: io::Error) -> RecordError {
    // ENOLCK: the server of a network file system has no lock service.
    const NO_LOCK_SERVICE: i32 = 37;
    let is_unable = source.kind() == ErrorKind::Unsupported || source.raw_os_error() == Some(NO_LOCK_SERVICE);
    match is_unable {
        true => RecordError::NoLocks { path: folder.to_owned(), source },
        false => RecordError::io("lock", path, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::JOURNAL_FOLDER;
    use crate::{Manifest, RunFolder, RunIdentity};
    use gage_recorded_messages::RecordedError as _;
    use std::fs;

    fn begin(root: &Path) -> RunFolder {
        let folder = RunFolder::create(root, "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        folder
    }

    fn is_refused(root: &Path) -> bool {
        matches!(RunFolder::resume(root, "run"), Err(RecordError::Locked { .. }))
    }

    #[test]
    fn deleting_files_admits_no_second_writer() {
        let root = tempfile::tempdir().unwrap();
        let writer = begin(root.path());
        fs::remove_dir_all(writer.path_of(JOURNAL_FOLDER)).unwrap();
        let names: Vec<String> = fs::read_dir(writer.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["manifest.json"], "there is no lock file that could be deleted");
        assert!(is_refused(root.path()) && RunFolder::is_being_written(writer.path()));
    }

    /// A process on another machine has locked the file, and its lock of the folder is not seen here.
    #[test]
    fn writer_on_another_machine_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let path = begin(root.path()).path().to_owned();
        let file = OpenOptions::new().write(true).open(recorded_in(&path)).unwrap();
        file.lock().unwrap();
        assert!(is_refused(root.path()) && RunFolder::is_being_written(&path));
        drop(file);
        let writer = RunFolder::resume(root.path(), "run").unwrap();
        let file = File::open(recorded_in(writer.path())).unwrap();
        assert!(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    }

    #[test]
    fn file_systems_without_locks_are_refused_with_advice() {
        for (code, is_unable) in [(37, true), (38, true), (95, true), (5, false)] {
            let path = Path::new("runs/r");
            let error = refused(&path.join(RECORDED_PATH), path, io::Error::from_raw_os_error(code));
            let message = error.recorded("run_folders");
            assert_eq!(message.contains("cannot lock files"), is_unable, "{message}");
        }
    }

    #[test]
    fn new_run_locks_the_file_that_it_creates() {
        let root = tempfile::tempdir().unwrap();
        let writer = begin(root.path());
        let file = File::open(recorded_in(writer.path())).unwrap();
        assert!(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    }
}

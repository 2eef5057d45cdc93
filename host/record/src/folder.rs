//! The folder of a run, and the lock that its one writer holds.

use crate::format::{MANIFEST_FILE, WRITER_LOCK_FILE};
use crate::{AtomicFile, FileDigest, RecordError};
use gage_core::Digest;
use std::fs::TryLockError;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is asked for before a folder counts as that of another process, and how long between.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(4);

/// The folder of a run. One that was created or resumed holds the writer's lock until it is
/// dropped; the operating system takes the lock back from a process that was killed.
#[derive(Debug)]
pub struct RunFolder {
    pub(crate) path: PathBuf,
    pub(crate) run_id: String,
    pub(crate) writer_lock: Option<File>,
}

impl RunFolder {
    /// Returns whether a run of this id was begun.
    pub fn exists(root: &Path, run_id: &str) -> bool {
        root.join(run_id).join(MANIFEST_FILE).exists()
    }

    /// Returns whether a process writes to a run now.
    pub fn is_being_written(path: &Path) -> bool {
        // Not opened for writing, so that a folder that may only be read can be asked as well.
        let opened = File::open(path.join(WRITER_LOCK_FILE));
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Deletes the folder of a run to which no process writes. It stops being a run at once, before the first of its files
    /// is gone.
    ///
    /// # Errors
    /// When a process writes to it, and when the file system refuses.
    pub fn delete(path: &Path) -> Result<(), RecordError> {
        if !path.join(MANIFEST_FILE).is_file() {
            return Err(RecordError::NotARunFolder { path: path.to_owned() });
        }
        let _lock = lock(path)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let aside = path.with_file_name(format!(".{name}.deleted"));
        fs::rename(path, &aside).map_err(|source| RecordError::io("move aside", path, source))?;
        fs::remove_dir_all(&aside).map_err(|source| RecordError::io("delete", &aside, source))
    }

    /// The bytes of all files below a folder. Files that cannot be read count as empty.
    pub fn bytes_below(folder: &Path) -> u64 {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let sizes = files.map(|file| match file.metadata() {
            Ok(data) if data.is_dir() => RunFolder::bytes_below(&file.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        });
        sizes.sum()
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Where a file of the run is.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The digest of a file; none where there is no such file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest_of(&self, name: &str) -> Result<Option<FileDigest>, RecordError> {
        let path = self.path_of(name);
        open_if_present(&path)?.map(|file| digest_of(file, &path)).transpose()
    }

    /// Syncs a file and then returns its digest, so that the digest survives a power loss only together with the content.
    /// None if there is no such file.
    ///
    /// # Errors
    /// When it cannot be read or synced.
    pub fn sync_and_digest(&self, name: &str) -> Result<Option<FileDigest>, RecordError> {
        let path = self.path_of(name);
        let Some(file) = open_if_present(&path)? else { return Ok(None) };
        file.sync_all().map_err(|source| RecordError::io("sync", &path, source))?;
        digest_of(file, &path).map(Some)
    }

    /// Writes a whole file, which takes its place only when it is safe on the disk.
    ///
    /// # Errors
    /// When the folder was opened for reading, or the file system refuses.
    pub fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<FileDigest, RecordError> {
        let mut file = self.create_atomically(name)?;
        file.write_all(bytes).map_err(|source| RecordError::io("write", file.path(), source))?;
        file.commit()
    }

    /// Begins a file that takes its place when it is committed.
    ///
    /// # Errors
    /// When the folder was opened for reading, or the file system refuses.
    pub fn create_atomically(&self, name: &str) -> Result<AtomicFile, RecordError> {
        self.check_writable()?;
        AtomicFile::create(&self.path, name)
    }

    pub(crate) fn check_writable(&self) -> Result<(), RecordError> {
        match self.writer_lock {
            Some(_) => Ok(()),
            None => Err(RecordError::ReadOnly { path: self.path.clone() }),
        }
    }
}

fn open_if_present(path: &Path) -> Result<Option<File>, RecordError> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(|source| RecordError::io("read", path, source)),
    }
}

fn digest_of(file: File, path: &Path) -> Result<FileDigest, RecordError> {
    let failed = |source| RecordError::io("read", path, source);
    let bytes = file.metadata().map_err(failed)?.len();
    Ok(FileDigest { digest: Digest::of_reader(file).map_err(failed)?, bytes })
}

/// Takes the writer's lock of a run.
pub(crate) fn lock(folder: &Path) -> Result<File, RecordError> {
    let path = folder.join(WRITER_LOCK_FILE);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| RecordError::io("open", &path, source))?;
    // Whoever looks whether a run is being written holds its lock for an instant.
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            Err(TryLockError::Error(source)) => return Err(RecordError::io("lock", &path, source)),
        }
    }
    Err(RecordError::Locked { path: folder.to_owned() })
}

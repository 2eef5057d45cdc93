//! The folder of a run.

use crate::format::MANIFEST_FILE;
use crate::run_files::{max_values_of, open_run_file, read_run_file};
use crate::writer_lock::WriterLock;
use crate::{AtomicFile, FileDigest, JournalId, RecordError};
use gage_core::{Digest, parse_json};
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// The folder of a run. A folder that was created or resumed holds the writer's lock until it is dropped. If
/// the process is killed, the operating system releases the lock.
#[derive(Debug)]
pub struct RunFolder {
    pub(crate) path: PathBuf,
    pub(crate) run_id: String,
    pub(crate) journal_id: JournalId,
    pub(crate) writer_lock: Option<WriterLock>,
}

impl RunFolder {
    /// Returns whether a run with this id was started.
    pub fn exists(root: &Path, run_id: &str) -> bool {
        root.join(run_id).join(MANIFEST_FILE).exists()
    }

    /// Returns whether a folder has a manifest, of whatever kind. Anything but a regular file is refused when it is read.
    pub fn has_manifest(path: &Path) -> bool {
        path.join(MANIFEST_FILE).symlink_metadata().is_ok()
    }

    /// Returns whether a process is currently writing to a run.
    pub fn is_being_written(path: &Path) -> bool {
        WriterLock::is_held(path)
    }

    /// Returns the total size of all files below a folder, in bytes. Unreadable files count as empty.
    pub fn bytes_below(folder: &Path) -> u64 {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let sizes = files.map(|file| match file.metadata() {
            Ok(data) if data.is_dir() => RunFolder::bytes_below(&file.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        });
        sizes.sum()
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the run's id.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Returns the id of the run's journal.
    pub(crate) fn journal_id(&self) -> JournalId {
        self.journal_id
    }

    /// Returns the path of a file in the run folder.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the size of a file in bytes without reading it, or `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn size_of(&self, name: &str) -> Result<Option<u64>, RecordError> {
        let Some(file) = self.open_if_present(name)? else { return Ok(None) };
        let found = file.metadata().map_err(|source| RecordError::io("read", &self.path_of(name), source))?;
        Ok(Some(found.len()))
    }

    /// Returns whether a file has this digest. A file of another size is not read, however large it is.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn has_digest(&self, name: &str, written: &FileDigest) -> Result<bool, RecordError> {
        Ok(self.size_of(name)? == Some(written.bytes) && self.digest_of(name)?.as_ref() == Some(written))
    }

    /// Returns the digest of a file, or `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn digest_of(&self, name: &str) -> Result<Option<FileDigest>, RecordError> {
        let file = self.open_if_present(name)?;
        file.map(|file| digest_of(file, &self.path_of(name))).transpose()
    }

    /// Reads a JSON file, or returns `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read or does not have that type.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RecordError> {
        let path = self.path_of(name);
        match read_run_file(self.path(), name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(RecordError::io("read", &path, source)),
            Ok(text) => {
                let read = parse_json(&text, max_values_of(name)).map(Some);
                read.map_err(|error| RecordError::not_json(&path, &error))
            }
        }
    }

    /// Syncs a file and then returns its digest, so that after a power loss the digest never outlives the
    /// content. Returns `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read or synced.
    pub fn sync_and_digest(&self, name: &str) -> Result<Option<FileDigest>, RecordError> {
        let path = self.path_of(name);
        let Some(file) = self.open_if_present(name)? else { return Ok(None) };
        file.sync_all().map_err(|source| RecordError::io("sync", &path, source))?;
        digest_of(file, &path).map(Some)
    }

    /// Writes a whole file and moves it into place once it is durable.
    ///
    /// # Errors
    /// If the folder was opened for reading, or the file system refuses.
    pub fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<FileDigest, RecordError> {
        let mut file = self.create_atomically(name)?;
        file.write_all(bytes).map_err(|source| RecordError::io("write", file.path(), source))?;
        file.commit()
    }

    /// Starts a file that is moved into place when it is committed.
    ///
    /// # Errors
    /// If the folder was opened for reading, or the file system refuses.
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

    fn open_if_present(&self, name: &str) -> Result<Option<File>, RecordError> {
        match open_run_file(&self.path, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(|source| RecordError::io("read", &self.path_of(name), source)),
        }
    }
}

fn digest_of(file: File, path: &Path) -> Result<FileDigest, RecordError> {
    let failed = |source| RecordError::io("read", path, source);
    let bytes = file.metadata().map_err(failed)?.len();
    Ok(FileDigest { digest: Digest::of_reader(file).map_err(failed)?, bytes })
}

//! Files that are whole or absent.

use crate::RecordError;
use gage_core::{Digest, foreign_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Digest and size of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Digest of the bytes.
    pub digest: Digest,
    /// Number of bytes.
    pub bytes: u64,
}

/// A file that is moved into place only when it is complete. Until then, or if it is dropped, the file that
/// was there before stays.
pub struct AtomicFile {
    folder: PathBuf,
    temporary: PathBuf,
    target: PathBuf,
    writer: BufWriter<File>,
    hasher: Sha256,
    bytes: u64,
    is_in_place: bool,
}

impl AtomicFile {
    /// Starts writing `name` in a folder. The bytes go to `.name.tmp` beside it.
    pub(crate) fn create(folder: &Path, name: &str) -> Result<AtomicFile, RecordError> {
        let target = folder.join(name);
        gage_core::check_name(name).map_err(|reason| RecordError::invalid(&target, reason))?;
        let temporary = folder.join(format!(".{name}.tmp"));
        let file = foreign_file::create_anew(&temporary)
            .map_err(|source| RecordError::io("create", &temporary, source))?;
        Ok(AtomicFile {
            folder: folder.to_owned(),
            temporary,
            target,
            writer: BufWriter::with_capacity(1 << 16, file),
            hasher: Sha256::new(),
            bytes: 0,
            is_in_place: false,
        })
    }

    /// Returns the final path of the file.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Moves the file into place and makes it durable.
    ///
    /// # Errors
    /// If it cannot be written or renamed. The previous file is then unchanged.
    pub fn commit(mut self) -> Result<FileDigest, RecordError> {
        let written = self.writer.flush().and_then(|()| self.writer.get_ref().sync_all());
        written.map_err(|source| RecordError::io("write", &self.target, source))?;
        fs::rename(&self.temporary, &self.target)
            .map_err(|source| RecordError::io("put in place", &self.target, source))?;
        self.is_in_place = true;
        sync_folder(&self.folder)?;
        let digest = Digest::of_hasher(std::mem::take(&mut self.hasher));
        Ok(FileDigest { digest, bytes: self.bytes })
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.writer.write(bytes)?;
        self.hasher.update(&bytes[..length]);
        self.bytes += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            // There is no caller to report an error to, and the next writer of the same file overwrites it.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Syncs a folder's entries to disk, if the system supports that.
pub(crate) fn sync_folder(path: &Path) -> Result<(), RecordError> {
    if cfg!(unix) {
        let synced = File::open(path).and_then(|folder| folder.sync_all());
        synced.map_err(|source| RecordError::io("sync", path, source))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_finished_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(folder.path(), "a.json").unwrap();
        file.write_all(b"abc").unwrap();
        let digest = file.commit().unwrap();
        assert_eq!(digest, FileDigest { digest: Digest::of_bytes(b"abc"), bytes: 3 });

        let mut file = AtomicFile::create(folder.path(), "a.json").unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(folder.path().join("a.json")).unwrap(), b"abc");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(AtomicFile::create(folder.path(), "../a").is_err());
    }
}

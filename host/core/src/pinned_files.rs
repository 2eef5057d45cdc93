//! Files pinned by digest. A change of their content is noticed when they are checked.

use crate::foreign_file::{self, FileLimit};
use crate::{Digest, FileFingerprint};
use std::error::Error;
use std::fmt::{Display, Formatter};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file, and the digest of its content when it was read.
#[derive(Debug)]
pub struct PinnedFile {
    path: PathBuf,
    digest: Digest,
    /// Fingerprint of the last time when the content is known to have had the digest.
    fingerprint: Mutex<FileFingerprint>,
}

/// Use of a file, which decides whether another file at the same path matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The file is about to be read again from its path.
    Reload,
    /// The file is open or in memory, so deleting or replacing it has no effect.
    Open,
}

/// The content of a pinned file changed. The text says how, without the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file.
    pub path: PathBuf,
    /// Digest of its first content.
    pub pinned: Digest,
    /// Digest of its present content.
    pub found: Digest,
}

impl Display for ChangedFile {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let ChangedFile { pinned, found, .. } = self;
        write!(formatter, "its digest is {found}, and was {pinned} when the run read it first")
    }
}

impl Error for ChangedFile {}

impl PinnedFile {
    /// Pins a file that was read. The fingerprint must be from before that, so that a change in between is noticed.
    pub fn new(path: &Path, fingerprint: FileFingerprint, digest: Digest) -> PinnedFile {
        PinnedFile { path: path.to_owned(), digest, fingerprint: Mutex::new(fingerprint) }
    }

    /// Reads a file in full, and pins it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> io::Result<PinnedFile> {
        let file = foreign_file::open_named(path, FileLimit::NONE)?;
        let fingerprint = FileFingerprint::of(&file.metadata()?);
        Ok(PinnedFile::new(path, fingerprint, Digest::of_reader(file)?))
    }

    /// Returns the digest of the content.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Checks that the file still has its content. The digest is computed again only if the fingerprint changed. A file
    /// that cannot be read passes: reading it reports why.
    ///
    /// # Errors
    /// If the content differs.
    pub fn check(&self, used: FileUse) -> Result<(), ChangedFile> {
        let Ok(metadata) = fs::metadata(&self.path) else { return Ok(()) };
        let (now, pinned) = (FileFingerprint::of(&metadata), *self.fingerprint());
        if now == pinned || used == FileUse::Open && !now.is_same_file(&pinned) {
            return Ok(());
        }
        self.check_content()?;
        *self.fingerprint() = now;
        Ok(())
    }

    /// Computes the digest of the file again, whatever its fingerprint. A file that cannot be read passes.
    ///
    /// # Errors
    /// If the content differs.
    pub fn check_content(&self) -> Result<(), ChangedFile> {
        match foreign_file::open_named(&self.path, FileLimit::NONE).and_then(Digest::of_reader) {
            Ok(found) if found != self.digest => {
                Err(ChangedFile { path: self.path.clone(), pinned: self.digest, found })
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn fingerprint(&self) -> MutexGuard<'_, FileFingerprint> {
        self.fingerprint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pinned files that are checked together.
#[derive(Debug, Default)]
pub struct PinnedFiles {
    files: Mutex<Vec<Arc<PinnedFile>>>,
}

impl PinnedFiles {
    /// Reads a file in full, and pins it. Returns its digest.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn pin(&self, path: &Path) -> io::Result<Digest> {
        let file = PinnedFile::read(path)?;
        let digest = file.digest();
        self.add(&Arc::new(file));
        Ok(digest)
    }

    /// Adds a file, unless it was added before.
    pub fn add(&self, file: &Arc<PinnedFile>) {
        let mut files = self.files();
        if !files.iter().any(|known| Arc::ptr_eq(known, file)) {
            files.push(Arc::clone(file));
        }
    }

    /// Checks every file.
    ///
    /// # Errors
    /// If the content of a file differs.
    pub fn check(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.files().iter().try_for_each(|file| file.check(used))
    }

    fn files(&self) -> MutexGuard<'_, Vec<Arc<PinnedFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned() -> (tempfile::TempDir, PathBuf, PinnedFiles) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        fs::write(&path, "weights").unwrap();
        let files = PinnedFiles::default();
        files.pin(&path).unwrap();
        (folder, path, files)
    }

    fn replace(path: &Path, content: &str) {
        let other = path.with_extension("new");
        fs::write(&other, content).unwrap();
        fs::rename(other, path).unwrap();
    }

    #[test]
    fn overwritten_file_is_named_at_every_check() {
        let (_folder, path, files) = pinned();
        fs::write(&path, "other weights").unwrap();
        for used in [FileUse::Open, FileUse::Reload] {
            let changed = files.check(used).unwrap_err();
            assert_eq!((&changed.path, changed.found), (&path, Digest::of_bytes(b"other weights")));
        }
    }

    #[test]
    fn replaced_file_matters_only_for_a_reload() {
        let (_folder, path, files) = pinned();
        replace(&path, "other");
        assert_eq!(files.check(FileUse::Open), Ok(()));
        assert!(files.check(FileUse::Reload).is_err());
    }

    #[test]
    fn equal_content_and_missing_files_pass() {
        let (_folder, path, files) = pinned();
        replace(&path, "weights");
        assert_eq!(files.check(FileUse::Reload), Ok(()));
        assert_eq!(files.check(FileUse::Open), Ok(()));
        fs::remove_file(&path).unwrap();
        assert_eq!(files.check(FileUse::Reload), Ok(()));
    }

    #[test]
    fn change_while_a_file_was_read_is_noticed() {
        let (_folder, path, _) = pinned();
        let before = FileFingerprint::of(&fs::metadata(&path).unwrap());
        let digest = Digest::of_bytes(&fs::read(&path).unwrap());
        fs::write(&path, "more weights").unwrap();
        assert!(PinnedFile::new(&path, before, digest).check(FileUse::Open).is_err());
    }
}

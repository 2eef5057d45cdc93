//! Files pinned by digest. A change of their content is noticed when they are checked.

use crate::foreign_file::{self, FileLimit};
use crate::{Digest, FileFingerprint};
use std::error::Error;
use std::fmt::{Display, Formatter};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A file, and the digest of its content when it was read.
#[derive(Debug)]
pub struct PinnedFile {
    path: PathBuf,
    digest: Digest,
    seen: Mutex<SeenFile>,
}

/// The file as it was when its content was known to have the digest.
#[derive(Clone, Copy, Debug)]
struct SeenFile {
    fingerprint: FileFingerprint,
    /// True if the file was written to since the digest was computed. A write may still be under way: it changes the
    /// time of the file first, and its content later.
    was_written: bool,
    /// True if that was a moment ago.
    is_recent: bool,
}

/// Age of the last write below which another part of it may follow without a change of the file's times.
const MAX_WRITE_TIME: Duration = Duration::from_secs(2);

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
        let seen = SeenFile { fingerprint, was_written: false, is_recent: false };
        PinnedFile { path: path.to_owned(), digest, seen: Mutex::new(seen) }
    }

    /// Reads a file in full, and pins it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> io::Result<PinnedFile> {
        PinnedFile::read_unless(path, &AtomicBool::new(false))
    }

    /// Reads a file in full, and pins it, unless the flag is set meanwhile.
    ///
    /// # Errors
    /// If the file cannot be read, or the flag is set.
    pub fn read_unless(path: &Path, is_stopped: &AtomicBool) -> io::Result<PinnedFile> {
        let file = foreign_file::open_named(path, FileLimit::NONE)?;
        let fingerprint = FileFingerprint::of(&file.metadata()?);
        let digest = Digest::of_reader(StoppableReader { file, is_stopped })?;
        Ok(PinnedFile::new(path, fingerprint, digest))
    }

    /// Returns the digest of the content.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Checks that the file still has its content. The digest is computed again only if the fingerprint changed, or did
    /// a moment ago. A file that cannot be read passes: reading it reports why.
    ///
    /// # Errors
    /// If the content differs.
    pub fn check(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.check_if(used, |seen| seen.is_recent)
    }

    /// Does the same, and computes the digest of each file that was ever written to since it was pinned.
    ///
    /// # Errors
    /// If the content differs.
    pub fn check_after_use(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.check_if(used, |seen| seen.was_written)
    }

    fn check_if(&self, used: FileUse, is_due: fn(&SeenFile) -> bool) -> Result<(), ChangedFile> {
        let Ok(metadata) = fs::metadata(&self.path) else { return Ok(()) };
        let (now, seen) = (FileFingerprint::of(&metadata), *self.seen());
        let is_other = used == FileUse::Open && !now.is_same_file(&seen.fingerprint);
        if is_other || now == seen.fingerprint && !is_due(&seen) {
            return Ok(());
        }
        // A clock that was set back makes no file old.
        let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
        let is_recent = age.is_none_or(|age| age < MAX_WRITE_TIME);
        self.check_content()?;
        *self.seen() = SeenFile { fingerprint: now, was_written: true, is_recent };
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

    fn seen(&self) -> MutexGuard<'_, SeenFile> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader that fails when the flag is set.
struct StoppableReader<'s, R> {
    file: R,
    is_stopped: &'s AtomicBool,
}

impl<R: Read> Read for StoppableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.is_stopped.load(Ordering::Relaxed) {
            true => Err(io::Error::other("its digest is no longer needed")),
            false => self.file.read(buffer),
        }
    }
}

/// Pinned files that are checked together.
#[derive(Debug, Default)]
pub struct PinnedFiles {
    files: Mutex<Vec<Arc<PinnedFile>>>,
}

impl PinnedFiles {
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

    /// Checks every file, and computes the digest of each that was ever written to since it was pinned.
    ///
    /// # Errors
    /// If the content of a file differs.
    pub fn check_after_use(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.files().iter().try_for_each(|file| file.check_after_use(used))
    }

    fn files(&self) -> MutexGuard<'_, Vec<Arc<PinnedFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn pinned() -> (tempfile::TempDir, PathBuf, PinnedFiles) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        fs::write(&path, "weights").unwrap();
        let files = PinnedFiles::default();
        files.add(&Arc::new(PinnedFile::read(&path).unwrap()));
        (folder, path, files)
    }

    fn replace(path: &Path, content: &str) {
        let other = path.with_extension("new");
        fs::write(&other, content).unwrap();
        fs::rename(other, path).unwrap();
    }

    #[test]
    fn a_digest_that_is_not_needed_is_not_computed() {
        let (_folder, path, _) = pinned();
        assert!(PinnedFile::read_unless(&path, &AtomicBool::new(false)).is_ok());
        assert!(PinnedFile::read_unless(&path, &AtomicBool::new(true)).is_err());
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

    /// A write changes the times of the file first, and its content later. A check may come in between.
    #[test]
    fn content_that_follows_its_time_is_noticed() {
        let (_folder, path, files) = pinned();
        let write_later = |age_s: u64| {
            let written = SystemTime::now() - Duration::from_secs(age_s);
            fs::write(&path, "weights").unwrap();
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(written).unwrap();
            assert_eq!(files.check(FileUse::Open), Ok(()), "{age_s}");
            fs::write(&path, "WEIGHTS").unwrap();
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(written).unwrap();
            // As if the time of the last change was that of the first write.
            let fingerprint = FileFingerprint::of(&fs::metadata(&path).unwrap());
            files.files()[0].seen().fingerprint = fingerprint;
        };
        write_later(0);
        assert!(files.check(FileUse::Open).is_err());
        write_later(60);
        assert_eq!(files.check(FileUse::Open), Ok(()), "the file is not read again for each answer");
        assert!(files.check_after_use(FileUse::Open).is_err());
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

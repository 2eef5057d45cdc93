//! Files pinned by digest. A change of their content is noticed when they are checked.

use crate::foreign_file::{self, FileLimit};
use crate::{Digest, FileFingerprint};
use std::error::Error;
use std::fmt::{Display, Formatter};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read};
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

/// The file as it was just before its content was read.
#[derive(Clone, Copy, Debug)]
pub struct SeenFile {
    fingerprint: FileFingerprint,
    /// True if the file was written to since the digest was computed, or a moment before that. A write may still be
    /// under way: it changes the time of the file first, and its content later.
    was_written: bool,
    /// True if the last write was a moment ago.
    is_recent: bool,
}

impl SeenFile {
    /// Returns the file with this metadata, which must be from before its content is read.
    pub fn of(metadata: &Metadata) -> SeenFile {
        // A clock that was set back makes no file old.
        let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
        let is_recent = age.is_none_or(|age| age < MAX_WRITE_TIME);
        SeenFile { fingerprint: FileFingerprint::of(metadata), was_written: is_recent, is_recent }
    }
}

/// Age of the last write below which another part of it may follow without a change of the file's times.
const MAX_WRITE_TIME: Duration = Duration::from_secs(2);

/// Use of a file, which decides whether another file at the same path matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The file is about to be read again from its path, so it must exist.
    Reload,
    /// The file is open or in memory, so deleting or replacing it has no effect.
    Open,
}

/// The content of a pinned file changed, or the file is gone. The text says how, without the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file.
    pub path: PathBuf,
    /// Digest of its first content.
    pub pinned: Digest,
    /// Digest of its present content; `None` if the file is gone.
    pub found: Option<Digest>,
}

impl Display for ChangedFile {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let ChangedFile { pinned, found, .. } = self;
        match found {
            Some(found) => {
                write!(formatter, "its digest is {found}, and was {pinned} when the run read it first")
            }
            None => {
                write!(
                    formatter,
                    "it was deleted or moved; its digest was {pinned} when the run read it first"
                )
            }
        }
    }
}

impl Error for ChangedFile {}

impl PinnedFile {
    /// Pins a file that was read. `seen` is from before that, so that a change in between is noticed.
    pub fn new(path: &Path, seen: SeenFile, digest: Digest) -> PinnedFile {
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
        let seen = SeenFile::of(&file.metadata()?);
        let digest = Digest::of_reader(StoppableReader { file, is_stopped })?;
        Ok(PinnedFile::new(path, seen, digest))
    }

    /// Returns the digest of the content.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Checks that the file still has its content. The digest is computed again only if the fingerprint changed, or the
    /// last write was a moment ago. A file that cannot be read passes, unless it is gone and is about to be read again:
    /// reading it reports why.
    ///
    /// # Errors
    /// If the content differs, or the file to read again is gone.
    pub fn check(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.check_if(used, |seen| seen.is_recent)
    }

    /// Does the same, and computes the digest of each file that was written to since it was pinned, or a moment before.
    ///
    /// # Errors
    /// If the content differs, or the file to read again is gone.
    pub fn check_after_use(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.check_if(used, |seen| seen.was_written)
    }

    fn check_if(&self, used: FileUse, is_due: fn(&SeenFile) -> bool) -> Result<(), ChangedFile> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if used == FileUse::Reload && error.kind() == ErrorKind::NotFound => {
                return Err(self.changed(None));
            }
            Err(_) => return Ok(()),
        };
        let (now, seen) = (SeenFile::of(&metadata), *self.seen());
        let is_other = used == FileUse::Open && !now.fingerprint.is_same_file(&seen.fingerprint);
        if is_other || now.fingerprint == seen.fingerprint && !is_due(&seen) {
            return Ok(());
        }
        self.check_content()?;
        *self.seen() = SeenFile { was_written: true, ..now };
        Ok(())
    }

    /// Computes the digest of the file again, whatever its fingerprint. A file that cannot be read passes.
    ///
    /// # Errors
    /// If the content differs.
    pub fn check_content(&self) -> Result<(), ChangedFile> {
        match foreign_file::open_named(&self.path, FileLimit::NONE).and_then(Digest::of_reader) {
            Ok(found) if found != self.digest => Err(self.changed(Some(found))),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn changed(&self, found: Option<Digest>) -> ChangedFile {
        ChangedFile { path: self.path.clone(), pinned: self.digest, found }
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
    /// If the content of a file differs, or a file to read again is gone.
    pub fn check(&self, used: FileUse) -> Result<(), ChangedFile> {
        self.files().iter().try_for_each(|file| file.check(used))
    }

    /// Checks every file, and computes the digest of each that was written to since it was pinned, or a moment before.
    ///
    /// # Errors
    /// If the content of a file differs, or a file to read again is gone.
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
            assert_eq!((&changed.path, changed.found), (&path, Some(Digest::of_bytes(b"other weights"))));
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

    /// As if the file was read while one write was under way, and its time was that of the beginning of the write.
    #[test]
    fn write_during_the_first_digest_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        let write = |content: &str, modified: SystemTime| {
            fs::write(&path, content).unwrap();
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(modified).unwrap();
            FileFingerprint::of(&fs::metadata(&path).unwrap())
        };
        let (hour, now) = (Duration::from_secs(3_600), SystemTime::now());
        // A time in the future is recent, however long this test takes.
        for (modified, is_noticed) in [(now + hour, true), (now - hour, false)] {
            write("weights", modified);
            let file = PinnedFile::read(&path).unwrap();
            file.seen().fingerprint = write("WEIGHTS", modified);
            assert_eq!(file.check(FileUse::Open).is_err(), is_noticed);
            assert_eq!(file.check_after_use(FileUse::Open).is_err(), is_noticed);
        }
    }

    #[test]
    fn equal_content_passes() {
        let (_folder, path, files) = pinned();
        replace(&path, "weights");
        assert_eq!(files.check(FileUse::Reload), Ok(()));
        assert_eq!(files.check(FileUse::Open), Ok(()));
    }

    #[test]
    fn deleted_file_matters_only_for_a_reload() {
        let (_folder, path, files) = pinned();
        fs::remove_file(&path).unwrap();
        assert_eq!(files.check(FileUse::Open), Ok(()));
        let deleted = files.check(FileUse::Reload).unwrap_err();
        assert_eq!((&deleted.path, deleted.found), (&path, None));
        assert!(deleted.to_string().starts_with("it was deleted or moved; its digest was sha256:"));
    }

    #[test]
    fn change_while_a_file_was_read_is_noticed() {
        let (_folder, path, _) = pinned();
        let before = SeenFile::of(&fs::metadata(&path).unwrap());
        let digest = Digest::of_bytes(&fs::read(&path).unwrap());
        fs::write(&path, "more weights").unwrap();
        assert!(PinnedFile::new(&path, before, digest).check(FileUse::Open).is_err());
    }
}

//! Files that a model was loaded from, pinned by digest. Changed content is detected before a reload and at the end of
//! a task.

use gage_core::{Digest, FileFingerprint};
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file, and its content at the time the model was loaded.
#[derive(Debug)]
struct PinnedFile {
    path: PathBuf,
    fingerprint: FileFingerprint,
    digest: Digest,
}

/// Files of one model.
#[derive(Debug, Default)]
pub struct PinnedFiles {
    files: Mutex<Vec<PinnedFile>>,
}

/// Occasion on which files are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The model is about to read them again from their paths.
    Reload,
    /// The model has them open, so a deleted or replaced file does not affect it.
    Open,
}

impl PinnedFiles {
    /// Computes the digest of a file and pins it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn pin(&self, path: &Path) -> io::Result<Digest> {
        let file = File::open(path)?;
        let fingerprint = FileFingerprint::of(&file.metadata()?);
        let digest = Digest::of_reader(file)?;
        let pinned = PinnedFile { path: path.to_owned(), fingerprint, digest };
        self.files.lock().push(pinned);
        Ok(digest)
    }

    /// Checks that every file still has its content. Digests are recomputed only if size, time or inode changed.
    ///
    /// # Errors
    /// If a file's content differs; the message names it. A file that cannot be read passes: loading it reports why.
    pub fn check(&self, used: FileUse) -> Result<(), String> {
        let mut files = self.files.lock();
        files.iter_mut().try_for_each(|file| file.check(used))
    }
}

impl PinnedFile {
    fn check(&mut self, used: FileUse) -> Result<(), String> {
        let Ok(metadata) = fs::metadata(&self.path) else { return Ok(()) };
        let now = FileFingerprint::of(&metadata);
        let is_other_file = !now.is_same_file(&self.fingerprint);
        if now == self.fingerprint || used == FileUse::Open && is_other_file {
            return Ok(());
        }
        let Ok(found) = File::open(&self.path).and_then(Digest::of_reader) else { return Ok(()) };
        if found != self.digest {
            return Err(format!(
                "{} changed after the model was loaded: its digest is {found}, and was {}",
                self.path.display(),
                self.digest
            ));
        }
        self.fingerprint = now;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned() -> (tempfile::TempDir, PathBuf, PinnedFiles) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.gguf");
        fs::write(&path, "weights").expect("write");
        let files = PinnedFiles::default();
        files.pin(&path).expect("a digest");
        (folder, path, files)
    }

    fn replace(path: &Path, content: &str) {
        let other = path.with_extension("new");
        fs::write(&other, content).expect("write");
        fs::rename(other, path).expect("rename");
    }

    #[test]
    fn overwritten_file_is_named_at_every_check() {
        let (_folder, path, files) = pinned();
        fs::write(&path, "other weights").expect("write");
        for used in [FileUse::Open, FileUse::Reload] {
            let error = files.check(used).expect_err("it changed");
            assert!(error.contains("model.gguf changed after the model was loaded"), "{error}");
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
        fs::remove_file(&path).expect("remove");
        assert_eq!(files.check(FileUse::Reload), Ok(()));
    }
}

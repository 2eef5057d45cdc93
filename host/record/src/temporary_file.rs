//! Temporary files of reports and exports, which are written outside of the run's own files and without its lock.

use gage_core::FileFingerprint;
use gage_core::foreign_file::{self, FileRefusal};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Number of attempts to lock a file that other processes put in place meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// A file that is written beside its target, and replaces it when it is complete. If it is dropped before, it is removed.
///
/// Its name is always the same: `.NAME.tmp`. So a killed process leaves at most one, which the next writer takes over.
/// While a process writes it, others are refused.
#[derive(Debug)]
pub struct TemporaryFile {
    path: PathBuf,
    target: PathBuf,
    /// The open file, which holds the lock, unless that was released.
    lock: Option<File>,
    is_in_place: bool,
}

impl TemporaryFile {
    /// Creates the temporary file of a target, and returns it with the open file.
    ///
    /// # Errors
    /// If the target has no file name, another process is writing it, or the file system refuses.
    pub fn create(target: &Path) -> io::Result<(TemporaryFile, File)> {
        let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".tmp");
        let path = target.with_file_name(hidden);
        for _ in 0..MAX_ATTEMPTS {
            // It is emptied only once it is locked.
            let mut options = OpenOptions::new();
            let file =
                match foreign_file::open_to_write(&path, options.create(true).truncate(false).write(true)) {
                    // A link or a pipe is none of ours. The name is, so it is removed; what a link leads to stays.
                    Err(error) if FileRefusal::find(&error).is_some() => {
                        fs::remove_file(&path)?;
                        continue;
                    }
                    opened => opened?,
                };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let message = "another process is writing it; wait until it ends";
                    return Err(io::Error::new(ErrorKind::ResourceBusy, message));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Before it was locked, its writer may have put it in place.
            if is_at(&file, &path)? {
                file.set_len(0)?;
                let lock = Some(file.try_clone()?);
                let target = target.to_owned();
                return Ok((TemporaryFile { path, target, lock, is_in_place: false }, file));
            }
        }
        Err(io::Error::other(format!("{} is replaced all the time; try again", path.display())))
    }

    /// Releases the lock, which then ends with the writer's file. Only for one of several files that are put in place
    /// together: the first of them keeps its lock, and a process cannot keep any number of files open.
    pub fn release(&mut self) {
        self.lock = None;
    }

    /// Returns the path of the target.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Replaces the target by the written file. It is synced before, unless its lock was released.
    ///
    /// # Errors
    /// If the file system refuses. The target is then unchanged.
    pub fn put_in_place(mut self) -> io::Result<()> {
        if let Some(file) = &self.lock {
            file.sync_all()?;
        }
        fs::rename(&self.path, &self.target)?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            // There is no caller to report an error to, and the next writer takes the file over.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns whether an open file is at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = FileFingerprint::of(&file.metadata()?);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => Ok(FileFingerprint::of(&found?).is_same_file(&opened)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn rest_of_a_killed_writer_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.html");
        fs::write(folder.path().join(".report.html.tmp"), "half of a longer report").unwrap();
        let (temporary, mut file) = TemporaryFile::create(&target).unwrap();
        file.write_all(b"report").unwrap();
        assert!(!target.exists());
        temporary.put_in_place().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"report");
        drop(TemporaryFile::create(&target).unwrap());
        assert_eq!(fs::read(&target).unwrap(), b"report");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_process_writes_a_target_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.html");
        let (first, mut file) = TemporaryFile::create(&target).unwrap();
        file.write_all(b"first").unwrap();
        drop(file);
        let error = TemporaryFile::create(&target).unwrap_err();
        assert!(error.to_string().contains("another process is writing it"), "{error}");
        first.put_in_place().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");
        TemporaryFile::create(&target).unwrap();
    }

    /// Each writer writes one letter. A file with two would be the work of two of them.
    #[test]
    fn writers_at_the_same_time_never_mix() {
        let folder = tempfile::tempdir().unwrap();
        let target = &folder.path().join("report.html");
        std::thread::scope(|threads| {
            for letter in *b"abcd" {
                threads.spawn(move || {
                    for _ in 0..200 {
                        let Ok((temporary, mut file)) = TemporaryFile::create(target) else { continue };
                        (0..4).for_each(|_| file.write_all(&[letter; 100]).unwrap());
                        temporary.put_in_place().unwrap();
                        let written = fs::read(target).unwrap();
                        let first = written.first().unwrap();
                        assert!(written.len() == 400 && written.iter().all(|byte| byte == first));
                    }
                });
            }
        });
        assert!(target.exists());
    }

    #[cfg(unix)]
    #[test]
    fn link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join(".report.html.tmp")).unwrap();
        let (temporary, mut file) = TemporaryFile::create(&folder.path().join("report.html")).unwrap();
        file.write_all(b"report").unwrap();
        temporary.put_in_place().unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"kept");
        assert_eq!(fs::read(folder.path().join("report.html")).unwrap(), b"report");
    }
}

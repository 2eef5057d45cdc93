//! Media of replies in a run folder. Each file is named after the digest of its content.

use crate::format::MEDIA_FOLDER;
use crate::{AtomicFile, FileDigest, RecordError, RunFolder};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, ResourceShortage};
use parking_lot::Mutex;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Number of locks among which files are distributed by their digest.
const LOCK_COUNT: usize = 16;

/// Maximum size of a file. Larger ones are not stored.
const MAX_SIZE: FileLimit = FileLimit::new("a medium", 256 << 20);

/// The folder `media` of a run. It is created with its first file.
#[derive(Debug)]
pub struct MediaFolder {
    run: PathBuf,
    /// Writers of the same content take turns. The others write at the same time.
    locks: [Mutex<()>; LOCK_COUNT],
}

impl MediaFolder {
    /// Returns the media folder of a run.
    pub fn of(run: &RunFolder) -> MediaFolder {
        MediaFolder { run: run.path().to_owned(), locks: Default::default() }
    }

    /// Stores content durably, unless it is there already. Returns its path relative to the run folder, such as
    /// `media/<digest>.png`, and its digest.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn store(&self, bytes: &[u8], extension: &str) -> Result<(String, Digest), RecordError> {
        let digest = Digest::of_bytes(bytes);
        let name = format!("{}.{extension}", digest.hex());
        let folder = self.run.join(MEDIA_FOLDER);
        let path = folder.join(&name);
        let lock = name.bytes().next().map_or(0, usize::from) % LOCK_COUNT;
        let _turn = self.locks.get(lock).map(|lock| lock.lock());
        let is_stored =
            path.symlink_metadata().is_ok_and(|file| file.is_file() && file.len() == bytes.len() as u64);
        if !is_stored {
            create_folder(&folder)?;
            let mut file = AtomicFile::create(&folder, &name)?;
            file.write_all(bytes).map_err(|source| RecordError::io("write", &path, source))?;
            file.commit()?;
        }
        Ok((format!("{MEDIA_FOLDER}/{name}"), digest))
    }

    /// Reads a file by its path relative to the run folder. Returns `None` if the path is not one that `store` returns,
    /// or its content no longer matches its name. A shortage of the machine is reported.
    pub fn read(run: &Path, relative: &str) -> Option<Vec<u8>> {
        let name = relative.strip_prefix(MEDIA_FOLDER)?.strip_prefix('/')?;
        gage_core::check_name(name).ok()?;
        let read = foreign_file::read_below(run, relative, MAX_SIZE);
        let bytes = read.inspect_err(|error| drop(ResourceShortage::report_in(error))).ok()?;
        let (expected, _) = name.split_once('.')?;
        (Digest::of_bytes(&bytes).hex() == expected).then_some(bytes)
    }

    /// Returns one digest of all files, of their names in order, and their total size. `None` without any file.
    ///
    /// # Errors
    /// If a file cannot be read, or its content does not match its name.
    pub fn digest(run: &Path) -> Result<Option<FileDigest>, RecordError> {
        let folder = run.join(MEDIA_FOLDER);
        let failed = |path: &Path, source| RecordError::io("read", path, source);
        let files = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            files => files.map_err(|source| failed(&folder, source))?,
        };
        let mut names = Vec::new();
        for file in files {
            names.push(
                file.map_err(|source| failed(&folder, source))?.file_name().to_string_lossy().into_owned(),
            );
        }
        names.sort_unstable();
        let (mut listed, mut bytes) = (String::new(), 0);
        for name in &names {
            let path = folder.join(name);
            let file = foreign_file::open_below(run, Path::new(MEDIA_FOLDER).join(name), MAX_SIZE);
            let file = file.map_err(|source| failed(&path, source))?;
            bytes += file.metadata().map_err(|source| failed(&path, source))?.len();
            let digest = Digest::of_reader(file).map_err(|source| failed(&path, source))?;
            if name.split_once('.').map(|(hex, _)| hex) != Some(digest.hex().as_str()) {
                return Err(RecordError::invalid(&path, "its content does not match its name".to_owned()));
            }
            listed.push_str(name);
            listed.push('\n');
        }
        Ok((!names.is_empty()).then(|| FileDigest { digest: Digest::of_bytes(listed.as_bytes()), bytes }))
    }

    /// Copies the media of a run into another, so that each run is complete by itself.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn copy(from: &Path, to: &RunFolder) -> Result<(), RecordError> {
        let (source, target) = (from.join(MEDIA_FOLDER), to.path().join(MEDIA_FOLDER));
        let Ok(files) = fs::read_dir(&source) else { return Ok(()) };
        fs::create_dir_all(&target).map_err(|error| RecordError::io("create", &target, error))?;
        for file in files.flatten() {
            let (name, path) = (file.file_name(), file.path());
            let opened = foreign_file::open_below(from, Path::new(MEDIA_FOLDER).join(&name), MAX_SIZE);
            let mut opened = opened.map_err(|error| RecordError::io("read", &path, error))?;
            let copy = target.join(&name);
            if fs::hard_link(&path, &copy).is_err() {
                let written = foreign_file::create_anew(&copy);
                let written = written.and_then(|mut file| io::copy(&mut opened, &mut file));
                written.map_err(|error| RecordError::io("write", &copy, error))?;
            }
        }
        Ok(())
    }
}

/// Creates a folder in a run folder. A run folder that was moved is not created again, because the run would then be in
/// two halves.
fn create_folder(path: &Path) -> Result<(), RecordError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        created => created.map_err(|source| RecordError::io("create", path, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_do_not_create_a_run_folder_again() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "r").unwrap();
        let media = MediaFolder::of(&run);
        fs::rename(run.path(), root.path().join("moved")).unwrap();
        assert!(media.store(b"picture", "png").is_err());
        assert!(!run.path().exists());
    }

    #[test]
    fn equal_content_is_stored_once_and_changes_are_noticed() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "r").unwrap();
        let media = MediaFolder::of(&run);
        let (first, digest) = media.store(b"picture", "png").unwrap();
        assert_eq!(media.store(b"picture", "png").unwrap(), (first.clone(), digest));
        assert_ne!(media.store(b"other", "png").unwrap().0, first);
        assert_eq!(fs::read_dir(run.path().join(MEDIA_FOLDER)).unwrap().count(), 2);
        assert_eq!(MediaFolder::read(run.path(), &first).as_deref(), Some(&b"picture"[..]));
        for wrong in ["media/../manifest.json", "manifest.json", "media/", "media/a.png"] {
            assert_eq!(MediaFolder::read(run.path(), wrong), None, "{wrong}");
        }
        let digest = MediaFolder::digest(run.path()).unwrap().unwrap();
        assert_eq!(digest.bytes, 12);
        fs::write(run.path().join(&first), "changed").unwrap();
        assert_eq!(MediaFolder::read(run.path(), &first), None);
        assert!(MediaFolder::digest(run.path()).unwrap_err().to_string().contains("does not match its name"));
        fs::remove_file(run.path().join(&first)).unwrap();
        assert_ne!(MediaFolder::digest(run.path()).unwrap(), Some(digest));
    }

    #[test]
    fn a_copy_has_all_files() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (RunFolder::create(root.path(), "a"), RunFolder::create(root.path(), "b"));
        let (from, to) = (from.unwrap(), to.unwrap());
        MediaFolder::copy(from.path(), &to).unwrap();
        assert!(!to.path().join(MEDIA_FOLDER).exists());
        let (path, _) = MediaFolder::of(&from).store(b"sound", "wav").unwrap();
        MediaFolder::copy(from.path(), &to).unwrap();
        assert_eq!(MediaFolder::read(to.path(), &path).as_deref(), Some(&b"sound"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn links_among_media_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) =
            (RunFolder::create(root.path(), "from").unwrap(), RunFolder::create(root.path(), "to").unwrap());
        let (stored, _) = MediaFolder::of(&from).store(b"picture", "png").unwrap();
        let path = from.path_of(&stored);
        fs::rename(&path, root.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(root.path().join("elsewhere"), &path).unwrap();
        assert_eq!(MediaFolder::read(from.path(), &stored), None);
        for refused in
            [MediaFolder::copy(from.path(), &to).unwrap_err(), MediaFolder::digest(from.path()).unwrap_err()]
        {
            assert!(matches!(refused, RecordError::Refused { .. }), "{refused}");
        }
        // The link is replaced by the file.
        MediaFolder::of(&from).store(b"picture", "png").unwrap();
        MediaFolder::copy(from.path(), &to).unwrap();
        assert_eq!(MediaFolder::read(to.path(), &stored).as_deref(), Some(&b"picture"[..]));
        // Media that are copied again stay whole, although both names are those of one file.
        MediaFolder::copy(from.path(), &to).unwrap();
        assert_eq!(MediaFolder::read(from.path(), &stored).as_deref(), Some(&b"picture"[..]));
    }
}

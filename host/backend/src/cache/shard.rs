//! One of the folders with cached answers. No link in it is followed, since a stranger may have made the folder.
//!
//! On Unix, each name is looked up in the opened folder. Other systems look for a link before they use the folder. There,
//! a folder that is replaced meanwhile is not noticed.

use std::io;
use std::time::SystemTime;

#[cfg(not(unix))]
pub(super) use by_path::Shard;
#[cfg(unix)]
pub(super) use opened::Shard;

/// A regular file in a folder of answers.
pub(super) struct ShardFile {
    pub(super) name: String,
    /// Size in bytes.
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

/// Returns the error for a folder that is a link.
fn linked(name: &str) -> io::Error {
    gage_core::foreign_file::FileRefusal::LinkedFolder(name.to_owned()).into()
}

#[cfg(unix)]
mod opened {
    use super::{ShardFile, linked};
    use rustix::fd::OwnedFd;
    use rustix::fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, mkdirat, openat, renameat, statat, unlinkat,
    };
    use rustix::io::Errno;
    use std::fs::File;
    use std::io;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    /// A folder of answers.
    pub(in crate::cache) struct Shard(OwnedFd);

    impl Shard {
        /// Opens a folder in the cache, and creates it if needed. Only this user can read a new folder.
        ///
        /// # Errors
        /// If it is a link, or the system refuses.
        pub(in crate::cache) fn open(cache: &Path, name: &str) -> io::Result<Shard> {
            let of_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let cache = openat(CWD, cache, of_folder, Mode::empty())?;
            match mkdirat(&cache, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            openat(&cache, name, of_folder, Mode::empty()).map(Shard).map_err(|error| {
                match statat(&cache, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) if kind_of(&found).is_symlink() => linked(name),
                    _ => error.into(),
                }
            })
        }

        /// Creates a file that only this user can read. There must be none of this name.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn create(&self, name: &str) -> io::Result<File> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(File::from(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?))
        }

        /// Renames a file, and replaces any file or link of the new name.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn rename(&self, old: &str, new: &str) -> io::Result<()> {
            Ok(renameat(&self.0, old, &self.0, new)?)
        }

        /// Deletes a file or a link.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn remove(&self, name: &str) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        /// Returns the regular files of the folder.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn files(&self) -> io::Result<Vec<ShardFile>> {
            let mut files = Vec::new();
            for entry in Dir::read_from(&self.0)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                // Another process may have deleted it.
                let Ok(found) = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                if kind_of(&found).is_file() {
                    let size = u64::try_from(found.st_size).unwrap_or(0);
                    files.push(ShardFile { name: name.to_owned(), size, modified: modified(&found) });
                }
            }
            Ok(files)
        }
    }

    fn kind_of(found: &Stat) -> FileType {
        FileType::from_raw_mode(found.st_mode)
    }

    /// Returns when a file was last modified, and the epoch for any time before it.
    fn modified(found: &Stat) -> SystemTime {
        let seconds = u64::try_from(found.st_mtime).unwrap_or(0);
        let nanoseconds = u32::try_from(found.st_mtime_nsec).unwrap_or(0);
        let since = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds.into()));
        SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

#[cfg(not(unix))]
mod by_path {
    use super::{ShardFile, linked};
    use std::fs::{self, File};
    use std::io::{self, ErrorKind};
    use std::path::{Path, PathBuf};
    use std::time::SystemTime;

    /// A folder of answers.
    pub(in crate::cache) struct Shard(PathBuf);

    impl Shard {
        /// Opens a folder in the cache, and creates it if needed.
        ///
        /// # Errors
        /// If it is a link, or the system refuses.
        pub(in crate::cache) fn open(cache: &Path, name: &str) -> io::Result<Shard> {
            let folder = cache.join(name);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            match fs::symlink_metadata(&folder)?.is_symlink() {
                true => Err(linked(name)),
                false => Ok(Shard(folder)),
            }
        }

        /// Creates a file. There must be none of this name.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn create(&self, name: &str) -> io::Result<File> {
            File::options().write(true).create_new(true).open(self.0.join(name))
        }

        /// Renames a file, and replaces any file of the new name.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn rename(&self, old: &str, new: &str) -> io::Result<()> {
            fs::rename(self.0.join(old), self.0.join(new))
        }

        /// Deletes a file.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn remove(&self, name: &str) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        /// Returns the regular files of the folder.
        ///
        /// # Errors
        /// If the system refuses.
        pub(in crate::cache) fn files(&self) -> io::Result<Vec<ShardFile>> {
            let mut files = Vec::new();
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                // Another process may have deleted it.
                let Ok(found) = entry.metadata() else { continue };
                if found.is_file() {
                    let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    files.push(ShardFile { name, size: found.len(), modified });
                }
            }
            Ok(files)
        }
    }
}

//! File fingerprints, which show without reading a file whether it may have changed.

use std::fs::Metadata;
use std::time::SystemTime;

/// Size, times and identity of a file.
///
/// Equal fingerprints mean that the file was not written in between, as far as the file system reports it. A program
/// can restore the modification time after it wrote, but not the time of the last change. If fingerprints differ,
/// only a digest shows whether the content differs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFingerprint {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Seconds and nanoseconds of the last change of content or metadata, on systems that have it.
    changed: Option<(i64, i64)>,
    /// Device and inode, on systems that have them.
    inode: Option<(u64, u64)>,
    /// Time of creation, where the file system has one. A new file may get the inode of a deleted one.
    created: Option<SystemTime>,
}

impl FileFingerprint {
    /// Returns the fingerprint of the file with this metadata.
    pub fn of(metadata: &Metadata) -> FileFingerprint {
        #[cfg(unix)]
        let (changed, inode) = {
            use std::os::unix::fs::MetadataExt as _;
            (Some((metadata.ctime(), metadata.ctime_nsec())), Some((metadata.dev(), metadata.ino())))
        };
        #[cfg(not(unix))]
        let (changed, inode) = (None, None);
        let (modified, created) = (metadata.modified().ok(), metadata.created().ok());
        FileFingerprint { bytes: metadata.len(), modified, changed, inode, created }
    }

    /// Returns whether both belong to the same file, rather than to two files with the same path at different
    /// times. True on systems without inodes.
    pub fn is_same_file(&self, other: &FileFingerprint) -> bool {
        self.inode == other.inode && self.created == other.created
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn writing_and_replacing_change_the_fingerprint() {
        let folder = std::env::temp_dir().join(format!("gage-fingerprint-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let of = |path: &std::path::Path| FileFingerprint::of(&fs::metadata(path).unwrap());
        fs::write(&path, "one").unwrap();
        let first = of(&path);
        assert_eq!(of(&path), first);

        fs::write(&path, "longer").unwrap();
        let longer = of(&path);
        assert_ne!(longer, first);
        assert!(longer.is_same_file(&first));

        let other = folder.join("other");
        fs::write(&other, "longer").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(!of(&path).is_same_file(&first));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn restored_modification_time_does_not_hide_a_change() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let of = || FileFingerprint::of(&file.as_file().metadata().unwrap());
        let (first, modified) = (of(), file.as_file().metadata().unwrap().modified().unwrap());
        // The clock of a file system may tick only every few milliseconds.
        let is_noticed = (0..1_000_000).any(|_| {
            fs::write(file.path(), "").unwrap();
            file.as_file().set_modified(modified).unwrap();
            of() != first
        });
        assert!(is_noticed);
        assert_eq!((of().bytes, of().modified), (first.bytes, first.modified));
    }
}

//! File fingerprints, which show without reading a file whether it may have changed.

use std::fs::Metadata;
use std::time::SystemTime;

/// Size, modification time and identity of a file.
///
/// Equal fingerprints mean that the file was not written in between, as far as the file system reports it. If
/// they differ, only a digest shows whether the content differs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFingerprint {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Device and inode, on systems that have them.
    inode: Option<(u64, u64)>,
}

impl FileFingerprint {
    /// Returns the fingerprint of the file with this metadata.
    pub fn of(metadata: &Metadata) -> FileFingerprint {
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt as _;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let inode = None;
        FileFingerprint { bytes: metadata.len(), modified: metadata.modified().ok(), inode }
    }

    /// Returns whether both belong to the same file, rather than to two files with the same path at different
    /// times. True on systems without inodes.
    pub fn is_same_file(&self, other: &FileFingerprint) -> bool {
        self.inode == other.inode
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
}

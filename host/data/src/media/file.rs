//! Reading of local regular files.

use super::error::{MediaError, MediaErrorKind};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, ResourceShortage};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Content read from a file.
pub(super) struct Content {
    /// Digest of the whole content.
    pub(super) digest: Digest,
    /// Length in bytes.
    pub(super) length: u64,
    /// The first bytes, or all of them.
    pub(super) bytes: Vec<u8>,
}

/// Reads a file of at most `most` bytes, and keeps up to the first `kept` of them.
///
/// # Errors
/// `media_too_large`, `media_unreadable`, and `media_missing` if it vanished.
pub(super) fn read(path: &Path, most: u64, kept: u64) -> Result<Content, MediaError> {
    let mut file = open(path, most)?;
    let mut bytes = Vec::new();
    file.by_ref().take(kept.min(most.saturating_add(1))).read_to_end(&mut bytes).map_err(unreadable)?;
    let mut rest = file.take(most.saturating_add(1));
    let before = rest.limit();
    let digest = Digest::of_reader(bytes.as_slice().chain(&mut rest)).map_err(unreadable)?;
    let length = bytes.len() as u64 + (before - rest.limit());
    check_length(length, most)?;
    Ok(Content { digest, length, bytes })
}

/// Opens a regular file. Does not follow a final link, nor open a file that would block.
fn open(path: &Path, most: u64) -> Result<File, MediaError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default();
    let file = foreign_file::open_below(folder, name, FileLimit::NONE).map_err(unreadable)?;
    check_length(file.metadata().map_err(unreadable)?.len(), most)?;
    Ok(file)
}

fn check_length(length: u64, most: u64) -> Result<(), MediaError> {
    match length {
        0 => Err(MediaError::new(MediaErrorKind::Truncated, "the file is empty")),
        length if length > most => {
            let message = format!("the file has {length} bytes or more; at most {most} are read");
            Err(MediaError::new(MediaErrorKind::TooLarge, message))
        }
        _ => Ok(()),
    }
}

fn unreadable(error: std::io::Error) -> MediaError {
    ResourceShortage::report_in(&error);
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => MediaErrorKind::Missing,
        _ => MediaErrorKind::Unreadable,
    };
    MediaError::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::sniff::HEAD_BYTES;

    const HEAD: u64 = HEAD_BYTES as u64;

    #[test]
    fn the_head_has_the_digest_of_the_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.bin");
        for length in [1, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 3 * HEAD_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            std::fs::write(&path, &bytes).expect("written");
            let most = length as u64;
            let (head, whole) = (read(&path, most, HEAD), read(&path, most, u64::MAX));
            let (head, whole) = (head.expect("read"), whole.expect("read"));
            assert_eq!((head.digest, head.length), (whole.digest, whole.length));
            assert_eq!((head.digest, whole.bytes), (Digest::of_bytes(&bytes), bytes));
            let too_large = read(&path, most - 1, u64::MAX).map(|_| ()).map_err(|error| error.kind);
            assert_eq!(too_large, Err(MediaErrorKind::TooLarge));
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe.png");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .expect("a pipe");
        std::fs::write(folder.path().join("empty"), "").expect("written");
        let cases = [
            (pipe.as_path(), MediaErrorKind::Unreadable),
            (folder.path(), MediaErrorKind::Unreadable),
            (Path::new("/dev/zero"), MediaErrorKind::Unreadable),
            (&folder.path().join("none"), MediaErrorKind::Missing),
            (&folder.path().join("empty"), MediaErrorKind::Truncated),
        ];
        for (path, expected) in cases {
            for kept in [HEAD, u64::MAX] {
                let found = read(path, 10, kept).map(|_| ()).map_err(|error| error.kind);
                assert_eq!(found, Err(expected), "{path:?}");
            }
        }
    }
}

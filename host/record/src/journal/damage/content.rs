//! The content of a journal file, as far as it can be read.

use super::super::sealed::{self, MAX_FRAME_BYTES, TABLE_MAGIC};
use super::super::segment_names::is_sealed;
use super::super::segments::{SegmentReader, open_segment};
use crate::RecordError;
use gage_core::foreign_file::{FileLimit, FileRefusal};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use zstd::bulk::Decompressor;
use zstd::zstd_safe;

/// Begin of a zstd frame.
const FRAME_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// Maximum size of a file that is repaired, and of its lines: both are held in memory.
const MAX_SIZE: FileLimit = FileLimit::new("a journal file that is repaired", 1 << 30);

/// The lines of a journal file. A damaged sealed file has the lines of its intact frames.
#[derive(Debug, Default)]
pub(super) struct SegmentContent {
    /// The lines, one after another.
    pub(super) bytes: Vec<u8>,
    /// Parts of a sealed file that cannot be decompressed, in their order.
    pub(super) holes: Vec<ContentHole>,
}

/// Bytes of a sealed file that are not an intact frame.
#[derive(Debug)]
pub(super) struct ContentHole {
    /// Number of bytes of lines before it.
    pub(super) position: usize,
    /// Offset of the first byte in the file.
    pub(super) offset: u64,
    /// The bytes; none if the file ends without a table of frames.
    pub(super) bytes: Vec<u8>,
    /// True if it is only the table of frames.
    pub(super) is_table: bool,
}

impl SegmentContent {
    /// Reads a journal file.
    ///
    /// # Errors
    /// If the file system refuses. Damage is not an error.
    pub(super) fn read(path: &Path) -> Result<SegmentContent, RecordError> {
        let failed = |source| RecordError::io("read", path, source);
        match read_lines(path) {
            Ok(bytes) => Ok(SegmentContent { bytes, holes: Vec::new() }),
            Err(error) if is_sealed(path) && is_damage(&error) => {
                let mut file = Vec::new();
                open_segment(path, MAX_SIZE)
                    .and_then(|opened| opened.take(MAX_SIZE.max_bytes()).read_to_end(&mut file))
                    .map_err(failed)?;
                recover(&file).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Reads the lines of a journal file without damaged frames.
fn read_lines(path: &Path) -> io::Result<Vec<u8>> {
    let reader = SegmentReader::open(path)?;
    check_length(reader.length())?;
    let mut bytes = Vec::new();
    reader.take(MAX_SIZE.max_bytes()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check_length(bytes: u64) -> io::Result<()> {
    match bytes > MAX_SIZE.max_bytes() {
        true => Err(FileRefusal::TooLarge { bytes, limit: MAX_SIZE }.into()),
        false => Ok(()),
    }
}

fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

/// Reads the intact frames of a sealed file without its table. A frame says where it ends, and its content has a
/// checksum. After damaged bytes, the next frame is found by its first bytes.
fn recover(file: &[u8]) -> io::Result<SegmentContent> {
    let mut frames = FrameReader::new()?;
    let mut content = SegmentContent::default();
    let (mut offset, mut count) = (0, 0_u64);
    while let Some(rest) = file.get(offset..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = frames.read(rest) {
            content.bytes.extend_from_slice(&frames.content);
            check_length(content.bytes.len() as u64)?;
            (offset, count) = (offset + length, count + 1);
            continue;
        }
        // After a damaged frame, the table has nothing to say: the frame is lost.
        if is_table(rest) && !content.holes.is_empty() {
            return Ok(content);
        }
        let length = frames.next_part(rest);
        // If a frame were lost, these bytes would be longer.
        let is_only_table = content.holes.is_empty()
            && length == rest.len()
            && count > 0
            && length as u64 == sealed::table_bytes(count);
        content.add_hole(offset, &rest[..length], is_only_table);
        offset += length;
    }
    let is_hole_at_end =
        content.holes.last().is_some_and(|last| last.offset + last.bytes.len() as u64 == offset as u64);
    if !is_hole_at_end {
        content.add_hole(offset, &[], false);
    }
    Ok(content)
}

impl SegmentContent {
    fn add_hole(&mut self, offset: usize, bytes: &[u8], is_table: bool) {
        let (position, offset) = (self.bytes.len(), offset as u64);
        self.holes.push(ContentHole { position, offset, bytes: bytes.to_vec(), is_table });
    }
}

/// Returns whether the rest of a file is a table of frames.
fn is_table(rest: &[u8]) -> bool {
    let [a, b, c, d, e, f, g, h, ..] = *rest else { return false };
    let content_bytes = u32::from_le_bytes([e, f, g, h]) as usize;
    [a, b, c, d] == TABLE_MAGIC.to_le_bytes() && rest.len() - 8 == content_bytes
}

/// Decompresses frames.
struct FrameReader {
    decompressor: Decompressor<'static>,
    /// Content of the frame that was read last. Its capacity limits what is decompressed.
    content: Vec<u8>,
}

impl FrameReader {
    fn new() -> io::Result<FrameReader> {
        let content = Vec::with_capacity(MAX_FRAME_BYTES as usize);
        Ok(FrameReader { decompressor: Decompressor::new()?, content })
    }

    /// Reads the frame with which some bytes begin, and returns its length. Returns `None` if it is not intact.
    fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        if !bytes.starts_with(&FRAME_MAGIC) {
            return None;
        }
        let length = zstd_safe::find_frame_compressed_size(bytes).ok()?;
        self.content.clear();
        self.decompressor.decompress_to_buffer(bytes.get(..length)?, &mut self.content).ok()?;
        Some(length)
    }

    /// Returns the number of damaged bytes before the next intact frame, the table or the end.
    fn next_part(&mut self, bytes: &[u8]) -> usize {
        let is_part = |start: &usize| {
            bytes.get(*start..).is_some_and(|rest| is_table(rest) || self.read(rest).is_some())
        };
        (1..bytes.len()).find(is_part).unwrap_or(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::segment_names::sealed_path;
    use std::fs;

    /// Number of bytes of lines in a frame.
    const FRAME_BYTES: usize = 128 << 10;

    /// A sealed file, the lines in it, and the offsets of its frames and of its table.
    fn sealed_file() -> (tempfile::TempDir, Vec<u8>, Vec<u8>, Vec<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("000001.jsonl");
        // Text that compresses a little.
        let lines: String = (0..30_000_u64)
            .map(|line| format!("{:x} a line\n", line.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
            .collect();
        fs::write(&path, &lines).unwrap();
        sealed::seal(&path).unwrap();
        let file = fs::read(sealed_path(&path)).unwrap();
        let mut starts = vec![0];
        while file[starts[starts.len() - 1]..].starts_with(&FRAME_MAGIC) {
            let start = starts[starts.len() - 1];
            starts.push(start + zstd_safe::find_frame_compressed_size(&file[start..]).unwrap());
        }
        assert!(starts.len() > 4, "{starts:?}");
        (folder, lines.into_bytes(), file, starts)
    }

    #[test]
    fn damaged_frame_costs_no_other_frame() {
        let (folder, lines, whole, starts) = sealed_file();
        let path = folder.path().join("000001.jsonl.zst");
        assert_eq!(SegmentContent::read(&path).unwrap().bytes, lines);
        let (begin, end) = (starts[1], starts[2]);
        // In the magic number, in the headers, in the middle and in the checksum.
        for byte in [begin, begin + 4, begin + 8, begin + 10, (begin + end) / 2, end - 1] {
            let mut file = whole.clone();
            file[byte] ^= 0x55;
            fs::write(&path, &file).unwrap();
            let content = SegmentContent::read(&path).unwrap();
            let expected = [&lines[..FRAME_BYTES], &lines[2 * FRAME_BYTES..]].concat();
            assert!(content.bytes == expected, "byte {byte}: {} bytes", content.bytes.len());
            let [hole] = content.holes.as_slice() else { panic!("{} holes", content.holes.len()) };
            assert_eq!((hole.position, hole.offset, hole.is_table), (FRAME_BYTES, begin as u64, false));
            assert!(hole.bytes == file[begin..end], "byte {byte}");
        }
    }

    #[test]
    fn damaged_table_costs_no_line() {
        let (folder, lines, whole, starts) = sealed_file();
        let path = folder.path().join("000001.jsonl.zst");
        let table = starts[starts.len() - 1];
        for byte in [table, table + 4, table + 8, whole.len() - 7, whole.len() - 1] {
            let mut file = whole.clone();
            file[byte] ^= 1;
            fs::write(&path, &file).unwrap();
            let content = SegmentContent::read(&path).unwrap();
            assert!(content.bytes == lines, "byte {byte}");
            let [hole] = content.holes.as_slice() else { panic!("{} holes", content.holes.len()) };
            assert!(hole.is_table && hole.bytes == file[table..], "byte {byte}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_keeps_its_first_frames() {
        let (folder, lines, whole, starts) = sealed_file();
        let path = folder.path().join("000001.jsonl.zst");
        for (length, frames, hole_bytes) in [
            (0, 0, 0),
            (3, 0, 3),
            (starts[2], 2, 0),
            (starts[2] + 9, 2, 9),
            (starts[3] - 1, 2, starts[3] - 1 - starts[2]),
        ] {
            fs::write(&path, &whole[..length]).unwrap();
            let content = SegmentContent::read(&path).unwrap();
            assert!(content.bytes == lines[..frames * FRAME_BYTES], "{length}");
            let [hole] = content.holes.as_slice() else { panic!("{} holes", content.holes.len()) };
            assert_eq!((hole.bytes.len(), hole.is_table), (hole_bytes, false), "{length}");
        }
    }
}

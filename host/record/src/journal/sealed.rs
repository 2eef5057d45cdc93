//! Sealed segments: journal files that are compressed because nothing more is appended to them.
//!
//! A sealed file is a series of zstd frames, each with the checksum of its content, followed by the seek table of zstd's
//! [seekable format](https://github.com/facebook/zstd/blob/dev/contrib/seekable_format/zstd_seekable_compression_format.md).
//! `zstd -dc` prints the file as it was before. A line may cross from one frame into the next.

use super::segment_names::sealed_path;
use crate::atomic_file::sync_folder;
use crate::{AtomicFile, RecordError};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

/// Number of bytes that are compressed together. To read a line, its whole frame is decompressed.
const FRAME_BYTES: usize = MAX_FRAME_BYTES as usize;

/// Maximum content of a frame that is read, in bytes. It limits the memory and the time that a line of a foreign file takes.
pub(super) const MAX_FRAME_BYTES: u32 = 128 << 10;

/// Minimum content of each frame but the last, in bytes. A line of a foreign file could otherwise cross thousands of frames.
const MIN_FRAME_BYTES: u32 = 4 << 10;

/// Maximum number of frames of a file. It limits the memory that the table of a foreign file takes. A full segment has about
/// 128 frames.
const MAX_FRAMES: u32 = 1 << 20;

/// Level of compression. The default, 3, saves 1 % more of a journal and costs half as much again.
const LEVEL: i32 = 1;

/// Begin and end of the seek table.
pub(super) const TABLE_MAGIC: u32 = 0x184D_2A5E;
const FOOTER_MAGIC: u32 = 0x8F92_EAB1;
const FOOTER_BYTES: u64 = 9;
const ENTRY_BYTES: u64 = 8;
/// Magic number and size before the entries.
const TABLE_HEADER_BYTES: u64 = 8;

/// Replaces a file by its sealed form. Whatever happens meanwhile, one of the two is whole and in place.
///
/// # Errors
/// If the file system refuses. The unsealed file is then still in place.
pub(super) fn seal(path: &Path) -> Result<(), RecordError> {
    let failed = |source| RecordError::io("compress", path, source);
    let mut from = File::open(path).map_err(failed)?;
    let target = sealed_path(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut file = AtomicFile::create(folder, &name)?;
    write_frames(&mut from, &mut file).map_err(failed)?;
    file.commit()?;
    fs::remove_file(path).map_err(|source| RecordError::io("delete", path, source))?;
    sync_folder(folder)
}

fn write_frames(from: &mut File, file: &mut AtomicFile) -> io::Result<()> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    let mut content = Vec::with_capacity(FRAME_BYTES);
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(FRAME_BYTES));
    let mut table = Vec::new();
    loop {
        content.clear();
        from.take(FRAME_BYTES as u64).read_to_end(&mut content)?;
        if content.is_empty() {
            break;
        }
        frame.clear();
        compressor.compress_to_buffer(&content, &mut frame)?;
        file.write_all(&frame)?;
        table.extend(size_of_frame(frame.len())?.to_le_bytes());
        table.extend(size_of_frame(content.len())?.to_le_bytes());
    }
    let count = size_of_frame(table.len() / ENTRY_BYTES as usize)?;
    file.write_all(&TABLE_MAGIC.to_le_bytes())?;
    file.write_all(&size_of_frame(table.len() + FOOTER_BYTES as usize)?.to_le_bytes())?;
    file.write_all(&table)?;
    file.write_all(&count.to_le_bytes())?;
    // The descriptor: the table has no checksums, because the frames have their own.
    file.write_all(&[0])?;
    file.write_all(&FOOTER_MAGIC.to_le_bytes())
}

/// Returns the size of the seek table of a file with this number of frames, in bytes.
pub(super) fn table_bytes(frames: u64) -> u64 {
    TABLE_HEADER_BYTES + frames * ENTRY_BYTES + FOOTER_BYTES
}

fn size_of_frame(bytes: usize) -> io::Result<u32> {
    u32::try_from(bytes).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))
}

/// A sealed segment, of which any frame can be read.
pub(super) struct SealedFile {
    file: File,
    frames: Vec<Frame>,
    length: u64,
    decompressor: Decompressor<'static>,
    compressed: Vec<u8>,
}

/// A place in the compressed file and what it holds.
#[derive(Clone, Copy)]
struct Frame {
    /// Offset and number of its compressed bytes.
    offset: u64,
    compressed_bytes: u32,
    /// Offset and number of its bytes in the lines.
    start: u64,
    bytes: u32,
}

impl SealedFile {
    /// Reads the seek table of a sealed file that was opened for reading.
    pub(super) fn new(mut file: File) -> io::Result<SealedFile> {
        let frames = read_table(&mut file)?;
        let length = frames.last().map_or(0, |last| last.start + u64::from(last.bytes));
        Ok(SealedFile { file, frames, length, decompressor: Decompressor::new()?, compressed: Vec::new() })
    }

    /// Number of bytes of all lines.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of the frame that holds a position, and the position at which it starts.
    pub(super) fn frame_at(&self, position: u64) -> (usize, u64) {
        let number = self.frames.partition_point(|frame| frame.start <= position).saturating_sub(1);
        (number, self.frames.get(number).map_or(0, |frame| frame.start))
    }

    /// Decompresses a frame into an empty buffer.
    pub(super) fn read_frame(&mut self, number: usize, content: &mut Vec<u8>) -> io::Result<()> {
        let Some(Frame { offset, compressed_bytes, bytes, .. }) = self.frames.get(number).copied() else {
            return Ok(());
        };
        self.file.seek(SeekFrom::Start(offset))?;
        self.compressed.resize(compressed_bytes as usize, 0);
        self.file.read_exact(&mut self.compressed)?;
        // The capacity limits what is decompressed.
        content.reserve_exact(bytes as usize);
        match self.decompressor.decompress_to_buffer(&self.compressed, content) {
            Ok(length) if length == bytes as usize => Ok(()),
            Ok(length) => Err(damaged(format!("the frame at byte {offset} has {length} bytes, not {bytes}"))),
            Err(error) => Err(damaged(format!("the frame at byte {offset} is damaged ({error})"))),
        }
    }
}

fn damaged(reason: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason.into())
}

/// Reads the seek table at the end of a file.
fn read_table(file: &mut File) -> io::Result<Vec<Frame>> {
    let cut_off = || damaged("it has no table of frames at its end: it is cut off or was changed");
    let length = file.metadata()?.len();
    let begin = length.checked_sub(FOOTER_BYTES).ok_or_else(cut_off)?;
    file.seek(SeekFrom::Start(begin))?;
    let count = read_u32(file)?;
    let mut descriptor = [0];
    file.read_exact(&mut descriptor)?;
    if read_u32(file)? != FOOTER_MAGIC || descriptor != [0] {
        return Err(cut_off());
    }
    if count > MAX_FRAMES {
        return Err(damaged(format!(
            "its table has {count} frames, and a journal file has up to {MAX_FRAMES}"
        )));
    }
    let entries_bytes = u64::from(count) * ENTRY_BYTES;
    let table = begin.checked_sub(entries_bytes + TABLE_HEADER_BYTES).ok_or_else(cut_off)?;
    file.seek(SeekFrom::Start(table))?;
    if read_u32(file)? != TABLE_MAGIC || u64::from(read_u32(file)?) != entries_bytes + FOOTER_BYTES {
        return Err(cut_off());
    }
    let mut entries = vec![0; usize::try_from(entries_bytes).map_err(|_| cut_off())?];
    file.read_exact(&mut entries)?;
    let mut frames = Vec::with_capacity(count as usize);
    let (mut offset, mut start) = (0, 0);
    for (number, entry) in (1..).zip(entries.as_chunks::<8>().0) {
        let [a, b, c, d, e, f, g, h] = *entry;
        let (compressed_bytes, bytes) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let is_too_large = compressed_bytes as usize > zstd::zstd_safe::compress_bound(bytes as usize);
        if bytes == 0 || bytes > MAX_FRAME_BYTES || is_too_large {
            return Err(damaged(format!("its table has a frame of {compressed_bytes} bytes for {bytes}")));
        }
        if bytes < MIN_FRAME_BYTES && number < count {
            return Err(damaged(format!(
                "its frame {number} of {count} holds {bytes} bytes of lines, and each but the last holds at least {MIN_FRAME_BYTES}"
            )));
        }
        frames.push(Frame { offset, compressed_bytes, start, bytes });
        offset += u64::from(compressed_bytes);
        start += u64::from(bytes);
    }
    if offset != table {
        return Err(damaged("its frames do not fill the file: it was changed"));
    }
    Ok(frames)
}

fn read_u32(file: &mut File) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a sealed file that has frames with these contents, and returns the number of bytes of its lines.
    fn length_of(contents: &[&[u8]]) -> io::Result<u64> {
        let (mut frames, mut table) = (Vec::new(), Vec::new());
        for content in contents {
            let frame = zstd::bulk::compress(content, LEVEL)?;
            table.extend(size_of_frame(frame.len())?.to_le_bytes());
            table.extend(size_of_frame(content.len())?.to_le_bytes());
            frames.extend(frame);
        }
        let mut file = tempfile::tempfile()?;
        file.write_all(&frames)?;
        file.write_all(&TABLE_MAGIC.to_le_bytes())?;
        file.write_all(&size_of_frame(table.len() + FOOTER_BYTES as usize)?.to_le_bytes())?;
        file.write_all(&table)?;
        file.write_all(&size_of_frame(contents.len())?.to_le_bytes())?;
        file.write_all(&[0])?;
        file.write_all(&FOOTER_MAGIC.to_le_bytes())?;
        SealedFile::new(file).map(|sealed| sealed.length())
    }

    #[test]
    fn files_with_tiny_or_huge_frames_are_refused() {
        let content = vec![b'a'; FRAME_BYTES + 1];
        let (least, most) = (MIN_FRAME_BYTES as usize, FRAME_BYTES);
        assert_eq!(length_of(&[&content[..least], &content[..most], b"a"]).unwrap(), 4096 + 131_072 + 1);
        let error = length_of(&[&content[..most], &content[..least - 1], b"a"]).unwrap_err().to_string();
        assert!(error.contains("its frame 2 of 3 holds 4095 bytes of lines"), "{error}");
        let error = length_of(&[&content, b"a"]).unwrap_err().to_string();
        assert!(error.contains("bytes for 131073"), "{error}");
    }
}

//! The files of a journal, which are read in the same way whether they are compressed or not.

use super::sealed::SealedFile;
use super::segment_names::{is_sealed, sealed_path, segment_name, unsealed_name};
use crate::RecordError;
use crate::format::JOURNAL_FOLDER;
use gage_core::foreign_file::{self, FileLimit};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, ErrorKind, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Number of times a folder is listed before a gap counts as a missing file. Another process may be sealing a file
/// meanwhile, and a listing can then contain neither of its names.
const LIST_ATTEMPTS: usize = 8;

/// Returns the journal files of a run folder, in order. If a segment has both a sealed and an unsealed file, sealing was
/// interrupted, and the unsealed one counts.
pub(crate) fn segment_paths(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let journal = folder.join(JOURNAL_FOLDER);
    let mut paths = Vec::new();
    for _ in 0..LIST_ATTEMPTS {
        paths = list(&journal).map_err(|source| RecordError::io("list", &journal, source))?;
        let has_all = paths.iter().zip(1..).all(|(path, number)| unsealed_name(path) == segment_name(number));
        if has_all {
            break;
        }
        std::thread::yield_now();
    }
    Ok(paths)
}

fn list(journal: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(journal)? {
        let path = entry?.path();
        if Path::new(&unsealed_name(&path)).extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    // The unsealed name is a prefix of the sealed one, so it comes first.
    paths.sort();
    paths.dedup_by(|next, kept| unsealed_name(next) == unsealed_name(kept));
    Ok(paths)
}

/// Opens a file in the journal folder of a run. Neither the file nor the folder may be a link.
pub(super) fn open_segment(path: &Path, limit: FileLimit) -> io::Result<File> {
    let journal = path.parent().unwrap_or(Path::new(""));
    let name: PathBuf = [journal.file_name(), path.file_name()].into_iter().flatten().collect();
    foreign_file::open_below(journal.parent().unwrap_or(Path::new("")), name, limit)
}

/// Size of the blocks in which an unsealed file is read, in bytes.
const BLOCK_BYTES: usize = 128 << 10;

/// Size of the blocks that a reader of lines in another order keeps, in bytes. Lines are read almost in the order in which they were written, but one
/// slow sample can be thousands of lines late.
pub(super) const MAX_CACHE_BYTES: usize = 8 << 20;

/// The same for a reader beside many others: enough for the answers of a scoring batch and their scores.
pub(super) const SMALL_CACHE_BYTES: usize = 256 << 10;

/// Reads a segment from any position. Positions count the bytes of its lines, whether it is sealed or not.
pub(super) struct SegmentReader {
    file: SegmentFile,
    position: u64,
    /// Blocks by number, the one used last at the front.
    cache: VecDeque<(usize, Vec<u8>)>,
    cached_bytes: usize,
    max_cache_bytes: usize,
}

/// The file of a segment, which is read in blocks.
enum SegmentFile {
    /// A file that may still grow, and its length when it was opened.
    Unsealed(File, u64),
    Sealed(Box<SealedFile>),
}

impl SegmentReader {
    /// Opens a segment to read it forwards, by a path from [`segment_paths`]. It may have been sealed since.
    pub(super) fn open(path: &Path) -> io::Result<SegmentReader> {
        let sealed = |file: File| SealedFile::new(file).map(|file| SegmentFile::Sealed(Box::new(file)));
        let file = match open_segment(path, FileLimit::NONE) {
            Ok(file) if is_sealed(path) => sealed(file)?,
            Ok(file) => {
                let length = file.metadata()?.len();
                SegmentFile::Unsealed(file, length)
            }
            // A sealed file is in place before the unsealed one is removed.
            Err(error) if error.kind() == ErrorKind::NotFound && !is_sealed(path) => {
                match open_segment(&sealed_path(path), FileLimit::NONE) {
                    Err(other) if other.kind() == ErrorKind::NotFound => return Err(error),
                    opened => sealed(opened?)?,
                }
            }
            Err(error) => return Err(error),
        };
        Ok(SegmentReader { file, position: 0, cache: VecDeque::new(), cached_bytes: 0, max_cache_bytes: 0 })
    }

    /// Keeps blocks of up to this size, so that it is cheap to go back.
    pub(super) fn with_cache(self, max_cache_bytes: usize) -> SegmentReader {
        SegmentReader { max_cache_bytes, ..self }
    }

    /// Number of bytes of all lines when the segment was opened.
    pub(super) fn length(&self) -> u64 {
        match &self.file {
            SegmentFile::Unsealed(_, length) => *length,
            SegmentFile::Sealed(file) => file.length(),
        }
    }

    /// Continues at a position.
    pub(super) fn seek_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Reads a block to the front of the cache.
    fn read_block(&mut self, number: usize) -> io::Result<()> {
        let mut block = match self.cached_bytes > self.max_cache_bytes {
            true => self.cache.pop_back().map(|(_, block)| block).unwrap_or_default(),
            false => Vec::new(),
        };
        self.cached_bytes -= block.len();
        block.clear();
        match &mut self.file {
            SegmentFile::Unsealed(file, length) => {
                let start = number as u64 * BLOCK_BYTES as u64;
                file.seek(SeekFrom::Start(start))?;
                let bytes = length.saturating_sub(start).min(BLOCK_BYTES as u64);
                file.take(bytes).read_to_end(&mut block)?;
            }
            SegmentFile::Sealed(file) => file.read_frame(number, &mut block)?,
        }
        self.cached_bytes += block.len();
        self.cache.push_front((number, block));
        Ok(())
    }
}

impl Read for SegmentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for SegmentReader {
    /// Returns the bytes from the position to the end of its block. At the end of the file, there are none.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position >= self.length() {
            return Ok(&[]);
        }
        let (number, start) = match &self.file {
            SegmentFile::Unsealed(..) => {
                let number = self.position / BLOCK_BYTES as u64;
                (usize::try_from(number).unwrap_or(usize::MAX), number * BLOCK_BYTES as u64)
            }
            SegmentFile::Sealed(file) => file.frame_at(self.position),
        };
        if self.cache.front().is_none_or(|(cached, _)| *cached != number) {
            match self.cache.iter().position(|(cached, _)| *cached == number) {
                Some(place) => {
                    let block = self.cache.remove(place);
                    self.cache.extend(block);
                    self.cache.rotate_right(1);
                }
                None => self.read_block(number)?,
            }
        }
        let begin = usize::try_from(self.position - start).unwrap_or(usize::MAX);
        Ok(self.cache.front().and_then(|(_, block)| block.get(begin..)).unwrap_or_default())
    }

    fn consume(&mut self, length: usize) {
        self.position += length as u64;
    }
}

//! The files of a journal: their names, and reading them whether they are compressed or not.

use super::sealed::SealedReader;
use crate::RecordError;
use crate::format::JOURNAL_FOLDER;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Ending of a sealed file, after the name that it had before.
pub(super) const SEALED_EXTENSION: &str = "zst";

/// Number of times a folder is listed before a gap counts as a missing file. Another process may be sealing a file
/// meanwhile, and a listing can then contain neither of its names.
const LIST_ATTEMPTS: usize = 8;

/// Returns the name of a journal file, given its number from 1.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:06}.jsonl")
}

/// Returns the path of a segment after it is sealed.
pub(super) fn sealed_path(path: &Path) -> PathBuf {
    path.with_added_extension(SEALED_EXTENSION)
}

/// Returns the name that a segment has while it is not sealed.
pub(super) fn unsealed_name(path: &Path) -> String {
    let unsealed = if is_sealed(path) { path.with_extension("") } else { path.to_owned() };
    unsealed.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns whether a path is the one of a sealed segment.
pub(super) fn is_sealed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == SEALED_EXTENSION)
}

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

/// Reads a segment from any position. Positions count the bytes of its lines, whether it is sealed or not.
pub(super) enum SegmentReader {
    Unsealed(UnsealedReader),
    Sealed(SealedReader),
}

/// A file that may still grow.
pub(super) struct UnsealedReader {
    reader: BufReader<File>,
    position: u64,
    length: u64,
}

impl SegmentReader {
    /// Opens a segment, by a path from [`segment_paths`]. It may have been sealed since.
    pub(super) fn open(path: &Path) -> io::Result<SegmentReader> {
        if is_sealed(path) {
            return SealedReader::open(path).map(SegmentReader::Sealed);
        }
        match File::open(path) {
            Ok(file) => {
                let length = file.metadata()?.len();
                let reader = BufReader::with_capacity(1 << 16, file);
                Ok(SegmentReader::Unsealed(UnsealedReader { reader, position: 0, length }))
            }
            // A sealed file is in place before the unsealed one is removed.
            Err(error) if error.kind() == ErrorKind::NotFound => match SealedReader::open(&sealed_path(path))
            {
                Err(sealed) if sealed.kind() == ErrorKind::NotFound => Err(error),
                opened => opened.map(SegmentReader::Sealed),
            },
            Err(error) => Err(error),
        }
    }

    /// Number of bytes of all lines when the segment was opened.
    pub(super) fn length(&self) -> u64 {
        match self {
            SegmentReader::Unsealed(file) => file.length,
            SegmentReader::Sealed(file) => file.length(),
        }
    }

    /// Continues at a position. A position close to the last one keeps what is buffered.
    pub(super) fn seek_to(&mut self, position: u64) -> io::Result<()> {
        match self {
            SegmentReader::Unsealed(file) => {
                match i64::try_from(i128::from(position) - i128::from(file.position)) {
                    Ok(distance) => file.reader.seek_relative(distance)?,
                    Err(_) => file.reader.seek(SeekFrom::Start(position)).map(|_| ())?,
                }
                file.position = position;
            }
            SegmentReader::Sealed(file) => file.seek_to(position),
        }
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
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            SegmentReader::Unsealed(file) => file.reader.fill_buf(),
            SegmentReader::Sealed(file) => file.fill_buf(),
        }
    }

    fn consume(&mut self, length: usize) {
        match self {
            SegmentReader::Unsealed(file) => {
                file.reader.consume(length);
                file.position += length as u64;
            }
            SegmentReader::Sealed(file) => file.consume(length),
        }
    }
}

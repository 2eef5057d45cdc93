//! Loaders: one for each format, all giving records one after another.

mod array;
mod chain;
mod delimited;
mod gzip;
mod input;
mod kind;
mod lines;
mod offsets;
mod parquet;
mod spool;

pub(crate) use chain::{Chain, NumberedRecord, error};
pub(crate) use kind::FileKind;
pub(crate) use offsets::{Offsets, count};
pub(crate) use spool::Spool;

use crate::row::RowPosition;
use crate::source::{DataFile, FormatOptions};
use gage_config::FileFormat;

/// A row may not be longer than this, in bytes.
pub(crate) const MAX_ROW_BYTES: usize = 64 << 20;

/// A row as its loader found it.
pub(crate) struct Record {
    pub place: RowPosition,
    /// Where it begins, where `place` does not say it.
    pub begin: Option<Position>,
    pub content: Content,
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// From 1.
    pub line: u64,
    /// In bytes, from 1.
    pub column: u64,
}

impl Position {
    /// Goes on after some bytes.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        match memchr::memrchr(b'\n', bytes) {
            None => self.column += bytes.len() as u64,
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
                self.column = (bytes.len() - last) as u64;
            }
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

pub(crate) enum Content {
    /// As it lies in the file; nobody has looked at it.
    Raw(Vec<u8>),
    /// The text of a JSON object that the loader wrote.
    Made(String),
    /// What the loader found wrong, and the row as far as it is known.
    Broken { message: String, bytes: Vec<u8> },
}

/// Why a loader cannot go on.
#[derive(Debug)]
pub(crate) enum LoaderError {
    /// The system does not give the file.
    Unreadable(std::io::Error),
    /// The file is cut off or broken.
    Damaged(String),
    /// The file is something else than was said.
    Unsuited(String),
}

/// Gives the records of one file.
pub(crate) trait Loader: Send {
    /// The next record; `None` when the file is over. Not called again after a fault.
    fn next(&mut self) -> Result<Option<Record>, LoaderError>;
}

/// Opens a file, and makes sure that it is what its loader reads.
pub(crate) fn open(
    file: &DataFile,
    format: FileFormat,
    options: &FormatOptions,
) -> Result<Box<dyn Loader>, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    kind.check(format)?;
    if format == FileFormat::Parquet {
        return Ok(Box::new(parquet::Parquet::open(opened)?));
    }
    let input = input::Input::open(opened, kind, format)?;
    Ok(match format {
        FileFormat::Json => Box::new(array::Array::new(input, options.records.clone())),
        FileFormat::Csv => Box::new(delimited::DelimitedLoader::open(input, options, b',')?),
        FileFormat::Tsv => Box::new(delimited::DelimitedLoader::open(input, options, b'\t')?),
        FileFormat::Jsonl | FileFormat::Parquet => Box::new(lines::Lines::new(input)),
    })
}

/// What a file is, by its first bytes.
pub(crate) fn kind_of(file: &DataFile) -> Result<FileKind, LoaderError> {
    kind::open(file).map(|(_, kind)| kind)
}

/// Returns how many rows a Parquet file says that it has.
pub(crate) fn parquet_rows(file: &DataFile) -> Result<u64, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    kind.check(FileFormat::Parquet)?;
    parquet::Parquet::open(opened).map(|parquet| parquet.rows())
}

/// The whole of a text file, which may be compressed; at most `most` bytes of text.
pub(crate) fn read_text(file: &DataFile, most: u64) -> Result<String, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    let mut input = input::Input::open(opened, kind, FileFormat::Jsonl)?;
    input.read_all(most)
}

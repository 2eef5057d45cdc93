//! Loaders: one for each format, each returning one record after another.

mod array;
mod chain;
mod delimited;
mod gzip;
mod input;
mod kind;
mod lines;
mod offsets;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(any(test, not(feature = "parquet")))]
mod parquet_disabled;
mod spool;

pub(crate) use chain::{Chain, NumberedRecord, error};
pub(crate) use kind::FileKind;
pub(crate) use offsets::{Offsets, count};
pub(crate) use spool::Spool;

use crate::row::RowPosition;
use crate::source::{DataFile, FormatOptions};
use gage_config::FileFormat;
use gage_core::max_json_values;
#[cfg(feature = "parquet")]
use parquet::Parquet;
#[cfg(not(feature = "parquet"))]
use parquet_disabled::Parquet;

/// Maximum length of a row, in bytes.
pub(crate) const MAX_ROW_BYTES: usize = 64 << 20;
/// Maximum number of JSON values of a row that is built: to join it with its label, or for the prompts that read it. Its tree
/// takes at most 80 MB.
pub(crate) const MAX_ROW_VALUES: usize = max_json_values(MAX_ROW_BYTES / 4);

/// A row as its loader found it.
pub(crate) struct Record {
    pub place: RowPosition,
    /// Start of the row, if `place` does not give it.
    pub begin: Option<Position>,
    pub content: Content,
}

/// Position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: u64,
}

impl Position {
    /// Advances past some bytes.
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
    /// Unchecked bytes of the file.
    Raw(Vec<u8>),
    /// Text of a JSON object that the loader wrote.
    Made(String),
    /// Problem that the loader found, and the known part of the row.
    Broken { message: String, bytes: Vec<u8> },
}

/// Reason why a loader cannot continue.
#[derive(Debug)]
pub(crate) enum LoaderError {
    /// The system cannot read the file.
    Unreadable(std::io::Error),
    /// The file is truncated or broken.
    Damaged(String),
    /// The file is not of the declared kind.
    Unsuited(String),
}

/// Reads the records of one file.
pub(crate) trait Loader: Send {
    /// Returns the next record, or `None` at the end of the file. Must not be called again after an error.
    fn next(&mut self) -> Result<Option<Record>, LoaderError>;
}

/// Opens a file, and checks that its loader can read it.
pub(crate) fn open(
    file: &DataFile,
    format: FileFormat,
    options: &FormatOptions,
) -> Result<Box<dyn Loader>, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    kind.check(format)?;
    if format == FileFormat::Parquet {
        return Ok(Box::new(Parquet::open(opened)?));
    }
    let input = input::Input::open(opened, kind, format)?;
    Ok(match format {
        FileFormat::Json => Box::new(array::Array::new(input, options.records.clone())),
        FileFormat::Csv => Box::new(delimited::DelimitedLoader::open(input, options, b',')?),
        FileFormat::Tsv => Box::new(delimited::DelimitedLoader::open(input, options, b'\t')?),
        FileFormat::Jsonl | FileFormat::Parquet => Box::new(lines::Lines::new(input)),
    })
}

/// Returns the kind of a file, by its first bytes.
pub(crate) fn kind_of(file: &DataFile) -> Result<FileKind, LoaderError> {
    kind::open(file).map(|(_, kind)| kind)
}

/// Returns true if a text file begins with a JSON object.
pub(crate) fn begins_with_object(file: &DataFile) -> Result<bool, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    kind.check(FileFormat::Json)?;
    let mut input = input::Input::open(opened, kind, FileFormat::Json)?;
    let chunk = input.chunk()?;
    let text = chunk.strip_prefix(input::BYTE_ORDER_MARK).unwrap_or(chunk);
    Ok(text.trim_ascii_start().starts_with(b"{"))
}

/// Returns the number of rows of a plain file with delimited fields.
pub(crate) fn count_delimited(
    file: &DataFile,
    format: FileFormat,
    options: &FormatOptions,
) -> Result<u64, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    let input = input::Input::open(opened, kind, format)?;
    let delimiter = if format == FileFormat::Tsv { b'\t' } else { b',' };
    delimited::DelimitedLoader::open(input, options, delimiter)?.count()
}

/// Returns the number of rows that a Parquet file states.
pub(crate) fn parquet_rows(file: &DataFile) -> Result<u64, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    kind.check(FileFormat::Parquet)?;
    Parquet::open(opened).map(|parquet| parquet.rows())
}

/// Reads a whole text file, compressed or not, of at most `most` bytes of text.
pub(crate) fn read_text(file: &DataFile, most: u64) -> Result<String, LoaderError> {
    let (opened, kind) = kind::open(file)?;
    let mut input = input::Input::open(opened, kind, FileFormat::Jsonl)?;
    input.read_all(most)
}

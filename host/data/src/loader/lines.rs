//! The `jsonl` loader: one JSON object per line. Blank lines are skipped.

use super::input::{BYTE_ORDER_MARK, Input, is_blank};
use super::{Content, Loader, LoaderError, MAX_ROW_BYTES, Record};
use crate::row::RowPosition;

/// Maximum number of blank lines between two rows. A small compressed file can hold billions of them.
const MAX_BLANK_LINES: u64 = 1_000_000;

/// Number of blank lines since the last row.
#[derive(Default)]
pub(super) struct BlankLines(u64);

impl BlankLines {
    /// Counts a line by its number. Returns an error message if too many blank lines follow one another.
    pub(super) fn count(&mut self, line: u64, is_blank: bool) -> Result<(), String> {
        self.0 = if is_blank { self.0 + 1 } else { 0 };
        match self.0 > MAX_BLANK_LINES {
            true => Err(format!(
                "more than {MAX_BLANK_LINES} blank lines follow one another up to line {line}; remove them"
            )),
            false => Ok(()),
        }
    }
}

pub(crate) struct Lines {
    input: Input,
    line: u64,
    blank: BlankLines,
}

impl Lines {
    pub(crate) fn new(input: Input) -> Lines {
        Lines { input, line: 0, blank: BlankLines::default() }
    }
}

impl Loader for Lines {
    fn next(&mut self) -> Result<Option<Record>, LoaderError> {
        loop {
            let mut bytes = Vec::new();
            if self.input.read_line(&mut bytes)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if self.line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            let is_blank = is_blank(&bytes);
            self.blank.count(self.line, is_blank).map_err(LoaderError::Unsuited)?;
            if !is_blank {
                return Ok(Some(record(self.line, bytes)));
            }
        }
    }
}

/// Returns the record of a line, without the line's end.
pub(crate) fn record(line: u64, mut bytes: Vec<u8>) -> Record {
    // The end of an overlong line is unknown.
    if bytes.len() < MAX_ROW_BYTES {
        bytes.truncate(bytes.trim_ascii_end().len());
    }
    Record { place: RowPosition::Line(line), begin: None, content: Content::Raw(bytes) }
}

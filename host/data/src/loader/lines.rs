//! The `jsonl` loader: one JSON object per line. Blank lines are skipped.

use super::input::{BYTE_ORDER_MARK, Input, is_blank};
use super::{Content, Loader, LoaderError, MAX_ROW_BYTES, Record};
use crate::row::RowPosition;

pub(crate) struct Lines {
    input: Input,
    line: u64,
}

impl Lines {
    pub(crate) fn new(input: Input) -> Lines {
        Lines { input, line: 0 }
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
            if !is_blank(&bytes) {
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

//! Shuffled reading of one plain JSONL file. Only the offsets of rows are kept, not the rows.

use super::input::{BYTE_ORDER_MARK, is_blank};
use super::{Record, lines};
use crate::shuffle::shuffle;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};

/// Longer rows are rare, and data read ahead of a row is useless for the next.
const BUFFER_BYTES: usize = 1 << 12;

/// Rows of a file, shuffled.
pub(crate) struct Offsets {
    file: BufReader<File>,
    offsets: Vec<u64>,
    order: std::vec::IntoIter<u64>,
    /// Lines that are not rows: the number of the row that follows, and the number of such lines before it.
    blank: Vec<(u64, u64)>,
}

impl Offsets {
    pub(crate) fn open(mut file: File, seed: u64) -> std::io::Result<Offsets> {
        let (mut offsets, mut blank) = (Vec::new(), Vec::new());
        file.seek(SeekFrom::Start(0))?;
        scan(BufReader::with_capacity(1 << 18, &file), |offset, line| {
            let number = offsets.len() as u64;
            let before = line - number - 1;
            if blank.last().map_or(0, |(_, before)| *before) != before {
                blank.push((number, before));
            }
            offsets.push(offset);
        })?;
        let mut order: Vec<u64> = (0..offsets.len() as u64).collect();
        shuffle(&mut order, seed);
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Offsets { file, offsets, order: order.into_iter(), blank })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// Returns the next record, with its number in the file.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(u64, Record)>> {
        let Some(number) = self.order.next() else { return Ok(None) };
        let offset = usize::try_from(number).ok().and_then(|number| self.offsets.get(number)).copied();
        self.file.seek(SeekFrom::Start(offset.unwrap_or_default()))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(super::MAX_ROW_BYTES as u64).read_until(b'\n', &mut bytes)?;
        let entry = self.blank.partition_point(|(at, _)| *at <= number);
        let before =
            entry.checked_sub(1).and_then(|entry| self.blank.get(entry)).map_or(0, |(_, before)| *before);
        Ok(Some((number, lines::record(number + 1 + before, bytes))))
    }
}

/// Returns the number of rows of a plain JSONL file.
pub(crate) fn count(file: File) -> std::io::Result<u64> {
    let mut rows = 0;
    scan(BufReader::with_capacity(1 << 18, file), |_, _| rows += 1)?;
    Ok(rows)
}

/// Visits each row with its offset and its line.
fn scan(mut reader: impl BufRead, mut visit: impl FnMut(u64, u64)) -> std::io::Result<()> {
    let (mut offset, mut line) = (0_u64, 1_u64);
    // Offset of the line's row, valid after its first byte.
    let (mut start, mut is_row) = (0_u64, false);
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        let mut part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
        let consumed = part.len() + usize::from(end.is_some());
        if offset == 0 && part.starts_with(BYTE_ORDER_MARK) {
            start = BYTE_ORDER_MARK.len() as u64;
            part = part.get(BYTE_ORDER_MARK.len()..).unwrap_or_default();
        }
        is_row = is_row || !is_blank(part);
        reader.consume(consumed);
        offset += consumed as u64;
        if end.is_some() {
            if is_row {
                visit(start, line);
            }
            (start, is_row) = (offset, false);
            line += 1;
        }
    }
    if is_row {
        visit(start, line);
    }
    Ok(())
}

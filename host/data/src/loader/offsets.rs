//! Shuffled reading of one plain JSONL file. Only the offsets of rows are kept, not the rows.

use super::input::{BYTE_ORDER_MARK, is_blank};
use super::{MAX_ROW_BYTES, Record, lines};
use crate::checked_file::{CheckedFile, ChecksumBuilder, checksum_of};
use crate::shuffle::shuffle;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read as _, Seek as _, SeekFrom};

/// Longer rows are rare, and data read ahead of a row is useless for the next.
const BUFFER_BYTES: usize = 1 << 12;

/// Rows of a file, shuffled.
pub(crate) struct Offsets {
    /// The file as it was scanned.
    scanned: CheckedFile,
    /// The same file, from which single rows are read. To read their whole blocks would take too long, so each row has
    /// a checksum from the scan.
    file: BufReader<File>,
    rows: Vec<RowOffset>,
    order: std::vec::IntoIter<u64>,
    /// Lines that are not rows: the number of the row that follows, and the number of such lines before it.
    blank: Vec<(u64, u64)>,
}

/// Start of a row, and the checksum of its line.
#[derive(Clone, Copy)]
struct RowOffset {
    start: u64,
    checksum: u64,
}

impl Offsets {
    pub(crate) fn open(mut file: CheckedFile, seed: u64) -> std::io::Result<Offsets> {
        file.seek(SeekFrom::Start(0))?;
        let mut index = RowIndex::default();
        scan(&mut file, &mut index)?;
        let RowIndex { rows, blank, .. } = index;
        let mut order: Vec<u64> = (0..rows.len() as u64).collect();
        shuffle(&mut order, seed);
        let unchecked = BufReader::with_capacity(BUFFER_BYTES, file.unchecked()?);
        Ok(Offsets { scanned: file, file: unchecked, rows, order: order.into_iter(), blank })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns the next record, with its number in the file.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(u64, Record)>> {
        let Some(number) = self.order.next() else { return Ok(None) };
        let row = usize::try_from(number).ok().and_then(|number| self.rows.get(number)).copied();
        let RowOffset { start, checksum } = row.ok_or(ErrorKind::UnexpectedEof)?;
        self.file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(MAX_ROW_BYTES as u64).read_until(b'\n', &mut bytes)?;
        // A longer row is rejected, whatever it contains.
        if bytes.len() < MAX_ROW_BYTES && checksum_of(&bytes) != checksum {
            return Err(self.scanned.reject(start));
        }
        let entry = self.blank.partition_point(|(at, _)| *at <= number);
        let before =
            entry.checked_sub(1).and_then(|entry| self.blank.get(entry)).map_or(0, |(_, before)| *before);
        Ok(Some((number, lines::record(number + 1 + before, bytes))))
    }
}

/// Returns the number of rows of a plain JSONL file.
pub(crate) fn count(file: CheckedFile) -> std::io::Result<u64> {
    let mut counter = RowCounter(0);
    scan(file, &mut counter)?;
    Ok(counter.0)
}

/// Receives the lines of a file.
trait LineVisitor {
    /// Takes the next piece of a line. The last one ends with the end of the line.
    fn add(&mut self, _piece: &[u8]) {}

    /// Ends a line with its number, and the offset of its row, if it is one.
    fn end_line(&mut self, line: u64, row: Option<u64>);
}

/// Counts rows.
struct RowCounter(u64);

impl LineVisitor for RowCounter {
    fn end_line(&mut self, _line: u64, row: Option<u64>) {
        self.0 += u64::from(row.is_some());
    }
}

/// Collects the offsets of rows.
#[derive(Default)]
struct RowIndex {
    rows: Vec<RowOffset>,
    blank: Vec<(u64, u64)>,
    /// Checksum of the current line.
    checksum: ChecksumBuilder,
}

impl LineVisitor for RowIndex {
    fn add(&mut self, piece: &[u8]) {
        self.checksum.add(piece);
    }

    fn end_line(&mut self, line: u64, row: Option<u64>) {
        let checksum = self.checksum.finish();
        let Some(start) = row else { return };
        let number = self.rows.len() as u64;
        let before = line - number - 1;
        if self.blank.last().map_or(0, |(_, before)| *before) != before {
            self.blank.push((number, before));
        }
        self.rows.push(RowOffset { start, checksum });
    }
}

/// Shows each line to a visitor.
fn scan(mut reader: impl BufRead, visitor: &mut impl LineVisitor) -> std::io::Result<()> {
    let (mut offset, mut line) = (0_u64, 1_u64);
    // Offset of the line's row, valid after its first byte.
    let (mut start, mut is_row) = (0_u64, false);
    let mut blank = lines::BlankLines::default();
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        let consumed = end.map_or(chunk.len(), |end| end + 1);
        let mut piece = chunk.get(..consumed).unwrap_or(chunk);
        if offset == 0 && piece.starts_with(BYTE_ORDER_MARK) {
            start = BYTE_ORDER_MARK.len() as u64;
            piece = piece.get(BYTE_ORDER_MARK.len()..).unwrap_or_default();
        }
        is_row = is_row || !is_blank(piece);
        visitor.add(piece);
        reader.consume(consumed);
        offset += consumed as u64;
        if end.is_some() {
            let counted = blank.count(line, !is_row);
            counted.map_err(|message| Error::new(ErrorKind::InvalidData, message))?;
            visitor.end_line(line, is_row.then_some(start));
            (start, is_row) = (offset, false);
            line += 1;
        }
    }
    if is_row {
        visitor.end_line(line, Some(start));
    }
    Ok(())
}

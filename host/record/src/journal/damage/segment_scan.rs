//! The lines of one journal file: good records, and damaged lines.

use super::super::index::number_of_record;
use super::super::line::{self, ChecksumSeed};
use super::super::members::sample_of;
use super::super::{Header, segment_names};
use super::content::{ContentHole, SegmentContent};
use super::{DamageKind, DamagedLine, DamagedSample};
use crate::JournalId;
use crate::RecordError;
use crate::run_files::MAX_LINE_BYTES;
use std::ops::Range;
use std::path::Path;

/// Maximum number of a record. A segment is far smaller; sums of such numbers do not overflow.
const MAX_LINE_NUMBER: u64 = 1 << 32;

/// A good record.
#[derive(Debug)]
pub(super) struct NumberedLine {
    /// The number that it was written with.
    pub(super) number: u64,
    /// Number of its line in the file.
    pub(super) line: u64,
    /// The bytes in the content of the file.
    pub(super) range: Range<usize>,
}

/// A damaged line with its bytes.
#[derive(Debug)]
pub(super) struct DamagedPiece {
    pub(super) line: DamagedLine,
    pub(super) source: PieceSource,
}

/// Place of the bytes of a damaged line.
#[derive(Debug)]
pub(super) enum PieceSource {
    /// A part of the content.
    Content(Range<usize>),
    /// A hole, by its number.
    Hole(usize),
}

/// The lines of a journal file.
#[derive(Debug)]
pub(super) struct SegmentScan {
    name: String,
    /// Good records, by the numbers that they were written with.
    pub(super) records: Vec<NumberedLine>,
    /// Damaged lines.
    pub(super) damaged: Vec<DamagedPiece>,
    /// Number of all lines in the file, and of those with a number that an earlier line has.
    pub(super) lines: u64,
    duplicates: u64,
    has_header: bool,
    /// True if damage follows the last good line, so that it is unknown how many lines were there.
    pub(super) ends_damaged: bool,
}

impl SegmentScan {
    /// Scans the content of a journal file.
    ///
    /// # Errors
    /// If the file has a newer format.
    pub(super) fn of(
        path: &Path,
        content: &SegmentContent,
        journal_id: JournalId,
    ) -> Result<SegmentScan, RecordError> {
        let mut scanner = LineScanner::new(path, content, journal_id);
        let mut start = 0;
        for (number, hole) in content.holes.iter().enumerate() {
            scanner.add_lines(start..hole.position)?;
            scanner.add_hole(number, hole);
            start = hole.position;
        }
        scanner.add_lines(start..content.bytes.len())?;
        Ok(scanner.scan.in_order(&content.bytes))
    }

    /// Returns whether the file is as it was written.
    pub(super) fn is_clean(&self) -> bool {
        let is_in_place =
            |(record, number): (&NumberedLine, u64)| record.number == number && record.line == number;
        let has_begin = self.has_header || self.lines == 0;
        has_begin && self.damaged.is_empty() && self.records.iter().zip(2..).all(is_in_place)
    }

    /// Returns the minimum number of lines that the file had.
    pub(super) fn written_lines(&self) -> u64 {
        let last = self.records.last().map_or(0, |last| last.number);
        last.max(self.present_lines())
    }

    /// Returns the number of lines that are missing before the last good record.
    pub(super) fn missing_lines(&self) -> u64 {
        self.written_lines() - self.present_lines()
    }

    fn present_lines(&self) -> u64 {
        self.lines - self.duplicates
    }

    /// Adds a line of the content that is set aside.
    pub(super) fn set_aside(&mut self, line: u64, range: Range<usize>, kind: DamageKind, content: &[u8]) {
        let bytes = content.get(range.clone()).unwrap_or_default();
        let sample = sample_of(line::unchecked_json(bytes))
            .map(|(task_id, index, sample_id)| DamagedSample { task_id, index, sample_id });
        let (offset, bytes) = (range.start as u64, bytes.len() as u64);
        let line = DamagedLine { segment: self.name.clone(), line, offset, bytes, position: 0, kind, sample };
        self.damaged.push(DamagedPiece { line, source: PieceSource::Content(range) });
    }

    /// Orders the records by their numbers, as they were written. Of records with the same number, the first one in the
    /// file stays.
    fn in_order(mut self, content: &[u8]) -> SegmentScan {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|record| record.number);
        for record in records {
            if self.records.last().is_some_and(|last| last.number == record.number) {
                self.duplicates += 1;
                self.set_aside(record.line, record.range, DamageKind::Duplicate, content);
            } else {
                self.records.push(record);
            }
        }
        self
    }
}

/// Reads the lines of a journal file one after another.
struct LineScanner<'a> {
    path: &'a Path,
    journal_id: JournalId,
    seed: ChecksumSeed,
    content: &'a [u8],
    scan: SegmentScan,
}

/// Content of a line.
enum LineContent {
    Header,
    /// A record, and the number that it was written with.
    Record(u64),
    Damage(DamageKind),
}

impl<'a> LineScanner<'a> {
    fn new(path: &'a Path, content: &'a SegmentContent, journal_id: JournalId) -> LineScanner<'a> {
        let scan = SegmentScan {
            name: segment_names::file_name(path),
            records: Vec::new(),
            damaged: Vec::new(),
            lines: 0,
            duplicates: 0,
            has_header: false,
            ends_damaged: false,
        };
        let seed = ChecksumSeed::of_journal(journal_id);
        LineScanner { path, journal_id, seed, content: &content.bytes, scan }
    }

    /// Adds the lines of a part of the content. The part may begin and end within a line.
    fn add_lines(&mut self, part: Range<usize>) -> Result<(), RecordError> {
        let mut start = part.start;
        let content = self.content.get(part).unwrap_or_default();
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            let range = start..start + line.len();
            start = range.end;
            self.add_line(line, range)?;
        }
        Ok(())
    }

    fn add_line(&mut self, bytes: &[u8], range: Range<usize>) -> Result<(), RecordError> {
        self.scan.lines += 1;
        let line = self.scan.lines;
        let found = self.read(bytes)?;
        self.scan.ends_damaged = matches!(found, LineContent::Damage(_));
        match found {
            LineContent::Header if line == 1 => self.scan.has_header = true,
            LineContent::Header => self.scan.set_aside(line, range, DamageKind::Header, self.content),
            LineContent::Record(number) => self.scan.records.push(NumberedLine { number, line, range }),
            LineContent::Damage(kind) => self.scan.set_aside(line, range, kind, self.content),
        }
        Ok(())
    }

    fn read(&self, bytes: &[u8]) -> Result<LineContent, RecordError> {
        // Readers refuse such a line.
        if bytes.len() as u64 > MAX_LINE_BYTES {
            return Ok(LineContent::Damage(DamageKind::NotARecord));
        }
        if let Ok(json) = line::decode(bytes, self.seed) {
            // The header has the number 1.
            let is_possible = |number: &u64| (2..=MAX_LINE_NUMBER).contains(number);
            let number =
                number_of_record(json).filter(|number| is_possible(number) && line::is_numbered(json));
            return Ok(number.map_or(LineContent::Damage(DamageKind::NotARecord), LineContent::Record));
        }
        let Ok(json) = line::decode(bytes, ChecksumSeed::NONE) else {
            return Ok(LineContent::Damage(kind_of(bytes)));
        };
        match Header::check(self.path, json, self.journal_id) {
            Ok(()) => Ok(LineContent::Header),
            Err(error @ RecordError::NewerFormat { .. }) => Err(error),
            Err(_) => Ok(LineContent::Damage(DamageKind::Header)),
        }
    }

    fn add_hole(&mut self, number: usize, hole: &ContentHole) {
        let kind = if hole.is_table { DamageKind::FrameTable } else { DamageKind::Frame };
        self.scan.ends_damaged |= !hole.is_table;
        let line = DamagedLine {
            segment: self.scan.name.clone(),
            line: self.scan.lines + 1,
            offset: hole.offset,
            bytes: hole.bytes.len() as u64,
            position: 0,
            kind,
            sample: None,
        };
        self.scan.damaged.push(DamagedPiece { line, source: PieceSource::Hole(number) });
    }
}

/// Returns the kind of damage to a line whose checksum does not match.
fn kind_of(bytes: &[u8]) -> DamageKind {
    match bytes.contains(&0) {
        true => DamageKind::Zeros,
        false if !bytes.ends_with(b"\n") => DamageKind::Unterminated,
        false => DamageKind::Checksum,
    }
}

//! Writes a journal file without its damaged lines.

use super::super::Header;
use super::super::line::{self, ChecksumSeed};
use super::super::segment_names::{segment_name, segment_number};
use super::DamagedLine;
use super::content::SegmentContent;
use super::segment_scan::{DamagedPiece, PieceSource};
use crate::format::JOURNAL_FOLDER;
use crate::{AtomicFile, RecordError, RunFolder};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A segment to be rewritten: the lines that it keeps, and those that are set aside.
#[derive(Debug)]
pub(crate) struct SegmentRepair {
    number: u64,
    /// The file; `None` if it is gone.
    source: Option<PathBuf>,
    /// The kept records in their new order, as parts of the content of the file.
    kept: Vec<Range<usize>>,
    damaged: Vec<DamagedPiece>,
}

impl SegmentRepair {
    pub(super) fn new(
        number: u64,
        source: PathBuf,
        kept: Vec<Range<usize>>,
        mut damaged: Vec<DamagedPiece>,
    ) -> SegmentRepair {
        damaged.sort_by_key(|piece| piece.line.line);
        let mut position = 0;
        for piece in &mut damaged {
            piece.line.position = position;
            position += piece.line.bytes;
        }
        SegmentRepair { number, source: Some(source), kept, damaged }
    }

    /// Creates the repair of a segment whose file is gone. It gets an empty file, because readers do not accept a gap.
    pub(super) fn of_missing(number: u64) -> SegmentRepair {
        SegmentRepair { number, source: None, kept: Vec::new(), damaged: Vec::new() }
    }

    /// Returns the damaged lines in the order of the file.
    pub(crate) fn damaged_lines(&self) -> impl Iterator<Item = &DamagedLine> {
        self.damaged.iter().map(|piece| &piece.line)
    }

    /// Returns whether this is the segment of a journal file with this name.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        segment_number(Path::new(name)) == Some(self.number)
    }

    /// Writes the bytes of the damaged lines, one after another, to the file `PREFIX-000001` in a folder.
    ///
    /// # Errors
    /// If the file system refuses, or the segment has changed since it was inspected.
    pub(crate) fn set_aside(&self, folder: &Path, prefix: &str) -> Result<(), RecordError> {
        let Some(source) = self.source.as_deref().filter(|_| !self.damaged.is_empty()) else {
            return Ok(());
        };
        let content = SegmentContent::read(source)?;
        let mut file = AtomicFile::create(folder, &format!("{prefix}-{:06}", self.number))?;
        for piece in &self.damaged {
            let bytes = match &piece.source {
                PieceSource::Content(range) => content.bytes.get(range.clone()),
                PieceSource::Hole(number) => content.holes.get(*number).map(|hole| hole.bytes.as_slice()),
            };
            let bytes = bytes
                .filter(|bytes| bytes.len() as u64 == piece.line.bytes)
                .ok_or_else(|| changed_meanwhile(source))?;
            file.write_all(bytes).map_err(|source| RecordError::io("write", file.path(), source))?;
        }
        file.commit().map(|_| ())
    }

    /// Replaces the file by one with the kept lines, which get new numbers. It is not sealed: resuming seals it.
    ///
    /// # Errors
    /// If the file system refuses, or the segment has changed since it was inspected.
    pub(crate) fn rewrite(&self, folder: &RunFolder) -> Result<(), RecordError> {
        let content = self.source.as_deref().map(SegmentContent::read).transpose()?.unwrap_or_default();
        let seed = ChecksumSeed::of_journal(folder.journal_id());
        let mut file = AtomicFile::create(&folder.path_of(JOURNAL_FOLDER), &segment_name(self.number))?;
        let mut header = Vec::new();
        line::encode(&Header::of(folder), None, ChecksumSeed::NONE, &mut header)
            .and_then(|()| file.write_all(&header))
            .map_err(|source| RecordError::io("write", file.path(), source))?;
        for (range, number) in self.kept.iter().zip(2_u64..) {
            // The checksum is checked again, because a disk that fails may read something else now.
            let kept = content.bytes.get(range.clone()).and_then(|line| line::decode(line, seed).ok());
            let line = kept
                .and_then(|json| line::renumbered(json, number, seed))
                .ok_or_else(|| changed_meanwhile(file.path()))?;
            file.write_all(&line).map_err(|source| RecordError::io("write", file.path(), source))?;
        }
        file.commit().map(|_| ())
    }
}

fn changed_meanwhile(path: &Path) -> RecordError {
    RecordError::invalid(path, "it changed while it was repaired; repair it again")
}

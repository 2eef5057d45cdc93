//! Reads records in an order other than the journal's.

use super::super::segments::SegmentReader;
use super::super::{ScoresEntry, line};
use super::entries::{EntryState, Iter, SampleEntry};
use super::{JournalIndex, Segment};
use crate::format::JOURNAL_FOLDER;
use crate::{RecordError, SampleRecord};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead as _};
use std::path::Path;

/// Stage that a recorded sample has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleStage {
    /// The sample is complete.
    Ended,
    /// The model answered; the judges have not replied.
    AwaitsJudges,
    /// The sample is answered, and judged if it has judges. Its scores are missing.
    AwaitsScores,
}

impl EntryState {
    fn stage(self) -> SampleStage {
        match self {
            EntryState::FinishedWithoutScores | EntryState::Scored => SampleStage::Ended,
            EntryState::Unjudged => SampleStage::AwaitsJudges,
            EntryState::Awaits => SampleStage::AwaitsScores,
        }
    }
}

/// Reads records one by one, each with its sample's stage. Holds one record in memory.
pub struct PartialRecords<'a> {
    index: &'a JournalIndex,
    /// Indices of tasks in the index, the next one last.
    tasks: Vec<usize>,
    entries: Iter<'a>,
    records: LineReader<'a>,
    /// A second reader of the same files, so that both read forward.
    scores: LineReader<'a>,
}

impl<'a> PartialRecords<'a> {
    pub(super) fn new(index: &'a JournalIndex, mut order: Vec<usize>) -> PartialRecords<'a> {
        order.reverse();
        PartialRecords {
            index,
            tasks: order,
            entries: Iter::default(),
            records: LineReader::new(index),
            scores: LineReader::new(index),
        }
    }

    /// Reads only the records of samples that ended.
    pub(super) fn ended(mut self) -> impl Iterator<Item = Result<SampleRecord, RecordError>> + 'a {
        std::iter::from_fn(move || {
            let entry = self.next_entry(EntryState::has_ended)?;
            Some(self.read(entry))
        })
    }

    /// Skips records of samples that ended, without reading them.
    pub(super) fn skip_ended(&mut self, count: usize) {
        for _ in 0..count {
            if self.next_entry(EntryState::has_ended).is_none() {
                break;
            }
        }
    }

    fn next_entry(&mut self, is_wanted: impl Fn(EntryState) -> bool) -> Option<SampleEntry> {
        loop {
            if let Some((_, entry)) = self.entries.find(|(_, entry)| is_wanted(entry.state)) {
                return Some(*entry);
            }
            let task = self.index.tasks.get(self.tasks.pop()?)?;
            self.entries = task.entries.iter();
        }
    }

    fn read(&mut self, entry: SampleEntry) -> Result<SampleRecord, RecordError> {
        let mut record: SampleRecord = self.records.read(entry.record())?;
        if entry.state == EntryState::Scored {
            record.add_scores(self.scores.read::<ScoresEntry>(entry.scores())?);
        }
        Ok(record)
    }
}

impl Iterator for PartialRecords<'_> {
    type Item = Result<(SampleRecord, SampleStage), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.next_entry(|_| true)?;
        Some(self.read(entry).map(|record| (record, entry.state.stage())))
    }
}

/// Reads answers without their scores, for judging or rescoring.
pub struct AnswerReader<'a> {
    records: LineReader<'a>,
}

impl<'a> AnswerReader<'a> {
    pub(super) fn new(index: &'a JournalIndex) -> AnswerReader<'a> {
        AnswerReader { records: LineReader::new(index) }
    }

    pub(super) fn read_at(&mut self, offset: u64) -> Result<SampleRecord, RecordError> {
        self.records.read(offset)
    }

    /// Returns the record of an answer as it was before scoring, and before judging if that is outstanding.
    /// Returns `None` if there is no answer that awaits or has scores.
    ///
    /// # Errors
    /// If the journal cannot be read, or has changed.
    pub fn read(&mut self, task_id: &str, index: u64) -> Result<Option<SampleRecord>, RecordError> {
        self.read_where(task_id, index, |state| state != EntryState::FinishedWithoutScores)
    }

    /// Returns the record of a sample that never needed scores, or `None` for any other sample.
    ///
    /// # Errors
    /// If the journal cannot be read, or has changed.
    pub fn read_whole(&mut self, task_id: &str, index: u64) -> Result<Option<SampleRecord>, RecordError> {
        self.read_where(task_id, index, |state| state == EntryState::FinishedWithoutScores)
    }

    fn read_where(
        &mut self,
        task_id: &str,
        index: u64,
        is_wanted: impl Fn(EntryState) -> bool,
    ) -> Result<Option<SampleRecord>, RecordError> {
        match self.records.index.entries(task_id).and_then(|entries| entries.get(index)) {
            Some(entry) if is_wanted(entry.state) => self.records.read(entry.record()).map(Some),
            _ => Ok(None),
        }
    }
}

/// Maximum number of segments that a reader keeps open. Neighbouring samples may be in two segments.
const MAX_OPEN_SEGMENTS: usize = 2;

/// Reads lines of the journal by position.
struct LineReader<'a> {
    index: &'a JournalIndex,
    /// Open segments by number, the one used last at the end.
    open: Vec<(usize, SegmentReader)>,
    buffer: Vec<u8>,
}

impl<'a> LineReader<'a> {
    fn new(index: &'a JournalIndex) -> LineReader<'a> {
        LineReader { index, open: Vec::new(), buffer: Vec::new() }
    }

    fn read<T: DeserializeOwned>(&mut self, offset: u64) -> Result<T, RecordError> {
        let index = self.index;
        let begins_before = |(_, segment): &(usize, &Segment)| segment.start <= offset;
        let Some((number, segment)) = index.segments.iter().enumerate().rfind(begins_before) else {
            return Err(RecordError::invalid(
                Path::new(JOURNAL_FOLDER),
                "no file holds a record of the index",
            ));
        };
        let position = offset - segment.start;
        self.read_line(number, segment, position)
            .map_err(|source| RecordError::unreadable_journal(&segment.path, source))?;
        let malformed = |reason: String| {
            RecordError::invalid(
                &segment.path,
                format!("the record at byte {position} has changed: {reason}"),
            )
        };
        let json = line::decode(&self.buffer, segment.seed).map_err(|reason| malformed(reason.to_owned()))?;
        serde_json::from_slice(json).map_err(|error| malformed(error.to_string()))
    }

    /// Reads the line at a position into the buffer. Usually records are close together, so most reads hit
    /// buffered data.
    fn read_line(&mut self, number: usize, segment: &Segment, position: u64) -> io::Result<()> {
        match self.open.iter().position(|(open, _)| *open == number) {
            Some(place) => self.open[place..].rotate_left(1),
            None => {
                let reader = SegmentReader::open(&segment.path)?;
                if self.open.len() == MAX_OPEN_SEGMENTS {
                    self.open.remove(0);
                }
                self.open.push((number, reader));
            }
        }
        self.buffer.clear();
        if let Some((_, reader)) = self.open.last_mut() {
            reader.seek_to(position)?;
            reader.read_until(b'\n', &mut self.buffer)?;
        }
        Ok(())
    }
}

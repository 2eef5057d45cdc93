//! Reads records in an order other than the journal's.

use super::super::segments::{MAX_CACHE_BYTES, SMALL_CACHE_BYTES, SegmentReader};
use super::super::{AnswerEntry, JournalEntry, ScoresEntry, line};
use super::entries::{EntryState, Iter, SampleEntry};
use super::{JournalIndex, Segment};
use crate::format::JOURNAL_FOLDER;
use crate::run_files::MAX_LINE_BYTES;
use crate::{RecordError, SampleRecord};
use gage_core::{OrderedWorkers, foreign_file, spawn_thread};
use std::io;
use std::path::Path;
use std::sync::Arc;

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

/// Number of samples from which records are read on several threads.
const MIN_PARALLEL_SAMPLES: usize = 1_024;

/// Maximum number of records that a thread reads at once, and maximum size of their lines in bytes, on average.
const MAX_BATCH_RECORDS: u64 = 512;
const MAX_BATCH_BYTES: u64 = 1 << 20;

/// Reads records in order, each with its sample's stage. Keeps a few batches of them in memory.
pub struct PartialRecords<'a> {
    index: &'a JournalIndex,
    /// Indices of tasks in the index, the next one last.
    tasks: Vec<usize>,
    entries: Iter<'a>,
    is_wanted: fn(EntryState) -> bool,
    batches: Batches,
    /// Records that were read and come next.
    read: std::vec::IntoIter<Result<(SampleRecord, SampleStage), RecordError>>,
}

type ReadRecords = Vec<Result<(SampleRecord, SampleStage), RecordError>>;

/// Where batches of records are read.
enum Batches {
    /// Not begun.
    None,
    /// In this thread.
    Here(Box<RecordReader>),
    /// In threads of their own.
    Threads(OrderedWorkers<Vec<SampleEntry>, ReadRecords>),
}

impl<'a> PartialRecords<'a> {
    pub(super) fn new(index: &'a JournalIndex, mut order: Vec<usize>) -> PartialRecords<'a> {
        order.reverse();
        PartialRecords {
            index,
            tasks: order,
            entries: Iter::default(),
            is_wanted: |_| true,
            batches: Batches::None,
            read: Vec::new().into_iter(),
        }
    }

    /// Reads only the records of samples that ended.
    pub(super) fn ended(mut self) -> impl Iterator<Item = Result<SampleRecord, RecordError>> + 'a {
        self.is_wanted = EntryState::has_ended;
        self.map(|read| read.map(|(record, _)| record))
    }

    /// Skips records of samples that ended, without reading them.
    pub(super) fn skip_ended(&mut self, count: usize) {
        self.is_wanted = EntryState::has_ended;
        for _ in 0..count {
            if self.next_entry().is_none() {
                break;
            }
        }
    }

    fn next_entry(&mut self) -> Option<SampleEntry> {
        loop {
            let is_wanted = self.is_wanted;
            if let Some((_, entry)) = self.entries.find(|(_, entry)| is_wanted(entry.state)) {
                return Some(*entry);
            }
            let task = self.index.tasks.get(self.tasks.pop()?)?;
            self.entries = task.entries.iter();
        }
    }

    fn next_entries(&mut self) -> Option<Vec<SampleEntry>> {
        let samples = self.index.len().max(1) as u64;
        let line_bytes = (self.index.length / samples).max(1);
        let count = (MAX_BATCH_BYTES / line_bytes).clamp(1, MAX_BATCH_RECORDS);
        let entries: Vec<SampleEntry> = (0..count).map_while(|_| self.next_entry()).collect();
        (!entries.is_empty()).then_some(entries)
    }

    /// Reads the next batch; `None` if there is none.
    fn read_batch(&mut self) -> Option<ReadRecords> {
        let batches = match std::mem::replace(&mut self.batches, Batches::None) {
            Batches::None if self.index.len() >= MIN_PARALLEL_SAMPLES => {
                let spawn = |worker: Box<dyn FnOnce() + Send>| spawn_thread("records", worker).map(drop);
                let new_worker = || {
                    let mut reader = RecordReader::new(&self.index.segments);
                    move |entries: Vec<SampleEntry>| reader.read_all(&entries)
                };
                match OrderedWorkers::start(spawn, new_worker) {
                    Ok(workers) => Batches::Threads(workers),
                    Err(_) => Batches::Here(Box::new(RecordReader::new(&self.index.segments))),
                }
            }
            Batches::None => Batches::Here(Box::new(RecordReader::new(&self.index.segments))),
            begun => begun,
        };
        let (batches, read) = match batches {
            Batches::Threads(mut workers) => {
                let read = workers.next(|| self.next_entries());
                (Batches::Threads(workers), read)
            }
            Batches::Here(mut reader) => {
                let read = self.next_entries().map(|entries| reader.read_all(&entries));
                (Batches::Here(reader), read)
            }
            Batches::None => (Batches::None, None),
        };
        self.batches = batches;
        read
    }
}

impl Iterator for PartialRecords<'_> {
    type Item = Result<(SampleRecord, SampleStage), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(read) = self.read.next() {
                return Some(read);
            }
            self.read = self.read_batch()?.into_iter();
        }
    }
}

/// Reads one record.
pub(super) fn read_one(index: &JournalIndex, entry: SampleEntry) -> Result<SampleRecord, RecordError> {
    RecordReader::new(&index.segments).read(entry)
}

/// Reads records with their scores.
struct RecordReader {
    lines: LineReader,
}

impl RecordReader {
    fn new(segments: &Arc<[Segment]>) -> RecordReader {
        RecordReader { lines: LineReader::new(segments) }
    }

    fn read_all(&mut self, entries: &[SampleEntry]) -> ReadRecords {
        entries.iter().map(|entry| Ok((self.read(*entry)?, entry.state.stage()))).collect()
    }

    fn read(&mut self, entry: SampleEntry) -> Result<SampleRecord, RecordError> {
        let mut record: SampleRecord = self.lines.read_record(entry.record())?;
        if entry.state == EntryState::Scored {
            record.add_scores(self.lines.read_scores(entry.scores())?);
        }
        Ok(record)
    }
}

/// Reads answers without their scores, for judging or rescoring.
pub struct AnswerReader<'a> {
    index: &'a JournalIndex,
    records: LineReader,
}

impl<'a> AnswerReader<'a> {
    pub(super) fn new(index: &'a JournalIndex) -> AnswerReader<'a> {
        AnswerReader { index, records: LineReader::new(&index.segments) }
    }

    /// Holds less than a megabyte, for callers that read many journals at once and each almost in its order.
    #[must_use]
    pub fn with_small_cache(self) -> AnswerReader<'a> {
        AnswerReader { records: LineReader { cache_bytes: SMALL_CACHE_BYTES, ..self.records }, ..self }
    }

    pub(super) fn read_at(&mut self, offset: u64) -> Result<SampleRecord, RecordError> {
        self.records.read_record(offset)
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

    /// Returns what the journal has of a sample that has ended, or `None` for any other sample.
    ///
    /// # Errors
    /// If the journal cannot be read, or has changed.
    pub fn read_ended(&mut self, task_id: &str, index: u64) -> Result<Option<EndedSample>, RecordError> {
        let entry = self.index.entries(task_id).and_then(|entries| entries.get(index));
        let Some(entry) = entry.filter(|entry| entry.state.has_ended()) else { return Ok(None) };
        let record = self.records.read_record(entry.record())?;
        let scores = match entry.state {
            EntryState::Scored => Some(self.records.read_scores(entry.scores())?),
            _ => None,
        };
        Ok(Some(EndedSample { record, scores }))
    }

    fn read_where(
        &mut self,
        task_id: &str,
        index: u64,
        is_wanted: impl Fn(EntryState) -> bool,
    ) -> Result<Option<SampleRecord>, RecordError> {
        match self.index.entries(task_id).and_then(|entries| entries.get(index)) {
            Some(entry) if is_wanted(entry.state) => self.records.read_record(entry.record()).map(Some),
            _ => Ok(None),
        }
    }
}

/// A sample that has ended, as the journal has it.
#[derive(Debug)]
pub struct EndedSample {
    /// The record. If there are scores, it is that of the answer.
    pub record: SampleRecord,
    /// The scores; `None` if the sample needed none.
    pub scores: Option<ScoresEntry>,
}

impl EndedSample {
    /// Returns the same lines for another journal.
    pub fn entries(&self) -> impl Iterator<Item = JournalEntry<'_>> {
        let first = match &self.scores {
            Some(_) => JournalEntry::Answer(AnswerEntry::of_record(&self.record)),
            None => JournalEntry::FinishedWithoutScores(&self.record),
        };
        std::iter::once(first).chain(self.scores.iter().map(JournalEntry::Scores))
    }

    /// Returns the record with its scores.
    pub fn into_record(self) -> SampleRecord {
        let EndedSample { mut record, scores } = self;
        scores.into_iter().for_each(|scores| record.add_scores(scores));
        record
    }
}

/// Maximum number of segments that a reader keeps open. Neighbouring samples may be in two segments.
const MAX_OPEN_SEGMENTS: usize = 2;

/// Reads lines of the journal by position.
struct LineReader {
    segments: Arc<[Segment]>,
    /// Open segments by number, the one used last at the end.
    open: Vec<(usize, SegmentReader)>,
    /// Size of the blocks that each open segment keeps, in bytes.
    cache_bytes: usize,
    buffer: Vec<u8>,
}

impl LineReader {
    fn new(segments: &Arc<[Segment]>) -> LineReader {
        let segments = Arc::clone(segments);
        LineReader { segments, open: Vec::new(), cache_bytes: MAX_CACHE_BYTES, buffer: Vec::new() }
    }

    fn read_record(&mut self, offset: u64) -> Result<SampleRecord, RecordError> {
        self.read(offset, SampleRecord::read)
    }

    fn read_scores(&mut self, offset: u64) -> Result<ScoresEntry, RecordError> {
        self.read(offset, |json| serde_json::from_slice(json))
    }

    fn read<T>(
        &mut self,
        offset: u64,
        parse: impl FnOnce(&[u8]) -> serde_json::Result<T>,
    ) -> Result<T, RecordError> {
        let segments = Arc::clone(&self.segments);
        let number = segments.partition_point(|segment| segment.start <= offset).saturating_sub(1);
        let Some(segment) = segments.get(number) else {
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
        parse(json).map_err(|error| malformed(error.to_string()))
    }

    /// Reads the line at a position into the buffer. Usually records are close together, so most reads hit
    /// buffered data.
    fn read_line(&mut self, number: usize, segment: &Segment, position: u64) -> io::Result<()> {
        match self.open.iter().position(|(open, _)| *open == number) {
            Some(place) => self.open[place..].rotate_left(1),
            None => {
                let reader = SegmentReader::open(&segment.path)?.with_cache(self.cache_bytes);
                if self.open.len() == MAX_OPEN_SEGMENTS {
                    self.open.remove(0);
                }
                self.open.push((number, reader));
            }
        }
        self.buffer.clear();
        if let Some((_, reader)) = self.open.last_mut() {
            reader.seek_to(position);
            foreign_file::read_line(reader, &mut self.buffer, MAX_LINE_BYTES)?;
        }
        Ok(())
    }
}

//! Reads records in an order that is not that of the journal.

use super::super::line;
use super::{Entry, JournalIndex, Segment};
use crate::format::JOURNAL_FOLDER;
use crate::{RecordError, SampleRecord};
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::Path;

/// Reads one record after the other; holds one in memory.
pub struct RecordsInOrder<'a> {
    index: &'a JournalIndex,
    /// Positions of tasks in the index, the next one last.
    tasks: Vec<usize>,
    entries: std::slice::Iter<'a, Entry>,
    file: Option<OpenFile>,
    buffer: Vec<u8>,
}

impl<'a> RecordsInOrder<'a> {
    pub(super) fn new(index: &'a JournalIndex, mut order: Vec<usize>) -> RecordsInOrder<'a> {
        order.reverse();
        RecordsInOrder {
            index,
            tasks: order,
            entries: std::slice::Iter::default(),
            file: None,
            buffer: Vec::new(),
        }
    }

    fn next_entry(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(*entry);
            }
            let task = self.index.tasks.get(self.tasks.pop()?)?;
            self.entries = task.entries.iter();
        }
    }

    fn read(&mut self, entry: Entry) -> Result<SampleRecord, RecordError> {
        let index = self.index;
        let begins_before = |(_, segment): &(usize, &Segment)| segment.start <= entry.offset;
        let Some((number, segment)) = index.segments.iter().enumerate().rfind(begins_before) else {
            return Err(RecordError::invalid(
                Path::new(JOURNAL_FOLDER),
                "no file holds a record of the index",
            ));
        };
        let position = entry.offset - segment.start;
        self.read_line(number, segment, position, entry.length)
            .map_err(|source| RecordError::io("read", &segment.path, source))?;
        let malformed = |reason: String| {
            RecordError::invalid(
                &segment.path,
                format!("the record at byte {position} has changed: {reason}"),
            )
        };
        let json = line::decode(&self.buffer).map_err(|reason| malformed(reason.to_owned()))?;
        serde_json::from_slice(json).map_err(|error| malformed(error.to_string()))
    }

    /// Reads `length` bytes at a position into the buffer. Records that lie near each other,
    /// which is the rule, come from what was read before.
    fn read_line(&mut self, number: usize, segment: &Segment, position: u64, length: u32) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) if file.number == number => file,
            _ => OpenFile::open(number, segment)?,
        };
        self.buffer.resize(length as usize, 0);
        file.read_at(position, &mut self.buffer)?;
        self.file = Some(file);
        Ok(())
    }
}

impl Iterator for RecordsInOrder<'_> {
    type Item = Result<SampleRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.next_entry()?;
        Some(self.read(entry))
    }
}

/// A journal file that is being read.
struct OpenFile {
    number: usize,
    position: u64,
    reader: BufReader<File>,
}

impl OpenFile {
    fn open(number: usize, segment: &Segment) -> io::Result<OpenFile> {
        let reader = BufReader::with_capacity(1 << 16, File::open(&segment.path)?);
        Ok(OpenFile { number, position: 0, reader })
    }

    fn read_at(&mut self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.reader.seek_relative(position.wrapping_sub(self.position).cast_signed())?;
        self.reader.read_exact(buffer)?;
        self.position = position + buffer.len() as u64;
        Ok(())
    }
}

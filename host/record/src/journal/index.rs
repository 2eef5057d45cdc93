//! Where the records of a journal are, without holding them.

use super::scan::{GoodLine, Scanned, scan};
use super::{Header, segment_paths};
use crate::{RecordError, RunFolder};
use gage_core::{Outcome, OutcomeCounts};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufReader;
use std::path::PathBuf;

mod records;

pub use records::RecordsInOrder;

/// Where the last record of every sample is. Holds 32 bytes a record, however large it is.
#[derive(Debug)]
pub struct JournalIndex {
    segments: Vec<Segment>,
    tasks: Vec<TaskEntries>,
    positions: HashMap<String, usize>,
    torn_bytes: u64,
}

/// A journal file; `start` is the length of all files before it, so that one number says where
/// a record is.
#[derive(Debug)]
struct Segment {
    path: PathBuf,
    start: u64,
}

#[derive(Debug)]
struct TaskEntries {
    task_id: String,
    /// Sorted by index, each index once.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    index: u64,
    offset: u64,
    row: u64,
    length: u32,
    outcome: Outcome,
}

/// What the index knows of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedSample {
    /// How the sample ended.
    pub outcome: Outcome,
    row: u64,
}

impl IndexedSample {
    /// Whether the record was made from the row of this digest.
    pub fn is_of_row(&self, row_digest: &str) -> bool {
        self.row == row_key(row_digest)
    }

    /// Whether a resumed run leaves the sample as it is: it is that of the same row, and did
    /// not fail for a reason that may have passed.
    pub fn is_done(&self, row_digest: &str) -> bool {
        self.is_of_row(row_digest) && !self.outcome.is_retried_on_resume()
    }
}

impl JournalIndex {
    /// Reads the journal of a run once, from beginning to end. A torn end is left out.
    ///
    /// # Errors
    /// When a line that is not at the end is damaged (the error names it), when the journal is
    /// that of another run or of a newer format, and those of the file system.
    pub fn read(folder: &RunFolder) -> Result<JournalIndex, RecordError> {
        let mut builder = IndexBuilder::new(folder.run_id());
        let paths = segment_paths(folder.path())?;
        let count = paths.len();
        for (position, path) in paths.into_iter().enumerate() {
            builder.add_segment(path, position + 1 == count)?;
        }
        Ok(builder.finish())
    }

    /// What is known of a sample.
    pub fn get(&self, task_id: &str, index: u64) -> Option<IndexedSample> {
        let entries = self.entries(task_id);
        let position = entries.binary_search_by_key(&index, |entry| entry.index).ok()?;
        entries.get(position).map(|entry| IndexedSample { outcome: entry.outcome, row: entry.row })
    }

    /// Whether there is a record of a sample.
    pub fn contains(&self, task_id: &str, index: u64) -> bool {
        self.get(task_id, index).is_some()
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.tasks.iter().map(|task| task.entries.len()).sum()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The tasks that have records, sorted by name.
    pub fn task_ids(&self) -> Vec<&str> {
        let mut task_ids: Vec<&str> = self.tasks.iter().map(|task| task.task_id.as_str()).collect();
        task_ids.sort_unstable();
        task_ids
    }

    /// How the samples of a task ended.
    pub fn outcomes(&self, task_id: &str) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        self.entries(task_id).iter().for_each(|entry| counts.add(entry.outcome));
        counts
    }

    /// Bytes of a torn end that were left out.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Reads the records in the order of tasks that is given and of their indices, one at a
    /// time. Tasks that have records and are not named come after the others, by name.
    pub fn records_in_order<T: AsRef<str>>(&self, task_order: &[T]) -> RecordsInOrder<'_> {
        let mut order: Vec<usize> = Vec::with_capacity(self.tasks.len());
        let named = task_order.iter().map(AsRef::as_ref);
        for task_id in named.chain(self.task_ids()) {
            match self.positions.get(task_id) {
                Some(position) if !order.contains(position) => order.push(*position),
                _ => {}
            }
        }
        RecordsInOrder::new(self, order)
    }

    fn entries(&self, task_id: &str) -> &[Entry] {
        let task = self.positions.get(task_id).and_then(|position| self.tasks.get(*position));
        task.map(|task| task.entries.as_slice()).unwrap_or_default()
    }
}

/// The parts of a record that the index needs; the rest is passed over without being built.
#[derive(Deserialize)]
struct RecordKey<'a> {
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    index: u64,
    #[serde(borrow)]
    row_digest: Cow<'a, str>,
    outcome: Outcome,
}

/// Makes an index of one file after the other.
pub(super) struct IndexBuilder<'a> {
    run_id: &'a str,
    length: u64,
    index: JournalIndex,
}

impl<'a> IndexBuilder<'a> {
    pub(super) fn new(run_id: &'a str) -> IndexBuilder<'a> {
        let index = JournalIndex {
            segments: Vec::new(),
            tasks: Vec::new(),
            positions: HashMap::new(),
            torn_bytes: 0,
        };
        IndexBuilder { run_id, length: 0, index }
    }

    /// Adds the next file. Only the last one may have a torn end.
    pub(super) fn add_segment(&mut self, path: PathBuf, is_last: bool) -> Result<Scanned, RecordError> {
        let file = File::open(&path).map_err(|source| RecordError::io("open", &path, source))?;
        let start = self.length;
        let run_id = self.run_id;
        let index = &mut self.index;
        let scanned = scan(&path, BufReader::with_capacity(1 << 16, file), |line| match line.number {
            1 => Header::check(&path, line.json, run_id),
            _ => index.add(&line, start).map_err(|reason| RecordError::damaged(&path, line.number, reason)),
        })?;
        if scanned.torn_bytes > 0 && !is_last {
            let reason = format!("its last {} bytes are torn, and another file follows", scanned.torn_bytes);
            return Err(RecordError::invalid(&path, reason));
        }
        self.length += scanned.good_bytes + scanned.torn_bytes;
        self.index.torn_bytes += scanned.torn_bytes;
        self.index.segments.push(Segment { path, start });
        Ok(scanned)
    }

    /// The index: of each sample the last record.
    pub(super) fn finish(mut self) -> JournalIndex {
        for task in &mut self.index.tasks {
            // A stable sort keeps the records of one sample in the order of the journal.
            task.entries.sort_by_key(|entry| entry.index);
            task.entries.dedup_by(|later, kept| {
                let is_same = later.index == kept.index;
                if is_same {
                    *kept = *later;
                }
                is_same
            });
            task.entries.shrink_to_fit();
        }
        self.index
    }
}

impl JournalIndex {
    fn add(&mut self, line: &GoodLine<'_>, start: u64) -> Result<(), String> {
        let key: RecordKey<'_> =
            serde_json::from_slice(line.json).map_err(|error| format!("not a sample record: {error}"))?;
        let length = u32::try_from(line.length).map_err(|_| "the record is larger than 4 GiB".to_owned())?;
        let entry = Entry {
            index: key.index,
            offset: start + line.offset,
            row: row_key(&key.row_digest),
            length,
            outcome: key.outcome,
        };
        let position = match self.positions.get(&*key.task_id) {
            Some(position) => *position,
            None => {
                let position = self.tasks.len();
                self.positions.insert(key.task_id.clone().into_owned(), position);
                self.tasks.push(TaskEntries { task_id: key.task_id.into_owned(), entries: Vec::new() });
                position
            }
        };
        if let Some(task) = self.tasks.get_mut(position) {
            task.entries.push(entry);
        }
        Ok(())
    }
}

/// A digest as one number; the index never leaves the process, so any hash will do.
fn row_key(row_digest: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    row_digest.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::{JournalWriter, Manifest, SampleRecord};
    use serde_json::json;

    fn written(batches: &[Vec<SampleRecord>]) -> (tempfile::TempDir, RunFolder) {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", json!({})).write(&folder).unwrap();
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        batches.iter().for_each(|batch| writer.append_batch(batch).unwrap());
        (root, folder)
    }

    fn answers(index: &JournalIndex, task_order: &[&str]) -> Vec<String> {
        let name = |record: SampleRecord| {
            let output = record.model_output.unwrap();
            format!("{}{}{}", record.task_id, record.index, output["answer"].as_str().unwrap())
        };
        index.records_in_order(task_order).map(|record| name(record.unwrap())).collect()
    }

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Entry>(), 32);
    }

    #[test]
    fn records_come_in_order_and_of_one_sample_the_last() {
        let (_root, folder) = written(&[
            vec![record("b", 1, "x"), record("a", 2, "x")],
            vec![record("a", 0, "x"), record("b", 0, "x"), record("a", 2, "y")],
            vec![record("c", 0, "x"), record("a", 2, "z")],
        ]);
        let index = JournalIndex::read(&folder).unwrap();
        assert_eq!(index.len(), 5);
        assert_eq!(answers(&index, &["b", "a", "none"]), ["b0x", "b1x", "a0x", "a2z", "c0x"]);
        assert_eq!(answers(&index, &[]), ["a0x", "a2z", "b0x", "b1x", "c0x"]);
        assert_eq!(index.task_ids(), ["a", "b", "c"]);
    }

    #[test]
    fn a_resumed_run_does_again_what_failed_by_chance_or_was_another_row() {
        let mut failed = record("t", 1, "");
        failed.outcome = Outcome::BackendError;
        let (_root, folder) = written(&[vec![record("t", 0, "a"), failed]]);
        let index = JournalIndex::read(&folder).unwrap();
        let done =
            |number: u64, row_digest: &str| index.get("t", number).is_some_and(|it| it.is_done(row_digest));
        assert!(done(0, "0000000000000000"));
        assert!(!done(0, "ffffffffffffffff"));
        assert!(!done(1, "0000000000000001"));
        assert!(!done(2, "0000000000000002"));
        assert!(index.contains("t", 1) && !index.contains("u", 1));
        let counts = index.outcomes("t");
        assert_eq!((counts.total(), counts.get(Outcome::BackendError)), (2, 1));
    }

    #[test]
    fn several_files_are_one_journal() {
        let (_root, folder) = written(&[vec![record("t", 0, "a"), record("t", 1, "a")]]);
        let first = folder.path_of("journal/000001.jsonl");
        let text = std::fs::read_to_string(&first).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let second = [lines[0], lines[1]].concat();
        std::fs::write(folder.path_of("journal/000002.jsonl"), second).unwrap();

        let mut opened = JournalWriter::open(&folder).unwrap();
        opened.writer.append_batch(&[record("t", 2, "b")]).unwrap();
        assert_eq!(std::fs::read_to_string(&first).unwrap(), text);
        let index = JournalIndex::read(&folder).unwrap();
        assert_eq!(answers(&index, &["t"]), ["t0a", "t1a", "t2b"]);
    }
}

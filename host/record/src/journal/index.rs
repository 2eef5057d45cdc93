//! Index of a journal: the positions of its records.

use super::line::ChecksumSeed;
use super::scan::{GoodLine, ScanResult, scan};
use super::segment_names::{segment_name, unsealed_name};
use super::segments::{SegmentReader, segment_paths};
use super::{Header, check_number, durable_count, durable_lines};
use crate::JournalId;
use crate::error::JOURNAL_REMEDY;
use crate::format::JOURNAL_FOLDER;
use crate::{RecordError, RunFolder, SampleRecord};
use gage_core::{OrderedWorkers, Outcome, OutcomeCounts, spawn_thread};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod answer_tracker;
mod entries;
mod key;
mod records;

pub(super) use answer_tracker::AnswerTracker;
use entries::{Entries, EntryState, LinePosition, SampleEntry};
use key::LineKey;
pub use records::{AnswerReader, EndedSample, PartialRecords, SampleStage};

/// Size from which segments are read one at a time, in bytes. Each of them may be a single line, which is held in memory. The
/// usual size is 16 MiB.
const MIN_LARGE_SEGMENT_BYTES: u64 = 64 << 20;

/// Held while a large segment is read.
static LARGE_SEGMENT: Mutex<()> = Mutex::new(());

/// Positions of the last record of every sample. Takes about 33 bytes per sample, regardless of the sample's
/// size.
#[derive(Debug, Default)]
pub struct JournalIndex {
    segments: Arc<[Segment]>,
    tasks: Vec<TaskEntries>,
    positions: HashMap<String, usize>,
    torn_bytes: u64,
    /// Number of bytes of all lines.
    length: u64,
}

/// A journal file. `start` is the total length of all files before it, so a single number locates a record.
#[derive(Debug)]
struct Segment {
    path: PathBuf,
    start: u64,
    seed: ChecksumSeed,
}

#[derive(Debug)]
struct TaskEntries {
    task_id: String,
    entries: Entries,
}

/// Entry of the index for a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedSample {
    /// Outcome of the sample; if it awaits scores, the outcome unless the scores change it.
    pub outcome: Outcome,
    /// Number of answers in the same scoring batch, including this one; 0 if it has no scores.
    pub scored_together: u16,
    row: u64,
    state: EntryState,
}

impl IndexedSample {
    /// Returns whether the record was made from a row with this digest.
    pub fn is_of_row(&self, row_digest: &str) -> bool {
        self.row == row_key(row_digest)
    }

    /// Returns whether no work is left: the sample has its scores or failed for a permanent reason.
    pub fn is_finished(&self) -> bool {
        self.state.has_ended() && !self.outcome.is_retried_on_resume()
    }

    /// Returns whether the sample has an outcome, even if a resumed run would retry it.
    pub fn has_ended(&self) -> bool {
        self.state.has_ended()
    }

    /// Returns whether the model's answer and its judges' replies are present, so that only scores may be
    /// missing.
    pub fn is_answered(&self) -> bool {
        matches!(self.state, EntryState::Awaits | EntryState::Scored)
    }

    /// Returns whether the model's answer is present, but its judges have not replied.
    pub fn awaits_judges(&self) -> bool {
        self.state == EntryState::Unjudged
    }
}

impl JournalIndex {
    /// Reads the journal of a run once, from start to end. A torn end is ignored.
    ///
    /// # Errors
    /// If a line before the end is damaged or missing (the error names it), or the journal has fewer lines
    /// than the run recorded. If it belongs to another journal or has a newer format, or the file system refuses.
    pub fn read(folder: &RunFolder) -> Result<JournalIndex, RecordError> {
        // Read before the journal, which may grow in the meantime.
        let recorded = durable_lines(folder)?;
        let (index, lines) = JournalIndex::read_lines(folder)?;
        durable_count::check(folder, recorded, lines)?;
        Ok(index)
    }

    /// Reads the journal without checking the recorded count. Also returns the number of whole lines.
    pub(crate) fn read_lines(folder: &RunFolder) -> Result<(JournalIndex, u64), RecordError> {
        let mut builder = IndexBuilder::new(folder.journal_id());
        let mut paths = segment_paths(folder.path())?;
        let last = paths.pop();
        builder.add_segments(paths)?;
        if let Some(last) = last {
            builder.add_last_segment(last)?;
        }
        let lines = builder.lines;
        Ok((builder.finish(), lines))
    }

    /// Returns the entry of a sample.
    pub fn get(&self, task_id: &str, index: u64) -> Option<IndexedSample> {
        self.entries(task_id)?.get(index).map(SampleEntry::sample)
    }

    /// Reads the record of a sample, as far as it is known. `None` if there is none.
    ///
    /// # Errors
    /// If the journal cannot be read, or has changed.
    pub fn record(&self, task_id: &str, index: u64) -> Result<Option<SampleRecord>, RecordError> {
        let entry = self.entries(task_id).and_then(|entries| entries.get(index));
        entry.map(|entry| records::read_one(self, *entry)).transpose()
    }

    /// Returns the samples of a task with their indices, in order, including those that await judges or
    /// scores.
    pub fn samples(&self, task_id: &str) -> impl Iterator<Item = (u64, IndexedSample)> {
        self.iter(task_id).map(|(index, entry)| (index, entry.sample()))
    }

    /// Reads the finished samples of a task that never needed scores, in order.
    pub fn whole_records(&self, task_id: &str) -> impl Iterator<Item = Result<SampleRecord, RecordError>> {
        let mut reader = AnswerReader::new(self);
        let whole = self.iter(task_id).filter(|(_, entry)| entry.state == EntryState::FinishedWithoutScores);
        whole.map(move |(_, entry)| reader.read_at(entry.record()))
    }

    /// Returns a reader for answers that need scores.
    pub fn answers(&self) -> AnswerReader<'_> {
        AnswerReader::new(self)
    }

    /// Returns the number of samples, including those that await judges or scores.
    pub fn len(&self) -> usize {
        self.tasks.iter().map(|task| task.entries.len()).sum()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns the tasks that have records, sorted by name.
    pub fn task_ids(&self) -> Vec<&str> {
        let mut task_ids: Vec<&str> = self.tasks.iter().map(|task| task.task_id.as_str()).collect();
        task_ids.sort_unstable();
        task_ids
    }

    /// Returns the outcomes of a task's samples. Samples that await judges or scores are not counted.
    pub fn outcomes(&self, task_id: &str) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        let ended = self.iter(task_id).filter(|(_, entry)| entry.state.has_ended());
        ended.for_each(|(_, entry)| counts.add(entry.sample().outcome));
        counts
    }

    /// Returns the number of bytes in the ignored torn end.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Reads the records one at a time, in the given task order and by index. Tasks that have records but are
    /// not listed come last, by name. Answers that await judges or scores are skipped.
    pub fn records_in_order<'a, T: AsRef<str>>(
        &'a self,
        task_order: &[T],
    ) -> impl Iterator<Item = Result<SampleRecord, RecordError>> + use<'a, T> {
        self.records_so_far(task_order).ended()
    }

    /// Like `records_in_order`, without the first records. Those are not read.
    pub fn records_in_order_after<'a, T: AsRef<str>>(
        &'a self,
        task_order: &[T],
        skipped: usize,
    ) -> impl Iterator<Item = Result<SampleRecord, RecordError>> + use<'a, T> {
        let mut records = self.records_so_far(task_order);
        records.skip_ended(skipped);
        records.ended()
    }

    /// Like `records_in_order`, but includes answers that await judges or scores, each in its place. These
    /// have neither judges' replies nor scores.
    pub fn records_so_far<T: AsRef<str>>(&self, task_order: &[T]) -> PartialRecords<'_> {
        let mut order: Vec<usize> = Vec::with_capacity(self.tasks.len());
        let named = task_order.iter().map(AsRef::as_ref);
        for task_id in named.chain(self.task_ids()) {
            match self.positions.get(task_id) {
                Some(position) if !order.contains(position) => order.push(*position),
                _ => {}
            }
        }
        PartialRecords::new(self, order)
    }

    fn entries(&self, task_id: &str) -> Option<&Entries> {
        self.tasks.get(*self.positions.get(task_id)?).map(|task| &task.entries)
    }

    fn iter(&self, task_id: &str) -> impl Iterator<Item = (u64, &SampleEntry)> {
        self.entries(task_id).map(Entries::iter).unwrap_or_default()
    }
}

/// Builds an index, one file after another.
pub(super) struct IndexBuilder {
    journal_id: JournalId,
    /// Number of whole lines in all files; the next field counts the last file.
    pub(super) lines: u64,
    pub(super) last_lines: u64,
    length: u64,
    segments: Vec<Segment>,
    /// The last record and the last scores of each sample.
    index: JournalIndex,
}

impl IndexBuilder {
    pub(super) fn new(journal_id: JournalId) -> IndexBuilder {
        IndexBuilder {
            journal_id,
            lines: 0,
            last_lines: 0,
            length: 0,
            segments: Vec::new(),
            index: JournalIndex::default(),
        }
    }

    /// Adds files to which others follow. They are read on several threads, if the machine has some.
    pub(super) fn add_segments(&mut self, paths: Vec<PathBuf>) -> Result<(), RecordError> {
        let mut names = paths.iter().map(|path| unsealed_name(path)).zip(1..);
        if let Some((_, number)) = names.find(|(name, number)| *name != segment_name(*number)) {
            let path = usize::try_from(number - 1).ok().and_then(|place| paths.get(place));
            return Err(missing_before(path.map_or(Path::new(JOURNAL_FOLDER), PathBuf::as_path), number));
        }
        let read = |lines: Result<SegmentLines, RecordError>| {
            let lines = lines?;
            if lines.scanned.torn_bytes > 0 {
                let reason = format!(
                    "its last {} bytes are torn, and another file follows; {JOURNAL_REMEDY}",
                    lines.scanned.torn_bytes
                );
                return Err(RecordError::invalid(&lines.path, reason));
            }
            Ok(lines)
        };
        let journal_id = self.journal_id;
        let spawn = |worker: Box<dyn FnOnce() + Send>| spawn_thread("journal", worker).map(drop);
        let new_worker = move || move |path| SegmentLines::read(path, journal_id);
        let workers = (paths.len() > 1).then(|| OrderedWorkers::start(spawn, new_worker).ok()).flatten();
        let mut paths = paths.into_iter();
        let Some(mut workers) = workers else {
            return paths.try_for_each(|path| self.add(read(SegmentLines::read(path, journal_id))?));
        };
        while let Some(lines) = workers.next(|| paths.next()) {
            self.add(read(lines)?)?;
        }
        Ok(())
    }

    /// Adds the last file, which may have a torn end.
    pub(super) fn add_last_segment(&mut self, path: PathBuf) -> Result<ScanResult, RecordError> {
        let number = self.segments.len() as u64 + 1;
        if unsealed_name(&path) != segment_name(number) {
            return Err(missing_before(&path, number));
        }
        let lines = SegmentLines::read(path, self.journal_id)?;
        let scanned = lines.scanned;
        self.add(lines)?;
        Ok(scanned)
    }

    fn add(&mut self, segment: SegmentLines) -> Result<(), RecordError> {
        let SegmentLines { path, tasks, lines, count, scanned } = segment;
        let tasks: Vec<usize> = tasks.into_iter().map(|task_id| self.index.position_of(task_id)).collect();
        let start = self.length;
        for ((task, line), number) in lines.into_iter().zip(2..) {
            let line = LinePosition { offset: start + line.offset, ..line };
            let task = tasks.get(task).and_then(|position| self.index.tasks.get_mut(*position));
            if let Some(task) = task
                && !task.entries.add(&line)
            {
                let task_id = &task.task_id;
                let reason =
                    format!("sample {} of the task `{task_id}` has scores and no answer", line.index);
                return Err(RecordError::damaged(&path, number, reason));
            }
        }
        self.lines += count;
        self.last_lines = count;
        self.length += scanned.good_bytes + scanned.torn_bytes;
        self.index.torn_bytes += scanned.torn_bytes;
        self.segments.push(Segment { path, start, seed: ChecksumSeed::of_journal(self.journal_id) });
        Ok(())
    }

    /// Returns the index of all files that were added.
    pub(super) fn finish(self) -> JournalIndex {
        JournalIndex { segments: self.segments.into(), length: self.length, ..self.index }
    }
}

fn missing_before(path: &Path, number: u64) -> RecordError {
    let expected = segment_name(number);
    let reason = format!("{expected} or {expected}.zst, which comes before it, is gone; {JOURNAL_REMEDY}");
    RecordError::invalid(path, reason)
}

/// The lines of a file, reduced to what the index needs.
struct SegmentLines {
    path: PathBuf,
    tasks: Vec<String>,
    /// Each line but the header, with the number of its task above.
    lines: Vec<(usize, LinePosition)>,
    /// Number of lines, including the header.
    count: u64,
    scanned: ScanResult,
}

impl SegmentLines {
    fn read(path: PathBuf, journal_id: JournalId) -> Result<SegmentLines, RecordError> {
        let reader =
            SegmentReader::open(&path).map_err(|source| RecordError::unreadable_journal(&path, source))?;
        let _turn = (reader.length() >= MIN_LARGE_SEGMENT_BYTES).then(|| LARGE_SEGMENT.lock());
        let seed = ChecksumSeed::of_journal(journal_id);
        let (mut tasks, mut numbers, mut lines, mut count) = (Vec::new(), HashMap::new(), Vec::new(), 0);
        let scanned = scan(&path, reader, ChecksumSeed::NONE, |line| {
            if line.number == 1 {
                Header::check(&path, line.json, journal_id)?;
            } else {
                let read = position_of(&line, &mut tasks, &mut numbers);
                lines.push(read.map_err(|reason| RecordError::damaged(&path, line.number, reason))?);
            }
            count = line.number;
            Ok(seed)
        })?;
        Ok(SegmentLines { path, tasks, lines, count, scanned })
    }
}

/// Returns the position of a line, and the number of its task, which is added if it is new.
fn position_of(
    line: &GoodLine<'_>,
    tasks: &mut Vec<String>,
    numbers: &mut HashMap<String, usize>,
) -> Result<(usize, LinePosition), String> {
    let key = LineKey::read(line.json).map_err(|error| format!("not a sample record: {error}"))?;
    check_number(line.number, key.line)?;
    let position = line_position(&key, line.offset);
    let task = match numbers.get(&*key.task_id) {
        Some(number) => *number,
        None => {
            numbers.insert(key.task_id.clone().into_owned(), tasks.len());
            tasks.push(key.task_id.into_owned());
            tasks.len() - 1
        }
    };
    Ok((task, position))
}

/// Returns the position of a line that begins at an offset.
fn line_position(key: &LineKey<'_>, offset: u64) -> LinePosition {
    LinePosition {
        index: key.index,
        row: row_key(&key.row_digest),
        outcome: key.outcome,
        scored_together: key.scored_together.unwrap_or(0),
        state: match (key.scored_together, key.awaits_scores) {
            (Some(_), _) => EntryState::Scored,
            (None, true) if key.awaits_judges => EntryState::Unjudged,
            (None, true) => EntryState::Awaits,
            (None, false) => EntryState::FinishedWithoutScores,
        },
        offset,
    }
}

/// Returns the number that a record was written with, or `None` if it is not a record or has no number.
pub(super) fn number_of_record(json: &[u8]) -> Option<u64> {
    LineKey::read(json).ok()?.line
}

impl JournalIndex {
    /// Returns the position of a task, which is added if it is new.
    fn position_of(&mut self, task_id: String) -> usize {
        match self.positions.get(&task_id) {
            Some(position) => *position,
            None => {
                let position = self.tasks.len();
                self.positions.insert(task_id.clone(), position);
                self.tasks.push(TaskEntries { task_id, entries: Entries::default() });
                position
            }
        }
    }
}

/// Converts a digest to a number. The index never leaves the process, so any hash will do.
fn row_key(row_digest: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    row_digest.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::{
        AnswerEntry, JournalEntry, JournalWriter, Manifest, RunIdentity, SampleRecord, Scores, ScoresEntry,
    };
    use gage_core::RecordedForm;
    use gage_recorded_messages::RecordedError as _;

    fn written(batches: &[Vec<SampleRecord>]) -> (tempfile::TempDir, RunFolder) {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        batches.iter().for_each(|batch| writer.append_whole(batch).unwrap());
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
    fn resume_repeats_chance_failures_and_changed_rows() {
        let mut failed = record("t", 1, "");
        failed.outcome = Outcome::BackendError;
        let (_root, folder) = written(&[vec![record("t", 0, "a"), failed]]);
        let index = JournalIndex::read(&folder).unwrap();
        let done = |number: u64, row_digest: &str| {
            index.get("t", number).is_some_and(|it| it.is_of_row(row_digest) && it.is_finished())
        };
        assert!(done(0, "0000000000000000"));
        assert!(!done(0, "ffffffffffffffff"));
        assert!(!done(1, "0000000000000001"));
        assert!(!done(2, "0000000000000002"));
        assert!(index.get("t", 1).is_some() && index.get("u", 1).is_none());
        let counts = index.outcomes("t");
        assert_eq!((counts.total(), counts.get(Outcome::BackendError)), (2, 1));
    }

    /// The line of an answer that awaits scores.
    fn answer(record: &SampleRecord) -> JournalEntry<'_> {
        JournalEntry::Answer(AnswerEntry {
            task_id: &record.task_id,
            index: record.index,
            sample_id: &record.sample_id,
            row_digest: &record.row_digest,
            outcome: record.outcome,
            sample: RecordedForm((&record.sample).into()),
            support_output: None,
            model_output: record.model_output.as_ref().unwrap().into(),
            judge_output: None,
            timing: record.timing,
            awaits_scores: true,
            awaits_judges: false,
        })
    }

    /// The ids of the samples of the task `t`, with their stages.
    fn stages(index: &JournalIndex) -> Vec<(String, SampleStage)> {
        let read = index.records_so_far(&["t"]).map(Result::unwrap);
        read.map(|(record, stage)| (record.sample_id, stage)).collect()
    }

    fn scores(record: &SampleRecord, outcome: Outcome) -> ScoresEntry {
        ScoresEntry {
            task_id: record.task_id.as_str().into(),
            index: record.index,
            sample_id: record.sample_id.as_str().into(),
            row_digest: record.row_digest.as_str().into(),
            outcome,
            scores: Scores { metrics: record.metrics.clone(), scoring_fuel: 7, ..Scores::default() },
        }
    }

    #[test]
    fn an_answer_is_there_before_its_scores_and_counts_with_them() {
        let (first, second) = (record("t", 0, "a"), record("t", 1, "b"));
        let (_root, folder) = written(&[]);
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        writer.append_batch([answer(&first), answer(&second)]).unwrap();
        let index = JournalIndex::read(&folder).unwrap();
        assert_eq!((index.len(), index.outcomes("t").total()), (2, 0));
        assert!(answers(&index, &["t"]).is_empty());
        let awaiting = index.get("t", 1).unwrap();
        assert!(awaiting.is_answered() && !awaiting.is_finished());
        let read = index.answers().read("t", 1).unwrap().unwrap();
        assert_eq!((read.model_output, read.metrics.len()), (second.model_output.clone(), 0));
        assert_eq!(
            stages(&index),
            [("s-0".to_owned(), SampleStage::AwaitsScores), ("s-1".to_owned(), SampleStage::AwaitsScores)]
        );

        let given = [scores(&second, Outcome::PluginTimeout), scores(&second, Outcome::Scored)];
        let entries: Vec<JournalEntry<'_>> = given.iter().map(JournalEntry::Scores).collect();
        writer.append_batch(&entries[..1]).unwrap();
        assert_eq!(JournalIndex::read(&folder).unwrap().outcomes("t").get(Outcome::PluginTimeout), 1);
        writer.append_batch(&entries[1..]).unwrap();
        let index = JournalIndex::read(&folder).unwrap();
        assert_eq!(answers(&index, &["t"]), ["t1b"]);
        assert_eq!(stages(&index).pop(), Some(("s-1".to_owned(), SampleStage::Ended)));
        let records: Vec<SampleRecord> = index.records_in_order(&["t"]).map(Result::unwrap).collect();
        assert_eq!((&records[0].metrics, records[0].timing.scoring_fuel), (&second.metrics, 7));
        assert!(index.get("t", 1).unwrap().is_finished());
        // Asked again, it awaits scores again.
        writer.append_batch([answer(&second)]).unwrap();
        assert!(!JournalIndex::read(&folder).unwrap().get("t", 1).unwrap().is_finished());
    }

    #[test]
    fn an_answer_is_there_before_its_judges_have_replied() {
        let (first, second) = (record("t", 0, "a"), record("t", 1, "b"));
        let unjudged = |record| match answer(record) {
            JournalEntry::Answer(entry) => JournalEntry::Answer(AnswerEntry { awaits_judges: true, ..entry }),
            entry => entry,
        };
        let (_root, folder) = written(&[]);
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        writer.append_batch([unjudged(&first), unjudged(&second)]).unwrap();
        let index = JournalIndex::read(&folder).unwrap();
        let sample = index.get("t", 1).unwrap();
        assert!(sample.awaits_judges() && !sample.is_answered() && !sample.is_finished());
        assert_eq!((index.outcomes("t").total(), answers(&index, &["t"]).len()), (0, 0));
        assert_eq!(stages(&index).pop(), Some(("s-1".to_owned(), SampleStage::AwaitsJudges)));
        let read = index.answers().read("t", 1).unwrap().unwrap();
        assert_eq!((read.model_output, read.judge_output), (second.model_output.clone(), None));

        // One answer is judged; for the other the judge fails. Neither is scored before that.
        let failed = SampleRecord { outcome: Outcome::JudgeUnparseable, ..second.clone() };
        writer.append_batch([answer(&first), JournalEntry::FinishedWithoutScores(&failed)]).unwrap();
        let index = JournalIndex::read(&folder).unwrap();
        assert!(index.get("t", 0).unwrap().is_answered() && !index.get("t", 1).unwrap().is_answered());
        assert_eq!(index.outcomes("t").get(Outcome::JudgeUnparseable), 1);
        assert_eq!(index.answers().read_whole("t", 1).unwrap().unwrap().sample_id, "s-1");
        assert_eq!(index.answers().read_whole("t", 0).unwrap(), None);
        writer
            .append_batch([unjudged(&first), JournalEntry::Scores(&scores(&first, Outcome::Scored))])
            .unwrap();
        let error = JournalIndex::read(&folder).unwrap_err().recorded("run_folders");
        assert!(error.contains("has scores and no answer"), "{error}");
    }

    #[test]
    fn scores_without_an_answer_are_damage() {
        let (_root, folder) = written(&[]);
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        writer.append_batch([JournalEntry::Scores(&scores(&record("t", 3, "a"), Outcome::Scored))]).unwrap();
        let error = JournalIndex::read(&folder).unwrap_err().recorded("run_folders");
        assert!(error.contains("sample 3 of the task `t` has scores and no answer"), "{error}");
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
        opened.writer.append_whole(&[record("t", 2, "b")]).unwrap();
        let index = JournalIndex::read(&folder).unwrap();
        assert_eq!(answers(&index, &["t"]), ["t0a", "t1a", "t2b"]);
    }
}

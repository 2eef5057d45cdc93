//! The finished records of a run in the order of its reports, from memory rather than from the journal.

use crate::pipeline::task_state::TaskMarker;
use crate::progress::FinishedSample;
use crate::sample::result::SampleResult;
use gage_core::{JsonView, Shard};
use gage_record::{JournalEntry, RecordView, RunFolder, SampleRecord, SampleTiming, ScoresEntry, StageTimes};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of records that wait for an earlier one. If a sample takes longer than that, the rest of the records is
/// left to be read from the journal.
const MAX_WAITING_RECORDS: usize = 8_192;

/// Maximum length of all answers in records that wait for an earlier one, in bytes.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// Receives the records of a run: the tasks in the order of the suite, and the records of each by index.
pub trait RecordSink: Send + Sync {
    /// Begins a run in this folder.
    fn begin(&self, folder: &RunFolder);

    /// Adds the next record, which is in the journal. Returns false if no further records are wanted. The sink may miss
    /// the last records of a run; the journal has them all.
    fn add(&self, record: &RecordView<'_>) -> bool;

    /// Drops all records: one of them was replaced, or came out of order.
    fn discard(&self);
}

/// A finished sample.
pub(crate) enum FinishedRecord {
    /// An answer and its scores.
    Scored(Arc<SampleResult>, Box<ScoresEntry>),
    /// A sample without scores.
    Whole(Box<SampleRecord>),
}

/// Passes records on in their order.
pub(crate) struct OrderedRecords<'s> {
    /// `None` if records are not wanted, or no longer.
    sink: Option<&'s dyn RecordSink>,
    tasks: Vec<Arc<TaskMarker>>,
    /// The shard whose records come; `None` for all records.
    shard: Option<Shard>,
    /// Position of the task and index of the record that comes next.
    next: (usize, u64),
    waiting: BTreeMap<(usize, u64), FinishedRecord>,
    /// Length of all answers in `waiting`.
    waiting_bytes: usize,
}

impl<'s> OrderedRecords<'s> {
    pub(crate) fn new(
        sink: Option<&'s dyn RecordSink>,
        tasks: Vec<Arc<TaskMarker>>,
        shard: Option<Shard>,
    ) -> OrderedRecords<'s> {
        let next = (0, next_of(shard, 0, 0));
        OrderedRecords { sink, tasks, shard, next, waiting: BTreeMap::new(), waiting_bytes: 0 }
    }

    /// Adds a record of a task. Passes on all records that follow each other.
    pub(crate) fn add(&mut self, task: &Arc<TaskMarker>, index: u64, record: FinishedRecord) {
        let Some(sink) = self.sink else { return };
        let position = self.tasks.iter().position(|known| Arc::ptr_eq(known, task)).unwrap_or(usize::MAX);
        self.waiting_bytes += record.answer_bytes();
        if let Some(replaced) = self.waiting.insert((position, index), record) {
            self.waiting_bytes -= replaced.answer_bytes();
        }
        // A record that comes again has replaced an earlier one.
        let is_late = self.waiting.first_key_value().is_some_and(|(first, _)| *first < self.next);
        if is_late {
            sink.discard();
            self.give_up();
        } else {
            self.pass_on();
            if self.waiting.len() > MAX_WAITING_RECORDS || self.waiting_bytes > MAX_WAITING_BYTES {
                self.give_up();
            }
        }
    }

    /// Passes on what waits for the end of earlier tasks.
    pub(crate) fn finish(mut self) {
        self.pass_on();
    }

    fn pass_on(&mut self) {
        while let (Some(sink), Some((first, _))) = (self.sink, self.waiting.first_key_value()) {
            if *first != self.next && !self.begins_next_task(*first) {
                return;
            }
            let Some(((task, index), record)) = self.waiting.pop_first() else { return };
            self.next = (task, next_of(self.shard, task, index + 1));
            self.waiting_bytes -= record.answer_bytes();
            let task_id = self.tasks.get(task).map(|task| &*task.id).unwrap_or_default();
            let is_wanted = record.with_view(task_id, |record| sink.add(record));
            if !is_wanted {
                self.give_up();
            }
        }
    }

    /// Returns whether a record is the first of a task, and all tasks before it have ended.
    fn begins_next_task(&self, (task, index): (usize, u64)) -> bool {
        let before = self.tasks.get(self.next.0..task).unwrap_or_default();
        index == next_of(self.shard, task, 0)
            && task > self.next.0
            && before.iter().all(|task| task.has_ended())
    }

    fn give_up(&mut self) {
        self.sink = None;
        self.waiting.clear();
        self.waiting_bytes = 0;
    }
}

/// Returns the first record from `index` on of the task at a position that belongs to a shard.
fn next_of(shard: Option<Shard>, task: usize, index: u64) -> u64 {
    shard.map_or(index, |shard| shard.of_task(task).next_from(index).unwrap_or(u64::MAX))
}

impl FinishedRecord {
    /// Returns the length of the answer in bytes; 0 without scores.
    fn answer_bytes(&self) -> usize {
        match self {
            FinishedRecord::Scored(answer, _) => answer.model_output.answer_bytes(),
            FinishedRecord::Whole(_) => 0,
        }
    }

    /// Calls a function with the record.
    pub(crate) fn with_view<T>(&self, task_id: &str, read: impl FnOnce(&RecordView<'_>) -> T) -> T {
        let (answer, entry) = match self {
            FinishedRecord::Whole(record) => return read(&record.as_ref().into()),
            FinishedRecord::Scored(answer, entry) => (answer, entry),
        };
        let scores = &entry.scores;
        let output = answer.model_output.document();
        let extracted: Option<Value> = (!scores.extracted.is_empty()).then(|| {
            let mut output = output.value().into_owned();
            scores.add_extracted(&mut output);
            output
        });
        let support_output = Some(&answer.support_output).filter(|output| !output.is_null());
        let judge_output = Some(&answer.judge_output).filter(|output| !output.is_null());
        read(&RecordView {
            task_id,
            index: answer.index,
            sample_id: &answer.sample_id,
            outcome: entry.outcome,
            error: scores.error.as_ref(),
            sample: answer.sample.document(),
            row: None,
            support_output,
            model_output: extracted.as_ref().map_or(output, JsonView::Json),
            judge_output,
            metrics: &scores.metrics,
            timing: SampleTiming {
                scoring_ms: scores.scoring_ms,
                scoring_fuel: scores.scoring_fuel,
                stages: StageTimes { extract_ms: scores.extract_ms, ..answer.timing.stages },
                ..answer.timing
            },
            timing_metrics: &scores.timing_metrics,
        })
    }

    /// Returns the lines of the journal that hold it.
    pub(crate) fn entries<'a>(&'a self, task_id: &'a str) -> impl Iterator<Item = JournalEntry<'a>> {
        let (first, scores) = match self {
            FinishedRecord::Scored(answer, scores) => {
                (JournalEntry::Answer(answer.entry(task_id)), Some(JournalEntry::Scores(scores)))
            }
            FinishedRecord::Whole(record) => (JournalEntry::FinishedWithoutScores(record), None),
        };
        std::iter::once(first).chain(scores)
    }

    /// Returns the sample, for observers.
    pub(crate) fn finished(&self) -> FinishedSample<'_> {
        match self {
            FinishedRecord::Scored(_, scores) => FinishedSample::of_scores(scores),
            FinishedRecord::Whole(record) => FinishedSample::of_record(record),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::{Outcome, RecordedSample};
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Received(Mutex<Vec<String>>);

    impl RecordSink for Received {
        fn begin(&self, _folder: &RunFolder) {}

        fn add(&self, record: &RecordView<'_>) -> bool {
            self.0.lock().push(format!("{}{}", record.task_id, record.index));
            true
        }

        fn discard(&self) {
            self.0.lock().clear();
        }
    }

    fn whole(task_id: &str, index: u64) -> FinishedRecord {
        FinishedRecord::Whole(Box::new(SampleRecord {
            task_id: task_id.to_owned(),
            index,
            sample_id: String::new(),
            row_digest: String::new(),
            outcome: Outcome::InvalidSample,
            error: None,
            sample: RecordedSample::default(),
            row: None,
            support_output: None,
            model_output: None,
            judge_output: None,
            metrics: Vec::new(),
            timing: SampleTiming::default(),
            timing_metrics: Vec::new(),
        }))
    }

    /// Adds records of the tasks `a` and `b`, and returns those that were passed on. A task ends at a record of the index
    /// `END`.
    fn passed_on(records: &[(usize, u64)]) -> Vec<String> {
        passed_on_of(None, records)
    }

    fn passed_on_of(shard: Option<Shard>, records: &[(usize, u64)]) -> Vec<String> {
        let tasks: Vec<_> = ["a", "b"].map(|id| Arc::new(TaskMarker::new(id))).into();
        let received = Received::default();
        let mut ordered = OrderedRecords::new(Some(&received), tasks.clone(), shard);
        for (task, index) in records {
            match *index {
                END => tasks[*task].end(),
                index => ordered.add(&tasks[*task], index, whole(&tasks[*task].id, index)),
            }
        }
        ordered.finish();
        received.0.into_inner()
    }

    const END: u64 = u64::MAX;

    #[test]
    fn records_are_passed_on_in_order() {
        for (records, expected) in [
            (&[(0, 1), (0, 0), (0, 2)][..], &["a0", "a1", "a2"][..]),
            (&[(0, 1), (0, 2)], &[]),
            (&[(0, 0), (0, 2), (0, END), (1, 0)], &["a0"]),
            (&[(0, 0), (1, 0), (1, 1)], &["a0"]),
            (&[(1, 0), (0, 0), (0, END), (1, 1)], &["a0", "b0", "b1"]),
            (&[(1, 0), (0, END)], &["b0"]),
            (&[(0, 0), (0, END), (1, 1)], &["a0"]),
            // A record that comes again voids everything.
            (&[(0, 0), (0, 1), (0, 0), (0, 2)], &[]),
        ] {
            assert_eq!(passed_on(records), expected, "{records:?}");
        }
    }

    #[test]
    fn records_of_a_shard_follow_each_other_across_batches() {
        let second = Shard::new(2, 2);
        for (records, expected) in [
            // The batches of the second task begin at the second of two shards.
            (&[(0, 32), (0, END), (1, 0)][..], &["a32", "b0"][..]),
            (&[(0, 32), (0, END), (1, 32)], &["a32"]),
            (&[(0, 33), (0, 32), (0, 34)], &["a32", "a33", "a34"]),
            (&[(0, 96), (0, 32)], &["a32"]),
            (&[(1, 32), (0, END)], &[]),
        ] {
            assert_eq!(passed_on_of(second, records), expected, "{records:?}");
        }
        let batch: Vec<(usize, u64)> = (32..64).chain([96]).map(|index| (0, index)).collect();
        assert_eq!(passed_on_of(second, &batch).last().map(String::as_str), Some("a96"));
    }

    #[test]
    fn the_rest_is_left_out_after_too_long_a_wait() {
        let waiting = (2..MAX_WAITING_RECORDS as u64 + 3).map(|index| (0, index));
        let records: Vec<(usize, u64)> = [(0, 0)].into_iter().chain(waiting).chain([(0, 1)]).collect();
        assert_eq!(passed_on(&records), ["a0"]);
        assert_eq!(passed_on(&records[1..records.len() - 1]), [""; 0]);
    }
}

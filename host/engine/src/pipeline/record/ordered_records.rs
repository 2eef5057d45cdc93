//! The finished records of a run in the order of its reports, from memory rather than from the journal.

use crate::pipeline::task_state::TaskState;
use crate::sample::result::SampleResult;
use gage_core::JsonView;
use gage_record::{RecordView, RunFolder, SampleRecord, SampleTiming, ScoresEntry, StageTimes};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of records that wait for an earlier one. If a sample takes longer than that, the rest of the records is
/// left to be read from the journal.
const MAX_WAITING_RECORDS: usize = 8_192;

/// Receives the records of a run: the tasks in the order of the suite, and the records of each by index.
pub trait RecordSink: Send {
    /// Begins a run in this folder.
    fn begin(&mut self, folder: &RunFolder);

    /// Adds the next record, which is in the journal. Returns false if no further records are wanted. The sink may miss
    /// the last records of a run; the journal has them all.
    fn add(&mut self, record: &RecordView<'_>) -> bool;
}

/// A sink that is shared with the caller of the run.
pub type SharedSink = Mutex<Box<dyn RecordSink>>;

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
    sink: Option<&'s SharedSink>,
    tasks: &'s [Arc<TaskState>],
    /// Position of the task and index of the record that comes next.
    next: (usize, u64),
    waiting: BTreeMap<(usize, u64), FinishedRecord>,
}

impl<'s> OrderedRecords<'s> {
    pub(crate) fn new(sink: Option<&'s SharedSink>, tasks: &'s [Arc<TaskState>]) -> OrderedRecords<'s> {
        OrderedRecords { sink, tasks, next: (0, 0), waiting: BTreeMap::new() }
    }

    /// Adds a record of a task. Passes on all records that follow each other.
    pub(crate) fn add(&mut self, task: &Arc<TaskState>, index: u64, record: FinishedRecord) {
        if self.sink.is_none() {
            return;
        }
        let position = self.tasks.iter().position(|known| Arc::ptr_eq(known, task)).unwrap_or(usize::MAX);
        self.waiting.insert((position, index), record);
        // A record that comes again has replaced an earlier one.
        let is_late = self.waiting.first_key_value().is_some_and(|(first, _)| *first < self.next);
        if is_late || self.waiting.len() > MAX_WAITING_RECORDS {
            self.give_up();
        } else {
            self.pass_on();
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
            self.next = (task, index + 1);
            let task_id = self.tasks.get(task).map(|task| task.id()).unwrap_or_default();
            let is_wanted = record.with_view(task_id, |record| sink.lock().add(record));
            if !is_wanted {
                self.give_up();
            }
        }
    }

    /// Returns whether a record is the first of a task, and all tasks before it have ended.
    fn begins_next_task(&self, (task, index): (usize, u64)) -> bool {
        let before = self.tasks.get(self.next.0..task).unwrap_or_default();
        index == 0 && task > self.next.0 && before.iter().all(|task| task.has_ended())
    }

    fn give_up(&mut self) {
        self.sink = None;
        self.waiting.clear();
    }
}

impl FinishedRecord {
    /// Calls a function with the record.
    fn with_view<T>(&self, task_id: &str, read: impl FnOnce(&RecordView<'_>) -> T) -> T {
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
}

//! Writes the records of all shards to the journal of the run, in the order of the dataset.

use super::shard_set::{ShardSet, TaskRecords};
use crate::merge_error::MergeError;
use crate::progress::EngineEvents;
use crate::{Context, RunnerError, TaskReport};
use gage_config::{DatasetSpec, OnInvalid, PipelineConfig, TaskSpec};
use gage_core::{
    OrderedWorkers, Outcome, OutcomeCounts, ROWS_PER_BATCH, ensure_file_descriptors, rows_of_batch,
    spawn_scoped,
};
use gage_data::IdDeduplicator;
use gage_engine::{FinishedSample, Progress, RecordSink, TooManyInvalid};
use gage_record::{
    AnswerReader, EndedSample, JournalWriter, RecordError, RecordView, RunFolder, SampleRecord,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// Number of records that are written together, with one sync of the disk.
const RECORDS_PER_WRITE: usize = 2_048;

/// Number of files that each shard has open.
const FILES_PER_SHARD: usize = 2;

/// The shards to be combined.
pub(super) struct Combination<'m> {
    pub(super) config: &'m PipelineConfig,
    pub(super) shards: &'m ShardSet,
    pub(super) tasks: &'m [TaskRecords],
    pub(super) context: &'m Context,
}

/// The readers of all journals, in the order of the shards.
type Readers<'m> = Vec<Mutex<AnswerReader<'m>>>;

impl Combination<'_> {
    /// Writes all records to the journal of a folder, and shows them to `records`.
    ///
    /// # Errors
    /// If a journal cannot be read or written, or the user stops the merge.
    pub(super) fn write(
        &self,
        folder: &RunFolder,
        records: &dyn RecordSink,
    ) -> Result<Vec<TaskReport>, RunnerError> {
        let shards = &self.shards.opened;
        ensure_file_descriptors(shards.len() * FILES_PER_SHARD)
            .map_err(|short| RunnerError::Run(short.into()))?;
        let readers: Readers<'_> =
            shards.iter().map(|shard| Mutex::new(shard.journal.answers().with_small_cache())).collect();
        let mut writer = JournalWriter::open(folder)?.writer;
        let mut reports = Vec::with_capacity(self.tasks.len());
        for (task, spec) in self.tasks.iter().zip(&self.config.tasks) {
            reports.push(self.write_task(task, spec, &readers, &mut writer, records)?);
        }
        writer.finish()?;
        Ok(reports)
    }

    fn write_task(
        &self,
        task: &TaskRecords,
        spec: &TaskSpec,
        readers: &Readers<'_>,
        writer: &mut JournalWriter,
        records: &dyn RecordSink,
    ) -> Result<TaskReport, RunnerError> {
        let progress = Arc::clone(&self.context.progress);
        let events = EngineEvents { progress, observability: None };
        events.task_started(&task.task_id, task.total.or(Some(task.end)), 0, None);
        let read = |(batch, place): (u64, usize)| read_batch(task, batch, readers.get(place));
        let mut sink = TaskSink { writer, records, waiting: Vec::new(), events: &events };
        let mut totals = TaskTotals::new(spec.repeat);
        std::thread::scope(|threads| {
            let workers =
                OrderedWorkers::start(|worker| spawn_scoped(threads, "merge", worker).map(drop), || read);
            let mut workers = workers.map_err(|short| RunnerError::Run(short.into()))?;
            let mut batches = task.batches.iter().copied();
            let stop = &self.context.stop;
            while let Some(read) = workers.next(|| batches.next().filter(|_| !stop.is_cancelled())) {
                for mut sample in read? {
                    totals.add(&mut sample);
                    sink.add(sample)?;
                }
            }
            match stop.is_cancelled() {
                true => Err(RunnerError::Merge(MergeError::Stopped)),
                false => sink.flush(),
            }
        })?;
        events.task_finished(&task.task_id);
        let dataset = self.config.datasets.iter().find(|dataset| dataset.dataset_id == spec.dataset_id);
        let rows = task.total.map_or(totals.rows, |total| total / spec.repeat.max(1));
        Ok(TaskReport {
            task_id: task.task_id.clone(),
            too_many_invalid: dataset.and_then(|dataset| totals.too_many_invalid(dataset, rows)),
            counts: totals.counts,
            planned: task.total,
            ..TaskReport::default()
        })
    }
}

/// Reads the records of a scoring batch from the journal of its shard.
fn read_batch(
    task: &TaskRecords,
    batch: u64,
    reader: Option<&Mutex<AnswerReader<'_>>>,
) -> Result<Vec<EndedSample>, RecordError> {
    let Some(reader) = reader else { return Ok(Vec::new()) };
    let mut reader = reader.lock();
    let read = |index: u64| reader.read_ended(&task.task_id, index).transpose();
    rows_of_batch(batch.saturating_mul(ROWS_PER_BATCH)).filter_map(read).collect()
}

/// The destinations of the records of a task.
struct TaskSink<'w> {
    writer: &'w mut JournalWriter,
    records: &'w dyn RecordSink,
    /// Records that are written next.
    waiting: Vec<EndedSample>,
    events: &'w EngineEvents,
}

impl TaskSink<'_> {
    fn add(&mut self, sample: EndedSample) -> Result<(), RunnerError> {
        self.waiting.push(sample);
        if self.waiting.len() < RECORDS_PER_WRITE { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), RunnerError> {
        self.writer.append_batch(self.waiting.iter().flat_map(EndedSample::entries))?;
        for sample in self.waiting.drain(..) {
            let record = sample.into_record();
            self.records.add(&RecordView::from(&record));
            self.events.sample_finished(&FinishedSample::of_record(&record));
        }
        Ok(())
    }
}

/// The totals of the records of a task so far.
struct TaskTotals {
    repeat: u64,
    counts: OutcomeCounts,
    /// Number of rows with records, and of those that are invalid.
    rows: u64,
    invalid: u64,
    first_invalid: String,
    ids: IdDeduplicator,
    /// The last row, and its id in the run.
    last: Option<(u64, String)>,
}

impl TaskTotals {
    fn new(repeat: u64) -> TaskTotals {
        TaskTotals {
            repeat: repeat.max(1),
            counts: OutcomeCounts::default(),
            rows: 0,
            invalid: 0,
            first_invalid: String::new(),
            ids: IdDeduplicator::default(),
            last: None,
        }
    }

    /// Counts a record. Numbers its id if an earlier row has the same, which its shard could not know.
    fn add(&mut self, sample: &mut EndedSample) {
        let record = &sample.record;
        let outcome = sample.scores.as_ref().map_or(record.outcome, |scores| scores.outcome);
        self.counts.add(outcome);
        let row = record.index / self.repeat;
        let id = match &self.last {
            Some((last, id)) if *last == row => id.clone(),
            _ => {
                let mut id = record.sample_id.clone();
                self.ids.deduplicate(&mut id);
                self.rows += 1;
                if outcome == Outcome::InvalidSample {
                    self.invalid += 1;
                    if let (1, Some(error)) = (self.invalid, &record.error) {
                        self.first_invalid.clone_from(&error.message);
                    }
                }
                self.last = Some((row, id.clone()));
                id
            }
        };
        if id != record.sample_id {
            rename(sample, &id);
        }
    }

    /// Returns the error if the dataset allows fewer invalid rows.
    fn too_many_invalid(&self, dataset: &DatasetSpec, rows: u64) -> Option<TooManyInvalid> {
        let allowed = (dataset.on_invalid == OnInvalid::Skip).then_some(dataset.max_invalid);
        // Numbers of rows stay far below 2^53.
        let is_exceeded = allowed.is_none_or(|allowed| self.invalid as f64 > allowed * rows as f64);
        (self.invalid > 0 && is_exceeded).then(|| TooManyInvalid {
            dataset_id: dataset.dataset_id.clone(),
            invalid: self.invalid,
            rows,
            allowed,
            first: self.first_invalid.clone(),
        })
    }
}

/// Gives a sample another id, also in the Sample that was sent.
fn rename(sample: &mut EndedSample, id: &str) {
    let EndedSample { record, scores } = sample;
    let SampleRecord { sample_id, sample, .. } = record;
    id.clone_into(sample_id);
    if !sample.is_null() {
        let mut value = std::mem::take(sample).into_value();
        value["id"] = id.into();
        *sample = value.into();
    }
    if let Some(scores) = scores {
        scores.sample_id = id.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::RecordedSample;
    use gage_figures::test_records;
    use serde_json::json;

    fn sample(index: u64, id: &str) -> EndedSample {
        let record = SampleRecord { sample_id: id.to_owned(), ..test_records::sample("t", index, 1.0, 2.0) };
        EndedSample { record, scores: None }
    }

    #[test]
    fn ids_are_numbered_by_row_as_in_an_undivided_run() {
        let mut totals = TaskTotals::new(2);
        let ids = ["a", "a", "b", "b", "a", "a", "a#2", "a#2", "a"];
        let mut samples: Vec<EndedSample> = (0..).zip(ids).map(|(index, id)| sample(index, id)).collect();
        samples.iter_mut().for_each(|sample| totals.add(sample));
        let found: Vec<&str> = samples.iter().map(|sample| sample.record.sample_id.as_str()).collect();
        assert_eq!(found, ["a", "a", "b", "b", "a#2", "a#2", "a#2#2", "a#2#2", "a#3"]);
        assert_eq!((totals.rows, totals.counts.total()), (5, 9));
    }

    #[test]
    fn renamed_sample_has_its_id_in_the_record_and_in_the_sample() {
        let mut ended = sample(3, "a");
        ended.record.sample = json!({"id": "a", "label": "1"}).into();
        rename(&mut ended, "a#2");
        assert_eq!(ended.record.sample_id, "a#2");
        assert_eq!(ended.record.sample, RecordedSample::from(json!({"id": "a#2", "label": "1"})));
    }
}

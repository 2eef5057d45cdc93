//! The state of a resumed run: what earlier processes recorded, and what is left of each row.

pub(crate) mod row_work;

use crate::limits::cancel_token::CancelToken;
use gage_core::{Outcome, batch_of, rows_of_batch};
use gage_data::{MissingField, Rows};
use gage_record::{AnswerReader, IndexedSample, JournalIndex, SampleRecord, Stage};
use row_work::{PreparedRow, ReadError, RowWork};
use std::collections::HashSet;
use std::sync::Arc;

/// Recorded progress of a task.
pub(crate) struct ResumeState {
    index: Arc<JournalIndex>,
    task_id: String,
    /// Samples that ended with one of these outcomes are retried.
    retried: Vec<Outcome>,
    /// The numbers of the batches that need no further work.
    complete: HashSet<u64>,
    /// True if that is every recorded batch, and no row was invalid.
    is_whole: bool,
    /// True if rows without an answer are left out. Otherwise, the model is asked.
    is_without_model: bool,
}

/// The rows of a task with nothing left to do.
pub(crate) struct FinishedRows {
    /// Number of rows of the task, including those of other shards.
    pub(crate) rows: u64,
    /// Number of rows that the dataset's filter excluded.
    pub(crate) filtered: u64,
    /// Fields that the filter uses but no row had.
    pub(crate) missing_fields: Vec<MissingField>,
}

/// Recorded progress of a batch.
#[derive(Default)]
struct BatchProgress {
    finished: u64,
    scored: u64,
    /// The distinct values of `scored_together` in the batch.
    scored_together: HashSet<u16>,
}

impl BatchProgress {
    fn add(&mut self, sample: IndexedSample, retried: &[Outcome]) {
        self.finished += u64::from(sample.is_finished() && !retried.contains(&sample.outcome));
        if sample.is_finished() && sample.is_answered() {
            self.scored += 1;
            self.scored_together.insert(sample.scored_together);
        }
    }

    /// Returns true if `rows` rows are finished and all scored rows were scored in one pass. If a process ended while
    /// it rescored the batch with answers that had been missing, the batch holds scores of both passes.
    fn is_complete(&self, rows: u64) -> bool {
        self.finished == rows
            && self.scored_together.iter().all(|together| u64::from(*together) == self.scored)
    }
}

impl ResumeState {
    /// `total` is the number of the task's rows, if known. Samples that ended with an outcome in `retried` do not count
    /// as finished.
    pub(crate) fn new(
        index: &Arc<JournalIndex>,
        task_id: &str,
        total: Option<u64>,
        retried: &[Outcome],
    ) -> ResumeState {
        let (mut complete, mut is_whole) = (HashSet::new(), true);
        let mut found = BatchProgress::default();
        let mut samples = index.samples(task_id).peekable();
        while let Some((row, sample)) = samples.next() {
            found.add(sample, retried);
            is_whole &= sample.outcome != Outcome::InvalidSample;
            let rows = rows_of_batch(row);
            if samples.peek().is_some_and(|(next, _)| rows.contains(next)) {
                continue;
            }
            let end = total.map_or(rows.end, |total| total.clamp(rows.start, rows.end));
            match found.is_complete(end - rows.start) {
                true => _ = complete.insert(batch_of(row)),
                false => is_whole = false,
            }
            found = BatchProgress::default();
        }
        ResumeState {
            index: Arc::clone(index),
            task_id: task_id.to_owned(),
            retried: retried.to_vec(),
            complete,
            is_whole,
            is_without_model: false,
        }
    }

    /// Leaves out the rows that the model would have to be asked about.
    pub(crate) fn without_model(self) -> ResumeState {
        ResumeState { is_without_model: true, ..self }
    }

    /// Returns the number of samples that are not redone, except perhaps for their scores.
    pub(crate) fn kept_samples(&self) -> u64 {
        let kept = self.index.samples(&self.task_id).filter(|(_, sample)| {
            is_kept(*sample) && (!self.is_retried(*sample) || needs_rescoring(*sample))
        });
        kept.count() as u64
    }

    /// Returns whether every recorded sample is finished and was valid, so that nothing may be left to do.
    pub(crate) fn may_be_finished(&self) -> bool {
        self.is_whole && !self.complete.is_empty()
    }

    /// Reads the rows of the task, each asked `repeat` times; a shard wants only some of these records. If nothing is left to
    /// do, returns what was read. Rows are compared by their digests and not prepared. A row with media has another digest, so
    /// it counts as unfinished.
    pub(crate) fn rows_if_finished(
        &self,
        mut rows: Rows,
        repeat: u64,
        is_wanted: &impl Fn(u64) -> bool,
        stop: &CancelToken,
    ) -> Option<FinishedRows> {
        let (mut count, mut given) = (0, 0);
        for row in rows.by_ref() {
            let row = row.ok()?;
            let digest = row.digest();
            let first = row.index.saturating_mul(repeat);
            let is_finished = |index: u64| {
                let recorded = self.index.get(&self.task_id, index);
                recorded.is_some_and(|recorded| recorded.is_of_row(&digest)) && self.is_complete(index)
            };
            let mut wanted = (first..first.saturating_add(repeat)).filter(|index| is_wanted(*index));
            let are_finished = wanted.try_fold(0, |count, index| is_finished(index).then_some(count + 1));
            if stop.is_cancelled() {
                return None;
            }
            count += are_finished?;
            given += 1;
        }
        let recorded = self.index.samples(&self.task_id).count() as u64;
        (count == recorded).then(|| FinishedRows {
            rows: given + rows.skipped(),
            filtered: rows.filtered(),
            missing_fields: rows.missing_fields(),
        })
    }

    /// Returns the remaining work, row by row.
    pub(crate) fn remaining(&self) -> RemainingWork<'_> {
        RemainingWork { resume: self, answers: self.index.answers() }
    }

    fn is_retried(&self, sample: IndexedSample) -> bool {
        self.retried.contains(&sample.outcome)
    }

    fn is_complete(&self, row: u64) -> bool {
        self.complete.contains(&batch_of(row))
    }
}

/// Returns true if the model need not be asked again.
fn is_kept(sample: IndexedSample) -> bool {
    sample.is_answered() || sample.is_finished()
}

/// Returns true if a failed sample only needs new scores: it was answered, but a scorer failed.
fn needs_rescoring(sample: IndexedSample) -> bool {
    sample.is_answered() && matches!(sample.outcome, Outcome::PluginError | Outcome::PluginTimeout)
}

/// Returns true if the model had answered, but a judge or the embedding model failed.
pub(crate) fn failed_after_inference(record: &SampleRecord) -> bool {
    let is_after_inference = |stage: Stage| matches!(stage, Stage::Embed | Stage::Judge);
    record.model_output.is_some()
        && record.error.as_ref().is_some_and(|error| is_after_inference(error.stage))
}

/// The remaining work of each row.
pub(crate) struct RemainingWork<'e> {
    resume: &'e ResumeState,
    answers: AnswerReader<'e>,
}

impl RemainingWork<'_> {
    /// Returns the error of a Sample that an earlier process could not ask, and that is not retried.
    pub(crate) fn invalid_message(&mut self, index: u64) -> Result<Option<String>, ReadError> {
        let ResumeState { index: journal, task_id, .. } = self.resume;
        let is_invalid = |recorded: &IndexedSample| {
            recorded.outcome == Outcome::InvalidSample
                && recorded.is_finished()
                && !recorded.is_answered()
                && !self.resume.is_retried(*recorded)
        };
        if journal.get(task_id, index).filter(is_invalid).is_none() {
            return Ok(None);
        }
        let record = self.answers.read_whole(task_id, index)?;
        Ok(Some(record.and_then(|record| record.error).map(|error| error.message).unwrap_or_default()))
    }

    /// Returns the remaining work of a row. `None` if the row is finished. An answer in an incomplete batch is scored
    /// with its neighbours, as in a run without an interruption.
    pub(crate) fn next_step(&mut self, row: PreparedRow) -> Result<Option<RowWork>, ReadError> {
        let ResumeState { index, task_id, is_without_model, .. } = self.resume;
        let to_ask =
            |row: PreparedRow| (!is_without_model || row.result.is_err()).then_some(RowWork::Row(row));
        let Some(recorded) = index.get(task_id, row.index) else { return Ok(to_ask(row)) };
        if !recorded.is_of_row(&row.row_digest) {
            return Err(ReadError::Changed { row: row.index });
        }
        if self.resume.is_complete(row.index) {
            return Ok(None);
        }
        let is_retried = self.resume.is_retried(recorded);
        if recorded.is_answered()
            && (!is_retried || needs_rescoring(recorded))
            && let Some(record) = self.answers.read(task_id, row.index)?
        {
            return Ok(Some(RowWork::Answered(Box::new(record))));
        }
        let is_unread = recorded.is_answered() && recorded.outcome == Outcome::JudgeUnparseable;
        if (recorded.awaits_judges() || is_unread)
            && let Some(record) = self.answers.read(task_id, row.index)?
        {
            let judge_output = record.judge_output.filter(|_| !is_unread);
            return Ok(Some(RowWork::AwaitingJudges(Box::new(SampleRecord { judge_output, ..record }))));
        }
        if !is_retried && recorded.is_finished() {
            return Ok(None);
        }
        // If a judge or the embedding model failed, only the steps after inference are repeated.
        let failed = self.answers.read_whole(task_id, row.index)?;
        Ok(match failed.filter(failed_after_inference) {
            Some(record) => {
                Some(RowWork::AwaitingJudges(Box::new(SampleRecord { judge_output: None, ..record })))
            }
            None => {
                let has_failed_before = recorded.outcome == Outcome::BackendError;
                to_ask(PreparedRow { has_failed_before, ..row })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::result::SampleResult;
    use gage_core::RecordedForm;
    use gage_data::{Rejection, RejectionStage};
    use gage_record::{
        AnswerEntry, JournalEntry, JournalWriter, Manifest, RunFolder, RunIdentity, SampleTiming, Scores,
        ScoresEntry,
    };
    use serde_json::Value;

    /// Creates a journal in which each row has an answer, and scores with this `scored_together`.
    fn journal(together: &[u32]) -> (tempfile::TempDir, Arc<JournalIndex>) {
        let root = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::create(root.path(), "run").expect("a run folder");
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).expect("written");
        let mut writer = JournalWriter::open(&folder).expect("opened").writer;
        for (index, together) in (0_u64..).zip(together) {
            let answer = JournalEntry::Answer(AnswerEntry {
                task_id: "t",
                index,
                sample_id: "s",
                row_digest: "00",
                outcome: Outcome::Scored,
                sample: RecordedForm((&Value::Null).into()),
                support_output: None,
                model_output: (&Value::Null).into(),
                judge_output: None,
                timing: SampleTiming::default(),
                awaits_scores: true,
                awaits_judges: false,
            });
            let scores = ScoresEntry {
                task_id: "t".into(),
                index,
                sample_id: "s".into(),
                row_digest: "00".into(),
                outcome: Outcome::Scored,
                scores: Scores { scored_together: *together, ..Scores::default() },
            };
            writer.append_batch([answer, JournalEntry::Scores(&scores)]).expect("written");
        }
        let index = Arc::new(JournalIndex::read(&folder).expect("read"));
        (root, index)
    }

    #[test]
    fn a_batch_is_complete_when_its_rows_were_scored_in_one_go() {
        for (together, is_complete) in [
            (vec![3, 3, 3], true),
            // The last row had been missing, and its process ended before all rows had their new scores.
            (vec![3, 2, 3], false),
            (vec![2, 2, 2], false),
        ] {
            let (_root, index) = journal(&together);
            let earlier = ResumeState::new(&index, "t", Some(3), &[]);
            assert_eq!(earlier.is_complete(0), is_complete, "{together:?}");
        }
    }

    /// The journal entry of a sample.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum RecordedEntry {
        Nothing,
        AwaitingJudges,
        Answered,
        Scored(Outcome),
        FinishedWithoutScores(Outcome),
    }

    fn journal_of(samples: &[RecordedEntry]) -> (tempfile::TempDir, Arc<JournalIndex>) {
        let root = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::create(root.path(), "run").expect("a run folder");
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).expect("written");
        let mut writer = JournalWriter::open(&folder).expect("opened").writer;
        for (index, recorded) in (0_u64..).zip(samples) {
            let result = SampleResult { row_digest: "00".to_owned(), ..SampleResult::for_test(index) };
            let answer = || JournalEntry::Answer(result.entry("t"));
            let written = match *recorded {
                RecordedEntry::Nothing => continue,
                RecordedEntry::AwaitingJudges => writer.append_batch([JournalEntry::Answer(AnswerEntry {
                    awaits_judges: true,
                    ..result.entry("t")
                })]),
                RecordedEntry::Answered => writer.append_batch([answer()]),
                RecordedEntry::Scored(outcome) => {
                    let scores = ScoresEntry {
                        task_id: "t".into(),
                        index,
                        sample_id: "s".into(),
                        row_digest: "00".into(),
                        outcome,
                        scores: Scores { scored_together: 1, ..Scores::default() },
                    };
                    writer.append_batch([answer(), JournalEntry::Scores(&scores)])
                }
                RecordedEntry::FinishedWithoutScores(outcome) => {
                    let record = SampleResult { outcome, ..result.clone() }.into_record("t");
                    writer.append_batch([JournalEntry::FinishedWithoutScores(&record)])
                }
            };
            written.expect("written");
        }
        let index = Arc::new(JournalIndex::read(&folder).expect("read"));
        (root, index)
    }

    fn row(index: u64, row_digest: &str) -> PreparedRow {
        let rejection = Rejection {
            id: "row".to_owned(),
            outcome: Outcome::InvalidSample,
            stage: RejectionStage::Load,
            kind: "test".to_owned(),
            message: String::new(),
            pointer: None,
            row: "".into(),
        };
        PreparedRow {
            index,
            row_digest: row_digest.to_owned(),
            preprocess_ms: 0.0,
            has_failed_before: false,
            result: Err(Box::new(rejection)),
        }
    }

    #[test]
    fn a_partial_batch_is_resumed_where_each_sample_was_left() {
        use Outcome::{BackendError, EmptyOutput, PluginError, Scored};
        // The first sample is missing, so no batch is complete.
        for (recorded, retried, expected, kept) in [
            (RecordedEntry::Nothing, None, "row", 0),
            (RecordedEntry::AwaitingJudges, None, "judges", 0),
            (RecordedEntry::Answered, None, "answered", 1),
            // Rescored together with its neighbours.
            (RecordedEntry::Scored(Scored), None, "answered", 1),
            (RecordedEntry::Scored(PluginError), Some(PluginError), "answered", 1),
            (RecordedEntry::FinishedWithoutScores(EmptyOutput), None, "done", 1),
            (RecordedEntry::FinishedWithoutScores(EmptyOutput), Some(EmptyOutput), "row", 0),
            (RecordedEntry::FinishedWithoutScores(BackendError), None, "row", 0),
        ] {
            let (_root, index) = journal_of(&[RecordedEntry::Nothing, recorded]);
            let retried: Vec<Outcome> = retried.into_iter().collect();
            let resume = ResumeState::new(&index, "t", Some(2), &retried);
            let work = resume.remaining().next_step(row(1, "00")).expect("the row is the same");
            let found = match work {
                None => "done",
                Some(RowWork::Row(_)) => "row",
                Some(RowWork::Answered(_)) => "answered",
                Some(RowWork::AwaitingJudges(_)) => "judges",
            };
            assert_eq!((found, resume.kept_samples()), (expected, kept), "{recorded:?} {retried:?}");
        }
    }

    #[test]
    fn a_row_that_changed_ends_the_resumed_run() {
        let (_root, index) = journal_of(&[RecordedEntry::Answered]);
        let resume = ResumeState::new(&index, "t", Some(2), &[]);
        let changed = resume.remaining().next_step(row(0, "01"));
        assert!(matches!(changed, Err(ReadError::Changed { row: 0 })));
    }
}

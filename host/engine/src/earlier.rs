//! What earlier processes of a run have done, and what is left of a row.

use crate::batches::{BATCH, Batches};
use crate::reader::{Next, ReadError};
use gage_core::Outcome;
use gage_data::Prepared;
use gage_record::{Answers, IndexedSample, JournalIndex, Stage};
use std::collections::HashSet;
use std::sync::Arc;

/// What is recorded of a task.
pub(crate) struct Earlier {
    index: Arc<JournalIndex>,
    task_id: String,
    /// Samples that ended in one of these ways are tried again.
    retried: Vec<Outcome>,
    /// The numbers of the batches of which every row is finished.
    complete: HashSet<u64>,
}

impl Earlier {
    /// `total` is the number of the task's rows, where it is known; samples that ended in one of the ways of
    /// `retried` are not taken for finished.
    pub(crate) fn new(
        index: &Arc<JournalIndex>,
        task_id: &str,
        total: Option<u64>,
        retried: &[Outcome],
    ) -> Earlier {
        let mut complete = HashSet::new();
        let mut finished = 0;
        let mut samples = index.samples(task_id).peekable();
        while let Some((row, sample)) = samples.next() {
            finished += u64::from(sample.is_finished() && !retried.contains(&sample.outcome));
            let rows = Batches::around(row);
            if samples.peek().is_some_and(|(next, _)| rows.contains(next)) {
                continue;
            }
            let end = total.map_or(rows.end, |total| total.clamp(rows.start, rows.end));
            if finished == end - rows.start {
                complete.insert(row / BATCH);
            }
            finished = 0;
        }
        Earlier { index: Arc::clone(index), task_id: task_id.to_owned(), retried: retried.to_vec(), complete }
    }

    /// How many samples are not done again, but for their scores.
    pub(crate) fn kept(&self) -> u64 {
        let kept = self.index.samples(&self.task_id).filter(|(_, sample)| {
            is_kept(*sample) && (!self.is_retried(*sample) || is_scored_again(*sample))
        });
        kept.count() as u64
    }

    /// What is left, row by row.
    pub(crate) fn left(&self) -> Left<'_> {
        Left { earlier: self, answers: self.index.answers() }
    }

    fn is_retried(&self, sample: IndexedSample) -> bool {
        self.retried.contains(&sample.outcome)
    }

    fn is_complete(&self, row: u64) -> bool {
        self.complete.contains(&(row / BATCH))
    }
}

/// Whether the model need not be asked again.
fn is_kept(sample: IndexedSample) -> bool {
    sample.is_answered() || sample.is_finished()
}

/// Whether a sample that failed needs only its scores anew: it was answered, and a scorer failed.
fn is_scored_again(sample: IndexedSample) -> bool {
    sample.is_answered() && matches!(sample.outcome, Outcome::PluginError | Outcome::PluginTimeout)
}

/// Says of each row what is left to be done.
pub(crate) struct Left<'e> {
    earlier: &'e Earlier,
    answers: Answers<'e>,
}

impl Left<'_> {
    /// What is left of a row; nothing where it is finished. An answer in a batch that is not complete is
    /// scored with its neighbours, as it would have been without a pause.
    pub(crate) fn of(&mut self, prepared: Prepared) -> Result<Option<Next>, ReadError> {
        let Earlier { index, task_id, .. } = self.earlier;
        let row = prepared.index;
        let Some(recorded) = index.get(task_id, row) else { return Ok(Some(Next::Row(prepared))) };
        if !recorded.is_of_row(&prepared.row_digest) {
            return Err(ReadError::Changed { row });
        }
        if self.earlier.is_complete(row) {
            return Ok(None);
        }
        let is_retried = self.earlier.is_retried(recorded);
        if recorded.is_answered()
            && (!is_retried || is_scored_again(recorded))
            && let Some(record) = self.answers.read(task_id, row)?
        {
            // A judge that failed is asked again, and with it the model.
            let is_judged_again =
                is_retried && record.error.as_ref().is_some_and(|error| error.stage == Stage::Judge);
            if !is_judged_again {
                return Ok(Some(Next::Answered(Box::new(record))));
            }
        }
        Ok((is_retried || !recorded.is_finished()).then_some(Next::Row(prepared)))
    }
}

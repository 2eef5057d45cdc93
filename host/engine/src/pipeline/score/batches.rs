//! Batches of answers that are scored together. A batch holds neighbouring rows, regardless of the order of their answers.
//! So the batches of a run, and their scores, do not depend on the number of requests, threads or interruptions.

use crate::sample::result::SampleResult;
use gage_core::{ROWS_PER_BATCH, batch_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Maximum number of answers in a preview.
const MAX_PREVIEW_ANSWERS: usize = ROWS_PER_BATCH as usize;

/// An answer that waits for its neighbours, with the permit that bounds their number.
pub(crate) struct PendingAnswer {
    pub(crate) answer: Arc<SampleResult>,
    /// Released when the scores are in the journal.
    pub(crate) unscored: OwnedSemaphorePermit,
}

/// The incomplete batches. Rows start in order and end in any order.
#[derive(Default)]
pub(crate) struct Batches {
    open: BTreeMap<u64, OpenBatch>,
    /// The batch of the most recently started row. More of its rows may follow.
    current: Option<u64>,
}

#[derive(Default)]
struct OpenBatch {
    begun: usize,
    ended: usize,
    answers: Vec<PendingAnswer>,
}

impl Batches {
    /// Marks a row as started. Returns the previous batch, if this completes it.
    pub(crate) fn begin(&mut self, index: u64) -> Option<Vec<PendingAnswer>> {
        let batch = batch_of(index);
        self.open.entry(batch).or_default().begun += 1;
        match self.current.replace(batch) {
            Some(before) if before != batch => self.remove_complete(before),
            _ => None,
        }
    }

    /// Marks a row as ended, with or without an answer to score. Returns its batch, if this completes it.
    pub(crate) fn end(&mut self, index: u64, answer: Option<PendingAnswer>) -> Option<Vec<PendingAnswer>> {
        let batch = batch_of(index);
        if let Some(open) = self.open.get_mut(&batch) {
            open.ended += 1;
            open.answers.extend(answer);
        }
        if self.current == Some(batch) { None } else { self.remove_complete(batch) }
    }

    /// Returns the remaining batches as they are, because no more rows follow.
    pub(crate) fn finish(&mut self) -> Vec<Vec<PendingAnswer>> {
        let batches = std::mem::take(&mut self.open);
        batches.into_values().map(OpenBatch::sorted).filter(|batch| !batch.is_empty()).collect()
    }

    /// Returns answers that wait for their neighbours, of as many rows as a batch has, the earliest first.
    pub(crate) fn answers_so_far(&self) -> Vec<Arc<SampleResult>> {
        let waiting = self.open.values().flat_map(|open| &open.answers);
        waiting.take(MAX_PREVIEW_ANSWERS).map(|pending| Arc::clone(&pending.answer)).collect()
    }

    fn remove_complete(&mut self, batch: u64) -> Option<Vec<PendingAnswer>> {
        if self.open.get(&batch)?.ended < self.open.get(&batch)?.begun {
            return None;
        }
        let complete = self.open.remove(&batch)?.sorted();
        (!complete.is_empty()).then_some(complete)
    }
}

impl OpenBatch {
    /// Returns the answers in row order.
    fn sorted(mut self) -> Vec<PendingAnswer> {
        self.answers.sort_by_key(|pending| pending.answer.index);
        self.answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::sync::Semaphore;

    fn pending_answer(index: u64, held: &Arc<Semaphore>) -> PendingAnswer {
        let permit = Arc::clone(held).try_acquire_owned().expect("there is room");
        PendingAnswer { answer: Arc::new(SampleResult::for_test(index)), unscored: permit }
    }

    fn indices(batch: &[PendingAnswer]) -> Vec<u64> {
        batch.iter().map(|pending| pending.answer.index).collect()
    }

    proptest! {
        /// Rows start in order and end in any order, some without an answer. All answers come out in the same batches,
        /// whatever the order.
        #[test]
        fn batches_do_not_depend_on_when_answers_come(
            rows in proptest::collection::vec((0_u64..3, any::<bool>(), any::<u32>()), 0..200),
        ) {
            let held = Arc::new(Semaphore::new(rows.len()));
            let mut index = 0;
            let mut begun: Vec<(u64, bool, u32)> = Vec::new();
            for (gap, answers, order) in &rows {
                index += gap * 7 + 1;
                begun.push((index, *answers, *order));
            }
            let mut batches = Batches::default();
            let mut found = Vec::new();
            // Each row ends after a number of further rows, given by its third field.
            let mut running: Vec<(u64, bool, u32)> = Vec::new();
            for row in &begun {
                found.extend(batches.begin(row.0));
                running.push(*row);
                running.sort_by_key(|(_, _, order)| *order);
                if row.2 % 3 > 0 {
                    let (index, answers, _) = running.remove(0);
                    found.extend(batches.end(index, answers.then(|| pending_answer(index, &held))));
                }
            }
            for (index, answers, _) in running {
                found.extend(batches.end(index, answers.then(|| pending_answer(index, &held))));
            }
            found.extend(batches.finish());
            let mut found: Vec<Vec<u64>> = found.iter().map(|batch| indices(batch)).collect();
            found.sort();
            let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for (index, answers, _) in begun {
                if answers {
                    expected.entry(batch_of(index)).or_default().push(index);
                }
            }
            prop_assert_eq!(found, expected.into_values().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_batch_does_not_wait_for_rows_of_the_next() {
        let held = Arc::new(Semaphore::new(10));
        let mut batches = Batches::default();
        assert!(batches.begin(ROWS_PER_BATCH - 1).is_none());
        assert!(batches.answers_so_far().is_empty());
        assert!(batches.end(ROWS_PER_BATCH - 1, Some(pending_answer(ROWS_PER_BATCH - 1, &held))).is_none());
        assert_eq!(batches.answers_so_far().len(), 1);
        let complete = batches.begin(ROWS_PER_BATCH).expect("the first batch is complete");
        assert_eq!(indices(&complete), [ROWS_PER_BATCH - 1]);
        assert!(batches.end(ROWS_PER_BATCH, None).is_none() && batches.finish().is_empty());
    }
}

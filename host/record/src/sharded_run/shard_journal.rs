//! The samples in the journal of a shard, as far as it was read.

use crate::{JournalId, JournalTail, RecordError, TailEntry, TailRead};
use gage_core::Outcome;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Number of seconds that a rate is averaged over. Answers of slow models are far apart.
const WINDOW_SECONDS: u64 = 60;

/// Counts the samples in the journal of a shard. Reads only what is new.
#[derive(Debug)]
pub(super) struct ShardJournal {
    tail: JournalTail,
    counts: SampleCounts,
}

/// Number of samples in a journal, and the times of their answers.
#[derive(Debug, Default)]
struct SampleCounts {
    /// The samples of each task, by index.
    tasks: HashMap<String, HashMap<u64, SampleState>>,
    ended: u64,
    failed: u64,
    /// Number of samples that were answered in each second since 1970.
    answered: BTreeMap<u64, u64>,
    /// Time of the last record, in milliseconds since 1970.
    last_unix_ms: u64,
}

/// State of a sample: a byte, because there is one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SampleState {
    AwaitsScores,
    Ended,
    Failed,
}

impl ShardJournal {
    pub(super) fn new(folder: &Path, journal_id: JournalId) -> ShardJournal {
        ShardJournal { tail: JournalTail::new(folder, journal_id), counts: SampleCounts::default() }
    }

    /// Returns the id of the journal.
    pub(super) fn journal_id(&self) -> JournalId {
        self.tail.journal_id()
    }

    /// Reads the new lines. `now` is in seconds since 1970.
    pub(super) fn read_new(&mut self, now: u64) -> Result<(), RecordError> {
        // Read twice if the journal became shorter.
        for _ in 0..2 {
            let counts = &mut self.counts;
            match self.tail.read_new(|entry| counts.add(entry))? {
                TailRead::Added(_) => break,
                TailRead::Restarted => self.counts = SampleCounts::default(),
            }
        }
        let recent = self.counts.answered.split_off(&now.saturating_sub(WINDOW_SECONDS));
        self.counts.answered = recent;
        Ok(())
    }

    /// Number of samples that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.counts.ended
    }

    /// Number of ended samples without a score.
    pub(super) fn failed(&self) -> u64 {
        self.counts.failed
    }

    /// Time of the last record, in milliseconds since 1970. `None` if no record has one.
    pub(super) fn last_unix_ms(&self) -> Option<u64> {
        Some(self.counts.last_unix_ms).filter(|last| *last > 0)
    }

    /// Returns the answers per second over the last whole seconds. `None` before the first of them is over. `began` is the start
    /// of the process; both times are in seconds since 1970.
    pub(super) fn rate(&self, began: u64, now: u64) -> Option<f64> {
        self.counts.rate(began, now)
    }
}

impl SampleCounts {
    /// Adds a line, which replaces an earlier one of the same sample.
    fn add(&mut self, entry: TailEntry) {
        let state = match entry.outcome {
            None => SampleState::AwaitsScores,
            Some(Outcome::Scored | Outcome::Skipped) => SampleState::Ended,
            Some(_) => SampleState::Failed,
        };
        let before = self.tasks.entry(entry.task_id).or_default().insert(entry.index, state);
        // The scores of an answer are no second answer.
        let is_answer = matches!(before, None | Some(SampleState::Failed));
        if is_answer && entry.finished_unix_ms > 0 {
            *self.answered.entry(entry.finished_unix_ms / 1_000).or_default() += 1;
        }
        self.last_unix_ms = self.last_unix_ms.max(entry.finished_unix_ms);
        let counted = |state: Option<SampleState>| match state {
            None | Some(SampleState::AwaitsScores) => (0, 0),
            Some(SampleState::Ended) => (1, 0),
            Some(SampleState::Failed) => (1, 1),
        };
        let ((ended, failed), (was_ended, was_failed)) = (counted(Some(state)), counted(before));
        self.ended = self.ended + ended - was_ended;
        self.failed = self.failed + failed - was_failed;
    }

    fn rate(&self, began: u64, now: u64) -> Option<f64> {
        let from = now.saturating_sub(WINDOW_SECONDS).max(began);
        let seconds = now.checked_sub(from).filter(|seconds| *seconds > 0)?;
        let count: u64 = self.answered.range(from..now).map(|(_, count)| count).sum();
        // Numbers of samples and seconds stay far below 2^53.
        Some(count as f64 / seconds as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, outcome: Option<Outcome>, second: u64) -> TailEntry {
        TailEntry {
            task_id: "t".to_owned(),
            index,
            outcome,
            timing: None,
            completion_tokens: None,
            metrics: Vec::new(),
            finished_unix_ms: second * 1_000,
        }
    }

    #[test]
    fn the_last_line_of_a_sample_counts() {
        let mut counts = SampleCounts::default();
        for (index, outcome, second, expected) in [
            (0, None, 100, (0, 0)),
            (0, Some(Outcome::Scored), 109, (1, 0)),
            (1, Some(Outcome::BackendError), 101, (2, 1)),
            (2, Some(Outcome::Skipped), 101, (3, 1)),
            // A resumed process asks again about the failure.
            (1, None, 110, (2, 0)),
            (1, Some(Outcome::Scored), 111, (3, 0)),
        ] {
            counts.add(entry(index, outcome, second));
            assert_eq!((counts.ended, counts.failed), expected, "sample {index}, second {second}");
        }
        assert_eq!(counts.answered, BTreeMap::from([(100, 1), (101, 2), (110, 1)]));
        assert_eq!(counts.last_unix_ms, 111_000);
    }

    #[test]
    fn a_rate_is_that_of_the_present_process() {
        let mut counts = SampleCounts::default();
        (0..120).for_each(|second| counts.add(entry(second, Some(Outcome::Scored), 1_000 + second)));
        for (began, now, expected) in [
            // One answer a second.
            (1_000, 1_120, Some(1.0)),
            (1_000, 1_010, Some(1.0)),
            // It began ten seconds ago, and has answered for the first five.
            (1_115, 1_125, Some(0.5)),
            (1_200, 1_210, Some(0.0)),
            // Nothing is known in the first second, or if the clocks of two machines differ.
            (1_120, 1_120, None),
            (1_130, 1_120, None),
        ] {
            assert_eq!(counts.rate(began, now), expected, "from {began} to {now}");
        }
    }
}

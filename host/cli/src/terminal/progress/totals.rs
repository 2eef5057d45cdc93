//! Totals of a run: its tokens, its cost and its last failure. The live view shows them below the tasks.

use super::tally::kind_of_failure;
use gage_core::Outcome;
use gage_engine::FinishedSample;
use gage_runner::RunUsage;
use gage_secrets::redact;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Maximum length of the message of a failure.
const MAX_MESSAGE_CHARS: usize = 300;

/// Totals of a run.
pub(super) struct RunTotals {
    /// The address of the viewer, or the command that starts it.
    view: String,
    began: Instant,
    counted: Mutex<RunCounts>,
}

#[derive(Default)]
struct RunCounts {
    usage: RunUsage,
    last_failure: Option<String>,
}

/// Totals at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TotalsSnapshot {
    pub(super) usage: RunUsage,
    /// The last failed sample, the kind of its failure, and the message.
    pub(super) last_failure: Option<String>,
    /// The address of the viewer, or the command that starts it.
    pub(super) view: String,
    /// Time since the run began.
    pub(super) elapsed: Duration,
}

impl RunTotals {
    pub(super) fn new(view: String) -> RunTotals {
        RunTotals { view, began: Instant::now(), counted: Mutex::default() }
    }

    /// Sets the usage of the run, unless another thread has counted more in the meantime.
    pub(super) fn count_usage(&self, usage: &RunUsage) {
        let tokens = |usage: &RunUsage| usage.prompt_tokens.saturating_add(usage.completion_tokens);
        let mut counted = self.counted.lock();
        if tokens(usage) >= tokens(&counted.usage) {
            counted.usage = usage.clone();
        }
    }

    /// Keeps a failed sample as the last one.
    pub(super) fn finished(&self, finished: &FinishedSample<'_>) {
        if matches!(finished.outcome, Outcome::Scored | Outcome::Skipped) {
            return;
        }
        let mut text = format!("{} {}: {}", finished.task_id, finished.sample_id, kind_of_failure(finished));
        if let Some(error) = finished.error.filter(|error| !error.message.is_empty()) {
            text.push_str(": ");
            text.extend(redact(&error.message).chars().take(MAX_MESSAGE_CHARS));
        }
        self.counted.lock().last_failure = Some(text);
    }

    pub(super) fn snapshot(&self) -> TotalsSnapshot {
        let counted = self.counted.lock();
        TotalsSnapshot {
            usage: counted.usage.clone(),
            last_failure: counted.last_failure.clone(),
            view: self.view.clone(),
            elapsed: self.began.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_record::{ErrorNote, Stage};

    #[test]
    fn the_last_failure_is_kept_with_its_kind_and_message() {
        let totals = RunTotals::new(String::new());
        let error = ErrorNote {
            stage: Stage::Inference,
            kind: "timeout".to_owned(),
            message: "no answer".to_owned(),
            pointer: None,
        };
        let mut shown = Vec::new();
        for (sample_id, outcome, error) in [
            ("a", Outcome::Truncated, None),
            ("b", Outcome::Skipped, None),
            ("c", Outcome::BackendError, Some(&error)),
        ] {
            totals.finished(&FinishedSample {
                task_id: "t",
                index: 0,
                sample_id,
                outcome,
                error,
                metrics: &[],
                timing_metrics: &[],
                was_answered: false,
            });
            shown.push(totals.snapshot().last_failure.unwrap_or_default());
        }
        assert_eq!(shown, ["t a: truncated", "t a: truncated", "t c: timeout: no answer"]);
    }
}

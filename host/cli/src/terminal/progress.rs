//! The progress of a run: a bar with throughput, the time that is left and the running score.

use gage_core::{MetricResult, Outcome};
use gage_engine::{Finished, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::sync::{Mutex, PoisonError};

const WITH_TOTAL: &str = "{prefix:.bold} {bar:24.green/dim} {pos}/{len} {rate:.dim} {eta:.dim} {msg}";
const WITHOUT_TOTAL: &str = "{prefix:.bold} {spinner:.green} {pos} {rate:.dim} {elapsed:.dim} {msg}";

/// Draws on the standard error stream; nothing where that is no terminal or the user wants
/// quiet.
pub(crate) struct TerminalProgress {
    bar: ProgressBar,
    quiet: bool,
    score: Mutex<RunningScore>,
}

#[derive(Default)]
struct RunningScore {
    sum: f64,
    scored: u64,
    failed: u64,
}

impl TerminalProgress {
    pub(crate) fn new(quiet: bool) -> TerminalProgress {
        // Nothing is drawn before the first task begins.
        TerminalProgress { bar: ProgressBar::hidden(), quiet, score: Mutex::default() }
    }
}

impl Progress for TerminalProgress {
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64) {
        *self.score.lock().unwrap_or_else(PoisonError::into_inner) = RunningScore::default();
        self.bar.reset();
        let template = if total.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                // Nothing is lost where a bar cannot be drawn.
                let _ = write!(text, "{:.1}/s", state.per_sec());
            };
            self.bar.set_style(style.progress_chars("━━╌").with_key("rate", rate));
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.set_prefix(task_id.to_owned());
        self.bar.set_message("");
        self.bar.set_position(done);
        self.bar.reset_eta();
        if !self.quiet {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn request_began(&self, _task_id: &str) {}

    fn request_ended(&self, _task_id: &str) {}

    fn sample_answered(&self, _task_id: &str) {
        self.bar.inc(1);
    }

    fn sample_finished(&self, finished: &Finished<'_>) {
        let mut score = self.score.lock().unwrap_or_else(PoisonError::into_inner);
        let first = finished.metrics.first().or_else(|| finished.timing_metrics.first());
        if let Some(value) = first.and_then(MetricResult::score) {
            score.sum += value;
            score.scored += 1;
        }
        if finished.outcome != Outcome::Scored {
            score.failed += 1;
        }
        let mut message = String::new();
        if let Some(first) = first.filter(|_| score.scored > 0) {
            // Counts of samples stay far below 2^53.
            message = format!("{} {:.4}", first.metric_id, score.sum / score.scored as f64);
        }
        if score.failed > 0 {
            message = format!("{message} · {} not scored", score.failed);
        }
        if !message.is_empty() {
            self.bar.set_message(message);
        }
        if !finished.was_answered {
            self.bar.inc(1);
        }
    }

    fn task_finished(&self, _task_id: &str) {
        self.bar.finish_and_clear();
    }
}

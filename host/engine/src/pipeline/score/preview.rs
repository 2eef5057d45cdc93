//! Previews: scores of answers whose batch is not complete, so that figures appear with the first answers of a slow model.
//!
//! They are only displayed. The record, its batches, their fuel and the costs of plugins are the same without them. No
//! preview asks a model: the answers have been judged before.

use super::score;
use crate::pipeline::record::events::Events;
use crate::pipeline::task_state::TaskState;
use crate::progress::{FigureSoFar, Progress};
use crate::sample::result::SampleResult;
use gage_core::Outcome;
use gage_plugin::without_counting;
use gage_record::ScoresEntry;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Time without a scored batch after which there is a preview.
const PREVIEW_DELAY: Duration = Duration::from_secs(2);
/// Pause before the answers are looked at again, if there are none.
const ANSWER_PAUSE: Duration = Duration::from_secs(1);
/// Minimum pause between two previews of a task.
const MIN_PREVIEW_PAUSE: Duration = Duration::from_secs(10);
/// Minimum ratio of the pause to the time that a preview took, so that previews take a few percent of a thread's time.
const MIN_PAUSE_RATIO: u32 = 50;

/// Receivers of the figures of previews.
#[derive(Clone, Copy)]
pub(crate) struct PreviewObservers<'o> {
    pub(crate) events: &'o Events,
    pub(crate) progress: &'o dyn Progress,
}

/// Answers to be scored for display.
pub(crate) struct PreviewRequest {
    pub(crate) task: Arc<TaskState>,
    pub(crate) answers: Vec<Arc<SampleResult>>,
    /// Receives the time that it took.
    pub(crate) done: oneshot::Sender<Duration>,
}

impl PreviewRequest {
    /// Scores the answers, and reports their figures unless a batch was scored in the meantime. `run` is the run folder.
    pub(super) fn run(self, run: &Path, observers: PreviewObservers<'_>) {
        let PreviewRequest { task, answers, done } = self;
        if task.aborts_on_shortage() {
            return;
        }
        let began = Instant::now();
        let scoring = &task.planned.scoring;
        let answers: Vec<&SampleResult> = answers.iter().map(AsRef::as_ref).collect();
        let entries = without_counting(|| score(scoring, &answers, run));
        let figures = figures_of(&scoring.means(), &entries);
        if !figures.is_empty() && !task.has_scored_batch() {
            let described: Vec<Value> = figures
                .iter()
                .map(|figure| json!({"metric_id": figure.metric_id, "mean": figure.mean, "n": figure.n}))
                .collect();
            observers.events.emit_task("figures_so_far", task.id(), json!({"figures": described}));
            observers.progress.figures_so_far(task.id(), &figures);
        }
        // The task may have ended.
        let _ = done.send(began.elapsed());
    }
}

/// Returns the means of metrics over some samples, as far as they were scored.
fn figures_of(metric_ids: &[&str], entries: &[ScoresEntry]) -> Vec<FigureSoFar> {
    let figure = |metric_id: &&str| {
        let results = entries.iter().flat_map(|entry| &entry.scores.metrics);
        let own =
            results.filter(|result| result.metric_id == **metric_id && result.outcome == Outcome::Scored);
        let scores: Vec<f64> = own.filter_map(|result| result.card.as_ref()?.primary_score).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let n = scores.len() as u64;
        mean.is_finite().then(|| FigureSoFar { metric_id: (*metric_id).to_owned(), mean, n })
    };
    metric_ids.iter().filter_map(figure).collect()
}

/// Calls `preview` with the answers so far, from time to time, until `answers` returns `None`. `preview` returns the time that
/// scoring took, or `None` if it was not possible.
pub(crate) async fn run_previews<T, F: Future<Output = Option<Duration>>>(
    mut answers: impl FnMut() -> Option<Vec<T>>,
    mut preview: impl FnMut(Vec<T>) -> F,
) {
    let mut pause = PREVIEW_DELAY;
    loop {
        tokio::time::sleep(pause).await;
        let Some(answers) = answers() else { return };
        let spent = if answers.is_empty() { None } else { preview(answers).await };
        pause = spent.map_or(ANSWER_PAUSE, |spent| MIN_PREVIEW_PAUSE.max(spent * MIN_PAUSE_RATIO));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::{MetricResult, ScoreCard};
    use gage_record::Scores;
    use tokio::time::Instant as TokioInstant;

    #[tokio::test(start_paused = true)]
    async fn previews_begin_with_an_answer_and_are_rare() {
        let began = TokioInstant::now();
        let second = || began.elapsed().as_secs();
        let mut previews = Vec::new();
        let answers = || match second() {
            0..3 => Some(Vec::new()),
            3..100 => Some(vec![second()]),
            _ => None,
        };
        let preview = |answers: Vec<u64>| {
            previews.extend(answers);
            // The second takes long.
            let spent = Duration::from_millis(if previews.len() == 2 { 1_000 } else { 10 });
            std::future::ready(Some(spent))
        };
        run_previews(answers, preview).await;
        assert_eq!(previews, [3, 13, 63, 73, 83, 93]);
    }

    #[test]
    fn figures_are_means_of_what_was_scored() {
        let result = |metric_id: &str, outcome, score| MetricResult {
            metric_id: metric_id.into(),
            schema_version: "".into(),
            scorer_version: "".into(),
            prompt_version: "".into(),
            outcome,
            card: Some(ScoreCard { primary_score: score, ..ScoreCard::default() }),
            error: None,
        };
        let entry = |metrics| ScoresEntry {
            task_id: "t".into(),
            index: 0,
            sample_id: "s".into(),
            row_digest: "".into(),
            outcome: Outcome::Scored,
            scores: Scores { metrics, ..Scores::default() },
        };
        let entries = [
            entry(vec![result("a", Outcome::Scored, Some(1.0)), result("b", Outcome::Skipped, None)]),
            entry(vec![result("a", Outcome::Scored, Some(0.0)), result("c", Outcome::Scored, Some(1.0))]),
            entry(vec![result("a", Outcome::PluginError, Some(7.0))]),
        ];
        let expected = [FigureSoFar { metric_id: "a".to_owned(), mean: 0.5, n: 2 }];
        assert_eq!(figures_of(&["a", "b"], &entries), expected);
    }
}

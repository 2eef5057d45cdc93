//! Counts the samples of a task. Each sample costs a few atomic additions, and a short lock shared only with the
//! drawing thread.

use gage_core::{MetricResult, Outcome};
use gage_engine::{FigureSoFar, FinishedSample};
use gage_figures::RunningMean;
use gage_runner::{ConcurrencyLimit, LimitedRequests, MeanMetric};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of distinct failure kinds, because components may define any number.
const MAX_KINDS: usize = 32;

/// Counts of a task.
pub(super) struct TaskTally {
    task_id: String,
    total: Option<u64>,
    began: Instant,
    done: AtomicU64,
    in_flight: AtomicI64,
    most_in_flight: AtomicI64,
    /// Number of answers that await their judges or their scores.
    awaiting: AtomicI64,
    most_awaiting: AtomicI64,
    /// The limits of the suite on its requests, below the concurrency of the run.
    limits: Vec<ConcurrencyLimit>,
    has_ended: AtomicBool,
    /// The metric whose mean is shown, and the bounds of its scores.
    mean: Option<(String, [f64; 2])>,
    ends: Mutex<OutcomeTally>,
}

/// Counts of samples by outcome.
#[derive(Default)]
struct OutcomeTally {
    score: RunningMean,
    /// The mean over the first answers, which is shown until a sample has a score.
    preview: Option<RunningScore>,
    failures: BTreeMap<String, u64>,
}

/// State of a task at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Snapshot {
    pub(super) task_id: String,
    /// Total number of samples, if known.
    pub(super) total: Option<u64>,
    /// Number of samples that were answered or failed.
    pub(super) done: u64,
    /// Number of samples whose request is in progress.
    pub(super) in_flight: u64,
    /// The limits of the suite that the requests have reached, in words.
    pub(super) held: Vec<String>,
    /// Time since the task began.
    pub(super) elapsed: Duration,
    /// The first metric whose figure is a mean, and its current value.
    pub(super) score: Option<(String, RunningScore)>,
    /// Number of unscored samples, by kind.
    pub(super) failures: Vec<(String, u64)>,
    pub(super) has_ended: bool,
}

/// Mean of scores, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunningScore {
    pub(super) mean: f64,
    pub(super) scored: u64,
    /// The 95 % interval: Wilson's if all scores are 0 or 1, otherwise Hall's.
    pub(super) interval: Option<(f64, f64)>,
}

impl RunningScore {
    /// Returns the mean, with its interval as far as the bounds of the scores allow.
    fn of(running: &RunningMean, bounds: [f64; 2]) -> Option<RunningScore> {
        let mean = running.mean()?;
        let interval = running.interval().map(|interval| interval.within(mean, bounds));
        let interval = interval.map(|interval| (interval.low, interval.high));
        Some(RunningScore { mean, scored: running.count(), interval })
    }
}

impl TaskTally {
    /// Creates the tally of a task with `done` samples already finished. `mean` is the metric whose mean is
    /// shown.
    pub(super) fn new(
        task_id: &str,
        total: Option<u64>,
        done: u64,
        mean: Option<MeanMetric<'_>>,
    ) -> TaskTally {
        TaskTally {
            task_id: task_id.to_owned(),
            total,
            began: Instant::now(),
            done: AtomicU64::new(done),
            in_flight: AtomicI64::new(0),
            most_in_flight: AtomicI64::new(0),
            awaiting: AtomicI64::new(0),
            most_awaiting: AtomicI64::new(0),
            limits: Vec::new(),
            has_ended: AtomicBool::new(false),
            mean: mean.map(|mean| (mean.metric_id.to_owned(), mean.bounds)),
            ends: Mutex::default(),
        }
    }

    /// Sets the limits of the suite on its requests.
    pub(super) fn with_limits(self, limits: Vec<ConcurrencyLimit>) -> TaskTally {
        TaskTally { limits, ..self }
    }

    pub(super) fn task_id(&self) -> &str {
        &self.task_id
    }

    pub(super) fn in_flight(&self, change: i64) {
        let now = self.in_flight.fetch_add(change, Ordering::Relaxed) + change;
        self.most_in_flight.fetch_max(now, Ordering::Relaxed);
    }

    /// Counts an answer that awaits its judges or its scores.
    pub(super) fn answered(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        let now = self.awaiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_awaiting.fetch_max(now, Ordering::Relaxed);
    }

    /// Keeps the mean of the shown metric over the first answers.
    pub(super) fn figures_so_far(&self, figures: &[FigureSoFar]) {
        let Some((metric_id, _)) = &self.mean else { return };
        let own = figures.iter().find(|figure| figure.metric_id == *metric_id);
        let preview = own.map(|figure| RunningScore { mean: figure.mean, scored: figure.n, interval: None });
        self.ends.lock().preview = preview;
    }

    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn finished(&self, finished: &FinishedSample<'_>) {
        if finished.was_answered {
            self.awaiting.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        let shown = self.mean.as_ref().and_then(|(metric_id, _)| {
            let mut all = finished.metrics.iter().chain(finished.timing_metrics);
            all.find(|metric| metric.metric_id == *metric_id)
        });
        let mut ends = self.ends.lock();
        if let Some(value) = shown.and_then(MetricResult::score) {
            ends.score.add(value);
        }
        if finished.outcome != Outcome::Scored {
            let kind = kind_of_failure(finished);
            let is_known = ends.failures.contains_key(kind) || ends.failures.len() < MAX_KINDS;
            let kind = if is_known { kind } else { "other" };
            match ends.failures.get_mut(kind) {
                Some(count) => *count += 1,
                None => drop(ends.failures.insert(kind.to_owned(), 1)),
            }
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let ends = self.ends.lock();
        let score = self.mean.as_ref().and_then(|(metric_id, bounds)| {
            let score = RunningScore::of(&ends.score, *bounds).or(ends.preview)?;
            Some((metric_id.clone(), score))
        });
        let mut failures: Vec<(String, u64)> =
            ends.failures.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
        drop(ends);
        failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let most_of = |limit: &ConcurrencyLimit| match limit.requests {
            LimitedRequests::Model => &self.most_in_flight,
            LimitedRequests::Judges => &self.most_awaiting,
        };
        let is_reached = |limit: &&ConcurrencyLimit| {
            let most = most_of(limit).load(Ordering::Relaxed);
            usize::try_from(most).is_ok_and(|most| most >= limit.size)
        };
        let held = self.limits.iter().filter(is_reached).map(ToString::to_string).collect();
        Snapshot {
            task_id: self.task_id.clone(),
            total: self.total,
            done: self.done.load(Ordering::Relaxed),
            in_flight: self.in_flight.load(Ordering::Relaxed).try_into().unwrap_or(0),
            held,
            elapsed: self.began.elapsed(),
            score,
            failures,
            has_ended: self.has_ended.load(Ordering::Relaxed),
        }
    }
}

/// Returns the kind of a failure. A backend failure has a more specific one than its outcome.
pub(super) fn kind_of_failure<'f>(finished: &FinishedSample<'f>) -> &'f str {
    match finished.error {
        Some(error) if finished.outcome == Outcome::BackendError => error.kind.as_str(),
        _ => finished.outcome.name(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use gage_core::ScoreCard;
    use gage_figures::{UNBOUNDED, wilson_interval};
    use gage_record::{ErrorNote, Stage};

    /// Returns a snapshot of a task in progress.
    pub(in super::super) fn snapshot(task_id: &str) -> Snapshot {
        let interval = Some((0.6896, 0.7744));
        Snapshot {
            task_id: task_id.to_owned(),
            total: Some(500),
            done: 120,
            in_flight: 16,
            held: Vec::new(),
            elapsed: Duration::from_secs(3),
            score: Some(("exact_match".to_owned(), RunningScore { mean: 0.7333, scored: 110, interval })),
            failures: vec![("timeout".to_owned(), 3), ("truncated".to_owned(), 1)],
            has_ended: false,
        }
    }

    fn mean(metric_id: &str, bounds: [f64; 2]) -> Option<MeanMetric<'_>> {
        Some(MeanMetric { metric_id, bounds })
    }

    fn metric(value: f64) -> MetricResult {
        MetricResult {
            metric_id: "m".into(),
            schema_version: "".into(),
            scorer_version: "".into(),
            prompt_version: "".into(),
            outcome: Outcome::Scored,
            card: Some(ScoreCard { primary_score: Some(value), ..ScoreCard::default() }),
            error: None,
        }
    }

    fn finish(task: &TaskTally, outcome: Outcome, error: Option<&ErrorNote>, metrics: &[MetricResult]) {
        task.finished(&FinishedSample {
            task_id: "t",
            index: 0,
            sample_id: "s",
            outcome,
            error,
            metrics,
            timing_metrics: &[],
            was_answered: false,
        });
    }

    #[test]
    fn scores_of_0_and_1_have_wilsons_interval_and_others_halls() {
        let task = TaskTally::new("t", Some(10), 2, mean("m", UNBOUNDED));
        for value in [1.0, 1.0, 0.0, 1.0] {
            finish(&task, Outcome::Scored, None, &[metric(value)]);
        }
        let wilson = wilson_interval(3, 4).map(|interval| (interval.low, interval.high));
        let now = task.snapshot();
        assert_eq!(
            now.score,
            Some(("m".to_owned(), RunningScore { mean: 0.75, scored: 4, interval: wilson }))
        );
        assert_eq!((now.done, now.total), (6, Some(10)));
        finish(&task, Outcome::Scored, None, &[metric(0.5)]);
        let (_, score) = task.snapshot().score.unwrap();
        assert!(score.interval != wilson && score.mean == 0.7, "{score:?}");
    }

    #[test]
    fn an_interval_stays_within_the_bounds_of_the_scores() {
        let task = TaskTally::new("t", Some(10), 0, mean("m", [0.0, 1.0]));
        for value in [0.9, 1.0, 0.2, 1.0] {
            finish(&task, Outcome::Scored, None, &[metric(value)]);
        }
        let (_, score) = task.snapshot().score.unwrap();
        assert!(score.interval.is_some_and(|(low, high)| low >= 0.0 && high <= 1.0), "{score:?}");
    }

    #[test]
    fn the_mean_of_the_first_answers_is_shown_until_a_score() {
        let task = TaskTally::new("t", Some(10), 0, mean("m", UNBOUNDED));
        let figure = |metric_id: &str, mean| FigureSoFar { metric_id: metric_id.to_owned(), mean, n: 4 };
        task.figures_so_far(&[figure("other", 0.9), figure("m", 0.25)]);
        let shown = task.snapshot().score.map(|(_, score)| score);
        assert_eq!(shown, Some(RunningScore { mean: 0.25, scored: 4, interval: None }));
        finish(&task, Outcome::Scored, None, &[metric(1.0)]);
        assert_eq!(task.snapshot().score.map(|(_, score)| score.mean), Some(1.0));
    }

    /// The mean perplexity of texts is not the perplexity of the corpus.
    #[test]
    fn a_metric_whose_figure_is_no_mean_is_not_shown() {
        for (mean, expected) in
            [(mean("m", UNBOUNDED), Some("m")), (mean("other", UNBOUNDED), None), (None, None)]
        {
            let task = TaskTally::new("t", Some(10), 0, mean);
            finish(&task, Outcome::Scored, None, &[metric(3.0)]);
            let shown = task.snapshot().score.map(|(metric_id, _)| metric_id);
            assert_eq!(shown.as_deref(), expected, "{mean:?}");
        }
    }

    #[test]
    fn a_limit_is_named_once_it_is_reached() {
        let limit = |requests, role: &str| ConcurrencyLimit {
            task_id: "t".to_owned(),
            requests,
            size: 2,
            key: "pool_size",
            owner: format!("the role `{role}`"),
            concurrency: 16,
        };
        let limits = vec![limit(LimitedRequests::Model, "dut"), limit(LimitedRequests::Judges, "judge")];
        let task = TaskTally::new("t", Some(10), 0, None).with_limits(limits);
        task.in_flight(1);
        task.answered();
        assert!(task.snapshot().held.is_empty());
        task.in_flight(1);
        task.in_flight(-1);
        assert_eq!(task.snapshot().held, ["held at 2 by `pool_size` of the role `dut`"]);
        task.answered();
        let held = task.snapshot().held;
        assert_eq!(held[1..], ["judging is held at 2 by `pool_size` of the role `judge`"]);
    }

    #[test]
    fn failures_are_counted_by_kind_and_kinds_are_bounded() {
        let task = TaskTally::new("t", None, 0, None);
        let error = |kind: &str| ErrorNote {
            stage: Stage::Inference,
            kind: kind.to_owned(),
            message: String::new(),
            pointer: None,
        };
        finish(&task, Outcome::Truncated, None, &[]);
        finish(&task, Outcome::BackendError, Some(&error("timeout")), &[]);
        finish(&task, Outcome::BackendError, Some(&error("timeout")), &[]);
        let counts = [("timeout".to_owned(), 2), ("truncated".to_owned(), 1)];
        assert_eq!(task.snapshot().failures, counts);
        for number in 0..100 {
            finish(&task, Outcome::BackendError, Some(&error(&format!("kind {number}"))), &[]);
        }
        let failures = task.snapshot().failures;
        assert_eq!(failures.len(), MAX_KINDS + 1);
        assert_eq!(failures.iter().map(|(_, count)| count).sum::<u64>(), 103);
    }
}

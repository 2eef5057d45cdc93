//! Tally of a run's journal, sample by sample.

use super::event_feed::{EventFeed, FigureSoFar};
use gage_core::Outcome;
use gage_figures::RunningMean;
use gage_record::TailEntry;
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Number of seconds that a rate is averaged over.
const WINDOW_SECONDS: u64 = 15;
/// Number of points in the chart of samples over time.
const BINS: u64 = 60;

/// One day, in tenths of a millisecond; longer calls count as that.
const MAX_LATENCY_TENTHS_MS: u64 = 24 * 3_600 * 10_000;

/// Progress of a run.
#[derive(Debug)]
pub(super) struct Tally {
    tasks: BTreeMap<String, TaskTally>,
    /// Samples answered in each second since 1970. Scores come in batches, which would cause jumps.
    answered: BTreeMap<u64, u64>,
    /// Durations of model calls, in tenths of a millisecond.
    latency: Option<Histogram<u64>>,
    completion_tokens: u64,
}

impl Default for Tally {
    fn default() -> Tally {
        // From a tenth of a millisecond to a day, with three digits.
        let latency = Histogram::new_with_bounds(1, MAX_LATENCY_TENTHS_MS, 3).ok();
        Tally { tasks: BTreeMap::new(), answered: BTreeMap::new(), latency, completion_tokens: 0 }
    }
}

#[derive(Debug, Default)]
struct TaskTally {
    metrics: Vec<String>,
    samples: BTreeMap<u64, SeenSample>,
}

/// State of a sample: a few bytes, since there is one for each.
#[derive(Debug, Default)]
struct SeenSample {
    /// `None` while it awaits its scores.
    outcome: Option<Outcome>,
    answered_second: u64,
    /// Index of each metric, and its score.
    scores: Box<[(u16, f64)]>,
}

impl Tally {
    /// Adds a line, replacing an earlier one of the same sample.
    pub(super) fn add(&mut self, entry: TailEntry) {
        if let (Some(timing), Some(latency)) =
            (entry.timing.filter(|timing| timing.attempts > 0), &mut self.latency)
        {
            // Cast: negative numbers and NaN become 0.
            latency.saturating_record((timing.latency_ms * 10.0) as u64);
        }
        self.completion_tokens = self.completion_tokens.saturating_add(entry.completion_tokens.unwrap_or(0));
        let task = self.tasks.entry(entry.task_id).or_default();
        let scores =
            entry.metrics.iter().filter(|metric| metric.outcome == Outcome::Scored).filter_map(|metric| {
                let score = metric.card.as_ref()?.primary_score?;
                Some((place(&mut task.metrics, &metric.metric_id)?, score))
            });
        let scores: Box<[(u16, f64)]> = scores.collect();
        let before = task.samples.get(&entry.index);
        // The scores of an answered sample come later.
        let answered_second = match before.filter(|before| before.outcome.is_none()) {
            Some(answer) => answer.answered_second,
            None => entry.finished_unix_ms / 1_000,
        };
        if let Some(count) = before.and_then(|before| self.answered.get_mut(&before.answered_second)) {
            *count = count.saturating_sub(1);
        }
        if answered_second > 0 {
            *self.answered.entry(answered_second).or_default() += 1;
        }
        task.samples.insert(entry.index, SeenSample { outcome: entry.outcome, answered_second, scores });
    }

    /// Writes the progress into a JSON object. `events` gives the number of samples of each task, the started tasks,
    /// the metrics that are means, and the start of the current process. `now` is in milliseconds since 1970.
    pub(super) fn describe(&self, order: &[&str], events: &EventFeed, now: u64, value: &mut Value) {
        let began = events.began;
        let others = self.tasks.keys().map(String::as_str).filter(|task| !order.contains(task));
        let names = order.iter().copied().chain(others);
        let nothing = TaskTally::default();
        let tasks: Vec<Value> =
            names.map(|name| self.tasks.get(name).unwrap_or(&nothing).describe(name, events)).collect();
        let sum = |key: &str| tasks.iter().map(|task| task[key].as_u64()).sum::<Option<u64>>();
        let (done, total) = (sum("done").unwrap_or(0), sum("total"));
        let rate = self.rate(began, now);
        let seconds_left = total.zip(rate.filter(|rate| *rate > 0.0));
        // The rate is that of answers: answered samples awaiting their scores need no more of that time.
        let answered = done + sum("awaiting").unwrap_or(0);
        value["eta_s"] =
            json!(seconds_left.map(|(total, rate)| total.saturating_sub(answered) as f64 / rate));
        value["samples_per_s"] = json!(rate);
        value["done"] = json!(done);
        value["total"] = json!(total);
        // A lower bound: some tasks may not have counted their samples yet.
        let known = tasks.iter().map(|task| task["total"].as_u64().or(task["done"].as_u64()).unwrap_or(0));
        value["least_total"] = json!(known.sum::<u64>());
        value["completion_tokens"] = json!(self.completion_tokens);
        value["tasks"] = Value::Array(tasks);
        value["pace"] = self.pace(began, now);
        let quantile = |share: f64| {
            let latency = self.latency.as_ref().filter(|latency| !latency.is_empty())?;
            Some(latency.value_at_quantile(share) as f64 / 10.0)
        };
        value["latency"] = json!({"p50_ms": quantile(0.5), "p95_ms": quantile(0.95)});
    }

    /// Returns the samples per second over the last whole seconds. `None` before the first of them is over.
    fn rate(&self, began: Option<u64>, now: u64) -> Option<f64> {
        let now = now / 1_000;
        let began = began.map(|began| began / 1_000).or_else(|| self.answered.keys().next().copied())?;
        let from = now.saturating_sub(WINDOW_SECONDS).max(began);
        let seconds = now.checked_sub(from).filter(|seconds| *seconds > 0)?;
        let count: u64 = self.answered.range(from..now).map(|(_, count)| count).sum();
        Some(count as f64 / seconds as f64)
    }

    /// Returns the samples per second since the process began.
    fn pace(&self, began: Option<u64>, now: u64) -> Value {
        let now = now / 1_000;
        let first = began.map(|began| began / 1_000).or_else(|| self.answered.keys().next().copied());
        let Some(first) = first.filter(|first| *first < now) else { return Value::Null };
        let width = (now - first).div_ceil(BINS).max(1);
        let mut bins = vec![0_u64; usize::try_from((now - first).div_ceil(width)).unwrap_or(0)];
        for (second, count) in self.answered.range(first..now) {
            let bin = usize::try_from((second - first) / width).unwrap_or(usize::MAX);
            if let Some(bin) = bins.get_mut(bin) {
                *bin += count;
            }
        }
        let per_second: Vec<f64> = bins.iter().map(|count| *count as f64 / width as f64).collect();
        json!({"span_ms": bins.len() as u64 * width * 1_000, "samples_per_s": per_second})
    }
}

impl TaskTally {
    fn describe(&self, name: &str, events: &EventFeed) -> Value {
        let (total, means) = (events.totals.get(name), events.means.get(name));
        // A task with samples has started, even without an event.
        let has_begun = events.begun.contains(name) || !self.samples.is_empty();
        // The result of a pooled metric, such as perplexity, is not the mean of its scores.
        let is_mean = |metric: &String| means.is_none_or(|means| means.contains(metric));
        let mut outcomes: Map<String, Value> = Map::new();
        let mut scores = vec![RunningMean::default(); self.metrics.len()];
        let mut done = 0_u64;
        for seen in self.samples.values() {
            let Some(outcome) = seen.outcome else { continue };
            done += 1;
            let count = outcomes.get(outcome.name()).and_then(Value::as_u64).unwrap_or(0);
            outcomes.insert(outcome.name().to_owned(), (count + 1).into());
            for (metric, score) in &seen.scores {
                if let Some(running) = scores.get_mut(usize::from(*metric)) {
                    running.add(*score);
                }
            }
        }
        let shown = self.metrics.iter().zip(&scores).filter(|(name, _)| is_mean(name));
        let mut metrics: Vec<Value> =
            shown.map(|(name, running)| describe_mean(running, name, done)).collect();
        if scores.iter().all(|running| running.count() == 0) {
            metrics.extend(events.figures_so_far.get(name).into_iter().flatten().map(describe_preview));
        }
        json!({
            "task_id": name,
            "total": total.map(|total| (*total).max(done)),
            "done": done,
            "awaiting": self.samples.len() as u64 - done,
            "has_begun": has_begun || total.is_some(),
            "outcomes": outcomes,
            "metrics": metrics,
        })
    }
}

/// Describes the mean of a metric so far. Repeats of a sample count as separate samples.
fn describe_mean(mean: &RunningMean, metric_id: &str, done: u64) -> Value {
    let interval = mean.interval();
    json!({
        "metric_id": metric_id,
        "value": mean.mean().unwrap_or_default(),
        "interval": interval.map(|interval| json!({"low": interval.low, "high": interval.high})),
        "n": mean.count(),
        "coverage": mean.count() as f64 / done.max(1) as f64,
    })
}

/// Describes the mean of a metric over answers that were scored for display. Nothing of them is recorded.
fn describe_preview(figure: &FigureSoFar) -> Value {
    let FigureSoFar { metric_id, mean, n } = figure;
    json!({"metric_id": metric_id, "value": mean, "interval": null, "n": n, "is_preview": true})
}

/// Returns the index of a metric. `None` beyond the maximum of a suite.
fn place(known: &mut Vec<String>, name: &str) -> Option<u16> {
    let place = known.iter().position(|other| other == name).unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    });
    u16::try_from(place).ok()
}

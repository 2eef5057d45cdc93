//! Counters and histograms of a run, for Prometheus and for the figures at its end.

use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Measurements of a model's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnswerMeasurements {
    /// Time the sample was ready before its turn, in milliseconds.
    pub queue_ms: f64,
    /// Duration of the model call, for its last attempt, in milliseconds.
    pub latency_ms: f64,
    /// Time from the start of the call to the first piece of the answer, in milliseconds.
    pub first_token_ms: Option<f64>,
    /// Number of model calls; 0 if there was none.
    pub attempts: u32,
    /// Number of these calls that repeated a failed one.
    pub retries: u32,
    /// Prompt tokens, if the backend counts them.
    pub prompt_tokens: u64,
    /// Answer tokens, if the backend counts them.
    pub completion_tokens: u64,
}

/// Totals of a process's model calls, across all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTotals {
    /// Calls, including retries.
    pub requests: u64,
    /// Retries after failed calls.
    pub retries: u64,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Answer tokens.
    pub completion_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaskLabels {
    task_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    task_id: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    task_id: String,
    stage: &'static str,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tokens {
    task_id: String,
    r#type: &'static str,
}

type Durations = Family<TaskLabels, Histogram, fn() -> Histogram>;

/// Counters of a run. Clones share the same counters. No method blocks.
#[derive(Clone)]
pub struct Meters(Arc<MeterState>);

struct MeterState {
    registry: Registry,
    tasks: RwLock<FxHashMap<String, TaskMeters>>,
    planned: Family<TaskLabels, Gauge>,
    ended: Family<OutcomeLabels, Counter>,
    failed: Family<FailureLabels, Counter>,
    requests: Family<TaskLabels, Counter>,
    retries: Family<TaskLabels, Counter>,
    in_flight: Family<TaskLabels, Gauge>,
    tokens: Family<Tokens, Counter>,
    durations: [Durations; 4],
}

/// Handles of a task, which are looked up once.
struct TaskMeters {
    requests: Counter,
    retries: Counter,
    in_flight: Gauge,
    tokens: [Counter; 2],
    request: Histogram,
    first_token: Histogram,
    queue: Histogram,
    scoring: Histogram,
}

const TOKEN_TYPES: [&str; 2] = ["prompt", "completion"];

const DURATIONS: [(&str, &str); 4] = [
    ("request_duration_seconds", "Duration of answered model calls"),
    ("time_to_first_token_seconds", "From the start of a model call to the first piece of its answer"),
    ("queue_duration_seconds", "From the moment that a sample was ready to its turn"),
    ("scoring_duration_seconds", "A sample's share of the time of its batch of scores"),
];

/// Creates a histogram with buckets from 100 µs to about 28 minutes, each twice the one before.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 24))
}

/// Registers a metric under a name, starting at zero.
fn metric<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl Meters {
    /// Creates counters at zero.
    pub fn new(version: &str) -> Meters {
        let mut registry = Registry::with_prefix("gage_host");
        let build = prometheus_client::metrics::info::Info::new(vec![("version", version.to_owned())]);
        registry.register("build", "The program", build);
        let of = &mut registry;
        let state = MeterState {
            planned: metric(of, "samples_planned", "Samples of a task, if known"),
            ended: metric(of, "samples", "Samples that are finished, by how they ended"),
            failed: metric(of, "failures", "Samples that were not scored, by stage and kind"),
            requests: metric(of, "requests", "Model calls, those that were made again counted too"),
            retries: metric(of, "retries", "Model calls that were made again for one that failed"),
            in_flight: metric(of, "requests_in_flight", "Samples whose model is being asked"),
            tokens: metric(of, "tokens", "Tokens, as far as the backend counts them"),
            durations: DURATIONS.map(|(name, help)| {
                let family = Family::new_with_constructor(durations as fn() -> Histogram);
                of.register(name, help, family.clone());
                family
            }),
            tasks: RwLock::default(),
            registry,
        };
        Meters(Arc::new(state))
    }

    /// Records the start of a task, with `total` samples if known.
    pub fn task_started(&self, task_id: &str, total: Option<u64>) {
        if let Some(total) = total.and_then(|total| i64::try_from(total).ok()) {
            self.0.planned.get_or_create_owned(&TaskLabels { task_id: task_id.to_owned() }).set(total);
        }
    }

    /// Records the start of a sample's model call.
    pub fn request_began(&self, task_id: &str) {
        self.with(task_id, |task| task.in_flight.inc());
    }

    /// Records the end of a sample's model call, successful or not.
    pub fn request_ended(&self, task_id: &str) {
        self.with(task_id, |task| task.in_flight.dec());
    }

    /// Records the final result of a sample's model calls.
    pub fn answered(&self, task_id: &str, answered: &AnswerMeasurements, has_failed: bool) {
        self.with(task_id, |task| {
            task.requests.inc_by(u64::from(answered.attempts));
            task.retries.inc_by(u64::from(answered.retries));
            // An answer from the cache made no request.
            if answered.attempts == 0 {
                return;
            }
            let [prompt_tokens, completion_tokens] = &task.tokens;
            prompt_tokens.inc_by(answered.prompt_tokens);
            completion_tokens.inc_by(answered.completion_tokens);
            task.queue.observe(answered.queue_ms / 1_000.0);
            if !has_failed {
                task.request.observe(answered.latency_ms / 1_000.0);
            }
            if let Some(first_token_ms) = answered.first_token_ms {
                task.first_token.observe(first_token_ms / 1_000.0);
            }
        });
    }

    /// Records a sample's share of the scoring time of its batch.
    pub fn scored(&self, task_id: &str, scoring_ms: f64) {
        self.with(task_id, |task| task.scoring.observe(scoring_ms / 1_000.0));
    }

    /// Records the end of a sample.
    pub fn finished(&self, task_id: &str, outcome: &'static str) {
        self.0.ended.get_or_create(&OutcomeLabels { task_id: task_id.to_owned(), outcome }).inc();
    }

    /// Records a sample that was not scored.
    pub fn failed(&self, task_id: &str, stage: &'static str, kind: &str) {
        let labels = FailureLabels { task_id: task_id.to_owned(), stage, kind: kind.to_owned() };
        self.0.failed.get_or_create(&labels).inc();
    }

    /// Returns the totals of the model calls so far.
    pub fn work(&self) -> RequestTotals {
        let tasks = self.0.tasks.read();
        let sum = |counter: fn(&TaskMeters) -> &Counter| tasks.values().map(|task| counter(task).get()).sum();
        RequestTotals {
            requests: sum(|task| &task.requests),
            retries: sum(|task| &task.retries),
            prompt_tokens: sum(|task| &task.tokens[0]),
            completion_tokens: sum(|task| &task.tokens[1]),
        }
    }

    /// Encodes all metrics in the OpenMetrics text format, which Prometheus reads.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.0.registry);
        text
    }

    fn with<T>(&self, task_id: &str, count: impl FnOnce(&TaskMeters) -> T) -> T {
        if let Some(task) = self.0.tasks.read().get(task_id) {
            return count(task);
        }
        let mut tasks = self.0.tasks.write();
        count(tasks.entry(task_id.to_owned()).or_insert_with(|| self.0.meters_of(task_id)))
    }
}

impl MeterState {
    fn meters_of(&self, task_id: &str) -> TaskMeters {
        let of_task = TaskLabels { task_id: task_id.to_owned() };
        let [request, first_token, queue, scoring] =
            [0, 1, 2, 3].map(|place: usize| self.durations[place].get_or_create_owned(&of_task));
        TaskMeters {
            requests: self.requests.get_or_create_owned(&of_task),
            retries: self.retries.get_or_create_owned(&of_task),
            in_flight: self.in_flight.get_or_create_owned(&of_task),
            tokens: TOKEN_TYPES.map(|name| {
                self.tokens.get_or_create_owned(&Tokens { task_id: task_id.to_owned(), r#type: name })
            }),
            request,
            first_token,
            queue,
            scoring,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_encoded_as_openmetrics() {
        let meters = Meters::new("1.2.3");
        meters.task_started("t", Some(3));
        meters.request_began("t");
        let answered = AnswerMeasurements {
            queue_ms: 1.0,
            latency_ms: 50.0,
            first_token_ms: Some(10.0),
            attempts: 3,
            retries: 2,
            prompt_tokens: 7,
            completion_tokens: 2,
        };
        meters.answered("t", &answered, false);
        meters.answered("u", &AnswerMeasurements { attempts: 1, ..AnswerMeasurements::default() }, true);
        meters.answered("u", &AnswerMeasurements::default(), true);
        meters.finished("t", "scored");
        meters.failed("a \"b\"\n", "load", "not_json");
        let text = meters.encode();
        for line in [
            "gage_host_build_info{version=\"1.2.3\"} 1",
            "gage_host_samples_planned{task_id=\"t\"} 3",
            "gage_host_requests_total{task_id=\"t\"} 3",
            "gage_host_retries_total{task_id=\"t\"} 2",
            "gage_host_requests_in_flight{task_id=\"t\"} 1",
            "gage_host_tokens_total{task_id=\"t\",type=\"prompt\"} 7",
            "gage_host_samples_total{task_id=\"t\",outcome=\"scored\"} 1",
            "gage_host_request_duration_seconds_count{task_id=\"t\"} 1",
            "gage_host_request_duration_seconds_count{task_id=\"u\"} 0",
            "gage_host_queue_duration_seconds_count{task_id=\"u\"} 1",
            "gage_host_failures_total{task_id=\"a \\\"b\\\"\\n\",stage=\"load\",kind=\"not_json\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        meters.request_ended("t");
        assert!(meters.encode().contains("gage_host_requests_in_flight{task_id=\"t\"} 0"));
        assert_eq!(
            meters.work(),
            RequestTotals { requests: 4, retries: 2, prompt_tokens: 7, completion_tokens: 2 }
        );
    }
}

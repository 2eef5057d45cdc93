//! `timings.json`: all data that varies from run to run.

use crate::figure::FigureSet;
use crate::latency::LatencyBuilder;
use crate::slicing::max_slices_of;
use crate::summary::{from_value, of_task, to_json};
use crate::{
    Completeness, CustomAggregators, FiguresError, LatencyFigures, MetricFigure, PluginCosts, TaskDescription,
};
use gage_core::Object;
use gage_record::RecordView;
use gage_record::format::TIMINGS_FILE;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of `timings.json`. 1: the first version.
pub const TIMINGS_VERSION: u32 = 1;

/// Durations and counts of the parts of a run, as measured by its caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// Loading and preparing the datasets.
    pub dataset_materialization: Duration,
    /// Inference: from the first request of a task to its last answer.
    pub inference: Duration,
    /// Scoring, summed over its threads. It overlaps inference; both count.
    pub evaluation: Duration,
    /// Wall time from the start of the program to the end of the run.
    pub wall: Duration,
    /// Samples finished in that time, except those whose model call was made by an earlier process of the run.
    pub samples: u64,
    /// Samples finished in that time, including those that were only scored because an earlier process had made their
    /// model call.
    pub finished: u64,
    /// Further parts, by name.
    pub stages: BTreeMap<String, Duration>,
    /// Model calls in that time, including retries.
    pub requests: u64,
    /// Retries of failed calls in that time.
    pub retries: u64,
    /// Tokens of the prompts in that time, as far as the backends count them.
    pub prompt_tokens: u64,
    /// Tokens of the answers in that time, as far as the backends count them.
    pub completion_tokens: u64,
    /// Counters of each backend in that time, by its id.
    pub backends: BTreeMap<String, Object>,
    /// Costs of the plugins in that time.
    pub plugins: Vec<PluginCosts>,
}

impl Phases {
    /// Adds the costs of plugins, unless they are known already.
    #[must_use]
    pub fn with_plugins(self, plugins: impl FnOnce() -> Vec<PluginCosts>) -> Phases {
        match self.plugins.is_empty() {
            true => Phases { plugins: plugins(), ..self },
            false => self,
        }
    }
}

/// The computer on which the run was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Cores that the process may use; 0 if unknown.
    pub cores: u64,
    /// The operating system: `linux`.
    pub os: String,
    /// The processor's architecture: `x86_64`.
    pub arch: String,
}

impl Machine {
    /// Returns the current computer.
    pub fn this() -> Machine {
        Machine {
            cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// The timings of a task, over all processes of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskTimings {
    /// The task.
    pub task_id: String,
    /// Samples that the model answered.
    pub model_calls: u64,
    /// Retries of failed calls.
    pub retries: u64,
    /// The work of the scoring plugins, in units of about one instruction. Unlike the rest, it is the same in every run
    /// with the same answers. Metrics that read a clock are excluded.
    pub scoring_fuel: u64,
    /// Latency of the answered calls; null if none was timed. Answers from the results of a batch are not.
    pub latency: Option<LatencyFigures>,
    /// Time from the start of a call to the first chunk of its answer; null if no chunks were seen.
    pub first_token: Option<LatencyFigures>,
    /// Requests to the judges of the task; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeTimings>,
}

/// The requests to the judges of a task, over all processes of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeTimings {
    /// Judged samples.
    pub samples: u64,
    /// Time of all requests for one sample, with their retries.
    pub latency: LatencyFigures,
    /// Tokens of the prompts, as far as the backends count them.
    pub prompt_tokens: u64,
    /// Tokens of the replies, as far as the backends count them.
    pub completion_tokens: u64,
}

/// Builds the timings of judges.
#[derive(Default)]
struct JudgeBuilder {
    latency: LatencyBuilder,
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl JudgeBuilder {
    fn add(&mut self, record: &RecordView<'_>) {
        let judge_ms = record.timing.stages.judge_ms;
        if judge_ms > 0.0 {
            self.latency.add(judge_ms);
        }
        let Some(output) = record.judge_output else { return };
        let judges = output.get("judges").and_then(Value::as_object);
        let outputs = judges.map_or_else(|| vec![output], |judges| judges.values().collect());
        for usage in outputs.into_iter().filter_map(|output| output.get("usage")) {
            let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
            self.prompt_tokens += tokens("prompt_tokens");
            self.completion_tokens += tokens("completion_tokens");
        }
    }

    fn finish(self) -> Option<JudgeTimings> {
        let samples = self.latency.count();
        let JudgeBuilder { latency, prompt_tokens, completion_tokens } = self;
        Some(JudgeTimings { samples, latency: latency.finish()?, prompt_tokens, completion_tokens })
    }
}

/// All data that varies from run to run. A rate whose time is 0, and a latency without samples, is null.
///
/// Times, rates and counts are those of the process that wrote the file: the last one of a resumed run. The tasks, the
/// latencies, and the figures of metrics that read a clock cover all processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Version of this file's format.
    pub format_version: u32,
    /// Loading and preparing the datasets.
    pub dataset_materialization_s: f64,
    /// Inference.
    pub inference_s: f64,
    /// Scoring and aggregation.
    pub evaluation_s: f64,
    /// Inference and evaluation together.
    pub execution_runtime_s: f64,
    /// Datasets and execution together.
    pub total_runtime_s: f64,
    /// Wall time from the start of the program to the end of the run.
    pub wall_runtime_s: f64,
    /// `samples` over wall time.
    pub throughput_total_samples_per_s: Option<f64>,
    /// `samples` over inference time.
    pub throughput_inference_samples_per_s: Option<f64>,
    /// `finished` over evaluation time.
    pub throughput_auto_eval_samples_per_s: Option<f64>,
    /// Model calls over inference time, retries included; null if none was timed, as for the tokens.
    pub throughput_requests_per_s: Option<f64>,
    /// Tokens of prompts over inference time, as far as the backends count them.
    pub throughput_prompt_tokens_per_s: Option<f64>,
    /// Tokens of answers over inference time, as far as the backends count them.
    pub throughput_completion_tokens_per_s: Option<f64>,
    /// Wall time over samples.
    pub latency_total_ms_per_sample: Option<f64>,
    /// Inference time over samples.
    pub latency_inference_ms_per_sample: Option<f64>,
    /// Further parts of the run, as `<name>_total_s`: loading models, and the stages of samples summed over all samples of
    /// all processes (`preprocess`, `support`, `prompt`, `embed`, `judge`, `extract`).
    pub stages: BTreeMap<String, f64>,
    /// Samples underlying the rates: those that this process finished, except those whose model call was made by an earlier
    /// one.
    pub samples: u64,
    /// All samples that this process finished, including those that were only scored.
    pub finished: u64,
    /// Finished samples of the whole run.
    pub samples_of_run: u64,
    /// Latency of the model calls of all tasks; null if none was timed.
    pub latency: Option<LatencyFigures>,
    /// Time from the start of a call to the first chunk of its answer, for all tasks; null if no chunks
    /// were seen.
    pub first_token: Option<LatencyFigures>,
    /// Time from when a sample was ready until its model call began, for all tasks; null if there were no
    /// calls.
    pub queue: Option<LatencyFigures>,
    /// Retries of failed calls by this process.
    pub retries: u64,
    /// Model calls underlying the rates.
    pub requests: u64,
    /// Prompt tokens underlying the rates.
    pub prompt_tokens: u64,
    /// Answer tokens underlying the rates.
    pub completion_tokens: u64,
    /// Counters of each backend, by its id: requests, retries, cached answers. The keys depend on the
    /// backend.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backends: BTreeMap<String, Object>,
    /// What each plugin has cost this process, the most expensive first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginCosts>,
    /// The tasks, in the order of the suite.
    pub tasks: Vec<TaskTimings>,
    /// The figures of metrics that read a clock.
    pub timing_metrics: Vec<MetricFigure>,
    /// The computer.
    pub machine: Machine,
}

impl Timings {
    /// Returns the content of `timings.json`.
    ///
    /// # Errors
    /// None in practice; JSON can represent all timings.
    pub fn to_json(&self) -> Result<String, FiguresError> {
        to_json(TIMINGS_FILE, self)
    }

    /// Reads the content of `timings.json`; unknown keys are ignored.
    ///
    /// # Errors
    /// If the content is not timings, or has a newer format.
    pub fn from_value(value: Value) -> Result<Timings, FiguresError> {
        from_value(TIMINGS_FILE, TIMINGS_VERSION, value)
    }
}

/// Builds the timings of a run from its records, in one pass.
pub struct TimingsBuilder<'a> {
    tasks: IndexMap<String, TaskBuilder<'a>>,
    latency: LatencyBuilder,
    first_token: LatencyBuilder,
    queue: LatencyBuilder,
    /// Sums of the stages of all samples, in milliseconds, by name.
    stages: BTreeMap<&'static str, f64>,
    samples: u64,
}

struct TaskBuilder<'a> {
    model_calls: u64,
    latency: LatencyBuilder,
    first_token: LatencyBuilder,
    retries: u64,
    scoring_fuel: u64,
    judge: JudgeBuilder,
    metrics: FigureSet<'a>,
}

impl<'a> TimingsBuilder<'a> {
    /// Returns an empty builder for a run of these tasks. `aggregators` returns the custom aggregators; if there are none,
    /// use [`no_custom_aggregators`](crate::no_custom_aggregators).
    pub fn new(tasks: &[TaskDescription], aggregators: CustomAggregators<'a>) -> TimingsBuilder<'a> {
        let max_slices = max_slices_of(tasks);
        let builder = |task: &TaskDescription| TaskBuilder {
            model_calls: 0,
            latency: LatencyBuilder::default(),
            first_token: LatencyBuilder::default(),
            retries: 0,
            scoring_fuel: 0,
            judge: JudgeBuilder::default(),
            metrics: FigureSet::new(task, &task.timing_metrics, aggregators).with_max_slices(max_slices),
        };
        TimingsBuilder {
            tasks: tasks.iter().map(|task| (task.task_id.clone(), builder(task))).collect(),
            latency: LatencyBuilder::default(),
            first_token: LatencyBuilder::default(),
            queue: LatencyBuilder::default(),
            stages: BTreeMap::new(),
            samples: 0,
        }
    }

    /// Adds the next record, as for [`SummaryBuilder`](crate::SummaryBuilder).
    ///
    /// # Errors
    /// If the record has a task or a timing metric that was not described.
    pub fn add<'r>(&mut self, record: impl Into<RecordView<'r>>) -> Result<(), FiguresError> {
        let record = &record.into();
        let task = of_task(&mut self.tasks, record.task_id)?;
        self.samples += 1;
        task.retries += u64::from(record.timing.retries());
        task.scoring_fuel += record.timing.scoring_fuel;
        for (name, milliseconds) in record.timing.stages.passed() {
            *self.stages.entry(name).or_default() += milliseconds;
        }
        task.judge.add(record);
        let is_answered = !record.model_output.is_null() && record.timing.attempts > 0;
        task.model_calls += u64::from(is_answered);
        // An answer from the results of a batch has no latency.
        if is_answered && record.timing.latency_ms > 0.0 {
            task.latency.add(record.timing.latency_ms);
            self.latency.add(record.timing.latency_ms);
            self.queue.add(record.timing.queue_ms);
            if let Some(first_token_ms) = record.timing.first_token_ms {
                task.first_token.add(first_token_ms);
                self.first_token.add(first_token_ms);
            }
        }
        task.metrics.add(record.timing_metrics, *record)
    }

    /// Returns the timings, given the completeness of each task.
    pub fn finish(self, phases: &Phases, machine: Machine, completeness: &Completeness) -> Timings {
        let seconds = |duration: Duration| duration.as_secs_f64();
        let rate = |time: Duration| divide(phases.samples as f64, seconds(time));
        let scored = divide(phases.finished as f64, seconds(phases.evaluation));
        let per_sample = |time: Duration| divide(seconds(time) * 1_000.0, phases.samples as f64);
        let is_timed = self.latency.count() > 0;
        // A count of 0 may mean that the backend does not count, so there is no rate.
        let of_inference = |count: u64| {
            (is_timed && count > 0).then(|| divide(count as f64, seconds(phases.inference))).flatten()
        };
        let execution = phases.inference + phases.evaluation;
        let (mut tasks, mut timing_metrics) = (Vec::new(), Vec::new());
        for (task_id, task) in self.tasks {
            timing_metrics
                .extend(task.metrics.finish(completeness.get(&task_id).copied().unwrap_or_default()));
            tasks.push(TaskTimings {
                task_id,
                model_calls: task.model_calls,
                retries: task.retries,
                scoring_fuel: task.scoring_fuel,
                latency: task.latency.finish(),
                first_token: task.first_token.finish(),
                judge: task.judge.finish(),
            });
        }
        Timings {
            format_version: TIMINGS_VERSION,
            dataset_materialization_s: seconds(phases.dataset_materialization),
            inference_s: seconds(phases.inference),
            evaluation_s: seconds(phases.evaluation),
            execution_runtime_s: seconds(execution),
            total_runtime_s: seconds(phases.dataset_materialization + execution),
            wall_runtime_s: seconds(phases.wall),
            throughput_total_samples_per_s: rate(phases.wall),
            throughput_inference_samples_per_s: rate(phases.inference),
            throughput_auto_eval_samples_per_s: scored,
            throughput_requests_per_s: of_inference(phases.requests),
            throughput_prompt_tokens_per_s: of_inference(phases.prompt_tokens),
            throughput_completion_tokens_per_s: of_inference(phases.completion_tokens),
            latency_total_ms_per_sample: per_sample(phases.wall),
            latency_inference_ms_per_sample: per_sample(phases.inference),
            stages: stage_totals(&self.stages, &phases.stages),
            samples: phases.samples,
            finished: phases.finished,
            samples_of_run: self.samples,
            latency: self.latency.finish(),
            first_token: self.first_token.finish(),
            queue: self.queue.finish(),
            retries: phases.retries,
            requests: phases.requests,
            prompt_tokens: phases.prompt_tokens,
            completion_tokens: phases.completion_tokens,
            backends: phases.backends.clone(),
            plugins: phases.plugins.clone(),
            tasks,
            timing_metrics,
            machine,
        }
    }
}

/// Returns the total of each stage in seconds: of those of the samples, and of those of the run.
fn stage_totals(
    of_samples: &BTreeMap<&'static str, f64>,
    of_run: &BTreeMap<String, Duration>,
) -> BTreeMap<String, f64> {
    let of_samples = of_samples.iter().map(|(name, ms)| ((*name).to_owned(), ms / 1_000.0));
    let of_run = of_run.iter().map(|(name, time)| (name.clone(), time.as_secs_f64()));
    of_samples.chain(of_run).map(|(name, seconds)| (format!("{name}_total_s"), seconds)).collect()
}

fn divide(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::no_custom_aggregators;
    use crate::test_records::{failed, sample, task};
    use gage_core::Outcome;

    fn machine() -> Machine {
        Machine { cores: 2, os: "linux".to_owned(), arch: "x86_64".to_owned() }
    }

    fn timings(records: &[gage_record::SampleRecord], phases: &Phases) -> Timings {
        let mut builder = TimingsBuilder::new(&[task("a"), task("b")], &no_custom_aggregators);
        records.iter().for_each(|record| builder.add(record).unwrap());
        builder.finish(phases, machine(), &Completeness::new())
    }

    #[test]
    fn the_names_of_the_specification_are_at_the_top() {
        let requests = Object::from_iter([("requests".to_owned(), 10.into())]);
        let phases = Phases {
            dataset_materialization: Duration::from_millis(500),
            inference: Duration::from_secs(2),
            evaluation: Duration::from_secs(1),
            wall: Duration::from_secs(4),
            samples: 8,
            finished: 12,
            retries: 1,
            stages: BTreeMap::from([("judge".to_owned(), Duration::from_secs(3))]),
            requests: 10,
            prompt_tokens: 1_000,
            completion_tokens: 0,
            backends: BTreeMap::from([("m".to_owned(), requests)]),
            plugins: Vec::new(),
        };
        let text = timings(&[sample("a", 0, 1.0, 10.0)], &phases).to_json().unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let cases = [
            ("dataset_materialization_s", 0.5),
            ("inference_s", 2.0),
            ("evaluation_s", 1.0),
            ("execution_runtime_s", 3.0),
            ("total_runtime_s", 3.5),
            ("wall_runtime_s", 4.0),
            ("throughput_total_samples_per_s", 2.0),
            ("throughput_inference_samples_per_s", 4.0),
            ("throughput_auto_eval_samples_per_s", 12.0),
            ("throughput_requests_per_s", 5.0),
            ("throughput_prompt_tokens_per_s", 500.0),
            ("latency_total_ms_per_sample", 500.0),
            ("latency_inference_ms_per_sample", 250.0),
        ];
        for (name, expected) in cases {
            assert_eq!(value[name], expected, "{name}");
        }
        assert_eq!(value["backends"]["m"]["requests"], 10);
        assert_eq!(value["stages"]["judge_total_s"], 3.0);
        assert_eq!(value["throughput_completion_tokens_per_s"], Value::Null, "nobody counted them");
    }

    #[test]
    fn first_tokens_and_queues_have_quantiles_of_their_own() {
        let timed = |index, queue_ms, first_token_ms| {
            let mut record = sample("a", index, 1.0, 100.0);
            (record.timing.queue_ms, record.timing.first_token_ms) = (queue_ms, first_token_ms);
            record
        };
        let records = [timed(0, 5.0, Some(20.0)), timed(1, 15.0, Some(40.0)), timed(2, 10.0, None)];
        let timings = timings(&records, &Phases::default());
        assert_eq!((timings.queue.unwrap().mean_ms, timings.queue.unwrap().max_ms), (10.0, 15.0));
        assert_eq!(timings.first_token.unwrap().mean_ms, 30.0);
        assert_eq!(
            (timings.tasks[0].first_token.unwrap().max_ms, timings.tasks[1].first_token),
            (40.0, None)
        );
    }

    #[test]
    fn without_samples_or_time_there_is_no_rate() {
        let timings = timings(&[], &Phases::default());
        assert_eq!(timings.throughput_auto_eval_samples_per_s, None);
        assert_eq!(timings.latency_total_ms_per_sample, None);
        assert_eq!((timings.latency, timings.tasks[0].latency), (None, None));
        assert!(Machine::this().cores > 0);
    }

    #[test]
    fn answers_of_a_batch_have_no_latency_and_no_rates() {
        let inference = Duration::from_secs(2);
        let phases = Phases { inference, requests: 2, completion_tokens: 50, ..Phases::default() };
        for (latencies, latency, rate) in [
            ([0.0, 0.0], None, None),
            ([0.0, 30.0], Some(30.0), Some(25.0)),
            ([10.0, 30.0], Some(20.0), Some(25.0)),
        ] {
            let records = latencies.map(|latency_ms| sample("a", 0, 1.0, latency_ms));
            let timings = timings(&records, &phases);
            assert_eq!(timings.latency.map(|found| found.mean_ms), latency, "{latencies:?}");
            assert_eq!(timings.throughput_completion_tokens_per_s, rate, "{latencies:?}");
            assert_eq!(timings.tasks[0].latency.map(|found| found.mean_ms), latency, "{latencies:?}");
            assert_eq!(timings.tasks[0].model_calls, 2, "{latencies:?}");
        }
    }

    #[test]
    fn latency_counts_answers_and_further_calls_are_retries() {
        let mut turns = sample("b", 0, 1.0, 30.0);
        (turns.timing.attempts, turns.timing.requests) = (6, 5);
        let records = [sample("a", 0, 1.0, 10.0), turns, failed("b", 1, Outcome::BackendError)];
        // The figures of the run cover all its processes; this one made only a few of the calls.
        let timings = timings(&records, &Phases { samples: 1, finished: 2, retries: 1, ..Phases::default() });
        let b = &timings.tasks[1];
        assert_eq!((b.model_calls, b.retries, timings.retries), (1, 4, 1));
        assert_eq!((timings.samples, timings.finished, timings.samples_of_run), (1, 2, 3));
        assert_eq!((b.latency.unwrap().max_ms, timings.latency.unwrap().mean_ms), (30.0, 20.0));
        let latency = &timings.timing_metrics[1];
        assert_eq!(
            (latency.task_id.as_str(), latency.value, latency.n, latency.total),
            ("b", Some(30.0), 1, 2)
        );
        let value = serde_json::from_str(&timings.to_json().unwrap()).unwrap();
        assert_eq!(Timings::from_value(value).unwrap(), timings);
    }
}

//! Estimate of a plan's requests, tokens, cost and time, without sending anything.
//!
//! Tokens are counted over the prompt texts of the first rows. The additions of a chat template are not counted.

mod counts;
mod plugins;
mod shards;
mod slice_coverage;
mod tokens;

use crate::concurrency_limit::ConcurrencyLimit;
use crate::plan::{Plan, PlannedTask};
use crate::request::{PromptSize, prompt_size};
use crate::session::datasets::Datasets;
use counts::count_rows;
use gage_config::{LoopMode, PipelineConfig, RequestKind, RoleAdapterSpec};
use gage_core::{Sample, SamplingParams};
use gage_data::{TokenCounter, stream};
use gage_plugin::PluginHost;
use serde::Serialize;
use std::ops::{Add, ControlFlow};
use std::sync::Arc;
use tokens::{BYTES_PER_TOKEN, Tokens};

pub use counts::ClusterCounts;
pub use plugins::PluginEstimate;
pub use shards::{ShardEstimate, ShardedEstimate};
pub use slice_coverage::SliceCoverage;
pub use tokens::TokensBy;

/// Number of rows whose prompts are measured.
const MAX_SAMPLED_ROWS: u64 = 64;
/// Limit for counting rows one by one if their number is unknown. A larger dataset is reported as at least this many.
const MAX_COUNTED_ROWS: u64 = 2_000_000;
/// Assumed upper bound for completion tokens if `max_new_tokens` is unset.
const DEFAULT_COMPLETION_TOKENS: f64 = 256.0;
/// Smallest fraction of its bound that a completion is assumed to use.
const MIN_COMPLETION_SHARE: f64 = 0.1;
/// Assumed bytes that a judge component adds around the question and the answer.
const JUDGE_PROMPT_BYTES: f64 = 1_200.0;

/// Assumptions of an estimate.
#[derive(Clone, Copy)]
pub struct EstimateOptions<'o> {
    /// Requests in flight.
    pub concurrency: usize,
    /// Tasks that run at the same time. `None` for the suite's setting.
    pub task_parallelism: Option<usize>,
    /// Maximum number of samples per task.
    pub max_samples: Option<u64>,
    /// Minimum and maximum duration of a request, in seconds.
    pub latency: (f64, f64),
    /// Tokenizer for the prompts of all models. `None` to use each model's own.
    pub tokenizer: Option<&'o TokenCounter>,
    /// Host of the plan's plugins, which counts what they cost.
    pub plugins: &'o PluginHost,
}

/// Lowest and highest expected value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
}

impl Range {
    fn new(low: f64, high: f64) -> Range {
        Range { low, high }
    }

    fn times(self, other: Range) -> Range {
        Range::new(self.low * other.low, self.high * other.high)
    }
}

impl Add for Range {
    type Output = Range;

    fn add(self, other: Range) -> Range {
        Range::new(self.low + other.low, self.high + other.high)
    }
}

/// Estimated requests of one task to one role.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestEstimate {
    /// Origin of the requests: the step `support`, `inference`, `embed` or `judge`, or the `tools` of a model.
    pub step: &'static str,
    /// The role.
    pub adapter_id: String,
    /// The backend.
    pub backend_id: String,
    /// Number of requests.
    pub requests: Range,
    /// Tokens of their prompts.
    pub prompt_tokens: Range,
    /// Tokens of their completions.
    pub completion_tokens: Range,
    /// Cost at the suite's prices. `None` if the suite has no price for the backend.
    pub cost: Option<Range>,
    /// Maximum number of requests in flight.
    pub in_flight: u64,
    /// Total duration, in seconds.
    pub seconds: Range,
}

/// Estimate of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskEstimate {
    /// The task.
    pub task_id: String,
    /// The dataset.
    pub dataset_id: String,
    /// Number of samples, before repeats. `None` if the data is not on this machine or cannot be read.
    pub samples: Option<u64>,
    /// True if there may be more samples than were counted.
    pub is_at_least: bool,
    /// Clusters of the samples; absent if the task has none, or they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterCounts>,
    /// Number of times each sample is asked.
    pub repeat: u64,
    /// Source of the token counts of its prompts.
    pub tokens_by: TokensBy,
    /// Requests to each role.
    pub requests: Vec<RequestEstimate>,
    /// Duration of the task, in seconds.
    pub seconds: Range,
    /// Costs of its plugins, the most expensive first. Those of judges, of aggregators and of metrics that may send
    /// something are unknown.
    pub plugins: Vec<PluginEstimate>,
    /// Remarks on what the estimate leaves out.
    pub notes: Vec<String>,
}

/// Estimate of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The tasks, in their order.
    pub tasks: Vec<TaskEstimate>,
    /// All requests.
    pub requests: Range,
    /// All tokens of prompts.
    pub prompt_tokens: Range,
    /// All tokens of completions.
    pub completion_tokens: Range,
    /// Cost of all priced requests. `None` if no request has a price.
    pub cost: Option<Range>,
    /// Duration of the run, in seconds.
    pub seconds: Range,
}

impl Plan {
    /// Estimates the plan. Reads the rows and prepares the first ones, but sends nothing.
    pub fn estimate(&self, datasets: &Datasets, options: &EstimateOptions<'_>) -> Estimate {
        let tasks: Vec<TaskEstimate> =
            self.tasks.iter().map(|task| self.estimate_task(task, datasets, options)).collect();
        let parallelism = options.task_parallelism.unwrap_or(self.config.task_parallelism);
        let all = || tasks.iter().flat_map(|task| &task.requests);
        let sum = |of: fn(&RequestEstimate) -> Range| all().map(of).fold(Range::default(), Add::add);
        let costs: Vec<Range> = all().filter_map(|request| request.cost).collect();
        Estimate {
            requests: sum(|request| request.requests),
            prompt_tokens: sum(|request| request.prompt_tokens),
            completion_tokens: sum(|request| request.completion_tokens),
            cost: (!costs.is_empty()).then(|| costs.iter().copied().fold(Range::default(), Add::add)),
            seconds: seconds_of(&tasks, parallelism),
            tasks,
        }
    }

    fn estimate_task(
        &self,
        task: &PlannedTask,
        datasets: &Datasets,
        options: &EstimateOptions<'_>,
    ) -> TaskEstimate {
        let spec = &task.spec;
        let limit = ConcurrencyLimit::of(spec, &task.role, &task.backend, options.concurrency);
        let mut notes: Vec<String> = limit.iter().map(ToString::to_string).collect();
        let permissions = self.config.resources.permissions();
        let tokens = Tokens::of(task, options.tokenizer, permissions, &mut notes);
        let (statistics, plugins) = Plan::statistics(task, datasets, options, &tokens, &mut notes);
        let samples = statistics.samples.unwrap_or(0) as f64 * spec.repeat as f64;
        let estimate = |step, role: &RoleAdapterSpec, requests, per_prompt: Range, per_completion: Range| {
            let work = WorkEstimate { requests, per_prompt, per_completion };
            self.estimate_requests(step, role, &work, task, options)
        };
        let completion = match spec.steps.inference.request {
            RequestKind::Loglikelihood | RequestKind::RollingLoglikelihood => Range::default(),
            RequestKind::Generate => completion_tokens(&task.sampling_params),
        };
        let prompt = Range::new(statistics.prompt_tokens, statistics.prompt_tokens);
        let mut requests = Vec::new();
        // A component may answer by itself, and the model may call no tool.
        let reply_of = |role: &RoleAdapterSpec| completion_tokens(&role.sampling_params);
        let follow_ups = task.follow_ups.iter().map(|follow_up| &follow_up.support_role);
        let asked = task.support.iter().chain(follow_ups);
        for planned in asked.filter(|planned| !planned.role.backend_id.is_empty()) {
            let calls = Range::new(if planned.adapter.is_some() { 0.0 } else { samples }, samples);
            requests.push(estimate("support", &planned.role, calls, prompt, reply_of(&planned.role)));
        }
        let turns = task.tools.as_ref().map_or(1.0, |tools| f64::from(tools.bounds.max_turns));
        let tool_prompt = Range::new(prompt.low, prompt.high + completion.high * (turns - 1.0));
        let calls = Range::new(samples, samples * turns);
        requests.push(estimate("inference", &task.role, calls, tool_prompt, completion));
        if let Some(tools) = &task.tools {
            notes.push(format!(
                "with tools a sample takes from 1 to {turns} requests; the results of tools are not counted"
            ));
            let role = &tools.support_role.role;
            if !role.backend_id.is_empty() {
                let calls = Range::new(0.0, samples * (turns - 1.0));
                requests.push(estimate("tools", role, calls, tool_prompt, reply_of(role)));
            }
        }
        if !task.support.is_empty() {
            notes.push("context from support steps is not counted".to_owned());
        }
        if let Some(embed) = &task.embed {
            let (calls, none) = (Range::new(samples, samples), Range::default());
            requests.push(estimate("embed", &embed.role, calls, completion, none));
            notes.push("the references of `embed` steps are not counted".to_owned());
        }
        if let Some(judges) = &task.judges {
            let overhead = JUDGE_PROMPT_BYTES / BYTES_PER_TOKEN;
            let judged = Range::new(prompt.low + overhead, prompt.high + overhead) + completion;
            for judge in &judges.judges {
                let calls = Range::new(samples, samples * f64::from(judges.attempts));
                requests.push(estimate("judge", &judge.role, calls, judged, reply_of(&judge.role)));
            }
        }
        let seconds = seconds_of_task(spec.mode, &requests);
        TaskEstimate {
            task_id: spec.task_id.clone(),
            dataset_id: spec.dataset_id.clone(),
            samples: statistics.samples,
            is_at_least: statistics.is_at_least,
            clusters: statistics.clusters,
            repeat: spec.repeat,
            tokens_by: tokens.by(),
            requests,
            seconds,
            plugins,
            notes,
        }
    }

    /// Returns the statistics of a task's rows, and the costs of its plugins.
    fn statistics(
        task: &PlannedTask,
        datasets: &Datasets,
        options: &EstimateOptions<'_>,
        tokens: &Tokens<'_>,
        notes: &mut Vec<String>,
    ) -> (DatasetStatistics, Vec<PluginEstimate>) {
        let before = options.plugins.work();
        let statistics = DatasetStatistics::of(task, datasets, options.max_samples, tokens, notes);
        let samples = statistics.samples.unwrap_or(0) as f64 * task.spec.repeat as f64;
        plugins::try_metrics(task, &statistics.first_samples);
        let tried = statistics.first_samples.len();
        let plugins = plugins::estimates(options.plugins, &before, tried, samples);
        (statistics, plugins)
    }

    fn estimate_requests(
        &self,
        step: &'static str,
        role: &RoleAdapterSpec,
        work: &WorkEstimate,
        task: &PlannedTask,
        options: &EstimateOptions<'_>,
    ) -> RequestEstimate {
        let backend = self.config.backend_of(role);
        let requests = work.requests;
        let (prompt_tokens, completion_tokens) =
            (requests.times(work.per_prompt), requests.times(work.per_completion));
        let price = backend.and_then(|backend| self.config.price_of(backend));
        let cost = price.map(|price| {
            Range::new(
                price.cost(prompt_tokens.low, completion_tokens.low),
                price.cost(prompt_tokens.high, completion_tokens.high),
            )
        });
        let in_flight = in_flight(&self.config, role, task, options);
        RequestEstimate {
            step,
            adapter_id: role.adapter_id.clone(),
            backend_id: role.backend_id.clone(),
            requests,
            prompt_tokens,
            completion_tokens,
            cost,
            in_flight,
            seconds: seconds_of_requests(requests, in_flight, options.latency),
        }
    }
}

/// Returns the duration of requests, of which some are in flight at a time and each has this latency.
fn seconds_of_requests(requests: Range, in_flight: u64, (least, most): (f64, f64)) -> Range {
    let rounds = |requests: f64| (requests / in_flight as f64).ceil();
    Range::new(rounds(requests.low) * least, rounds(requests.high) * most)
}

/// Returns the duration of the requests of a task. Judging overlaps with inference on further samples, except in sequential
/// mode.
fn seconds_of_task(mode: LoopMode, requests: &[RequestEstimate]) -> Range {
    let seconds = requests.iter().map(|request| request.seconds);
    match mode {
        LoopMode::Sequential => seconds.fold(Range::default(), Add::add),
        LoopMode::FireAndForget => seconds.fold(Range::default(), elementwise_max),
    }
}

/// Returns the estimated tokens of a completion with these parameters.
fn completion_tokens(params: &SamplingParams) -> Range {
    let most = params.max_new_tokens.map_or(DEFAULT_COMPLETION_TOKENS, f64::from);
    Range::new((most * MIN_COMPLETION_SHARE).max(1.0), most)
}

/// Requests of a role, and the tokens of each.
struct WorkEstimate {
    requests: Range,
    /// Tokens of one prompt.
    per_prompt: Range,
    /// Tokens of one completion.
    per_completion: Range,
}

/// Returns the maximum number of requests of a role in flight, as far as the suite specifies it.
fn in_flight(
    config: &PipelineConfig,
    role: &RoleAdapterSpec,
    task: &PlannedTask,
    options: &EstimateOptions<'_>,
) -> u64 {
    if task.spec.mode == LoopMode::Sequential {
        return 1;
    }
    let of_backend = config.backend_of(role).and_then(|backend| backend.most_requests());
    let bounds = [of_backend, role.pool_size, task.spec.max_inflight];
    let of_task = task.spec.concurrency.filter(|_| role.adapter_id == task.role.adapter_id);
    let least = bounds.into_iter().chain([of_task]).flatten().fold(options.concurrency, usize::min);
    least.max(1) as u64
}

fn elementwise_max(one: Range, other: Range) -> Range {
    Range::new(one.low.max(other.low), one.high.max(other.high))
}

/// Returns the duration of all tasks with up to `parallelism` at a time. Tasks that use the same role share its requests in flight.
fn seconds_of(tasks: &[TaskEstimate], parallelism: usize) -> Range {
    let one_by_one = tasks.iter().map(|task| task.seconds).fold(Range::default(), Add::add);
    if parallelism <= 1 {
        return one_by_one;
    }
    let mut roles: Vec<&str> =
        tasks.iter().flat_map(|task| &task.requests).map(|request| request.adapter_id.as_str()).collect();
    roles.sort_unstable();
    roles.dedup();
    let estimate_requests = |role: &str| {
        let all = tasks.iter().flat_map(|task| &task.requests);
        let own = all.filter(|request| request.adapter_id == role).map(|request| request.seconds);
        own.fold(Range::default(), Add::add)
    };
    // Concurrent tasks stay far below 2^53.
    let share = parallelism as f64;
    let shared = Range::new(one_by_one.low / share, one_by_one.high / share);
    let of_tasks = tasks.iter().map(|task| task.seconds);
    roles.into_iter().map(estimate_requests).chain(of_tasks).fold(shared, elementwise_max)
}

/// Statistics of the rows of a task.
struct DatasetStatistics {
    samples: Option<u64>,
    is_at_least: bool,
    clusters: Option<ClusterCounts>,
    /// Mean number of tokens of a prompt.
    prompt_tokens: f64,
    /// The first Samples, as far as they are valid.
    first_samples: Vec<Arc<Sample>>,
}

impl DatasetStatistics {
    fn of(
        task: &PlannedTask,
        datasets: &Datasets,
        max_samples: Option<u64>,
        tokens: &Tokens<'_>,
        notes: &mut Vec<String>,
    ) -> DatasetStatistics {
        let most = [task.spec.max_samples, max_samples].into_iter().flatten().min();
        let unknown = DatasetStatistics {
            samples: None,
            is_at_least: false,
            clusters: None,
            prompt_tokens: 0.0,
            first_samples: Vec::new(),
        };
        let Some(dataset) = datasets.get(&task.spec.dataset_id) else {
            let reason = datasets.why_missing(&task.spec.dataset_id);
            notes.push(format!("the data is not on this machine, so it is not counted: {reason}"));
            return unknown;
        };
        let spec = &task.dataset.spec;
        let rows = match dataset.open_as(spec, most) {
            Ok(rows) => rows,
            Err(error) => {
                notes.push(format!("the data cannot be read: {error}"));
                return unknown;
            }
        };
        let (samples, error) = count_rows(rows, MAX_COUNTED_ROWS);
        notes.extend(error.map(|error| format!("the data cannot be read to its end: {error}")));
        let (mut counted, mut seen, mut media, mut invalid) = (0.0, 0.0, 0_u64, 0_u64);
        let mut first_samples = Vec::new();
        if let Ok(rows) = dataset.open_as(spec, Some(most.unwrap_or(MAX_SAMPLED_ROWS).min(MAX_SAMPLED_ROWS)))
        {
            stream(rows, &dataset.preparation_of(&task.dataset), 1, &|| false, |prepared| {
                first_samples.extend(prepared.result.as_ref().ok().map(Arc::clone));
                match prepared
                    .result
                    .ok()
                    .and_then(|sample| prompt_size(task, sample, &|text| tokens.count(text)))
                {
                    Some(PromptSize { tokens: found, has_media }) => {
                        counted += found;
                        seen += 1.0;
                        media += u64::from(has_media);
                    }
                    None => invalid += 1,
                }
                ControlFlow::Continue(())
            });
        }
        if media > 0 {
            notes.push("the tokens of images and sounds are not counted".to_owned());
        }
        if invalid > 0 {
            notes.push(format!("{invalid} of the first rows are invalid, or have no prompt"));
        }
        let prompt_tokens = if seen > 0.0 { counted / seen } else { 0.0 };
        DatasetStatistics {
            samples: Some(samples),
            // A number that is known without counting may be larger.
            is_at_least: samples == MAX_COUNTED_ROWS,
            clusters: ClusterCounts::of(task, dataset, most),
            prompt_tokens,
            first_samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(role: &str, seconds: f64) -> TaskEstimate {
        let range = Range::new(seconds, seconds);
        let request = RequestEstimate {
            step: "inference",
            adapter_id: role.to_owned(),
            backend_id: String::new(),
            requests: range,
            prompt_tokens: range,
            completion_tokens: range,
            cost: None,
            in_flight: 1,
            seconds: range,
        };
        TaskEstimate {
            task_id: String::new(),
            dataset_id: String::new(),
            samples: None,
            is_at_least: false,
            clusters: None,
            repeat: 1,
            tokens_by: TokensBy::Bytes,
            requests: vec![request],
            seconds: range,
            plugins: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn tasks_that_ask_one_role_gain_nothing_by_running_together() {
        let shared = [task("a", 10.0), task("a", 20.0)];
        assert_eq!(seconds_of(&shared, 1).low, 30.0);
        assert_eq!(seconds_of(&shared, 2).low, 30.0);
        let apart = [task("a", 10.0), task("b", 20.0)];
        assert_eq!(seconds_of(&apart, 2).low, 20.0);
    }
}

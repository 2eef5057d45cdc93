//! Estimate of a plan's requests, tokens, cost and time, without sending anything.
//!
//! Tokens are counted over the texts of the prompts of the first rows; what a chat template puts around them is not.

mod tokens;

use crate::plan::{Plan, PlannedTask};
use crate::request::{PromptSize, prompt_size};
use crate::session::datasets::Datasets;
use gage_config::{LoopMode, PipelineConfig, RequestKind, RoleAdapterSpec};
use gage_core::SamplingParams;
use gage_data::{TokenCounter, stream};
use serde::Serialize;
use std::ops::{Add, ControlFlow};
use tokens::{BYTES_PER_TOKEN, Tokens};

pub use tokens::TokensBy;

/// Rows whose prompts are looked at.
const MAX_SAMPLED_ROWS: u64 = 64;
/// Rows that are counted one by one where their number is not known; beyond there are at least so many.
const MAX_COUNTED_ROWS: u64 = 2_000_000;
/// Tokens of a completion where nobody bounds them.
const DEFAULT_COMPLETION_TOKENS: f64 = 256.0;
/// The least part of its bound that completions are taken to use.
const MIN_COMPLETION_SHARE: f64 = 0.1;
/// Bytes that a component puts around the question and the answer that are judged.
const JUDGE_PROMPT_BYTES: f64 = 1_200.0;

/// What an estimate is made for.
#[derive(Clone, Copy)]
pub struct EstimateOptions<'o> {
    /// Requests in flight.
    pub concurrency: usize,
    /// Tasks at the same time; where it is missing what the suite says.
    pub task_parallelism: Option<usize>,
    /// At most this many samples of each task.
    pub max_samples: Option<u64>,
    /// How long a request takes at least and at most, in seconds.
    pub latency: (f64, f64),
    /// What counts the tokens of prompts for all models; none where each is asked for its own.
    pub tokenizer: Option<&'o TokenCounter>,
}

/// The least and the most that is to be expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
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

/// What one role is asked for by a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestEstimate {
    /// What asks: the step `support`, `inference`, `embed` or `judge`, or the `tools` of a model.
    pub step: &'static str,
    /// The role.
    pub adapter_id: String,
    /// The backend.
    pub backend_id: String,
    /// How many requests.
    pub requests: Range,
    /// Tokens of their prompts.
    pub prompt_tokens: Range,
    /// Tokens of their completions.
    pub completion_tokens: Range,
    /// By the prices of the suite; none where it has none for the backend.
    pub cost: Option<Range>,
    /// How many are in flight at most.
    pub in_flight: u64,
    /// How long they take, in seconds.
    pub seconds: Range,
}

/// What a task would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskEstimate {
    /// The task.
    pub task_id: String,
    /// The dataset.
    pub dataset_id: String,
    /// The samples, before repeats; none where the data is not on this machine, or cannot be read.
    pub samples: Option<u64>,
    /// Whether there may be more samples than were counted.
    pub is_at_least: bool,
    /// How often each is asked.
    pub repeat: u64,
    /// By what the tokens of its prompts are counted.
    pub tokens_by: TokensBy,
    /// What each role is asked for.
    pub requests: Vec<RequestEstimate>,
    /// How long it takes, in seconds.
    pub seconds: Range,
    /// What could not be known, in words.
    pub notes: Vec<String>,
}

/// What a run would do.
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
    /// The cost of all that has a price; none where nothing has.
    pub cost: Option<Range>,
    /// How long it takes, in seconds.
    pub seconds: Range,
}

impl Plan {
    /// What the plan would do. Rows are read, and their first ones prepared; nothing is sent.
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
        let mut notes = Vec::new();
        let backend = self.config.backend_of(&task.role);
        let tokens = Tokens::of(task, backend, options.tokenizer, &mut notes);
        let statistics = DatasetStatistics::of(task, datasets, options.max_samples, &tokens, &mut notes);
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
        // A component may answer itself, and the model may call no tool.
        let reply_of = |role: &RoleAdapterSpec| completion_tokens(&role.sampling_params);
        for planned in task.support.iter().filter(|planned| !planned.role.backend_id.is_empty()) {
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
            notes.push("what support steps put before the model is not counted".to_owned());
        }
        if let Some(embed) = &task.embed {
            let (calls, none) = (Range::new(samples, samples), Range::default());
            requests.push(estimate("embed", &embed.role, calls, completion, none));
            notes.push("the references that answers are compared with by `embed` are not counted".to_owned());
        }
        if let Some(judges) = &task.judges {
            let overhead = JUDGE_PROMPT_BYTES / BYTES_PER_TOKEN;
            let judged = Range::new(prompt.low + overhead, prompt.high + overhead) + completion;
            for judge in &judges.judges {
                let calls = Range::new(samples, samples * f64::from(judges.attempts));
                requests.push(estimate("judge", &judge.role, calls, judged, reply_of(&judge.role)));
            }
        }
        // Judges are asked while the model answers further samples, but not where one waits for the other.
        let seconds = requests.iter().map(|request| request.seconds);
        let seconds = match spec.mode {
            LoopMode::Sequential => seconds.fold(Range::default(), Add::add),
            LoopMode::FireAndForget => seconds.fold(Range::default(), elementwise_max),
        };
        TaskEstimate {
            task_id: spec.task_id.clone(),
            dataset_id: spec.dataset_id.clone(),
            samples: statistics.samples,
            is_at_least: statistics.is_at_least,
            repeat: spec.repeat,
            tokens_by: tokens.by(),
            requests,
            seconds,
            notes,
        }
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
        let rounds = |requests: f64| (requests / in_flight as f64).ceil();
        let (least, most) = options.latency;
        RequestEstimate {
            step,
            adapter_id: role.adapter_id.clone(),
            backend_id: role.backend_id.clone(),
            requests,
            prompt_tokens,
            completion_tokens,
            cost,
            in_flight,
            seconds: Range::new(rounds(requests.low) * least, rounds(requests.high) * most),
        }
    }
}

/// The tokens of a completion with these parameters.
fn completion_tokens(params: &SamplingParams) -> Range {
    let most = params.max_new_tokens.map_or(DEFAULT_COMPLETION_TOKENS, f64::from);
    Range::new((most * MIN_COMPLETION_SHARE).max(1.0), most)
}

/// What a role does.
struct WorkEstimate {
    requests: Range,
    /// Tokens of one prompt.
    per_prompt: Range,
    /// Tokens of one completion.
    per_completion: Range,
}

/// Returns how many requests of a role are in flight at most, as far as the suite says it.
fn in_flight(
    config: &PipelineConfig,
    role: &RoleAdapterSpec,
    task: &PlannedTask,
    options: &EstimateOptions<'_>,
) -> u64 {
    if task.spec.mode == LoopMode::Sequential {
        return 1;
    }
    let of_backend = config.backend_of(role).and_then(gage_config::BackendSpec::most_requests);
    let bounds = [of_backend, role.pool_size, task.spec.max_inflight];
    let of_task = task.spec.concurrency.filter(|_| role.adapter_id == task.role.adapter_id);
    let least = bounds.into_iter().chain([of_task]).flatten().fold(options.concurrency, usize::min);
    least.max(1) as u64
}

fn elementwise_max(one: Range, other: Range) -> Range {
    Range::new(one.low.max(other.low), one.high.max(other.high))
}

/// Returns how long tasks take, so many at a time, where those that ask the same role share its requests in flight.
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
    // Tasks at a time stay far below 2^53.
    let share = parallelism as f64;
    let shared = Range::new(one_by_one.low / share, one_by_one.high / share);
    let of_tasks = tasks.iter().map(|task| task.seconds);
    roles.into_iter().map(estimate_requests).chain(of_tasks).fold(shared, elementwise_max)
}

/// What the rows of a task show.
struct DatasetStatistics {
    samples: Option<u64>,
    is_at_least: bool,
    /// Tokens of a prompt, on average.
    prompt_tokens: f64,
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
        let unknown = DatasetStatistics { samples: None, is_at_least: false, prompt_tokens: 0.0 };
        let Some(dataset) = datasets.get(&task.spec.dataset_id) else {
            let reason = datasets.why_missing(&task.spec.dataset_id);
            notes.push(format!("the data is not on this machine, so nothing of it is counted: {reason}"));
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
        let total = rows.total();
        let (samples, is_at_least) = match total {
            Some(total) => (total, false),
            None => {
                let mut count = 0;
                for row in rows.take(usize::try_from(MAX_COUNTED_ROWS).unwrap_or(usize::MAX)) {
                    if let Err(error) = row {
                        notes.push(format!("the data cannot be read to its end: {error}"));
                        break;
                    }
                    count += 1;
                }
                (count, count == MAX_COUNTED_ROWS)
            }
        };
        let (mut counted, mut seen, mut media, mut invalid) = (0.0, 0.0, 0_u64, 0_u64);
        if let Ok(rows) = dataset.open_as(spec, Some(most.unwrap_or(MAX_SAMPLED_ROWS).min(MAX_SAMPLED_ROWS)))
        {
            stream(rows, &dataset.preparation_of(&task.dataset), 1, &|| false, |prepared| {
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
            notes.push(format!("{invalid} of the first rows are no Samples, or have no prompt"));
        }
        let prompt_tokens = if seen > 0.0 { counted / seen } else { 0.0 };
        DatasetStatistics { samples: Some(samples), is_at_least, prompt_tokens }
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
            repeat: 1,
            tokens_by: TokensBy::Bytes,
            requests: vec![request],
            seconds: range,
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

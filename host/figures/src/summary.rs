//! `summary.json`: the figures of a run, with the same bytes for every run with the same answers.

use crate::figure::FigureSet;
use crate::judges::JudgeTally;
use crate::served::ServedTally;
use crate::slicing::max_slices_of;
use crate::{
    Completeness, CustomAggregators, FiguresError, JudgeFigure, MetricFigure, PromptDescription, ServedModel,
    SliceFigure, TaskCompleteness, TaskDescription, UnfoundPath,
};
use gage_core::{JsonView, ModelOutput, OTHER_LABEL, Object, Outcome, OutcomeCounts, Usage};
use gage_record::format::SUMMARY_FILE;
use gage_record::{RecordView, RecordedPlugin};
use indexmap::IndexMap;
use itertools::Itertools as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Version of `summary.json`. 1: the first version.
pub const SUMMARY_VERSION: u32 = 1;

/// Number of samples, and their outcomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleFigures {
    /// Number of all samples, including those that a stopped run did not reach.
    pub total: u64,
    /// Number of samples by outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Number of samples that the run did not reach, because it was stopped first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_reached: u64,
    /// True if there is an unknown number of samples beyond `total`, because the run was stopped before it had read them
    /// all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total_is_least: bool,
    /// Scored over total; 0 if there are none. An upper bound if `total_is_least`.
    pub coverage: f64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SampleFigures {
    fn new(counts: &OutcomeCounts, not_reached: u64, total_is_least: bool) -> SampleFigures {
        let total = counts.total() + not_reached;
        SampleFigures {
            total,
            outcomes: counts.occurred().collect(),
            not_reached,
            total_is_least,
            // Counts of samples stay far below 2^53.
            coverage: if total == 0 { 0.0 } else { counts.get(Outcome::Scored) as f64 / total as f64 },
        }
    }

    /// Returns the number of samples that the run reached.
    pub fn reached(&self) -> u64 {
        self.total - self.not_reached.min(self.total)
    }
}

/// Token usage of the model, as far as the backend reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenFigures {
    /// Tokens of all prompts.
    pub prompt_tokens: u64,
    /// Tokens of all completions.
    pub completion_tokens: u64,
}

/// The figures of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// The task.
    pub task_id: String,
    /// The dataset that it ran over.
    pub dataset_id: String,
    /// The samples.
    pub samples: SampleFigures,
    /// The metrics, in the order of the suite.
    pub metrics: Vec<MetricFigure>,
    /// The tokens.
    pub usage: TokenFigures,
    /// The prompts of its roles, with their versions; prompts by components are only in the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<PromptDescription>,
    /// The sampling parameters that were sent if a Sample had none of its own.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub sampling_params: Object,
    /// Reply counts of its judges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeFigure>,
    /// The models that answered, as their servers name them. More than one is a change during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<ServedModel>,
    /// Paths of the suite that have no value in any sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfound: Vec<UnfoundPath>,
}

impl TaskSummary {
    /// Returns the completeness of the task.
    pub fn completeness(&self) -> TaskCompleteness {
        match (self.samples.total_is_least, self.samples.not_reached) {
            (true, _) => TaskCompleteness::Unknown,
            (false, 0) => TaskCompleteness::Whole,
            (false, _) => TaskCompleteness::Of(self.samples.total),
        }
    }

    /// Returns a message for each path of `slices` that has more values than figures are made for.
    pub fn crowded_slices(&self) -> Vec<String> {
        // All metrics of a task have the same slices.
        let slices = self.metrics.first().map(|figure| figure.slices.as_slice()).unwrap_or_default();
        let message = |of_path: &[SliceFigure]| {
            let other = of_path.iter().find(|slice| slice.key == OTHER_LABEL)?;
            let (path, kept) = (&other.by, of_path.len() - 1);
            Some(format!(
                "`{path}` (slices) has more than {kept} values; samples with other values are counted as \
                 `{OTHER_LABEL}`; name a path with fewer values, or fewer paths"
            ))
        };
        slices.chunk_by(|one, other| one.by == other.by).filter_map(message).collect()
    }
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this file's format.
    pub format_version: u32,
    /// The samples of all tasks.
    pub samples: SampleFigures,
    /// The tasks, in the order of the suite.
    pub tasks: Vec<TaskSummary>,
    /// The metrics of all tasks.
    pub metrics: Vec<MetricFigure>,
    /// The plugins that did not come with the program, with their sources and signers. No figure depends on them, and no
    /// comparison reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<RecordedPlugin>,
}

impl Summary {
    /// Returns the content of `summary.json`.
    ///
    /// # Errors
    /// None in practice; JSON can represent every summary.
    pub fn to_json(&self) -> Result<String, FiguresError> {
        to_json(SUMMARY_FILE, self)
    }

    /// Reads the content of `summary.json`; unknown keys are ignored.
    ///
    /// # Errors
    /// If it is not a summary, or has a newer format.
    pub fn from_value(value: Value) -> Result<Summary, FiguresError> {
        from_value(SUMMARY_FILE, SUMMARY_VERSION, value)
    }
}

pub(crate) fn to_json(file: &'static str, figures: &impl Serialize) -> Result<String, FiguresError> {
    let text = serde_json::to_string_pretty(figures);
    text.map(|text| text + "\n").map_err(|source| FiguresError::Write { file, source })
}

/// The part of a model output that the figures need.
#[derive(Deserialize)]
struct OutputFacts {
    usage: Option<TokenCounts>,
    /// A text, unless an extractor wrote it.
    #[serde(default)]
    served_model: Value,
    #[serde(default)]
    system_fingerprint: Value,
}

impl OutputFacts {
    /// Returns the facts of an output; `None` if there is none, or they cannot be read.
    fn of(output: JsonView<'_>) -> Option<OutputFacts> {
        match output {
            JsonView::Output(output) => {
                let named = |key: &str| output.extra.get(key).cloned().unwrap_or_default();
                let tokens = |usage: Usage| TokenCounts {
                    prompt_tokens: usage.prompt_tokens,
                    completion_tokens: usage.completion_tokens,
                };
                Some(OutputFacts {
                    usage: output.usage.map(tokens),
                    served_model: named(ModelOutput::SERVED_MODEL_KEY),
                    system_fingerprint: named(ModelOutput::FINGERPRINT_KEY),
                })
            }
            JsonView::Lazy(output) if !output.is_null() => output.read().ok(),
            JsonView::Json(output) => OutputFacts::deserialize(output).ok(),
            JsonView::Lazy(_) | JsonView::Recorded(_) | JsonView::Sample(_) => None,
        }
    }
}

/// Token counts of an answer. A missing count is 0: an extractor may have written the usage.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    prompt_tokens: u64,
    completion_tokens: u64,
}

pub(crate) fn from_value<T: serde::de::DeserializeOwned>(
    file: &'static str,
    supported: u32,
    value: Value,
) -> Result<T, FiguresError> {
    match value.get("format_version").and_then(Value::as_u64) {
        Some(found) if found > u64::from(supported) => {
            Err(FiguresError::NewerFormat { file, found, supported })
        }
        _ => serde_json::from_value(value).map_err(|source| FiguresError::Read { file, source }),
    }
}

/// Builds the figures of a run from its records, in one pass, in dataset order.
pub struct SummaryBuilder<'a> {
    tasks: IndexMap<String, TaskBuilder<'a>>,
    outcomes: OutcomeCounts,
}

struct TaskBuilder<'a> {
    description: TaskDescription,
    outcomes: OutcomeCounts,
    metrics: FigureSet<'a>,
    usage: TokenFigures,
    served: ServedTally,
    judges: JudgeTally,
}

impl<'a> SummaryBuilder<'a> {
    /// Returns an empty builder for a run of these tasks. `aggregators` returns the custom aggregators; if there are none,
    /// use [`no_custom_aggregators`](crate::no_custom_aggregators).
    pub fn new(tasks: &[TaskDescription], aggregators: CustomAggregators<'a>) -> SummaryBuilder<'a> {
        let max_slices = max_slices_of(tasks);
        let builder = |task: &TaskDescription| TaskBuilder {
            description: task.clone(),
            outcomes: OutcomeCounts::default(),
            metrics: FigureSet::new(task, &task.metrics, aggregators).with_max_slices(max_slices),
            usage: TokenFigures::default(),
            served: ServedTally::default(),
            judges: JudgeTally::new(&task.judges),
        };
        let tasks = tasks.iter().map(|task| (task.task_id.clone(), builder(task))).collect();
        SummaryBuilder { tasks, outcomes: OutcomeCounts::default() }
    }

    /// Adds the next record. The records of a task must be in the order of their index, so that the
    /// repeats of a sample are adjacent.
    ///
    /// # Errors
    /// If the record has a task or a metric that was not described.
    pub fn add<'r>(&mut self, record: impl Into<RecordView<'r>>) -> Result<(), FiguresError> {
        let record = &record.into();
        let task = of_task(&mut self.tasks, record.task_id)?;
        self.outcomes.add(record.outcome);
        task.outcomes.add(record.outcome);
        let Some(OutputFacts { usage, served_model, system_fingerprint }) =
            OutputFacts::of(record.model_output)
        else {
            return task.add_rest(record);
        };
        let name = |value: &Value| value.as_str().map(str::to_owned);
        task.served.add(name(&served_model), name(&system_fingerprint));
        if let Some(usage) = usage {
            task.usage.prompt_tokens = task.usage.prompt_tokens.saturating_add(usage.prompt_tokens);
            task.usage.completion_tokens =
                task.usage.completion_tokens.saturating_add(usage.completion_tokens);
        }
        task.add_rest(record)
    }

    /// Replaces the parts of the descriptions that are known only at the end of a run: prompts and parameters.
    pub(crate) fn describe(&mut self, tasks: &[TaskDescription]) {
        for task in tasks {
            if let Some(builder) = self.tasks.get_mut(&task.task_id) {
                builder.description = task.clone();
            }
        }
    }

    /// Returns the figures, given the completeness of each task.
    pub fn finish(self, completeness: &Completeness) -> Summary {
        let finish = |(task_id, task): (String, TaskBuilder<'_>)| {
            task.finish(completeness.get(&task_id).copied().unwrap_or_default())
        };
        let tasks: Vec<TaskSummary> = self.tasks.into_iter().map(finish).collect();
        let not_reached = tasks.iter().map(|task| task.samples.not_reached).sum();
        let total_is_least = tasks.iter().any(|task| task.samples.total_is_least);
        Summary {
            format_version: SUMMARY_VERSION,
            samples: SampleFigures::new(&self.outcomes, not_reached, total_is_least),
            metrics: tasks.iter().flat_map(|task| task.metrics.iter().cloned()).collect(),
            tasks,
            plugins: Vec::new(),
        }
    }
}

impl TaskBuilder<'_> {
    /// Adds the parts of a record that do not depend on the model's output.
    fn add_rest(&mut self, record: &RecordView<'_>) -> Result<(), FiguresError> {
        if let Some(judge_output) = record.judge_output {
            self.judges.add(judge_output);
        }
        self.metrics.add(record.metrics, *record)
    }

    fn finish(self, reach: TaskCompleteness) -> TaskSummary {
        let TaskDescription { task_id, dataset_id, prompts, sampling_params, .. } = self.description;
        let not_reached = reach.missing(self.outcomes.total());
        let unfound = self.metrics.unfound_paths();
        let mut metrics = self.metrics.finish(reach);
        metrics.iter_mut().for_each(|figure| figure.invalidate(&unfound));
        TaskSummary {
            unfound,
            served: self.served.finish(),
            judges: self.judges.finish(),
            metrics,
            samples: SampleFigures::new(&self.outcomes, not_reached, reach == TaskCompleteness::Unknown),
            task_id,
            dataset_id,
            usage: self.usage,
            prompts,
            sampling_params,
        }
    }
}

/// Returns the builder for the task of a record.
pub(crate) fn of_task<'b, T>(
    builders: &'b mut IndexMap<String, T>,
    task_id: &str,
) -> Result<&'b mut T, FiguresError> {
    let Some(position) = builders.get_index_of(task_id) else {
        let known = builders.keys().sorted_unstable().join(", ");
        return Err(FiguresError::UnknownTask { task_id: task_id.to_owned(), known });
    };
    Ok(&mut builders[position])
}

#[cfg(test)]
mod tests;

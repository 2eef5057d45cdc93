//! The figure of one metric of one task.

mod builder;
mod counts;
mod set;
mod tally;

pub(crate) use set::FigureSet;

use crate::{Aggregation, Interval, NamedFigure, Scale};
use gage_core::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A metric's result over a task. Only results that are scored and hold a primary score enter
/// the value, the error and the sub-scores; of [`Aggregation::PassRate`] those that say whether the
/// sample passed, of [`Aggregation::Categorical`] also those with a `detail.category`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFigure {
    /// The task.
    pub task_id: String,
    /// The metric's id in the suite.
    pub metric_id: String,
    /// What computed it.
    pub implementation: String,
    /// Version of the form of answers and score cards.
    pub schema_version: String,
    /// Version of the scoring.
    pub scorer_version: String,
    /// Version of what writes the prompts of the task: the name of each prompt or component with the beginning of its
    /// digest, joined by `+`; empty if nothing writes any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt_version: String,
    /// How the scores became one value.
    pub aggregation: Aggregation,
    /// The name of the primary score.
    pub value_name: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Least and largest score that there can be; absent if the metric does not declare both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// The value; null when nothing was scored, for `identity` and `categorical`, and where
    /// [`MetricFigure::error`] says why.
    pub value: Option<f64>,
    /// How many samples were scored; one that was repeated counts once.
    pub n: u64,
    /// How many samples there are, those too that a run which was stopped did not come to.
    pub total: u64,
    /// Scored records over all records; 0 when there are none. Without repeats `n / total`.
    pub coverage: f64,
    /// Whether there are more samples than `total`, and nobody knows how many: the run was stopped before it had read them
    /// all. The coverage is at most what is said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total_is_least: bool,
    /// How often each sample was asked; its score is the mean over those that were scored.
    pub repeats: u64,
    /// The standard error of the value; null where it is unknown.
    pub stderr: Option<f64>,
    /// The confidence interval of the value; null where it is unknown.
    pub interval: Option<Interval>,
    /// How many clusters the scored samples come in; absent where the suite names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// Further figures, by name.
    pub sub_scores: Vec<SubFigure>,
    /// Why scores are low, the most frequent reason first.
    pub error_tags: Vec<TagCount>,
    /// How the metric ended, over all records. One that never came to the metric counts by
    /// its own end; a result that has nothing to enter the value counts as skipped.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Of `categorical`, how often each category occurs: the most frequent first, then by name,
    /// and those beyond the first 1,000 that occur as `(other)` at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryCount>,
    /// What a custom aggregator gave; the first of them is the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<NamedFigure>,
    /// The same for parts of the samples, in the order of the task's paths, then by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceFigure>,
    /// Why there is no value although samples were scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl MetricFigure {
    /// Returns whether the run was stopped before it had come to all samples: then each slice may have more than
    /// it says, and its
    /// coverage is at most what is said, since nobody knows which slices those samples are in that are left.
    pub fn has_more_in_slices(&self) -> bool {
        let records: u64 = self.outcomes.values().sum();
        self.total_is_least || records < self.total.saturating_mul(self.repeats)
    }
}

/// A further figure of a metric, aggregated as its primary score is; by the mean where that is by
/// `pass_rate`, `categorical` or a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubFigure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Option<f64>,
    /// How many samples have it.
    pub n: u64,
    /// Least and largest value that there can be; absent if the metric does not declare both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

/// How often a reason was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCount {
    /// The reason.
    pub tag: String,
    /// How often.
    pub count: u64,
}

/// How often a category occurs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryCount {
    /// The category.
    pub name: String,
    /// In how many records.
    pub count: u64,
    /// Of all records that have a category.
    pub share: f64,
}

/// The figure of the samples that have one value under a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceFigure {
    /// The path.
    pub by: String,
    /// The value; `(none)` for samples without one, `(other)` for values beyond the first 1,000.
    pub key: String,
    /// As in [`MetricFigure`].
    pub value: Option<f64>,
    /// As in [`MetricFigure`].
    pub n: u64,
    /// As in [`MetricFigure`].
    pub total: u64,
    /// As in [`MetricFigure`].
    pub coverage: f64,
    /// As in [`MetricFigure`].
    pub stderr: Option<f64>,
    /// As in [`MetricFigure`].
    pub interval: Option<Interval>,
    /// As in [`MetricFigure`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[cfg(test)]
mod tests;

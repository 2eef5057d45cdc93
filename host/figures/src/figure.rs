//! The figure of one metric of one task.

mod builder;
mod counts;
mod set;
mod slice_mean;
mod tally;
mod units;

pub(crate) use set::FigureSet;
pub use slice_mean::SliceMean;

use crate::{Aggregation, Interval, NamedFigure, Resamples, Scale, UnfoundPath};
use gage_core::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A metric's result over a task.
///
/// Only scored results with a primary score enter the value, the error and the sub-scores. For [`Aggregation::PassRate`],
/// these are the results that report whether the sample passed; for [`Aggregation::Categorical`], also those with a
/// `detail.category`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFigure {
    /// The task.
    pub task_id: String,
    /// The metric's id in the suite.
    pub metric_id: String,
    /// The implementation that computed it.
    pub implementation: String,
    /// Version of the schema of answers and score cards.
    pub schema_version: String,
    /// Version of the scoring.
    pub scorer_version: String,
    /// Version of the task's prompts: the name of each prompt or component with the beginning of its digest, joined by `+`;
    /// empty without prompts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt_version: String,
    /// Aggregation of the scores into one value.
    pub aggregation: Aggregation,
    /// The name of the primary score.
    pub value_name: String,
    /// True if a higher value is better.
    pub higher_is_better: bool,
    /// Smallest and largest possible score; absent if the metric does not declare both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// The value; null if nothing was scored, for `identity` and `categorical`, and if
    /// [`MetricFigure::error`] is set.
    pub value: Option<f64>,
    /// Number of scored samples; a repeated sample counts once.
    pub n: u64,
    /// Number of all samples, including those that a stopped run did not reach.
    pub total: u64,
    /// Scored records over all records; 0 if there are none. Without repeats, `n / total`.
    pub coverage: f64,
    /// True if there is an unknown number of samples beyond `total`, because the run was stopped before it had read them
    /// all. The coverage is then an upper bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total_is_least: bool,
    /// Number of repeats of each sample; its score is the mean over the scored ones.
    pub repeats: u64,
    /// The standard error of the value; null if unknown.
    pub stderr: Option<f64>,
    /// The confidence interval of the value; null if unknown.
    pub interval: Option<Interval>,
    /// Number of clusters of the scored samples; absent if the suite defines none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// The sub-scores, by name.
    pub sub_scores: Vec<SubFigure>,
    /// Reasons for low scores, the most frequent first.
    pub error_tags: Vec<TagCount>,
    /// Outcomes of the metric over all records. A record that never reached the metric counts by its own
    /// outcome; a result that does not enter the value counts as skipped.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Counts of each category, for `categorical`: the most frequent first, then by name. Those beyond the
    /// first 1,000 that occur are `(other)`, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryCount>,
    /// Figures of a custom aggregator; the first is the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<NamedFigure>,
    /// Reason why the value of a component has no bootstrap replicates, although the component can resample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_resamples: Option<String>,
    /// Replicates of the value, which are in `resamples.json`; `None` if it was not resampled.
    #[serde(skip)]
    pub resamples: Option<Resamples>,
    /// Figures of slices of the samples, in the order of the task's paths, then by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceFigure>,
    /// The mean over the slices of each path that has at least two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slice_means: Vec<SliceMean>,
    /// Reason why there is no value although samples were scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl MetricFigure {
    /// Returns whether the run was stopped before it had reached all samples.
    ///
    /// The slices of the remaining samples are unknown. So each slice may have more samples than it lists, and its coverage
    /// is an upper bound.
    pub fn has_more_in_slices(&self) -> bool {
        let records: u64 = self.outcomes.values().sum();
        self.total_is_least || records < self.total.saturating_mul(self.repeats)
    }

    /// Returns whether the metric found nothing to score in any answer. Its 0 then says nothing about the model.
    pub fn has_no_prediction(&self) -> bool {
        let scored = self.outcomes.get(&Outcome::Scored).copied().unwrap_or(0);
        let tagged = self.error_tags.iter().find(|tag| tag.tag == NO_PREDICTION_TAG);
        scored > 0 && tagged.is_some_and(|tag| tag.count >= scored)
    }

    /// Removes the value if the metric could not read its input in any sample, and gives the reason.
    pub(crate) fn invalidate(&mut self, unfound: &[UnfoundPath]) {
        let is_own = |path: &&UnfoundPath| {
            let own = path.key.strip_prefix(&self.metric_id).is_some_and(|rest| rest.starts_with('.'));
            own && path.is_of_metric()
        };
        let reason = match unfound.iter().find(is_own) {
            Some(path) => path.to_string(),
            None if self.has_no_prediction() => {
                format!("no answer of {} has a prediction for this metric", self.n)
            }
            None => return,
        };
        self.value = None;
        self.stderr = None;
        self.interval = None;
        self.error = Some(reason);
        for slice in &mut self.slices {
            *slice = SliceFigure { value: None, stderr: None, interval: None, ..slice.clone() };
        }
        for mean in &mut self.slice_means {
            *mean = SliceMean { value: None, stderr: None, interval: None, ..mean.clone() };
        }
    }
}

/// The tag of a card whose metric found no prediction in the answer.
const NO_PREDICTION_TAG: &str = "missing_prediction";

/// A sub-score of a metric, aggregated like its primary score, or by the mean if that is aggregated by
/// `pass_rate`, `categorical` or a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubFigure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Option<f64>,
    /// Number of samples that have it.
    pub n: u64,
    /// True if a higher value is better, as the metric declares; absent if it declares nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub higher_is_better: Option<bool>,
    /// Smallest and largest possible value; absent if the metric does not declare both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

/// Count of an error tag, a reason for low scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// Number of occurrences.
    pub count: u64,
}

/// Count of a category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryCount {
    /// The category.
    pub name: String,
    /// Number of records in the category.
    pub count: u64,
    /// Share of the records that have a category.
    pub share: f64,
}

/// The figure of the samples that share a value at a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceFigure {
    /// The path.
    pub by: String,
    /// The value; `(none)` for samples without one, `(other)` for values beyond the first 1,000.
    pub key: String,
    /// See [`MetricFigure::value`].
    pub value: Option<f64>,
    /// See [`MetricFigure::n`].
    pub n: u64,
    /// See [`MetricFigure::total`].
    pub total: u64,
    /// See [`MetricFigure::coverage`].
    pub coverage: f64,
    /// See [`MetricFigure::stderr`].
    pub stderr: Option<f64>,
    /// See [`MetricFigure::interval`].
    pub interval: Option<Interval>,
    /// See [`MetricFigure::error`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[cfg(test)]
mod tests;

//! Descriptions of tasks and metrics, provided by a run before the first sample.

use crate::Aggregation;
use gage_core::Object;
use serde::{Deserialize, Serialize};

/// Smallest and largest possible score.
pub type Scale = [f64; 2];

/// The bounds of a score that declares none.
pub const UNBOUNDED: Scale = [f64::NEG_INFINITY, f64::INFINITY];

/// A metric of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDescription {
    /// The id in the suite.
    pub metric_id: String,
    /// The implementation that computes it.
    pub implementation: String,
    /// Version of the scoring, which changes whenever a score could change.
    pub scorer_version: String,
    /// Aggregation of the scores into one figure.
    pub aggregation: Aggregation,
    /// The name of the primary score: `acc`, `anls`.
    pub value_name: String,
    /// True if a higher score is better.
    pub higher_is_better: bool,
    /// True if scores that are all 0 or 1 are a proportion; lengths, or scores on a scale up to 100, are not.
    pub is_proportion: bool,
    /// Declared scales of its values, by name.
    pub scales: Vec<(String, Scale)>,
    /// Smallest and largest possible primary score; infinite where it declares no bound.
    pub bounds: Scale,
    /// Declared directions of its sub-scores, by name: true if higher is better.
    pub directions: Vec<(String, bool)>,
}

impl MetricDescription {
    /// Returns the bounds of a mean of primary scores. An aggregator's figure may be on another scale than the scores.
    pub(crate) fn bounds_of_means(&self) -> Scale {
        match &self.aggregation {
            Aggregation::PassRate => [0.0, 1.0],
            Aggregation::Custom(_) => UNBOUNDED,
            _ => self.bounds,
        }
    }

    /// Returns the scale of a value, if known; for a pass rate, it is from 0 to 1.
    pub(crate) fn scale_of(&self, name: &str) -> Option<Scale> {
        if self.aggregation == Aggregation::PassRate && name == self.value_name {
            return Some([0.0, 1.0]);
        }
        self.scales.iter().find(|(value, _)| value == name).map(|(_, scale)| *scale)
    }
}

/// A prompt of a task, with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDescription {
    /// The role whose requests it renders.
    pub adapter_id: String,
    /// The id in the suite.
    pub prompt_id: String,
    /// Digest of its templates and parameters, which changes whenever a request could change.
    pub digest: String,
}

/// A task of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskDescription {
    /// The id.
    pub task_id: String,
    /// The dataset that it runs over.
    pub dataset_id: String,
    /// The metrics, in the order of the suite.
    pub metrics: Vec<MetricDescription>,
    /// The metrics that read a clock; their figures are kept with the timings.
    pub timing_metrics: Vec<MetricDescription>,
    /// Paths of the Sample by whose values samples are sliced: `data_tag`, `metadata.subject`.
    /// A list puts a sample into the slice of each of its items, an object into one for each of its
    /// members (`difficulty=hard`). A sample without a value is in the slice `(none)`.
    pub slices: Vec<String>,
    /// The path of a value shared by dependent samples, such as the text that several questions are
    /// about. A sample without a value is a cluster of its own.
    pub cluster_by: Option<String>,
    /// Number of repeats of each sample. That many consecutive records are one sample, and the index of the
    /// first is a multiple of it. 0 counts as 1.
    pub repeat: u64,
    /// The prompts of its roles: the model under test, then the judges.
    pub prompts: Vec<PromptDescription>,
    /// The version of its prompts, as returned by [`gage_core::prompt_version`]; empty if unknown.
    pub prompt_version: String,
    /// Paths that the suite passes to its metrics, each with the parameter that holds it:
    /// `exact_match.label_field`.
    pub metric_paths: Vec<(String, String)>,
    /// The judges, by their ids.
    pub judges: Vec<String>,
    /// The sampling parameters that are sent if a Sample has none of its own; empty if the backend decides
    /// all of them.
    pub sampling_params: Object,
}

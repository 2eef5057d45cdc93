//! Descriptions of tasks and metrics, which a run gives before the first sample.

use crate::Aggregation;
use gage_core::Object;
use serde::{Deserialize, Serialize};

/// Least and largest value that a score can have.
pub type Scale = [f64; 2];

/// A metric of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDescription {
    /// The id in the suite.
    pub metric_id: String,
    /// What computes it.
    pub implementation: String,
    /// Version of the scoring, which changes whenever a score could.
    pub scorer_version: String,
    /// How scores become one figure.
    pub aggregation: Aggregation,
    /// The name of the primary score: `acc`, `anls`.
    pub value_name: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Whether scores of nothing but 0 and 1 are a proportion: those of a length, or on a scale to 100, are not.
    pub is_proportion: bool,
    /// The scales of its values, by name, of those that declare one.
    pub scales: Vec<(String, Scale)>,
}

impl MetricDescription {
    /// The scale of a value, where that is known: of what passes it is from 0 to 1.
    pub(crate) fn scale_of(&self, name: &str) -> Option<Scale> {
        if self.aggregation == Aggregation::PassRate && name == self.value_name {
            return Some([0.0, 1.0]);
        }
        self.scales.iter().find(|(value, _)| value == name).map(|(_, scale)| *scale)
    }
}

/// A prompt of a task, and which version of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDescription {
    /// The role whose requests it renders.
    pub adapter_id: String,
    /// The id in the suite.
    pub prompt_id: String,
    /// Digest of its templates and parameters, which changes whenever a request could.
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
    /// Paths of the Sample by whose values figures are also made: `data_tag`, `metadata.subject`.
    /// A list puts a sample into the slice of each of its items, an object into one for each of its
    /// members (`difficulty=hard`); without a value it is in the slice `(none)`.
    pub slices: Vec<String>,
    /// The path of what samples have in common that are not independent, such as the text that
    /// several questions are about. A sample without a value is a cluster of its own.
    pub cluster_by: Option<String>,
    /// How often each sample was asked: so many records, one after the other, are one sample, and
    /// the first of them has an index that this divides. 0 counts as 1.
    pub repeat: u64,
    /// The prompts of its roles: the model under test, then the judges.
    pub prompts: Vec<PromptDescription>,
    /// The version of what writes its prompts, as [`gage_core::prompt_version`] makes it; empty where it is not known.
    pub prompt_version: String,
    /// Paths that the suite gives its metrics, each with the parameter that holds it:
    /// `exact_match.label_field`.
    pub metric_paths: Vec<(String, String)>,
    /// The judges, by their ids.
    pub judges: Vec<String>,
    /// The sampling parameters that are sent where a Sample has none of its own; empty where the backend
    /// decides everything.
    pub sampling_params: Object,
}

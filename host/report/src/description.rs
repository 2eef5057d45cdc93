//! What a run says about its tasks and metrics before the first sample.

use crate::Aggregation;

/// A metric of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricDescription {
    /// Its id in the suite.
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
}

/// A task of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDescription {
    /// Its id.
    pub task_id: String,
    /// The dataset that it runs over.
    pub dataset_id: String,
    /// Its metrics, in the order of the suite.
    pub metrics: Vec<MetricDescription>,
    /// Its metrics that read a clock; their figures are kept with the timings.
    pub timing_metrics: Vec<MetricDescription>,
}

//! Records and descriptions for the tests of this crate and of its dependents.

use crate::{Aggregation, MetricDescription, TaskDescription, UNBOUNDED};
use gage_core::{MetricResult, Outcome, ScoreCard};
use gage_record::{SampleRecord, SampleTiming};
use serde_json::json;

/// A metric that is aggregated by the mean and declares no scale.
pub fn description(metric_id: &str) -> MetricDescription {
    MetricDescription {
        metric_id: metric_id.to_owned(),
        implementation: metric_id.to_owned(),
        scorer_version: "1".to_owned(),
        aggregation: Aggregation::Mean,
        value_name: "score".to_owned(),
        higher_is_better: true,
        is_proportion: true,
        scales: Vec::new(),
        bounds: UNBOUNDED,
        directions: Vec::new(),
    }
}

/// A task with the metrics `m` and `latency`.
pub fn task(task_id: &str) -> TaskDescription {
    TaskDescription {
        task_id: task_id.to_owned(),
        dataset_id: "data".to_owned(),
        metrics: vec![description("m")],
        timing_metrics: vec![description("latency")],
        slices: Vec::new(),
        cluster_by: None,
        repeat: 1,
        prompts: Vec::new(),
        prompt_version: String::new(),
        metric_paths: Vec::new(),
        judges: Vec::new(),
        sampling_params: gage_core::Object::new(),
    }
}

/// A metric's result for a sample with a score.
pub fn scored(metric_id: &str, score: f64) -> MetricResult {
    MetricResult {
        metric_id: metric_id.into(),
        schema_version: "".into(),
        scorer_version: "".into(),
        prompt_version: "".into(),
        outcome: Outcome::Scored,
        card: Some(ScoreCard { primary_score: Some(score), ..ScoreCard::default() }),
        error: None,
    }
}

/// A scored sample, asked once, with a latency of `latency_ms`.
pub fn sample(task_id: &str, index: u64, score: f64, latency_ms: f64) -> SampleRecord {
    SampleRecord {
        task_id: task_id.to_owned(),
        index,
        sample_id: format!("s-{index}"),
        row_digest: String::new(),
        outcome: Outcome::Scored,
        error: None,
        sample: json!({}).into(),
        row: None,
        support_output: None,
        model_output: Some(
            json!({"answer": "a", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}).into(),
        ),
        judge_output: None,
        metrics: vec![scored("m", score)],
        timing: SampleTiming { latency_ms, attempts: 1, ..SampleTiming::default() },
        timing_metrics: vec![scored("latency", latency_ms)],
    }
}

/// A sample that ended before it was scored.
pub fn failed(task_id: &str, index: u64, outcome: Outcome) -> SampleRecord {
    SampleRecord {
        outcome,
        model_output: None,
        metrics: Vec::new(),
        timing_metrics: Vec::new(),
        timing: SampleTiming { attempts: 4, ..SampleTiming::default() },
        ..sample(task_id, index, 0.0, 0.0)
    }
}

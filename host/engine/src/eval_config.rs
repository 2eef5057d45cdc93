//! What a Sample says about its own scoring: `eval_config`.
//!
//! ```json
//! {"metrics": {"exact_match": {"case_sensitive": true}, "contains": false}, "judge": {"strict": {"scale": [0, 10]}}}
//! ```
//!
//! The keys below `metrics` are ids of metrics, those below `judge` ids of judges; their parameters win over
//! those of the suite, and `false` leaves a metric out for this Sample. Ids that the suite does not have
//! are for other suites.

use gage_core::{Object, Problem, SampleDocument};
use serde_json::Value;

/// What a Sample changes about one metric.
pub(crate) enum Change<'s> {
    /// Nothing.
    None,
    /// It is left out.
    Skip,
    /// Some of its parameters.
    Params(&'s Object),
    /// Something that is neither.
    Invalid,
}

/// What a Sample changes about a metric.
pub(crate) fn of_metric<'s>(sample: &'s SampleDocument, metric_id: &str) -> Change<'s> {
    change(sample, "metrics", metric_id)
}

/// What a Sample changes about a judge, who cannot be left out.
pub(crate) fn of_judge<'s>(sample: &'s SampleDocument, judge_id: &str) -> Change<'s> {
    match change(sample, "judge", judge_id) {
        Change::Skip => Change::Invalid,
        change => change,
    }
}

fn change<'s>(sample: &'s SampleDocument, what: &str, id: &str) -> Change<'s> {
    let Some(changes) = sample.eval_config(what) else {
        return Change::None;
    };
    let Value::Object(changes) = changes else { return Change::Invalid };
    match changes.get(id) {
        None | Some(Value::Null | Value::Bool(true)) => Change::None,
        Some(Value::Bool(false)) => Change::Skip,
        Some(Value::Object(params)) if params.is_empty() => Change::None,
        Some(Value::Object(params)) => Change::Params(params),
        Some(_) => Change::Invalid,
    }
}

/// What is wrong with changed parameters, in one text.
pub(crate) fn wrong(what: &str, id: &str, problems: &[Problem]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("eval_config.{what}.{id}: {}", problems.join("; "))
}

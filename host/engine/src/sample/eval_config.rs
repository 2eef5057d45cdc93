//! A Sample's settings for its own scoring: `eval_config`.
//!
//! ```json
//! {"metrics": {"exact_match": {"case_sensitive": true}, "contains": false}, "judge": {"strict": {"scale": [0, 10]}}}
//! ```
//!
//! The keys below `metrics` are metric ids, and those below `judge` are judge ids. Their parameters override the
//! suite's, and `false` skips a metric for this Sample. Ids that the suite does not have may be for other suites; the first
//! rows are checked for them, which gives a warning.

use gage_core::{FieldError, Object, Sample, SampleView};
use serde_json::Value;

/// A Sample's override of one metric or judge.
pub(crate) enum ParamOverride<'s> {
    /// No override.
    None,
    /// The metric is skipped.
    Skip,
    /// Some of its parameters.
    Params(&'s Object),
    /// An invalid value.
    Invalid,
}

/// Returns a Sample's override of a metric.
pub(crate) fn of_metric<'s>(sample: &'s SampleView, metric_id: &str) -> ParamOverride<'s> {
    param_override(sample, "metrics", metric_id)
}

/// Returns a Sample's override of a judge, which cannot be skipped.
pub(crate) fn of_judge<'s>(sample: &'s SampleView, judge_id: &str) -> ParamOverride<'s> {
    match param_override(sample, "judge", judge_id) {
        ParamOverride::Skip => ParamOverride::Invalid,
        change => change,
    }
}

fn param_override<'s>(sample: &'s SampleView, what: &str, id: &str) -> ParamOverride<'s> {
    let Some(changes) = sample.eval_config(what) else {
        return ParamOverride::None;
    };
    let Value::Object(changes) = changes else { return ParamOverride::Invalid };
    match changes.get(id) {
        None | Some(Value::Null | Value::Bool(true)) => ParamOverride::None,
        Some(Value::Bool(false)) => ParamOverride::Skip,
        Some(Value::Object(params)) if params.is_empty() => ParamOverride::None,
        Some(Value::Object(params)) => ParamOverride::Params(params),
        Some(_) => ParamOverride::Invalid,
    }
}

/// Returns the ids that Samples override and that are neither a metric nor a judge of their task, each once.
pub(crate) fn unknown_ids<'s>(
    samples: impl Iterator<Item = &'s Sample>,
    metrics: &[&str],
    judges: &[&str],
) -> Vec<String> {
    let mut unknown = Vec::new();
    for sample in samples {
        for (kind, known) in [("metrics", metrics), ("judge", judges)] {
            let ids =
                sample.eval_config.get(kind).and_then(Value::as_object).into_iter().flat_map(Object::keys);
            for id in ids.filter(|id| !known.contains(&id.as_str())) {
                let shown = format!("{kind}.{id}");
                if !unknown.contains(&shown) {
                    unknown.push(shown);
                }
            }
        }
    }
    unknown
}

/// Describes the problems of overridden parameters in one text.
pub(crate) fn describe_problems(what: &str, id: &str, problems: &[FieldError]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("eval_config.{what}.{id}: {}", problems.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn unknown_ids_are_named_once() {
        let sample = |config: Value| {
            let messages = json!([{"role": "user", "content": "q"}]);
            let row = json!({"schema_version": "v1", "id": "a", "messages": messages, "references": [],
                "eval_config": config});
            Sample::from_value(row).unwrap()
        };
        let samples = [
            sample(json!({"metrics": {"known": false, "other": {}}})),
            sample(json!({"metrics": {"other": {}}, "judge": {"x": {}, "strict": {}}})),
        ];
        assert_eq!(unknown_ids(samples.iter(), &["known"], &["strict"]), ["metrics.other", "judge.x"]);
    }

    fn describe(change: &ParamOverride<'_>) -> String {
        match change {
            ParamOverride::None => "none".to_owned(),
            ParamOverride::Skip => "skip".to_owned(),
            ParamOverride::Params(params) => json!(params).to_string(),
            ParamOverride::Invalid => "invalid".to_owned(),
        }
    }

    #[test]
    fn a_sample_overrides_parameters_or_leaves_a_metric_out() {
        for (own, of_metric_expected, of_judge_expected) in [
            (json!(null), "none", "none"),
            (json!({}), "none", "none"),
            (json!({"m": null}), "none", "none"),
            (json!({"m": true}), "none", "none"),
            (json!({"m": {}}), "none", "none"),
            (json!({"other": false}), "none", "none"),
            (json!({"m": false}), "skip", "invalid"),
            (json!({"m": {"a": 1}}), r#"{"a":1}"#, r#"{"a":1}"#),
            (json!({"m": 1}), "invalid", "invalid"),
            (json!(["m"]), "invalid", "invalid"),
        ] {
            let config = match &own {
                Value::Null => json!({}),
                own => json!({"metrics": own, "judge": own}),
            };
            let sample = SampleView::Json(Arc::new(json!({ "eval_config": config })));
            assert_eq!(describe(&of_metric(&sample, "m")), of_metric_expected, "{own}");
            assert_eq!(describe(&of_judge(&sample, "m")), of_judge_expected, "{own}");
        }
    }
}

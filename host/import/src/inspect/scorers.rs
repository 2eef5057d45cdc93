//! Scorers of Inspect, and the metrics that take their place.

use crate::python_name::{plugin_command, plugin_file};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// The counterpart of a scorer.
pub(super) struct Counterpart {
    /// The entry of `metrics`.
    pub(super) metric: Mapping,
    /// The extractor that it needs.
    pub(super) extractor: Option<Tree>,
    /// The difference, if there is one.
    pub(super) difference: Option<String>,
    /// The command of the next step, if a person has to write the metric.
    pub(super) command: Option<String>,
}

/// Returns the counterpart of a scorer with its options. `id` is the name of its score.
pub(super) fn counterpart(id: &str, name: &str, options: &Value) -> Counterpart {
    let last = name.rsplit('/').next().unwrap_or(name);
    let keeps_case = options["ignore_case"] == Value::Bool(false);
    let case: &[(&str, bool)] = if keeps_case { &[("case_sensitive", true)] } else { &[] };
    let found = |implementation: &str, params: &[(&str, bool)], difference: Option<&str>| Counterpart {
        metric: metric(id, implementation, params),
        extractor: None,
        difference: difference.map(str::to_owned),
        command: None,
    };
    match last {
        "includes" => found("contains", case, None),
        "exact" => found(
            "exact_match",
            &[("any_reference", true)],
            Some("`exact` of Inspect also ignores punctuation and articles"),
        ),
        "f1" => found("token_f1", &[], None),
        "choice" => found("multi_choice_accuracy", &[], None),
        "math" => found("math_equal", &[], None),
        "match" if options["numeric"] == Value::Bool(true) => Counterpart {
            extractor: Some(Tree::text("last_number")),
            ..found("numeric_match", &[], Some("`match` of Inspect compares the last number, or the first"))
        },
        "match" => found(
            "contains",
            case,
            Some("`match` of Inspect wants the reference at the end, or at the beginning"),
        ),
        "model_graded_qa" | "model_graded_fact" => {
            let difference = format!(
                "`{last}` of Inspect asks a judge: add a role of type `judge_model` and the step \
                                      `judge`"
            );
            Counterpart {
                difference: Some(difference),
                command: Some("docs/guides/llm-judge.md".to_owned()),
                ..found("judge_score", &[], None)
            }
        }
        _ => Counterpart {
            metric: metric(id, &plugin_file(id), &[]),
            extractor: None,
            difference: Some(format!("the scorer `{last}` has no counterpart")),
            command: Some(plugin_command(id, "metric")),
        },
    }
}

fn metric(id: &str, implementation: &str, params: &[(&str, bool)]) -> Mapping {
    let mut metric = Mapping::default();
    metric.set("metric_id", Tree::text(id));
    if id != implementation {
        metric.set("implementation", Tree::text(implementation));
    }
    if !params.is_empty() {
        let mut mapping = Mapping::default();
        params.iter().for_each(|(key, value)| mapping.set(key, Tree::Scalar((*value).into())));
        metric.set("params", Tree::Map(mapping));
    }
    metric
}

//! Effect of overrides: the suite values that change the scores of existing answers.

use serde_json::Value;
use std::collections::BTreeSet;

/// Values of the document that affect rescoring, or are only informational.
const OF_DOCUMENT: [&str; 4] = ["metrics", "plugins", "gate", "metadata"];
/// Values of tasks and their shared settings. `repeat` has its own error message.
const OF_TASKS: [&str; 5] = ["metric_overrides", "slices", "cluster_by", "min_coverage", "repeat"];
/// Steps that follow the answers.
const STEPS: [&str; 3] = ["extract", "auto_eval", "report"];

/// Returns the first key, in sorted order, whose values differ without an effect on scores.
pub(super) fn without_effect(before: &Value, after: &Value) -> Option<String> {
    keys(before, after).into_iter().filter(|key| !OF_DOCUMENT.contains(key)).find_map(|key| {
        let (before, after) = (&before[key], &after[key]);
        match key {
            "custom" | "builtin" => of_settings(before, after).map(|inner| format!("{key}.{inner}")),
            "tasks" => of_tasks(before, after),
            _ => (before != after).then(|| key.to_owned()),
        }
    })
}

fn of_tasks(before: &Value, after: &Value) -> Option<String> {
    let list = |tasks: &Value| tasks.as_array().cloned().unwrap_or_default();
    let (before, after) = (list(before), list(after));
    let ids = |tasks: &[Value]| tasks.iter().map(|task| task["task_id"].clone()).collect::<Vec<_>>();
    if ids(&before) != ids(&after) {
        return Some("tasks".to_owned());
    }
    before.iter().zip(&after).find_map(|(before, after)| {
        let id = before["task_id"].as_str().unwrap_or_default();
        of_settings(before, after).map(|inner| format!("tasks.{id}.{inner}"))
    })
}

fn of_settings(before: &Value, after: &Value) -> Option<String> {
    keys(before, after).into_iter().filter(|key| !OF_TASKS.contains(key)).find_map(|key| {
        let is_other = match key {
            "steps" => asking(&before[key]) != asking(&after[key]),
            _ => before[key] != after[key],
        };
        is_other.then(|| key.to_owned())
    })
}

/// Returns the steps that produce answers, or send requests about them.
fn asking(steps: &Value) -> Vec<&Value> {
    let is_after_answers = |step: &&Value| STEPS.iter().any(|name| step["step"] == *name);
    steps.as_array().into_iter().flatten().filter(|step| !is_after_answers(step)).collect()
}

fn keys<'value>(before: &'value Value, after: &'value Value) -> BTreeSet<&'value str> {
    let members = [before, after].into_iter().filter_map(Value::as_object);
    members.flat_map(|members| members.keys().map(String::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_no_effect_is_found() {
        let suite = || {
            json!({
                "metrics": ["exact_match"],
                "custom": {"steps": [{"step": "inference"}, {"step": "judge", "combine": "mean"}, {"step": "auto_eval"}]},
                "tasks": [{"task_id": "t", "dataset_id": "d"}],
                "datasets": [{"dataset_id": "d"}],
            })
        };
        for (pointer, key, value, expected) in [
            ("", "metrics", json!(["contains"]), None),
            ("", "gate", json!([]), None),
            ("/custom", "slices", json!(["label"]), None),
            ("/tasks/0", "metric_overrides", json!(["contains"]), None),
            ("/custom", "repeat", json!(2), None),
            ("/custom", "max_samples", json!(5), Some("custom.max_samples")),
            ("/tasks/0", "score_outcomes", json!([]), Some("tasks.t.score_outcomes")),
            ("/tasks/0", "task_id", json!("other"), Some("tasks")),
            ("/custom/steps/1", "combine", json!("vote"), Some("custom.steps")),
            ("/custom/steps/2", "step", json!("report"), None),
            ("/datasets/0", "filter", json!({}), Some("datasets")),
            ("", "budget", json!({}), Some("budget")),
        ] {
            let (before, mut after) = (suite(), suite());
            if let Some(place) = after.pointer_mut(pointer) {
                place[key] = value;
            }
            assert_eq!(without_effect(&before, &after).as_deref(), expected, "{pointer} {key}");
        }
    }
}

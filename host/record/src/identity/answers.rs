//! The part of an identity that determines the answers of a run, without that of their judges and scores.

use super::{HostIdentity, RunIdentity};
use serde_json::Value;
use std::collections::BTreeSet;

/// Sections that only score answers.
const SECTIONS: [&str; 3] = ["metrics", "gate", "plugins"];
/// Keys of tasks that only score answers.
const KEYS: [&str; 5] = ["metric_overrides", "slices", "cluster_by", "min_coverage", "score_outcomes"];
/// Steps after the answer.
const STEPS: [&str; 5] = ["embed", "judge", "extract", "auto_eval", "report"];

impl RunIdentity {
    /// Returns the part that determines the answers: datasets, support roles and the models under test. Two runs whose
    /// parts are equal may exchange their answers.
    pub fn of_answers(&self) -> RunIdentity {
        let mut config = self.config.clone();
        if let Value::Object(sections) = &mut config {
            sections.retain(|name, _| !SECTIONS.contains(&name.as_str()));
        }
        for settings in ["custom", "builtin"] {
            leave_answers(&mut config[settings]);
        }
        config["tasks"].as_array_mut().into_iter().flatten().for_each(leave_answers);
        let roles = leave_roles(&mut config);
        let text = config.to_string();
        let removed = |place: &str| {
            let mut parts = place.split('.');
            match (parts.next(), parts.next()) {
                (Some("role_adapters"), Some(id)) => roles.judges.contains(id),
                (Some("backends"), Some(id)) => roles.judge_backends.contains(id),
                (Some("prompts"), Some(id)) => roles.judge_prompts.contains(id),
                (Some(section), _) => SECTIONS.contains(&section),
                (None, _) => false,
            }
        };
        let mut identity = RunIdentity { config, host: HostIdentity::default(), ..self.clone() };
        identity.plugins.retain(|reference, _| text.contains(reference.as_str()));
        identity.prompts.retain(|role, _| !roles.judges.contains(role));
        identity.backends.retain(|id, _| !roles.judge_backends.contains(id));
        identity.redacted.retain(|place, _| !removed(place));
        identity
    }
}

/// Removes the settings of a task, or of all tasks, that concern only judges and scores.
fn leave_answers(settings: &mut Value) {
    let Value::Object(settings) = settings else { return };
    settings.retain(|key, _| !KEYS.contains(&key.as_str()));
    if let Some(steps) = settings.get_mut("steps").and_then(Value::as_array_mut) {
        steps.retain(|step| !STEPS.iter().any(|name| step["step"] == *name));
    }
}

/// The names of what only judges use.
struct JudgeNames {
    judges: BTreeSet<String>,
    judge_backends: BTreeSet<String>,
    judge_prompts: BTreeSet<String>,
}

/// Removes the roles of judges from a configuration, with the backends and prompts that no other role uses.
fn leave_roles(config: &mut Value) -> JudgeNames {
    let roles = config["role_adapters"].as_array().cloned().unwrap_or_default();
    let (judges, others): (Vec<Value>, Vec<Value>) =
        roles.into_iter().partition(|role| role["role_type"] == "judge_model");
    let named = |roles: &[Value], key: &str| -> BTreeSet<String> {
        roles.iter().filter_map(|role| role[key].as_str()).map(str::to_owned).collect()
    };
    let only = |key: &str| -> BTreeSet<String> {
        named(&judges, key).difference(&named(&others, key)).cloned().collect()
    };
    let names = JudgeNames {
        judges: named(&judges, "adapter_id"),
        judge_backends: only("backend_id"),
        judge_prompts: only("prompt_id"),
    };
    if config["role_adapters"].is_array() {
        config["role_adapters"] = others.into();
    }
    for (section, key, removed) in
        [("backends", "backend_id", &names.judge_backends), ("prompts", "prompt_id", &names.judge_prompts)]
    {
        if let Some(entries) = config.get_mut(section).and_then(Value::as_array_mut) {
            entries.retain(|entry| !entry[key].as_str().is_some_and(|id| removed.contains(id)));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn identity(change: impl FnOnce(&mut Value)) -> RunIdentity {
        let mut config = json!({
            "metadata": {"name": "s"},
            "datasets": [{"dataset_id": "d", "params": {"path": "rows.jsonl"}}],
            "backends": [{"backend_id": "m"}, {"backend_id": "j"}],
            "prompts": [{"prompt_id": "ask", "template": "a"}, {"prompt_id": "grade", "template": "b"}],
            "role_adapters": [
                {"adapter_id": "dut", "role_type": "dut_model", "backend_id": "m", "prompt_id": "ask"},
                {"adapter_id": "judge", "role_type": "judge_model", "backend_id": "j", "prompt_id": "grade"},
            ],
            "metrics": ["judge_score"],
            "custom": {"steps": [{"step": "inference"}, {"step": "judge"}, {"step": "auto_eval"}]},
            "tasks": [{"task_id": "t", "dataset_id": "d", "slices": ["label"]}],
        });
        change(&mut config);
        RunIdentity { config, ..RunIdentity::default() }
    }

    #[test]
    fn judges_and_scores_do_not_determine_answers() {
        let before = identity(|_| ()).of_answers();
        for (pointer, value) in [
            ("/prompts/1/template", json!("other")),
            ("/backends/1/model", json!("other")),
            ("/role_adapters/1/sampling_params", json!({"seed": 1})),
            ("/custom/steps/1/judge", json!("labels")),
            ("/metrics/0", json!("judge_threshold")),
            ("/tasks/0/slices", json!([])),
        ] {
            let changed = identity(|config| set(config, pointer, value)).of_answers();
            assert_eq!(before.differences(&changed), Vec::<String>::new(), "{pointer}");
        }
        for (pointer, value) in [
            ("/prompts/0/template", json!("other")),
            ("/backends/0/model", json!("other")),
            ("/role_adapters/0/sampling_params", json!({"seed": 1})),
            ("/datasets/0/filter", json!({"a": 1})),
        ] {
            let changed = identity(|config| set(config, pointer, value)).of_answers();
            assert_eq!(before.differences(&changed).len(), 1, "{pointer}");
        }
    }

    fn set(config: &mut Value, pointer: &str, value: Value) {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = config.pointer_mut(parent).unwrap();
        match key.parse::<usize>() {
            Ok(index) => parent[index] = value,
            Err(_) => parent[key] = value,
        }
    }
}

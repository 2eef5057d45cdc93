//! The samples of a run as items of a comparison. Members and parameters are those of the run's metrics.

use gage_config::{Span, parse_call};
use gage_core::Object;
use gage_plugin::AnyComponent;
use gage_plugin_tools::{Case, ScoreComparison};
use gage_record::{RecordError, SampleLine};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Number of samples that are read before they are scored.
const SAMPLES_IN_BATCH: usize = 256;

/// Maximum number of members and parameters that are compared.
const MAX_CALLS: usize = 64;

/// A member with its parameters.
type MemberCall = (String, Value);

/// Scores the answered samples of a run with both components.
///
/// # Errors
/// If the samples cannot be read.
pub(super) fn add_samples(
    comparison: &mut ScoreComparison<'_>,
    samples: impl Iterator<Item = Result<SampleLine, RecordError>>,
    config: &Value,
    before: &AnyComponent,
    after: &AnyComponent,
) -> Result<(), RecordError> {
    let names = |component: &AnyComponent| -> Vec<String> {
        component.descriptions().iter().map(|member| member.name.clone()).collect()
    };
    let calls = member_calls(config, &names(before), &names(after));
    let mut batch = Vec::with_capacity(SAMPLES_IN_BATCH);
    for sample in samples {
        batch.extend(item_of(sample?));
        if batch.len() == SAMPLES_IN_BATCH {
            add_batch(comparison, &batch, &calls);
            batch.clear();
        }
    }
    add_batch(comparison, &batch, &calls);
    Ok(())
}

fn add_batch(comparison: &mut ScoreComparison<'_>, items: &[(String, Object)], calls: &[MemberCall]) {
    for (member, params) in calls {
        let case = |(name, body): &(String, Object)| Case {
            name: name.clone(),
            member: Some(member.clone()),
            params: params.clone(),
            body: body.clone(),
        };
        comparison.add(&items.iter().map(case).collect::<Vec<_>>());
    }
}

/// Returns the name and the documents of a sample. `None` if it has no answer.
fn item_of(line: SampleLine) -> Option<(String, Object)> {
    let answer = line.model_output.filter(|answer| !answer.is_null())?;
    let name = format!("{} {}", line.task_id, line.sample_id);
    let documents = [
        ("sample", line.sample.into_value()),
        ("model_output", answer.into_value()),
        ("judge_output", line.judge_output.unwrap_or_default()),
        ("support_output", line.support_output.unwrap_or_default()),
    ];
    Some((name, documents.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
}

/// Returns the members to compare, with their parameters: those of the run's metrics and extractors that both components have,
/// or else all that both have, without parameters. Without a common member, those of the first component.
fn member_calls(config: &Value, before: &[String], after: &[String]) -> Vec<MemberCall> {
    let both = before.iter().filter(|name| after.contains(name));
    let common: Vec<&str> = both.map(String::as_str).collect();
    let mut calls: Vec<MemberCall> = Vec::new();
    for (reference, params) in written_calls(config) {
        let Some(member) = member_of(&reference, &common, config) else { continue };
        let call = (member.to_owned(), params);
        if !calls.contains(&call) && calls.len() < MAX_CALLS {
            calls.push(call);
        }
    }
    if calls.is_empty() {
        let names = if common.is_empty() { before.iter().map(String::as_str).collect() } else { common };
        calls = names.into_iter().map(|name| (name.to_owned(), json!({}))).collect();
    }
    calls
}

/// Returns the member that a reference names, if both components have it.
fn member_of<'m>(reference: &str, common: &[&'m str], config: &Value) -> Option<&'m str> {
    let (front, member) = match reference.split_once('#') {
        Some((front, member)) => (front, Some(member)),
        None => (reference, None),
    };
    if let Some(found) = common.iter().copied().find(|name| *name == member.unwrap_or(front)) {
        return Some(found);
    }
    let plugins = config["plugins"].as_array().into_iter().flatten();
    let ids: BTreeSet<&str> = plugins.filter_map(|plugin| plugin["id"].as_str()).collect();
    let is_component = front.ends_with(".wasm") || ids.contains(front);
    match common {
        [only] if member.is_none() && is_component => Some(*only),
        _ => None,
    }
}

/// Returns the metrics and extractors of a recorded suite: what they name, and their parameters.
fn written_calls(config: &Value) -> Vec<(String, Value)> {
    let tasks = config["tasks"].as_array().into_iter().flatten();
    let owners = [config, &config["custom"]].into_iter().chain(tasks);
    let mut found = Vec::new();
    for owner in owners {
        found.extend(owner["metrics"].as_array().into_iter().flatten().filter_map(written_call));
        let steps = owner["steps"].as_array().into_iter().flatten();
        for step in steps {
            found.extend(step["extractors"].as_array().into_iter().flatten().filter_map(written_call));
            found.extend(written_call(&step["extractor"]));
        }
    }
    found
}

fn written_call(entry: &Value) -> Option<(String, Value)> {
    match entry {
        Value::String(text) => {
            let span = Span { source: 0, start: 0, end: 0 };
            let (name, params) = parse_call(text, span).ok()?;
            Some((name, params.to_json()))
        }
        Value::Object(entry) => {
            let name = entry.get("implementation").or_else(|| entry.get("metric_id")).and_then(Value::as_str);
            match (name, entry.iter().next()) {
                (Some(name), _) => {
                    let (name, own) = written_call(&Value::from(name))?;
                    let params = entry.get("params").filter(|params| params.is_object()).cloned();
                    Some((name, params.unwrap_or(own)))
                }
                (None, Some((name, params)))
                    if entry.len() == 1 && (params.is_object() || params.is_null()) =>
                {
                    let params = if params.is_null() { json!({}) } else { params.clone() };
                    Some((name.clone(), params))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_parameters_are_those_of_the_run() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let of_run = |metrics: Value| json!({"plugins": [{"id": "recall"}], "metrics": metrics});
        let call = |member: &str, params: Value| (member.to_owned(), params);
        let in_task = json!({"tasks": [{"metrics": ["strict(n=2)"]}]});
        for (config, before, after, expected) in [
            (
                of_run(json!(["strict(n=2)", "other"])),
                vec!["strict"],
                vec!["strict"],
                vec![call("strict", json!({"n": 2}))],
            ),
            (in_task, vec!["strict"], vec!["strict"], vec![call("strict", json!({"n": 2}))]),
            (
                of_run(json!([{"strict": {"n": 2}}, {"strict": {"n": 2}}, "strict"])),
                vec!["strict"],
                vec!["strict"],
                vec![call("strict", json!({"n": 2})), call("strict", json!({}))],
            ),
            (
                of_run(json!([{"metric_id": "m", "implementation": "recall#strict", "params": {"n": 3}}])),
                vec!["strict", "loose"],
                vec!["strict"],
                vec![call("strict", json!({"n": 3}))],
            ),
            (
                of_run(json!(["recall"])),
                vec!["strict"],
                vec!["strict", "new"],
                vec![call("strict", json!({}))],
            ),
            (
                of_run(json!(["exact_match"])),
                vec!["a", "b"],
                vec!["b", "a"],
                vec![call("a", json!({})), call("b", json!({}))],
            ),
            (Value::Null, vec!["a"], vec!["b"], vec![call("a", json!({}))]),
        ] {
            let found = member_calls(&config, &names(&before), &names(&after));
            assert_eq!(found, expected, "{config}");
        }
    }
}

//! Every metric that has cases.

use crate::{cases, context_of, difference, folder, passing_blank_references, registry};
use gage_config::PluginReference;
use gage_plugin::Registry;
use serde_json::{Map, Value};

/// The prefix of cases of metrics on parsed answers, whose parameter `name` precedes the names of values.
const ANSWERS: &str = "answers_";

/// Returns the files with cases of metrics, without their extensions.
fn files() -> Vec<String> {
    let entries = std::fs::read_dir(folder().join("cases")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> = names
        .filter(|name| !name.starts_with("helper_"))
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    files.sort();
    files
}

/// Returns the result of a metric for a case: its values by name, `None` for no score, or an error.
fn score(registry: &Registry, metric: &str, case: &Value) -> Result<Option<Map<String, Value>>, String> {
    let (family, member) = registry
        .find::<gage_plugin::MetricKind>(&PluginReference::Name(metric.to_owned()))
        .expect("a metric");
    let metric = family
        .configure(member.as_deref(), passing_blank_references(&case["params"]))
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let item = metric.resolve("case", context_of(case));
    let card = metric
        .score(vec![item])
        .results
        .remove(0)
        .map_err(|error| format!("{}: {}", error.kind, error.message))?;
    let Some(primary) = card.primary_score else { return Ok(None) };
    let mut values = card.sub_scores;
    values.insert(metric.description().values[0].name.clone(), primary.into());
    Ok(Some(values))
}

fn is_expected(expected: &Value, found: &Result<Option<Map<String, Value>>, String>, name: &str) -> bool {
    match (expected, found) {
        (Value::Null, Ok(None)) => true,
        (Value::Object(expected), Ok(Some(found))) => expected.iter().all(|(key, value)| {
            let own = key.strip_prefix(name).map(|rest| rest.trim_start_matches('_'));
            let found = match (found.get(key), own) {
                (None, Some("")) => found.values().next_back(),
                (None, Some(own)) => found.get(own),
                (found, _) => found,
            };
            match (found.and_then(Value::as_f64), value.as_f64()) {
                (Some(found), Some(value)) => (found - value).abs() <= 1e-9,
                (found, _) => found.is_none() && value.is_null(),
            }
        }),
        _ => false,
    }
}

#[test]
fn every_case_gives_its_recorded_result_or_a_known_difference() {
    let registry = registry();
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files() {
        let metric = file.strip_prefix(ANSWERS).unwrap_or(&file);
        for case in cases(&file) {
            count += 1;
            let found = score(&registry, metric, &case);
            let difference = difference(&format!("{file}.jsonl"), &case);
            let expected = difference.as_ref().unwrap_or(&case["expected_values"]);
            let wants_error = match &difference {
                Some(expected) => expected.get("error").is_some(),
                None => case.get("expected_error").is_some(),
            };
            let params = &case["params"];
            let name = params["name"].as_str().or(params["pred_field"].as_str());
            let name = name.filter(|_| file.starts_with(ANSWERS));
            let is_right = if wants_error {
                found.is_err()
            } else {
                is_expected(expected, &found, name.unwrap_or("\0"))
            };
            if !is_right {
                wrong.push(format!(
                    "{file} {} ({}): expected {expected}, found {found:?}",
                    case["case"], case["note"]
                ));
            }
        }
    }
    assert!(count > 300, "{count} cases");
    assert!(wrong.is_empty(), "{} of {count} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

//! The metrics that are there so far.

use crate::{cases, folder, registry};
use gage_config::PluginReference;
use gage_core::Roots;
use gage_plugin::Registry;
use serde_json::{Map, Value, json};

const METRICS: [&str; 7] = [
    "contains",
    "exact_match",
    "latency",
    "multi_choice_accuracy",
    "numeric_match",
    "regex_match",
    "text_length",
];

/// What a metric gives for a case: its values by name, `None` for no score, or an error.
fn score(registry: &Registry, metric: &str, case: &Value) -> Result<Option<Map<String, Value>>, String> {
    let (family, member) = registry
        .find::<gage_plugin::MetricKind>(&PluginReference::Name(metric.to_owned()))
        .expect("a metric");
    let metric = family
        .configure(member.as_deref(), case["params"].clone())
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let roots = Roots {
        sample: &case["sample"],
        model_output: &case["model_output"],
        judge_output: &case["judge_output"],
    };
    let item = metric.resolve("case", roots);
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

fn agree(expected: &Value, found: &Result<Option<Map<String, Value>>, String>) -> bool {
    match (expected, found) {
        (Value::Null, Ok(None)) => true,
        (Value::Object(expected), Ok(Some(found))) => expected.iter().all(|(name, value)| {
            let found = found.get(name).and_then(Value::as_f64);
            found.zip(value.as_f64()).is_some_and(|(found, value)| (found - value).abs() <= 1e-9)
        }),
        _ => false,
    }
}

#[test]
fn every_case_gives_what_is_recorded_or_a_known_difference() {
    let registry = registry();
    let text = std::fs::read_to_string(folder().join("known_differences.json")).expect("the differences");
    let known: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let mut wrong = Vec::new();
    let mut used = 0;
    for metric in METRICS {
        for case in cases(metric) {
            let found = score(&registry, metric, &case);
            let file = format!("{metric}.jsonl");
            let difference =
                known.iter().find(|known| known["file"] == json!(file) && known["case"] == case["case"]);
            let expected = match difference {
                Some(difference) => {
                    used += 1;
                    &difference["expected"]
                }
                None => &case["expected_values"],
            };
            let wants_error = match difference {
                Some(_) => expected.get("error").is_some(),
                None => case.get("expected_error").is_some(),
            };
            let is_right = if wants_error { found.is_err() } else { agree(expected, &found) };
            if !is_right {
                wrong.push(format!(
                    "{metric} {} ({}): expected {expected}, found {found:?}",
                    case["case"], case["note"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(used, known.len(), "a known difference names a case that is not there");
}

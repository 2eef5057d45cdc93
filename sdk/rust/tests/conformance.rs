//! The SDK's helpers against cases recorded from the reference implementation, and the intended differences
//! from it.
//!
//! `match_str` has no counterpart: the SDK does not compare beginnings or ends of texts. Its other functions
//! are covered by the metrics `exact_match`, `contains` and `numeric_match`, which have their own cases.

use gage_sdk::ScoreCard;
use gage_sdk::base::{Distance, MultiReference, ScoreText, SequenceDistance};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value as Input};
use gage_sdk::serde_json::{Value, from_str, from_value, json};
use gage_sdk::text::{
    Normalize, flatten_numbers, levenshtein_distance, normalize_text, strip_tags, text_of, texts_of,
};
use serde::Deserialize;
use std::path::Path;

/// Cases in which non-text values are spelled as in JSON rather than Python, or an empty text counts as a
/// text: file, case, result of the SDK.
fn spelled_otherwise() -> Vec<(&'static str, u64, Value)> {
    vec![
        ("ensure_list_of_strings", 2, json!([""])),
        ("ensure_list_of_strings", 8, json!(["a", "1", "1.0", "true"])),
        ("ensure_list_of_strings", 12, json!([r#"{"a":1}"#])),
        ("ensure_list_of_strings", 18, json!(["false"])),
        ("ensure_list_of_strings", 20, json!([r#"["x"]"#])),
        ("normalize_text_advanced", 72, json!("true")),
        ("normalize_text_advanced", 76, json!(r#"[1,"a"]"#)),
        ("normalize_text_advanced", 78, json!(r#"[1,"a"]"#)),
        (
            "multi_reference_text",
            12,
            json!({ "values": { "score": 0.0 }, "metadata": { "best_reference": r#"{"answer":"a"}"# } }),
        ),
    ]
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The recorded value of a case, or the intended difference.
fn expected(helper: &str, case: &Value, differences: &[Value]) -> Value {
    let file = format!("helper_{helper}.jsonl");
    let known = differences.iter().find(|known| known["file"] == *file && known["case"] == case["case"]);
    let own =
        spelled_otherwise().into_iter().find(|(name, number, _)| *name == helper && case["case"] == *number);
    match (known, own) {
        (Some(_), Some(_)) => panic!("{file} {}: the difference is named twice", case["case"]),
        (Some(known), None) => known["expected"].clone(),
        (None, Some((_, _, value))) => value,
        (None, None) => case["expected"].clone(),
    }
}

/// Checks every case of a helper; `is_right` gets its input and expected result.
fn check(helper: &str, mut is_right: impl FnMut(&Value, &Value) -> bool) {
    let differences: Vec<Value> = from_str(&read("known_differences.json")).unwrap();
    let cases: Vec<Value> =
        read(&format!("cases/helper_{helper}.jsonl")).lines().map(|line| from_str(line).unwrap()).collect();
    assert!(!cases.is_empty(), "{helper} has no cases");
    for (name, number, _) in spelled_otherwise() {
        let is_of_a_case = cases.iter().any(|case| case["case"] == number);
        assert!(name != helper || is_of_a_case, "{helper} has no case {number}");
    }
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, expected(helper, case, &differences)))
        .filter(|(case, expected)| !is_right(&case["input"], expected))
        .map(|(case, expected)| format!("{} {}: expected {expected}", case["case"], case["input"]))
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn is_near(found: f64, expected: &Value) -> bool {
    match expected.as_str() {
        Some("NaN") => found.is_nan(),
        _ => expected.as_f64().is_some_and(|expected| (found - expected).abs() <= 1e-9),
    }
}

/// The text of an input; empty if null.
fn text<'case>(input: &'case Value, name: &str) -> &'case str {
    input[name].as_str().unwrap_or_default()
}

/// Converts an input as the host does for the kind `text`.
fn as_input(value: &Value) -> Input {
    value.as_str().map_or(Input::Absent, Input::from)
}

/// The card of a metric, and its detail.
fn score<M: Metric>(params: &Value, inputs: &[Input]) -> (ScoreCard, Value) {
    let card = M::prepare(params.clone()).and_then(|metric| metric.score(Inputs::new(inputs))).unwrap();
    let detail = from_str(&card.detail).unwrap();
    (card, detail)
}

/// The recorded helpers only support `think`; `strip_thought_tags` intentionally supports more tags.
#[test]
fn thoughts() {
    let stripped = |input: &Value| strip_tags(text(input, "text"), &["think"]);
    check("strip_thought_tags", |input, expected| stripped(input) == *expected);
    // The recorded cases also return the thought, which no helper of the SDK does.
    check("backend_strip_thinking_tags", |input, expected| {
        stripped(input) == *expected.get(0).unwrap_or(expected)
    });
}

#[test]
fn normalized_texts() {
    let mut count = 0;
    check("normalize_text_advanced", |input, expected| {
        let flag = |name: &str, default| input[name].as_bool().unwrap_or(default);
        let default = Normalize::default();
        let how = Normalize {
            case_sensitive: flag("case_sensitive", default.case_sensitive),
            strip: flag("strip", default.strip),
            collapse_whitespace: flag("collapse_whitespace", default.collapse_whitespace),
        };
        // A missing value is not a text, so the helper does not apply.
        let is_asked = !input["text"].is_null();
        count += u32::from(is_asked);
        !is_asked || normalize_text(&text_of(&input["text"]), how) == *expected
    });
    assert!(count > 0, "no case has a text");
}

#[test]
fn distances() {
    check("levenshtein_distance", |input, expected| {
        levenshtein_distance(text(input, "a"), text(input, "b")) as u64 == *expected
    });
}

#[test]
fn numbers() {
    check("flatten_numeric_list", |input, expected| {
        let expected = expected.as_array().unwrap();
        let found = flatten_numbers(&input["value"]);
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| is_near(*found, expected))
    });
}

/// The helper omits nulls; cases that keep them have no counterpart.
#[test]
fn lists_of_texts() {
    let mut count = 0;
    check("ensure_list_of_strings", |input, expected| {
        let is_asked = input["ignore_none"] != json!(false);
        count += u32::from(is_asked);
        !is_asked || from_value::<Vec<String>>(expected.clone()).unwrap() == texts_of(&input["value"])
    });
    assert!(count > 0, "no case leaves nulls out");
}

#[derive(Deserialize)]
struct Plain {}

impl Distance for Plain {
    fn name() -> &'static str {
        "plain"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "the distance of Levenshtein")
    }
}

impl ScoreText for Plain {
    fn name() -> &'static str {
        "plain"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "equality")
    }
}

/// If one text is empty, the recorded distance is null; here it is the length of the other text. Strategy
/// names are in lower case here, and unchanged in the recorded cases.
#[test]
fn sequence_distances() {
    check("sequence_distance", |input, expected| {
        let inputs = ["prediction", "reference"].map(|name| as_input(&input[name]));
        let (card, detail) = score::<SequenceDistance<Plain>>(&input["params"], &inputs);
        let is_same = |name: &str| is_near(detail[name].as_f64().unwrap(), &expected[name]);
        is_near(card.primary_score.unwrap(), &expected["score"])
            && is_same("normalized")
            && (expected["distance"].is_null() || is_same("distance"))
            && text(&detail, "strategy") == text(expected, "strategy").to_lowercase()
    });
}

/// If there is nothing to compare, the recorded metadata contains a warning; here there is a tag.
#[test]
fn several_references() {
    check("multi_reference_text", |input, expected| {
        let inputs = [as_input(&input["prediction"]), Input::from(input["references"].clone())];
        let (card, detail) = score::<MultiReference<Plain>>(&input["params"], &inputs);
        let metadata = &expected["metadata"];
        is_near(card.primary_score.unwrap(), &expected["values"]["score"])
            && detail["best_reference"] == metadata["best_reference"]
            && card.error_tags.is_empty() == metadata["warning"].is_null()
    });
}

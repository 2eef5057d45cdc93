//! Results of lm-evaluation-harness, recorded by `tests/fixtures/drop.py`.

use super::DropAnswer;
use gage_sdk::metric::{Inputs, Metric, Value};
use gage_sdk::serde_json;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/drop.jsonl");

#[test]
fn scores_are_those_of_the_harness() {
    let text = std::fs::read_to_string(FIXTURES).unwrap_or_else(|error| panic!("{FIXTURES}: {error}"));
    let mut differences = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let (Some(f1), Some(exact)) = (case["f1"].as_f64(), case["exact_match"].as_f64()) else { continue };
        count += 1;
        let prediction = match &case["prediction"] {
            serde_json::Value::String(text) => text.as_str().into(),
            spans => Value::Json(spans.to_string()),
        };
        let column = |name: &str| Value::Json(case[name].to_string());
        let inputs = [prediction, column("answer"), column("validated_answers")];
        let card = DropAnswer.score(Inputs::new(&inputs)).unwrap();
        let found = (card.primary_score.unwrap(), card.sub_scores[0].value);
        if (found.0 - f1).abs() > 1e-9 || found.1 != exact {
            differences.push(format!("{line}: {found:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count >= 300, "{count}");
}

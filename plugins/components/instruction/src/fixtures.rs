//! The accuracies that lm-evaluation-harness gives; `tests/fixtures/instructions.py` says how they were made.

use crate::Ifeval;
use gage_sdk::json;
use gage_sdk::metric::{Inputs, Metric, Value};
use gage_sdk::serde_json;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/instructions.jsonl");

/// Returns the means of the score and of its sub-score, by the weights of the cards.
fn accuracies(level: &str, cases: &[serde_json::Value]) -> [f64; 2] {
    let metric = Ifeval::prepare(json!({ "level": level })).unwrap();
    let mut sums = [0.0; 2];
    let mut total = 0.0;
    for case in cases {
        let list = |name: &str| Value::Json(case[name].to_string());
        let prediction = case["response"].as_str().unwrap().into();
        let inputs = [prediction, list("instruction_id_list"), list("kwargs")];
        let card = metric.score(Inputs::new(&inputs)).unwrap();
        let detail: serde_json::Value = serde_json::from_str(&card.detail).unwrap();
        let weight = detail["weight"].as_f64().unwrap_or(1.0);
        total += weight;
        sums[0] += weight * card.primary_score.unwrap();
        sums[1] += weight * card.sub_scores[0].value;
    }
    sums.map(|sum| sum / total)
}

#[test]
fn accuracies_are_those_of_the_harness() {
    let text = std::fs::read_to_string(FIXTURES).unwrap_or_else(|error| panic!("{FIXTURES}: {error}"));
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let cases: Vec<serde_json::Value> = lines.filter(|line| line.get("strict").is_some()).collect();
    assert!(cases.len() >= 300, "{}", cases.len());
    let by_case = |name: &str| -> Vec<Vec<bool>> {
        // One verdict is known to differ.
        let verdicts = cases.iter().map(|case| case.get("ours").unwrap_or(case)[name].clone());
        verdicts.map(|verdicts| serde_json::from_value(verdicts).unwrap()).collect()
    };
    let share = |followed: Vec<bool>| {
        followed.iter().filter(|is_followed| **is_followed).count() as f64 / followed.len() as f64
    };
    let expected_prompts = ["strict", "loose"].map(|name| {
        share(by_case(name).into_iter().map(|followed| followed.iter().all(|followed| *followed)).collect())
    });
    let expected_instructions = ["strict", "loose"].map(|name| share(by_case(name).concat()));
    for (level, expected) in [("prompt", expected_prompts), ("instruction", expected_instructions)] {
        let found = accuracies(level, &cases);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{level}: {found}, not {expected}");
        }
    }
}

//! The chain of extractors for numbers, on 1,000 labelled answers in ten languages.

use crate::{FinalAnswer, LastNumber, LatexBox, StripThoughts};
use gage_sdk::extractor::{Answer, Extractor, Inputs, Value};
use gage_sdk::{json, serde_json};
use std::collections::BTreeMap;

/// Least share of answers that the chain reads as a careful reader does. It only grows.
const MIN_SHARE: f64 = 0.97;

/// Returns the answer of one extractor.
fn answer<E: Extractor>(params: serde_json::Value, text: &str) -> Option<Answer> {
    let extractor = E::prepare(params).unwrap_or_else(|error| panic!("{error:?}"));
    extractor.extract(Inputs::new(&[Value::Text(text.to_owned())])).ok().flatten()
}

/// Returns the number that the shipped chain finds.
fn number(text: &str) -> Option<f64> {
    let shortened = answer::<StripThoughts>(json!({}), text);
    let of =
        |answer: Answer| -> serde_json::Value { serde_json::from_str(&answer.value).unwrap_or_default() };
    let shortened = shortened.map(of).and_then(|value| value["value"].as_str().map(str::to_owned));
    let text = shortened.as_deref().unwrap_or(text);
    let found = answer::<LatexBox>(json!({ "kind": "number" }), text)
        .or_else(|| answer::<FinalAnswer>(json!({ "kind": "number" }), text))
        .or_else(|| answer::<LastNumber>(json!({ "fractions": true }), text));
    found.map(of).and_then(|value| value["value"].as_f64())
}

/// Reads a label: a decimal or a fraction.
fn label(text: &str) -> f64 {
    let parse = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    match text.split_once('/') {
        Some((above, below)) => parse(above) / parse(below),
        None => parse(text),
    }
}

#[test]
fn numbers_are_read_as_a_reader_does() {
    let corpus = include_str!("../../../../tests/figures/corpora/numbers.jsonl");
    let mut forms: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    let (mut right, mut total) = (0, 0);
    for line in corpus.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let expected = row["expected"].as_str().map(label);
        let found = number(row["answer"].as_str().unwrap_or_default());
        let is_right = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        let form = forms.entry(row["form"].as_str().unwrap_or_default().to_owned()).or_default();
        form[1] += 1;
        total += 1;
        if is_right {
            right += 1;
            form[0] += 1;
        } else {
            println!(
                "{} {} {:?} expected {expected:?}, found {found:?}",
                row["id"], row["form"], row["answer"]
            );
        }
    }
    for (form, [right, total]) in forms.iter().filter(|(_, [right, total])| right < total) {
        println!("{form}: {right} of {total}");
    }
    println!("{right} of {total}");
    assert!(f64::from(right) >= MIN_SHARE * f64::from(total), "{right} of {total}");
}

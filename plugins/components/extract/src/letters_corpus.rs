//! The extractor of letters, on 500 labelled answers to multiple-choice questions in ten languages.

use crate::ChoiceLetter;
use gage_sdk::extractor::{Extractor, Inputs, Value};
use gage_sdk::{json, serde_json};
use std::collections::BTreeMap;

/// Least share of answers that the extractor reads as a careful reader does. It only grows.
const MIN_SHARE: f64 = 0.99;

/// Returns the options of a question as a map from letters to unknown texts.
fn options(count: u64) -> Value {
    let labels = ('A'..='Z').zip(0..count).map(|(letter, _)| (letter.to_string(), json!("")));
    Value::Json(serde_json::Value::Object(labels.collect()).to_string())
}

/// Returns the letter that the extractor finds.
fn letter(text: &str, options: Value) -> Option<String> {
    let extractor = ChoiceLetter::prepare(json!({})).unwrap_or_else(|error| panic!("{error:?}"));
    let found = extractor.extract(Inputs::new(&[Value::Text(text.to_owned()), options])).ok().flatten()?;
    let value: serde_json::Value = serde_json::from_str(&found.value).unwrap_or_default();
    value["value"].as_str().map(str::to_owned)
}

#[test]
fn letters_are_read_as_a_reader_does() {
    let corpus = include_str!("../../../../tests/figures/corpora/letters.jsonl");
    let mut forms: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    let (mut right, mut total) = (0, 0);
    for line in corpus.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let expected = row["expected"].as_str();
        let options = options(row["options"].as_u64().unwrap_or_default());
        let found = letter(row["answer"].as_str().unwrap_or_default(), options);
        let form = forms.entry(row["form"].as_str().unwrap_or_default().to_owned()).or_default();
        form[1] += 1;
        total += 1;
        if found.as_deref() == expected {
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

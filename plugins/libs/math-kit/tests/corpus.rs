//! The comparison, on 600 labelled pairs.

use gage_math_kit::{Budget, Outcome, compare};
use std::collections::BTreeMap;

/// Least share of pairs that are compared as a mathematician would. It only grows.
const MIN_SHARE: f64 = 0.97;

#[test]
fn pairs_are_compared_as_a_mathematician_would() {
    let corpus = include_str!("../../../../tests/figures/corpora/math.jsonl");
    let mut categories: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    let (mut right, mut total, mut false_equalities) = (0, 0, 0);
    for line in corpus.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let expected = row["equal"].as_bool().unwrap();
        let found = compare(&text("answer"), &text("reference"), &Budget::new());
        let category = categories.entry(text("category")).or_default();
        total += 1;
        category[1] += 1;
        if (found.outcome == Outcome::Equal) == expected {
            right += 1;
            category[0] += 1;
            continue;
        }
        false_equalities += u32::from(!expected);
        println!(
            "{} {} | {} | {} | expected {expected} | {:?} | {} | {}",
            row["id"],
            row["category"],
            row["reference"],
            row["answer"],
            found.outcome,
            found.reference,
            found.answer
        );
    }
    for (category, [right, total]) in categories.iter().filter(|(_, [right, total])| right < total) {
        println!("{category}: {right} of {total}");
    }
    println!("{right} of {total}, {false_equalities} false equalities");
    assert_eq!(false_equalities, 0);
    assert!(f64::from(right) >= MIN_SHARE * f64::from(total), "{right} of {total}");
}

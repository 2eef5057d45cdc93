//! The fast path agrees with the ordinary path, or declines the row; it takes the rows that most datasets have.

use super::hostile::rows;
use super::{fast, is_fast, ordinary};
use crate::default::DefaultRows;
use gage_sdk::json;
use gage_sdk::serde_json::Value;
use proptest::prelude::*;

/// Inputs for each property; `GAGE_FUZZ_CASES` tries more.
fn cases() -> u32 {
    std::env::var("GAGE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1000)
}

fn params() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!({}),
        json!({ "instruction": "Say \"it\".\n" }),
        json!({ "system_prompt": "Be brief.\t" }),
        json!({ "media": false }),
    ])
}

/// Rows whose answers, labels and options have much in common.
fn rows_with_answers() -> impl Strategy<Value = Value> {
    let said = || {
        let values = [
            json!("x"),
            json!("A"),
            json!(" b "),
            json!(0),
            json!(1.0),
            json!("1"),
            json!(["x"]),
            json!(true),
            json!(-1),
        ];
        proptest::option::of(proptest::sample::select(values.to_vec()))
    };
    let options = [json!(null), json!(["x", "y"]), json!(["b", "1", "x"]), json!(["true", "-1"])];
    let own = [
        json!(null),
        json!({ "label": 1 }),
        json!({ "option_map": 1 }),
        json!({ "correct_choice": 1, "answer": 2 }),
    ];
    let select = |values: &[Value]| proptest::sample::select(values.to_vec());
    let is_sample = any::<bool>();
    (is_sample, select(&options), said(), said(), said(), select(&own)).prop_map(
        |(is_sample, options, references, answer, label, own)| {
            let mut row = json!({ "question": "q", "choices": options, "metadata": own });
            let references = references.map(|reference| json!([{ "answer": [reference] }]));
            for (name, value) in [("references", references), ("answer", answer), ("label", label)] {
                if let Some(value) = value {
                    row[name] = value;
                }
            }
            if is_sample {
                row["schema_version"] = json!("v1");
            }
            row
        },
    )
}

/// Rows as most datasets have them.
fn plain_rows() -> impl Strategy<Value = Value> {
    let answer = prop_oneof![
        ".{0,8}".prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(|number| json!(f64::from(number)))
    ];
    let asked = proptest::sample::select(&["question", "prompt", "text"][..]);
    let answered = proptest::sample::select(&["answer", "label"][..]);
    let own = proptest::collection::vec(
        (
            "own_[a-z]{1,5}",
            prop_oneof![
                ".{0,8}".prop_map(Value::from),
                any::<u8>().prop_map(Value::from),
                Just(json!({ "a": [1, null] }))
            ],
        ),
        0..5,
    );
    (any::<u16>(), asked, ".{0,40}", answered, answer, own).prop_map(
        |(id, asked, question, answered, answer, own)| {
            let mut row = json!({ "id": id, "data_tag": { "level": "x" } });
            row[asked] = question.into();
            row[answered] = answer;
            for (name, value) in own {
                row[name.as_str()] = value;
            }
            row
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn both_paths_give_the_same_sample(row in rows(), params in params()) {
        is_fast(&params, &row);
    }

    #[test]
    fn both_paths_agree_on_answers_and_labels(row in rows_with_answers()) {
        is_fast(&json!({}), &row.to_string());
    }

    #[test]
    fn fast_path_takes_plain_rows(row in plain_rows()) {
        // An empty question is an error.
        let is_clear = ordinary::<DefaultRows>(&json!({}), &row.to_string()).is_some();
        prop_assert!(is_fast(&json!({}), &row.to_string()) || !is_clear, "{row}");
    }

    #[test]
    fn fast_path_takes_rows_with_choices(row in plain_rows(), choices in proptest::collection::vec(".{0,5}", 1..9)) {
        let mut row = row;
        row["choices"] = choices.into();
        // An answer may be two options.
        let is_clear = ordinary::<DefaultRows>(&json!({}), &row.to_string()).is_some();
        prop_assert!(is_fast(&json!({}), &row.to_string()) || !is_clear, "{row}");
    }

    #[test]
    fn fast_path_takes_samples(row in plain_rows()) {
        if let Some(sample) = ordinary::<DefaultRows>(&json!({}), &row.to_string()) {
            prop_assert!(is_fast(&json!({}), &sample), "{sample}");
            prop_assert_eq!(fast::<DefaultRows>(&json!({}), &sample), Some(sample));
        }
    }
}

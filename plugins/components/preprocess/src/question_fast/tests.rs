//! The fast path against the ordinary path.

use crate::multi_choice::MultiChoice;
use crate::piqa::Piqa;
use crate::roles::{Conversion, Standard};
use gage_sdk::json;
use gage_sdk::preprocessor::{Preprocessor, Row, RowOutcome};
use gage_sdk::serde_json::{self, Value};
use proptest::prelude::*;

/// Inputs for each property; `GAGE_FUZZ_CASES` tries more.
fn cases() -> u32 {
    std::env::var("GAGE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1000)
}

/// Returns whether the fast path accepts the row. Its result must equal that of the ordinary path.
fn is_fast<C: Conversion>(params: &Value, row: &str) -> bool {
    let Ok(preprocessor) = Standard::<C>::prepare(params.clone()) else { panic!("{params}") };
    let Some(made) = preprocessor.convert_text(row) else { return false };
    let body = serde_json::from_str(row).unwrap_or_default();
    let ordinary = preprocessor.convert(Row { dataset: "d".to_owned(), index: 0, body });
    let Ok(RowOutcome::Sample(sample)) = ordinary else { panic!("{ordinary:?}: {params} {row}") };
    assert_eq!(made, sample.to_string(), "{params} {row}");
    true
}

#[test]
fn plain_questions_are_fast() {
    for (row, expected) in [
        (r#"{"id":1,"question":" q\n","choices":["a","b"],"answer":"B"}"#, true),
        (r#"{"question":"q","choices":["a"," b "],"answer":1,"subject":"s","data_tag":{"x":1}}"#, true),
        (
            r#"{"question":"q\"\u00e9","choices":["\n","b"],"answer":"b","tools":[],"label":3,"options":1}"#,
            true,
        ),
        (r#"{"id":null,"question":3,"choices":["a","b"],"answer":"A","inputs":{"a":1}}"#, true),
        (r#"{"question":"q","choices":["a","b"],"answer":["A"]}"#, false),
        (r#"{"question":"q","choices":["a","b"],"answer":"Z"}"#, false),
        (r#"{"question":"q","choices":["a","b"]}"#, false),
        (r#"{"question":"q","choices":["a",2],"answer":"A"}"#, false),
        (r#"{"question":"q","choices":{"A":"a"},"answer":"A"}"#, false),
        (r#"{"question":"q","choices":[],"answer":"A"}"#, false),
        (r#"{"question":"q","choices":["a"],"answer":"A","metadata":{"a":1}}"#, false),
        (r#"{"question":"q","choices":["a"],"answer":"A","option_map":1}"#, false),
        (r#"{"question":"q","choices":["a"],"answer":"A","messages":[]}"#, false),
        (r#"{"question":"q","choices":["a"],"answer":"A","id":true}"#, false),
        (r#"{"question":"q","choices":["1","2","3"],"answer":"2"}"#, false),
        ("[1]", false),
    ] {
        assert_eq!(is_fast::<MultiChoice>(&json!({}), row), expected, "{row}");
    }
    let row = r#"{"goal":" g ","sol1":"a","sol2":"b ","label":1,"own":[1,{"a":null}]}"#;
    assert!(is_fast::<Piqa>(&json!({}), row));
    assert!(!is_fast::<Piqa>(&json!({}), r#"{"goal":"g","sol1":"a","label":1}"#));
}

/// Values that a field of a row may have.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        ".{0,12}".prop_map(Value::from),
        proptest::sample::select(vec![
            json!(null),
            json!(0),
            json!(1),
            json!(1.0),
            json!("A"),
            json!(" (b) "),
            json!(true),
            json!(["x"]),
            json!({ "a": [1] }),
        ]),
    ]
}

fn row() -> impl Strategy<Value = Value> {
    let choices = prop_oneof![
        8 => proptest::collection::vec(".{0,10}", 0..6).prop_map(Value::from),
        1 => value(),
    ];
    const NAMES: [&str; 11] = [
        "id",
        "subject",
        "label",
        "options",
        "metadata",
        "inputs",
        "data_tag",
        "tools",
        "question_text",
        "predict_result",
        "a.b",
    ];
    let others = proptest::collection::vec((proptest::sample::select(&NAMES[..]), value()), 0..4);
    (value(), choices, value(), others).prop_map(|(question, choices, answer, others)| {
        let mut row = json!({ "question": question, "choices": choices, "answer": answer });
        for (name, value) in others {
            row[name] = value;
        }
        row
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn the_fast_path_agrees_with_the_ordinary_one(row in row(), index in 0_usize..6) {
        let params = [
            json!({}),
            json!({ "instruction": "Say \"it\".\n" }),
            json!({ "instruction": "", "system_prompt": "Be brief.\t" }),
            json!({ "style": "question_only", "trim_options": true }),
            json!({ "few_shot": [{ "question": "q", "choices": ["a", "b"], "answer": "b" }], "answer_index_base": null }),
            json!({ "answer_field": "a.b", "answer_index_base": 1 }),
        ];
        is_fast::<MultiChoice>(&params[index], &row.to_string());
    }
}

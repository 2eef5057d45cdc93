//! The fast path against the ordinary path, which reads the row as a value of serde_json.

use crate::default::{DefaultRows, LegacyRows};
use crate::roles::{Conversion, Standard};
use gage_sdk::json;
use gage_sdk::preprocessor::{Preprocessor, Row, RowOutcome};
use gage_sdk::serde_json::{self, Value};

mod hostile;
mod properties;

fn ordinary<C: Conversion>(params: &Value, row: &str) -> Option<String> {
    let row = Row { dataset: "d".to_owned(), index: 0, body: serde_json::from_str(row).ok()? };
    match Standard::<C>::prepare(params.clone()).ok()?.convert(row).ok()? {
        RowOutcome::Sample(sample) => Some(sample.to_string()),
        RowOutcome::Skip(_) => None,
    }
}

fn fast<C: Conversion>(params: &Value, row: &str) -> Option<String> {
    Standard::<C>::prepare(params.clone()).ok()?.convert_text(row)
}

/// Returns whether the fast path accepts the row. Its result must equal that of the ordinary path.
fn is_fast(params: &Value, row: &str) -> bool {
    let made = fast::<DefaultRows>(params, row);
    if made.is_some() {
        assert_eq!(made, ordinary::<DefaultRows>(params, row), "{params} {row}");
    }
    let marked = fast::<LegacyRows>(params, row);
    if marked.is_some() {
        assert_eq!(marked, ordinary::<LegacyRows>(params, row), "legacy {params} {row}");
    }
    made.is_some()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn rows_that_are_known() {
    let standard = r#""messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]"#;
    let list = (0..64).map(|number| format!(r#""f{number}":1"#)).collect::<Vec<_>>().join(",");
    let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
    let too_deep = format!("[{deep}]");
    let of = |fields: &str| format!(r#"{{"question":"q",{fields}}}"#);
    for (row, expected) in [
        // Raw rows.
        (r#"{"question":"q"}"#.to_owned(), true),
        (r#" { "id" : 7 , "prompt" : " q\n" , "answer" : 4 , "label" : "4" } "#.to_owned(), true),
        (r#"{"question":null,"prompt":null,"text":" q\n","messages2":1}"#.to_owned(), true),
        (r#"{"question":3}"#.to_owned(), true),
        (of(r#""answer":"\u4e2d\n","answers":["a"],"label":"x""#), true),
        (of(r#""answer":["a","b"]"#), true),
        (of(r#""answer":null,"label":1.0e2"#), true),
        (of(r#""id":-0,"answer":1E5,"own":123456789012345678901234567890"#), true),
        (of(r#""id":null,"references":null,"data_tag":{"a": [1, {"b": null}]}"#), true),
        (of(r#""references":["a"]"#), true),
        (of(r#""metadata":{"a":1},"a":2,"b":3"#), true),
        (of(r#""m\u0065tadata":{"a":1},"\"":2"#), true),
        (of(r#""image":null,"file":3"#), true),
        (
            r#"{"id":"sa-3","question":"Spell \"cat\".","answer":"tac","question_type":"short-answer"}"#
                .to_owned(),
            true,
        ),
        // With options.
        (of(r#""choices":["x","y"],"answer":1"#), true),
        (of(r#""choices":["1","2","3"],"answer":2"#), true),
        (of(r#""choices":["3","5","7"],"answer":"5""#), true),
        (of(r#""choices":["1","2","3"],"answer":"2""#), false),
        (of(r#""choices":["1","2","3"],"answer":1,"label":"two""#), true),
        (of(r#""choices":["x",null],"answer":"x""#), false),
        (of(r#""choices":["x"," y "],"answer":"b)","label":0"#), true),
        (of(r#""options":[{"id":"A","content":"x"},{"id":"B","content":"y"}],"answer":"y""#), true),
        (of(r#""options":{"A":"x","B":"y"},"answer":"?""#), true),
        (of(r#""choices":[]"#), false),
        (of(r#""choices":"x""#), false),
        (of(r#""choices":{"A":"x"},"answer":"x""#), true),
        (of(r#""choices":["x",2],"answer":"x""#), true),
        (of(r#""choices":[{"message":{}}]"#), false),
        (of(r#""choices":["x"],"options":["x"]"#), false),
        (of(r#""options":[]"#), false),
        // Samples and conversations.
        (format!(r#"{{"schema_version":"v1","id":"a",{standard},"references":[],"label":"a"}}"#), true),
        (
            format!(r#"{{{standard},"schema_version":null,"inputs":{{}},"question":"q","eval_result":1}}"#),
            true,
        ),
        (format!(r#"{{{standard},"inputs":{{}},"_dataset_id":"d","own":1,"text":"t"}}"#), true),
        (
            format!(r#"{{"schema_version":"v1",{standard},"references":[{{"answer":[]}}],"answers":["a"]}}"#),
            true,
        ),
        (
            r#"{"schema_version":"v1","messages":[{"role":"user","content":"q"},7,["content"]]}"#.to_owned(),
            true,
        ),
        (r#"{"schema_version":"v1","messages":[]}"#.to_owned(), true),
        (r#"{"schema_version":"v1","messages":"q"}"#.to_owned(), false),
        (format!(r#"{{"schema_version":"v1",{standard},"choices":[{{"message":{{}}}}]}}"#), false),
        (format!(r#"{{"schema_version":"v1",{standard},"image":"a.png"}}"#), true),
        (format!(r#"{{{standard},"image":"a.png"}}"#), false),
        // Everything else.
        (r#"{"question":"q","question":"q"}"#.to_owned(), false),
        (of(r#""own":{"a":1,"\u0061":2}"#), false),
        (of(r#""own":"\ud800""#), false),
        (of(r#""own":1e999"#), false),
        (of(&list), false),
        (of(&format!(r#""own":{{{list}}}"#)), true),
        (of(&format!(r#""own":{{{list},"f":1}}"#)), false),
        (of(&format!(r#""own":{deep}"#)), true),
        (of(&format!(r#""own":{too_deep}"#)), false),
        (of(r#""images":[]"#), false),
        (of(r#""metadata":7"#), false),
        (of(r#""metadata":{"label":1},"answer":"a","label":"b""#), false),
        (of(r#""choices":["x"],"option_map":1"#), false),
        (r#"{"question":["q"]}"#.to_owned(), false),
        (r#"{"question":"q"} {}"#.to_owned(), false),
        ("[]".to_owned(), false),
        ("null".to_owned(), false),
        (String::new(), false),
    ] {
        assert_eq!(is_fast(&json!({}), &row), expected, "{row}");
    }
}

#[test]
fn parameters_that_are_known() {
    let raw = r#"{"question":" q \"","answer":"a"}"#;
    let sample = r#"{"schema_version":"v1","messages":[{"role":"user","content":"q"}]}"#;
    for (params, of_raw, of_sample) in [
        (json!({ "instruction": "Go.\n\"", "system_prompt": "Be\tbrief." }), true, false),
        (json!({ "instruction": "", "system_prompt": "" }), true, true),
        (json!({ "instruction": "Go." }), true, false),
        (json!({ "media": false }), true, true),
        (json!({ "question_field": "question" }), false, false),
        (json!({ "answer_field": "answer" }), false, false),
        (json!({ "roles_to_remove": ["system"] }), false, false),
        (json!({ "roles_to_remove": [] }), true, true),
    ] {
        assert_eq!(is_fast(&params, raw), of_raw, "{params}");
        assert_eq!(is_fast(&params, sample), of_sample, "{params}");
    }
    assert!(is_fast(&json!({ "media": false }), r#"{"question":"q","image":"a.png"}"#));
}

#[test]
fn examples_of_the_format_are_known() {
    let examples = include_str!("../examples.jsonl").lines();
    let known: Vec<bool> = examples.map(|example| is_fast(&json!({}), example)).collect();
    assert_eq!(known, [true; 13]);
}

/// All rows are known, except those with media to be placed.
#[test]
fn rows_of_datasets_are_known() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/datasets");
    let mut count = 0;
    for (name, rows) in rows_of(folder.as_ref()) {
        for row in rows {
            let fields: Value = serde_json::from_str(&row).unwrap_or_default();
            let is_sample = fields.get("schema_version").is_some();
            let has_media =
                ["image", "audio", "video", "document"].iter().any(|kind| fields.get(kind).is_some());
            assert_eq!(is_fast(&json!({}), &row), is_sample || !has_media, "{name} {row}");
            count += 1;
        }
    }
    assert!(count > 0, "there are no datasets in {folder}");
}

/// Returns the rows of each dataset of JSON or JSON Lines, with the name of its folder.
fn rows_of(folder: &std::path::Path) -> Vec<(String, Vec<String>)> {
    let read = |name: &str, file: &str| std::fs::read_to_string(folder.join(name).join(file)).ok();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let dataset = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let rows = match read(&name, "samples.jsonl") {
            Some(lines) => lines.lines().map(str::to_owned).collect(),
            None => {
                let rows: Vec<Value> = serde_json::from_str(&read(&name, "samples.json")?).ok()?;
                rows.iter().map(Value::to_string).collect()
            }
        };
        Some((name, rows))
    };
    entries.filter_map(dataset).collect()
}

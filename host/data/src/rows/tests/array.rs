//! JSON arrays.

use super::*;
use crate::RowPosition;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn elements_are_rows_with_their_number_and_line() {
    let content =
        "\u{feff} [\n {\"a\": [1, \"]},{\"]},\n {\n  \"b\": x\n },\n 3, \"x\", {\"c\":\"\\\"\"}\n]\n";
    let data = Data::one(FileFormat::Json, content);
    let expected = [
        Ok("{\"a\": [1, \"]},{\"]}".to_owned()),
        Err("element 2 (line 3, column 2) of rows: the row is not JSON: expected value (line 4, column 8)"
            .to_owned()),
        Err("element 3 (line 6, column 2) of rows: the row is not a JSON object".to_owned()),
        Err("element 4 (line 6, column 5) of rows: the row is not a JSON object".to_owned()),
        Ok("{\"c\":\"\\\"\"}".to_owned()),
    ];
    assert_eq!(data.bodies(), expected);
    assert_eq!(data.rows()[4].place, RowPosition::Row(5));
}

#[test]
fn errors_in_an_element_have_line_and_column() {
    for (content, expected) in [
        (
            "[{\"a\": 1}, {\"b\": x}]",
            "element 2 (line 1, column 12) of rows: the row is not JSON: expected value (line 1, column 18)",
        ),
        (
            "[\n  {},\n  {\"a\": 1,\n   \"b\": y}\n]",
            "element 2 (line 3, column 3) of rows: the row is not JSON: expected value (line 4, column 9)",
        ),
    ] {
        let bodies = Data::one(FileFormat::Json, content).bodies();
        assert_eq!(bodies[1], Err(expected.to_owned()), "{content}");
    }
}

#[test]
fn the_array_may_lie_in_an_object() {
    let content = r#"{"meta": {"rows": [0], "n": "]"}, "data": {"x": [], "rows": [{"a": 1}, {"a": 2}], "y": 1}, "z": [{}]}"#;
    let mut data = Data::one(FileFormat::Json, content);
    let (_, error) = data.failure();
    assert!(
        error.contains("one object")
            && error.contains("'records' (arrays are at: meta.rows, data.x, data.rows, z)"),
        "{error}"
    );
    data.source.options.records = Some("data.rows".to_owned());
    assert_eq!(data.bodies(), [Ok(r#"{"a": 1}"#.to_owned()), Ok(r#"{"a": 2}"#.to_owned())]);
    for (records, expected) in [
        ("data", "no array at 'data'"),
        ("data.none", "arrays are at: meta.rows, data.x, data.rows, z"),
        ("data.rows.0", "no list indexes); arrays are at: meta.rows"),
        ("q", "no array at 'q'"),
    ] {
        data.source.options.records = Some(records.to_owned());
        let (_, error) = data.failure();
        assert!(error.contains(expected), "{error}");
    }
    let long = format!(r#"{{"{}": []}}"#, "k".repeat(20_000));
    let (_, error) = Data::one(FileFormat::Json, &long).failure();
    assert!(error.contains("arrays are at: kkk") && error.len() < 1_000, "{} bytes", error.len());
    let mut data = Data::one(FileFormat::Json, r#"{"a.b": [{"c": 1}]}"#);
    data.source.options.records = Some("a.b".to_owned());
    assert_eq!(data.rows().len(), 1);
    let mut data = Data::one(FileFormat::Json, "[{}]");
    data.source.options.records = Some("a".to_owned());
    assert!(data.failure().1.contains("leave out 'records'"));
}

#[test]
fn files_that_are_no_array_are_described() {
    for (content, good, expected) in [
        ("{\"a\":1}\n{\"a\":2}\n", 0, "this is JSON Lines; use loader: jsonl"),
        ("{\"a\":[1]}\n{\"a\":2}\n", 0, "this is JSON Lines; use loader: jsonl"),
        ("{\"a\":1}", 0, "the file is one object"),
        ("12", 0, "begins with '1'"),
        ("[{}\n", 1, "damaged after row 1: the file ends where ',' or ']' is expected"),
        ("[{},", 1, "the file ends where a value is expected"),
        ("[{},]", 1, "expected a value at line 1, column 5, found ']'"),
        ("[{},,{}]", 1, "expected a value"),
        ("[,{}]", 0, "expected a value"),
        ("[{} {}]", 1, "expected ',' or ']' at line 1, column 5, found '{'"),
        ("[{},{\"a\": \"\n", 1, "the file ends inside a value that begins at line 1, column 5"),
        ("[{}]\n[{}]", 1, "unexpected text after the end of the array, at line 2, column 1"),
        ("{\"a\"", 0, "the file ends where ':' is expected"),
        ("{\"a\":1,}", 0, "expected a key at line 1, column 8"),
        ("{\n \"\\x\": 1}", 0, "the key at line 2, column 2 is broken: invalid escape"),
    ] {
        let (found, error) = Data::one(FileFormat::Json, content).failure();
        assert!(error.contains(expected), "{content}: {error}");
        assert_eq!(found, good, "{content}");
    }
    let mut data = Data::one(FileFormat::Json, "{\"a\": [{}], \"b\": ");
    data.source.options.records = Some("a".to_owned());
    let (good, error) = data.failure();
    assert!(good == 1 && error.contains("damaged after row 1"), "{error}");
    assert!(Data::one(FileFormat::Json, " [ ] ").failure().1.contains("has no rows"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn elements_come_out_as_they_went_in(values in proptest::collection::vec(any::<String>(), 1..20), is_pretty: bool) {
        let elements: Vec<_> = values.iter().map(|value| json!({"v": value, "l": [value, {"k": value}]})).collect();
        let text = match is_pretty {
            true => serde_json::to_string_pretty(&elements),
            false => serde_json::to_string(&elements),
        };
        let rows = Data::one(FileFormat::Json, text.expect("JSON")).rows();
        let found: Vec<serde_json::Value> =
            rows.iter().map(|row| serde_json::from_str(row.body.as_ref().expect("sound")).expect("JSON")).collect();
        prop_assert_eq!(found, elements);
    }

    #[test]
    fn nothing_makes_it_stop_the_program(text in "[\\[\\]{},:\"\\\\ a1\n]{0,24}") {
        for records in [None, Some("a".to_owned())] {
            let mut data = Data::one(FileFormat::Json, &text);
            data.source.options.records = records;
            if let Ok(rows) = data.open() {
                rows.for_each(drop);
            }
        }
    }
}

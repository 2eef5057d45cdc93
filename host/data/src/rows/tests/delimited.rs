//! CSV and TSV.

use super::*;
use crate::RowPosition;
use proptest::prelude::*;

#[test]
fn fields_are_texts_under_the_names_of_the_header() {
    let content = "\u{feff}id,\"the text\",n\r\n1,\"a, \"\"b\"\"\r\nc\",\r\n\r\n2,ä,007\r\n";
    let rows = Data::one(FileFormat::Csv, content).rows();
    let seen: Vec<_> = rows.into_iter().map(|row| (row.place, row.body.expect("sound"))).collect();
    let expected = [
        (RowPosition::Line(2), r#"{"id":"1","the text":"a, \"b\"\r\nc","n":""}"#.to_owned()),
        (RowPosition::Line(5), r#"{"id":"2","the text":"ä","n":"007"}"#.to_owned()),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn columns_are_an_option() {
    let mut data = Data::one(FileFormat::Tsv, "a\tb\n1\t2,3\n");
    assert_eq!(data.bodies(), [Ok(r#"{"a":"1","b":"2,3"}"#.to_owned())]);
    data = Data::one(FileFormat::Csv, "1,2\n3,4\n");
    data.source.options.columns = Some(vec!["x".to_owned(), "y\"".to_owned()]);
    let delimited = data.source.options.clone();
    let expected = [Ok(r#"{"x":"1","y\"":"2"}"#.to_owned()), Ok(r#"{"x":"3","y\"":"4"}"#.to_owned())];
    assert_eq!(data.bodies(), expected);
    // A first line that is a header is not a row.
    for header in ["x,\"y\"\"\"\n1,2\n", ",\"y\"\"\"\n1,2\n"] {
        let mut data = Data::one(FileFormat::Csv, header);
        data.source.options = delimited.clone();
        assert!(data.failure().1.contains("line 1 has the names that 'columns' gives"), "{header}");
    }
}

#[test]
fn the_unnamed_first_column_of_pandas_is_the_index() {
    let bodies = Data::one(FileFormat::Csv, ",question,answer\n0,q,a\n1,r,b\n").bodies();
    let row = |index: u32, question: &str, answer: &str| {
        Ok(format!(r#"{{"index":"{index}","question":"{question}","answer":"{answer}"}}"#))
    };
    assert_eq!(bodies, [row(0, "q", "a"), row(1, "r", "b")]);
}

#[test]
fn a_broken_record_is_a_problem_with_its_line() {
    let content = b"a,b\n1,2\n1\n1,2,3\n1,\xff\n\"x\"y,2\n3,4\n";
    let convert = "convert the file, for example with `iconv -f latin1 -t utf-8`";
    let data = Data::one(FileFormat::Csv, content);
    let expected = [
        Ok(r#"{"a":"1","b":"2"}"#.to_owned()),
        Err("line 3 of rows: the record has 1 fields, but there are 2 columns".to_owned()),
        Err("line 4 of rows: the record has 3 fields, but there are 2 columns".to_owned()),
        Err(format!("line 5 of rows: the record is not UTF-8 in field 2; {convert}")),
        Err("line 6 of rows: text follows the closing quote of field 1; write a quote inside a quoted field twice".to_owned()),
        Ok(r#"{"a":"3","b":"4"}"#.to_owned()),
    ];
    assert_eq!(data.bodies(), expected);
    assert_eq!(data.rows()[2].body.as_ref().expect_err("broken").text, "1,2,3");
}

#[test]
fn a_quote_that_is_never_closed_is_damage_for_rows_are_missing() {
    let (rows, error) = Data::one(FileFormat::Csv, b"a,b\n1,2\n5,\"open\n6,7\n").failure();
    assert_eq!(rows, 1);
    assert!(error.contains("is damaged after row 1: a quoted field that begins in line 3"), "{error}");
}

#[test]
fn a_header_must_name_every_column_once() {
    for (content, expected) in [
        (&b"a,,b\n1,2,3\n"[..], "column 2 of the header has no name"),
        (b"a,b,a\n1,2,3\n", "the header names the column 'a' twice (column 3)"),
        (b"a,\xff\n1,2\n", "the header (line 1) is not UTF-8 in field 2"),
        (b"a,\"b\n1,2\n", "a quoted field that begins in line 1 does not end"),
        (b"a,b\r1,2\r3,4", "lone carriage return"),
    ] {
        let (_, error) = Data::one(FileFormat::Csv, content).failure();
        assert!(error.contains(expected), "{error}");
    }
    assert!(
        Data::one(FileFormat::Csv, ",a,index\n1,2,3\n")
            .failure()
            .1
            .contains("column 1 of the header has no name")
    );
    assert!(Data::one(FileFormat::Csv, "a,b\n").failure().1.contains("has no rows"));
}

#[test]
fn long_names_of_a_header_are_shortened() {
    let name = "n".repeat(20_000);
    for header in [format!("{name};b"), format!("{name},{name}")] {
        let (_, error) = Data::one(FileFormat::Csv, format!("{header}\n1,2\n")).failure();
        assert!(error.contains("nnn") && error.len() < 500, "{} bytes: {error:.500}", error.len());
    }
}

#[test]
fn a_header_in_another_form_names_the_loader() {
    let semicolons = "the header has one column, 'question;answer', and contains ';', which this loader does not split \
                      at; separate the fields with commas";
    for (format, content, expected) in [
        (FileFormat::Csv, "question;answer\nq;a\n", semicolons),
        (FileFormat::Csv, "question\tanswer\nq\ta\n", "use loader: tsv"),
        (FileFormat::Tsv, "question,answer\nq,a\n", "use loader: csv"),
        (
            FileFormat::Csv,
            "{\"question\": \"q\", \"answer\": \"a\"}\n",
            "the file is JSON; use loader: jsonl",
        ),
        (FileFormat::Tsv, "[{\"question\": \"q\"}]\n", "the file is JSON; use loader: jsonl"),
    ] {
        let (_, error) = Data::one(format, content).failure();
        assert!(error.contains(expected), "{content}: {error}");
    }
    assert_eq!(
        Data::one(FileFormat::Csv, "question\nq;r\n").rows().len(),
        1,
        "a separator in a row is a text"
    );
}

#[test]
fn a_record_that_is_too_long_does_not_take_the_next_with_it() {
    let line = "x".repeat(1 << 20);
    let bodies = Data::one(FileFormat::Csv, format!("a\n\"{}\"\nlast\n", "xy\"\"".repeat(17 << 20))).bodies();
    assert!(bodies[0].as_ref().is_err_and(|message| message.contains("of 1 lines is longer than")));
    assert_eq!(bodies[1..], [Ok("{\"a\":\"last\"}".to_owned())]);
    let content = format!("a\n\"{}\"\nlast\n", format!("{line}\n").repeat(65));
    let bodies = Data::one(FileFormat::Csv, content).bodies();
    assert!(
        bodies[0]
            .as_ref()
            .is_err_and(|message| message.contains("of 66 lines is longer than 67108864 bytes")),
        "{:?}",
        bodies[0].as_ref().err()
    );
    assert_eq!(bodies[1..], [Ok("{\"a\":\"last\"}".to_owned())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fields_come_out_as_they_went_in(
        records in proptest::collection::vec(("[a,\"\r\nä ]{0,6}", "[a,\"\n;\t]{0,6}"), 1..12),
        end in "\r?\n",
    ) {
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut content = format!("a,b{end}");
        for (one, two) in &records {
            content.push_str(&format!("{},{}{end}", quote(one), quote(two)));
        }
        let expected: Vec<_> =
            records.iter().map(|(one, two)| Ok(serde_json::json!({"a": one, "b": two}).to_string())).collect();
        prop_assert_eq!(Data::one(FileFormat::Csv, content).bodies(), expected);
    }
}

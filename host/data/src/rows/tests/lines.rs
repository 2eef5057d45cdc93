//! JSON Lines in one plain file.

use super::*;
use crate::RowPosition;
use crate::loader::MAX_ROW_VALUES;
use serde_json::json;

#[test]
fn blank_lines_are_no_rows_and_numbers_are_those_of_the_file() {
    let mut data = Data::one(FileFormat::Jsonl, b"\xef\xbb\xbf{\"a\":1}\n\n  \n{\"a\":2}\r\n{\"a\":3}");
    let seen = |data: &Data| -> Vec<_> {
        let mut rows = data.rows();
        rows.sort_by_key(|row| row.number);
        rows.into_iter().map(|row| (row.place, row.body.expect("sound"))).collect()
    };
    let expected = [(1, "{\"a\":1}"), (4, "{\"a\":2}"), (5, "{\"a\":3}")];
    let expected = expected.map(|(line, body)| (RowPosition::Line(line), body.to_owned()));
    assert_eq!(seen(&data), expected);
    assert_eq!(data.open().expect("opened").total(), Some(3));
    // The places of a shuffled file come from an index.
    data.source.shuffle = Some(1);
    assert_eq!(seen(&data), expected);
}

#[test]
fn endless_blank_lines_are_an_error() {
    let text = |blank: usize| format!("{{\"a\":1}}\n{}{{\"a\":2}}\n", "\n".repeat(blank));
    assert_eq!(Data::one(FileFormat::Jsonl, text(1_000_000)).rows().len(), 2);
    let expected = "more than 1000000 blank lines follow one another up to line 1000002; remove them";
    for content in [text(1_000_001).into_bytes(), zstd(text(1_000_001).as_bytes())] {
        for shuffle in [None, Some(1)] {
            let mut data = Data::one(FileFormat::Jsonl, &content);
            data.source.shuffle = shuffle;
            let read = data.open().and_then(|rows| rows.collect::<Result<Vec<Row>, DataError>>());
            let Err(error) = read else { panic!("it is read") };
            let error = error.recorded("data");
            assert!(error.contains(expected) && error.contains("rows"), "{error}");
        }
    }
    let table = format!("a,b\n{}1,2\n", "\n".repeat(1_000_001));
    let Err(error) = Data::one(FileFormat::Csv, table).open() else { panic!("it is read") };
    let error = error.recorded("data");
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_broken_row_is_given_with_its_place_and_the_rest_goes_on() {
    let data = Data::one(
        FileFormat::Jsonl,
        b"{\"a\":1}\n{\"a\":\n[1]\n\"x\"\n{\"a\": \"\xff\"}\n{\"a\":1}{}\n{\"a\":6}\n",
    );
    let expected = [
        Ok("{\"a\":1}".to_owned()),
        Err("line 2 of rows: the row is not JSON: EOF while parsing a value (column 5)".to_owned()),
        Err("line 3 of rows: the row is not a JSON object".to_owned()),
        Err("line 4 of rows: the row is not a JSON object".to_owned()),
        Err("line 5 of rows: the row is not UTF-8 after byte 7".to_owned()),
        Err("line 6 of rows: the row is not JSON: trailing characters (column 8)".to_owned()),
        Ok("{\"a\":6}".to_owned()),
    ];
    assert_eq!(data.bodies(), expected);
    // The same with a filter and with labels, which read the values.
    let mut filtered = Data::one(
        FileFormat::Jsonl,
        b"{\"a\":1}\n{\"a\":\n[1]\n\"x\"\n{\"a\": \"\xff\"}\n{\"a\":1}{}\n{\"a\":6}\n",
    );
    filtered.source.filter.include = vec![("a".to_owned(), vec![json!(6)])];
    assert_eq!(filtered.bodies(), expected[1..]);
}

#[test]
fn an_array_in_the_first_line_is_hinted_at() {
    let bodies = Data::one(FileFormat::Jsonl, "[\n{\"a\":1},\n{}]\n").bodies();
    let has_hint = |message: &String| message.contains("an array of objects is read by loader: json");
    assert!(bodies[0].as_ref().is_err_and(has_hint), "{bodies:?}");
}

#[test]
fn the_order_of_a_seed_is_that_of_every_version() {
    let mut data = Data::one(FileFormat::Jsonl, numbered(10));
    data.source.shuffle = Some(123);
    assert_eq!(numbers(&data), [2, 0, 4, 8, 9, 1, 6, 3, 7, 5]);
    let digests: Vec<_> = data.rows().into_iter().map(|row| row.digest()).collect();
    data.source.shuffle = None;
    let mut ordered: Vec<_> = data.rows().into_iter().map(|row| row.digest()).collect();
    ordered.swap(0, 2);
    assert_eq!((&digests[0], digests[1].len()), (&ordered[0], 16));
}

#[test]
fn limit_comes_after_shuffle_and_the_bound_of_the_run_on_top() {
    let mut data = Data::one(FileFormat::Jsonl, numbered(50));
    data.source.shuffle = Some(7);
    let all = numbers(&data);
    data.source.limit = Some(5);
    assert_eq!(numbers(&data), all[..5]);
    let rows = open(&data.source, Some(3)).expect("opened");
    assert_eq!(rows.total(), Some(3));
    assert_eq!(rows.map(|row| row.expect("read").index).collect::<Vec<_>>(), [0, 1, 2]);
    data.source.shuffle = None;
    assert_eq!(numbers(&data), [0, 1, 2, 3, 4]);
    assert_eq!(open(&data.source, Some(0)).expect("opened").count(), 0);
}

#[test]
fn labels_are_joined_by_row() {
    let data = Data::one(FileFormat::Jsonl, "{\"a\":1}\n\n{\"a\":2}\n{\"a\":3}\n").labels("1\n0\nx\n");
    let expected = [
        Ok(r#"{"a":1,"label":1}"#.to_owned()),
        Ok(r#"{"a":2,"label":0}"#.to_owned()),
        Ok(r#"{"a":3,"label":"x"}"#.to_owned()),
    ];
    assert_eq!(data.bodies(), expected);
    let bodies = Data::one(FileFormat::Jsonl, "{\"label\":1}\n").labels("1\n").bodies();
    assert!(bodies[0].as_ref().is_err_and(|message| message.contains("already has the field 'label'")));
}

#[test]
fn a_row_with_too_many_values_is_filtered_but_gets_no_label() {
    let row = |a: u64| format!("{{\"x\":[{}0],\"a\":{a}}}", "0,".repeat(MAX_ROW_VALUES));
    let content = format!("{}\n{}\n{{\"a\":1}}\n", row(1), row(2));
    let mut data = Data::one(FileFormat::Jsonl, &content);
    data.source.filter.include = vec![("a".to_owned(), vec![json!(1)])];
    data.source.filter.exclude = vec![("x".to_owned(), vec![json!([0])])];
    assert_eq!(numbers(&data), [0, 2]);
    let bodies = data.labels("0\n1\n2\n").bodies();
    let is_refused = |body: &Result<String, String>| {
        body.as_ref().is_err_and(|message| message.contains("more than 262144 JSON values"))
    };
    assert!(bodies.len() == 3 && bodies[..2].iter().all(is_refused), "{:?}", bodies.last());
    assert_eq!(bodies[2], Ok("{\"a\":1,\"label\":2}".to_owned()));
}

#[test]
fn as_many_labels_as_rows_or_an_error() {
    for (content, is_early) in [(numbered(3).into_bytes(), true), (gzip(numbered(3).as_bytes()), false)] {
        let mut data = Data::one(FileFormat::Jsonl, &content).labels("0\n1\n0\n1\n\n");
        let (good, error) = data.failure();
        assert!(error.contains("has 4 lines, but the dataset has 3 rows"), "{error}");
        assert_eq!(good, if is_early { 0 } else { 3 });
        data.source.limit = Some(2);
        match is_early {
            true => drop(data.failure()),
            false => assert_eq!(data.rows().len(), 2),
        }
        data.source.limit = Some(4);
        data.failure();
        data.source.shuffle = Some(1);
        assert_eq!(data.failure().0, 0);
        data.source.limit = Some(2);
        data.failure();
        // The lines are compared with all rows, not only those that are kept.
        let mut data = Data::one(FileFormat::Jsonl, &content).labels("0\n1\n0\n\n");
        data.source.filter.include = vec![("label".to_owned(), vec![json!(0)])];
        assert_eq!(numbers(&data), [0, 2]);
        data.source.shuffle = Some(1);
        assert_eq!(data.rows().len(), 2);
        let (_, error) = Data::one(FileFormat::Jsonl, &content).labels("0\n1\n").failure();
        assert!(error.contains("has 2 lines, but the dataset has "), "{error}");
    }
}

#[test]
fn unreadable_paths_are_shown_as_written_and_in_full() {
    let mut data = Data::one(FileFormat::Jsonl, "{}\n");
    data.source.files[0].path = data.folder.path().join("missing.jsonl");
    data.source.files[0].shown = "./missing.jsonl".to_owned();
    let (_, error) = data.failure();
    let whole = data.source.files[0].path.display().to_string();
    assert!(
        error.contains("'./missing.jsonl'") && error.contains(&whole) && error.contains("no such file"),
        "{error}"
    );
    data.source.files[0].path = data.folder.path().to_owned();
    assert!(data.failure().1.contains("directory"));
    for format in [FileFormat::Jsonl, FileFormat::Json, FileFormat::Csv, FileFormat::Tsv] {
        for content in ["", "\n \n"] {
            let (_, error) = Data::one(format, content).failure();
            assert!(error.contains("has no rows"), "{error}");
        }
    }
}

#[test]
fn a_row_that_is_too_long_is_a_problem_and_the_next_is_read() {
    let long = format!("{{\"a\":\"{}\"}}\n{{\"b\":1}}\n", "x".repeat(64 << 20));
    for content in [gzip(long.as_bytes()), long.into_bytes()] {
        let rows = Data::one(FileFormat::Jsonl, content).rows();
        let problem = rows[0].body.as_ref().expect_err("too long");
        assert!(problem.message.contains("longer than 67108864 bytes"), "{}", problem.message);
        assert_eq!(problem.text.chars().count(), 2_000);
        assert_eq!(rows[1].body.as_deref(), Ok("{\"b\":1}"));
    }
}

#[test]
fn a_filter_counts_what_it_leaves_out() {
    let mut data = Data::one(FileFormat::Jsonl, numbered(10) + "broken\n");
    data.source.filter.exclude = vec![("n".to_owned(), (0..7).map(|number| json!(number)).collect())];
    let mut rows = data.open().expect("opened");
    assert_eq!((rows.total(), rows.filtered()), (None, 0));
    let seen: Vec<_> =
        rows.by_ref().map(|row| row.expect("read")).map(|row| (row.index, row.number)).collect();
    assert_eq!(seen, [(0, 7), (1, 8), (2, 9), (3, 10)]);
    assert_eq!(rows.filtered(), 7);
    // Shuffled rows are counted before the first.
    data.source.shuffle = Some(3);
    let rows = data.open().expect("opened");
    assert_eq!((rows.total(), rows.filtered()), (Some(4), 7));
    assert_eq!(rows.filter(|row| row.as_ref().is_ok_and(|row| row.body.is_err())).count(), 1);
}

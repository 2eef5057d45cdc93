//! Files that change while their rows are read.

use super::parquet::{column, file};
use super::*;
use crate::digests::pin;
use ::parquet::basic::Compression;
use ::parquet::data_type::{ByteArray, ByteArrayType};
use gage_core::Digest;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Number of rows, which fill several blocks in every format.
const ROWS: u64 = 6_000;

/// Returns texts that compress poorly.
fn texts() -> Vec<String> {
    (0..ROWS).map(|number| Digest::of_bytes(&number.to_le_bytes()).hex()).collect()
}

/// Returns the same rows in every format, each with a name for messages. The files are pinned.
fn formats() -> Vec<(&'static str, Data)> {
    let texts = texts();
    let lines: String = texts.iter().map(|text| format!("{{\"t\":\"{text}\"}}\n")).collect();
    let csv: String = texts.iter().map(|text| format!("{text}\n")).collect();
    let json =
        serde_json::to_string(&texts.iter().map(|text| serde_json::json!({"t": text})).collect::<Vec<_>>());
    let group = |texts: &[String]| {
        let texts = texts.iter().map(|text| ByteArray::from(text.as_bytes().to_vec())).collect();
        vec![column::<ByteArrayType>(texts, &[], &[])]
    };
    let groups: Vec<_> = texts.chunks(1_000).map(group).collect();
    let parquet = file("message rows { required binary t (UTF8); }", Compression::UNCOMPRESSED, &groups);
    let mut shuffled = Data::one(FileFormat::Jsonl, &lines);
    shuffled.source.shuffle = Some(1);
    let mut all = vec![
        ("jsonl", Data::one(FileFormat::Jsonl, &lines)),
        ("gzip", Data::one(FileFormat::Jsonl, gzip(lines.as_bytes()))),
        ("zstd", Data::one(FileFormat::Jsonl, zstd(lines.as_bytes()))),
        ("csv", Data::one(FileFormat::Csv, format!("t\n{csv}"))),
        ("json", Data::one(FileFormat::Json, json.expect("JSON"))),
        ("parquet", Data::one(FileFormat::Parquet, parquet)),
        ("shuffled", shuffled),
    ];
    all.iter_mut().for_each(|(_, data)| drop(pin(&mut data.source).expect("pinned")));
    all
}

/// Writes other content of the same length into the file, and returns the old.
fn overwrite(data: &Data) -> Vec<u8> {
    let content = std::fs::read(data.folder.path().join("rows")).expect("read");
    write(data, &vec![b'x'; content.len()]);
    content
}

fn write(data: &Data, content: &[u8]) {
    let opened = OpenOptions::new().write(true).open(data.folder.path().join("rows"));
    opened.and_then(|mut file| file.write_all(content)).expect("written in place");
}

#[test]
fn no_row_comes_from_content_that_is_restored_later() {
    for (format, data) in formats() {
        let expected = data.rows();
        let mut rows = data.open().expect("opened");
        let mut found = vec![rows.next().expect("a row").expect("sound")];
        let content = overwrite(&data);
        let error = loop {
            match rows.next() {
                Some(Ok(row)) => found.push(row),
                Some(Err(error)) => break error,
                None => panic!("{format}: the change was not noticed"),
            }
        };
        assert!(matches!(error, DataError::Changed { .. }), "{format}: {error}");
        assert!(found.len() < expected.len() && found == expected[..found.len()], "{format}: other rows");
        write(&data, &content);
        let error = data.open().err().map(|error| error.to_string()).unwrap_or_default();
        let message = "it had other content than that of its digest, which it has again";
        assert!(error.contains(message), "{format}: {error}");
    }
}

#[test]
fn content_that_is_restored_before_it_is_read_is_no_change() {
    for (format, data) in formats() {
        let expected = data.rows();
        let mut rows = data.open().expect("opened");
        let first = rows.next().expect("a row").expect("sound");
        let content = overwrite(&data);
        write(&data, &content);
        let rest: Vec<Row> =
            rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{format}: {error}"));
        assert!([vec![first], rest].concat() == expected, "{format}: other rows");
    }
}

#[test]
fn fewer_rows_than_counted_are_an_error_without_a_digest() {
    let lines = numbered(ROWS * 4);
    let data = Data::one(FileFormat::Jsonl, &lines);
    let mut rows = data.open().expect("opened");
    assert_eq!(rows.total(), Some(ROWS * 4));
    let kept = numbered(ROWS * 3);
    let opened = OpenOptions::new().write(true).open(data.folder.path().join("rows"));
    opened.and_then(|file| file.set_len(kept.len() as u64)).expect("shortened");
    assert_eq!(rows.by_ref().take_while(Result::is_ok).count() as u64, ROWS * 3);
    // The error was the last item.
    assert!(rows.next().is_none());
    let data = Data::one(FileFormat::Jsonl, &lines);
    let mut rows = data.open().expect("opened");
    rows.total = Some(ROWS);
    let error = rows.find_map(Result::err).expect("another number of rows").to_string();
    assert!(error.contains("6000 rows were counted before, and 24000 were read"), "{error}");
}

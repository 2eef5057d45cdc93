//! Several files, and their identity in the record of a run.

use super::*;
use crate::digests::pin;
use gage_core::Digest;
use serde_json::json;

#[test]
fn several_files_are_one_dataset() {
    let packed = gzip(numbered(3).as_bytes());
    let files = [("b.jsonl", numbered(2).into_bytes()), ("empty", Vec::new()), ("a.gz", packed)];
    let files: Vec<_> = files.iter().map(|(name, content)| (*name, content.as_slice())).collect();
    let mut data = Data::new(FileFormat::Jsonl, &files);
    let rows = data.rows();
    let seen: Vec<_> = rows.iter().map(|row| (row.index, row.number, row.file)).collect();
    assert_eq!(seen, [(0, 0, 0), (1, 1, 0), (2, 2, 2), (3, 3, 2), (4, 4, 2)]);
    assert_eq!(data.open().expect("opened").total(), None);
    data = data.labels("a\nb\nc\nd\ne\n");
    assert_eq!(data.bodies()[4], Ok(r#"{"n":2,"label":"e"}"#.to_owned()));
    data.source.shuffle = Some(123);
    assert_eq!(data.rows().len(), 5);
    assert!(is_empty_folder_but(data.folder.path(), &["b.jsonl", "empty", "a.gz", "labels"]));
}

#[test]
fn plain_files_are_counted_together() {
    let (one, two) = (numbered(2), numbered(3));
    let data = Data::new(FileFormat::Jsonl, &[("1", one.as_bytes()), ("2", two.as_bytes())]);
    assert_eq!(data.open().expect("opened").total(), Some(5));
    assert_eq!(open(&data.source, Some(4)).expect("opened").total(), Some(4));
}

#[test]
fn delimited_rows_are_counted_with_their_quotes() {
    let quoted = "a,b\n\n1,\"x\ny\"\n2,\"\"\"\"\n\n3,z";
    for (files, most, expected) in [
        (vec![quoted], None, Some(3)),
        (vec![quoted, "a,b\n4,5\n"], None, Some(4)),
        (vec![quoted], Some(2), Some(2)),
        (vec![quoted, "a,b\n4,\"open\n"], None, None),
    ] {
        let named = ["first", "second"].into_iter().zip(&files);
        let files: Vec<_> = named.map(|(name, content)| (name, content.as_bytes())).collect();
        let data = Data::new(FileFormat::Csv, &files);
        let total = open(&data.source, most).expect("opened").total();
        assert_eq!(total, expected, "{files:?}");
    }
    let table = Data::one(FileFormat::Tsv, quoted.replace(',', "\t"));
    assert_eq!(table.open().expect("opened").total(), Some(3));
    assert_eq!(Data::one(FileFormat::Csv, gzip(quoted.as_bytes())).open().expect("opened").total(), None);
}

#[test]
fn a_bad_file_is_noticed_before_the_first_row() {
    let rows = numbered(2);
    let mut data = Data::new(FileFormat::Jsonl, &[("1", rows.as_bytes()), ("2", b"PAR1\x15\x04")]);
    assert!(data.failure().1.contains("'2'"));
    data.source.files[1].path = data.folder.path().join("missing");
    let (good, error) = data.failure();
    assert!(good == 0 && error.contains("cannot read '2'"), "{error}");
    let error = Data::new(FileFormat::Csv, &[("1", b"a\n1\n"), ("2", b"a,a\n1,2\n")]).failure().1;
    assert!(error.contains("cannot load '2'"), "{error}");
}

#[test]
fn damage_counts_the_rows_of_its_own_file() {
    let packed = gzip(numbered(9).as_bytes());
    let rows = numbered(2);
    let data = Data::new(FileFormat::Jsonl, &[("1", rows.as_bytes()), ("2", &packed[..packed.len() - 1])]);
    let (good, error) = data.failure();
    assert_eq!(good, 11);
    assert!(error.contains("'2'") && error.contains("damaged after row 9"), "{error}");
}

#[test]
fn no_file_and_no_row_are_errors() {
    assert!(Data::new(FileFormat::Jsonl, &[]).failure().1.contains("names no file and has no rows"));
    let (_, error) = Data::new(FileFormat::Json, &[("1", b"[]"), ("2", b"[ ]")]).failure();
    assert!(error.contains("'1'") && error.contains("1 more has no rows"), "{error}");
}

#[test]
fn a_folder_that_is_missing_for_the_temporary_file_is_named() {
    let mut data = Data::one(FileFormat::Csv, "a\n1\n");
    data.source.shuffle = Some(1);
    data.source.spool_folder = Some(data.folder.path().join("none"));
    let (_, error) = data.failure();
    assert!(error.contains("temporary file") && error.contains("none'"), "{error}");
}

#[test]
fn digests_are_those_of_sha256sum() {
    let mut data = Data::new(FileFormat::Jsonl, &[("1", b"abc")]).labels("abc");
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let one = json!({"digest": abc, "bytes": 3});
    let found = pin(&mut data.source).expect("read");
    assert_eq!(json!(found), json!({"digest": abc, "bytes": 3, "labels": one}));
    let mut data = Data::new(FileFormat::Jsonl, &[("1", b"abc"), ("2", b"abc")]);
    let hex = abc.trim_start_matches("sha256:");
    let lines = format!("{hex}  1\n{hex}  2\n");
    let expected = json!({
        "files": [{"name": "1", "digest": abc, "bytes": 3}, {"name": "2", "digest": abc, "bytes": 3}],
        "digest": Digest::of_bytes(lines.as_bytes()), "bytes": 6,
    });
    assert_eq!(json!(pin(&mut data.source).expect("read")), expected);
}

//! Tests of all formats alike.

use super::parquet::texts;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the same rows in every format.
fn formats(ids: &[String]) -> Vec<Data> {
    let objects: Vec<Value> =
        ids.iter().map(|id| json!({"id": id, "g": (id.len() % 2).to_string()})).collect();
    let lines: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let records: String = ids.iter().map(|id| format!("{},{}\n", quote(id), id.len() % 2)).collect();
    let groups: Vec<String> = ids.iter().map(|id| (id.len() % 2).to_string()).collect();
    let half = lines.lines().take(ids.len() / 2).map(|line| line.len() + 1).sum();
    let (one, two) = lines.as_bytes().split_at(half);
    vec![
        Data::one(FileFormat::Jsonl, &lines),
        Data::one(FileFormat::Jsonl, gzip(lines.as_bytes())),
        Data::one(FileFormat::Jsonl, zstd(lines.as_bytes())),
        Data::new(FileFormat::Jsonl, &[("1", one), ("2", two)]),
        Data::one(FileFormat::Csv, format!("id,g\n{records}")),
        Data::one(FileFormat::Json, serde_json::to_string_pretty(&objects).expect("JSON")),
        Data::one(FileFormat::Parquet, texts(&[("id", ids), ("g", &groups)])),
    ]
}

fn ids_of(data: &Data) -> Vec<Value> {
    let body = |row: Row| serde_json::from_str::<Value>(&row.body.expect("sound")).expect("JSON");
    data.rows().into_iter().map(|row| body(row)["id"].clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_seed_orders_the_same_rows_alike_in_every_format(
        ids in proptest::collection::vec("[a-z\"\n, ä]{1,8}", 1..60), seed: u64, limit in 1_u64..80, is_filtered: bool,
    ) {
        let mut expected: Option<Vec<Value>> = None;
        for mut data in formats(&ids) {
            data.source.shuffle = Some(seed);
            data.source.limit = Some(limit);
            if is_filtered {
                data.source.filter.include = vec![("g".to_owned(), vec![json!("1")])];
            }
            let rows = data.open().expect("opened");
            let known = rows.total();
            let found = ids_of(&data);
            prop_assert_eq!(known, Some(found.len() as u64));
            prop_assert_eq!(&found, expected.get_or_insert(found.clone()));
        }
    }

    #[test]
    fn every_row_is_given_once(ids in proptest::collection::vec("[a-z]{1,8}", 1..60), seed: Option<u64>) {
        for mut data in formats(&ids) {
            data.source.shuffle = seed;
            let mut rows = data.rows();
            prop_assert!(rows.iter().enumerate().all(|(position, row)| row.index == position as u64));
            rows.sort_by_key(|row| row.number);
            prop_assert!(rows.iter().enumerate().all(|(position, row)| row.number == position as u64));
            prop_assert_eq!(rows.len(), ids.len());
        }
    }
}

#[test]
fn places_digests_and_problems_are_kept_while_rows_are_shuffled() {
    for content in [gzip(b"{\"a\":1}\n\nbroken\n{\"a\":2}\n"), zstd(b"{\"a\":1}\n\nbroken\n{\"a\":2}\n")] {
        let mut data = Data::one(FileFormat::Jsonl, content);
        let expected = data.rows();
        data.source.shuffle = Some(5);
        let mut rows = data.rows();
        rows.sort_by_key(|row| row.number);
        let index = |row: &Row| Row { index: 0, ..row.clone() };
        assert_eq!(
            rows.iter().map(index).collect::<Vec<_>>(),
            expected.iter().map(index).collect::<Vec<_>>()
        );
    }
}

#[test]
fn rows_may_be_read_on_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&Data::one(FileFormat::Jsonl, "{}\n").open().expect("opened"));
}

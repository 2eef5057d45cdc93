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

    /// A shard gives the rows with a record of it, at their places in the whole dataset. Together, the shards have each record once.
    #[test]
    fn shards_have_the_rows_of_the_whole_dataset(
        ids in proptest::collection::vec("[a-z]{1,8}", 1..150),
        seed: Option<u64>,
        limit in 1_u64..200,
        is_filtered: bool,
        count in 1_u64..9,
        repeat in 1_u64..70,
    ) {
        for mut data in formats(&ids) {
            data.source.shuffle = seed;
            data.source.limit = Some(limit);
            if is_filtered {
                data.source.filter.include = vec![("g".to_owned(), vec![json!("1")])];
            }
            let whole = data.rows();
            let mut owners = vec![0; whole.len() * repeat as usize];
            for shard in Shard::all(count) {
                let mut rows = data.open().expect("opened").of_shard(Some(shard), repeat);
                let own: Vec<Row> = rows.by_ref().map(|row| row.expect("a row")).collect();
                prop_assert_eq!(own.len() as u64 + rows.skipped(), whole.len() as u64);
                prop_assert!(rows.total().is_none_or(|total| total == whole.len() as u64));
                for row in own {
                    prop_assert_eq!(&row, &whole[row.index as usize]);
                    let first = row.index * repeat;
                    let records: Vec<u64> = (first..first + repeat).filter(|index| shard.has(*index)).collect();
                    prop_assert!(!records.is_empty(), "row {} has no record in {}", row.index, shard);
                    records.iter().for_each(|index| owners[*index as usize] += 1);
                }
            }
            prop_assert!(owners.iter().all(|owners| *owners == 1), "{:?}", owners);
        }
    }
}

/// A row whose records are in two shards is given by both.
#[test]
fn rows_of_other_shards_are_counted_and_not_given() {
    let data = Data::one(FileFormat::Jsonl, numbered(64));
    for (shard, repeat, given) in [
        (None, 1, (0..64).collect::<Vec<u64>>()),
        (Shard::new(1, 1), 1, (0..64).collect()),
        (Shard::new(2, 2), 1, (32..64).collect()),
        // Row 10 has the records 30, 31 and 32.
        (Shard::new(1, 3), 3, (0..11).chain(32..43).collect()),
        (Shard::new(2, 3), 3, (10..22).chain(42..54).collect()),
        (Shard::new(3, 3), 3, (21..32).chain(53..64).collect()),
        (Shard::new(3, 4), 1, Vec::new()),
    ] {
        let mut rows = data.open().expect("opened").of_shard(shard, repeat);
        let found: Vec<u64> = rows.by_ref().map(|row| row.expect("a row").index).collect();
        assert_eq!(found, given, "{shard:?} {repeat}");
        assert_eq!(rows.skipped(), 64 - given.len() as u64, "{shard:?} {repeat}");
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

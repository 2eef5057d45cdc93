use crate::rows::open;
use crate::source::{DataFile, FewShotSource, PoolFiles, RowSource, SubsetFiles};
use crate::{DataError, Row};
use gage_config::{ExamplePick, FileFormat};
use gage_core::Shard;
use gage_recorded_messages::RecordedError as _;
use serde_json::json;
use tempfile::TempDir;

/// A folder with files of rows, and the source that reads them.
struct Data {
    folder: TempDir,
    source: RowSource,
}

impl Data {
    /// Creates `count` rows with the fields `n` and `parity`.
    fn new(count: usize) -> Data {
        let folder = tempfile::tempdir().expect("a folder");
        let mut source = RowSource::new(FileFormat::Jsonl, Vec::new());
        source.spool_folder = Some(folder.path().to_owned());
        let mut data = Data { folder, source };
        let file = data.file("rows", &numbered(count));
        data.source.files.push(file);
        data
    }

    fn file(&self, name: &str, content: &str) -> DataFile {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        DataFile::shown_as(path, name.to_owned())
    }

    /// Picks `count` examples of each row from a pool.
    fn few_shot(mut self, pool: &str, count: usize, pick: ExamplePick, seed: u64) -> Data {
        let files = vec![self.file("pool", pool)];
        let pool = PoolFiles { files, format: FileFormat::Jsonl, is_of_rows: false };
        self.source.few_shot = Some(FewShotSource { pools: vec![pool], count, by: None, pick, seed });
        self
    }

    fn by(mut self, field: &str) -> Data {
        if let Some(few_shot) = &mut self.source.few_shot {
            few_shot.by = Some(field.to_owned());
        }
        self
    }

    fn rows(&self) -> Vec<Row> {
        let rows = open(&self.source, None).unwrap_or_else(|error| panic!("{error}"));
        rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the examples of each row, in the order of the file.
    fn examples(&self) -> Vec<Vec<u32>> {
        let mut rows = self.rows();
        rows.sort_by_key(|row| row.number);
        rows.into_iter().map(|row| row.examples).collect()
    }

    fn error(&self) -> String {
        let read = open(&self.source, None).and_then(|rows| rows.collect::<Result<Vec<Row>, DataError>>());
        let Err(error) = read else { panic!("it is read") };
        error.recorded("data")
    }
}

fn numbered(count: usize) -> String {
    let parity = |number: usize| if number.is_multiple_of(2) { "even" } else { "odd" };
    (0..count).map(|number| format!("{}\n", json!({"n": number, "parity": parity(number)}))).collect()
}

/// Results of `random.sample(range(30), 2)` of Python, one for each row.
const DRAWN: [[u32; 2]; 6] = [[24, 14], [3, 0], [2, 29], [25, 18], [1, 21], [22, 2]];

#[test]
fn first_examples_are_those_of_the_pool_or_of_the_group() {
    let data = Data::new(4).few_shot(&numbered(9), 2, ExamplePick::First, 0);
    assert_eq!(data.examples(), vec![vec![0, 1]; 4]);
    let data = data.by("parity");
    assert_eq!(data.examples(), [[0, 2], [1, 3], [0, 2], [1, 3]]);
}

#[test]
fn random_examples_depend_on_the_place_in_the_file_alone() {
    let condition = |value: &str| vec![("parity".to_owned(), vec![json!(value)])];
    let of_rows = |data: &Data, numbers: &[usize]| {
        let mut rows = data.rows();
        rows.sort_by_key(|row| row.number);
        let expected: Vec<(u64, Vec<u32>)> =
            numbers.iter().map(|number| (*number as u64, DRAWN[*number].to_vec())).collect();
        let found: Vec<(u64, Vec<u32>)> = rows.into_iter().map(|row| (row.number, row.examples)).collect();
        assert_eq!(found, expected);
    };
    let mut data = Data::new(6).few_shot(&numbered(30), 2, ExamplePick::Random, 1234);
    of_rows(&data, &[0, 1, 2, 3, 4, 5]);
    data.source.filter.include = condition("odd");
    of_rows(&data, &[1, 3, 5]);
    data.source.shuffle = Some(9);
    of_rows(&data, &[1, 3, 5]);
    data.source.filter.include.clear();
    of_rows(&data, &[0, 1, 2, 3, 4, 5]);
    data.source.shuffle = None;
    data.source.limit = Some(2);
    of_rows(&data, &[0, 1]);
    data.source.limit = None;
    for shard in Shard::all(2) {
        let rows = open(&data.source, None).expect("opened").of_shard(Some(shard), 32);
        for row in rows {
            let row = row.expect("a row");
            assert_eq!(row.examples, DRAWN[row.number as usize], "{shard:?}");
        }
    }
}

#[test]
fn broken_rows_do_not_change_the_draws_of_others() {
    let data = Data::new(6).few_shot(&numbered(30), 2, ExamplePick::Random, 1234);
    let broken = numbered(6).replacen("\"odd\"", "odd", 1);
    std::fs::write(data.folder.path().join("rows"), broken).expect("written");
    let mut expected: Vec<Vec<u32>> = DRAWN.iter().map(|drawn| drawn.to_vec()).collect();
    expected[1].clear();
    assert_eq!(data.examples(), expected);
}

#[test]
fn random_examples_share_a_field() {
    let data = Data::new(4).few_shot(&numbered(10), 2, ExamplePick::Random, 3).by("parity");
    assert_eq!(data.examples(), [[2, 8], [5, 7], [8, 0], [9, 1]]);
}

#[test]
fn a_row_is_not_its_own_example() {
    let with_own = |pick: ExamplePick, content: &str| {
        let mut data = Data::new(0).few_shot(content, 2, pick, 7);
        let files = vec![data.file("rows", content)];
        data.source.files.clone_from(&files);
        if let Some(few_shot) = &mut data.source.few_shot {
            few_shot.pools = vec![PoolFiles { files, format: FileFormat::Jsonl, is_of_rows: true }];
        }
        data.examples()
    };
    let expected = [[1, 2], [0, 2], [0, 1], [0, 1]];
    assert_eq!(with_own(ExamplePick::First, &numbered(4)), expected);
    // Nor is an equal row.
    let repeated = "{\"a\":1}\n{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";
    assert_eq!(with_own(ExamplePick::First, repeated), [[2, 3], [2, 3], [0, 1], [0, 1]]);
    assert_eq!(with_own(ExamplePick::Random, &numbered(6)), OWN_DRAWN);
}

/// Results of Python for six rows of the same split with the seed 7: three are drawn, and the row is left out.
const OWN_DRAWN: [[u32; 2]; 6] = [[2, 1], [5, 0], [4, 0], [4, 0], [0, 5], [3, 0]];

#[test]
fn each_subset_has_its_pool_and_its_own_draw() {
    let mut data = Data::new(2).few_shot(&numbered(4), 1, ExamplePick::Random, 5);
    let rows = data.file("more", &numbered(2));
    data.source.files.push(rows);
    let named = |name: &str| SubsetFiles { name: name.to_owned(), files: 1 };
    data.source.subsets = vec![named("one"), named("two \"2\"")];
    let files = vec![data.file("second", &numbered(5))];
    if let Some(few_shot) = &mut data.source.few_shot {
        few_shot.pools.push(PoolFiles { files, format: FileFormat::Jsonl, is_of_rows: false });
    }
    let rows = data.rows();
    let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_deref().expect("sound")).collect();
    assert_eq!(bodies[0], r#"{"n":0,"parity":"even","subset":"one"}"#);
    assert_eq!(bodies[3], r#"{"n":1,"parity":"odd","subset":"two \"2\""}"#);
    // The pool has the rows 0 to 3 of one, and the rows 4 to 8 of the other.
    let found: Vec<&[u32]> = rows.iter().map(|row| row.examples.as_slice()).collect();
    assert_eq!(found, SUBSETS_DRAWN);
    // Filters see the name.
    data.source.filter.include = vec![("subset".to_owned(), vec![json!("one")])];
    assert_eq!(data.rows().len(), 2);
}

const SUBSETS_DRAWN: [[u32; 1]; 4] = [[2], [2], [8], [6]];

#[test]
fn unusable_pools_are_errors_of_the_dataset() {
    let first = ExamplePick::First;
    for (pool, by, expected) in [
        ("{\"n\":1}\nbroken\n", None, "in 'pool'"),
        ("{\"n\":1}\nbroken\n", None, "line 2 of pool: the row is not JSON"),
        ("\n", None, "there are no rows"),
        ("{\"n\":1}\n", Some("parity"), "a row has no field `parity`, which `few_shot` names in `by`"),
    ] {
        let data = Data::new(1).few_shot(pool, 3, first, 0);
        let data = if let Some(by) = by { data.by(by) } else { data };
        let error = data.error();
        assert!(error.contains("the examples of `few_shot` in ") && error.contains(expected), "{error}");
    }
}

#[test]
fn rows_without_enough_examples_are_invalid() {
    for (pool, pick, by, expected) in [
        (numbered(2), ExamplePick::Random, None, "`few_shot` draws 3 examples, but there are 2 rows"),
        (
            numbered(4),
            ExamplePick::Random,
            Some("parity"),
            "`few_shot` draws 3 examples, but there are 2 rows with its `parity`",
        ),
        (
            "{\"parity\":\"neither\"}\n".to_owned(),
            ExamplePick::First,
            Some("parity"),
            "the examples of `few_shot` have no rows with its `parity`",
        ),
        (
            "{\"id\":1}\n".to_owned(),
            ExamplePick::First,
            Some("id"),
            "the row has no field `id`, which `few_shot` names in `by`",
        ),
    ] {
        let data = Data::new(1).few_shot(&pool, 3, pick, 0);
        let data = if let Some(by) = by { data.by(by) } else { data };
        let row = data.rows().remove(0);
        let problem = row.body.expect_err(expected);
        assert_eq!(problem.message, format!("line 1 of rows: {expected}"));
    }
}

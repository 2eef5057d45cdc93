use super::*;
use crate::hub::content_digest::ObjectId;
use crate::hub::source::HubKind;
use gage_core::Digest;

fn source() -> HubSource {
    HubSource {
        kind: HubKind::Dataset,
        name: "o/d".to_owned(),
        revision: "main".to_owned(),
        subset: None,
        split: None,
        data_files: Vec::new(),
        endpoint: url::Url::parse("http://hub.test").expect("a URL"),
        token: None,
        offline: true,
        cache: std::path::PathBuf::new(),
        timings: Default::default(),
        permissions: Default::default(),
    }
}

fn listing(paths: &[&str], card: Option<&str>) -> Listing {
    let entry = |path: &&str| HubEntry {
        path: (*path).to_owned(),
        bytes: 0,
        oid: ObjectId::Large(Digest::of_bytes(b"")),
    };
    Listing { files: paths.iter().map(entry).collect(), card: card.map(str::to_owned) }
}

struct Case {
    paths: &'static [&'static str],
    card: Option<&'static str>,
    subset: Option<&'static str>,
    split: Option<&'static str>,
    data_files: &'static [&'static str],
}

const CASE: Case = Case { paths: &[], card: None, subset: None, split: None, data_files: &[] };

fn run(case: &Case) -> Result<(Vec<String>, HubFormat), String> {
    let listing = listing(case.paths, case.card);
    let source = HubSource {
        subset: case.subset.map(str::to_owned),
        split: case.split.map(str::to_owned),
        data_files: case.data_files.iter().map(|&pattern| pattern.to_owned()).collect(),
        ..source()
    };
    let choice = select(&source, &listing).map_err(|error| error.to_string())?;
    Ok((choice.entries.iter().map(|entry| entry.path.clone()).collect(), choice.format))
}

const MAIN_TRAIN: &str = "main/train-00000-of-00001.parquet";
const MAIN_TEST: &str = "main/test-00000-of-00001.parquet";
const SOCRATIC: &str = "socratic/test-00000-of-00001.parquet";
const GSM: &[&str] = &["README.md", ".gitattributes", MAIN_TRAIN, MAIN_TEST, SOCRATIC];
const CARD: Option<&str> = Some(
    "configs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train-*\n  - split: test\n    path: main/test-*\n- config_name: socratic\n  data_files:\n  - split: test\n    path: socratic/test-*\n",
);
const TWICE: &[&str] = &["train.jsonl", "train.parquet", "train2.csv"];

#[test]
fn files_are_chosen_by_subset_and_split() {
    use HubFormat::{Csv, Json, Jsonl, Parquet, Tsv};
    let cases: Vec<(Case, &[&str], HubFormat)> = vec![
        (Case { paths: &["data.csv", "README.md"], ..CASE }, &["data.csv"], Csv),
        (Case { paths: &["x/a.tsv.gz"], ..CASE }, &["x/a.tsv.gz"], Tsv),
        (Case { paths: &["dataset_infos.json", "test.json"], ..CASE }, &["test.json"], Json),
        (Case { paths: GSM, subset: Some("main"), split: Some("test"), ..CASE }, &[MAIN_TEST], Parquet),
        (Case { paths: GSM, subset: Some("socratic"), ..CASE }, &[SOCRATIC], Parquet),
        (
            Case { paths: GSM, card: CARD, subset: Some("main"), split: Some("train"), ..CASE },
            &[MAIN_TRAIN],
            Parquet,
        ),
        (Case { paths: GSM, card: CARD, subset: Some("socratic"), ..CASE }, &[SOCRATIC], Parquet),
        (
            Case { paths: GSM, card: CARD, data_files: &["main/test-*", "main/*"], ..CASE },
            &[MAIN_TEST, MAIN_TRAIN],
            Parquet,
        ),
        (Case { paths: TWICE, ..CASE }, &["train.parquet"], Parquet),
        (Case { paths: TWICE, data_files: &["train.jsonl"], ..CASE }, &["train.jsonl"], Jsonl),
        (Case { paths: &["dev.jsonl", "test.jsonl.zst"], split: Some("val"), ..CASE }, &["dev.jsonl"], Jsonl),
        (
            Case {
                paths: &["data/val-0-of-1.parquet", "data/x-0-of-1.parquet"],
                split: Some("validation"),
                ..CASE
            },
            &["data/val-0-of-1.parquet"],
            Parquet,
        ),
        (Case { paths: &["train_10.csv", "train_2.csv"], ..CASE }, &["train_10.csv", "train_2.csv"], Csv),
        (
            Case { paths: &["data/en/test.csv", "data/de/test.csv"], subset: Some("en"), ..CASE },
            &["data/en/test.csv"],
            Csv,
        ),
        (
            Case { paths: &["en/test.csv", "en/x/test.csv"], subset: Some("en"), ..CASE },
            &["en/test.csv"],
            Csv,
        ),
        (
            Case { paths: &["en/test.csv", "en/x/test.csv"], subset: Some("en/x"), ..CASE },
            &["en/x/test.csv"],
            Csv,
        ),
        (Case { paths: &["test.csv", "x/test.csv"], subset: Some("default"), ..CASE }, &["test.csv"], Csv),
        (
            Case {
                paths: &["a/x.csv", "b/x.csv"],
                card: Some("configs: [{config_name: one, data_dir: b}]"),
                ..CASE
            },
            &["b/x.csv"],
            Csv,
        ),
        (
            Case {
                paths: &["a/x.csv", "b/x.csv"],
                card: Some("configs: [{config_name: one, data_dir: b, data_files: '*.csv'}]"),
                ..CASE
            },
            &["b/x.csv"],
            Csv,
        ),
        (
            Case {
                paths: &["a.csv", "b.csv"],
                card: Some(
                    "configs: [{config_name: x, data_files: a.csv}, {config_name: y, default: true, data_files: b.csv}]",
                ),
                ..CASE
            },
            &["b.csv"],
            Csv,
        ),
        // A script's name implies no split.
        (Case { paths: &["x.csv", "test.py"], split: Some("train"), ..CASE }, &["x.csv"], Csv),
    ];
    for (case, expected, format) in cases {
        let expected: Vec<String> = expected.iter().map(|&path| path.to_owned()).collect();
        assert_eq!(run(&case), Ok((expected, format)), "{:?} {:?} {:?}", case.paths, case.subset, case.split);
    }
}

#[test]
fn ambiguous_or_missing_choices_are_refused() {
    let cases: Vec<(Case, &[&str])> = vec![
        (Case { paths: GSM, ..CASE }, &["several subsets", "'main', 'socratic'", "subset:"]),
        (Case { paths: GSM, subset: Some("mian"), ..CASE }, &["no subset 'mian'", "'main', 'socratic'"]),
        (Case { paths: GSM, subset: Some("main"), ..CASE }, &["several splits", "'test', 'train'", "split:"]),
        (Case { paths: GSM, card: CARD, ..CASE }, &["several subsets", "'main', 'socratic'"]),
        (
            Case { paths: GSM, card: CARD, subset: Some("x"), ..CASE },
            &["no subset 'x'", "'main', 'socratic'"],
        ),
        (
            Case { paths: GSM, card: CARD, subset: Some("main"), split: Some("dev"), ..CASE },
            &["no split 'dev'", "'train', 'test'"],
        ),
        (Case { paths: GSM, card: Some("configs: ["), ..CASE }, &["card", "not YAML", "data_files"]),
        (
            Case { paths: GSM, data_files: &["*.csv"], ..CASE },
            &["no file matches '*.csv'", "'main/train-00000-of-00001.parquet'"],
        ),
        (Case { paths: GSM, data_files: &["../x"], ..CASE }, &["'../x' cannot be used"]),
        (Case { paths: TWICE, data_files: &["train*"], ..CASE }, &["several formats: jsonl, csv, parquet"]),
        (
            Case { paths: &["train.jsonl", "train.csv"], ..CASE },
            &["several formats: jsonl, csv", "data_files"],
        ),
        (
            Case { paths: &["gsm.py", "README.md"], ..CASE },
            &["1 with .py", "scripts are not run", "refs/convert/parquet"],
        ),
        (Case { paths: &["x.arrow", "dataset_info.json"], ..CASE }, &["Arrow files are not read"]),
        (Case { paths: &["x.zip"], ..CASE }, &["archives are not unpacked"]),
        (Case { paths: &["x.txt"], data_files: &["x.txt"], ..CASE }, &["'x.txt' cannot be read", ".jsonl"]),
        (Case { paths: &["README.md"], ..CASE }, &["no data files"]),
        (Case { paths: &["../train.jsonl"], ..CASE }, &["\"../train.jsonl\"", "'..'"]),
        (Case { paths: &["/train.jsonl"], ..CASE }, &["cannot be stored"]),
        (Case { paths: &["a\\..\\train.jsonl"], data_files: &["*.jsonl"], ..CASE }, &["'\\\\'"]),
        (Case { paths: &["a\u{0}.jsonl"], ..CASE }, &["'\\0'"]),
        (Case { paths: &["aux.jsonl"], ..CASE }, &["device"]),
    ];
    for (case, parts) in cases {
        let error = run(&case).expect_err("nothing is chosen");
        for part in parts {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
    }
}

#[test]
fn long_lists_are_cut() {
    let names: Vec<String> = (0..30).map(|number| format!("name{number}\u{1b}")).collect();
    let text = listed(names.iter().map(String::as_str));
    assert!(text.ends_with("and 10 more") && !text.contains('\u{1b}'), "{text}");
}

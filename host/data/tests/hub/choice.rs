//! Choice of the files to fetch.

use crate::support::{NAME, Setup, assert_parts, files_below, run};
use gage_data::hub::{HubFormat, HubSource};

const CARD: &str = "---\nlicense: mit\nconfigs:\n- config_name: en\n  data_files:\n  - split: train\n    path: en/train*\n  - split: test\n    path: en/test*\n- config_name: de\n  default: true\n  data_dir: de\n  data_files: '*.parquet'\n---\n# Title\n";

fn with_card() -> Setup {
    let setup = Setup::new();
    setup.server.file(NAME, "README.md", CARD);
    for path in ["en/train.csv", "en/test-2.csv", "en/test-1.csv", "de/x.parquet", "de/x.csv"] {
        setup.server.file(NAME, path, format!("a\n{path}\n"));
    }
    setup
}

#[test]
fn the_card_says_what_a_split_is() {
    let setup = with_card();
    let some = |text: &str| Some(text.to_owned());
    let cases: [(HubSource, &[&str], HubFormat); 3] = [
        (setup.source(), &["de/x.parquet"], HubFormat::Parquet),
        (
            HubSource { subset: some("en"), split: some("test"), ..setup.source() },
            &["en/test-1.csv", "en/test-2.csv"],
            HubFormat::Csv,
        ),
        (
            HubSource { data_files: vec!["*/x.csv".to_owned()], ..setup.source() },
            &["de/x.csv"],
            HubFormat::Csv,
        ),
    ];
    for (source, expected, format) in cases {
        let online = run(&source).expect("a dataset");
        let paths: Vec<&str> = online.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((paths.as_slice(), online.format), (expected, format));
        assert_eq!(run(&HubSource { offline: true, ..source }).expect("a dataset"), online);
    }
    assert_eq!(files_below(&setup.commit_folder().join("files")).len(), 4, "nothing else is fetched");
}

#[test]
fn a_choice_that_is_not_clear_lists_what_there_is() {
    let setup = with_card();
    let error = run(&HubSource { subset: Some("en".to_owned()), ..setup.source() }).expect_err("two splits");
    assert_parts(&error.to_string(), &["'en' has several splits", "'train', 'test'", "split:"]);
    let error = run(&HubSource { subset: Some("fr".to_owned()), ..setup.source() }).expect_err("unknown");
    assert_parts(&error.to_string(), &["no subset 'fr'", "'en', 'de'"]);
}

#[test]
fn the_names_say_what_a_split_is() {
    let setup = Setup::new();
    for path in ["main/train-00000-of-00001.parquet", "main/test-00000-of-00001.parquet", "main/test.jsonl"] {
        setup.server.file(NAME, path, path);
    }
    let source = HubSource { split: Some("test".to_owned()), ..setup.source() };
    let dataset = run(&source).expect("a dataset");
    assert_eq!(dataset.files[0].path, "main/test-00000-of-00001.parquet");
    assert_eq!((dataset.files.len(), dataset.format), (1, HubFormat::Parquet));
}

#[test]
fn paths_that_leave_the_cache_are_refused() {
    for path in [
        "../train.jsonl",
        "a/../../train.jsonl",
        "/train.jsonl",
        "a\\..\\train.jsonl",
        "a\u{0}/train.jsonl",
        "nul/train.jsonl",
    ] {
        let setup = Setup::new();
        setup.server.file(NAME, path, "{}\n");
        assert_parts(&setup.refused(), &["cannot be stored"]);
        let outside: Vec<_> = files_below(setup.cache.path())
            .into_iter()
            .filter(|path| !["lock", "dataset.json"].iter().any(|name| path.ends_with(name)))
            .collect();
        assert!(outside.is_empty(), "{path}: {outside:?}");
    }
}

#[test]
fn impossible_requests_are_refused() {
    let setup = Setup::new();
    let cases = [
        HubSource { name: "../x".to_owned(), ..setup.source() },
        HubSource { revision: "../x".to_owned(), ..setup.source() },
        HubSource { endpoint: "file:///x".parse().expect("a URL"), ..setup.source() },
    ];
    for source in cases {
        assert!(run(&source).is_err(), "{source:?}");
    }
    assert!(setup.server.seen().is_empty());
    assert!(files_below(setup.cache.path()).is_empty());
}

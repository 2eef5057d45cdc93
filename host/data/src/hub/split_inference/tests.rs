use super::*;
use proptest::prelude::*;

#[test]
fn splits_are_inferred_from_file_names() {
    let cases: [(&str, &str, &[&str]); 24] = [
        ("train.csv", "default", &["train"]),
        ("my_train_file.csv", "default", &["train"]),
        ("train1.csv", "default", &["train"]),
        ("trainfile.csv", "default", &[]),
        ("training.csv", "default", &["train"]),
        ("eval.csv", "default", &["test"]),
        ("valid.jsonl.gz", "default", &["validation"]),
        ("x-dev.jsonl", "default", &["validation"]),
        ("Test.jsonl", "default", &["test"]),
        ("train_test.jsonl", "default", &["train", "test"]),
        ("data/train/shard_0.csv", "default", &["train"]),
        ("data/train-00000-of-00003.csv", "default", &["train"]),
        ("data/random-00000-of-00003.csv", "default", &["random"]),
        ("data/train_sft-00000-of-00001-abcdef.parquet", "default", &["train_sft"]),
        ("data/val-00000-of-00001.parquet", "default", &["val"]),
        ("main/test-00000-of-00001.parquet", "main", &["test"]),
        ("main/part-00000-of-00001.parquet", "main", &[]),
        ("main/test/0000.parquet", "main", &["test"]),
        ("data/en/train.jsonl", "en", &["train"]),
        ("en/formal/train.jsonl", "en/formal", &["train"]),
        ("test/part-00000-of-00002.parquet", "default", &["test"]),
        ("gsm8k-test.parquet", "default", &["test"]),
        ("a/b.jsonl", "a", &[]),
        ("b.jsonl", "default", &[]),
    ];
    for (path, expected_subset, expected_splits) in cases {
        assert_eq!(subset(path), expected_subset, "{path}");
        assert_eq!(splits(path), expected_splits, "{path}");
    }
}

#[test]
fn files_without_a_split_are_train_where_no_other_has_one() {
    let paths = ["a/x.csv", "a/y.csv", "b/x.csv", "b/test.csv", "README.md", ".git/x", "c.csv"];
    let found: Vec<(String, Vec<String>, &str)> = places(paths.into_iter(), None)
        .into_iter()
        .map(|place| (place.subset, place.splits, place.path))
        .collect();
    let train = || vec!["train".to_owned()];
    let expected = vec![
        ("a".to_owned(), train(), "a/x.csv"),
        ("a".to_owned(), train(), "a/y.csv"),
        ("b".to_owned(), vec![], "b/x.csv"),
        ("b".to_owned(), vec!["test".to_owned()], "b/test.csv"),
        ("default".to_owned(), train(), "c.csv"),
    ];
    assert_eq!(found, expected);
    let within: Vec<&str> =
        places(paths.into_iter(), Some("b")).into_iter().map(|place| place.path).collect();
    assert_eq!(within, ["b/x.csv", "b/test.csv"]);
}

#[test]
fn words_that_mean_the_same() {
    for (word, split) in
        [("val", "validation"), ("dev", "validation"), ("eval", "test"), ("TRAIN", "train"), ("x", "x")]
    {
        assert_eq!(canonical(word), split);
    }
}

proptest! {
    #[test]
    fn a_split_word_between_separators_is_found(
        before in "([a-b]{1,3}[-._ 0-9])?",
        (word, split) in prop_oneof![Just(("train", "train")), Just(("val", "validation")), Just(("testing", "test"))],
        behind in "([-._ 0-9][a-b]{1,3})?",
    ) {
        prop_assert_eq!(splits(&format!("{before}{word}{behind}.jsonl")), [split]);
    }

    #[test]
    fn every_path_has_a_place(path in ".{0,30}") {
        let places = places(std::iter::once(path.as_str()), None);
        prop_assert!(places.iter().all(|place| !place.splits.is_empty()));
    }
}

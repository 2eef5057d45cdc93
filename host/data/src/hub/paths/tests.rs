use super::*;
use proptest::prelude::*;
use std::path::{Component, Path};

#[test]
fn names_of_datasets() {
    for good in ["squad", "openai/gsm8k", "a_b/c.d-e", "_x/y_"] {
        assert!(RepositoryName::parse(HubKind::Dataset, good).is_ok(), "{good}");
    }
    for bad in
        ["", "/", "a/", "/a", "a/b/c", "a b", "../x", "a/..", "a--b", "a/-b", "é", "a\\b", &"x".repeat(97)]
    {
        assert!(RepositoryName::parse(HubKind::Dataset, bad).is_err(), "{bad}");
    }
}

#[test]
fn revisions() {
    for good in ["main", "v1.0", "refs/convert/parquet", "refs/pr/1", "feature/x%"] {
        assert!(check_revision(good).is_ok(), "{good}");
    }
    for bad in ["", "/", "a//b", "../x", "a/../b", ".x", "a b", "a\n", "a\\b", "a:b"] {
        assert!(check_revision(bad).is_err(), "{bad}");
    }
    assert_eq!(revision_file("refs/pr/1"), "refs%2fpr%2f1");
}

#[test]
fn paths_that_are_refused() {
    for bad in [
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a\0b",
        "a\\..\\b",
        "C:/x",
        "nul",
        "a/CON.txt",
        "aux .jsonl",
        "com1.csv",
        "lpt¹.csv",
        "a.",
        "a ",
        &"x".repeat(256),
        &"x/".repeat(65),
        "a\nb",
    ] {
        assert!(check_path(bad).is_err(), "{bad:?}");
    }
    for good in [
        "a",
        "data/train-00000-of-00001.parquet",
        "ä/日本.jsonl",
        "console.csv",
        "com10.csv",
        ".hidden/x",
        "a b.csv",
    ] {
        assert_eq!(check_path(good), Ok(()), "{good:?}");
    }
}

#[test]
fn every_part_of_an_address_is_encoded() {
    let endpoint = Url::parse("http://mirror.test/hub/").expect("a URL");
    let url = below(&endpoint, ["api", "refs/pr/1", "a?b#c%d"]).expect("a URL");
    assert_eq!(url.as_str(), "http://mirror.test/hub/api/refs%2Fpr%2F1/a%3Fb%23c%25d");
}

proptest! {
    #[test]
    fn an_accepted_path_stays_in_its_folder(path in "[a./\\\\: \u{0}cCoOnN1~é-]{0,12}") {
        if check_path(&path).is_ok() {
            prop_assert!(Path::new(&path).components().all(|part| matches!(part, Component::Normal(_))));
            let endpoint = Url::parse("http://hub.test").expect("a URL");
            let url = below(&endpoint, ["x"].into_iter().chain(path.split('/'))).expect("a URL");
            prop_assert_eq!(
                url.path_segments().expect("segments").count(),
                1 + path.split('/').count()
            );
        }
    }

    #[test]
    fn revisions_do_not_share_a_file(one in "[a./%2f-]{1,6}", other in "[a./%2f-]{1,6}") {
        prop_assert_eq!(one == other, revision_file(&one) == revision_file(&other));
        prop_assert!(!revision_file(&one).contains('/'));
    }
}

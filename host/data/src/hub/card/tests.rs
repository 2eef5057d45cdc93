use super::*;
use proptest::prelude::*;

fn split(name: &str, patterns: &[&str]) -> (String, Vec<String>) {
    (name.to_owned(), patterns.iter().map(|&pattern| pattern.to_owned()).collect())
}

#[test]
fn the_head_of_a_card() {
    let cases = [
        ("---\na: 1\n---\n# Title\n", Some("a: 1\n")),
        ("\u{feff}---\r\na: 1\r\n---\r\n", Some("a: 1\r\n")),
        ("---\n---\n", Some("")),
        ("# Title\n---\na: 1\n---\n", None),
        ("---\na: 1\n", None),
        ("", None),
    ];
    for (card, expected) in cases {
        assert_eq!(head(card), expected, "{card:?}");
    }
}

#[test]
fn every_shape_of_data_files() {
    let found = subsets(
        "license: mit\nconfigs:\n- config_name: default\n  data_files: \"*.csv\"\n- config_name: 2024\n  data_dir: ./en/\n  default: true\n  data_files:\n  - a.csv\n  - b.csv\n- config_name: de\n  data_files:\n  - split: train\n    path: a/*\n  - split: 1\n    path:\n    - b/*\n    - c/*\n- config_name: bare\n  data_dir: x\n",
    )
    .expect("a card");
    let expected = [
        ("default", true, None, Some(vec![split("train", &["*.csv"])])),
        ("2024", true, Some("en"), Some(vec![split("train", &["a.csv", "b.csv"])])),
        ("de", false, None, Some(vec![split("train", &["a/*"]), split("1", &["b/*", "c/*"])])),
        ("bare", false, Some("x"), None),
    ];
    let expected = expected.map(|(name, is_default, folder, splits)| Subset {
        name: name.to_owned(),
        is_default,
        folder: folder.map(str::to_owned),
        splits,
    });
    assert_eq!(found, expected);
}

#[test]
fn cards_without_configs() {
    for head in
        ["", "license: mit", "configs:", "configs: []", "dataset_info:\n  features: []", "# only a comment"]
    {
        assert_eq!(subsets(head), Ok(Vec::new()), "{head}");
    }
}

#[test]
fn malformed_cards_are_reported() {
    let cases = [
        ("configs: [", "not YAML"),
        ("configs: 1", "not a list"),
        ("configs: [1]", "configs[0]"),
        ("configs: [{data_files: [{split: a}]}]", "'data_files'"),
        ("configs: [{data_files: {a: b}}]", "'data_files'"),
        ("configs: [{data_files: [{split: a, path: x}, {split: a, path: y}]}]", "twice"),
        ("configs: [{config_name: [1]}]", "config_name"),
    ];
    for (head, part) in cases {
        let error = subsets(head).expect_err(head);
        assert!(error.contains(part), "{head}: {error}");
    }
    // References to references must not grow without bound.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb += &format!("a{level}: &a{level} [{before}]\n");
    }
    assert!(subsets(&format!("{bomb}configs: *a11\n")).is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[-:a\\[\\]{}&*\n #0\"']{0,40}") {
        let _ = subsets(&text);
        if let Some(head) = head(&format!("---\n{text}\n---\n")) {
            let _ = subsets(head);
        }
    }
}

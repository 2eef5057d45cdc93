use super::*;
use proptest::prelude::*;

#[test]
fn patterns_select_matching_paths() {
    let cases = [
        ("data.csv", "data.csv", true),
        ("./data.csv", "data.csv", true),
        ("*.csv", "a.csv", true),
        ("*.csv", "x/a.csv", false),
        ("**/*.csv", "a.csv", true),
        ("**/*.csv", "x/y/a.csv", true),
        ("data/**", "data/x/y.csv", true),
        ("data/**", "other/y.csv", false),
        ("a/**/b/*.csv", "a/b/b/x.csv", true),
        ("train-[0-9][0-9].*", "train-01.csv", true),
        ("train-[0-9][0-9].*", "train-0a.csv", false),
        ("[!t]*", "train", false),
        ("[]x]*", "]a", true),
        ("[open", "[open", true),
        ("[+-9]", "1", true),
        ("x[+-9]y", "x/y", false),
        ("x[!a]y", "x/y", false),
        ("[z-a]", "m", false),
        ("[!z-a]", "m", true),
        ("a{b,c}.csv", "ab.csv", false),
        ("??.csv", "ä1.csv", true),
        ("*", ".hidden", false),
        (".*", ".hidden", true),
        ("**", "__cache__/x.csv", false),
        ("__*/*", "__cache__/x.csv", true),
        ("**", "README.md", false),
        ("README.md", "README.md", true),
        ("**", "sub/dataset_info.json", false),
        ("a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
    ];
    for (pattern, path, expected) in cases {
        let found = Pattern::parse(pattern).expect("a pattern").selects(path);
        assert_eq!(found, expected, "{pattern} {path}");
    }
}

#[test]
fn invalid_patterns_are_refused() {
    for bad in ["", "/x", "../x", "a/../b", "hf://datasets/x", "data/**.csv", &"x".repeat(1_025)] {
        assert!(Pattern::parse(bad).is_err(), "{bad}");
    }
    assert!(Pattern::parse("a/b.csv").expect("a pattern").is_plain());
    assert!(!Pattern::parse("a/[b].csv").expect("a pattern").is_plain());
}

/// Naive definition that tries everything.
fn slow(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['*', rest @ ..], text) => (0..=text.len()).any(|length| slow(rest, &text[length..])),
        (['?', rest @ ..], [_, text @ ..]) => slow(rest, text),
        ([one, rest @ ..], [other, text @ ..]) => one == other && slow(rest, text),
        _ => false,
    }
}

proptest! {
    #[test]
    fn names_match_as_defined(pattern in "[ab*?]{1,7}", text in "[ab]{1,8}") {
        prop_assume!(!pattern.contains("**"));
        let expected =
            slow(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>());
        prop_assert_eq!(Pattern::parse(&pattern).expect("a pattern").selects(&text), expected);
    }

    #[test]
    fn any_text_is_read_or_refused(pattern in ".{0,20}", path in ".{0,20}") {
        if let Ok(pattern) = Pattern::parse(&pattern) {
            pattern.selects(&path);
        }
    }

    #[test]
    fn a_plain_pattern_selects_itself(path in "[a-z]{1,4}(/[a-z]{1,4}){0,3}") {
        let pattern = Pattern::parse(&path).expect("a pattern");
        prop_assert!(pattern.is_plain() && pattern.selects(&path));
    }
}

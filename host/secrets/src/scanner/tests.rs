//! Tests that every documented spelling is found, ordinary text stays, and the work is linear.

use super::*;
use crate::examined::EXAMINED;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

fn scanner(values: &[&str]) -> SecretScanner {
    SecretScanner::new(values.iter().map(|value| (SECRET_MARK, *value)))
}

#[test]
fn a_secret_is_found_in_every_spelling() {
    let secret = "sé\"c,r/e't +1\\";
    let in_json = json!(secret).to_string();
    let spellings = [
        secret.to_owned(),
        in_json.clone(),
        json!(in_json).to_string(),
        r#"s\u00e9\u0022c,r\/e't +1\\"#.to_owned(),
        r#"s\u00E9\"c,r/e't \u002B1\u005c"#.to_owned(),
        r#"s\xe9\"c,r/e't +1\\"#.to_owned(),
        "s%C3%A9%22c%2Cr%2Fe%27t%20%2B1%5C".to_owned(),
        "s%c3%a9%22c,r/e't+%2b1%5c".to_owned(),
        "s%25C3%25A9%22c,r/e't +1\\".to_owned(),
        "s&#233;&quot;c,r/e&#x27;t +1\\".to_owned(),
        "sé\"c,r/e''t +1\\".to_owned(),
        "sé\"\"c,r/e't +1\\".to_owned(),
        "73c3a922632c722f652774202b315c".to_owned(),
        "73C3A922632C722F652774202B315C".to_owned(),
        "SÉ\"C,R/E'T +1\\".to_owned(),
        "\\1+ t'e/r,c\"és".to_owned(),
        // JSON within an address, and within HTML.
        "%22s%5Cu00e9%5C%22c%2Cr%2Fe%27t%20%2B1%5C%5C%22".to_owned(),
        "&quot;s\\u00e9\\&quot;c,r\\/e&#39;t +1\\\\&quot;".to_owned(),
    ];
    let secrets = scanner(&[secret]);
    for spelling in spellings {
        let clean = secrets.redact(&format!("before {spelling} after")).into_owned();
        assert!(clean.starts_with("before ") && clean.ends_with(" after"), "{clean}");
        assert!(clean.contains(SECRET_MARK), "{spelling}: {clean}");
        assert!(!clean.contains("c,r") && !clean.contains("c%2Cr"), "{spelling}: {clean}");
    }
    assert_eq!(scanner(&["a😀bcdefgh"]).redact("x a\\ud83d\\uDE00bcdefgh"), "x (secret)");
}

#[test]
fn spellings_that_revealed_keys_to_plugins_are_found() {
    let secrets = scanner(&["Sek/9Wq+<a>&b=="]);
    for spelling in [
        r"Sek\/9Wq+<a>&b==",
        r"Sek/9Wq+\u003ca\u003e\u0026b==",
        r"\u0053\u0065\u006b\u002f\u0039\u0057\u0071\u002b\u003c\u0061\u003e\u0026\u0062\u003d\u003d",
        "%53%65k%2F9Wq%2B%3Ca%3E%26b%3D%3D",
        "&#83;ek&#x2F;9Wq+&lt;a&gt;&amp;b==",
    ] {
        assert_eq!(secrets.redact(&format!("[{spelling}]")), "[(secret)]", "{spelling}");
    }
}

/// Escapes a character of a text.
type Encoder = (&'static str, fn(char) -> String);

/// The escapes documented in `docs/concepts/suites.md`.
const ENCODERS: [Encoder; 13] = [
    ("JSON", |one| one.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()),
    ("JSON in upper case", |one| {
        one.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect()
    }),
    ("YAML, two digits", |one| match u8::try_from(u32::from(one)) {
        Ok(byte) => format!("\\x{byte:02x}"),
        Err(_) => format!("\\U{:08x}", u32::from(one)),
    }),
    ("YAML, eight digits", |one| format!("\\U{:08X}", u32::from(one))),
    ("braces", |one| format!("\\u{{{:x}}}", u32::from(one))),
    ("address", |one| one.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect()),
    ("address in lower case", |one| {
        one.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02x}")).collect()
    }),
    ("HTML", |one| format!("&#{};", u32::from(one))),
    ("HTML with zeros", |one| format!("&#{:07};", u32::from(one))),
    ("HTML in hexadecimal", |one| format!("&#x{:x};", u32::from(one))),
    ("HTML in upper case", |one| format!("&#X{:04X};", u32::from(one))),
    ("HTML by names", |one| match one {
        '"' => "&quot;".to_owned(),
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\'' => "&apos;".to_owned(),
        '/' => "&sol;".to_owned(),
        '+' => "&plus;".to_owned(),
        '=' => "&equals;".to_owned(),
        '_' => "&lowbar;".to_owned(),
        '.' => "&period;".to_owned(),
        _ => one.to_string(),
    }),
    ("backslashes", |one| match one {
        '/' | '"' | '\'' | ' ' | '\\' => format!("\\{one}"),
        _ => one.to_string(),
    }),
];

/// Tests every documented spelling, of all characters or some of them, once and nested.
#[test]
fn documented_spellings_are_found() {
    for secret in ["sk-live/9Wq+<a>&b==", "pass word_1'.é\"x", "😀éabcdef1", "back\\slash-1"] {
        let secrets = scanner(&[secret]);
        let found = |how: &str, spelling: &str| {
            assert_eq!(
                secrets.redact(&format!("[{spelling}]")),
                "[(secret)]",
                "{how} of {secret}: {spelling}"
            );
        };
        for (how, encode) in ENCODERS {
            let spelled = |is_spelled: &dyn Fn(usize) -> bool| -> String {
                // No format leaves a backslash unescaped next to its escapes.
                let part = |(index, one): (usize, char)| match is_spelled(index) || one == '\\' {
                    true => encode(one),
                    false => one.to_string(),
                };
                secret.chars().enumerate().map(part).collect()
            };
            let last = secret.chars().count() - 1;
            for some in [
                spelled(&|_| true),
                spelled(&|index| index % 2 == 0),
                spelled(&|index| index % 2 == 1),
                spelled(&|index| index == 0),
                spelled(&|index| index == last),
            ] {
                found(how, &some);
                for (outer, encode) in ENCODERS {
                    if outer != "HTML by names" && outer != "backslashes" {
                        let nested: String = some.chars().map(encode).collect();
                        found(&format!("{how} within {outer}"), &nested);
                    }
                }
            }
        }
        let mut text = secret.to_owned();
        for level in 0..6 {
            let quoted = json!(text).to_string();
            text = quoted[1..quoted.len() - 1].to_owned();
            found(&format!("level {level} of JSON"), &text);
        }
        for case in [secret.to_uppercase(), secret.to_lowercase(), secret.chars().rev().collect()] {
            found("another case or order", &case);
        }
        let digits: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        found("hexadecimal digits", &digits);
        found("hexadecimal digits in upper case", &digits.to_uppercase());
        for spelling in [secret.replace('\'', "''"), secret.replace('"', "\"\""), secret.replace(' ', "+")] {
            found("doubled quotes and pluses", &spelling);
        }
    }
}

#[test]
fn base64_is_found_at_each_alignment_in_both_alphabets() {
    let secret = "me:p,w\"x?>~~ÿ";
    let secrets = scanner(&[secret]);
    for before in ["", "a", "ab", "abc", "user:"] {
        let text = format!("{before}{secret} and more");
        for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
            let clean = secrets.redact(&encoded);
            assert!(clean.contains(SECRET_MARK), "{before}: {clean}");
        }
    }
}

#[test]
fn an_escape_that_begins_before_a_secret_hides_nothing() {
    for (secret, text, clean) in [
        ("rk/live-12345", r"DOMAIN\rk\/live-12345", r"DOMAIN\(secret)"),
        ("rk/live-12345", r"DOMAIN\rk/live-12345", r"DOMAIN\(secret)"),
        ("uabcd/live-1", r"\uabcd\/live-1", r"\(secret)"),
        ("abcd/live-12", r"100%abcd\/live-12", "100%(secret)"),
        ("live-123\\", r#"{"a":"live-123\\"}"#, r#"{"a":"(secret)"}"#),
        ("live-1234%", "live-1234%25412", "(secret)25412"),
    ] {
        assert_eq!(scanner(&[secret]).redact(text), clean, "{text}");
    }
}

#[test]
fn a_value_of_escapes_does_not_match_what_they_mean() {
    let secrets = scanner(&[r"\u0041\u0042"]);
    assert_eq!(secrets.redact("AB and AB"), "AB and AB");
    assert_eq!(secrets.redact(r"is \u0041\u0042"), "is (secret)");
}

/// Returns the number of bytes that a scan of a text examines.
fn work(secrets: &SecretScanner, text: &str) -> usize {
    EXAMINED.set(0);
    secrets.redact(text);
    EXAMINED.take()
}

#[test]
fn the_work_of_a_scan_doubles_when_a_hostile_text_doubles() {
    let secrets =
        scanner(&["sk-ordinary-1", "\\a\\bcdefg1", "😀😀éabcdef", "%a%bcdefg1", "12345678", "25252525"]);
    for unit in [
        "a",
        "\\",
        "\\\\\\\\u",
        "\\ud83d",
        "s\\",
        "%",
        "%25",
        "25",
        "&",
        "&#3",
        "'",
        "\"",
        "\\\"12345678",
        "12345678",
        "12345678,",
        "\"12345678\",",
    ] {
        for begin in ["", "[", "{\"a\": \"", "%", "s\\u", "\\ud83d"] {
            let text = |count: usize| begin.to_owned() + &unit.repeat(count);
            let (once, twice) = (work(&secrets, &text(500)), work(&secrets, &text(1_000)));
            assert!(once >= 500, "{begin}{unit}: {once} bytes examined");
            assert!(twice * 10 <= once * 21, "{begin}{unit}: {once} bytes examined, then {twice}");
        }
    }
}

/// Parts of hostile texts: beginnings and ends of escapes, numbers, and the beginnings of secrets.
const HOSTILE_PARTS: [&str; 20] = [
    "\\", "\"", "'", "[", "{", "}", "%", "&", "#", ";", "u", "x", "2", "25", "d83d", "amp", "sk-",
    "12345678", ",", "\n",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_work_of_a_scan_doubles_with_random_hostile_texts(
        parts in proptest::collection::vec(proptest::sample::select(HOSTILE_PARTS.to_vec()), 1..8),
    ) {
        let secrets = scanner(&["sk-ordinary-1", "\\a\\bcdefg1", "%a%bcdefg1", "12345678", "25252525"]);
        let unit = parts.concat();
        let count = 10_000 / unit.len();
        let once = work(&secrets, &unit.repeat(count));
        let twice = work(&secrets, &unit.repeat(2 * count));
        prop_assert!(twice * 10 <= once * 21, "{unit}: {once} bytes examined, then {twice}");
    }
}

#[test]
fn escapes_with_up_to_64_backslashes_are_found() {
    let secrets = scanner(&["sé\"c/r\tx😀'1"]);
    for count in 1..=64 {
        let slashes = "\\".repeat(count);
        for spelling in
            [r#"s@u00e9@"c@/r@tx@ud83d@ude00@'1"#, r#"@u0073@xe9@u0022c@u{2f}r@u0009x@U0001f600@x27@x31"#]
        {
            let text = format!("before {} after", spelling.replace('@', &slashes));
            assert_eq!(secrets.redact(&text), "before (secret) after", "{count} backslashes");
        }
    }
    // Backslashes beyond the maximum stay, and the rest is found.
    let text = "\\".repeat(100) + "u0073\\u00e9\\\"c/r\\tx😀'1";
    assert_eq!(secrets.redact(&text), "\\".repeat(64) + "(secret)");
}

#[test]
fn secrets_in_six_levels_of_json_are_found() {
    let secret = "sé\"c/r\tx😀'1";
    let secrets = scanner(&[secret]);
    let mut text = secret.to_owned();
    for level in 1..=6 {
        text = json!(text).to_string();
        let clean = secrets.redact(&text);
        assert!(clean.contains(SECRET_MARK), "level {level}: {clean}");
        assert!(clean.chars().all(|one| "\\\"(secret)".contains(one)), "level {level}: {clean}");
    }
}

#[test]
fn numbers_become_strings_outside_of_strings_only() {
    let secrets = scanner(&["12345678", "pass\"word-1"]);
    for (text, clean) in [
        (
            r#"[12345678, "a 12345678", 12345678, "\" 12345678", 12345678]"#,
            r#"["(secret)", "a (secret)", "(secret)", "\" (secret)", "(secret)"]"#,
        ),
        (
            r#"{"a\\": 12345678, "b": "pass\"word-1 12345678", "c": 12345678}"#,
            r#"{"a\\": "(secret)", "b": "(secret) (secret)", "c": "(secret)"}"#,
        ),
        (r#"{"a": -0.1234567812345678e5}"#, r#"{"a": "(secret)"}"#),
        ("data: {\"a\":12345678}", "data: {\"a\":\"(secret)\"}"),
        ("12345678 of 912345678", "(secret) of 9(secret)"),
    ] {
        assert_eq!(secrets.redact(text), clean);
    }
    let mut value = json!({"a": 12345678, "k 12345678": ["12345678", {"x": "pass\"word-1"}]});
    secrets.redact_value(&mut value, false);
    assert_eq!(value, json!({"a": 12345678, "k (secret)": ["(secret)", {"x": "(secret)"}]}));
    secrets.redact_value(&mut value, true);
    assert_eq!(value["a"], json!("(secret)"));
}

#[test]
fn secrets_that_overlap_are_one_and_each_has_its_own_mark() {
    let secrets = SecretScanner::new([("[one]", "abcdefgh"), ("[two]", "efghijkl")].into_iter());
    assert_eq!(secrets.redact("abcdefgh efghijkl abcdefghijkl"), "[one] [two] [one]");
    assert_eq!(secrets.redact_bytes(b"\xffabcdefgh\xfe".to_vec()), b"\xff[one]\xfe");
    assert_eq!(SecretScanner::new(std::iter::empty()).redact("abcdefgh"), "abcdefgh");
}

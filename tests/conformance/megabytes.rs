//! Answers of a megabyte in every shape, through the bundled components, under the default budget of an item: each has a stated
//! result.

use crate::large::{MEGABYTE, bundled_member, context};
use gage_core::ScoreCard;
use gage_plugin::{ExtractorKind, ItemError, Metric, MetricKind};
use serde_json::{Value, json};

/// Returns an answer that repeats a piece.
fn repeated(piece: &str) -> String {
    piece.repeat(MEGABYTE / piece.len())
}

/// Scores one answer to a sample.
fn score(metric: &Metric, sample: &Value, answer: &Value) -> Result<ScoreCard, ItemError> {
    let output = json!({"answer": answer});
    metric.score(vec![metric.resolve("long", context(sample, &output))]).results.remove(0)
}

fn options() -> Value {
    json!([{"id": "A", "content": "Shark"}, {"id": "B", "content": "Dolphin"}, {"id": "C", "content": "Trout"}, {"id": "D", "content": "Octopus"}])
}

/// The piece that an answer repeats, and the option that both the metric and the extractor find.
const CHOICES: [(&str, Option<&str>); 37] = [
    ("A mammal that lives in a sea is a fish, I think, and a whale is not a bird. ", None),
    ("x", None),
    ("a", None),
    ("b", None),
    ("an", None),
    ("answe", None),
    ("选项", None),
    ("A or B ", None),
    ("Shark", None),
    ("a ", None),
    ("I ", None),
    ("z ", None),
    ("not A ", None),
    ("A is wrong, ", Some("A")),
    ("neither A nor B ", None),
    ("rule out A, ", None),
    ("eliminate A, B, C and D; ", None),
    ("A [x ", Some("A")),
    ("A (x ", Some("A")),
    ("A: x ", Some("A")),
    ("(", None),
    ("the answer A ", Some("A")),
    ("答案", None),
    ("答案是", None),
    ("dolphin ", Some("B")),
    ("not dolphin ", None),
    ("not a shark or a dolphin ", Some("B")),
    ("dolphin", None),
    ("中", None),
    ("e\u{301}", None),
    ("👩\u{200d}💻 ", None),
    ("ＡＢ ", None),
    ("ΑΣ", None),
    ("</", None),
    ("1 ", None),
    ("\\boxed{", None),
    ("\n", None),
];

#[test]
fn options_are_found_in_any_text() {
    let metric = bundled_member::<MetricKind>("choice", "multi_choice_accuracy", json!({}));
    let extractor = bundled_member::<ExtractorKind>("extract", "choice_letter", json!({}));
    for (piece, expected) in CHOICES {
        let (sample, answer) = (json!({"options": options(), "label": "B"}), json!(repeated(piece)));
        let card = score(&metric, &sample, &answer).unwrap_or_else(|error| panic!("{piece:?}: {error:?}"));
        assert_eq!(card.primary_score, Some(f64::from(u8::from(expected == Some("B")))), "{piece:?}");
        let mut answers =
            extractor.extract(vec![extractor.resolve("long", context(&sample, &json!({"answer": answer})))]);
        let answer = answers.remove(0).unwrap_or_else(|error| panic!("{piece:?}: {error:?}"));
        let letter = answer.map(|answer| answer.value["value"].clone());
        assert_eq!(letter, expected.map(Value::from), "{piece:?}");
    }
}

/// Options may be so short that they could be anywhere in an answer.
#[test]
fn options_of_one_letter_are_found_in_any_text() {
    let metric = bundled_member::<MetricKind>("choice", "multi_choice_accuracy", json!({}));
    let texts: Vec<Value> =
        ('a'..='z').map(|letter| json!({"id": letter.to_ascii_uppercase(), "content": letter})).collect();
    for (piece, expected) in [("a", 0.0), ("ab", 0.0), ("b", 0.0), ("b-", 1.0), ("z,b", 0.0)] {
        let sample = json!({"options": texts, "label": "B"});
        let card = score(&metric, &sample, &json!(repeated(piece)))
            .unwrap_or_else(|error| panic!("{piece:?}: {error:?}"));
        assert_eq!(card.primary_score, Some(expected), "{piece:?}");
    }
}

#[test]
fn numbers_are_found_in_any_text() {
    for (piece, plain, with_fractions) in [
        ("x", json!(null), json!(null)),
        ("1 ", json!(1), json!(1)),
        ("123 ", json!(123), json!(123)),
        ("1,", json!(1), json!(1)),
        ("1/2 ", json!(2), json!(0.5)),
        ("1/", json!(1), json!(1)),
        ("1 1/2 ", json!(2), json!(1.5)),
        ("½", json!(null), json!(0.5)),
        ("1 2/", json!(2), json!(2)),
        ("1万", json!(10_000), json!(10_000)),
        ("3万5千 ", json!(35_000), json!(35_000)),
        ("1十", json!(10), json!(10)),
        ("1 k^", json!(1), json!(1)),
        ("10^3 ", json!(1000), json!(1000)),
        ("5 x", json!(5), json!(5)),
        ("5 km ", json!(5), json!(5)),
        ("5% ", json!(5), json!(5)),
        ("-5", json!(5), json!(5)),
        ("$5 ", json!(5), json!(5)),
        ("٣ ", json!(3), json!(3)),
        ("3 million ", json!(3_000_000), json!(3_000_000)),
        ("1 234,5; ", json!(1234.5), json!(1234.5)),
    ] {
        for (fractions, expected) in [(false, plain), (true, with_fractions)] {
            let extractor =
                bundled_member::<ExtractorKind>("extract", "last_number", json!({"fractions": fractions}));
            let item =
                extractor.item("long", json!({"text": repeated(piece)}).as_object().expect("an object"));
            let found = extractor.extract(vec![item]).remove(0);
            let answer = found.unwrap_or_else(|error| panic!("{piece:?} {fractions}: {error:?}"));
            let value = answer.map_or(Value::Null, |answer| answer.value["value"].clone());
            assert_eq!(value, expected, "{piece:?} {fractions}");
        }
    }
}

#[test]
fn lists_are_found_in_any_text_within_the_limit() {
    /// A result has at most 65,536 JSON values, so that a batch of them fits into memory.
    const TOO_MANY_VALUES: &str = "more than 65536 JSON values";
    const TOO_MANY: &str = "more than 60000 items";
    for (format, text, expected) in [
        ("auto", repeated("x"), Ok(1)),
        ("auto", repeated("a word and "), Ok(1)),
        ("auto", repeated("an item,  "), Err(TOO_MANY)),
        ("auto", repeated("- an item\n"), Err(TOO_MANY)),
        ("auto", repeated("an item   \n"), Err(TOO_MANY)),
        ("auto", repeated("an item\n"), Err(TOO_MANY)),
        ("auto", repeated("a,"), Err(TOO_MANY)),
        ("auto", repeated("\n"), Ok(0)),
        ("auto", repeated(","), Ok(0)),
        ("auto", format!("a{}b", repeated("\n")), Ok(2)),
        ("auto", format!("a{}b", repeated("\r\n")), Ok(2)),
        ("auto", format!("a{}b", repeated(" \n")), Ok(2)),
        ("auto", format!("a{}b", repeated(",")), Ok(2)),
        ("commas", format!("a{}b", repeated("\n")), Ok(2)),
        ("commas", format!("a{}b", repeated(",")), Ok(2)),
        ("commas", repeated("\n"), Ok(0)),
        ("lines", format!("a{}b", repeated("\n")), Ok(2)),
        ("bullets", format!("- a{}- b", repeated("\n")), Ok(2)),
        ("auto", format!("[{}1]", "1,".repeat(499_000)), Err(TOO_MANY_VALUES)),
        ("auto", format!("[{}]", "'a', ".repeat(100_000)), Err(TOO_MANY)),
        ("json", repeated("[1] "), Ok(1)),
        ("json", repeated("["), Err("ends before its closing bracket")),
        ("lines", repeated("an item   \n"), Err(TOO_MANY)),
        ("bullets", repeated("1. item\n"), Err(TOO_MANY)),
        ("commas", repeated("apples,  "), Err(TOO_MANY)),
    ] {
        let extractor = bundled_member::<ExtractorKind>("extract", "list_items", json!({"format": format}));
        let shown: String = text.chars().take(20).collect();
        let item = extractor.item("long", json!({"text": text}).as_object().expect("an object"));
        let found = extractor.extract(vec![item]).remove(0);
        let count =
            |answer: gage_plugin::ExtractedAnswer| answer.value["items"].as_array().map_or(0, Vec::len);
        match (found, expected) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer.map_or(0, count), expected, "{format} {shown:?}"),
            (Err(error), Err(message)) => {
                assert!(error.message.contains(message), "{format} {shown:?}: {error:?}")
            }
            (found, _) => panic!("{format} {shown:?}: {:?}", found.map(|answer| answer.map(count))),
        }
    }
}

#[test]
fn words_and_lists_of_any_text_are_compared() {
    let long = |piece: &str| json!(repeated(piece));
    let listed =
        |count: usize| Value::from((0..count).map(|number| format!("w{number}")).collect::<Vec<_>>());
    for (component, name, answer, reference, expected) in [
        ("overlap", "token_f1", long("a "), long("a "), Ok(1.0)),
        ("overlap", "token_f1", long("a b c d "), long("d c b a "), Ok(1.0)),
        (
            "overlap",
            "token_f1",
            long("中"),
            json!("中"),
            Ok(2.0 * (1.0 / 333_333.0) / (1.0 + 1.0 / 333_333.0)),
        ),
        ("overlap", "token_f1", long("1 "), json!("2"), Ok(0.0)),
        ("overlap", "squad", long("b "), json!("b"), Ok(2.0 / 500_001.0)),
        ("overlap", "rouge_l", long("b "), json!("b"), Ok(2.0 / 500_001.0)),
        ("overlap", "rouge_l", long("a word "), json!("no such thing"), Ok(0.0)),
        ("text", "exact_match", long("ΑΣ"), long("ας"), Ok(0.0)),
        ("text", "contains", long("ΑΣ"), json!("no"), Ok(0.0)),
        ("text", "contains", long("ＡＢ "), json!("ab"), Ok(0.0)),
        ("list", "list_overlap", listed(20_000), listed(20_000), Ok(1.0)),
        ("list", "list_overlap", listed(50_001), listed(1), Err("more than 50000 values")),
        (
            "list",
            "list_overlap",
            json!(format!("[{}1]", "1,".repeat(499_000))),
            json!([1]),
            Err("more than 50000 values"),
        ),
        ("choice", "mmmu_accuracy", long("<"), json!("B"), Ok(0.0)),
        ("choice", "docvqa_anls", long("<"), json!("dolphin"), Ok(0.0)),
    ] {
        let params = match name {
            "mmmu_accuracy" => json!({"label_field": "label"}),
            "docvqa_anls" => json!({"answers_field": "label"}),
            _ => json!({}),
        };
        let metric = bundled_member::<MetricKind>(component, name, params);
        let sample = json!({"label": reference, "references": [reference]});
        let shown: String = answer.to_string().chars().take(20).collect();
        match (score(&metric, &sample, &answer), expected) {
            (Ok(card), Ok(expected)) => {
                let score = card.primary_score.expect("a score");
                assert!((score - expected).abs() < 1e-12, "{name} {shown}: {score}");
            }
            (Err(error), Err(message)) => {
                assert!(error.message.contains(message), "{name} {shown}: {error:?}")
            }
            (found, _) => panic!("{name} {shown}: {found:?}"),
        }
    }
}

/// Answers of any length, and formulas whose values are too large to compute, are compared within the fuel.
#[test]
fn mathematical_answers_are_compared_within_the_fuel() {
    let metric = bundled_member::<MetricKind>("math", "math_equal", json!({}));
    let long =
        ["x", "(", "{", "\\frac{", "1+", "2^", "\\sqrt", "|", "3,", "\\boxed{", "$", "½", "x_"].map(repeated);
    let nested = |open: &str, close: &str| open.repeat(2_000) + "1" + &close.repeat(2_000);
    let short = [
        "9^{9^{9^9}}".to_owned(),
        "(x+1)^{1000000}".to_owned(),
        "100000!".to_owned(),
        "\\binom{1000000}{500000}".to_owned(),
        nested("(", ")"),
        nested("\\sqrt{", "}"),
        (1..2_000).map(|number| format!("(x+{number})")).collect(),
        (1..2_000).map(|number| format!("\\sin({number}x)+")).collect::<String>() + "1",
        format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", "1 & 2 \\\\ ".repeat(500)),
    ];
    for answer in long.into_iter().chain(short) {
        for (reference, answer) in [("x+1", answer.as_str()), (answer.as_str(), "x+1")] {
            let sample = json!({"label": reference, "references": [reference]});
            let start = answer.chars().take(20).collect::<String>();
            let card =
                score(&metric, &sample, &json!(answer)).unwrap_or_else(|error| panic!("{start}: {error:?}"));
            assert_ne!(card.primary_score, Some(1.0), "{start}");
        }
    }
}

//! Answers of each type, good and bad, and their scores.

use crate::CanonicalAnswer;
use gage_sdk::metric::{Inputs, Metric, Value as Input};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{PluginError, ScoreCard, json};

const NEAR: f64 = 1e-9;

fn input(value: &Value) -> Input {
    if value.is_null() { Input::Absent } else { Input::Json(value.to_string()) }
}

/// Returns the card of an answer; `around` may hold a `kind` and `options`.
fn card(params: Value, answer: &Value, reference: &Value, around: &Value) -> Result<ScoreCard, PluginError> {
    let kind = around["kind"].as_str().map_or(Input::Absent, Input::from);
    let inputs = [input(answer), kind, input(reference), input(&around["options"])];
    CanonicalAnswer::prepare(params)?.score(Inputs::new(&inputs))
}

fn sub(card: &ScoreCard, name: &str) -> Option<f64> {
    card.sub_scores.iter().find(|sub| sub.name == name).map(|sub| sub.value)
}

/// An answer, its ground truth, their context, the score and the tags.
type Row<'a> = (Value, Value, Value, f64, &'a [&'a str]);

fn check(params: Value, answer_type: &str, rows: &[Row<'_>]) {
    for (answer, reference, around, score, tags) in rows {
        let card = match card(params.clone(), answer, reference, around) {
            Ok(card) => card,
            Err(error) => panic!("{answer} {reference}: {}", error.message),
        };
        let found = card.primary_score.unwrap_or(-1.0);
        assert!((found - score).abs() < NEAR, "{answer} {reference} {card:?}");
        assert_eq!(card.error_tags, *tags, "{answer} {reference} {card:?}");
        assert_eq!(card.pass, Some(*score == 1.0 && tags.is_empty()), "{answer} {reference}");
        let Ok(detail) = serde_json::from_str::<Value>(&card.detail) else { panic!("{}", card.detail) };
        assert_eq!(detail["schema_version"], "v1");
        assert_eq!(detail["answer_type"], answer_type, "{answer} {reference}");
        assert!(card.detail.len() < 2048, "{}", card.detail);
        assert!(card.explain.is_some_and(|text| !text.contains('\n') && text.len() < 1024));
    }
}

#[test]
fn choices() {
    let animals = json!({ "options": { "A": "Shark", "B": "Dolphin", "C": "Trout" } });
    let none = json!({});
    let label = json!({ "value": "B", "aliases": ["option_b", "b"] });
    let several = json!({ "value": ["A", "C"] });
    check(
        json!({ "answer_type": "choice" }),
        "choice",
        &[
            (json!({ "value": "B" }), label.clone(), none.clone(), 1.0, &[]),
            (json!(" OPTION_B "), label.clone(), none.clone(), 1.0, &[]),
            (json!({ "value": "A" }), label.clone(), none.clone(), 0.0, &["wrong_answer"]),
            (json!({ "value": "A", "aliases": ["B"] }), label.clone(), none.clone(), 0.0, &["wrong_answer"]),
            (json!("(b)."), label.clone(), none.clone(), 1.0, &[]),
            (json!("Positive"), json!({ "value": "positive" }), none.clone(), 1.0, &[]),
            (json!("très  bien"), json!("tre\u{300}s bien"), none.clone(), 1.0, &[]),
            (json!("正面"), json!({ "value": "positive", "aliases": ["正面"] }), none.clone(), 1.0, &[]),
            (json!("x"), json!({ "aliases": ["x"] }), none.clone(), 1.0, &[]),
            (json!("dolphin"), json!("B"), animals.clone(), 1.0, &[]),
            (json!("B. Dolphin"), json!("Dolphin"), animals.clone(), 1.0, &[]),
            (json!("Shark"), json!("B"), animals.clone(), 0.0, &["wrong_answer"]),
            (json!("whale"), json!("B"), animals.clone(), 0.0, &["no_choice_found"]),
            (json!("Shark"), json!("whale"), animals.clone(), 0.0, &["unknown_reference"]),
            (json!(2), json!("2"), none.clone(), 1.0, &[]),
            (json!(true), json!("True"), none.clone(), 1.0, &[]),
            (json!(false), json!(true), none.clone(), 0.0, &["wrong_answer"]),
            (json!(["B"]), json!("B"), animals.clone(), 1.0, &[]),
            (json!(["A", "B"]), json!("B"), animals.clone(), 0.0, &["extra_item"]),
            (json!(["C", "a"]), several.clone(), animals.clone(), 1.0, &[]),
            (json!("A and C"), several.clone(), animals.clone(), 1.0, &[]),
            (json!("A"), several.clone(), animals.clone(), 0.0, &["wrong_answer", "missing_item"]),
            (json!(["A", "B", "C"]), several, animals.clone(), 0.0, &["wrong_answer", "extra_item"]),
            (json!({ "value": { "a": 1 } }), label.clone(), none.clone(), 0.0, &["invalid_format"]),
            (json!({ "label": "B" }), label.clone(), none.clone(), 0.0, &["missing_prediction"]),
            (json!(" "), label.clone(), none.clone(), 0.0, &["missing_prediction"]),
            (json!("null"), json!(null), none.clone(), 0.0, &["missing_reference"]),
            (json!("B"), json!({ "value": "" }), none.clone(), 0.0, &["missing_reference"]),
            (json!("B"), json!({ "value": { "a": 1 } }), none, 0.0, &["invalid_reference"]),
        ],
    );
    let text = json!({ "kind": "text" });
    check(
        json!({}),
        "choice",
        &[
            (json!("option_c"), label.clone(), text.clone(), 0.0, &["wrong_answer"]),
            (json!("option_b"), label.clone(), text.clone(), 1.0, &[]),
            (json!("b"), label, text, 1.0, &[]),
        ],
    );
    let form = json!({ "answer_type": "choice", "normalize": "none" });
    check(
        form,
        "choice",
        &[
            (json!("yes"), json!("Yes"), json!({}), 0.0, &["wrong_answer"]),
            (json!("b"), json!("B"), json!({}), 0.0, &["wrong_answer"]),
            (json!("b"), json!("B"), json!({ "options": { "A": "x", "B": "y" } }), 1.0, &[]),
        ],
    );
}

#[test]
fn numbers() {
    let none = json!({});
    let percent = json!({ "value": 12.5, "unit": "%", "tolerance_abs": 0.5, "tolerance_rel": 0.02 });
    check(
        json!({}),
        "number",
        &[
            (json!({ "value": 12.5, "unit": "%" }), percent.clone(), none.clone(), 1.0, &[]),
            (json!({ "value": 13.0 }), percent.clone(), none.clone(), 1.0, &[]),
            (json!("13.1%"), percent.clone(), none.clone(), 0.0, &["wrong_answer"]),
            (json!(5.4), json!({ "value": 5, "tolerance_abs": "0.5" }), none.clone(), 1.0, &[]),
            (json!(5.6), json!({ "value": 5, "tolerance_abs": "0.5" }), none.clone(), 0.0, &["wrong_answer"]),
            (json!(5.4), json!({ "value": 5, "tolerance": 0.5 }), none.clone(), 1.0, &[]),
            (json!(5.6), json!({ "value": "5", "tolerance": 0.5 }), none.clone(), 0.0, &["wrong_answer"]),
            (json!({ "value": 0.125, "unit": "fraction" }), percent.clone(), none.clone(), 1.0, &[]),
            (json!({ "value": "百分之十二点五" }), percent.clone(), none.clone(), 1.0, &[]),
            (json!({ "value": 12.5, "unit": "kg" }), percent.clone(), none.clone(), 0.0, &["wrong_unit"]),
            (json!("1,234.5"), json!(1234.5), none.clone(), 1.0, &[]),
            (json!({ "value": 0 }), json!({ "value": -0.0 }), none.clone(), 1.0, &[]),
            (json!(5), json!(6), none.clone(), 0.0, &["wrong_answer"]),
            (json!(true), json!(1), none.clone(), 0.0, &["invalid_format"]),
            (json!([5]), json!(5), none.clone(), 0.0, &["invalid_format"]),
            (json!("five"), json!(5), none.clone(), 0.0, &["invalid_format"]),
            (json!("nan"), json!(5), none.clone(), 0.0, &["invalid_format"]),
            (json!("1e400"), json!(5), none.clone(), 0.0, &["invalid_format"]),
            (json!("5 apples"), json!(5), none.clone(), 1.0, &[]),
            (json!("5 apples"), json!({ "value": 5, "unit": "kg" }), none.clone(), 0.0, &["wrong_unit"]),
            (json!({ "unit": "%" }), percent.clone(), none.clone(), 0.0, &["missing_prediction"]),
            (json!({ "value": 12.5, "unit": 7 }), percent.clone(), none.clone(), 0.0, &["invalid_format"]),
            (json!({ "value": 5, "unit": "million" }), json!(5_000_000), none.clone(), 1.0, &[]),
            (json!({ "value": 5, "unit": "million" }), json!(5), none.clone(), 0.0, &["wrong_answer"]),
            (json!("10^3"), json!(1000), none.clone(), 1.0, &[]),
            (json!("2 dozen"), json!({ "value": 24 }), none.clone(), 1.0, &[]),
            (json!("5 mil"), json!(5), none.clone(), 0.0, &["invalid_format"]),
            (json!(5), json!({ "unit": "%" }), none.clone(), 0.0, &["missing_reference"]),
            (json!(5), json!({ "value": "five", "unit": "%" }), none.clone(), 0.0, &["invalid_reference"]),
            (json!({ "final_answer": { "value": 5 }, "steps": ["x"] }), json!(5), none, 1.0, &[]),
        ],
    );
    let params = json!({ "tolerance_abs": 0, "tolerance_rel": 0, "unit": "km" });
    check(
        params,
        "number",
        &[
            (json!(12.6), percent, json!({}), 0.0, &["wrong_answer"]),
            (json!("3500 m"), json!(3.5), json!({}), 1.0, &[]),
            (json!("5"), json!("5"), json!({ "kind": "number" }), 1.0, &[]),
        ],
    );
    for (answer, reference, mae, relative) in [
        (json!(6), json!(5), Some(1.0), Some(0.2)),
        (json!(1), json!(0), Some(1.0), None),
        (json!(1e308), json!(-1e308), None, None),
        (json!("x"), json!(0), None, None),
    ] {
        let Ok(card) = card(json!({}), &answer, &reference, &json!({})) else { panic!("{answer} is scored") };
        assert_eq!((sub(&card, "mae"), sub(&card, "relative_error")), (mae, relative), "{answer}");
    }
}

#[test]
fn lists() {
    let none = json!({});
    let ordered = json!({ "items": ["ai", "earnings"], "ordered": true, "unique": true });
    let aliased = json!({ "items": ["ai"], "aliases": { "AI": ["Artificial Intelligence", "人工智能"] } });
    check(
        json!({}),
        "list",
        &[
            (json!(["AI ", "earnings"]), ordered.clone(), none.clone(), 1.0, &[]),
            (json!({ "items": ["earnings", "ai"] }), ordered.clone(), none.clone(), 1.0, &["wrong_order"]),
            (json!(["ai"]), ordered.clone(), none.clone(), 2.0 / 3.0, &["missing_item"]),
            (json!(["ai", "earnings", "x"]), ordered.clone(), none.clone(), 0.8, &["extra_item"]),
            (json!(["x"]), ordered.clone(), none.clone(), 0.0, &["missing_item", "extra_item"]),
            (json!(["ai", "ai", "earnings"]), ordered.clone(), none.clone(), 1.0, &[]),
            (json!("[\"ai\", \"earnings\"]"), ordered.clone(), none.clone(), 1.0, &[]),
            (json!({ "value": ["ai", "earnings"] }), ordered.clone(), none.clone(), 1.0, &[]),
            (json!("AI, earnings"), ordered.clone(), none.clone(), 1.0, &[]),
            (json!({ "items": "earnings；ai" }), ordered.clone(), none.clone(), 1.0, &["wrong_order"]),
            (json!(["人工智能"]), aliased.clone(), none.clone(), 1.0, &[]),
            (json!(["artificial  intelligence", "ai"]), aliased, none.clone(), 1.0, &[]),
            (json!(["e\u{301}t\u{e9}"]), json!(["\u{e9}te\u{301}"]), none.clone(), 1.0, &[]),
            (json!([1.0, true]), json!([1]), none.clone(), 1.0, &[]),
            (json!(["1"]), json!([1]), none.clone(), 0.0, &["missing_item", "extra_item"]),
            (json!([null]), json!([null]), none.clone(), 0.0, &["missing_item", "extra_item"]),
            (json!([]), json!([]), none.clone(), 1.0, &[]),
            (json!([]), json!(["a"]), none.clone(), 0.0, &["missing_item"]),
            (json!({ "a": 1 }), ordered.clone(), none.clone(), 0.0, &["invalid_format"]),
            (json!({ "items": null }), ordered, none.clone(), 0.0, &["missing_prediction"]),
            (json!(["a"]), json!({ "items": null }), none.clone(), 0.0, &["missing_reference"]),
            (json!(["a"]), json!({ "items": { "a": 1 } }), none, 0.0, &["invalid_reference"]),
        ],
    );
    let counted = json!({ "unique": false, "ordered": false, "normalize": "none" });
    check(
        counted,
        "list",
        &[
            (json!(["a"]), json!(["a", "a"]), json!({}), 2.0 / 3.0, &["missing_item"]),
            (json!(["b", "a"]), json!({ "items": ["a", "b"], "ordered": true }), json!({}), 1.0, &[]),
            (json!(["A"]), json!(["a"]), json!({}), 0.0, &["missing_item", "extra_item"]),
        ],
    );
}

#[test]
fn texts() {
    let none = json!({});
    let keywords = json!({ "value": "营收增长", "keywords": ["营收", ["增长", "上升"]] });
    let plain = json!({ "value": "the cat sat", "normalize": "basic" });
    check(
        json!({ "answer_type": "text" }),
        "text",
        &[
            (json!({ "value": "今年营收上升" }), keywords.clone(), none.clone(), 1.0, &[]),
            (json!("营收下降"), keywords.clone(), none.clone(), 0.5, &["missing_item"]),
            (json!("x"), keywords.clone(), none.clone(), 0.0, &["missing_item"]),
            (json!("supply"), json!({ "keywords": ["up"] }), none.clone(), 0.0, &["missing_item"]),
            (json!("The CAT sat!"), plain.clone(), none.clone(), 1.0, &[]),
            (json!("the cat"), plain.clone(), none.clone(), 0.8, &["low_overlap"]),
            (json!("dogs"), plain.clone(), none.clone(), 0.0, &["wrong_answer"]),
            (json!("…"), plain.clone(), none.clone(), 0.0, &["wrong_answer"]),
            (json!("…"), json!("…"), none.clone(), 1.0, &[]),
            (json!("b"), json!(["a", "b"]), none.clone(), 1.0, &[]),
            (json!("b"), json!({ "value": "a", "aliases": ["b"] }), none.clone(), 1.0, &[]),
            (json!(42), json!("42"), none.clone(), 1.0, &[]),
            (json!(["a"]), plain.clone(), none.clone(), 0.0, &["invalid_format"]),
            (json!({ "text": "a" }), plain, none.clone(), 0.0, &["missing_prediction"]),
            (json!("a"), json!({ "value": "", "keywords": [] }), none.clone(), 0.0, &["missing_reference"]),
            (json!("a"), json!([["b"]]), none, 0.0, &["invalid_reference"]),
        ],
    );
    check(
        json!({ "answer_type": "text", "keywords": ["rose"] }),
        "text",
        &[
            (json!("It Rose."), json!(null), json!({}), 1.0, &[]),
            (json!("it fell"), keywords.clone(), json!({}), 0.0, &["missing_item"]),
        ],
    );
    let cased = json!({ "answer_type": "text", "keywords": ["Rose"], "normalize": "none" });
    check(cased, "text", &[(json!("it rose"), json!(null), json!({}), 0.0, &["missing_item"])]);
    let Ok(card) = card(json!({}), &json!("营收上升"), &keywords, &json!({})) else { panic!("a card") };
    assert_eq!((sub(&card, "token_f1"), sub(&card, "rouge_l")), (Some(0.5), Some(0.5)));
    assert_eq!((sub(&card, "keyword_coverage"), sub(&card, "exact_match")), (Some(1.0), Some(0.0)));
}

#[test]
fn reasoning() {
    let none = json!({});
    let reference = json!({
        "final_answer": { "value": "positive", "aliases": ["up"] },
        "steps": [{ "id": "s1", "text": "a" }, { "id": "s2", "text": "b" }],
        "claims": [{ "text": "营收增长", "evidence": ["news_1"] }],
    });
    let whole = json!({
        "final_answer": "UP",
        "steps": [{ "id": "s2" }, { "id": "s1" }],
        "claims": [{ "text": "营收增长", "evidence": ["NEWS_1"] }],
    });
    let number = json!({ "final_answer": { "value": 5, "unit": "km" } });
    let missing =
        ["missing_prediction", "missing_final_answer", "missing_claims", "missing_evidence", "missing_steps"];
    let bare = ["wrong_answer", "missing_claims", "missing_evidence", "missing_steps"];
    check(
        json!({}),
        "reasoning",
        &[
            (whole, reference.clone(), none.clone(), 1.0, &[]),
            (json!({ "steps": [] }), reference.clone(), none.clone(), 0.0, &missing),
            (json!("down"), reference.clone(), none.clone(), 0.0, &bare),
            (json!("positive"), reference, none.clone(), 1.0, bare.get(1..).unwrap_or_default()),
            (json!({ "final_answer": "5000 m" }), number.clone(), none.clone(), 1.0, &[]),
            (json!({ "final_answer": "5 kg" }), number.clone(), none.clone(), 0.0, &["wrong_unit"]),
            (json!({ "value": 5 }), number, none.clone(), 1.0, &[]),
            (
                json!({ "final_answer": ["a"] }),
                json!({ "final_answer": { "items": ["a", "b"] } }),
                none.clone(),
                2.0 / 3.0,
                &["missing_item"],
            ),
            (
                json!({ "final_answer": "x" }),
                json!({ "steps": [] }),
                none.clone(),
                0.0,
                &["missing_reference"],
            ),
            (json!({ "final_answer": 0 }), json!({ "final_answer": 0 }), none, 1.0, &[]),
            (json!({ "final_answer": "x" }), json!("X"), json!({ "kind": "reasoning" }), 1.0, &[]),
        ],
    );
    let nested = json!({ "final_answer": { "final_answer": "x" } });
    assert!(card(json!({}), &nested, &nested, &json!({})).is_err());
}

#[test]
fn figures_of_arguments() {
    let claim = |text: &str, evidence: Value| json!({ "text": text, "evidence": evidence });
    for (prediction, reference, expected) in [
        (json!({ "claims": ["a"] }), json!({ "claims": ["A", "b"] }), [Some(0.5), Some(0.0), None]),
        (json!({}), json!({ "claims": ["a"] }), [Some(0.0), Some(0.0), None]),
        (
            json!({ "claims": [claim("x", json!(["n9"])), claim("y", json!(["n1"])), null] }),
            json!({ "claims": [claim("x", json!("N1"))] }),
            [Some(1.0), Some(0.5), None],
        ),
        (json!({ "claims": [claim("x", json!(7)), "y"] }), json!({}), [None, Some(0.5), None]),
        (json!({ "steps": [{ "id": "s1" }, { "id": "s3" }] }), json!({}), [None, None, Some(2.0 / 3.0)]),
        (json!({ "steps": ["a", "a"] }), json!({ "steps": ["a", "b"] }), [None, None, Some(0.5)]),
        (json!({ "steps": ["a"] }), json!({}), [None, None, None]),
    ] {
        let with_answer = |mut argument: Value| {
            argument["final_answer"] = json!("x");
            argument
        };
        let (prediction, reference) = (with_answer(prediction), with_answer(reference));
        let Ok(card) = card(json!({}), &prediction, &reference, &json!({})) else { panic!("{prediction}") };
        let found = ["claim_coverage", "evidence_rate", "step_completeness"].map(|name| sub(&card, name));
        assert_eq!(found, expected, "{prediction} {reference}");
        let is_whole = found.iter().all(|figure| figure.is_none_or(|figure| figure == 1.0));
        assert_eq!((card.primary_score, card.pass), (Some(1.0), Some(is_whole)), "{prediction}");
    }
}

#[test]
fn what_could_not_be_parsed_never_scores() {
    let (answer, label) = ("missing_prediction", "missing_reference");
    for (params, reference, tag) in [
        (json!({}), json!(null), label),
        (json!({}), json!("B"), answer),
        (json!({ "answer_type": "list" }), json!([]), answer),
        (json!({ "answer_type": "list" }), json!(null), label),
        (json!({ "answer_type": "number" }), json!({ "unit": "%" }), label),
        (json!({ "answer_type": "number" }), json!({ "value": "five" }), answer),
        (json!({ "answer_type": "reasoning" }), json!(null), label),
        (json!({ "answer_type": "choice", "threshold": 0.01 }), json!({ "value": null }), label),
        (json!({ "answer_type": "choice" }), json!({ "value": ["A", "B"] }), answer),
        (json!({ "answer_type": "text", "keywords": ["a"] }), json!(null), answer),
        (json!({ "answer_type": "text" }), json!({ "value": " " }), label),
    ] {
        for answer in [Input::Absent, Input::Json("null".to_owned()), Input::Number(f64::NAN)] {
            let Ok(metric) = CanonicalAnswer::prepare(params.clone()) else { panic!("{params}") };
            let inputs = [answer, Input::Absent, input(&reference)];
            let Ok(card) = metric.score(Inputs::new(&inputs)) else { panic!("{params} is scored") };
            assert_eq!((card.primary_score, card.pass), (Some(0.0), Some(false)), "{params}");
            assert_eq!(card.error_tags.first().map(String::as_str), Some(tag), "{params} {reference}");
            assert_eq!(card.error_tags.last().map(String::as_str), Some("parse_failed"), "{params}");
            assert!(card.sub_scores.iter().all(|sub| sub.value == 0.0), "{params}");
            let is_text = params["answer_type"] == "text" && tag == label;
            let has_no_figures = params["answer_type"].is_null() || is_text;
            assert_eq!(card.sub_scores.is_empty(), has_no_figures, "{params}");
        }
    }
    let Ok(card) = card(json!({}), &json!("B"), &json!(null), &json!({})) else { panic!("it is scored") };
    assert_eq!((card.primary_score, card.error_tags), (Some(0.0), vec!["missing_reference".to_owned()]));
}

#[test]
fn answers_inside_of_an_object_are_found() {
    let percent = json!({ "value": 12.5, "unit": "%", "tolerance_abs": 0.5 });
    let spelled = r#"{"value":12.4,"unit":"%"}"#;
    let text = json!({ "kind": "text" });
    for (answer, score) in [
        (json!({ "answer": { "value": 12.4, "unit": "%" } }), 1.0),
        (json!({ "answer": { "value": 13.4, "unit": "%" } }), 0.0),
        (json!({ "answer": 12.4, "unit": "%" }), 1.0),
        (json!({ "answer": 12.4, "unit": "kg" }), 0.0),
        (json!({ "value": spelled }), 1.0),
        (json!({ "answer": spelled }), 1.0),
        (json!(spelled), 1.0),
    ] {
        let Ok(card) = card(json!({}), &answer, &percent, &text) else { panic!("{answer} is scored") };
        assert_eq!(card.primary_score, Some(score), "{answer} {card:?}");
    }
}

#[test]
fn what_cannot_be_used_is_an_error() {
    for (params, answer, reference) in [
        (json!({}), r#""B""#, r#""B""#),
        (json!({}), "1e400", "5"),
        (json!({}), "5", "1e400"),
        (json!({}), "{", "5"),
        (json!({}), "5", r#"{"value":5,"answer_type":"essay"}"#),
        (json!({}), "5", r#"{"ground_truth":5,"answer_type":"essay"}"#),
        (json!({}), r#"{"prediction":5,"meta":{"schema_version":"v2"}}"#, "5"),
        (json!({}), "5", r#"{"value":5,"tolerance_abs":-1}"#),
        (json!({}), "5", r#"{"value":5,"tolerance_rel":"10%"}"#),
        (json!({}), "5", r#"{"value":5,"tolerance_abs":"1e400"}"#),
        (json!({}), "5", r#"{"value":5,"tolerance":1,"tolerance_abs":1}"#),
        (json!({}), "5", r#"{"value":5,"unit":7}"#),
        (json!({}), "[]", r#"{"items":[],"ordered":"yes"}"#),
        (json!({}), "[]", r#"{"items":[],"aliases":["a"]}"#),
        (json!({}), r#""a""#, r#"{"value":"a","normalize":"full"}"#),
        (json!({}), r#""a""#, r#"{"value":"a","keywords":"a"}"#),
    ] {
        let Ok(metric) = CanonicalAnswer::prepare(params) else { panic!("they are accepted") };
        let json = |text: &str| Input::Json(text.to_owned());
        let found = metric.score(Inputs::new(&[json(answer), Input::Absent, json(reference)]));
        let Err(error) = found else { panic!("{answer} {reference} {found:?}") };
        assert!(!error.message.ends_with('.'), "{}", error.message);
    }
}

#[test]
fn whole_answers_and_thresholds() {
    let whole = json!({
        "answer_type": "list",
        "prediction": { "items": ["a"] },
        "ground_truth": { "items": ["a", "b", "c"] },
        "meta": { "schema_version": "v1", "scorer_version": "v1" },
    });
    for (threshold, pass) in [(json!(null), false), (json!(0.5), true), (json!(0.51), false)] {
        let Ok(card) = card(json!({ "threshold": threshold }), &whole, &whole, &json!({})) else {
            panic!("it is scored")
        };
        assert_eq!((card.primary_score, card.pass), (Some(0.5), Some(pass)));
        let figures = ["f1", "precision", "recall", "order"].map(|name| sub(&card, name));
        assert_eq!(figures, [Some(0.5), Some(1.0), Some(1.0 / 3.0), None]);
        assert_eq!(card.explain.as_deref(), Some("1 of 3 items; missing: b, c"));
        assert_eq!(
            serde_json::from_str::<Value>(&card.detail).ok(),
            Some(json!({
                "schema_version": "v1",
                "answer_type": "list",
                "prediction": { "items": ["a"] },
                "reference": { "items": ["a", "b", "c"], "ordered": false, "unique": true },
            }))
        );
    }
}

#[test]
fn one_of_several_ground_truths_is_enough() {
    let own = |text: &str| json!({ "answer": [{ "type": "text", "text": text }] });
    let own = json!([own("1"), own("two")]);
    let options = json!({ "options": { "A": "one", "B": "two" } });
    for (answer_type, any, answer, reference, around, score) in [
        ("number", true, json!(1), own.clone(), json!({}), 1.0),
        ("number", true, json!(2), own.clone(), json!({}), 0.0),
        ("number", false, json!(1), json!([1, 2]), json!({}), 0.0),
        ("text", false, json!("two"), own.clone(), json!({}), 1.0),
        ("text", false, json!("1"), own[0].clone(), json!({}), 1.0),
        ("choice", true, json!("B"), json!(["A", "B"]), options.clone(), 1.0),
        ("choice", false, json!("B"), json!(["A", "B"]), options, 0.0),
        ("list", true, json!(["a", "b"]), json!([["c"], ["a"], ["a", "b"]]), json!({}), 1.0),
        ("list", true, json!(["a", "b"]), json!([]), json!({}), 0.0),
    ] {
        let params = json!({ "answer_type": answer_type, "any_reference": any });
        let Ok(card) = card(params, &answer, &reference, &around) else { panic!("{reference} is scored") };
        assert_eq!(card.primary_score, Some(score), "{answer_type} {answer} {reference} {card:?}");
    }
}

#[test]
fn megabytes() {
    let long = "word 中文 e\u{301} ".repeat(55_000);
    let items: Vec<String> = (0..100_000).map(|number| format!("item {number}")).collect();
    let digits = "5".repeat(1 << 20);
    let keywords: Vec<String> = (0..64).map(|number| format!("keyword{number}")).collect();
    for (answer, reference, score) in [
        (json!(long), json!({ "value": long, "normalize": "basic" }), 1.0),
        (json!(long), json!({ "value": "word", "keywords": keywords }), 0.0),
        (json!(long), json!({ "value": long, "aliases": [] }), 1.0),
        (json!(items), json!({ "items": items, "ordered": true }), 1.0),
        (json!(digits), json!(5), 0.0),
        (
            json!({ "final_answer": "x", "claims": items, "steps": items }),
            json!({ "final_answer": "x", "claims": items, "steps": items }),
            1.0,
        ),
    ] {
        let Ok(card) = card(json!({}), &answer, &reference, &json!({})) else {
            panic!("long answers are scored")
        };
        assert_eq!(card.primary_score, Some(score));
        assert!(card.detail.len() < 2048 && card.explain.is_none_or(|text| text.len() < 1024));
    }
}

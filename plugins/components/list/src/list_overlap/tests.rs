//! Lists and their scores.

use super::*;

fn card(params: serde_json::Value, prediction: Value, reference: Value) -> ScoreCard {
    let metric = ListOverlap::prepare(params);
    let Ok(metric) = metric else { panic!("the parameters are accepted") };
    let Ok(card) = metric.score(Inputs::new(&[prediction, reference])) else { panic!("a card is made") };
    card
}

fn list(list: serde_json::Value) -> Value {
    Value::Json(list.to_string())
}

fn sub(card: &ScoreCard, name: &str) -> Option<f64> {
    card.sub_scores.iter().find(|sub| sub.name == name).map(|sub| sub.value)
}

#[test]
fn overlaps() {
    for (params, prediction, reference, f1, tags) in [
        (json!({}), json!([" AI ", "Big  Data"]), json!(["big data", "ai"]), 1.0, &[][..]),
        (json!({}), json!(["a", "a", "b"]), json!(["a"]), 0.6667, &["extra_item"]),
        (json!({ "digits": 15 }), json!(["a", "b"]), json!(["a"]), 0.666_666_666_666_667, &["extra_item"]),
        (json!({ "unique": false }), json!(["a"]), json!(["a", "a"]), 0.6667, &["missing_item"]),
        (json!({}), json!([1, true]), json!(["1"]), 0.0, &["missing_item", "extra_item"]),
        (json!({}), json!([1.0]), json!([true]), 1.0, &[]),
        (json!({}), json!([{ "id": "a" }]), json!([{ "id": "a" }]), 1.0, &[]),
        (json!({}), json!([null]), json!([null]), 0.0, &["missing_item", "extra_item"]),
        (json!({}), json!([]), json!([]), 1.0, &[]),
        (json!({}), json!([]), json!(["a"]), 0.0, &["missing_item"]),
        (json!({}), json!(["a"]), json!([]), 0.0, &["extra_item"]),
        (json!({ "case_sensitive": true }), json!(["A"]), json!(["a"]), 0.0, &["missing_item", "extra_item"]),
        (json!({ "ordered": true }), json!(["b", "a"]), json!(["a", "b"]), 1.0, &["wrong_order"]),
        (
            json!({}),
            json!(["b", "a"]),
            json!({ "items": ["a", "b"], "ordered": true, "unique": true }),
            1.0,
            &["wrong_order"],
        ),
        (json!({}), json!(["a"]), json!([{ "answer": [{ "type": "text", "text": "a" }] }]), 1.0, &[]),
        (json!({}), json!(["e\u{301}"]), json!(["\u{e9}"]), 0.0, &["missing_item", "extra_item"]),
    ] {
        let card = card(params.clone(), list(prediction.clone()), list(reference));
        assert_eq!(card.primary_score, Some(f1), "{params} {prediction}");
        assert_eq!(card.error_tags, tags, "{params} {prediction}");
        assert_eq!(card.pass, Some(tags.is_empty()), "{params} {prediction}");
    }
}

#[test]
fn sub_scores() {
    let card = card(json!({ "ordered": 1 }), list(json!(["c", "a", "b", "x"])), list(json!(["a", "b", "c"])));
    assert_eq!(sub(&card, "precision"), Some(0.75));
    assert_eq!(sub(&card, "recall"), Some(1.0));
    assert_eq!(sub(&card, "order"), Some(0.6667));
    assert!(card.detail.contains(r#""extra":["x"]"#), "{}", card.detail);
}

#[test]
fn what_is_missing_scores_nothing() {
    for (prediction, reference, tag) in [
        (Value::Absent, Value::Absent, "missing_reference"),
        (list(json!({ "a": 1 })), Value::Absent, "missing_reference"),
        (Value::Absent, list(json!([])), "missing_prediction"),
        (list(json!([])), Value::Absent, "missing_reference"),
        (list(json!({ "a": 1 })), list(json!(["a"])), "invalid_format"),
    ] {
        let card = card(json!({}), prediction, reference);
        assert_eq!((card.primary_score, card.error_tags), (Some(0.0), vec![tag.to_owned()]));
    }
}

#[test]
fn texts_may_be_lists() {
    for (params, prediction, score) in [
        (json!({}), r#"["a","b"]"#, 1.0),
        (json!({ "separator": "," }), "a, b", 1.0),
        (json!({ "separator": "" }), "a, b", 0.0),
        (json!({ "separator": "|" }), "a, b", 0.0),
        (json!({}), "a, b", 1.0),
        (json!({}), "B；A", 1.0),
        (json!({ "normalize": false }), "B；A", 0.0),
        (json!({ "normalize": false }), " a\nb ", 1.0),
        (json!({}), "a b", 0.0),
        (json!({}), "", 0.0),
    ] {
        let card = card(params, Value::Text(prediction.to_owned()), list(json!(["a", "b"])));
        assert_eq!(card.primary_score, Some(score), "{prediction}");
    }
    let long: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
    let long = list(json!(long));
    assert_eq!(card(json!({ "ordered": true }), long.clone(), long).primary_score, Some(1.0));
}

#[test]
fn normalize_compares_texts_as_they_are() {
    for (params, prediction, score) in [
        (json!({ "normalize": true }), json!([" A ", "big  data"]), 1.0),
        (json!({ "normalize": true, "case_sensitive": true }), json!(["A", "big data"]), 1.0),
        (json!({ "normalize": null }), json!(["A", "big data"]), 1.0),
        (json!({ "normalize": false }), json!(["a", "big data"]), 1.0),
        (json!({ "normalize": false }), json!(["A", "big data"]), 0.5),
        (json!({ "normalize": 0 }), json!(["a", "big  data"]), 0.5),
        (json!({ "normalize": false }), json!(["a ", "Big data"]), 0.0),
    ] {
        let card = card(params.clone(), list(prediction.clone()), list(json!(["a", "big data"])));
        assert_eq!(card.primary_score, Some(score), "{params} {prediction}");
    }
}

#[test]
fn each_fault_is_explained() {
    for (params, prediction, reference, expected) in [
        (json!({}), json!(["a"]), json!(["a"]), None),
        (json!({}), json!(["a"]), json!(["a", "b"]), Some("1 of 2 expected items; missing: 'b'")),
        (json!({}), json!(["x\ny"]), json!([]), Some("0 of 0 expected items; not expected: 'x y'")),
        (
            json!({ "ordered": true }),
            json!(["b", "a"]),
            json!(["a", "b"]),
            Some("2 of 2 expected items; in another order"),
        ),
    ] {
        let card = card(params, list(prediction.clone()), list(reference));
        assert_eq!(card.explain.as_deref(), expected, "{prediction}");
        assert_eq!(card.explain.is_some(), !card.error_tags.is_empty(), "{prediction}");
    }
    let many: Vec<u32> = (0..9).collect();
    let explain = card(json!({}), list(json!([])), list(json!(many))).explain;
    assert_eq!(explain.as_deref(), Some("0 of 9 expected items; missing: '0', '1', '2' …"));
}

#[test]
fn digits_may_be_a_text() {
    let score = card(json!({ "digits": "2" }), list(json!(["a", "b"])), list(json!(["a"]))).primary_score;
    assert_eq!(score, Some(0.67));
}

#[test]
fn bad_parameters_are_refused() {
    for params in [
        json!({ "digits": -1 }),
        json!({ "digits": 1.5 }),
        json!({ "digits": "x" }),
        json!({ "normalize": "false" }),
        json!({ "ordered": "yes" }),
        json!({ "separator": 1 }),
        json!({ "pred_field": [] }),
    ] {
        assert!(ListOverlap::prepare(params.clone()).is_err(), "{params}");
    }
}

//! Numbers, units, tolerances and the resulting scores.

use super::*;
use gage_sdk::metric::Value;

fn card(params: serde_json::Value, prediction: Value, reference: Value) -> ScoreCard {
    let Ok(metric) = NumericError::prepare(params) else { panic!("the parameters are accepted") };
    let Ok(card) = metric.score(Inputs::new(&[prediction, reference])) else { panic!("a card is made") };
    card
}

fn sub(card: &ScoreCard, name: &str) -> Option<f64> {
    card.sub_scores.iter().find(|sub| sub.name == name).map(|sub| sub.value)
}

#[test]
fn one_of_several_numbers_is_enough() {
    let json = |json: &str| Value::Json(json.to_owned());
    let own = r#"[{"answer":[{"type":"text","text":"1"}]},{"answer":[{"type":"text","text":"5"}]}]"#;
    for (any, reference, score, mae) in [
        (true, json(own), 1.0, Some(0.0)),
        (true, json(r#"["none",9,7,1]"#), 0.0, Some(2.0)),
        (true, json(r#"[{"value":9},{"value":7,"tolerance_abs":2}]"#), 1.0, Some(2.0)),
        (true, json("[]"), 0.0, None),
        (false, json("[5]"), 0.0, None),
        (false, json(r#"{"answer":[{"type":"text","text":"5"}]}"#), 1.0, Some(0.0)),
    ] {
        let shown = format!("{reference:?}");
        let card = card(json!({ "any_reference": any }), "5".into(), reference);
        assert_eq!((card.primary_score, sub(&card, "mae")), (Some(score), mae), "{shown}");
    }
}

#[test]
fn tolerances() {
    let label = |json: &str| Value::Json(json.to_owned());
    for (params, prediction, reference, score, mae) in [
        (json!({}), 5.0, Value::Number(5.0), 1.0, 0.0),
        (json!({ "tolerance": 0.5 }), 5.5, Value::Number(5.0), 1.0, 0.5),
        (json!({ "tolerance": "0.5" }), 6.0, Value::Number(5.0), 0.0, 1.0),
        (json!({ "tolerance": -1 }), 5.0, Value::Number(5.0), 1.0, 0.0),
        (json!({ "tolerance": "inf" }), 6.0, Value::Number(0.0), 1.0, 6.0),
        (json!({ "tolerance_abs": 1 }), 6.0, "5".into(), 1.0, 1.0),
        (json!({ "tolerance_rel": 0.1 }), 220.0, Value::Number(200.0), 1.0, 20.0),
        (json!({ "tolerance_rel": 0.1 }), -221.0, Value::Number(-200.0), 0.0, 21.0),
        (json!({ "tolerance_abs": 30, "tolerance_rel": 0.1 }), 230.0, Value::Number(200.0), 1.0, 30.0),
        (json!({ "tolerance": 1e300 }), 6.0, Value::Number(0.0), 1.0, 6.0),
        (json!({ "tolerance_rel": 1e300 }), 6.0, Value::Number(0.0), 0.0, 6.0),
        (json!({ "tolerance": 9 }), 6.0, label(r#"{"value":5,"tolerance_abs":0.5}"#), 0.0, 1.0),
        (json!({}), 5.5, label(r#"{"value":5,"tolerance":0.5}"#), 1.0, 0.5),
        (json!({ "tolerance": 9 }), 6.0, label(r#"{"value":5,"tolerance":0.5}"#), 0.0, 1.0),
        (json!({}), 5.0, label(r#"{"value":5.1,"tolerance_rel":0.02}"#), 1.0, 5.1 - 5.0),
        (json!({}), 5.4, label(r#"{"value":5,"tolerance_abs":"0.5"}"#), 1.0, 0.4),
        (json!({ "tolerance": 9 }), 6.0, label(r#"{"value":5,"tolerance_abs":" 5e-1 "}"#), 0.0, 1.0),
        (json!({ "tolerance": 9 }), 6.0, label(r#"{"value":5,"tolerance_abs":null}"#), 1.0, 1.0),
    ] {
        let card = card(params.clone(), Value::Number(prediction), reference);
        assert_eq!(card.primary_score, Some(score), "{params} {prediction}");
        assert!(sub(&card, "mae").is_some_and(|found| (found - mae).abs() < 1e-12), "{params} {prediction}");
        assert_eq!(card.pass, Some(score == 1.0));
    }
}

#[test]
fn units() {
    let label = |json: &str| Value::Json(json.to_owned());
    for (params, prediction, reference, score, tag) in [
        (json!({ "unit": "%" }), "12.5%", Value::Number(12.5), 1.0, None),
        (json!({ "unit": "%" }), "12.5", Value::Number(12.5), 1.0, None),
        (json!({ "unit": "%" }), "百分之十二点五", Value::Number(12.5), 1.0, None),
        (json!({ "unit": "fraction" }), "12.5%", Value::Number(0.125), 1.0, None),
        (json!({ "unit": "km" }), "3,500 m", Value::Number(3.5), 1.0, None),
        (json!({ "unit": "km" }), "3.5 kg", Value::Number(3.5), 0.0, Some("wrong_unit")),
        (json!({ "unit": "USD" }), "$1,234.50", Value::Number(1234.5), 1.0, None),
        (json!({ "unit": "USD" }), "€1,234.50", Value::Number(1234.5), 0.0, Some("wrong_unit")),
        (json!({ "unit": "元" }), "三千五百", Value::Number(3500.0), 1.0, None),
        (json!({}), "12.5%", label(r#"{"value":12.5,"unit":"%"}"#), 1.0, None),
        (json!({ "unit": "m" }), "5000", label(r#"{"value":5,"unit":"km"}"#), 0.0, Some("wrong_answer")),
        (json!({ "unit": "km" }), "about 3.5 km", Value::Number(3.5), 0.0, Some("invalid_format")),
        (json!({ "number_format": "written" }), "1,234", Value::Number(1234.0), 1.0, None),
        (json!({ "number_format": "written" }), "5 million", Value::Number(5.0), 0.0, Some("wrong_answer")),
        (json!({ "number_format": "written" }), "10^3", Value::Number(1000.0), 1.0, None),
        (json!({ "number_format": "written" }), "5 mil", Value::Number(5.0), 0.0, Some("invalid_format")),
        (json!({}), "5,000,000", label(r#"{"value":5,"unit":"million"}"#), 1.0, None),
        (json!({}), "3 miles", label(r#"{"value":4.828032,"unit":"km"}"#), 1.0, None),
        (json!({ "unit": "°C" }), "212 °F", Value::Number(100.0), 1.0, None),
        (json!({ "unit": "km/h" }), "5 m/s", Value::Number(18.0), 1.0, None),
        (json!({ "unit": "MB" }), "1 GB", Value::Number(1000.0), 1.0, None),
        (json!({ "unit": "USD" }), "250 cents", Value::Number(2.5), 1.0, None),
        (json!({ "number_format": "written" }), "½", "1/2".into(), 1.0, None),
        (json!({ "number_format": "written" }), "(5) ", Value::Number(-5.0), 1.0, None),
        (
            json!({ "number_format": "plain", "unit": "km" }),
            "3 km",
            Value::Number(3.0),
            0.0,
            Some("invalid_format"),
        ),
        (json!({}), "1,234", Value::Number(1234.0), 0.0, Some("invalid_format")),
    ] {
        let card = card(params.clone(), prediction.into(), reference);
        assert_eq!(card.primary_score, Some(score), "{params} {prediction} {}", card.detail);
        assert_eq!(card.error_tags.first().map(String::as_str), tag, "{params} {prediction}");
    }
}

#[test]
fn what_is_no_number_never_scores() {
    let number = || Value::Number(5.0);
    let everything = json!({ "tolerance": 1e308 });
    for (prediction, reference, tag) in [
        (Value::Absent, number(), "missing_prediction"),
        (Value::Absent, "five".into(), "missing_prediction"),
        (Value::Absent, Value::Absent, "missing_reference"),
        ("five".into(), Value::Absent, "missing_reference"),
        (number(), Value::Absent, "missing_reference"),
        (number(), "five".into(), "invalid_reference"),
        (number(), "nan".into(), "invalid_reference"),
        ("".into(), number(), "invalid_format"),
        ("nan".into(), number(), "invalid_format"),
        ("inf".into(), number(), "invalid_format"),
        ("1e400".into(), number(), "invalid_format"),
        (Value::Number(f64::INFINITY), number(), "invalid_format"),
        (Value::Json("[5]".to_owned()), number(), "invalid_format"),
        ("5\u{301}".into(), number(), "invalid_format"),
        (Value::Text("5".repeat(1 << 20)), number(), "invalid_format"),
    ] {
        let card = card(everything.clone(), prediction, reference);
        assert_eq!((card.primary_score, card.pass), (Some(0.0), Some(false)));
        assert_eq!(card.error_tags, [tag]);
        assert!(card.sub_scores.is_empty());
        assert!(card.detail.len() < 2048);
    }
}

#[test]
fn sub_scores() {
    let near = card(json!({}), Value::Number(220.0), Value::Number(-200.0));
    assert_eq!((sub(&near, "mae"), sub(&near, "relative_error")), (Some(420.0), Some(2.1)));
    assert_eq!(near.explain.as_deref(), Some("off by 420, 0 is allowed"));
    let zero = card(json!({}), Value::Number(1.0), Value::Number(0.0));
    assert_eq!((sub(&zero, "mae"), sub(&zero, "relative_error")), (Some(1.0), None));
    let same = card(json!({}), Value::Number(0.0), Value::Number(-0.0));
    assert_eq!((same.primary_score, sub(&same, "relative_error")), (Some(1.0), Some(0.0)));
    let far = card(json!({}), Value::Number(1e308), Value::Number(-1e308));
    assert_eq!((far.primary_score, sub(&far, "mae")), (Some(0.0), None));
    // A difference that no float can hold is within no tolerance.
    let far = card(json!({ "tolerance_rel": 1e300 }), Value::Number(1e308), Value::Number(-1e308));
    assert_eq!(far.primary_score, Some(0.0));
}

#[test]
fn the_absolute_error_has_six_decimals() {
    for (tolerance, prediction, reference, score, mae) in [
        (json!(0), 1.234_567_89, 1.0, 0.0, 0.234_568),
        (json!("1e-7"), 1.000_000_4, 1.0, 0.0, 0.0),
        (json!("0.234568"), 1.234_568_1, 1.0, 0.0, 0.234_568),
        (json!(0), 0.1, 0.3, 0.0, 0.2),
        (json!(0), 1e300, 0.0, 0.0, 1e300),
        (json!(1), 2.5, 2.0, 1.0, 0.5),
    ] {
        let card =
            card(json!({ "tolerance": tolerance }), Value::Number(prediction), Value::Number(reference));
        assert_eq!((card.primary_score, sub(&card, "mae")), (Some(score), Some(mae)), "{prediction}");
    }
}

#[test]
fn a_reference_with_a_tolerance_that_is_none_is_an_error() {
    for tolerance in [r#""x""#, r#""5%""#, "-1", r#""-1""#, r#""1e400""#, r#""nan""#, "true", "[1]"] {
        let reference = Value::Json(format!(r#"{{"value":5,"tolerance_abs":{tolerance}}}"#));
        let found = NumericError::prepare(json!({}))
            .and_then(|metric| metric.score(Inputs::new(&[Value::Number(5.0), reference])));
        let said = found.err().map(|error| error.message).unwrap_or_default();
        assert!(said.starts_with("'tolerance_abs' of the ground truth must be a finite number"), "{said}");
    }
}

#[test]
fn bad_parameters_are_refused() {
    for params in [
        json!({ "tolerance": "x" }),
        json!({ "tolerance": "nan" }),
        json!({ "tolerance": 1, "tolerance_abs": 1 }),
        json!({ "number_format": "loose" }),
        json!({ "unit": 1 }),
    ] {
        assert!(NumericError::prepare(params.clone()).is_err(), "{params}");
    }
}

use super::*;
use gage_sdk::metric::Value as Input;

fn card(params: Value, parsed: &Value, reference: &Value) -> Result<ScoreCard, PluginError> {
    let json = |value: &Value| if value.is_null() { Input::Absent } else { Input::Json(value.to_string()) };
    ReasoningStepOrder::prepare(params)?.score(Inputs::new(&[json(parsed), json(reference)]))
}

fn sub_scores(card: &ScoreCard) -> Vec<(&str, f64)> {
    card.sub_scores.iter().map(|sub| (sub.name.as_str(), (sub.value * 1e6).round() / 1e6)).collect()
}

fn is_near(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
        (found, expected) => found == expected,
    }
}

#[test]
fn against_a_reference() {
    for (params, steps, reference, score, completeness, tags) in [
        (json!({}), json!(["a", "b", "c"]), json!(["A ", "b", "c"]), 1.0, 1.0, vec![]),
        // One of three stands elsewhere: L = 2, 4/6.
        (json!({}), json!(["a", "c", "b"]), json!(["a", "b", "c"]), 4.0 / 6.0, 1.0, vec!["wrong_order"]),
        (json!({}), json!(["a"]), json!(["a", "b", "c"]), 0.5, 1.0 / 3.0, vec!["missing_item"]),
        (json!({}), json!(["a", "x"]), json!({ "steps": ["a"] }), 2.0 / 3.0, 1.0, vec!["unexpected_step"]),
        (json!({}), json!(["a", "a", "b"]), json!(["a", "b", "b"]), 1.0, 1.0, vec![]),
        (
            json!({}),
            json!([{ "id": 1, "text": "x" }, { "id": 2, "text": "y" }]),
            json!([{ "id": "1" }, { "id": 2.0 }]),
            1.0,
            1.0,
            vec![],
        ),
        (
            json!({ "match_by": "text" }),
            json!([{ "id": 1, "text": "x" }]),
            json!([{ "id": 1, "text": "y" }]),
            0.0,
            0.0,
            vec!["missing_item", "unexpected_step"],
        ),
        (
            json!({ "match_by": "id" }),
            json!(["x"]),
            json!(["x"]),
            0.0,
            0.0,
            vec!["missing_item", "unexpected_step"],
        ),
        (
            json!({ "normalize": false }),
            json!(["A"]),
            json!(["a"]),
            0.0,
            0.0,
            vec!["missing_item", "unexpected_step"],
        ),
    ] {
        let parsed = json!({ "steps": steps });
        let Ok(card) = card(params, &parsed, &reference) else { panic!("{parsed} is scored") };
        assert!(is_near(card.primary_score, Some(score)), "{parsed} {card:?}");
        assert!(
            is_near(card.sub_scores.first().map(|sub| sub.value), Some(completeness)),
            "{parsed} {card:?}"
        );
        assert_eq!(card.error_tags, tags, "{parsed}");
        assert_eq!(card.pass, Some(score == 1.0));
    }
    let parsed = json!({ "steps": ["c", "b", "a"] });
    let Ok(falling) = card(json!({}), &parsed, &json!(["a", "b", "c"])) else { panic!("it is scored") };
    let expected = [("step_completeness", 1.0), ("step_precision", 1.0), ("kendall_tau", -1.0)];
    assert_eq!(sub_scores(&falling), expected);
}

#[test]
fn for_themselves() {
    let step = |id: &str, text: &str, needs: Value| json!({ "id": id, "text": text, "depends_on": needs });
    for (parsed, score, checks) in [
        (
            json!({
                "steps": [step("s1", "a", json!([])), step("s2", "so up", json!("s1"))],
                "final_answer": "up",
            }),
            Some(1.0),
            vec![
                ("id_order", 1.0),
                ("step_completeness", 1.0),
                ("dependency_order", 1.0),
                ("conclusion", 1.0),
            ],
        ),
        // s2 builds on a later step, s3 is missing, the answer does not come last.
        (
            json!({
                "steps": [
                    step("s2", "up", json!(["s4"])),
                    step("s1", "b", json!(["s2"])),
                    step("s4", "c", json!([])),
                ],
                "final_answer": { "value": "up" },
            }),
            Some((0.5 + 0.75 + 0.5 + 0.0) / 4.0),
            vec![
                ("id_order", 0.5),
                ("step_completeness", 0.75),
                ("dependency_order", 0.5),
                ("conclusion", 0.0),
            ],
        ),
        (
            json!({ "steps": ["a"], "final_answer": { "value": "a", "depends_on": ["s1"] } }),
            Some(0.5),
            vec![("dependency_order", 0.0), ("conclusion", 1.0)],
        ),
        (json!({ "steps": ["supply"], "final_answer": "up" }), Some(0.0), vec![("conclusion", 0.0)]),
        (json!({ "steps": [step("s1", "a", json!(["s1"]))] }), Some(0.0), vec![("dependency_order", 0.0)]),
        (json!({ "steps": [{ "id": "s1" }, { "id": "t2" }] }), None, vec![]),
        (json!({ "steps": ["a", "b"] }), None, vec![]),
    ] {
        let Ok(card) = card(json!({}), &parsed, &json!(null)) else { panic!("{parsed} is scored") };
        assert!(is_near(card.primary_score, score), "{parsed} {card:?}");
        assert_eq!(sub_scores(&card), checks, "{parsed}");
        assert_eq!(card.error_tags.len(), checks.iter().filter(|(_, value)| *value < 1.0).count());
    }
}

#[test]
fn what_is_missing_scores_zero() {
    for (parsed, tag) in [
        (json!(null), "missing_prediction"),
        (json!("x"), "invalid_format"),
        (json!({}), "missing_steps"),
        (json!({ "steps": [" ", {}, null] }), "missing_steps"),
    ] {
        let Ok(card) = card(json!({}), &parsed, &json!(["a"])) else { panic!("{parsed} is scored") };
        assert_eq!((card.primary_score, card.error_tags), (Some(0.0), vec![tag.to_owned()]), "{parsed}");
    }
    for reference in [json!(null), json!([]), json!({ "steps": [] })] {
        let Ok(card) = card(json!({}), &json!(null), &reference) else { panic!("{reference} is scored") };
        let found = (card.primary_score, card.error_tags);
        assert_eq!(found, (None, vec!["missing_reference".to_owned()]), "{reference}");
    }
    assert!(card(json!({ "match_by": "name" }), &json!({}), &json!(null)).is_err());
}

#[test]
fn many_steps() {
    let steps: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
    let mut turned = steps.clone();
    turned.reverse();
    let Ok(card) = card(json!({}), &json!({ "steps": steps }), &json!(turned)) else {
        panic!("it is scored")
    };
    assert!(is_near(card.primary_score, Some(1.0 / 50_000.0)));
    // Numbers at the end of the range do not overflow.
    let ids = json!({ "steps": [{ "id": u64::MAX }, { "id": 0 }] });
    let Ok(wide) = super::ReasoningStepOrder::prepare(json!({})) else { panic!("the defaults are accepted") };
    assert!(wide.score(Inputs::new(&[Input::Json(ids.to_string())])).is_ok());
}

//! Numbers that are not finite, as an answer, a label, a judge's score and a tolerance, through the bundled components.
//! They never pass, regardless of the suite's settings.

use crate::large::bundled_member;
use crate::registry;
use gage_config::PluginReference;
use gage_core::EvalContext;
use gage_plugin::MetricKind;
use serde_json::{Value, json};

/// Returns the score and the first error tag, or the message of the error. Only a score of 1 passes.
fn scored(
    component: &str,
    name: &str,
    params: Value,
    answer: Value,
    label: Value,
) -> Result<(f64, String), String> {
    let metric = bundled_member::<MetricKind>(component, name, params);
    let (sample, output) = (json!({"label": label}), json!({"answer": answer}));
    let judge_output = json!({"score": answer});
    let roots = EvalContext {
        sample: (&sample).into(),
        model_output: (&output).into(),
        judge_output: &judge_output,
        support_output: &Value::Null,
    };
    let result = metric.score(vec![metric.resolve("case", roots)]).results.remove(0);
    let card = result.map_err(|error| error.message)?;
    let score = card.primary_score.expect("a score");
    assert_eq!(card.pass, Some(score == 1.0), "{name}");
    Ok((score, card.error_tags.first().cloned().unwrap_or_default()))
}

#[test]
fn non_finite_numbers_never_pass() {
    for (answer, label, of_answer, of_label) in [
        (json!("inf"), json!(5), "invalid_format", ""),
        (json!("-inf"), json!(5), "invalid_format", ""),
        (json!("1e400"), json!(5), "invalid_format", ""),
        (json!("nan"), json!(5), "invalid_format", ""),
        (json!(5), json!("inf"), "", "invalid_reference"),
        (json!(5), json!("-1e400"), "", "invalid_reference"),
        (json!(5), json!("nan"), "", "invalid_reference"),
    ] {
        let expected = if of_answer.is_empty() { of_label } else { of_answer };
        for (name, params) in [
            ("numeric_match", json!({})),
            ("numeric_match", json!({"mode": "ge", "fallback": 1})),
            ("numeric_match", json!({"mode": "le", "fallback": 1})),
            ("numeric_match", json!({"tolerance": 1e308})),
            ("numeric_error", json!({"tolerance_abs": 1e308})),
            ("numeric_error", json!({"tolerance_rel": 1e308, "number_format": "written"})),
        ] {
            let found = scored("number", name, params.clone(), answer.clone(), label.clone());
            assert_eq!(found, Ok((0.0, expected.to_owned())), "{name} {params} {answer} {label}");
        }
        if label == json!(5) {
            let params = json!({"answer_type": "number", "tolerance_abs": 1e308, "answer_field": "model_output.answer"});
            let found = scored("answer", "canonical_answer", params, answer.clone(), label);
            assert_eq!(found.map(|(score, _)| score), Ok(0.0), "{answer}");
            let found = scored(
                "score",
                "judge_threshold",
                json!({"fallback": 1, "threshold": -5}),
                answer.clone(),
                json!(1),
            );
            assert_eq!(found, Ok((0.0, "invalid_format".to_owned())), "{answer}");
        }
    }
}

#[test]
fn tolerance_of_a_label_is_a_number_or_its_text() {
    for (tolerance, expected) in [
        (json!(0.5), Ok(1.0)),
        (json!("0.5"), Ok(1.0)),
        (json!(" 5e-1 "), Ok(1.0)),
        (json!("0.1"), Ok(0.0)),
        (json!(null), Ok(0.0)),
        (json!("half"), Err(())),
        (json!("50%"), Err(())),
        (json!(-1), Err(())),
        (json!("inf"), Err(())),
        (json!("1e400"), Err(())),
        (json!(true), Err(())),
    ] {
        for (component, name) in [("number", "numeric_error"), ("answer", "canonical_answer")] {
            let label = json!({"value": 5, "tolerance_abs": tolerance});
            let field = if name == "canonical_answer" { "answer_field" } else { "prediction_field" };
            let params = json!({field: "model_output.answer", "label_field": "label"});
            match (scored(component, name, params, json!(5.4), label), expected) {
                (Ok((score, _)), Ok(expected)) => assert_eq!(score, expected, "{name} {tolerance}"),
                (Err(message), Err(())) => {
                    assert!(message.contains("must be a finite number from 0 up"), "{name} {message}");
                }
                (found, _) => panic!("{name} {tolerance}: {found:?}"),
            }
        }
    }
}

#[test]
fn invalid_tolerances_and_bounds_are_refused_before_a_run() {
    let registry = registry();
    for (name, key) in [
        ("numeric_match", "tolerance"),
        ("numeric_error", "tolerance"),
        ("numeric_error", "tolerance_abs"),
        ("numeric_error", "tolerance_rel"),
        ("canonical_answer", "tolerance_abs"),
        ("canonical_answer", "tolerance_rel"),
        ("numeric_match", "min_value"),
        ("judge_threshold", "max_value"),
        ("judge_score", "threshold"),
    ] {
        let is_tolerance = key.starts_with("tolerance");
        // The recorded cases define negative and infinite tolerances there.
        let is_recorded = is_tolerance && name.starts_with("numeric");
        for value in [json!("1e400"), json!("inf"), json!("nan"), json!("wide"), json!(-1), json!(0)] {
            let reference = PluginReference::Name(name.to_owned());
            let (family, member) = registry.find::<MetricKind>(&reference).expect("a metric");
            let problems = family.configure(member.as_deref(), json!({key: value})).err();
            let is_good = match value.as_str() {
                None => value == 0 || !is_tolerance || is_recorded,
                Some(text) => is_recorded && matches!(text, "inf" | "1e400"),
            };
            assert_eq!(problems.is_none(), is_good, "{name} {key} {value}");
            for problem in problems.into_iter().flatten() {
                assert_eq!(problem.pointer, format!("/{key}"), "{name} {value}");
            }
        }
    }
}

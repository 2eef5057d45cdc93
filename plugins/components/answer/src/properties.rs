//! Properties that hold for every input.

use crate::CanonicalAnswer;
use gage_sdk::metric::{Inputs, Metric, Value as Input};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use proptest::prelude::*;

/// JSON that is mostly made of the words of the specification.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|boolean| json!(boolean)),
        (-2_i64..12).prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        "(A|B|up|5 km|%|basic|text|list|a\nb|上涨|e\u{301}|\\PC{0,6})".prop_map(|text| json!(text)),
    ];
    let key = "(value|items|aliases|unit|tolerance_abs|ordered|unique|keywords|normalize|final_answer|steps|\
               claims|text|id|evidence|answer_type|prediction|ground_truth)";
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| json!(items)),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn score(answer_type: &str, answer: &Value, reference: &Value) -> Result<ScoreCard, PluginError> {
    let params = if answer_type.is_empty() { json!({}) } else { json!({ "answer_type": answer_type }) };
    let inputs = [Input::Json(answer.to_string()), Input::Absent, Input::Json(reference.to_string())];
    CanonicalAnswer::prepare(params)?.score(Inputs::new(&inputs))
}

const TYPES: [&str; 6] = ["", "choice", "number", "list", "text", "reasoning"];

proptest! {
    #[test]
    fn cards_are_sound(answer in any_json(), reference in any_json()) {
        for answer_type in TYPES {
            let Ok(card) = score(answer_type, &answer, &reference) else { continue };
            prop_assert!(card.primary_score.is_some_and(|score| (0.0..=1.0).contains(&score)), "{:?}", card);
            prop_assert!(card.sub_scores.iter().all(|sub| sub.value.is_finite()), "{:?}", card);
            let mut names: Vec<&str> = card.sub_scores.iter().map(|sub| sub.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), card.sub_scores.len());
            prop_assert!(card.explain.as_ref().is_some_and(|text| !text.contains('\n')), "{:?}", card);
            prop_assert!(card.pass != Some(true) || card.primary_score == Some(1.0), "{:?}", card);
            prop_assert!(card.primary_score == Some(1.0) || !card.error_tags.is_empty(), "{:?}", card);
            let again = score(answer_type, &answer, &reference);
            prop_assert_eq!(again, Ok(card));
        }
    }

    #[test]
    fn nothing_is_never_right(reference in any_json()) {
        for answer_type in TYPES {
            if let Ok(card) = score(answer_type, &json!(null), &reference) {
                prop_assert_eq!((card.primary_score, card.pass), (Some(0.0), Some(false)));
            }
        }
    }

    #[test]
    fn an_answer_is_the_same_as_itself(text in "\\PC{0,3}[a-z中]\\PC{0,3}", number in -1e9..1e9_f64) {
        for (answer_type, answer) in [
            ("choice", json!(text)),
            ("text", json!(text)),
            ("list", json!([text, number])),
            ("number", json!(number)),
            ("reasoning", json!({ "final_answer": text })),
        ] {
            let card = score(answer_type, &answer, &answer).map_err(|error| TestCaseError::fail(error.message))?;
            prop_assert_eq!((card.primary_score, card.pass), (Some(1.0), Some(true)), "{}", answer);
        }
    }
}

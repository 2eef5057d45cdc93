//! Properties that hold for every input.

use crate::{ClaimEvidenceOverlap, ClaimVerifiability, ReasoningConsistency, ReasoningStepOrder};
use gage_sdk::json;
use gage_sdk::metric::{Inputs, Metric, Value as Input};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard};
use proptest::prelude::*;

/// JSON that is mostly made of the words of the specification.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|boolean| json!(boolean)),
        (-2_i64..12).prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        "(s[0-3]|up|n1|上涨|e\u{301}|[ .,0-9-]{0,4}|\\PC{0,6})".prop_map(|text| json!(text)),
    ];
    let key = "(final_answer|value|steps|claims|rationale|text|id|evidence|depends_on|x)";
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| json!(items)),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn score<M: Metric>(parsed: &Value, reference: &Value) -> Result<ScoreCard, PluginError> {
    let inputs = [Input::Json(parsed.to_string()), Input::Json(reference.to_string())];
    M::prepare(json!({}))?.score(Inputs::new(&inputs))
}

proptest! {
    #[test]
    fn scores_are_from_0_to_1_and_names_come_once(parsed in any_json(), reference in any_json()) {
        for card in [
            score::<ReasoningConsistency>(&parsed, &reference),
            score::<ClaimEvidenceOverlap>(&parsed, &reference),
            score::<ReasoningStepOrder>(&parsed, &reference),
            score::<ClaimVerifiability>(&parsed, &reference),
        ] {
            let card = card.map_err(|error| TestCaseError::fail(error.message))?;
            prop_assert!(card.primary_score.is_none_or(|score| (0.0..=1.0).contains(&score)), "{:?}", card);
            prop_assert!(card.sub_scores.iter().all(|sub| sub.value.is_finite()), "{:?}", card);
            let mut names: Vec<&str> = card.sub_scores.iter().map(|sub| sub.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), card.sub_scores.len());
            if card.pass == Some(true) {
                prop_assert_eq!(card.primary_score, Some(1.0));
            }
        }
    }

    /// Steps in the order of the reference score 1; any other order of the same steps less.
    #[test]
    fn the_order_of_the_reference_is_the_best(
        order in Just((0..8_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let steps: Vec<String> = order.iter().map(|number| format!("step {number}")).collect();
        let mut reference = steps.clone();
        reference.sort();
        let card = score::<ReasoningStepOrder>(&json!({ "steps": steps }), &json!(reference));
        let found = card.ok().and_then(|card| card.primary_score);
        prop_assert_eq!(found == Some(1.0), steps == reference);
        prop_assert!(found.is_some_and(|found| found > 0.0));
    }
}

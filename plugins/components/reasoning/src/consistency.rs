//! `reasoning_consistency`: tests whether the argument mentions the answer.

use crate::card::{PARSED, failed, rounded, tagged, unparsed, with_parsed};
use crate::parsed::{ParsedOutput, final_answers};
use gage_reasoning_kit::fragments::{member, text};
use gage_reasoning_kit::ids::items;
use gage_reasoning_kit::{Normalizer, mentions, share};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;

/// Members with the support of an answer.
const SUPPORT: [&str; 3] = ["steps", "claims", "rationale"];

/// Scores 1 if at least one fragment of the support mentions the final answer as whole words. If the answer is a list
/// (32 members at most), each member must be mentioned.
///
/// Fragments are the texts of `steps`, `claims` and `rationale`: strings, or objects with `text`; blank ones do not
/// count. The sub-score `reasoning_support_coverage` is the share of fragments that mention the answer, with four
/// decimals. Denials of the answer in a fragment are not detected.
///
/// Case, white space and decomposed characters are ignored unless `normalize` is false. Without an output, an answer or
/// support the score is 0, with the tag `missing_prediction`, `invalid_format`, `missing_final_answer` or
/// `missing_support`. The tag is `unsupported_answer` if no fragment mentions it. Takes time proportional to the text
/// and the number of answers.
///
/// Input: path parameters `parsed_field` and `prediction_field`, by default `model_output.parsed`.
pub struct ReasoningConsistency {
    normalizer: Normalizer,
}

impl Metric for ReasoningConsistency {
    fn name() -> &'static str {
        "reasoning_consistency"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("1", "Checks that the reasoning mentions the answer")
            .value_name("reasoning_consistency")
            .sub_score("reasoning_support_coverage", true)
            .params(json!({ "normalize": Normalizer::schema() }));
        with_parsed(spec)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Ok(ReasoningConsistency { normalizer: Normalizer::new(&Params::new(params)?)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let parsed = ParsedOutput::read(inputs.value(PARSED))?;
        let ParsedOutput::Object(members) = &parsed else { return Ok(with_coverage(unparsed(&parsed), 0.0)) };
        let answers = final_answers(members, self.normalizer)?;
        if answers.is_empty() {
            let card = failed("missing_final_answer", "the parsed output has no final answer");
            return Ok(with_coverage(card, 0.0));
        }
        let mut is_mentioned = vec![false; answers.len()];
        let (mut fragments, mut supporting) = (0, 0);
        let support = SUPPORT.iter().flat_map(|key| items(member(members, key)));
        for fragment in support.filter_map(|fragment| text(fragment, self.normalizer)) {
            fragments += 1;
            let mut supports = false;
            for (answer, is_mentioned) in answers.iter().zip(&mut is_mentioned) {
                if mentions(&fragment, answer) {
                    (*is_mentioned, supports) = (true, true);
                }
            }
            supporting += usize::from(supports);
        }
        if fragments == 0 {
            let card = failed("missing_support", "there is neither a step, nor a claim, nor a rationale");
            return Ok(with_coverage(card, 0.0));
        }
        let is_consistent = is_mentioned.iter().all(|is_mentioned| *is_mentioned);
        let card = tagged(ScoreCard::binary(is_consistent), !is_consistent, "unsupported_answer")
            .explain(format!("{supporting} of {fragments} fragments mention the answer"))
            .detail(&json!({ "fragments": fragments, "supporting": supporting }));
        Ok(with_coverage(card, share(supporting, fragments)))
    }
}

fn with_coverage(card: ScoreCard, coverage: f64) -> ScoreCard {
    card.sub_score("reasoning_support_coverage", rounded(coverage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value as Input;

    fn card(params: Value, parsed: &str) -> Result<ScoreCard, PluginError> {
        ReasoningConsistency::prepare(params)?.score(Inputs::new(&[Input::Json(parsed.to_owned())]))
    }

    #[test]
    fn answers_and_support() {
        for (parsed, score, coverage, tag) in [
            (
                json!({ "final_answer": "up", "steps": [{ "text": "goes UP" }, "flat", "fell"] }),
                1.0,
                0.3333,
                None,
            ),
            (json!({ "final_answer": "up", "steps": ["supply"] }), 0.0, 0.0, Some("unsupported_answer")),
            (json!({ "final_answer": { "value": 0 }, "rationale": "it is 0" }), 1.0, 1.0, None),
            (json!({ "final_answer": false, "rationale": ["so False"] }), 1.0, 1.0, None),
            (json!({ "final_answer": "正面", "claims": ["所以是正面的"] }), 1.0, 1.0, None),
            (json!({ "final_answer": "caf\u{e9}", "steps": ["the CAFE\u{301}"] }), 1.0, 1.0, None),
            (json!({ "final_answer": ["a", "b"], "steps": ["a", "b"] }), 1.0, 1.0, None),
            (json!({ "final_answer": ["a", "b"], "steps": ["a"] }), 0.0, 1.0, Some("unsupported_answer")),
            (json!({ "final_answer": " ", "steps": ["x"] }), 0.0, 0.0, Some("missing_final_answer")),
            (
                json!({ "final_answer": { "text": "x" }, "steps": ["x"] }),
                0.0,
                0.0,
                Some("missing_final_answer"),
            ),
            (json!({ "final_answer": null }), 0.0, 0.0, Some("missing_final_answer")),
            (json!({ "final_answer": "x", "steps": [" ", {}, null, []] }), 0.0, 0.0, Some("missing_support")),
            (json!([1]), 0.0, 0.0, Some("invalid_format")),
            (json!("x"), 0.0, 0.0, Some("invalid_format")),
            (json!(null), 0.0, 0.0, Some("missing_prediction")),
        ] {
            let Ok(card) = card(json!({}), &parsed.to_string()) else { panic!("{parsed} is scored") };
            assert_eq!(card.primary_score, Some(score), "{parsed}");
            assert_eq!(card.sub_scores.first().map(|sub| sub.value), Some(coverage), "{parsed}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{parsed}");
        }
    }

    #[test]
    fn limits_and_parameters() {
        let many = json!({ "final_answer": vec!["a"; 33], "steps": ["a"] });
        assert!(card(json!({}), &many.to_string()).is_err());
        assert!(card(json!({}), r#"{"final_answer":1e400}"#).is_err());
        assert!(card(json!({ "normalize": "false" }), "{}").is_err());
        let long = json!({ "final_answer": "b", "rationale": "a ".repeat(1 << 19) + "b" });
        assert_eq!(card(json!({}), &long.to_string()).map(|card| card.primary_score), Ok(Some(1.0)));
    }
}

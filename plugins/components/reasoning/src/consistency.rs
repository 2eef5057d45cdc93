//! `reasoning_consistency`: tests whether the argument mentions the answer.

use crate::card::{PARSED, failed, rounded, tagged, unparsed, value_prefix, with_parsed};
use crate::parsed::{ParsedOutput, field, final_answers};
use gage_reasoning_kit::fragments::texts;
use gage_reasoning_kit::{Normalizer, mentions, share};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;

/// Default members with the support of an answer.
const SUPPORT: [&str; 3] = ["steps", "claims", "rationale"];

/// Default member with the answer.
const FINAL_ANSWER: &str = "final_answer";

/// Default prefix of the values' names.
const NAME: &str = "reasoning";

/// Scores 1 if at least one fragment of the support mentions the final answer as whole words. If the answer is a list
/// (32 members at most), each member must be mentioned.
///
/// The answer is the member `final_answer`, or the one that `final_answer_field` names. Fragments are the texts of
/// `steps`, `claims` and `rationale`, or of the members that `support_fields` lists: strings, or objects with `text`,
/// `content`, `claim`, `statement`, `reason` or `rationale`. They may be nested in lists and objects; blank ones do not
/// count. The sub-score `reasoning_support_coverage` is the share of fragments that mention the answer, with four
/// decimals. Denials of the answer in a fragment are not detected.
///
/// `name` (default `reasoning`; 1 to 40 letters, digits, `_`, `-` and `.`) is the prefix of the names. Another name
/// renames the sub-score, and adds the score as a sub-score `name_consistency`.
///
/// Case, white space and decomposed characters are ignored unless `normalize` is false. Without an output, an answer or
/// support the score is 0, with the tag `missing_prediction`, `invalid_format`, `missing_final_answer` or
/// `missing_support`. The tag is `unsupported_answer` if no fragment mentions it. Takes time proportional to the text
/// and the number of answers.
///
/// Input: path parameters `parsed_field` and `prediction_field`, by default `model_output.parsed`.
pub struct ReasoningConsistency {
    normalizer: Normalizer,
    answer_field: String,
    support_fields: Vec<String>,
    coverage_name: String,
    /// Further name of the score, if the suite gives another prefix.
    score_name: Option<String>,
}

impl Metric for ReasoningConsistency {
    fn name() -> &'static str {
        "reasoning_consistency"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("2", "Checks that the reasoning mentions the answer")
            .value_name("reasoning_consistency")
            .sub_score("reasoning_support_coverage", true)
            .params(json!({
                "normalize": Normalizer::schema(),
                "final_answer_field": {
                    "type": ["string", "null"], "default": FINAL_ANSWER,
                    "description": "Dotted path of the answer in the parsed output",
                },
                "support_fields": {
                    "type": ["array", "string", "null"], "items": { "type": "string" }, "default": SUPPORT,
                    "description": "Dotted paths of the support in the parsed output: a list, or a text \
                     with commas",
                },
                "name": {
                    "type": ["string", "null"], "default": NAME,
                    "description": "Prefix of the values' names",
                },
            }));
        with_parsed(spec)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let name = value_prefix(&params, NAME)?;
        let answer_field = params.text("final_answer_field")?.unwrap_or(FINAL_ANSWER);
        if answer_field.trim().is_empty() {
            let message =
                "params: 'final_answer_field' must be a path such as final_answer, not an empty text";
            return Err(PluginError::invalid_config(message).at("/final_answer_field"));
        }
        Ok(ReasoningConsistency {
            normalizer: Normalizer::new(&params)?,
            answer_field: answer_field.to_owned(),
            support_fields: support_fields(&params)?,
            coverage_name: format!("{name}_support_coverage"),
            score_name: (name != NAME).then(|| format!("{name}_consistency")),
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let parsed = ParsedOutput::read(inputs.value(PARSED))?;
        let ParsedOutput::Object(members) = &parsed else {
            return Ok(self.with_values(unparsed(&parsed), 0.0));
        };
        let answers = final_answers(field(members, &self.answer_field), self.normalizer)?;
        if answers.is_empty() {
            let card = failed("missing_final_answer", "the parsed output has no final answer");
            return Ok(self.with_values(card, 0.0));
        }
        let mut is_mentioned = vec![false; answers.len()];
        let (mut fragments, mut supporting) = (0, 0);
        let support = self.support_fields.iter().map(|path| field(members, path));
        for fragment in support.flat_map(|part| texts(part, self.normalizer)) {
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
            return Ok(self.with_values(card, 0.0));
        }
        let is_consistent = is_mentioned.iter().all(|is_mentioned| *is_mentioned);
        let card = tagged(ScoreCard::binary(is_consistent), !is_consistent, "unsupported_answer")
            .explain(format!("{supporting} of {fragments} fragments mention the answer"))
            .detail(&json!({ "fragments": fragments, "supporting": supporting }));
        Ok(self.with_values(card, share(supporting, fragments)))
    }
}

impl ReasoningConsistency {
    /// Adds the sub-scores under their names.
    fn with_values(&self, card: ScoreCard, coverage: f64) -> ScoreCard {
        let score = card.primary_score.unwrap_or_default();
        let card = card.sub_score(&self.coverage_name, rounded(coverage));
        self.score_name.iter().fold(card, |card, name| card.sub_score(name, score))
    }
}

/// Reads the parameter `support_fields`: a list of paths, or a text with commas.
fn support_fields(params: &Params) -> Result<Vec<String>, PluginError> {
    let fields: Vec<String> = match params.get("support_fields") {
        None => SUPPORT.map(str::to_owned).to_vec(),
        Some(Value::String(text)) => text.split(',').map(|path| path.trim().to_owned()).collect(),
        Some(_) => params.parsed("support_fields")?.unwrap_or_default(),
    };
    if fields.is_empty() || fields.iter().any(|path| path.trim().is_empty()) {
        let message = "params: 'support_fields' must name at least one field, and none may be empty";
        return Err(PluginError::invalid_config(message).at("/support_fields"));
    }
    Ok(fields)
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
            (json!({ "final_answer": "up", "steps": [["up"], { "text": ["flat"] }] }), 1.0, 0.5, None),
            (json!({ "final_answer": "up", "steps": { "text": { "content": "goes up" } } }), 1.0, 1.0, None),
            (json!({ "final_answer": "up", "rationale": { "steps": ["up", "up"] } }), 1.0, 1.0, None),
            (
                json!({ "final_answer": "up", "steps": [{ "detail": "up" }] }),
                0.0,
                0.0,
                Some("missing_support"),
            ),
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
    fn fields_and_names_can_be_given() {
        let parsed = json!({
            "result": { "label": "up" },
            "final_answer": "down",
            "why": ["goes up"],
            "deep": { "why": "flat" },
            "steps": ["down"],
        });
        for (params, score, coverage) in [
            (json!({}), 1.0, 1.0),
            (json!({ "final_answer_field": "result.label" }), 0.0, 0.0),
            (json!({ "final_answer_field": "result.label", "support_fields": ["why"] }), 1.0, 1.0),
            (json!({ "final_answer_field": "result.label", "support_fields": "why, deep.why" }), 1.0, 0.5),
            (json!({ "final_answer_field": null, "support_fields": null, "name": null }), 1.0, 1.0),
            (json!({ "support_fields": ["absent"] }), 0.0, 0.0),
        ] {
            let Ok(card) = card(params.clone(), &parsed.to_string()) else { panic!("{params} is accepted") };
            assert_eq!(card.primary_score, Some(score), "{params}");
            assert_eq!(card.sub_scores.first().map(|sub| sub.value), Some(coverage), "{params}");
        }
        let Ok(card) = card(json!({ "name": "rc" }), &parsed.to_string()) else { panic!("it is scored") };
        let values: Vec<(&str, f64)> =
            card.sub_scores.iter().map(|sub| (sub.name.as_str(), sub.value)).collect();
        assert_eq!(values, [("rc_support_coverage", 1.0), ("rc_consistency", 1.0)]);
        for params in [
            json!({ "name": "a b" }),
            json!({ "final_answer_field": " " }),
            json!({ "support_fields": [] }),
            json!({ "support_fields": ["a", ""] }),
            json!({ "support_fields": "a,," }),
            json!({ "support_fields": [1] }),
        ] {
            assert!(ReasoningConsistency::prepare(params.clone()).is_err(), "{params}");
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

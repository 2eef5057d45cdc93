//! `extracted_match`: tests whether the part of an answer that a pattern finds equals a reference.

use gage_python_regex::{Occurrence, PythonRegex, Replacement};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::references::{Accepts, prediction, references};
use gage_text_kit::text::{excerpt, lower, quoted, strip};
use std::borrow::Cow;

const PREDICTION: usize = 0;
const REFERENCES: usize = 1;

/// Scores 1 if the part of the answer that a pattern finds equals one of the references.
///
/// If the pattern has several groups, the first that is not empty counts. Without a pattern the whole answer counts.
/// White space around the part is removed. From both texts, the matches of each of `ignore_patterns` are removed, in
/// their order. Then case and the punctuation of ASCII are ignored, if the parameters say so.
///
/// The scores are those of `exact_match` in EleutherAI's lm-evaluation-harness (`lm_eval/api/metrics.py`), after its
/// filters `regex` or `remove_whitespace`.
pub struct ExtractedMatch {
    pattern: Option<PythonRegex>,
    occurrence: Occurrence,
    ignored: Vec<PythonRegex>,
    /// Replacement of the ignored matches.
    nothing: Replacement,
    ignore_case: bool,
    ignore_punctuation: bool,
}

impl Metric for ExtractedMatch {
    fn name() -> &'static str {
        "extracted_match"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Checks that a part of the answer equals the reference")
            .prediction("prediction_field")
            .input(
                "references",
                &["references_field", "label_field"],
                &["sample.references", "sample.label"],
                ValueKind::Any,
            )
            .params(json!({
                "pattern": {
                    "type": "string", "minLength": 1,
                    "description": "Pattern of the part in the syntax of Python's `re`; of several groups, the \
                     first that is not empty; by default the whole answer",
                    "examples": [r"#### (-?[0-9.,]+)"],
                },
                "which": {
                    "enum": ["first", "last"], "default": "first",
                    "description": "Match that is used if there are several",
                },
                "ignore_patterns": {
                    "type": "array", "items": {"type": "string", "minLength": 1}, "default": [],
                    "description": "Patterns whose matches are removed from both texts, in this order",
                    "examples": [[",", r"\$"]],
                },
                "ignore_case": flag_schema(false, "Ignore case"),
                "ignore_punctuation": flag_schema(false, "Ignore the punctuation of ASCII"),
            }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let pattern = params.text("pattern")?.map(|pattern| compiled(pattern, "pattern")).transpose()?;
        let occurrences = [("first", Occurrence::First), ("last", Occurrence::Last)];
        let ignored: Vec<String> = params.parsed("ignore_patterns")?.unwrap_or_default();
        let ignored = ignored.iter().map(|pattern| compiled(pattern, "ignore_patterns"));
        Ok(ExtractedMatch {
            pattern,
            occurrence: params.one_of("which", &occurrences, Occurrence::First)?,
            ignored: ignored.collect::<Result<_, PluginError>>()?,
            nothing: Replacement::default(),
            ignore_case: params.flag("ignore_case", false)?,
            ignore_punctuation: params.flag("ignore_punctuation", false)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let right = references(inputs.value(REFERENCES), None, Accepts::Anything)?.unwrap_or_default();
        let failed = |tag: &str, why: &str| ScoreCard::binary(false).tag(tag).explain(why);
        if right.is_empty() {
            return Ok(failed("missing_reference", "there is no reference"));
        }
        let Some(answer) = prediction(inputs.value(PREDICTION), Accepts::Scalars)? else {
            return Ok(failed("missing_prediction", "there is no prediction"));
        };
        let part = match &self.pattern {
            Some(pattern) => pattern.find_any_group(&answer, self.occurrence).map_err(untried)?,
            None => Some(&*answer),
        };
        let Some(part) = part.map(strip) else {
            let why = format!("the pattern finds nothing in {}", quoted(&answer));
            return Ok(failed("no_answer", &why));
        };
        let compared = self.compared(part)?;
        let mut pass = false;
        for reference in &right {
            pass = pass || compared == self.compared(reference)?;
        }
        let reference = right.first().map(|reference| excerpt(reference));
        let card = ScoreCard::binary(pass)
            .detail(&json!({ "prediction": excerpt(&compared), "reference": reference }));
        if pass {
            return Ok(card);
        }
        let why = format!("{} does not equal {}", quoted(part), quoted(&reference.unwrap_or_default()));
        Ok(card.tag("wrong_answer").explain(why))
    }
}

impl ExtractedMatch {
    /// Returns a text in the form that is compared.
    fn compared<'text>(&self, text: &'text str) -> Result<Cow<'text, str>, PluginError> {
        let mut text = Cow::Borrowed(text);
        for pattern in &self.ignored {
            text = Cow::Owned(pattern.replace_all(&text, &self.nothing).map_err(untried)?);
        }
        if self.ignore_case {
            text = Cow::Owned(lower(&text).into_owned());
        }
        if self.ignore_punctuation {
            let kept = text.chars().filter(|character| !character.is_ascii_punctuation());
            text = Cow::Owned(kept.collect());
        }
        Ok(text)
    }
}

/// Compiles a pattern of a parameter.
fn compiled(pattern: &str, param: &str) -> Result<PythonRegex, PluginError> {
    PythonRegex::new(pattern, false).map_err(|error| {
        PluginError::invalid_config(format!("params: {param}: {error}")).at(format!("/{param}"))
    })
}

fn untried(error: impl std::fmt::Display) -> PluginError {
    PluginError::invalid_input(format!("the pattern cannot be tried: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::ErrorKind;
    use gage_sdk::metric::Value;

    fn card(params: serde_json::Value, answer: &str, reference: Value) -> Result<ScoreCard, PluginError> {
        ExtractedMatch::prepare(params)?.score(Inputs::new(&[answer.into(), reference]))
    }

    #[test]
    fn parts_of_answers_are_compared() {
        let number = || {
            json!({
                "pattern": "(-?[$0-9.,]{2,})|(-?[0-9]+)", "which": "last",
                "ignore_patterns": [",", r"\$", "(?s).*#### ", r"\.$"],
            })
        };
        for (params, answer, reference, expected) in [
            (number(), "It is $1,234.", "a\n#### 1234", 1.0),
            (number(), "12 or 7", "7", 1.0),
            (number(), "7 or 12", "7", 0.0),
            (number(), "none", "7", 0.0),
            (json!({ "pattern": "answer is (.*)" }), "answer is  A \nanswer is B", "A", 1.0),
            (json!({ "pattern": "answer is (.*)" }), "answer is a", "A", 0.0),
            (json!({ "pattern": "(?<=is )(.*)(?=.)" }), "it is A.", "A", 1.0),
            (json!({}), " Paris\n", "Paris", 1.0),
            (json!({}), "paris", "Paris", 0.0),
            (json!({ "ignore_case": true }), "ΠΑΡΙΣΙ ", "παρισι", 1.0),
            (json!({ "ignore_punctuation": true }), "U.S.", "US", 1.0),
            (json!({ "ignore_punctuation": true }), "“US”", "US", 0.0),
        ] {
            let found = card(params.clone(), answer, reference.into()).map(|card| card.primary_score);
            assert_eq!(found, Ok(Some(expected)), "{params} {answer}");
        }
    }

    #[test]
    fn any_reference_is_enough() {
        let references =
            r#"[{"answer":[{"type":"text","text":"Rome"}]},{"answer":[{"type":"text","text":"Paris"}]}]"#;
        for (reference, expected) in [
            (Value::Json(references.to_owned()), 1.0),
            (Value::Texts(vec!["Rome".to_owned(), "Paris".to_owned()]), 1.0),
            (Value::Texts(vec!["Rome".to_owned()]), 0.0),
        ] {
            let found = card(json!({}), "Paris", reference.clone()).map(|card| card.primary_score);
            assert_eq!(found, Ok(Some(expected)), "{reference:?}");
        }
    }

    #[test]
    fn failures_are_explained() {
        let pattern = || json!({ "pattern": "is (.*)" });
        for (answer, reference, tag, why) in [
            ("it is a", "b".into(), "wrong_answer", "'a' does not equal 'b'"),
            ("a", "b".into(), "no_answer", "the pattern finds nothing in 'a'"),
            ("it is a", Value::Absent, "missing_reference", "there is no reference"),
        ] {
            let found = card(pattern(), answer, reference).map(|card| (card.error_tags, card.explain));
            assert_eq!(found, Ok((vec![tag.to_owned()], Some(why.to_owned()))));
        }
        let metric = ExtractedMatch::prepare(pattern());
        let found = metric.and_then(|metric| metric.score(Inputs::new(&[Value::Absent, "b".into()])));
        assert_eq!(found.map(|card| card.error_tags), Ok(vec!["missing_prediction".to_owned()]));
    }

    #[test]
    fn bad_parameters_are_refused() {
        for (params, pointer) in [
            (json!({ "pattern": "(" }), "/pattern"),
            (json!({ "ignore_patterns": ["a", "("] }), "/ignore_patterns"),
        ] {
            let error = ExtractedMatch::prepare(params.clone()).err();
            let found = error.map(|error| (error.kind, error.pointer));
            assert_eq!(found, Some((ErrorKind::InvalidConfig, Some(pointer.to_owned()))), "{params}");
        }
    }
}

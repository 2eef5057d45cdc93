//! `mmmu_accuracy`: tests whether the answer is the right letter, or contains the right text.

use crate::metric::with_references;
use gage_choice_kit::{Choices, boxed, last_letter};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::text::strip_thought_tags;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::references::{aliased, of_label, text, texts};
use gage_text_kit::text::{Normalization, excerpt, quoted};
use gage_text_kit::value::as_text;
use std::borrow::Cow;

const PREDICTION: usize = 0;
const REFERENCE: usize = 1;
const REFERENCES: usize = 2;

const NORMALIZATION: Normalization = Normalization { case_sensitive: false, strip: true, collapse: true };

/// Scores 1 if the answer matches one of the correct answers. Thoughts and case are ignored. A correct answer that is a
/// letter matches if the answer is that letter or names it. The answer names the letter in the last `\boxed{…}` that
/// has one, otherwise the last stand-alone letter. Any other text matches if it occurs anywhere in the answer; a single
/// character only if it is the whole answer. Runs of white space count as one space. The correct answers of an object
/// with a list of `aliases` are its `value` and the aliases. If the Sample has several references, each is a correct
/// answer, unless `label_field` leads to something other than the first.
///
/// Without a correct answer the tag is `missing_reference`, even if the answer is missing too.
///
/// It is looser than `multi_choice_accuracy`, which knows the options, and exists for suites that were scored by its
/// rules.
pub struct MmmuAccuracy;

impl Metric for MmmuAccuracy {
    fn name() -> &'static str {
        "mmmu_accuracy"
    }

    fn spec() -> MetricSpec {
        let description = "Checks that the answer is the correct letter or contains the correct text";
        let spec = MetricSpec::new("4", description).value_name("acc").prediction("prediction_field").input(
            "reference",
            &["label_field"],
            &[
                "sample.choices.0.message.content.0.text",
                "sample.references.0",
                "sample.metadata.correct_choice",
                "sample.label",
            ],
            ValueKind::Any,
        );
        with_references(spec)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| MmmuAccuracy)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let answer = as_text(inputs.value(PREDICTION)).unwrap_or_default();
        let answer = if answer.contains('<') { Cow::Owned(strip_thought_tags(&answer)) } else { answer };
        let prediction = NORMALIZATION.apply(&answer);
        let targets = targets(inputs.value(REFERENCE), inputs.value(REFERENCES));
        let letter = letter(&answer);
        let pass = !prediction.is_empty() && targets.iter().any(|target| is_met(target, &prediction, letter));
        let shown: Vec<_> = targets.iter().take(MAX_SHOWN).map(|target| excerpt(target)).collect();
        let card = ScoreCard::binary(pass).detail(&json!({
            "prediction": excerpt(&prediction),
            "letter": letter,
            "expected": shown,
        }));
        Ok(match () {
            () if pass => card,
            () if targets.is_empty() => card.tag("missing_reference").explain("there is no correct answer"),
            () if prediction.is_empty() => card.tag("missing_prediction").explain("there is no answer"),
            () => {
                let named = letter.map_or_else(|| quoted(&prediction), String::from);
                let right: Vec<String> =
                    targets.iter().take(MAX_QUOTED).map(|target| quoted(target)).collect();
                let right = right.join(", ");
                card.tag("wrong_answer").explain(format!("the answer names {named}; right is {right}"))
            }
        })
    }
}

/// Maximum number of correct answers that a card shows; a list of them may be long.
const MAX_SHOWN: usize = 8;
/// Maximum number of correct answers that an explanation names.
const MAX_QUOTED: usize = 3;

/// Returns the correct answers in comparable form, without empty ones.
fn targets(reference: &Value, references: &Value) -> Vec<String> {
    let accepted: Vec<serde_json::Value> = aliased(reference);
    let spelled = match accepted.is_empty() {
        true => of_label(texts(reference), references),
        false => accepted.iter().filter_map(text).collect(),
    };
    let targets = spelled.iter().map(|target| NORMALIZATION.apply(target).into_owned());
    targets.filter(|target| !target.is_empty()).collect()
}

fn is_met(target: &str, prediction: &str, letter: Option<char>) -> bool {
    if target == prediction {
        return true;
    }
    let mut characters = target.chars();
    match (characters.next(), characters.next()) {
        (Some(single), None) if single.is_alphabetic() => {
            letter.is_some_and(|letter| letter.eq_ignore_ascii_case(&single))
        }
        _ => prediction.contains(target),
    }
}

/// Returns the letter that an answer names, in upper case.
fn letter(answer: &str) -> Option<char> {
    let named = |text: &str| last_letter(text, &Choices::default());
    boxed(answer).and_then(named).or_else(|| named(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        for (answer, expected) in [
            ("B", Some('B')),
            ("b", Some('B')),
            ("The answer is B.", Some('B')),
            ("**B**", Some('B')),
            (r"\boxed{B} because A is wrong", Some('B')),
            (r"\boxed{42}, so C", Some('C')),
            ("<answer> C", Some('C')),
            ("选B", Some('B')),
            ("答案：D", Some('D')),
            ("It is a whale", None),
            ("B, it is a whale", Some('B')),
            ("B. I think", Some('B')),
            ("B. It's clear", Some('B')),
            ("Not C, answer F", Some('F')),
            ("(J)", Some('J')),
            ("A, B", Some('B')),
            ("A is correct", Some('A')),
            ("I", Some('I')),
            ("the answer is f", Some('F')),
            ("AnswerB", Some('B')),
            ("", None),
        ] {
            assert_eq!(letter(answer), expected, "{answer}");
        }
    }

    #[test]
    fn cards() {
        let text = |text: &str| Value::Text(text.to_owned());
        let list = |json: &str| Value::Json(json.to_owned());
        for (prediction, reference, score, tag) in [
            (text("Option C: Dolphin"), text("C"), 1.0, None),
            (text("It is the Blue Whale."), text("blue whale"), 1.0, None),
            (text("whale"), text("blue whale"), 0.0, Some("wrong_answer")),
            (text("b is blue"), text("l"), 0.0, Some("wrong_answer")),
            (text("不是"), text("是"), 0.0, Some("wrong_answer")),
            (text("是"), text("是"), 1.0, None),
            (text("<think>42</think>7"), text("42"), 0.0, Some("wrong_answer")),
            (text("B"), list(r#"[null,"B"]"#), 1.0, None),
            (text("It is Big \n Data."), text("big  data"), 1.0, None),
            (text("answerb"), text("B"), 1.0, None),
            (text("option_c"), list(r#"{"value":"B","aliases":["option_b"]}"#), 0.0, Some("wrong_answer")),
            (text("it is option_b"), list(r#"{"value":"B","aliases":["option_b"]}"#), 1.0, None),
            (text("b"), list(r#"{"value":["B",42],"aliases":["option_b"]}"#), 1.0, None),
            (text("42"), list(r#"{"value":["B",42],"aliases":["option_b"]}"#), 1.0, None),
            // Matches the program by which existing suites were scored.
            (text("Ｂ"), text("B"), 0.0, Some("wrong_answer")),
            (Value::Number(42.0), Value::Number(42.0), 1.0, None),
            (Value::Absent, text("none"), 0.0, Some("missing_prediction")),
            (text(""), text("B"), 0.0, Some("missing_prediction")),
            (text(""), text(""), 0.0, Some("missing_reference")),
            (Value::Absent, Value::Absent, 0.0, Some("missing_reference")),
            (text("B"), Value::Absent, 0.0, Some("missing_reference")),
            (text("B"), list("[]"), 0.0, Some("missing_reference")),
        ] {
            let Ok(card) = MmmuAccuracy.score(Inputs::new(&[prediction, reference])) else {
                panic!("a card is made")
            };
            assert_eq!(card.primary_score, Some(score), "{}", card.detail);
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{}", card.detail);
            assert_eq!(card.explain.is_some(), tag.is_some(), "{}", card.detail);
        }
    }

    #[test]
    fn references_of_a_sample_are_found() {
        let reference = Value::from(json!({ "answer": [{ "type": "text", "text": "B" }] }));
        let several = Value::from(json!([
            { "answer": [{ "type": "text", "text": "B" }] },
            { "answer": [{ "type": "text", "text": "D" }] },
        ]));
        for (answer, references, score) in [
            ("The answer is B.", Value::from("the id"), 1.0),
            ("The answer is D.", Value::from("the id"), 0.0),
            ("The answer is D.", several, 1.0),
        ] {
            let inputs = [Value::from(answer), reference.clone(), references];
            let score_of = MmmuAccuracy.score(Inputs::new(&inputs)).map(|card| card.primary_score);
            assert_eq!(score_of, Ok(Some(score)), "{answer}");
        }
        let spec = MmmuAccuracy::spec();
        let paths = spec.inputs.get(REFERENCE).map(|input| input.default_paths.join(" "));
        let paths = paths.unwrap_or_default();
        let legacy = paths.find("sample.choices.0").zip(paths.find("sample.references.0"));
        assert!(legacy.is_some_and(|(legacy, standard)| legacy < standard), "{paths}");
        assert!(paths.ends_with(" sample.label"), "{paths}");
    }
}

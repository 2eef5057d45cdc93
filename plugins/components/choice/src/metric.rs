//! `multi_choice_accuracy`: tests whether the answer names the right option.

use gage_choice_kit::{Choices, extract, extract_all, is_several, list_of, several};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json::{self, Map};
use gage_sdk::text::strip_thought_tags;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::answer::value_of;
use gage_text_kit::params::flag_schema;
use gage_text_kit::references::{aliased, is_empty};
use gage_text_kit::text::{Normalization, excerpt};
use gage_text_kit::value::as_text;
use std::collections::BTreeSet;

const PREDICTION: usize = 0;
const REFERENCE: usize = 1;
const OPTIONS: usize = 2;
const REFERENCES: usize = 3;

/// Maximum number of labels of several right options that an explanation names.
const MAX_SHOWN: usize = 16;

/// Scores 1 if the answer names the right option. An answer that names none, or several, scores 0, and so does a sample that does
/// not say which option is right.
///
/// If the Sample has several references, each is a correct answer and one of them is enough; an answer that names
/// several options must name no wrong one. References that are not options are skipped, and reported by the tag
/// `unknown_reference`. If the label itself is a list of several options, exactly these must be named. `several`
/// overrides both rules.
///
/// A label may be an object with a `value` and a list of `aliases`. An answer that is one of them is right, unless it
/// is another option.
pub struct MultiChoiceAccuracy {
    allow_text_match: bool,
    several: Option<Several>,
}

/// Requirement if several options are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Several {
    /// At least one of them, and no wrong one.
    Any,
    /// All of them, and no wrong one.
    All,
}

/// Adds the right option as an input, at the paths where Samples store it.
pub(crate) fn with_reference(spec: MetricSpec) -> MetricSpec {
    spec.input(
        "reference",
        &["label_field"],
        &[
            "sample.references.0.answer.0.text",
            "sample.references.0.answer",
            "sample.references.0",
            "sample.metadata.correct_choice",
            "sample.label",
        ],
        ValueKind::Any,
    )
}

/// Adds the options as an input, at the paths where Samples store them.
pub(crate) fn with_options(spec: MetricSpec) -> MetricSpec {
    spec.input(
        "options",
        &["option_map_field"],
        &["sample.metadata.option_map", "sample.options"],
        ValueKind::Any,
    )
}

/// Adds all references of the Sample; the label may be the first.
pub(crate) fn with_references(spec: MetricSpec) -> MetricSpec {
    // Every Sample has an id, which is not a list, so `on_missing_field` does not require references.
    spec.input("references", &["references_field"], &["sample.references", "sample.id"], ValueKind::Any)
}

/// Returns the right options of a Sample with several references, where each reference is one. Empty if there is at most
/// one reference, or if the label differs from the first.
pub(crate) fn alternatives(label: &Value, references: &Value, choices: &Choices) -> Vec<String> {
    if !is_several(references) {
        return Vec::new();
    }
    let Some(references) = several(references).filter(|references| references.len() > 1) else {
        return Vec::new();
    };
    let is_first =
        || references.first().is_some_and(|first| choices.resolve(first) == choices.resolve(label));
    if *label != Value::Absent && !is_first() {
        return Vec::new();
    }
    references.iter().filter_map(|reference| choices.resolve(reference)).collect()
}

/// Returns the texts of references that are not options, if the Sample has several and the options are known.
pub(crate) fn unknown_alternatives(references: &Value, choices: &Choices) -> Vec<String> {
    let known = Some(references).filter(|_| !choices.is_unknown()).and_then(several).unwrap_or_default();
    let unknown = known.iter().filter(|reference| choices.resolve(reference).is_none());
    unknown.filter_map(|reference| as_text(reference).map(|text| excerpt(&text).into_owned())).collect()
}

/// Notes on a card that some references were skipped.
pub(crate) fn with_unknown(card: ScoreCard, unknown: &[String]) -> ScoreCard {
    /// Maximum number of references that are named.
    const MAX_NAMED: usize = 8;
    if unknown.is_empty() {
        return card;
    }
    let named = unknown.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let why = format!("of the references these are no options: {named}");
    let why = card.explain.as_ref().map_or_else(|| why.clone(), |before| format!("{before}; {why}"));
    card.tag("unknown_reference").explain(why)
}

/// Returns whether an answer is the value or an alias of a reference with `aliases`, and not another option.
fn is_alias(answer: &str, reference: &Value, expected: Option<&str>, choices: &Choices) -> bool {
    let accepted = aliased(reference);
    if accepted.is_empty() {
        return false;
    }
    let answer = strip_thought_tags(answer);
    let loose = Normalization { case_sensitive: false, strip: true, collapse: true };
    let is_said = accepted.into_iter().map(value_of).any(|accepted| {
        let accepted = as_text(&accepted).unwrap_or_default();
        !accepted.is_empty() && loose.same(&accepted, &answer)
    });
    is_said && choices.resolve(&Value::Text(answer)).is_none_or(|label| Some(label.as_str()) == expected)
}

/// Describes in one line why an answer is wrong.
fn explained(tag: &str, chosen: &str, expected: &str) -> String {
    match tag {
        "missing_reference" => "there is no reference".to_owned(),
        "unknown_reference" => "the reference is none of the options".to_owned(),
        "missing_prediction" => "there is no answer".to_owned(),
        "no_choice_found" => format!("the answer names no option; right is {expected}"),
        _ => format!("the answer names {chosen}; right is {expected}"),
    }
}

impl Metric for MultiChoiceAccuracy {
    fn name() -> &'static str {
        "multi_choice_accuracy"
    }

    fn spec() -> MetricSpec {
        let spec =
            MetricSpec::new("6", "Checks that the answer names the correct option").value_name("acc").input(
                "prediction",
                &["prediction_field"],
                &["model_output.answer", "sample.predict_result.0.message.content.0.text"],
                ValueKind::Any,
            );
        with_references(with_options(with_reference(spec))).params(json!({
            "allow_text_match": flag_schema(true, "Accept the text of an option as its letter"),
            "several": {
                "enum": ["any", "all", null], "default": null,
                "description": "which of several correct options are required; by default any of the Sample's references, \
                 or all of a label that is a list",
            },
        }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let meanings = [("any", Some(Several::Any)), ("all", Some(Several::All))];
        let several = params.one_of("several", &meanings, None)?;
        Ok(MultiChoiceAccuracy { allow_text_match: params.flag("allow_text_match", true)?, several })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (prediction, reference) = (inputs.value(PREDICTION), inputs.value(REFERENCE));
        let choices = Choices::new(inputs.value(OPTIONS));
        if is_several(reference)
            && let Some(references) = several(reference).filter(|references| references.len() > 1)
        {
            let expected = references.iter().map(|reference| choices.resolve(reference)).collect();
            return Ok(self.score_several(prediction, expected, &choices, Several::All));
        }
        let alternatives = alternatives(reference, inputs.value(REFERENCES), &choices);
        if !alternatives.is_empty() {
            let expected = Some(alternatives.into_iter().collect());
            let card = self.score_several(prediction, expected, &choices, Several::Any);
            return Ok(with_unknown(card, &unknown_alternatives(inputs.value(REFERENCES), &choices)));
        }
        let expected = choices.resolve(reference);
        let chosen = as_text(prediction).and_then(|answer| extract(&answer, &choices, self.allow_text_match));
        let is_alias = as_text(prediction)
            .is_some_and(|answer| is_alias(&answer, reference, expected.as_deref(), &choices));
        let pass = is_alias || (chosen.is_some() && chosen == expected);
        let tag = match (&chosen, &expected) {
            _ if pass => None,
            (_, None) if is_empty(reference) => Some("missing_reference"),
            (_, None) => Some("unknown_reference"),
            (None, _) if *prediction == Value::Absent => Some("missing_prediction"),
            (None, _) => Some("no_choice_found"),
            _ => Some("wrong_answer"),
        };
        let shown = |label: &Option<String>| label.as_deref().map(excerpt).unwrap_or_default().into_owned();
        let why = tag.map(|tag| explained(tag, &shown(&chosen), &shown(&expected)));
        let known = [("prediction", chosen), ("expected", expected)];
        let detail: Map<String, serde_json::Value> = known
            .into_iter()
            .filter_map(|(name, label)| Some((name.to_owned(), serde_json::Value::from(label?))))
            .collect();
        let card = ScoreCard::binary(pass).detail(&serde_json::Value::Object(detail));
        Ok(match (tag, why) {
            (Some(tag), Some(why)) => card.tag(tag).explain(why),
            _ => card,
        })
    }
}

impl MultiChoiceAccuracy {
    /// Scores an answer if several options are right. `expected` is `None` if a reference is not an option. `usual` is
    /// the requirement if the suite sets none.
    fn score_several(
        &self,
        prediction: &Value,
        expected: Option<BTreeSet<String>>,
        choices: &Choices,
        usual: Several,
    ) -> ScoreCard {
        let asked = self.several.unwrap_or(usual);
        let answer = as_text(prediction);
        let by_text = self.allow_text_match;
        // A list in the answer is its answer; letters in its reasoning are not.
        let listed = |answer: &str| {
            list_of(answer, choices, by_text)
                .unwrap_or_else(|| extract(answer, choices, by_text).into_iter().collect())
        };
        let chosen = answer.as_deref().map_or_else(BTreeSet::new, |answer| match asked {
            Several::Any => listed(answer),
            Several::All => extract_all(answer, choices, by_text),
        });
        let pass = expected.as_ref().is_some_and(|expected| match asked {
            Several::Any => !chosen.is_empty() && chosen.is_subset(expected),
            Several::All => *expected == chosen,
        });
        let card = ScoreCard::binary(pass).detail(&json!({ "prediction": chosen, "expected": expected }));
        let shown = |labels: &BTreeSet<String>| {
            labels.iter().take(MAX_SHOWN).map(|label| excerpt(label)).collect::<Vec<_>>().join(", ")
        };
        let right = expected.as_ref().map(shown).unwrap_or_default();
        let failed = |tag: &str| explained(tag, &shown(&chosen), &right);
        let failed = |card: ScoreCard, tag: &str| card.tag(tag).explain(failed(tag));
        match &expected {
            _ if pass => card,
            None => failed(card, "unknown_reference"),
            _ if *prediction == Value::Absent => failed(card, "missing_prediction"),
            _ if chosen.is_empty() => failed(card, "no_choice_found"),
            Some(expected) => {
                let card = failed(card, "wrong_answer");
                let is_met = asked == Several::Any || expected.is_subset(&chosen);
                let card = if is_met { card } else { card.tag("missing_item") };
                if asked == Several::Any || chosen.is_subset(expected) {
                    card
                } else {
                    card.tag("extra_item")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTION_MAP: &str = r#"{"A":"Shark","B":"Dolphin"}"#;

    fn card(params: serde_json::Value, prediction: Value, reference: Value) -> Option<ScoreCard> {
        let inputs = [prediction, reference, Value::Json(OPTION_MAP.to_owned()), Value::Absent];
        MultiChoiceAccuracy::prepare(params).ok()?.score(Inputs::new(&inputs)).ok()
    }

    #[test]
    fn cards() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (prediction, reference, score, tag, detail) in [
            (text("(b)"), text("B"), 1.0, None, r#"{"prediction":"B","expected":"B"}"#),
            (text("B"), text("Dolphin"), 1.0, None, r#"{"prediction":"B","expected":"B"}"#),
            (text("A"), text("B"), 0.0, Some("wrong_answer"), r#"{"prediction":"A","expected":"B"}"#),
            (text("?"), text("B"), 0.0, Some("no_choice_found"), r#"{"expected":"B"}"#),
            (Value::Absent, text("B"), 0.0, Some("missing_prediction"), r#"{"expected":"B"}"#),
            (text("B"), text(""), 0.0, Some("unknown_reference"), r#"{"prediction":"B"}"#),
            (text("?"), Value::Absent, 0.0, Some("missing_reference"), "{}"),
            (Value::Absent, Value::Absent, 0.0, Some("missing_reference"), "{}"),
            (Value::Absent, Value::Json("[]".to_owned()), 0.0, Some("missing_reference"), "{}"),
        ] {
            let Some(card) = card(json!({}), prediction, reference) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(score));
            assert_eq!(card.error_tags.first().map(String::as_str), tag);
            assert_eq!(card.explain.is_some(), tag.is_some(), "{detail}");
            assert_eq!(card.detail, detail);
        }
    }

    #[test]
    fn labels_may_have_aliases() {
        let text = |text: &str| Value::Text(text.to_owned());
        let animals = || Value::Json(OPTION_MAP.to_owned());
        let letter = r#"{"value":"B","aliases":["option_b","flipper"]}"#;
        let word = r#"{"value":"positive","aliases":["vitamin C","up"]}"#;
        for (answer, label, options, score) in [
            ("option_c", letter, Value::Absent, 0.0),
            ("option_b", letter, Value::Absent, 1.0),
            ("OPTION_B", letter, animals(), 1.0),
            ("Dolphin", letter, animals(), 1.0),
            (" Flipper", letter, animals(), 1.0),
            ("<think>A</think>flipper", letter, animals(), 1.0),
            ("Shark", letter, animals(), 0.0),
            ("Vitamin  C", word, Value::Absent, 1.0),
            ("positive", word, Value::Absent, 1.0),
            ("down", word, Value::Absent, 0.0),
            ("shark", r#"{"value":"B","aliases":["shark"]}"#, animals(), 0.0),
        ] {
            let Ok(metric) = MultiChoiceAccuracy::prepare(json!({})) else { panic!("the defaults") };
            let inputs = [text(answer), Value::Json(label.to_owned()), options, Value::Absent];
            let Ok(card) = metric.score(Inputs::new(&inputs)) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(score), "{answer} {label} {}", card.detail);
            assert_eq!(card.error_tags.is_empty(), score == 1.0, "{answer} {label}");
        }
    }

    #[test]
    fn failures_are_explained() {
        let text = |text: &str| Value::Text(text.to_owned());
        let several = || Value::Json(r#"["A","B"]"#.to_owned());
        for (prediction, reference, expected) in [
            (text("B"), text("B"), None),
            (text("A"), text("B"), Some("the answer names A; right is B")),
            (text("?"), text("B"), Some("the answer names no option; right is B")),
            (text("A"), text("Z"), Some("the reference is none of the options")),
            (Value::Absent, text("B"), Some("there is no answer")),
            (text("A"), Value::Absent, Some("there is no reference")),
            (text("A"), several(), Some("the answer names A; right is A, B")),
        ] {
            let explain = card(json!({}), prediction, reference).and_then(|card| card.explain);
            assert_eq!(explain.as_deref(), expected);
        }
    }

    #[test]
    fn several_right_options() {
        let text = |text: &str| Value::Text(text.to_owned());
        let options = || Value::Json(r#"{"A":"Shark","B":"Dolphin","C":"Trout"}"#.to_owned());
        for (answer, reference, score, tags) in [
            (text("C, A"), r#"["A","C"]"#, 1.0, &[][..]),
            (text("AC"), r#"["Shark",{"text":"C"}]"#, 1.0, &[]),
            (Value::Json(r#"["A","C"]"#.to_owned()), r#"["A","C",null]"#, 1.0, &[]),
            (text("AC"), r#"[{"answer":"A"},{"answer":[{"type":"text","text":"C"}]}]"#, 1.0, &[]),
            (text("A"), r#"["A","C"]"#, 0.0, &["wrong_answer", "missing_item"]),
            (text("ABC"), r#"["A","C"]"#, 0.0, &["wrong_answer", "extra_item"]),
            (text("none"), r#"["A","C"]"#, 0.0, &["no_choice_found"]),
            (Value::Absent, r#"["A","C"]"#, 0.0, &["missing_prediction"]),
            (text("A"), r#"["A","X"]"#, 0.0, &["unknown_reference"]),
            (text("(b)"), r#"["B"]"#, 1.0, &[]),
        ] {
            let Ok(metric) = MultiChoiceAccuracy::prepare(json!({})) else { panic!("the defaults") };
            let inputs = [answer, Value::Json(reference.to_owned()), options(), Value::Absent];
            let Ok(card) = metric.score(Inputs::new(&inputs)) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(score), "{reference} {}", card.detail);
            assert_eq!(card.error_tags, tags, "{reference} {}", card.detail);
        }
    }

    #[test]
    fn each_reference_of_a_sample_is_right() {
        let text = |text: &str| Value::Text(text.to_owned());
        let options = || Value::Json(r#"{"A":"Shark","B":"Dolphin","C":"Trout","D":"Octopus"}"#.to_owned());
        let references =
            r#"[{"answer":[{"type":"text","text":"A"}]},{"answer":[{"type":"text","text":"Trout"}]}]"#;
        let (any, all) = (json!({}), json!({ "several": "all" }));
        for (params, answer, label, score, tags) in [
            (&any, text("A"), text("A"), 1.0, &[][..]),
            (&any, text("The answer is (C)."), text("A"), 1.0, &[]),
            (&any, text("Trout"), Value::Absent, 1.0, &[]),
            (&any, text("AC"), text("A"), 1.0, &[]),
            (&any, text("B"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("ABC"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("A, B and C"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("A, B, C, D"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("A, B"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("AB"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("B and A"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("C and D"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("Shark, dolphin"), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("The answer is C or D."), text("A"), 0.0, &["wrong_answer"]),
            (&any, text("The answer is A, C"), text("A"), 1.0, &[]),
            (&any, text("A swims and B does not, so it is C or so. The answer is C"), text("A"), 1.0, &[]),
            (&any, text("none"), text("A"), 0.0, &["no_choice_found"]),
            (&any, Value::Absent, text("A"), 0.0, &["missing_prediction"]),
            // The suite names another field.
            (&any, text("C"), text("B"), 0.0, &["wrong_answer"]),
            (&all, text("A, C"), text("A"), 1.0, &[]),
            (&all, text("C"), text("A"), 0.0, &["wrong_answer", "missing_item"]),
            (&json!({ "several": "any" }), text("C"), Value::Json(r#"["A","C"]"#.to_owned()), 1.0, &[]),
        ] {
            let Ok(metric) = MultiChoiceAccuracy::prepare(params.clone()) else { panic!("sound parameters") };
            let inputs = [answer.clone(), label, options(), Value::Json(references.to_owned())];
            let Ok(card) = metric.score(Inputs::new(&inputs)) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(score), "{params} {answer:?} {}", card.detail);
            assert_eq!(card.error_tags, tags, "{params} {answer:?} {}", card.detail);
        }
        assert!(MultiChoiceAccuracy::prepare(json!({ "several": "most" })).is_err());
        for (answer, score, tags) in
            [("A", 1.0, &["unknown_reference"][..]), ("B", 0.0, &["wrong_answer", "unknown_reference"])]
        {
            let Ok(metric) = MultiChoiceAccuracy::prepare(json!({})) else { panic!("the defaults") };
            let references = Value::Json(r#"["A","Z","no fish"]"#.to_owned());
            let Ok(card) = metric.score(Inputs::new(&[text(answer), text("A"), options(), references]))
            else {
                panic!("a card is made")
            };
            assert_eq!((card.primary_score, card.pass), (Some(score), Some(score == 1.0)), "{answer}");
            assert_eq!(card.error_tags, tags, "{answer}");
            let expected = "of the references these are no options: Z, no fish";
            assert!(card.explain.is_some_and(|explain| explain.ends_with(expected)), "{answer}");
        }
    }

    #[test]
    fn text_match_can_be_turned_off() {
        let params = json!({ "allow_text_match": false });
        let text = |text: &str| Value::Text(text.to_owned());
        let score = card(params, text("Dolphin"), text("B")).and_then(|card| card.primary_score);
        assert_eq!(score, Some(0.0));
        assert!(MultiChoiceAccuracy::prepare(json!({ "allow_text_match": "false" })).is_err());
    }
}

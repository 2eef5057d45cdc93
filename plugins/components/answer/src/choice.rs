//! Choices: answers that are the right label, an alias, or the right option.

use crate::canonical::{is_nothing, member, shown, shown_value, value};
use crate::judged::{Judgement, tagged};
use crate::settings::{Form, Settings};
use gage_choice_kit::{Choices, extract_all};
use gage_reasoning_kit::ids::{items, scalar};
use gage_sdk::ScoreCard;
use gage_sdk::json;
use gage_sdk::serde_json::Value;
use gage_text_kit::answer::value_of;
use gage_text_kit::text::excerpt;
use std::collections::BTreeSet;

/// Maximum number of right labels that a card shows.
const MAX_SHOWN: usize = 16;

/// Scores a choice by an exact match, with the `aliases` of the ground truth and with options. Options that the
/// prediction itself claims to have do not count. If several options are right, all are required.
pub(crate) fn score(
    settings: &Settings,
    prediction: &Value,
    reference: &Value,
    form: Form,
    choices: &Choices,
) -> Judgement {
    let failed =
        |tag, why| Judgement::failed(tag, why, &["exact_match"], shown(prediction), shown(reference));
    let known = |json: &&Value| !is_nothing(json);
    let expected: Vec<&Value> = items(value(reference)).iter().filter(known).collect();
    let aliases = items(member(reference, "aliases")).iter().filter(known);
    let right: Vec<&Value> = expected.iter().copied().chain(aliases).collect();
    if right.is_empty() {
        return failed("missing_reference", "there is no ground truth");
    }
    let predicted = value(prediction);
    if is_nothing(predicted) {
        return failed("missing_prediction", "there is no choice");
    }
    let comparison = Comparison { form, choices };
    if expected.len() > 1 {
        return comparison.several(settings, predicted, &expected);
    }
    if !right.iter().any(|right| scalar(right).is_some()) {
        return failed("invalid_reference", "the ground truth is neither a text, a number nor a boolean");
    }
    match items(predicted) {
        [single] if scalar(single).is_some() => comparison.single(settings, single, &right),
        [_, _, ..] => failed("extra_item", "the answer names several choices where one is right"),
        _ => failed("invalid_format", "the answer is neither a text, a number nor a boolean"),
    }
}

/// Method that compares labels.
struct Comparison<'item> {
    form: Form,
    choices: &'item Choices,
}

impl Comparison<'_> {
    /// Scores an answer that names one choice, given all its aliases.
    fn single(&self, settings: &Settings, predicted: &Value, right: &[&Value]) -> Judgement {
        let text =
            |json: &Value| scalar(json).map(|text| self.form.normalizer().apply(&text)).unwrap_or_default();
        let chosen = self.label(predicted);
        let expected = right.iter().find_map(|right| self.label(right));
        let said = text(predicted);
        let is_right =
            right.iter().any(|right| text(right) == said) || (chosen.is_some() && chosen == expected);
        let score = if is_right { 1.0 } else { 0.0 };
        let prediction = chosen.clone().unwrap_or(said);
        let reference =
            expected.clone().unwrap_or_else(|| right.first().map(|right| text(right)).unwrap_or_default());
        let tag = match (&chosen, &expected) {
            _ if self.choices.is_unknown() => "wrong_answer",
            (_, None) => "unknown_reference",
            (None, _) => "no_choice_found",
            _ => "wrong_answer",
        };
        let why = if is_right { "is right" } else { "is not what was expected" };
        let card = ScoreCard::of(score)
            .pass(settings.passes(score, is_right))
            .sub_score("exact_match", score)
            .explain(format!("{} {why}", excerpt(&prediction)));
        Judgement {
            card: tagged(card, !is_right, tag),
            prediction: shown_value(&prediction),
            reference: shown_value(&reference),
        }
    }

    /// Scores an answer that must name several choices: all of them, and no other.
    fn several(&self, settings: &Settings, predicted: &Value, right: &[&Value]) -> Judgement {
        let expected: BTreeSet<String> = right.iter().filter_map(|right| self.name(right)).collect();
        let chosen: BTreeSet<String> = match predicted {
            Value::String(text) => {
                let found = extract_all(text, self.choices, true);
                if found.is_empty() { self.name(predicted).into_iter().collect() } else { found }
            }
            other => items(other).iter().filter_map(|item| self.name(item)).collect(),
        };
        let is_right = chosen == expected;
        let score = if is_right { 1.0 } else { 0.0 };
        let missing = expected.difference(&chosen).count();
        let extra = chosen.difference(&expected).count();
        let card = ScoreCard::of(score)
            .pass(settings.passes(score, is_right))
            .sub_score("exact_match", score)
            .explain(format!("{missing} of {} choices missing, {extra} too many", expected.len()));
        let card = tagged(card, !is_right, "wrong_answer");
        let card = tagged(card, missing > 0, "missing_item");
        let canonical = |labels: &BTreeSet<String>| {
            let labels: Vec<_> = labels.iter().take(MAX_SHOWN).map(|label| excerpt(label)).collect();
            shown(&json!({ "value": labels }))
        };
        Judgement {
            card: tagged(card, extra > 0, "extra_item"),
            prediction: canonical(&chosen),
            reference: canonical(&expected),
        }
    }

    /// Returns the label of the option that a value means. If the options are unknown, this is a letter in any case;
    /// unnormalized texts have none.
    fn label(&self, json: &Value) -> Option<String> {
        if self.form == Form::None && self.choices.is_unknown() {
            return None;
        }
        self.choices.resolve(&value_of(json.clone()))
    }

    /// Returns the label, or the text of a value that has none; `None` for lists and objects.
    fn name(&self, json: &Value) -> Option<String> {
        let text = scalar(json)?;
        self.label(json).or_else(|| Some(self.form.normalizer().apply(&text)))
    }
}

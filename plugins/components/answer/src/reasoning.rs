//! Arguments: the score of the final answer, and the parts of the expected argument that are present.

use crate::answer_type::AnswerType;
use crate::canonical::{final_answer, member, shown};
use crate::judged::{Judgement, tagged};
use crate::plain;
use crate::settings::Settings;
use gage_choice_kit::Choices;
use gage_reasoning_kit::ids::items;
use gage_reasoning_kit::numbering::{completeness, numbers};
use gage_reasoning_kit::{MatchBy, MatchedSteps, Normalizer, Step, cited, share};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use std::collections::HashSet;

/// Key of a claim's evidence.
const EVIDENCE: &str = "evidence";

/// Scores an argument by its final answer. Its type comes from the expected one, otherwise from the kind; a text with
/// no other indication is a choice. Steps and claims only add sub-scores and tags. Without a threshold, an argument
/// with a tag does not pass.
///
/// # Errors
/// See the type of the final answer.
pub(crate) fn score(
    settings: &Settings,
    kind: Option<AnswerType>,
    prediction: &Value,
    reference: &Value,
    choices: &Choices,
) -> Result<Judgement, PluginError> {
    let (given, expected) = (final_answer(prediction), final_answer(reference));
    let kind = kind.filter(|kind| *kind != AnswerType::Reasoning);
    let final_type = AnswerType::of(expected, kind, choices)?.unwrap_or(AnswerType::Choice);
    let judged = plain::score(settings, final_type, given, expected, choices)?;
    let argument = Argument { prediction, reference, normalizer: settings.form(reference)?.normalizer() };
    let mut card = tagged(judged.card, given.is_null(), "missing_final_answer");
    for (name, figure, tag) in [
        ("claim_coverage", argument.claim_coverage(), "missing_claims"),
        ("evidence_rate", argument.evidence_rate(), "missing_evidence"),
        ("step_completeness", argument.step_completeness(), "missing_steps"),
    ] {
        if let Some(figure) = figure {
            card = tagged(card.sub_score(name, figure), figure < 1.0, tag);
        }
    }
    // A missing part is a fault, although it does not lower the score.
    let (score, is_faultless) = (card.primary_score.unwrap_or_default(), card.error_tags.is_empty());
    let card = card.pass(settings.passes(score, is_faultless));
    let counted = |argument: &Value, answer: Value| {
        json!({
            "final_answer": answer,
            "steps": items(member(argument, "steps")).len(),
            "claims": items(member(argument, "claims")).len(),
        })
    };
    let mut expected = counted(reference, judged.reference);
    if let Some(fields) = expected.as_object_mut() {
        fields.insert("final_answer_type".to_owned(), final_type.name().into());
    }
    Ok(Judgement {
        card,
        prediction: shown(&counted(prediction, judged.prediction)),
        reference: shown(&expected),
    })
}

/// An argument, and the expected one.
struct Argument<'item> {
    prediction: &'item Value,
    reference: &'item Value,
    normalizer: Normalizer,
}

impl Argument<'_> {
    /// Returns the share of expected claims that are made, by their ids if each claim on both sides has one, otherwise
    /// by their texts. `None` if none are expected.
    fn claim_coverage(&self) -> Option<f64> {
        self.matched("claims").map(|found| found.completeness())
    }

    /// Returns the share of claims that cite evidence: a piece that the expected claims name, if they name any. `None`
    /// if there are no claims on either side.
    fn evidence_rate(&self) -> Option<f64> {
        let claims = |json| items(member(json, "claims")).iter().filter(|claim| !claim.is_null());
        let known: HashSet<String> =
            claims(self.reference).flat_map(|claim| cited(claim, EVIDENCE, self.normalizer)).collect();
        let is_cited = |claim: &&Value| {
            let cited = cited(claim, EVIDENCE, self.normalizer);
            if known.is_empty() { !cited.is_empty() } else { cited.iter().any(|id| known.contains(id)) }
        };
        let made = claims(self.prediction).count();
        let is_expected = claims(self.reference).next().is_some();
        (made > 0 || is_expected).then(|| share(claims(self.prediction).filter(is_cited).count(), made))
    }

    /// Returns the share of expected steps that are present, in any order. If none are expected, returns the share of
    /// step numbers up to the largest. `None` if neither exists.
    fn step_completeness(&self) -> Option<f64> {
        self.matched("steps").map(|found| found.completeness()).or_else(|| {
            let steps = Step::read_all(member(self.prediction, "steps"), self.normalizer);
            numbers(&steps).map(|numbers| completeness(&numbers))
        })
    }

    /// Returns the steps or claims that both have; `None` if none are expected.
    fn matched(&self, name: &str) -> Option<MatchedSteps> {
        let read = |json| Step::read_all(member(json, name), self.normalizer);
        let expected = read(self.reference);
        (!expected.is_empty()).then(|| MatchedSteps::new(&read(self.prediction), &expected, MatchBy::Auto))
    }
}

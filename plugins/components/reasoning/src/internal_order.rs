//! Order of steps, checked against their own ids, dependencies and conclusion.

use crate::card::tagged;
use gage_reasoning_kit::numbering::{completeness, numbers};
use gage_reasoning_kit::{Step, mentions, share};
use gage_sdk::{ScoreCard, json};
use std::collections::HashMap;

/// Scores a non-empty list of steps without a reference: the mean of the checks that apply. `conclusion_needs` are the
/// ids that the final answer depends on.
pub(crate) fn score(steps: &[Step], answers: &[String], conclusion_needs: &[String]) -> ScoreCard {
    let numbered = numbers(steps);
    let checks = [
        ("id_order", numbered.as_deref().and_then(id_order), "wrong_order"),
        ("step_completeness", numbered.as_deref().map(completeness), "missing_item"),
        ("dependency_order", dependency_order(steps, conclusion_needs), "broken_dependency"),
        ("conclusion", conclusion(steps, answers), "missing_conclusion"),
    ];
    let known: Vec<(&str, f64, &str)> =
        checks.into_iter().filter_map(|(name, value, tag)| Some((name, value?, tag))).collect();
    let detail = json!({ "against": "itself", "steps": steps.len(), "checks": known.len() });
    if known.is_empty() {
        let why = "the steps have neither numbered ids nor dependencies, and there is no final answer";
        return ScoreCard::none(why).detail(&detail);
    }
    let mean = known.iter().map(|(_, value, _)| value).sum::<f64>() / known.len() as f64;
    let is_sound = known.iter().all(|(_, value, _)| *value == 1.0);
    known.iter().fold(ScoreCard::of(mean).pass(is_sound).detail(&detail), |card, (name, value, tag)| {
        tagged(card.sub_score(name, *value), *value < 1.0, tag)
    })
}

/// Returns the share of neighbours with rising numbers.
fn id_order(numbers: &[u64]) -> Option<f64> {
    let rising = numbers.windows(2).filter(|pair| pair.first() < pair.last()).count();
    (numbers.len() >= 2).then(|| share(rising, numbers.len() - 1))
}

/// Returns the share of dependencies that name an earlier step; for the final answer, every step is earlier.
fn dependency_order(steps: &[Step], conclusion_needs: &[String]) -> Option<f64> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some(id) = &step.id {
            first.entry(id).or_insert(index);
        }
    }
    let (mut all, mut met) = (0, 0);
    let needs = steps.iter().map(|step| step.needs.as_slice()).chain([conclusion_needs]);
    for (index, needs) in needs.enumerate() {
        all += needs.len();
        met +=
            needs.iter().filter(|need| first.get(need.as_str()).is_some_and(|place| *place < index)).count();
    }
    (all > 0).then(|| share(met, all))
}

/// Returns 1 if the last step mentions the final answer, so that the chain ends with it; else 0. `None` without a final
/// answer.
fn conclusion(steps: &[Step], answers: &[String]) -> Option<f64> {
    let last = steps.last().and_then(|step| step.text.as_deref()).unwrap_or_default();
    let is_reached = answers.iter().any(|answer| mentions(last, answer));
    (!answers.is_empty()).then_some(if is_reached { 1.0 } else { 0.0 })
}

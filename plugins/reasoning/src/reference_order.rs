//! Steps held against those of a reference.

use crate::card::{share, tagged};
use crate::sequence::{kendall_tau, longest_increasing};
use crate::step_order::{MatchBy, Step};
use gage_sdk::{ScoreCard, json};
use std::collections::{HashMap, HashSet};

/// Scores the steps of the model against those of the reference, of which there is at least one.
pub(crate) fn score(steps: &[Step], reference: &[Step], match_by: MatchBy) -> ScoreCard {
    let all_have_ids = steps.iter().chain(reference).all(|step| step.id.is_some());
    let by_id = match match_by {
        MatchBy::Auto => all_have_ids,
        MatchBy::Id => true,
        MatchBy::Text => false,
    };
    let key = |step: &'_ Step| if by_id { step.id.clone() } else { step.text.clone() };
    // Each key counts where it comes first; a step without one counts as another, unknown one.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut expected = 0;
    for step in reference {
        match key(step) {
            Some(key) if places.contains_key(&key) => {}
            key => {
                places.extend(key.map(|key| (key, expected)));
                expected += 1;
            }
        }
    }
    let mut given = 0;
    let mut seen = HashSet::new();
    let mut common = Vec::new();
    for step in steps {
        let key = key(step);
        let is_new = key.as_ref().is_none_or(|key| seen.insert(key.clone()));
        given += usize::from(is_new);
        if let Some(place) = key.filter(|_| is_new).and_then(|key| places.get(&key)) {
            common.push(*place);
        }
    }
    let in_order = longest_increasing(&common);
    let is_whole = common.len() == expected;
    let card = ScoreCard::of(share(2 * in_order, given + expected))
        .pass(in_order == given && in_order == expected)
        .sub_score("step_completeness", share(common.len(), expected))
        .sub_score("step_precision", share(common.len(), given));
    let card = match kendall_tau(&common) {
        Some(tau) => card.sub_score("kendall_tau", tau),
        None => card,
    };
    let card = tagged(card, !is_whole, "missing_item");
    let card = tagged(card, common.len() < given, "unexpected_step");
    tagged(card, in_order < common.len(), "wrong_order")
        .explain(format!(
            "{in_order} of {expected} expected steps in order, {} found, {given} given",
            common.len()
        ))
        .detail(&json!({
            "against": "reference",
            "matched_by": if by_id { "id" } else { "text" },
            "given": given,
            "expected": expected,
            "common": common.len(),
            "in_order": in_order,
        }))
}

//! Order of steps, compared with those of a reference.

use crate::card::tagged;
use crate::sequence::kendall_tau;
use gage_list_kit::longest_increasing;
use gage_reasoning_kit::{MatchBy, MatchedSteps, Step, share};
use gage_sdk::{ScoreCard, json};

/// Scores the steps of the model against those of the reference, at least one.
pub(crate) fn score(steps: &[Step], reference: &[Step], match_by: MatchBy) -> ScoreCard {
    let found = MatchedSteps::new(steps, reference, match_by);
    let MatchedSteps { given, expected, ref common, by_id } = found;
    let in_order = longest_increasing(common);
    let is_whole = common.len() == expected;
    let card = ScoreCard::of(share(2 * in_order, given + expected))
        .pass(in_order == given && in_order == expected)
        .sub_score("step_completeness", found.completeness())
        .sub_score("step_precision", found.precision());
    let card = kendall_tau(common).into_iter().fold(card, |card, tau| card.sub_score("kendall_tau", tau));
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

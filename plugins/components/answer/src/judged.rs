//! Results of the scoring strategies.

use gage_sdk::ScoreCard;
use gage_sdk::serde_json::Value;

/// A card without its detail, and both sides in canonical form, as the detail shows them.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// Score, sub-scores, `pass`, tags and explanation.
    pub(crate) card: ScoreCard,
    /// The prediction.
    pub(crate) prediction: Value,
    /// The expected answer.
    pub(crate) reference: Value,
}

impl Judgement {
    /// Scores 0 for a reason, also in each of the given sub-scores: nothing could be compared, so nothing passes.
    pub(crate) fn failed(
        tag: &str,
        why: &str,
        sub_scores: &[&str],
        prediction: Value,
        reference: Value,
    ) -> Judgement {
        let card = ScoreCard::binary(false).tag(tag).explain(why);
        let card = sub_scores.iter().fold(card, |card, name| card.sub_score(name, 0.0));
        Judgement { card, prediction, reference }
    }
}

/// Adds a tag if a condition holds.
pub(crate) fn tagged(card: ScoreCard, holds: bool, tag: &str) -> ScoreCard {
    if holds { card.tag(tag) } else { card }
}

//! Selection among several correct answers.

use gage_sdk::ScoreCard;

/// Returns the best of the cards for several correct answers: the first that passes, otherwise the one with the smallest
/// error (`mae`), otherwise the first whose reference was usable. `None` if there are none.
pub fn best(cards: impl IntoIterator<Item = ScoreCard>) -> Option<ScoreCard> {
    let is_unusable = |card: &ScoreCard| {
        card.error_tags.iter().any(|tag| matches!(tag.as_str(), "invalid_reference" | "missing_reference"))
    };
    let error = |card: &ScoreCard| {
        card.sub_scores.iter().find(|score| score.name == "mae").map_or(f64::INFINITY, |score| score.value)
    };
    let rank = |card: &ScoreCard| (card.pass != Some(true), is_unusable(card), error(card));
    cards.into_iter().min_by(|one, other| {
        let ((failed, unusable, error), other) = (rank(one), rank(other));
        (failed, unusable).cmp(&(other.0, other.1)).then(error.total_cmp(&other.2))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_card_is_the_nearest() {
        let far = || ScoreCard::binary(false).tag("wrong_answer").sub_score("mae", 4.0);
        let near = || ScoreCard::binary(false).tag("wrong_answer").sub_score("mae", 2.0);
        let unusable = || ScoreCard::binary(false).tag("invalid_reference");
        let right = || ScoreCard::binary(true);
        for (cards, expected) in [
            (vec![unusable(), far(), near(), right(), right()], right()),
            (vec![unusable(), far(), near()], near()),
            (vec![unusable(), ScoreCard::binary(false)], ScoreCard::binary(false)),
            (vec![unusable()], unusable()),
        ] {
            assert_eq!(best(cards), Some(expected));
        }
        assert_eq!(best([]), None);
    }
}

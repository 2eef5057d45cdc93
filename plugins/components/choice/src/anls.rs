//! Similarity of an answer and a reference: the similarity that ANLS is the mean of.

use gage_sdk::text::levenshtein_within;

/// Blocks of 64 rows times columns of the table that one item may take: two texts of 16,000
/// characters. More would run out of an item's budget.
const MAX_BLOCKS: usize = 4_000_000;

/// Compares one answer with references, as long as the work of it stays within bounds.
pub(crate) struct Comparer<'answer> {
    answer: &'answer str,
    length: usize,
    blocks_left: usize,
}

/// Comparing the texts would take too long.
#[derive(Debug, PartialEq)]
pub(crate) struct TooLong;

impl<'answer> Comparer<'answer> {
    pub(crate) fn new(answer: &'answer str) -> Comparer<'answer> {
        Comparer { answer, length: length(answer), blocks_left: MAX_BLOCKS }
    }

    /// Returns 1 − d / the longer length, where d is the Levenshtein distance in characters; `None` if
    /// that is below `least`. Two empty texts are equal.
    ///
    /// Source: A. F. Biten et al., "Scene Text Visual Question Answering" (ICCV 2019), equation 1.
    pub(crate) fn similarity(&mut self, reference: &str, least: f64) -> Result<Option<f64>, TooLong> {
        if self.answer == reference {
            return Ok(Some(1.0).filter(|similarity| *similarity >= least));
        }
        let reference_length = length(reference);
        let (longer, shorter) = (self.length.max(reference_length), self.length.min(reference_length));
        let similarity = |distance: usize| 1.0 - distance as f64 / longer as f64;
        let Some(most) = most_edits(longer, least, similarity) else { return Ok(None) };
        if longer - shorter > most {
            return Ok(None);
        }
        let blocks = (shorter / 64 + 1).saturating_mul(longer);
        self.blocks_left = self.blocks_left.checked_sub(blocks).ok_or(TooLong)?;
        Ok(levenshtein_within(self.answer, reference, most).map(similarity))
    }
}

/// Returns the maximum number of edits that leave a similarity of at least `least`; `None` if there is none.
fn most_edits(longer: usize, least: f64, similarity: impl Fn(usize) -> f64) -> Option<usize> {
    // One more than the rounded product, since rounding may have gone either way.
    let estimate = ((1.0 - least) * longer as f64).clamp(-1.0, longer as f64) + 1.0;
    // Not negative, and no larger than a length.
    let mut most = (estimate.max(0.0) as usize).min(longer);
    while similarity(most) < least {
        most = most.checked_sub(1)?;
    }
    Some(most)
}

fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn similarities() {
        for (answer, reference, least, expected) in [
            ("colour", "color", 0.5, Some(1.0 - 1.0 / 6.0)),
            ("ab", "ax", 0.5, Some(0.5)),
            ("ab", "ax", 0.500_001, None),
            ("abc", "xyz", 0.0, Some(0.0)),
            ("abc", "xyz", -1.0, Some(0.0)),
            ("abc", "abc", 1.0, Some(1.0)),
            ("abc", "abc", 1.5, None),
            ("abc", "abd", 1.0, None),
            ("𠮷野家", "吉野家", 0.5, Some(1.0 - 1.0 / 3.0)),
            ("e\u{301}", "\u{e9}", 0.0, Some(0.0)),
        ] {
            let found = Comparer::new(answer).similarity(reference, least);
            assert_eq!(found, Ok(expected), "{answer} {reference} {least}");
        }
    }

    #[test]
    fn the_work_is_bounded() {
        let (long, other) = ("ab".repeat(500_000), "ba".repeat(500_000));
        assert_eq!(Comparer::new(&long).similarity(&other, 0.5), Err(TooLong));
        // Texts that differ much in length, or not at all, cost no work.
        assert_eq!(Comparer::new(&long).similarity("ab", 0.5), Ok(None));
        assert_eq!(Comparer::new(&long).similarity(&long, 0.5), Ok(Some(1.0)));
    }

    proptest! {
        #[test]
        fn the_bound_only_cuts(left in "[ab是]{0,80}", right in "[ab是]{0,80}", least in -0.5..1.5_f64) {
            let exact = Comparer::new(&left).similarity(&right, f64::NEG_INFINITY);
            let cut = Comparer::new(&left).similarity(&right, least);
            prop_assert_eq!(cut, exact.map(|exact| exact.filter(|similarity| *similarity >= least)));
        }

        #[test]
        fn similarity_is_symmetric(left in "\\PC{0,30}", right in "\\PC{0,30}") {
            let there = Comparer::new(&left).similarity(&right, 0.0);
            prop_assert_eq!(&there, &Comparer::new(&right).similarity(&left, 0.0));
            prop_assert!(there.is_ok_and(|there| there.is_some_and(|value| (0.0..=1.0).contains(&value))));
        }
    }
}

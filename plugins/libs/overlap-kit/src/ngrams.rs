//! Counts of the n-grams that two texts share.

use rustc_hash::FxHashMap;

/// Number for an n-gram that the text does not have.
const ABSENT: u32 = u32::MAX;

/// The n-grams of a text, from order 1 up to a largest order.
///
/// The n-grams are nodes of a trie, each identified by its prefix and its last token, so none is ever copied or
/// compared whole. Time and space are linear in tokens times orders.
pub struct Ngrams {
    /// Tokens below this are also the numbers of their n-grams of order 1. If it is not 0, no other tokens exist: the
    /// numbering is dense and needs no lookup.
    dense: u32,
    /// Maps the number of the prefix and the last token to the number of the n-gram.
    nodes: FxHashMap<(u32, u32), u32>,
    /// Number of occurrences of each n-gram in the text.
    counts: Vec<u32>,
    /// Number of distinct n-grams up to the end of each order.
    order_ends: Vec<usize>,
}

/// Number of occurrences of each n-gram of a text in another text, in the order of [`Ngrams::counts`].
#[derive(Default)]
pub struct Occurrences(Vec<u32>);

impl Occurrences {
    /// Keeps the larger number for each n-gram.
    pub fn raise_to(&mut self, other: &Occurrences) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (largest, count) in self.0.iter_mut().zip(&other.0) {
            *largest = (*largest).max(*count);
        }
    }
}

fn count_of(counts: &mut [u32], node: u32) -> Option<&mut u32> {
    counts.get_mut(node as usize)
}

/// Returns the number of n-grams of an order in a text, counting each occurrence.
pub fn total(tokens: usize, order: usize) -> u64 {
    (tokens + 1).saturating_sub(order) as u64
}

/// Returns, for each order up to the largest, the number of n-grams that two texts share. Each counts as often as in
/// the text that has fewer. Only the n-grams of the shorter text are kept.
pub fn common(left: &[u32], right: &[u32], orders: usize) -> Vec<u64> {
    let (shorter, longer) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let ngrams = Ngrams::new(shorter, orders);
    ngrams.matches(&ngrams.occurrences_in(longer)).collect()
}

impl Ngrams {
    /// Counts the n-grams of a text.
    pub fn new(tokens: &[u32], orders: usize) -> Ngrams {
        let most = tokens.iter().copied().max().unwrap_or(ABSENT);
        let dense = if (most as usize) < tokens.len() { most + 1 } else { 0 };
        let hashed = if dense > 0 && orders <= 1 { 0 } else { tokens.len() };
        let mut nodes = FxHashMap::with_capacity_and_hasher(hashed, rustc_hash::FxBuildHasher);
        let mut counts = vec![0; dense as usize];
        let mut order_ends = Vec::with_capacity(orders);
        // Before the first order, every position means the empty n-gram. It has no number of its own in the trie and so
        // cannot be confused with another.
        let mut shorter = vec![ABSENT; tokens.len()];
        for order in 0..orders {
            if order == 0 && dense > 0 {
                shorter.copy_from_slice(tokens);
                for token in tokens {
                    if let Some(count) = count_of(&mut counts, *token) {
                        *count += 1;
                    }
                }
                order_ends.push(counts.len());
                continue;
            }
            for (node, &last) in shorter.iter_mut().zip(tokens.get(order..).unwrap_or_default()) {
                let next = u32::try_from(counts.len()).unwrap_or(ABSENT);
                *node = *nodes.entry((*node, last)).or_insert(next);
                match count_of(&mut counts, *node) {
                    Some(count) => *count += 1,
                    None => counts.push(1),
                }
            }
            order_ends.push(counts.len());
        }
        Ngrams { dense, nodes, counts, order_ends }
    }

    /// Returns the number of occurrences of each n-gram in another text.
    pub fn occurrences_in(&self, tokens: &[u32]) -> Occurrences {
        let mut found = vec![0; self.counts.len()];
        let mut shorter = vec![ABSENT; tokens.len()];
        for order in 0..self.order_ends.len() {
            for (node, &last) in shorter.iter_mut().zip(tokens.get(order..).unwrap_or_default()) {
                // An n-gram is absent if its prefix is absent.
                if order > 0 && *node == ABSENT {
                    continue;
                }
                *node = match order {
                    0 if self.dense > 0 => {
                        if last < self.dense {
                            last
                        } else {
                            ABSENT
                        }
                    }
                    _ => self.nodes.get(&(*node, last)).copied().unwrap_or(ABSENT),
                };
                if let Some(count) = count_of(&mut found, *node) {
                    *count += 1;
                }
            }
        }
        Occurrences(found)
    }

    /// Returns, for each order, the number of n-grams that both texts have, each as often as in the text that has
    /// fewer.
    pub fn matches(&self, occurrences: &Occurrences) -> impl Iterator<Item = u64> {
        let mut start = 0;
        self.order_ends.iter().map(move |&end| {
            let own = self.counts.get(start..end).unwrap_or_default();
            let other = occurrences.0.get(start..end).unwrap_or_default();
            start = end;
            own.iter().zip(other).map(|(own, other)| u64::from(*own.min(other))).sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(prediction: &[u32], reference: &[u32], orders: usize) -> Vec<u64> {
        let ngrams = Ngrams::new(prediction, orders);
        ngrams.matches(&ngrams.occurrences_in(reference)).collect()
    }

    #[test]
    fn matches_are_clipped() {
        for (prediction, reference, expected) in [
            (vec![1, 1, 1], vec![1, 2], vec![1, 0, 0]),
            (vec![1, 2, 3], vec![1, 2, 3], vec![3, 2, 1]),
            (vec![1, 2, 1, 2], vec![2, 1, 2, 1], vec![4, 2, 2]),
            (vec![], vec![1], vec![0, 0, 0]),
            (vec![1], vec![], vec![0, 0, 0]),
            // Numbered without gaps, and like characters.
            (vec![0, 1, 0], vec![0, 1, 0], vec![3, 2, 1]),
            (vec![0, 1, 0], vec![1, 0, 7, u32::MAX], vec![2, 1, 0]),
            (vec![70, 71, 70], vec![71, 70, u32::MAX], vec![2, 1, 0]),
        ] {
            assert_eq!(matches(&prediction, &reference, 3), expected, "{prediction:?} {reference:?}");
        }
        assert_eq!([total(3, 1), total(3, 3), total(3, 4), total(0, 1)], [3, 1, 0, 0]);
    }

    #[test]
    fn the_best_of_several_references_counts() {
        let ngrams = Ngrams::new(&[1, 1, 2], 1);
        let mut most = Occurrences::default();
        for reference in [&[1, 3][..], &[1, 1], &[2]] {
            most.raise_to(&ngrams.occurrences_in(reference));
        }
        assert_eq!(ngrams.matches(&most).collect::<Vec<_>>(), [3]);
    }

    /// Counts by the definition, one by one.
    fn plain(prediction: &[u32], reference: &[u32], order: usize) -> u64 {
        let mut left: Vec<&[u32]> = reference.windows(order).collect();
        let mut matched = 0;
        for ngram in prediction.windows(order) {
            if let Some(place) = left.iter().position(|other| *other == ngram) {
                left.swap_remove(place);
                matched += 1;
            }
        }
        matched
    }

    proptest! {
        #[test]
        fn matches_are_those_of_the_definition(
            prediction in prop::collection::vec(0u32..4, 0..30),
            reference in prop::collection::vec(0u32..4, 0..30),
        ) {
            let found = matches(&prediction, &reference, 4);
            for (order, found) in (1..).zip(found) {
                prop_assert_eq!(found, plain(&prediction, &reference, order));
            }
            prop_assert_eq!(matches(&prediction, &reference, 3), matches(&reference, &prediction, 3));
            prop_assert_eq!(matches(&prediction, &reference, 3), common(&prediction, &reference, 3));
        }
    }
}

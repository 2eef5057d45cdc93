//! Matching of the items of two lists.

use crate::items::Item;
use std::collections::{HashMap, HashSet};

/// Result of comparing two lists.
#[derive(Debug, PartialEq)]
pub struct Matching<'items> {
    /// Number of predicted items. Equal items count once if items are unique.
    pub predicted: usize,
    /// Number of expected items, counted the same way.
    pub expected: usize,
    /// Positions in the reference of the predicted items that are expected, in the order of the prediction.
    pub places: Vec<usize>,
    /// Items of the reference that were not predicted.
    pub missing: Vec<&'items str>,
    /// Predicted items that are not in the reference.
    pub extra: Vec<&'items str>,
}

impl<'items> Matching<'items> {
    /// Matches each predicted item with the first equal reference item that is still free. Takes linear time.
    pub fn new(predicted: &'items [Item], expected: &'items [Item], unique: bool) -> Matching<'items> {
        let (predicted, expected) = (counted(predicted, unique), counted(expected, unique));
        let mut free: HashMap<&str, Vec<usize>> = HashMap::new();
        // From the end, so that the first position is taken first.
        for (place, item) in expected.iter().enumerate().rev() {
            if let Some(key) = &item.key {
                free.entry(key).or_default().push(place);
            }
        }
        let mut is_met = vec![false; expected.len()];
        let mut places = Vec::new();
        let mut extra = Vec::new();
        for item in &predicted {
            match item.key.as_deref().and_then(|key| free.get_mut(key)?.pop()) {
                Some(place) => {
                    places.push(place);
                    if let Some(met) = is_met.get_mut(place) {
                        *met = true;
                    }
                }
                None => extra.push(item.shown.as_str()),
            }
        }
        let missing = expected.iter().zip(is_met).filter(|(_, met)| !met);
        let missing = missing.map(|(item, _)| item.shown.as_str()).collect();
        Matching { predicted: predicted.len(), expected: expected.len(), places, missing, extra }
    }

    /// Returns the share of predicted items that are expected; 1 if both lists are empty.
    pub fn precision(&self) -> f64 {
        self.share(self.predicted)
    }

    /// Returns the share of expected items that are predicted; 1 if both lists are empty.
    pub fn recall(&self) -> f64 {
        self.share(self.expected)
    }

    /// Returns the harmonic mean of precision and recall, 0 instead of a division by zero; 1 if both lists are empty.
    pub fn f1(&self) -> f64 {
        if self.is_empty() {
            return 1.0;
        }
        2.0 * self.places.len() as f64 / (self.predicted + self.expected) as f64
    }

    /// Returns whether there are no missing and no extra items.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.predicted == 0 && self.expected == 0
    }

    fn share(&self, whole: usize) -> f64 {
        match whole {
            0 if self.is_empty() => 1.0,
            0 => 0.0,
            _ => self.places.len() as f64 / whole as f64,
        }
    }

    /// Returns the share of matched items that need not be moved: the longest subsequence in the order of the
    /// reference. 1 if there was nothing to match.
    pub fn order(&self) -> f64 {
        if self.places.is_empty() {
            return if self.is_empty() { 1.0 } else { 0.0 };
        }
        longest_increasing(&self.places) as f64 / self.places.len() as f64
    }
}

/// Returns the length of the longest increasing subsequence, in n log n steps (C. Schensted, "Longest increasing and
/// decreasing subsequences", 1961; M. Fredman, 1975). If the places are positions of one sequence in another, this is
/// their longest common subsequence.
pub fn longest_increasing(places: &[usize]) -> usize {
    // For each length, the smallest last member of an increasing subsequence.
    let mut last: Vec<usize> = Vec::new();
    for &place in places {
        let length = last.partition_point(|&other| other < place);
        match last.get_mut(length) {
            Some(least) => *least = place,
            None => last.push(place),
        }
    }
    last.len()
}

/// Returns the items that count: all of them, or the first of each kind.
fn counted(items: &[Item], unique: bool) -> Vec<&Item> {
    if !unique {
        return items.iter().collect();
    }
    let mut known = HashSet::new();
    items.iter().filter(|item| known.insert(&item.key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(text: &str) -> Vec<Item> {
        let item = |letter: char| Item { key: Some(letter.to_string()), shown: letter.to_string() };
        text.chars().map(item).collect()
    }

    #[test]
    fn matches() {
        for (predicted, expected, unique, places, missing, extra, order) in [
            ("abc", "abc", true, vec![0, 1, 2], "", "", 1.0),
            ("cab", "abc", true, vec![2, 0, 1], "", "", 2.0 / 3.0),
            ("aab", "a", true, vec![0], "", "b", 1.0),
            ("aab", "aa", false, vec![0, 1], "", "b", 1.0),
            ("a", "aa", false, vec![0], "a", "", 1.0),
            ("x", "a", true, vec![], "a", "x", 0.0),
            ("", "a", true, vec![], "a", "", 0.0),
            ("", "", true, vec![], "", "", 1.0),
        ] {
            let (predicted, expected) = (items(predicted), items(expected));
            let found = Matching::new(&predicted, &expected, unique);
            assert_eq!(
                (&found.places, found.missing.concat(), found.extra.concat()),
                (&places, missing.to_owned(), extra.to_owned())
            );
            assert_eq!(found.order(), order);
            assert_eq!(found.is_whole(), missing.is_empty() && extra.is_empty());
        }
        let null = [Item { key: None, shown: "null".to_owned() }];
        assert!(Matching::new(&null, &null, false).places.is_empty());
    }

    proptest! {
        #[test]
        fn each_item_is_matched_or_not(predicted in "[a-e]{0,12}", expected in "[a-e]{0,12}", unique in any::<bool>()) {
            let (predicted, expected) = (items(&predicted), items(&expected));
            let found = Matching::new(&predicted, &expected, unique);
            let back = Matching::new(&expected, &predicted, unique);
            prop_assert_eq!(found.places.len(), back.places.len());
            prop_assert_eq!(found.places.len() + found.extra.len(), found.predicted);
            prop_assert_eq!(found.places.len() + found.missing.len(), found.expected);
            for share in [found.order(), found.precision(), found.recall(), found.f1()] {
                prop_assert!((0.0..=1.0).contains(&share));
            }
            prop_assert_eq!(found.f1() == 1.0, found.is_whole());
        }
    }
}

//! Counts of an unbounded number of names.

use gage_core::OTHER_LABEL;
use std::collections::BTreeMap;

/// Maximum number of distinct names, so that a scorer that makes up names cannot exhaust memory. Further
/// ones are counted as [`OTHER_LABEL`].
pub(super) const MAX_NAMES: usize = 1_000;

/// Counts of names.
#[derive(Debug, Default)]
pub(super) struct NameCounts(BTreeMap<String, u64>);

impl NameCounts {
    pub(super) fn add(&mut self, name: &str) {
        let is_known = self.0.len() < MAX_NAMES || self.0.contains_key(name);
        let name = if is_known { name } else { OTHER_LABEL };
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    /// Returns the names and their counts, the most frequent first, then by name.
    pub(super) fn into_sorted(self) -> Vec<(String, u64)> {
        let mut counts: Vec<(String, u64)> = self.0.into_iter().collect();
        // The sort is stable, so names with equal counts stay sorted.
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}

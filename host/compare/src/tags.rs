//! Counts of the reasons for low scores, in both runs.

use super::result::TagDrift;
use std::collections::HashMap;

/// Most reasons that are told apart; the rest is `(other)`.
const MAX_TAGS: usize = 1_000;

/// Counts of reasons.
#[derive(Debug, Default)]
pub(super) struct TagCounts(HashMap<String, [u64; 3]>);

impl TagCounts {
    /// Reasons of a record of the baseline.
    pub(super) fn add_base(&mut self, tags: &[String]) {
        self.add(tags, 0);
    }

    /// Reasons of a record of the new run.
    pub(super) fn add_new(&mut self, tags: &[String]) {
        self.add(tags, 1);
    }

    /// Reasons of a sample that became worse.
    pub(super) fn add_worse(&mut self, tags: &[String]) {
        self.add(tags, 2);
    }

    fn add(&mut self, tags: &[String], which: usize) {
        for tag in tags {
            let is_known = self.0.len() < MAX_TAGS || self.0.contains_key(tag);
            let tag = if is_known { tag.as_str() } else { gage_figures::OTHER_LABEL };
            if !self.0.contains_key(tag) {
                self.0.insert(tag.to_owned(), [0; 3]);
            }
            if let Some(count) = self.0.get_mut(tag).and_then(|counts| counts.get_mut(which)) {
                *count += 1;
            }
        }
    }

    /// All of them, the largest change first, then by name.
    pub(super) fn drift(&self) -> Vec<TagDrift> {
        let drift = |(tag, [base, new, worse]): (&String, &[u64; 3])| TagDrift {
            tag: tag.clone(),
            base: *base,
            new: *new,
            worse: *worse,
        };
        let mut all: Vec<TagDrift> = self.0.iter().map(drift).collect();
        all.sort_by(|one, two| {
            let change = |drift: &TagDrift| drift.base.abs_diff(drift.new);
            change(two)
                .cmp(&change(one))
                .then_with(|| two.worse.cmp(&one.worse))
                .then_with(|| one.tag.cmp(&two.tag))
        });
        all
    }
}

//! Counts of error tags, the reasons for low scores, in both runs.

use super::result::TagDrift;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Maximum number of distinct tags of a sample, and of a metric; further ones count as `(other)`.
pub(super) const MAX_TAGS: usize = 1_000;

/// Group of samples whose tags are counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum TagGroup {
    Base,
    New,
    /// Samples of the new run that became worse.
    Worse,
}

/// Counts of tags by group.
#[derive(Debug, Default)]
pub(super) struct TagCounts(HashMap<String, [u64; 3]>);

impl TagCounts {
    /// Counts the tags of a sample.
    pub(super) fn add(&mut self, tags: &[String], group: TagGroup) {
        for tag in tags {
            let is_known = self.0.len() < MAX_TAGS || self.0.contains_key(tag);
            let tag = if is_known { tag.as_str() } else { gage_figures::OTHER_LABEL };
            self.0.entry(tag.to_owned()).or_default()[group as usize] += 1;
        }
    }

    /// Returns all tags, the largest change first, then by name.
    pub(super) fn drift(&self) -> Vec<TagDrift> {
        let drift = |(tag, [base, new, worse]): (&String, &[u64; 3])| TagDrift {
            tag: tag.clone(),
            base: *base,
            new: *new,
            worse: *worse,
        };
        let mut all: Vec<TagDrift> = self.0.iter().map(drift).collect();
        all.sort_by_cached_key(|drift| {
            (Reverse(drift.base.abs_diff(drift.new)), Reverse(drift.worse), drift.tag.clone())
        });
        all
    }
}

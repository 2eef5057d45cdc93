//! Score cards.

use crate::{LazyJson, Object, Outcome};
use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// The version of the form of answers and of score cards, which every result names: what a canonical answer
/// and a [`ScoreCard`] are made of. It changes when a reader of the older form would misunderstand the newer one.
pub const RESULT_SCHEMA_VERSION: &str = "v1";

/// What a scorer says about one sample; checked: all numbers are finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreCard {
    /// The figure that counts; absent when there was nothing to score.
    pub primary_score: Option<f64>,
    /// Whether the sample passed, where the scorer draws a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<bool>,
    /// Further figures, by name, in the scorer's order.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub sub_scores: Object,
    /// Why the score is low, as short stable names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_tags: Vec<String>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
    /// The evidence for the score, such as the compared texts: a JSON object, or null if there is none.
    #[serde(default, skip_serializing_if = "LazyJson::is_empty")]
    pub detail: LazyJson,
}

/// What became of one metric for one sample. Its names and versions are short and the same for each, so that they lie in
/// it rather than on the heap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// The metric's id in the suite.
    pub metric_id: CompactString,
    /// The version of the form of the answer and of the card, [`RESULT_SCHEMA_VERSION`].
    pub schema_version: CompactString,
    /// The version of what scored it, which changes whenever a score could.
    pub scorer_version: CompactString,
    /// The version of what wrote the prompts that it rests on, as [`prompt_version`] makes it; empty if nothing writes any.
    #[serde(default, skip_serializing_if = "CompactString::is_empty")]
    pub prompt_version: CompactString,
    /// `scored`, or why there is no score.
    pub outcome: Outcome,
    /// The card, where the scorer gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<ScoreCard>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl MetricResult {
    /// The primary score, where the metric is scored.
    pub fn score(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Scored => self.card.as_ref()?.primary_score,
            _ => None,
        }
    }
}

/// The version of what writes the prompts of a task, each writer given by its name and its digest:
/// `sums@1f2e3d4c5b6a`, of several joined by `+`. Empty where there is none.
pub fn prompt_version<'p>(writers: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let version = |(name, digest): (&str, &str)| {
        let digest = digest.trim_start_matches("sha256:");
        format!("{name}@{}", digest.get(..12).unwrap_or(digest))
    };
    writers.into_iter().map(version).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_all_that_write() {
        let digest = "sha256:1f2e3d4c5b6a7988";
        for (writers, version) in [
            (vec![], ""),
            (vec![("sums", digest)], "sums@1f2e3d4c5b6a"),
            (vec![("sums", digest), ("verdict", "77")], "sums@1f2e3d4c5b6a+verdict@77"),
        ] {
            assert_eq!(prompt_version(writers), version);
        }
    }
}

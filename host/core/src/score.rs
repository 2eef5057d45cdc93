//! Score cards.

use crate::{LazyJson, Object, Outcome};
use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// Version of the format of canonical answers and [`ScoreCard`]s, stored in every result. It changes when a
/// reader of the older format would misunderstand the newer one.
pub const RESULT_SCHEMA_VERSION: &str = "v1";

/// A scorer's result for one sample. All numbers are checked to be finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreCard {
    /// The main score; `None` if there was nothing to score.
    pub primary_score: Option<f64>,
    /// True if the sample passed; `None` if the scorer has no threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<bool>,
    /// Further figures, by name, in the scorer's order.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub sub_scores: Object,
    /// Reasons for a low score, as short stable names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_tags: Vec<String>,
    /// Explanation of the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
    /// The evidence for the score, such as the compared texts: a JSON object, or null if there is none.
    #[serde(default, skip_serializing_if = "LazyJson::is_empty")]
    pub detail: LazyJson,
}

/// Result of one metric for one sample. Its names and versions are short and repeat, so they are stored
/// inline rather than on the heap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// The metric's id in the suite.
    pub metric_id: CompactString,
    /// Version of the answer and card format, [`RESULT_SCHEMA_VERSION`].
    #[serde(default)]
    pub schema_version: CompactString,
    /// Version of the scorer, which changes whenever a score could.
    #[serde(default)]
    pub scorer_version: CompactString,
    /// Version of the prompt-building code that the result depends on, from [`prompt_version`]; empty if
    /// there is none.
    #[serde(default, skip_serializing_if = "CompactString::is_empty")]
    pub prompt_version: CompactString,
    /// `scored`, or the reason why there is no score.
    pub outcome: Outcome,
    /// The score card, if the scorer returned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<ScoreCard>,
    /// Description of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl MetricResult {
    /// Returns the primary score, if the metric is scored.
    pub fn score(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Scored => self.card.as_ref()?.primary_score,
            _ => None,
        }
    }
}

/// Formats the versions of the writers of a task's prompts, given by name and digest: `sums@1f2e3d4c5b6a`,
/// joined by `+`. Empty if there are no writers.
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

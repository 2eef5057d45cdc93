//! What scorers say.

use crate::{Object, Outcome};
use serde::{Deserialize, Serialize};

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
    /// What the scorer saw.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub detail: Object,
}

/// What became of one metric for one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// The metric's id in the suite.
    pub metric_id: String,
    /// The version of what scored it, which changes whenever a score could; empty in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scorer_version: String,
    /// The version of the prompts that it rests on, as [`prompt_version`] makes it; empty where the task has none, and in
    /// older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt_version: String,
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

/// The version of all prompts of a task, each given by its id and its digest: `sums@1f2e3d4c5b6a`, of several joined by
/// `+`. Empty where there is none.
pub fn prompt_version<'p>(prompts: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let version = |(prompt_id, digest): (&str, &str)| {
        let digest = digest.trim_start_matches("sha256:");
        format!("{prompt_id}@{}", digest.get(..12).unwrap_or(digest))
    };
    prompts.into_iter().map(version).collect::<Vec<_>>().join("+")
}

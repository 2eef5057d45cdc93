//! Which paths samples have, to name the nearest where one of the suite leads nowhere.

use gage_core::Roots;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// A path of the suite at which no sample has a value: mistyped, most likely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfoundPath {
    /// The key that holds it: `slices`, `cluster_by`, or that of a metric, `exact_match.label_field`.
    pub key: String,
    /// The path.
    pub path: String,
    /// The nearest of the paths that samples have, where one is near.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl std::fmt::Display for UnfoundPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnfoundPath { key, path, nearest } = self;
        write!(formatter, "no sample has a value at `{path}` ({key}); figures are made without it")?;
        match nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// So many samples are looked at, and so many paths kept: samples of one dataset are alike.
const MOST_SAMPLES: u32 = 8;
const MOST_PATHS: usize = 500;
/// Keys below keys, `metadata.source.page`, no further.
const DEEPEST: usize = 3;

/// The paths of the first samples, as a suite writes them.
#[derive(Debug, Default)]
pub(crate) struct KnownPaths {
    paths: BTreeSet<String>,
    samples: u32,
}

impl KnownPaths {
    pub(crate) fn add(&mut self, roots: Roots<'_>) {
        if self.samples == MOST_SAMPLES {
            return;
        }
        self.samples += 1;
        self.add_below("", roots.sample, DEEPEST);
        self.add_below("model_output.", roots.model_output, DEEPEST - 1);
        self.add_below("judge_output.", roots.judge_output, DEEPEST - 1);
        self.add_below("support_output.", roots.support_output, DEEPEST - 1);
    }

    fn add_below(&mut self, prefix: &str, value: &Value, depth: usize) {
        for (key, value) in value.as_object().into_iter().flatten() {
            if self.paths.len() == MOST_PATHS {
                return;
            }
            let path = format!("{prefix}{key}");
            if depth > 1 {
                self.add_below(&format!("{path}."), value, depth - 1);
            }
            self.paths.insert(path);
        }
    }

    /// The path that is meant, most likely: one that ends in the same key, otherwise one that is spelled alike.
    pub(crate) fn nearest(&self, path: &str) -> Option<&str> {
        let path = path.strip_prefix("sample.").unwrap_or(path);
        let last = |path: &str| path.rsplit('.').next().map(str::to_owned);
        let mut same_key = self.paths.iter().filter(|known| last(known) == last(path));
        let known = || self.paths.iter().map(String::as_str);
        same_key.next().map(String::as_str).or_else(|| gage_core::nearest(path, known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_nearest_path_is_named() {
        let sample =
            json!({"id": "q", "data_tag": "art", "metadata": {"subject": "law", "source": {"page": 3}}});
        let nothing = Value::Null;
        let mut known = KnownPaths::default();
        known.add(Roots {
            sample: &sample,
            model_output: &json!({"finish_reason": "stop"}),
            judge_output: &nothing,
            support_output: &nothing,
        });
        for (typed, nearest) in [
            ("metadata.subjct", Some("metadata.subject")),
            ("sample.metadata.subjct", Some("metadata.subject")),
            ("subject", Some("metadata.subject")),
            ("metadata.page", Some("metadata.source.page")),
            ("data_tags", Some("data_tag")),
            ("model_output.finish_resaon", Some("model_output.finish_reason")),
            ("colour", None),
        ] {
            assert_eq!(known.nearest(typed), nearest, "{typed}");
        }
    }
}

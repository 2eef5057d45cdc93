//! Known paths of samples, for suggesting the nearest one if a path of the suite is not found.

use gage_core::{EvalContext, distance};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};

/// A path of the suite at which no sample has a value: most likely a typo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfoundPath {
    /// The key that holds it: `slices`, `cluster_by`, or a metric's parameter such as `exact_match.label_field`.
    pub key: String,
    /// The path.
    pub path: String,
    /// The nearest known path of samples, if one is close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// True if samples have the path, but with null or an empty value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_empty: bool,
}

impl UnfoundPath {
    /// Returns whether a metric was to read its scores' input there, and no sample has such a path. The run then has no
    /// valid figure of that metric.
    pub fn is_of_metric(&self) -> bool {
        !self.is_empty && self.key != "slices" && self.key != "cluster_by"
    }
}

impl std::fmt::Display for UnfoundPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnfoundPath { key, path, nearest, is_empty } = self;
        if *is_empty {
            return write!(
                formatter,
                "no sample has a value at `{path}` ({key}): it is always null or empty; figures are made \
                 without it"
            );
        }
        write!(formatter, "no sample has a value at `{path}` ({key})")?;
        formatter.write_str(match self.is_of_metric() {
            true => ", so this metric has no valid figure",
            false => "; figures are made without it",
        })?;
        match nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// Maximum numbers of samples examined and of paths kept, a sample's shortest paths first. Samples of one dataset are
/// alike, so a few are enough.
const MAX_SAMPLES: u32 = 8;
const MAX_PATHS: usize = 500;
/// Maximum nesting depth of a path: `choices.0.message.content.0.text`.
const MAX_DEPTH: usize = 6;

/// Costs of a segment that only one of two paths has, and of a different index into a list.
const EXTRA: usize = 1_000;
const OTHER_PLACE: usize = 100;

/// The paths of the first samples, as written in a suite.
#[derive(Debug, Default)]
pub(crate) struct KnownPaths {
    paths: BTreeSet<String>,
    samples: u32,
}

impl KnownPaths {
    pub(crate) fn add(&mut self, roots: EvalContext<'_>) {
        if self.samples == MAX_SAMPLES {
            return;
        }
        self.samples += 1;
        let (sample, model_output) = (roots.sample.value(), roots.model_output.value());
        let mut waiting: VecDeque<(String, &Value, usize)> = VecDeque::from([
            (String::new(), sample.as_ref(), 0),
            ("model_output.".to_owned(), model_output.as_ref(), 1),
            ("judge_output.".to_owned(), roots.judge_output, 1),
            ("support_output.".to_owned(), roots.support_output, 1),
        ]);
        while let Some((prefix, value, depth)) = waiting.pop_front() {
            let mut add = |key: &str, value| {
                if self.paths.len() < MAX_PATHS {
                    let path = format!("{prefix}{key}");
                    if depth + 1 < MAX_DEPTH {
                        waiting.push_back((format!("{path}."), value, depth + 1));
                    }
                    self.paths.insert(path);
                }
            };
            match value {
                Value::Object(members) => members.iter().for_each(|(key, value)| add(key, value)),
                // The items of a list are alike.
                Value::Array(items) => items.first().into_iter().for_each(|first| add("0", first)),
                _ => {}
            }
        }
    }

    /// Returns whether samples have a path, regardless of its value.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path.strip_prefix("sample.").unwrap_or(path))
    }

    /// Returns the path that was most likely intended. Paths are compared segment by segment, and their last segments must
    /// be spelled similarly. A path with the same last segment is always preferred.
    pub(crate) fn nearest(&self, path: &str) -> Option<&str> {
        let path = path.strip_prefix("sample.").unwrap_or(path);
        // The older program wrote answers into the Sample.
        if path.starts_with("predict_result") {
            return Some("model_output.answer");
        }
        let typed: Vec<&str> = path.split('.').collect();
        let cost = |known: &str| {
            let known: Vec<&str> = known.split('.').collect();
            let (typed_last, typed) = typed.split_last()?;
            let (known_last, known) = known.split_last()?;
            let of_last = cost_of_segment(typed_last, known_last)?;
            Some((of_last > 0, of_last + cost_of_segments(typed, known)))
        };
        let costs = self.paths.iter().filter_map(|known| Some((cost(known)?, known)));
        costs.min_by_key(|(cost, _)| *cost).map(|(_, known)| known.as_str())
    }
}

/// Returns the distance between two similarly spelled segments, in thousandths of their length; otherwise `None`.
fn cost_of_segment(typed: &str, known: &str) -> Option<usize> {
    let is_place = |segment: &str| segment.bytes().all(|byte| byte.is_ascii_digit());
    if typed == known {
        Some(0)
    } else if is_place(typed) && is_place(known) {
        Some(OTHER_PLACE)
    } else {
        let length = typed.chars().count().max(known.chars().count()).max(1);
        // At least 1, even if only the case differs, because keys are case-sensitive.
        let found = distance(typed, known).filter(|distance| distance * 2 <= length);
        found.map(|distance| (distance * EXTRA / length).max(1))
    }
}

/// Returns the lowest cost of turning one list of segments into the other, by respelling, adding or removing segments.
fn cost_of_segments(typed: &[&str], known: &[&str]) -> usize {
    let mut row: Vec<usize> = (0..=known.len()).map(|place| place * EXTRA).collect();
    for typed in typed {
        let mut corner = row[0];
        row[0] += EXTRA;
        for (place, known) in known.iter().enumerate() {
            let same = cost_of_segment(typed, known).map_or(usize::MAX, |cost| corner + cost);
            corner = row[place + 1];
            row[place + 1] = same.min(row[place] + EXTRA).min(corner + EXTRA);
        }
    }
    row[known.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_nearest_path_is_named() {
        let sample = json!({
            "id": "q", "data_tag": "art", "label": "A", "references": [{"answer": [{"text": "A"}]}],
            "metadata": {"subject": "law", "source": {"page": 3}},
        });
        let judges = json!({"kind": {"score": 1.0}, "strict": {"score": 0.0, "verdict": "B"}});
        let mut known = KnownPaths::default();
        known.add(EvalContext {
            sample: (&sample).into(),
            model_output: (&json!({"finish_reason": "stop"})).into(),
            judge_output: &json!({"score": 0.5, "judges": judges}),
            support_output: &Value::Null,
        });
        for (typed, nearest) in [
            ("metadata.subjct", Some("metadata.subject")),
            ("sample.metadata.subjct", Some("metadata.subject")),
            ("subject", Some("metadata.subject")),
            ("metadata.page", Some("metadata.source.page")),
            ("metadata.labl", Some("label")),
            ("data_tags", Some("data_tag")),
            ("Data_Tag", Some("data_tag")),
            ("references.0.anser", Some("references.0.answer")),
            ("references.1.answer", Some("references.0.answer")),
            ("reference.0.answer.0.txt", Some("references.0.answer.0.text")),
            ("model_output.finish_resaon", Some("model_output.finish_reason")),
            ("judge_output.judges.strict.scor", Some("judge_output.judges.strict.score")),
            ("judge_output.judges.strikt.score", Some("judge_output.judges.strict.score")),
            ("judge_output.strict.verdict", Some("judge_output.judges.strict.verdict")),
            ("judge_output.scores", Some("judge_output.score")),
            ("colour", None),
            ("metadata.colour", None),
        ] {
            assert_eq!(known.nearest(typed), nearest, "{typed}");
        }
    }

    #[test]
    fn a_nearer_key_is_preferred() {
        let sample = json!({"label": "A", "metadata": {"label": "B", "level": 1}});
        let mut known = KnownPaths::default();
        let nothing = &Value::Null;
        known.add(EvalContext {
            sample: (&sample).into(),
            model_output: nothing.into(),
            judge_output: nothing,
            support_output: nothing,
        });
        assert_eq!(known.nearest("metadata.labl"), Some("metadata.label"));
        assert_eq!(known.nearest("labl"), Some("label"));
    }

    #[test]
    fn a_sample_of_many_keys_keeps_the_short_paths() {
        let many: serde_json::Map<String, Value> =
            (0..MAX_PATHS).map(|number| (format!("key{number}"), json!(1))).collect();
        let mut known = KnownPaths::default();
        known.add(EvalContext {
            sample: (&json!({"a": {"b": many}, "label": "A"})).into(),
            model_output: (&json!({"answer": "A"})).into(),
            judge_output: &Value::Null,
            support_output: &Value::Null,
        });
        assert_eq!(known.paths.len(), MAX_PATHS);
        assert_eq!(known.nearest("model_output.anser"), Some("model_output.answer"));
        assert_eq!(known.nearest("labl"), Some("label"));
    }
}

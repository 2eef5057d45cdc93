//! Means of the scores of a log, and notes about figures of Inspect that differ from them.

use super::{LogHead, part_of};
use crate::note::Notes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Largest difference between equal figures, relative to the larger one.
const MAX_DIFFERENCE: f64 = 1e-6;
/// Metrics of Inspect that are means of scores.
const MEANS: [&str; 2] = ["accuracy", "mean"];
/// The reducer of Inspect that takes the mean of the epochs of a sample.
const MEAN_REDUCER: &str = "mean";

/// Sums of the scores of a log.
#[derive(Debug, Default)]
pub(super) struct ScoreSums {
    /// The sums, by the name of the score and the id of the sample.
    by_score: BTreeMap<String, BTreeMap<String, Sum>>,
}

/// The sum of the scores of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    total: f64,
    count: usize,
}

impl Sum {
    fn mean(&self) -> f64 {
        self.total / self.count as f64
    }
}

/// Means of the scores of a name.
struct Means {
    /// The mean of all epochs of all samples.
    of_epochs: f64,
    /// The mean of the means of samples.
    of_samples: f64,
}

impl ScoreSums {
    /// Adds the scores of a sample in one epoch.
    pub(super) fn add(&mut self, id: &str, scores: &Map<String, Value>) {
        for (name, score) in scores {
            let Some(score) = score.as_f64() else { continue };
            let sum = self.by_score.entry(name.clone()).or_default().entry(id.to_owned()).or_default();
            sum.total += score;
            sum.count += 1;
        }
    }

    /// Returns the means by the name of the score.
    fn means(&self) -> impl Iterator<Item = (&str, Means)> {
        self.by_score.iter().map(|(name, samples)| {
            let mut all = Sum::default();
            let mut of_samples = Sum::default();
            for sum in samples.values() {
                all.total += sum.total;
                all.count += sum.count;
                of_samples.total += sum.mean();
                of_samples.count += 1;
            }
            (name.as_str(), Means { of_epochs: all.mean(), of_samples: of_samples.mean() })
        })
    }

    /// Adds notes about figures of the log that are not the mean of its scores.
    pub(super) fn add_notes(
        &self,
        head: &LogHead,
        has_epochs: bool,
        notes: &mut Notes,
        comments: &mut Vec<String>,
    ) {
        let reducers = if has_epochs { other_reducers(head) } else { Vec::new() };
        for reducer in &reducers {
            let message = format!(
                "Inspect reduces the epochs of a sample by `{reducer}`; here a figure is the mean of all epochs"
            );
            notes.changed("eval.config.epochs_reducer".to_owned(), message, comments);
        }
        for (score, Means { of_epochs, of_samples }) in self.means() {
            let is_weighted = reducers.is_empty() && differ(of_epochs, of_samples);
            if is_weighted {
                let message = format!(
                    "`{score}`: samples have different numbers of scored epochs; in Inspect each sample counts once \
                     ({of_samples:.4}), here each epoch ({of_epochs:.4})"
                );
                notes.changed(format!("samples.scores.{score}"), message, comments);
            }
            for Figure { metric, reducer, value } in figures_of(head, score) {
                let is_explained = is_weighted && !differ(value, of_samples);
                if differ(value, of_epochs) && !is_explained {
                    let reducer = reducer.map(|reducer| format!(" by `{reducer}`")).unwrap_or_default();
                    let message = format!(
                        "`{score}`: {metric}{reducer} is {value:.4} in the log; the mean of its scores is {of_epochs:.4}"
                    );
                    notes.changed(format!("results.scores.{score}"), message, comments);
                }
            }
        }
    }
}

/// A figure of a log.
struct Figure<'h> {
    metric: &'h str,
    /// The reducer of epochs, if it does not take the mean.
    reducer: Option<&'h str>,
    value: f64,
}

/// Returns the reducer of an entry of the results. `None` if it takes the mean.
pub(super) fn other_reducer(entry: &Value) -> Option<&str> {
    entry["reducer"].as_str().filter(|reducer| *reducer != MEAN_REDUCER)
}

/// Returns true if figures are not equal.
fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > MAX_DIFFERENCE * one.abs().max(other.abs())
}

/// Returns the reducers of a log that do not take the mean.
fn other_reducers(head: &LogHead) -> Vec<&str> {
    let names: Vec<&str> = match head.eval.get("config").map(|config| &config["epochs_reducer"]) {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name.as_str()],
        _ => Vec::new(),
    };
    names.into_iter().filter(|name| *name != MEAN_REDUCER).collect()
}

/// Returns the figures of a score in the log that are means in Inspect.
fn figures_of<'h>(head: &'h LogHead, score: &str) -> Vec<Figure<'h>> {
    let mut figures = Vec::new();
    let entries = head.results.as_ref().and_then(|results| results["scores"].as_array());
    for entry in entries.into_iter().flatten() {
        let (name, scorer) = (entry["name"].as_str().unwrap_or_default(), entry["scorer"].as_str());
        // Of a score with several values, the entry has the name of the value.
        let whole = match scorer {
            Some(scorer) if scorer != name => part_of(&format!("{scorer}-{name}")),
            _ => part_of(name),
        };
        if whole != score {
            continue;
        }
        for (metric, found) in entry["metrics"].as_object().into_iter().flatten() {
            if let Some(value) = found["value"].as_f64().filter(|_| MEANS.contains(&metric.as_str())) {
                figures.push(Figure { metric: metric.as_str(), reducer: other_reducer(entry), value });
            }
        }
    }
    figures
}

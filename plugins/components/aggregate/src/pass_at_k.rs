//! `pass_at_k`: rows of the same sample are attempts at it.

use gage_score_kit::{Repeats, Sum, estimator};
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Probability that at least one of k attempts at a sample passes (`pass@k`, Chen et al. 2021), and that all do
/// (`pass_all@k`: pass^k of Yao et al. 2024). Uses the unbiased estimators, averaged over samples.
///
/// Rows with the same sample id are attempts at it, in any order; a card with neither `pass` nor a score does not
/// count. An attempt passes if the card says so, or, without `pass`, if its score is at least `threshold`, default 1.
/// Each sample counts once, regardless of its weight.
///
/// `k` is an integer or a list, default 1. A sample with fewer than k attempts is left out of the figures for that k;
/// their count is the number of included samples. The standard error is that of the mean over samples, given for two or
/// more.
///
/// The state takes the length of the id and some 10 bytes per sample; 1 MiB is enough for about 40 000 samples.
pub struct PassAtK {
    repeats: Repeats,
}

/// Attempts and passes by sample id.
#[derive(Default, Serialize, Deserialize)]
pub struct PassAtKState(BTreeMap<String, (u64, u64)>);

impl Aggregator for PassAtK {
    type State = PassAtKState;

    fn name() -> &'static str {
        "pass_at_k"
    }

    fn spec() -> MemberSpec {
        MemberSpec::new("1", "Probability that at least one, or all, of k attempts pass", Repeats::schema())
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Ok(PassAtK { repeats: Repeats::new(&params)? })
    }

    fn add(&self, state: &mut PassAtKState, row: Row) -> Result<(), PluginError> {
        let by_score = || row.card.primary_score.map(|score| score >= self.repeats.threshold);
        if let Some(pass) = row.card.pass.or_else(by_score) {
            let (attempts, passes) = state.0.entry(row.sample_id).or_default();
            *attempts += 1;
            *passes += u64::from(pass);
        }
        Ok(())
    }

    fn finish(&self, PassAtKState(samples): PassAtKState) -> Result<Vec<Figure>, PluginError> {
        type Estimator = fn(u64, u64, u64) -> Option<f64>;
        let estimators: [(&str, Estimator); 2] =
            [("pass", estimator::at_least_one), ("pass_all", estimator::all)];
        let mut figures = Vec::new();
        for k in &self.repeats.ks {
            for (name, estimate) in estimators {
                let known =
                    samples.values().filter_map(|(attempts, passes)| estimate(*attempts, *passes, *k));
                figures.extend(mean(format!("{name}@{k}"), &known.collect::<Vec<f64>>()));
            }
        }
        Ok(figures)
    }
}

/// Returns the mean with its standard error; `None` without values.
pub(crate) fn mean(name: String, values: &[f64]) -> Option<Figure> {
    let count = values.len() as f64;
    let mean = values.iter().copied().collect::<Sum>().value() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).collect::<Sum>().value();
    let stderr = (values.len() >= 2).then(|| (squares / (count - 1.0) / count).sqrt());
    (!values.is_empty()).then_some(Figure { name, value: mean, stderr, count: values.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, figures, row, value};
    use gage_sdk::{ScoreCard, json};

    /// Two of four attempts at a, one of two at b, in turn: by hand, 1 − C(2, 2)/C(4, 2) = 5/6 and 1
    /// for pass@2, 1/6 and 0 for all of two.
    #[test]
    fn attempts_are_counted_by_sample() {
        let rows = [("a", true), ("b", false), ("a", false), ("a", true), ("b", true), ("a", false)]
            .map(|(id, pass)| row(id, ScoreCard::binary(pass)))
            .to_vec();
        let Ok(found) = figures::<PassAtK>(json!({ "k": [1, 2, 3, 9] }), rows) else {
            panic!("rows are taken in")
        };
        let names: Vec<&str> = found.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["pass@1", "pass_all@1", "pass@2", "pass_all@2", "pass@3", "pass_all@3"]);
        assert_near(&found, "pass@1", 0.5, 1e-12);
        assert_near(&found, "pass@2", (5.0 / 6.0 + 1.0) / 2.0, 1e-12);
        assert_near(&found, "pass_all@2", 1.0 / 12.0, 1e-12);
        assert_near(&found, "pass@3", 1.0, 1e-12);
        assert_eq!(found.iter().map(|figure| figure.count).collect::<Vec<_>>(), [2, 2, 2, 2, 1, 1]);
        assert_eq!(found.first().map(|figure| figure.stderr), Some(Some(0.0)));
        assert_eq!(found.last().map(|figure| figure.stderr), Some(None));
    }

    #[test]
    fn scores_and_what_is_not_known() {
        let rows = vec![
            row("a", ScoreCard::of(0.8)),
            row("a", ScoreCard::none("the judge said nothing")),
            row("b", ScoreCard::of(0.2)),
        ];
        let Ok(found) = figures::<PassAtK>(json!({ "threshold": 0.5 }), rows) else {
            panic!("rows are taken in")
        };
        assert_near(&found, "pass@1", 0.5, 1e-12);
        // Scores 1 and 0: a standard deviation of √½ over two samples.
        assert_eq!(found.first().and_then(|figure| figure.stderr), Some(0.5));
        assert_eq!(value(&found, "pass@2"), None);
        assert_eq!(figures::<PassAtK>(json!({}), Vec::new()), Ok(Vec::new()));
        assert!(PassAtK::prepare(json!({ "k": [0] })).is_err());
    }
}

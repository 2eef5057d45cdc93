//! The figure of one metric of one task.

use crate::statistics::{Interval, Spread, normal_interval, wilson_interval};
use crate::{Accumulator, Aggregation, MetricDescription};
use gage_core::{MetricResult, Outcome, OutcomeCounts, ScoreCard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most different sub-scores and most different error tags of a metric, so that a scorer that
/// makes up names cannot fill the memory. Further sub-scores are left to `samples.jsonl`,
/// further tags are counted as [`OTHER_TAGS`].
const MOST_NAMES: usize = 1_000;

/// The tag under which those beyond [`MOST_NAMES`] are counted.
const OTHER_TAGS: &str = "(other)";

/// A metric's result over a task. Only results that are scored and hold a primary score enter
/// the value, the error and the sub-scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFigure {
    /// The task.
    pub task_id: String,
    /// The metric's id in the suite.
    pub metric_id: String,
    /// What computed it.
    pub implementation: String,
    /// Version of the scoring.
    pub scorer_version: String,
    /// How the scores became one value.
    pub aggregation: Aggregation,
    /// The name of the primary score.
    pub value_name: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// The value; null when nothing was scored, and for `identity`.
    pub value: Option<f64>,
    /// How many samples were scored.
    pub n: u64,
    /// How many samples there are.
    pub total: u64,
    /// `n / total`; 0 when there are none.
    pub coverage: f64,
    /// The standard error of the mean; null for other aggregations and for fewer than two scores.
    pub stderr: Option<f64>,
    /// The confidence interval of the mean; null for other aggregations, and where it is unknown.
    pub interval: Option<Interval>,
    /// Further figures, by name.
    pub sub_scores: Vec<SubFigure>,
    /// Why scores are low, the most frequent reason first.
    pub error_tags: Vec<TagCount>,
    /// How the metric ended, over all samples. A sample that never came to the metric counts by
    /// its own end; a result without a primary score counts as skipped.
    pub outcomes: BTreeMap<Outcome, u64>,
}

/// A further figure of a metric, aggregated as its primary score is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubFigure {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<f64>,
    /// How many samples have it.
    pub n: u64,
}

/// How often a reason was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCount {
    /// The reason.
    pub tag: String,
    /// How often.
    pub count: u64,
}

/// Makes the figure of a metric from results that are seen once, in dataset order.
#[derive(Debug)]
pub(crate) struct FigureBuilder {
    description: MetricDescription,
    scores: Accumulator,
    spread: Spread,
    /// How many scores are 1, as long as all are 0 or 1.
    successes: Option<u64>,
    sub_scores: BTreeMap<String, Accumulator>,
    error_tags: BTreeMap<String, u64>,
    outcomes: OutcomeCounts,
}

impl FigureBuilder {
    pub(crate) fn new(description: &MetricDescription) -> FigureBuilder {
        FigureBuilder {
            description: description.clone(),
            scores: Accumulator::new(description.aggregation),
            spread: Spread::default(),
            successes: Some(0),
            sub_scores: BTreeMap::new(),
            error_tags: BTreeMap::new(),
            outcomes: OutcomeCounts::default(),
        }
    }

    pub(crate) fn metric_id(&self) -> &str {
        &self.description.metric_id
    }

    /// Adds a sample: what the metric said about it, and how the sample ended.
    pub(crate) fn add(&mut self, results: &[MetricResult], sample_outcome: Outcome) {
        let result = results.iter().find(|result| result.metric_id == self.description.metric_id);
        let score = result.and_then(MetricResult::score);
        let outcome = match (result.map_or(sample_outcome, |result| result.outcome), score) {
            (Outcome::Scored, None) => Outcome::Skipped,
            (outcome, _) => outcome,
        };
        self.outcomes.add(outcome);
        let Some(card) = result.and_then(|result| result.card.as_ref()) else { return };
        self.count_tags(card);
        if let Some(score) = score {
            self.add_score(score, card);
        }
    }

    fn add_score(&mut self, score: f64, card: &ScoreCard) {
        let weight = weight(card);
        self.scores.add(score, weight);
        self.spread.add(score);
        self.successes = match (self.successes, score) {
            (Some(successes), 0.0) => Some(successes),
            (Some(successes), 1.0) => Some(successes + 1),
            _ => None,
        };
        for (name, value) in &card.sub_scores {
            let Some(value) = number(value) else { continue };
            if let Some(scores) = self.sub_scores.get_mut(name) {
                scores.add(value, weight);
            } else if self.sub_scores.len() < MOST_NAMES {
                let mut scores = Accumulator::new(self.description.aggregation);
                scores.add(value, weight);
                self.sub_scores.insert(name.clone(), scores);
            }
        }
    }

    fn count_tags(&mut self, card: &ScoreCard) {
        for tag in &card.error_tags {
            let is_known = self.error_tags.contains_key(tag) || self.error_tags.len() < MOST_NAMES;
            let tag = if is_known { tag.as_str() } else { OTHER_TAGS };
            match self.error_tags.get_mut(tag) {
                Some(count) => *count += 1,
                None => {
                    self.error_tags.insert(tag.to_owned(), 1);
                }
            }
        }
    }

    pub(crate) fn finish(self, task_id: &str) -> MetricFigure {
        let MetricDescription {
            metric_id,
            implementation,
            scorer_version,
            aggregation,
            value_name,
            higher_is_better,
        } = self.description;
        let value = self.scores.value();
        let n = self.scores.count();
        let is_mean = aggregation == Aggregation::Mean;
        let stderr = self.spread.standard_error().filter(|_| is_mean);
        let interval = match self.successes {
            Some(successes) => wilson_interval(successes, n),
            None => value.zip(stderr).map(|(mean, stderr)| normal_interval(mean, stderr)),
        };
        let sub_figure = |(name, scores): (String, Accumulator)| SubFigure {
            value: scores.value(),
            n: scores.count(),
            name,
        };
        let mut error_tags: Vec<TagCount> =
            self.error_tags.into_iter().map(|(tag, count)| TagCount { tag, count }).collect();
        // Stable, so that tags of one count stay sorted by name.
        error_tags.sort_by_key(|tag| std::cmp::Reverse(tag.count));
        MetricFigure {
            task_id: task_id.to_owned(),
            metric_id,
            implementation,
            scorer_version,
            aggregation,
            value_name,
            higher_is_better,
            value,
            n,
            total: self.outcomes.total(),
            coverage: self.outcomes.coverage(),
            stderr,
            interval: interval.filter(|_| is_mean),
            sub_scores: self.sub_scores.into_iter().map(sub_figure).collect(),
            error_tags,
            outcomes: self.outcomes.occurred().collect(),
        }
    }
}

/// The weight of a score: `detail.weight` where that is a number that is not negative, else 1.
fn weight(card: &ScoreCard) -> f64 {
    card.detail.get("weight").and_then(number).filter(|weight| *weight >= 0.0).unwrap_or(1.0)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(*flag)),
        value => value.as_f64().filter(|number| number.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntervalMethod;
    use crate::test_records::{description, scored};
    use serde_json::json;

    fn figure(aggregation: Aggregation, samples: &[(Outcome, Vec<MetricResult>)]) -> MetricFigure {
        let mut builder = FigureBuilder::new(&MetricDescription { aggregation, ..description("m") });
        samples.iter().for_each(|(outcome, results)| builder.add(results, *outcome));
        builder.finish("t")
    }

    fn scores(numbers: &[f64]) -> Vec<(Outcome, Vec<MetricResult>)> {
        numbers.iter().map(|number| (Outcome::Scored, vec![scored("m", *number)])).collect()
    }

    #[test]
    fn what_failed_is_not_a_wrong_answer() {
        let mut samples = scores(&[1.0, 0.0, 1.0]);
        samples.push((Outcome::BackendError, vec![]));
        let mut empty = scored("m", 0.0);
        empty.card.as_mut().unwrap().primary_score = None;
        samples.push((Outcome::Scored, vec![empty]));
        let failed = MetricResult { outcome: Outcome::PluginTimeout, card: None, ..scored("m", 0.0) };
        samples.push((Outcome::PluginTimeout, vec![scored("other", 1.0), failed]));

        let figure = figure(Aggregation::Mean, &samples);
        assert_eq!(figure.value, Some(2.0 / 3.0));
        assert_eq!((figure.n, figure.total, figure.coverage), (3, 6, 0.5));
        let outcomes = [
            (Outcome::Scored, 3),
            (Outcome::BackendError, 1),
            (Outcome::PluginTimeout, 1),
            (Outcome::Skipped, 1),
        ];
        assert_eq!(figure.outcomes, BTreeMap::from(outcomes));
    }

    #[test]
    fn the_interval_is_wilson_for_0_and_1_and_normal_for_the_rest() {
        let binary = figure(Aggregation::Mean, &scores(&[0.0, 1.0, 1.0])).interval.unwrap();
        assert_eq!(Some(binary), wilson_interval(2, 3));
        let graded = figure(Aggregation::Mean, &scores(&[0.0, 1.0, 0.5]));
        let interval = graded.interval.unwrap();
        assert_eq!(interval.method, IntervalMethod::Normal);
        assert_eq!(interval, normal_interval(0.5, graded.stderr.unwrap()));

        let one = figure(Aggregation::Mean, &scores(&[0.5]));
        assert_eq!((one.value, one.stderr, one.interval), (Some(0.5), None, None));
        let none = figure(Aggregation::Mean, &[]);
        assert_eq!((none.value, none.stderr, none.interval, none.coverage), (None, None, None, 0.0));
        let sum = figure(Aggregation::Sum, &scores(&[1.0, 1.0]));
        assert_eq!((sum.value, sum.stderr, sum.interval), (Some(2.0), None, None));
    }

    #[test]
    fn weights_sub_scores_and_tags_come_from_the_card() {
        let mut samples = scores(&[1.0, 0.0, 0.0]);
        let cards = [
            (json!({"f1": 1.0, "note": "text"}), json!({"weight": 3}), vec![]),
            (json!({"f1": 0.5, "hit": true}), json!({"weight": "heavy"}), vec!["wrong_unit", "late"]),
            (json!({"hit": false}), json!({"weight": -1}), vec!["late", "early"]),
        ];
        for ((_, results), (sub_scores, detail, tags)) in samples.iter_mut().zip(cards) {
            let card = results[0].card.as_mut().unwrap();
            card.sub_scores = sub_scores.as_object().unwrap().clone();
            card.detail = detail.as_object().unwrap().clone();
            card.error_tags = tags.into_iter().map(str::to_owned).collect();
        }
        let figure = figure(Aggregation::WeightedMean, &samples);
        assert_eq!(figure.value, Some(0.6));
        let sub_scores: Vec<_> =
            figure.sub_scores.iter().map(|sub| (sub.name.as_str(), sub.value, sub.n)).collect();
        assert_eq!(sub_scores, [("f1", Some(0.875), 2), ("hit", Some(0.5), 2)]);
        let tags: Vec<_> = figure.error_tags.iter().map(|tag| (tag.tag.as_str(), tag.count)).collect();
        assert_eq!(tags, [("late", 2), ("early", 1), ("wrong_unit", 1)]);
    }

    #[test]
    fn a_scorer_that_makes_up_names_cannot_fill_the_memory() {
        let tagged = |number: usize| {
            let mut result = scored("m", 1.0);
            let card = result.card.as_mut().unwrap();
            card.error_tags = vec![format!("tag-{number}")];
            card.sub_scores.insert(format!("sub-{number}"), json!(1));
            (Outcome::Scored, vec![result])
        };
        let samples: Vec<_> = (0..MOST_NAMES + 7).map(tagged).collect();
        let figure = figure(Aggregation::Mean, &samples);
        assert_eq!(figure.error_tags[0], TagCount { tag: OTHER_TAGS.to_owned(), count: 7 });
        assert_eq!((figure.error_tags.len(), figure.sub_scores.len()), (MOST_NAMES + 1, MOST_NAMES));
    }
}

//! Builder of the figure of a metric.

use super::counts::{MAX_NAMES, NameCounts};
use super::slice_mean::{SlicedSamples, slice_mean};
use super::tally::{ObservedScore, Tally, TallyResult};
use super::{CategoryCount, MetricFigure, SliceFigure, SubFigure, TagCount};
use crate::aggregator_state::AggregatorState;
use crate::custom_aggregation::{AggregationRow, CustomAggregators};
use crate::slicing::{SliceMembership, Slicing};
use crate::{Accumulator, Aggregation, CompensatedSum, MetricDescription};
use gage_core::{
    MetricResult, OTHER_LABEL, Outcome, OutcomeCounts, RESULT_SCHEMA_VERSION, ScoreCard, label, number_label,
};
use gage_record::RecordView;
use serde_json::Value;
use std::collections::BTreeMap;

/// Builds the figure of a metric from its results, in one pass, in dataset order.
pub(super) struct FigureBuilder<'a> {
    task_id: String,
    description: MetricDescription,
    aggregators: CustomAggregators<'a>,
    is_clustered: bool,
    whole: Tally,
    /// Tallies of slices, by path and slice number.
    slices: Vec<Vec<Tally>>,
    sample: RepeatedSample,
    sub_scores: BTreeMap<String, SubScore>,
    categories: NameCounts,
    error_tags: NameCounts,
    outcomes: OutcomeCounts,
}

/// Sums over the repeats of the current sample.
#[derive(Default)]
struct RepeatedSample {
    scored: u64,
    scores: CompensatedSum,
    weights: CompensatedSum,
    is_graded: bool,
}

/// A sub-score, with the sum over the repeats of the current sample.
struct SubScore {
    samples: Accumulator,
    repeats: u64,
    sum: CompensatedSum,
}

impl<'a> FigureBuilder<'a> {
    pub(super) fn new(
        task_id: &str,
        description: &MetricDescription,
        slicing: &Slicing,
        aggregators: CustomAggregators<'a>,
    ) -> FigureBuilder<'a> {
        let is_clustered = slicing.is_clustered();
        FigureBuilder {
            whole: tally(task_id, description, is_clustered, aggregators).resampled(),
            slices: (0..slicing.paths()).map(|_| Vec::new()).collect(),
            task_id: task_id.to_owned(),
            description: description.clone(),
            aggregators,
            is_clustered,
            sample: RepeatedSample::default(),
            sub_scores: BTreeMap::new(),
            categories: NameCounts::default(),
            error_tags: NameCounts::default(),
            outcomes: OutcomeCounts::default(),
        }
    }

    pub(super) fn metric_id(&self) -> &str {
        &self.description.metric_id
    }

    /// Adds a record: the metric's result and the outcome.
    pub(super) fn add(
        &mut self,
        results: &[MetricResult],
        record: &RecordView<'_>,
        membership: &SliceMembership,
    ) {
        let result = results.iter().find(|result| result.metric_id == self.description.metric_id);
        let card = result.and_then(|result| result.card.as_ref());
        let outcome = result.map_or(record.outcome, |result| result.outcome);
        let scored = card.and_then(|card| {
            let aggregation = &self.description.aggregation;
            // A card without a score is recorded as skipped, but may still hold the category.
            let is_entered = match outcome {
                Outcome::Scored => true,
                Outcome::Skipped => *aggregation == Aggregation::Categorical,
                _ => return None,
            };
            // The 0.0 is a placeholder: the aggregator reads other parts of the card.
            let unscored = || self.whole.counts_unscored(card).then_some(0.0);
            let score = is_entered.then(|| entered(aggregation, card)).flatten().or_else(unscored)?;
            Some((card, score))
        });
        self.outcomes.add(match (outcome, scored) {
            (Outcome::Scored, None) => Outcome::Skipped,
            (Outcome::Skipped, Some(_)) => Outcome::Scored,
            (outcome, _) => outcome,
        });
        card.into_iter().flat_map(|card| &card.error_tags).for_each(|tag| self.error_tags.add(tag));
        let cluster = self.is_clustered.then_some(membership.cluster);
        let row = scored.map(|(card, _)| AggregationRow {
            sample_id: record.sample_id,
            weight: weight(card),
            card,
            cluster,
            unit: membership.unit,
        });
        self.visit(membership, |tally| tally.add_record(row));
        if let Some((card, score)) = scored {
            self.sample.add(score, weight(card));
            self.add_sub_scores(card);
            if self.description.aggregation == Aggregation::Categorical {
                let category =
                    ["category", "prediction"].into_iter().find_map(|key| label(card.detail.member(key)?));
                self.categories.add(&category.unwrap_or_else(|| number_label(score)));
            }
        }
    }

    fn add_sub_scores(&mut self, card: &ScoreCard) {
        for (name, value) in &card.sub_scores {
            let Some(value) = number(value) else { continue };
            if !self.sub_scores.contains_key(name) && self.sub_scores.len() < MAX_NAMES {
                let aggregation = match &self.description.aggregation {
                    Aggregation::PassRate | Aggregation::Categorical | Aggregation::Custom(_) => {
                        &Aggregation::Mean
                    }
                    aggregation => aggregation,
                };
                let samples = Accumulator::new(aggregation);
                let sub_score = SubScore { samples, repeats: 0, sum: CompensatedSum::default() };
                self.sub_scores.insert(name.clone(), sub_score);
            }
            if let Some(sub_score) = self.sub_scores.get_mut(name) {
                sub_score.repeats += 1;
                sub_score.sum.add(value);
            }
        }
    }

    /// Ends the current sample.
    pub(super) fn end_sample(&mut self, membership: &SliceMembership) {
        let sample = std::mem::take(&mut self.sample).observed(membership.cluster);
        let aggregation = self.description.aggregation.clone();
        self.visit(membership, |tally| tally.add_sample(&aggregation, sample));
        let Some(ObservedScore { weight, .. }) = sample else { return };
        for sub_score in self.sub_scores.values_mut().filter(|sub_score| sub_score.repeats > 0) {
            let sum = std::mem::take(&mut sub_score.sum);
            let repeats = std::mem::take(&mut sub_score.repeats);
            sub_score.samples.add(sum.divided_by(repeats as f64), weight);
        }
    }

    /// Calls `visit` with the tally of the task, and with that of each slice of the sample.
    fn visit(&mut self, membership: &SliceMembership, visit: impl Fn(&mut Tally)) {
        visit(&mut self.whole);
        for (tallies, numbers) in self.slices.iter_mut().zip(&membership.slices) {
            for number in numbers {
                while tallies.len() <= *number {
                    let (task_id, is_clustered) = (&self.task_id, self.is_clustered);
                    tallies.push(tally(task_id, &self.description, is_clustered, self.aggregators));
                }
                if let Some(tally) = tallies.get_mut(*number) {
                    visit(tally);
                }
            }
        }
    }

    /// Returns the figure, given the number of missing records of the task. The slices of these are unknown.
    pub(super) fn finish(mut self, slicing: &Slicing, missing: u64) -> MetricFigure {
        self.whole.add_missing(missing, slicing.repeat());
        let scale = self.description.scale_of(&self.description.value_name);
        let bounds = self.description.bounds_of_means();
        let description = self.description;
        let aggregation = description.aggregation;
        let TallyResult { value, n, total, coverage, stderr, interval, clusters, figures, resamples, error } =
            self.whole.finish(&aggregation).within(bounds);
        let mut slices = Vec::new();
        for ((by, names), tallies) in slicing.slices().zip(self.slices) {
            let mut named: Vec<(&String, Tally)> = names.iter().zip(tallies).collect();
            named.sort_by_key(|(name, _)| *name);
            let slice = |(name, tally): (&String, Tally)| {
                slice_figure(by, name, tally.finish(&aggregation).within(bounds))
            };
            slices.extend(named.into_iter().map(slice));
        }
        let samples = SlicedSamples { n, is_clustered: clusters.is_some(), bounds };
        let paths = slices.chunk_by(|one: &SliceFigure, other| one.by == other.by);
        let slice_means = paths.filter_map(|slices| slice_mean(slices, samples)).collect();
        let sub_figure = |(name, scores): (String, SubScore)| SubFigure {
            value: scores.samples.value().filter(|value| value.is_finite()),
            n: scores.samples.count(),
            higher_is_better: description
                .directions
                .iter()
                .find(|(value, _)| *value == name)
                .map(|(_, is)| *is),
            scale: description.scales.iter().find(|(value, _)| *value == name).map(|(_, scale)| *scale),
            name,
        };
        let tags = self.error_tags.into_sorted().into_iter();
        MetricFigure {
            task_id: self.task_id,
            metric_id: description.metric_id,
            implementation: description.implementation,
            schema_version: RESULT_SCHEMA_VERSION.to_owned(),
            scorer_version: description.scorer_version,
            // Set by `FigureSet`, which knows the task.
            prompt_version: String::new(),
            aggregation,
            value_name: description.value_name,
            higher_is_better: description.higher_is_better,
            scale,
            value,
            n,
            total,
            coverage,
            total_is_least: false,
            repeats: slicing.repeat(),
            stderr,
            interval,
            clusters,
            sub_scores: self.sub_scores.into_iter().map(sub_figure).collect(),
            error_tags: tags.map(|(tag, count)| TagCount { tag, count }).collect(),
            outcomes: self.outcomes.occurred().collect(),
            categories: categories(self.categories),
            figures,
            no_resamples: resamples.as_ref().and_then(|resamples| resamples.as_ref().err().cloned()),
            resamples: resamples.and_then(Result::ok),
            slices,
            slice_means,
            error,
        }
    }
}

impl RepeatedSample {
    fn add(&mut self, score: f64, weight: f64) {
        self.scored += 1;
        self.scores.add(score);
        self.weights.add(weight);
        self.is_graded |= score != 0.0 && score != 1.0;
    }

    fn observed(self, cluster: u64) -> Option<ObservedScore> {
        let repeats = self.scored as f64;
        (self.scored > 0).then(|| ObservedScore {
            score: self.scores.divided_by(repeats),
            weight: self.weights.divided_by(repeats),
            cluster,
            is_binary: !self.is_graded,
        })
    }
}

fn tally(
    task_id: &str,
    description: &MetricDescription,
    is_clustered: bool,
    aggregators: CustomAggregators<'_>,
) -> Tally {
    let aggregator = match &description.aggregation {
        Aggregation::Custom(name) => {
            Some(AggregatorState::new(name, aggregators(task_id, &description.metric_id)))
        }
        _ => None,
    };
    let is_proportion = description.is_proportion || description.aggregation == Aggregation::PassRate;
    let scale = description.scale_of(&description.value_name);
    Tally::new(&description.aggregation, is_proportion, scale, is_clustered, aggregator)
}

fn slice_figure(by: &str, key: &str, tallied: TallyResult) -> SliceFigure {
    let TallyResult { value, n, total, coverage, stderr, interval, error, .. } = tallied;
    SliceFigure { by: by.to_owned(), key: key.to_owned(), value, n, total, coverage, stderr, interval, error }
}

fn categories(counts: NameCounts) -> Vec<CategoryCount> {
    let mut sorted = counts.into_sorted();
    sorted.sort_by_key(|(name, _)| name == OTHER_LABEL);
    let all: u64 = sorted.iter().map(|(_, count)| count).sum();
    let share = |count: u64| count as f64 / all as f64;
    sorted.into_iter().map(|(name, count)| CategoryCount { share: share(count), name, count }).collect()
}

/// Returns the number that a scored card contributes to the value; `None` if it has none.
fn entered(aggregation: &Aggregation, card: &ScoreCard) -> Option<f64> {
    let score = card.primary_score.filter(|score| score.is_finite());
    match aggregation {
        Aggregation::PassRate => card.pass.map(f64::from),
        // The number is a placeholder for the category, and enters no figure.
        Aggregation::Categorical => score.or_else(|| label(card.detail.member("category")?).map(|_| 0.0)),
        _ => score,
    }
}

/// Returns the weight of a score: `detail.weight` if that is a nonnegative number, otherwise 1.
fn weight(card: &ScoreCard) -> f64 {
    card.detail.member("weight").and_then(number).filter(|weight| *weight >= 0.0).unwrap_or(1.0)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(*flag)),
        value => value.as_f64().filter(|number| number.is_finite()),
    }
}

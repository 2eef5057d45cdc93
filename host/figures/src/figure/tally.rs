//! Tally of the samples of a task, or of one slice of it.

use super::units::Units;
use crate::accumulator::per_mille;
use crate::aggregator_state::{AggregatedFigures, AggregatorState};
use crate::custom_aggregation::AggregationRow;
use crate::quantile::{clustered_quantile_interval, quantile_interval};
use crate::resamples::Resamples;
use crate::statistics::{is_no_spread, wilson_of_proportion, wilson_on_scale};
use crate::{Accumulator, Aggregation, Interval, IntervalMethod, NamedFigure, RobustMean, Scale, Z_95};
use gage_core::ScoreCard;

/// Minimum effective number of samples, or of clusters, at which the mean of scores without a scale has an interval: a rare
/// large score may be missing among fewer.
const MIN_UNITS_WITHOUT_SCALE: f64 = 50.0;

/// The scale of proportions.
const PROPORTIONS: Scale = [0.0, 1.0];

/// One sample: the mean of its scored repeats.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedScore {
    pub(super) score: f64,
    pub(super) weight: f64,
    pub(super) cluster: u64,
    /// True if every repeat scored 0 or 1.
    pub(super) is_binary: bool,
}

/// Accumulates samples in one pass, in dataset order.
pub(super) struct Tally {
    scores: Accumulator,
    units: Units,
    is_binary: bool,
    /// True if the repeats of a sample scored both 0 and 1, so that its score is neither.
    has_mixed_repeats: bool,
    /// Range of the scores, if known.
    scale: Option<Scale>,
    /// Sums of the weights and of their squares.
    weights: [f64; 2],
    aggregator: Option<AggregatorState>,
    samples: u64,
    records: u64,
    scored_records: u64,
}

/// Result of a tally.
#[derive(Default)]
pub(super) struct TallyResult {
    pub(super) value: Option<f64>,
    pub(super) n: u64,
    pub(super) total: u64,
    pub(super) coverage: f64,
    pub(super) stderr: Option<f64>,
    pub(super) interval: Option<Interval>,
    pub(super) clusters: Option<u64>,
    pub(super) figures: Vec<NamedFigure>,
    pub(super) resamples: Option<Result<Resamples, String>>,
    pub(super) error: Option<String>,
}

impl TallyResult {
    /// Limits the interval to the bounds of the value.
    pub(super) fn within(self, bounds: Scale) -> TallyResult {
        let limited = self.interval.zip(self.value).map(|(interval, value)| interval.within(value, bounds));
        TallyResult { interval: limited.or(self.interval), ..self }
    }
}

impl Tally {
    /// Returns an empty tally. If `is_proportion` is false, the scores are not treated as a proportion even if all of them are
    /// 0 or 1.
    pub(super) fn new(
        aggregation: &Aggregation,
        is_proportion: bool,
        scale: Option<Scale>,
        is_clustered: bool,
        aggregator: Option<AggregatorState>,
    ) -> Tally {
        Tally {
            scores: Accumulator::new(aggregation),
            units: Units::new(aggregation, is_clustered),
            is_binary: is_proportion,
            has_mixed_repeats: false,
            scale,
            weights: [0.0; 2],
            aggregator,
            samples: 0,
            records: 0,
            scored_records: 0,
        }
    }

    /// Lets the figures of a component get intervals. Must be called before the first record.
    pub(super) fn resampled(mut self) -> Tally {
        self.aggregator = self.aggregator.map(AggregatorState::resampled);
        self
    }

    /// Returns whether a card without a score counts.
    pub(super) fn counts_unscored(&self, card: &ScoreCard) -> bool {
        self.aggregator.as_ref().is_some_and(|aggregator| aggregator.counts_unscored(card))
    }

    /// Counts a record: one repeat of a sample.
    pub(super) fn add_record(&mut self, row: Option<AggregationRow<'_>>) {
        self.records += 1;
        let Some(row) = row else { return };
        self.scored_records += 1;
        if let Some(aggregator) = &mut self.aggregator {
            aggregator.add(row);
        }
    }

    /// Adds a sample whose records were already counted; `None` if none of them was scored.
    pub(super) fn add_sample(&mut self, aggregation: &Aggregation, sample: Option<ObservedScore>) {
        self.samples += 1;
        let Some(ObservedScore { score, weight, cluster, is_binary }) = sample else { return };
        self.scores.add(score, weight);
        self.is_binary &= is_binary;
        self.has_mixed_repeats |= score != 0.0 && score != 1.0;
        let weight = if *aggregation == Aggregation::WeightedMean { weight } else { 1.0 };
        self.weights = [self.weights[0] + weight, weight.mul_add(weight, self.weights[1])];
        self.units.add(score, weight, cluster);
    }

    /// Counts missing records, `repeat` per sample.
    pub(super) fn add_missing(&mut self, records: u64, repeat: u64) {
        self.records += records;
        if records > 0 {
            self.samples = self.samples.max(self.records.div_ceil(repeat.max(1)));
        }
    }

    pub(super) fn finish(mut self, aggregation: &Aggregation) -> TallyResult {
        let (n, total) = (self.scores.count(), self.samples);
        let clusters = self.units.clusters();
        let coverage = match self.records {
            0 => 0.0,
            // Counts of records stay far below 2^53.
            records => self.scored_records as f64 / records as f64,
        };
        let mut tallied = TallyResult { n, total, coverage, clusters, ..TallyResult::default() };
        match self.value() {
            Ok(value) => tallied.value = value,
            Err(error) => tallied.error = Some(error),
        }
        if n == 0 {
            return tallied;
        }
        if let Some(aggregator) = self.aggregator.take() {
            match aggregator.finish() {
                Ok(AggregatedFigures { figures, resamples }) => {
                    tallied.value = figures.first().map(|figure| figure.value);
                    tallied.stderr = figures.first().and_then(|figure| figure.stderr);
                    tallied.interval = figures.first().and_then(|figure| figure.interval);
                    tallied.figures = figures;
                    tallied.resamples = resamples;
                }
                Err(error) => tallied.error = Some(error),
            }
        } else if let Some(value) = tallied.value {
            (tallied.stderr, tallied.interval) = self.uncertainty(aggregation, value);
        }
        tallied
    }

    fn value(&self) -> Result<Option<f64>, String> {
        match self.scores.value() {
            Some(value) if !value.is_finite() => Err(format!(
                "the value is beyond {:e}, the range of 64-bit floating-point numbers; scale the scores",
                f64::MAX
            )),
            value => Ok(value),
        }
    }

    /// Returns the standard error and the interval of the value; `None` if they cannot be computed, or for fewer
    /// than two samples or clusters.
    fn uncertainty(mut self, aggregation: &Aggregation, value: f64) -> (Option<f64>, Option<Interval>) {
        if let Some(per_mille) = per_mille(aggregation) {
            let interval = match self.units.ranked() {
                Some(ranked) => clustered_quantile_interval(ranked, value, per_mille),
                None => quantile_interval(self.scores.sorted(), per_mille),
            };
            return (None, interval);
        }
        let is_any_mean =
            matches!(aggregation, Aggregation::Mean | Aggregation::PassRate | Aggregation::WeightedMean);
        let Some(mean) = self.units.robust_mean().filter(|_| is_any_mean) else { return (None, None) };
        let mean = RobustMean { mean: value, ..mean };
        let scale = if self.is_binary { Some(PROPORTIONS) } else { self.scale };
        let size = scale.map_or(value.abs(), |[least, greatest]| greatest - least);
        let error = mean.standard_error();
        if is_no_spread(error, size) {
            // A spread of zero carries no information about the true value. A mean is bounded by its scale.
            let interval = scale.and_then(|scale| wilson_on_scale(value, mean.effective, scale));
            return (interval.map(|_| 0.0), interval);
        }
        (Some(error), self.interval(&mean, scale))
    }

    /// Returns the interval of a mean whose samples vary.
    fn interval(&self, mean: &RobustMean, scale: Option<Scale>) -> Option<Interval> {
        let is_clustered = self.units.clusters().is_some();
        if self.is_binary {
            if self.units.is_plain() && !self.has_mixed_repeats {
                return wilson_of_proportion(mean.mean, mean.effective, Z_95);
            }
            let [weights, squares] = self.weights;
            let repeats = self.scored_records as f64 / self.scores.count() as f64;
            let method = if is_clustered { IntervalMethod::Cluster } else { IntervalMethod::Wilson };
            return mean.proportion_interval(weights * weights / squares * repeats, method);
        }
        if scale.is_none() && mean.effective < MIN_UNITS_WITHOUT_SCALE {
            return None;
        }
        let method = if is_clustered { IntervalMethod::Cluster } else { IntervalMethod::Hall };
        mean.interval(scale, method)
    }
}

//! Tally of the samples of a task, or of one slice of it.

use crate::accumulator::per_mille;
use crate::bootstrap::{ResampledScore, Reservoir, Statistic};
use crate::cluster::ClusterSums;
use crate::custom_aggregation::{AggregationRow, AggregatorState};
use crate::statistics::{is_no_spread, t_interval, wilson_of_proportion, wilson_on_scale};
use crate::{Accumulator, Aggregation, Interval, IntervalMethod, NamedFigure, Scale, Spread};
use gage_core::ScoreCard;

/// Minimum number of samples at which the mean of repeated 0/1 scores gets the interval of any mean.
///
/// Repeats of a sample that disagree vary less than single trials, so Wilson's interval is too wide for them. Scores of one
/// trial each use Wilson's interval at any number of samples.
const MIN_REPEATED_SAMPLES_FOR_T: u64 = 300;

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
    spread: Spread,
    is_binary: bool,
    /// True if the repeats of a sample scored both 0 and 1, so that its score is neither.
    has_mixed_repeats: bool,
    /// Range of the scores, if known.
    scale: Option<Scale>,
    /// Sums of the weights and of their squares.
    weights: [f64; 2],
    clusters: Option<ClusterSums>,
    /// Scores to resample, for figures whose error has no formula.
    reservoir: Option<(Statistic, Reservoir)>,
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
    pub(super) error: Option<String>,
}

impl Tally {
    /// Returns an empty tally that resamples at most `max_resampled` scores. If `is_proportion` is false, the scores are not
    /// treated as a proportion even if all of them are 0 or 1.
    pub(super) fn new(
        aggregation: &Aggregation,
        is_proportion: bool,
        scale: Option<Scale>,
        is_clustered: bool,
        max_resampled: u64,
        aggregator: Option<AggregatorState>,
    ) -> Tally {
        let statistic = statistic(aggregation, is_clustered);
        Tally {
            scores: Accumulator::new(aggregation),
            spread: Spread::default(),
            is_binary: is_proportion,
            has_mixed_repeats: false,
            scale,
            weights: [0.0; 2],
            clusters: is_clustered.then(ClusterSums::default),
            reservoir: statistic.map(|statistic| (statistic, Reservoir::new(max_resampled))),
            aggregator,
            samples: 0,
            records: 0,
            scored_records: 0,
        }
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
        self.spread.add(score);
        self.is_binary &= is_binary;
        self.has_mixed_repeats |= score != 0.0 && score != 1.0;
        let weight = if *aggregation == Aggregation::WeightedMean { weight } else { 1.0 };
        self.weights = [self.weights[0] + weight, weight.mul_add(weight, self.weights[1])];
        if let Some(clusters) = &mut self.clusters {
            clusters.add(cluster, score, weight);
        }
        if let Some((_, reservoir)) = &mut self.reservoir {
            reservoir.add(ResampledScore { score, weight, cluster });
        }
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
        let clusters = self.clusters.as_ref().map(ClusterSums::count);
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
                Ok(figures) => {
                    tallied.value = figures.first().map(|figure| figure.value);
                    tallied.stderr = figures.first().and_then(|figure| figure.stderr);
                    tallied.figures = figures;
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
        let is_mean = matches!(aggregation, Aggregation::Mean | Aggregation::PassRate);
        let units = self.clusters.as_ref().map_or(self.scores.count(), ClusterSums::count);
        if units < 2 {
            return (None, None);
        }
        let scale = if self.is_binary { Some(PROPORTIONS) } else { self.scale };
        let size = scale.map_or(value.abs(), |[least, greatest]| greatest - least);
        if self.does_not_vary(aggregation, size, value) {
            return self.bounds(aggregation, scale, value);
        }
        if let Some((statistic, reservoir)) = self.reservoir.take() {
            return match reservoir.resample(statistic, self.clusters.is_some()) {
                // Samples vary, but no resample changed the figure.
                Some((stderr, _)) if is_no_spread(stderr, size) => self.bounds(aggregation, scale, value),
                Some((stderr, interval)) => {
                    (Some(stderr), Some(interval).filter(|interval| interval.low < interval.high))
                }
                None => (None, None),
            };
        }
        if !is_mean {
            return (None, None);
        }
        let stderr = match &self.clusters {
            Some(clusters) => clusters.standard_error(value),
            None => self.spread.standard_error(),
        };
        let interval = match self.clusters {
            Some(_) => t(value, stderr, units - 1, IntervalMethod::Cluster),
            None if self.is_wilson(units) => wilson_of_proportion(value, units as f64),
            None => t(value, stderr, units - 1, IntervalMethod::T),
        };
        (stderr, interval.map(|interval| scale.map_or(interval, |scale| within(scale, value, interval))))
    }

    /// Returns whether the mean of `samples` samples gets Wilson's interval.
    fn is_wilson(&self, samples: u64) -> bool {
        self.is_binary && (!self.has_mixed_repeats || samples < MIN_REPEATED_SAMPLES_FOR_T)
    }

    /// Returns whether the variation of samples is unknown, as if all scores are equal: a spread of zero carries no
    /// information about the true value.
    ///
    /// For means with clusters, the spread is between the clusters. `size` is that of the scale, or of the value.
    fn does_not_vary(&self, aggregation: &Aggregation, size: f64, value: f64) -> bool {
        let is_nothing = |error: f64| is_no_spread(error, size);
        let by_clusters = self.clusters.as_ref().filter(|_| is_any_mean(aggregation));
        let by_clusters = by_clusters.and_then(|clusters| clusters.standard_error(value));
        by_clusters.is_some_and(is_nothing) || self.spread.standard_error().is_some_and(is_nothing)
    }

    /// Returns the standard error and interval if samples do not vary: a mean is bounded by its scale, other values are
    /// unbounded.
    fn bounds(
        &self,
        aggregation: &Aggregation,
        scale: Option<Scale>,
        value: f64,
    ) -> (Option<f64>, Option<Interval>) {
        let Some(scale) = scale.filter(|_| is_any_mean(aggregation)) else { return (None, None) };
        let [weights, squares] = self.weights;
        let trials = self.clusters.as_ref().map_or(weights * weights / squares, ClusterSums::effective_count);
        let interval = wilson_on_scale(value, trials, scale);
        (interval.map(|_| 0.0), interval)
    }
}

fn is_any_mean(aggregation: &Aggregation) -> bool {
    matches!(aggregation, Aggregation::Mean | Aggregation::PassRate | Aggregation::WeightedMean)
}

fn t(value: f64, stderr: Option<f64>, degrees: u64, method: IntervalMethod) -> Option<Interval> {
    stderr.and_then(|stderr| t_interval(value, stderr, degrees, method))
}

/// Clamps an interval to the scale of its scores, but keeps the mean inside, which rounding may take beyond the scale.
fn within([least, greatest]: Scale, mean: f64, interval: Interval) -> Interval {
    let (low, high) = (interval.low.max(least.min(mean)), interval.high.min(greatest.max(mean)));
    Interval { low, high, ..interval }
}

/// Returns the statistic to resample for the error of an aggregation; `None` if there is a formula, or if
/// resampling cannot provide the error either.
fn statistic(aggregation: &Aggregation, is_clustered: bool) -> Option<Statistic> {
    match aggregation {
        Aggregation::WeightedMean => Some(Statistic::WeightedMean),
        Aggregation::PassRate if is_clustered => Some(Statistic::WeightedMean),
        aggregation => per_mille(aggregation).map(Statistic::Quantile),
    }
}

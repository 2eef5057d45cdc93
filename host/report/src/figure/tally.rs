//! What samples add up to: those of a task, or of one slice of it.

use crate::accumulator::per_mille;
use crate::bootstrap::{Drawn, Reservoir, Statistic};
use crate::cluster::ClusterSums;
use crate::fold::{FoldRow, FoldState};
use crate::statistics::{t_interval, wilson_of_proportion};
use crate::{Accumulator, Aggregation, Interval, IntervalMethod, NamedFigure, Spread};

/// From how many samples on the interval of a proportion is that of any mean.
const MANY_SAMPLES: u64 = 300;

/// A standard error of proportions below this is that of clusters that do not vary: it is what rounding leaves, and one
/// sample that differs makes more of it.
const NO_SPREAD: f64 = 1e-14;

/// One sample: the mean of its scored repeats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) score: f64,
    pub(super) weight: f64,
    pub(super) cluster: u64,
    /// Whether every repeat scored 0 or 1.
    pub(super) is_binary: bool,
}

/// Adds up samples that are seen once, in dataset order.
pub(super) struct Tally {
    scores: Accumulator,
    spread: Spread,
    is_binary: bool,
    clusters: Option<ClusterSums>,
    /// For figures without a formula for their error.
    reservoir: Option<(Statistic, Reservoir)>,
    fold: Option<FoldState>,
    samples: u64,
    records: u64,
    scored_records: u64,
}

/// What a tally came to.
pub(super) struct Tallied {
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
    /// A tally without samples, that resamples at most so many scores. Scores that are no proportion are not one
    /// either where all of them are 0 or 1.
    pub(super) fn new(
        aggregation: &Aggregation,
        is_proportion: bool,
        is_clustered: bool,
        most_resampled: u64,
        fold: Option<FoldState>,
    ) -> Tally {
        let statistic = statistic(aggregation, is_clustered);
        Tally {
            scores: Accumulator::new(aggregation),
            spread: Spread::default(),
            is_binary: is_proportion,
            clusters: is_clustered.then(ClusterSums::default),
            reservoir: statistic.map(|statistic| (statistic, Reservoir::new(most_resampled))),
            fold,
            samples: 0,
            records: 0,
            scored_records: 0,
        }
    }

    /// Counts a record: one repeat of a sample.
    pub(super) fn add_record(&mut self, row: Option<FoldRow<'_>>) {
        self.records += 1;
        let Some(row) = row else { return };
        self.scored_records += 1;
        if let Some(fold) = &mut self.fold {
            fold.add(row);
        }
    }

    /// Adds a sample, whose records were counted before; `None` where none of them was scored.
    pub(super) fn add_sample(&mut self, aggregation: &Aggregation, sample: Option<Observed>) {
        self.samples += 1;
        let Some(Observed { score, weight, cluster, is_binary }) = sample else { return };
        self.scores.add(score, weight);
        self.spread.add(score);
        self.is_binary &= is_binary;
        if let Some(clusters) = &mut self.clusters {
            clusters.add(cluster, score);
        }
        if let Some((_, reservoir)) = &mut self.reservoir {
            let weight = if *aggregation == Aggregation::WeightedMean { weight } else { 1.0 };
            reservoir.add(Drawn { score, weight, cluster });
        }
    }

    /// Counts records that never came, so many of them a sample.
    pub(super) fn add_missing(&mut self, records: u64, repeat: u64) {
        self.records += records;
        if records > 0 {
            self.samples = self.samples.max(self.records.div_ceil(repeat.max(1)));
        }
    }

    pub(super) fn finish(mut self, aggregation: &Aggregation) -> Tallied {
        let (n, total) = (self.scores.count(), self.samples);
        let clusters = self.clusters.as_ref().map(ClusterSums::count);
        let coverage = match self.records {
            0 => 0.0,
            // Counts of records stay far below 2^53.
            records => self.scored_records as f64 / records as f64,
        };
        let mut tallied = Tallied {
            value: None,
            n,
            total,
            coverage,
            stderr: None,
            interval: None,
            clusters,
            figures: Vec::new(),
            error: None,
        };
        match self.value() {
            Ok(value) => tallied.value = value,
            Err(error) => tallied.error = Some(error),
        }
        if n == 0 {
            return tallied;
        }
        if let Some(fold) = self.fold.take() {
            match fold.finish() {
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

    /// The standard error and the interval of the value; null where there is no way to know them,
    /// and for fewer than two samples or clusters.
    fn uncertainty(self, aggregation: &Aggregation, value: f64) -> (Option<f64>, Option<Interval>) {
        let is_clustered = self.clusters.is_some();
        let is_mean = matches!(aggregation, Aggregation::Mean | Aggregation::PassRate);
        if let Some(clusters) = self.clusters.as_ref().filter(|_| self.is_binary && is_mean)
            && clusters.standard_error(value).is_some_and(|error| error < NO_SPREAD)
        {
            // Where clusters do not vary, as where all samples are right, the spread between them says nothing of what may
            // be true.
            return (Some(0.0), wilson_of_proportion(value, clusters.effective_count()));
        }
        if let Some((statistic, reservoir)) = self.reservoir {
            let resampled = reservoir.resample(statistic, is_clustered);
            return (resampled.map(|found| found.stderr), resampled.map(|found| found.interval));
        }
        if !is_mean {
            return (None, None);
        }
        let n = self.scores.count();
        let (stderr, interval) = match self.clusters {
            Some(clusters) => {
                let stderr = clusters.standard_error(value);
                let degrees = clusters.count().saturating_sub(1);
                (stderr, t(value, stderr, degrees, IntervalMethod::Cluster))
            }
            None if n < 2 => (None, None),
            None => {
                let stderr = self.spread.standard_error();
                // Where all are equal the spread is nothing, and says nothing of what may be true.
                let is_few = n < MANY_SAMPLES || stderr == Some(0.0);
                let interval = match self.is_binary && is_few {
                    true => wilson_of_proportion(value, n as f64),
                    false => t(value, stderr, n - 1, IntervalMethod::T),
                };
                (stderr, interval)
            }
        };
        (
            stderr,
            interval.map(|interval| if self.is_binary { within_proportions(interval) } else { interval }),
        )
    }
}

fn t(value: f64, stderr: Option<f64>, degrees: u64, method: IntervalMethod) -> Option<Interval> {
    stderr.and_then(|stderr| t_interval(value, stderr, degrees, method))
}

/// A proportion lies between 0 and 1, and so does what may be true of it.
fn within_proportions(interval: Interval) -> Interval {
    Interval { low: interval.low.clamp(0.0, 1.0), high: interval.high.clamp(0.0, 1.0), ..interval }
}

/// What is resampled to find the error of an aggregation; `None` where there is a formula, and
/// where resampling cannot tell either.
fn statistic(aggregation: &Aggregation, is_clustered: bool) -> Option<Statistic> {
    match aggregation {
        Aggregation::WeightedMean => Some(Statistic::WeightedMean),
        Aggregation::PassRate if is_clustered => Some(Statistic::WeightedMean),
        aggregation => per_mille(aggregation).map(Statistic::Quantile),
    }
}

//! Bootstrap of figures that only a component can compute, such as the BLEU of a corpus.
//!
//! Samples, or clusters of samples, are dealt into parts by their name. In each replicate every part counts as often as a
//! Poisson variable of mean 1 says, so that the same part counts equally often in two runs: their replicates are paired.
//!
//! Efron, "Bootstrap Methods: Another Look at the Jackknife", The Annals of Statistics 7 (1979); for the Poisson weights,
//! Chamandy et al., "Estimating Uncertainty for Massive Data Streams" (2012).

use crate::custom_aggregation::{AggregationRow, CustomAggregator, NamedFigure};
use crate::random::mix;
use crate::resamples::Resamples;
use crate::statistics::student_t_975;
use crate::{Interval, IntervalMethod, Z_95};

/// Number of parts. Much fewer would lose precision; more would only cost memory.
const PARTS: usize = 200;

/// Number of replicates.
const REPLICATES: u64 = 1_000;

/// Number of replicates computed in one call of the component, whose fuel is limited.
const BATCH: u64 = 10;

/// Smallest effective number of parts with an interval: about 90 samples or clusters of equal size.
const MIN_EFFECTIVE_PARTS: f64 = 60.0;

/// Number of samples or clusters from which a figure of a component usually has an interval.
pub const MIN_RESAMPLED_UNITS: u64 = 90;

/// Largest bias of the replicates with an interval, in standard errors. A figure such as the calibration error grows with
/// the noise, so its replicates say little about the true value.
const MAX_BIAS: f64 = 0.2;

/// As [`MAX_BIAS`], with fewer effective parts than [`MIN_MANY_PARTS`].
const MAX_BIAS_OF_FEW: f64 = 0.1;

/// Effective number of parts of about 250 samples.
const MIN_MANY_PARTS: f64 = 110.0;

/// Smallest share of replicates that must have the figure.
const MIN_REPLICATES: f64 = 0.9;

/// Deviation of the replicates, relative to the figure, that is only rounding.
const NO_SPREAD: f64 = 1e-14;

/// Cumulative probabilities of a Poisson variable of mean 1.
const POISSON: [f64; 9] = [
    0.367_879_441_171_442,
    0.735_758_882_342_885,
    0.919_698_602_928_606,
    0.981_011_843_123_846,
    0.996_340_153_172_656,
    0.999_405_815_182_418,
    0.999_916_758_850_712,
    0.999_989_750_803_325,
    0.999_998_874_797_402,
];

/// Numbers of rows in the parts of a figure.
#[derive(Debug)]
pub(crate) struct Bootstrap {
    rows: Vec<u64>,
}

impl Bootstrap {
    pub(crate) fn new() -> Bootstrap {
        Bootstrap { rows: vec![0; PARTS] }
    }

    /// Returns the part of a row, by its cluster or else its sample, and counts it.
    pub(crate) fn place(&mut self, row: &AggregationRow<'_>) -> usize {
        // Below the number of parts.
        let part = (mix(row.unit) % PARTS as u64) as usize;
        if let Some(rows) = self.rows.get_mut(part) {
            *rows += 1;
        }
        part
    }

    /// Returns the effective number of parts: all if they are of one size.
    fn effective_parts(&self) -> f64 {
        let sum = |power: i32| self.rows.iter().map(|rows| (*rows as f64).powi(power)).sum::<f64>();
        if sum(1) > 0.0 { sum(1) * sum(1) / sum(2) } else { 0.0 }
    }

    /// Adds intervals and missing standard errors to the figures. Returns the replicates of the first.
    ///
    /// # Errors
    /// The reason why the first figure has no interval; the figures are as before, then.
    pub(crate) fn apply(
        &self,
        aggregator: &mut dyn CustomAggregator,
        figures: &mut [NamedFigure],
    ) -> Result<Resamples, String> {
        let parts = self.effective_parts();
        if parts < MIN_EFFECTIVE_PARTS {
            return Err(format!(
                "there are too few samples or clusters; about {MIN_RESAMPLED_UNITS} are needed"
            ));
        }
        let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); figures.len()];
        for start in (0..REPLICATES).step_by(BATCH as usize) {
            let draw_parts = |replicate| (0..PARTS).map(|part| draw(replicate, part)).collect();
            let draws: Vec<Vec<u32>> = (start..start + BATCH).map(draw_parts).collect();
            for found in aggregator.resample(&draws)? {
                for (values, figure) in values.iter_mut().zip(figures.iter()) {
                    let same = found.iter().find(|other| other.name == figure.name);
                    values.push(same.map(|figure| figure.value).filter(|value| value.is_finite()));
                }
            }
        }
        let mut first = Err("the component has no figure".to_owned());
        for (place, (figure, values)) in figures.iter_mut().zip(values).enumerate() {
            let replicates = Replicates::new(&values, figure.value, parts);
            if let Ok(Some(replicates)) = &replicates {
                figure.stderr = figure.stderr.or(Some(replicates.deviation));
                figure.interval = replicates.interval(parts);
            }
            if place == 0 {
                first = replicates.map(|_| Resamples { parts, values }).map_err(str::to_owned);
            }
        }
        first
    }
}

/// Returns how often a part counts in a replicate.
fn draw(replicate: u64, part: usize) -> u32 {
    let bits = mix(mix(replicate.wrapping_add(1)) ^ mix(part as u64 + 1)) >> 11;
    let chance = bits as f64 / (1_u64 << 53) as f64;
    // At most nine.
    POISSON.iter().filter(|bound| chance >= **bound).count() as u32
}

/// Distribution of the replicates of a figure.
struct Replicates {
    value: f64,
    sorted: Vec<f64>,
    deviation: f64,
}

impl Replicates {
    /// `None` if they do not vary. The error is the reason why they say nothing about the true value.
    fn new(values: &[Option<f64>], value: f64, parts: f64) -> Result<Option<Replicates>, &'static str> {
        let mut sorted: Vec<f64> = values.iter().copied().flatten().collect();
        let count = sorted.len() as f64;
        if count < MIN_REPLICATES * values.len() as f64 || count < 2.0 {
            return Err("too few of its replicates have a value");
        }
        sorted.sort_by(f64::total_cmp);
        let mean = sorted.iter().sum::<f64>() / count;
        let squares = sorted.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>();
        let deviation = (squares / (count - 1.0)).sqrt();
        if deviation <= NO_SPREAD * value.abs() && (mean - value).abs() <= NO_SPREAD * value.abs() {
            return Ok(None);
        }
        let most = if parts < MIN_MANY_PARTS { MAX_BIAS_OF_FEW } else { MAX_BIAS };
        match (mean - value).abs() <= most * deviation {
            true => Ok(Some(Replicates { value, sorted, deviation })),
            false => Err("it grows with the noise, so its replicates are biased"),
        }
    }

    /// Returns the percentile interval, widened for the number of parts, but not beyond the replicates.
    ///
    /// Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015).
    fn interval(&self, parts: f64) -> Option<Interval> {
        let widening = student_t_975(parts - 1.0)? / Z_95 * (parts / (parts - 1.0)).sqrt();
        let tail = self.sorted.len() / 40;
        let (low, high) = (self.sorted.get(tail)?, self.sorted.get(self.sorted.len() - 1 - tail)?);
        let (first, last) = (self.sorted.first()?, self.sorted.last()?);
        let low = (self.value - widening * (self.value - low)).max(*first).min(self.value);
        let high = (self.value + widening * (high - self.value)).min(*last).max(self.value);
        Some(Interval::of_95(low, high, IntervalMethod::Bootstrap))
    }
}

//! Difference of a figure that is not a mean of scores, such as the BLEU of a corpus, by paired bootstrap.
//!
//! The same parts of the samples count equally often in both runs in each replicate. So the spread of the differences of
//! the replicates is that of the difference.

use super::noninferiority::{IMAGINED_SAMPLES, MeanDifference, ROUNDING};
use gage_figures::{Aggregation, MetricFigure, Resamples, Scale};

/// Smallest share of replicates that both runs must have.
const MIN_REPLICATES: f64 = 0.9;

/// Values of the figure in both runs, with the spread of their difference.
#[derive(Clone, Debug)]
pub(super) struct CorpusDifference {
    pub(super) base: f64,
    pub(super) new: f64,
    /// The improvement; negative if the new run is worse.
    pub(super) gain: f64,
    /// Number of samples that each run scored.
    scored: [u64; 2],
    /// Width of the scale, if there is one.
    width: Option<f64>,
    spread: Result<Spread, String>,
}

/// Spread of the difference.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Standard error of the difference.
    error: f64,
    /// Effective number of independent parts of the samples.
    parts: f64,
}

impl CorpusDifference {
    /// `None` if the metric is not aggregated by a component that can resample, or if a run has no value.
    pub(super) fn new(
        figures: [&MetricFigure; 2],
        resamples: [Option<&Resamples>; 2],
        scale: Option<Scale>,
    ) -> Option<CorpusDifference> {
        let is_component = figures.iter().all(|figure| matches!(figure.aggregation, Aggregation::Custom(_)));
        let without = figures.iter().find_map(|figure| figure.no_resamples.as_deref());
        let spread = match (without, resamples) {
            _ if !is_component => return None,
            (Some(reason), _) => Err(format!("the figure cannot be compared: {reason}")),
            (None, [Some(base), Some(new)]) => Spread::new(base, new),
            // The component cannot resample: the mean scores are compared.
            (None, _) => return None,
        };
        let [base, new] = [figures[0].value?, figures[1].value?];
        let sign = if figures[1].higher_is_better { 1.0 } else { -1.0 };
        Some(CorpusDifference {
            base,
            new,
            gain: sign * (new - base),
            scored: figures.map(|figure| figure.n),
            width: scale.map(|[low, high]| high - low),
            spread,
        })
    }

    /// Requires that both runs scored the same samples, of which there are `paired`: the figures are of all.
    pub(super) fn of_pairs(mut self, paired: u64) -> CorpusDifference {
        if self.scored.iter().any(|scored| *scored != paired) {
            let [base, new] = self.scored;
            self.spread = Err(format!(
                "the figure cannot be compared: the baseline scored {base} samples and the new run {new}, of which {paired} \
                 are the same; a figure of all samples needs the same ones"
            ));
        }
        self
    }

    /// Returns the reason why no verdict is possible, if there is one.
    pub(super) fn problem(&self) -> Option<&str> {
        self.spread.as_ref().err().map(String::as_str)
    }

    /// Returns the difference with its uncertainty, for tests.
    pub(super) fn difference(&self, samples: f64) -> Option<MeanDifference> {
        let Spread { error, parts } = *self.spread.as_ref().ok()?;
        let largest = self.base.abs().max(self.new.abs());
        let reach = self.width.unwrap_or(largest).max(f64::MIN_POSITIVE);
        Some(MeanDifference {
            samples,
            reach,
            // Without a scale, it is unknown how much a sample can change.
            imagined: if self.width.is_some() { IMAGINED_SAMPLES } else { 0.0 },
            rounding: ROUNDING * largest,
            mean: self.gain / reach,
            variance: (error / reach).powi(2),
            // Replicates are sums over many samples.
            skewness: 0.0,
            degrees: (parts - 1.0).max(1.0),
            design_effect: 1.0,
            unit_size: samples / parts.max(1.0),
        })
    }
}

impl Spread {
    fn new(base: &Resamples, new: &Resamples) -> Result<Spread, String> {
        let pairs = base.values.iter().zip(&new.values);
        let differences: Vec<f64> = pairs.filter_map(|(base, new)| Some((*new)? - (*base)?)).collect();
        let (count, all) = (differences.len() as f64, base.values.len().max(new.values.len()) as f64);
        if count < 2.0 || count < MIN_REPLICATES * all {
            return Err("the figure cannot be compared: too few of its replicates have a value".to_owned());
        }
        let mean = differences.iter().sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        Ok(Spread { error: (squares / (count - 1.0)).sqrt(), parts: base.parts.min(new.parts) })
    }
}

//! Difference of a figure that is no mean of scores, such as the BLEU of a corpus, by paired bootstrap.
//!
//! The same parts of the samples count equally often in both runs in each replicate. So the spread of the differences of
//! the replicates is that of the difference.

use super::noninferiority::{MeanDifference, ROUNDING};
use gage_figures::{MetricFigure, Resamples};

/// Smallest number of replicates that both runs must have.
const MIN_REPLICATES: usize = 100;

/// Values of the figure in both runs, with the spread of their difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct CorpusDifference {
    pub(super) base: f64,
    pub(super) new: f64,
    /// The improvement; negative if the new run is worse.
    pub(super) gain: f64,
    /// Standard error of the difference.
    error: f64,
    /// Effective number of independent parts of the samples.
    parts: f64,
}

impl CorpusDifference {
    /// `None` if a run has no value or too few replicates.
    pub(super) fn new(
        figures: [&MetricFigure; 2],
        resamples: [Option<&Resamples>; 2],
    ) -> Option<CorpusDifference> {
        let [Some(base_resamples), Some(new_resamples)] = resamples else { return None };
        let [base, new] = [figures[0].value?, figures[1].value?];
        let pairs = base_resamples.values.iter().zip(&new_resamples.values);
        let differences: Vec<f64> = pairs.filter_map(|(base, new)| Some((*new)? - (*base)?)).collect();
        if differences.len() < MIN_REPLICATES {
            return None;
        }
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        let sign = if figures[1].higher_is_better { 1.0 } else { -1.0 };
        Some(CorpusDifference {
            base,
            new,
            gain: sign * (new - base),
            error: (squares / (count - 1.0)).sqrt(),
            parts: base_resamples.parts.min(new_resamples.parts),
        })
    }

    /// Returns the difference with its uncertainty, for tests; `reach` is the width of the figure's scale.
    pub(super) fn difference(&self, samples: f64, reach: f64) -> Option<MeanDifference> {
        let reach = reach.is_normal().then_some(reach)?;
        Some(MeanDifference {
            samples,
            reach,
            rounding: ROUNDING * reach.max(self.base.abs()).max(self.new.abs()),
            mean: self.gain / reach,
            variance: (self.error / reach).powi(2),
            // Replicates are sums over many samples.
            skewness: 0.0,
            degrees: (self.parts - 1.0).max(1.0),
            design_effect: 1.0,
        })
    }
}

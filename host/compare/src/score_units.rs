//! Independent units of paired scores other than 0 and 1, and the mean of their differences.

use super::noninferiority::{IMAGINED_SAMPLES, MeanDifference, ROUNDING};
use gage_figures::RobustMean;

/// Independent units: samples, or clusters of samples. A unit's total is the sum of the differences of its
/// samples, positive if the new run is better.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoreUnits {
    pub(super) totals: Vec<f64>,
    /// Number of samples in each unit.
    pub(super) sizes: Vec<f64>,
    /// Sum of the squared deviations of the differences from the means of their units; 0 for units of one sample.
    pub(super) within: f64,
    /// The largest possible difference of one sample.
    pub(super) reach: f64,
    /// The largest score.
    pub(super) largest: f64,
}

impl ScoreUnits {
    fn count(&self) -> f64 {
        self.totals.len() as f64
    }

    fn samples(&self) -> f64 {
        self.sizes.iter().sum()
    }

    /// Returns the largest deviation of a sample that counts as rounding.
    fn rounding(&self) -> f64 {
        ROUNDING * self.reach.max(self.largest)
    }

    /// Adds other units.
    pub(super) fn add(&mut self, others: ScoreUnits) {
        self.totals.extend(others.totals);
        self.sizes.extend(others.sizes);
        self.within += others.within;
        self.reach = self.reach.max(others.reach);
        self.largest = self.largest.max(others.largest);
    }

    /// Returns the size of a sample's unit, averaged over the samples.
    fn usual_size(&self) -> f64 {
        self.sizes.iter().map(|size| size * size).sum::<f64>() / self.samples()
    }

    /// Returns the mean of the units in units of the reach, so that no power of it overflows. `None` for fewer than two
    /// units, or if no sample can change.
    fn mean(&self) -> Option<RobustMean> {
        let scale = self.reach.is_normal().then_some(self.reach)?;
        RobustMean::of_units(self.totals.iter().zip(&self.sizes).map(|(total, size)| (total / scale, *size)))
    }

    /// Returns the intraclass correlation of the differences, from 0 to 1: 0 if they do not vary.
    ///
    /// The estimator is that of the analysis of variance for groups of unequal size: Donner, "A Review of Inference
    /// Procedures for the Intraclass Correlation Coefficient in the One-Way Random Effects Model", International
    /// Statistical Review 54 (1986).
    fn correlation(&self) -> f64 {
        let (units, samples) = (self.count(), self.samples());
        if samples <= units {
            return 1.0;
        }
        let mean = self.totals.iter().sum::<f64>() / samples;
        let deviation = |total: f64, size: f64| (total - size * mean).powi(2) / size;
        let between: f64 =
            self.totals.iter().zip(&self.sizes).map(|(total, size)| deviation(*total, *size)).sum();
        if between + self.within <= self.rounding().powi(2) * samples {
            return 0.0;
        }
        let (between, within) = (between / (units - 1.0), self.within / (samples - units));
        let size = (samples - self.usual_size()) / (units - 1.0);
        ((between - within) / (size - 1.0).mul_add(within, between)).clamp(0.0, 1.0)
    }

    /// Returns the factor by which the clusters reduce the number of samples (the design effect): from 1 to the size of a
    /// cluster, by the correlation of the differences. Kish, "Survey Sampling" (1965).
    fn design_effect(&self) -> f64 {
        (self.usual_size() - 1.0).mul_add(self.correlation(), 1.0)
    }

    /// Returns the mean difference of a sample. `None` for fewer than two units, or if no sample can change.
    pub(super) fn difference(&self) -> Option<MeanDifference> {
        let RobustMean { mean, variance, skewness, degrees, .. } = self.mean()?;
        Some(MeanDifference {
            samples: self.samples(),
            reach: self.reach,
            rounding: self.rounding(),
            mean,
            variance,
            skewness,
            degrees,
            design_effect: self.design_effect(),
            imagined: IMAGINED_SAMPLES,
            unit_size: self.samples() / self.count(),
        })
    }
}

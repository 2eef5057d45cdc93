//! Clusters: the standard error of the mean of dependent samples.

use crate::CompensatedSum;
use std::collections::BTreeMap;

/// Sums of scores by cluster, such as questions about one text or turns of one conversation. Keeps about
/// fifty bytes per cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSums(BTreeMap<u64, Cluster>);

#[derive(Clone, Copy, Debug, Default)]
struct Cluster {
    weight: f64,
    /// Sum of the scores times their weights.
    sum: CompensatedSum,
}

impl ClusterSums {
    /// Adds a score with its weight, 1 if all are weighted equally.
    pub(crate) fn add(&mut self, cluster: u64, score: f64, weight: f64) {
        let cluster = self.0.entry(cluster).or_default();
        cluster.weight += weight;
        cluster.sum.add(score * weight);
    }

    /// Returns the number of clusters.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the effective number of independent samples, at least: `n² / Σ m²` for clusters of m samples (or of weight
    /// m).
    ///
    /// It is the number of clusters if all have the same size, and near 1 if one has nearly all samples. It assumes the
    /// worst case, in which the samples of a cluster are all alike.
    ///
    /// Kish, "Survey Sampling" (1965), section 5.4, with a correlation of 1.
    pub(crate) fn effective_count(&self) -> f64 {
        let weights = || self.0.values().map(|cluster| cluster.weight);
        let all: f64 = weights().sum();
        all * all / weights().map(|weight| weight * weight).sum::<f64>()
    }

    /// Returns the cluster-robust standard error of the mean: the square root of
    /// `G / (G − 1) · Σ (sum of the residuals of a cluster)² / n²` over G clusters, where each sample counts by its weight.
    ///
    /// It equals the ordinary one if every sample is its own cluster and all weights are equal. `None` for fewer than two
    /// clusters, without any weight, or beyond the range of `f64`.
    ///
    /// This is the sandwich estimator of Liang and Zeger, "Longitudinal data analysis using generalized linear models",
    /// Biometrika 73 (1986), for a mean. The correction for few clusters is from Cameron and Miller, "A Practitioner's
    /// Guide to Cluster-Robust Inference", Journal of Human Resources 50 (2015).
    pub(crate) fn standard_error(&self, mean: f64) -> Option<f64> {
        if self.0.len() < 2 {
            return None;
        }
        let mut squares = CompensatedSum::default();
        let mut samples = 0.0;
        for Cluster { weight, sum } in self.0.values() {
            let residual = (-weight).mul_add(mean, sum.total());
            squares.add(residual * residual);
            samples += weight;
        }
        let clusters = self.0.len() as f64;
        let variance = clusters / (clusters - 1.0) * squares.total() / samples / samples;
        Some(variance.sqrt()).filter(|error| error.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;
    use proptest::prelude::*;

    fn error(scores: &[(u64, f64)]) -> Option<f64> {
        let mut sums = ClusterSums::default();
        scores.iter().for_each(|(cluster, score)| sums.add(*cluster, *score, 1.0));
        let mean = scores.iter().map(|(_, score)| score).sum::<f64>() / scores.len() as f64;
        sums.standard_error(mean)
    }

    #[test]
    fn errors_are_those_of_the_formula() {
        // By hand: the mean is 0.5, the residuals sum to 1, -1 and 0.
        let scores = [(1, 1.0), (1, 1.0), (2, 0.0), (2, 0.0), (3, 1.0), (3, 0.0)];
        let expected = (1.5 * 2.0 / 36.0_f64).sqrt();
        assert!((error(&scores).unwrap() - expected).abs() < 1e-15);
        assert_eq!(error(&scores[..2]), None);
        // Weighted, the mean is 0.75, and the residuals sum to 3 · 0.25 and -0.75.
        let mut weighted = ClusterSums::default();
        weighted.add(1, 1.0, 3.0);
        weighted.add(2, 0.0, 1.0);
        let expected = (2.0 * 2.0 * 0.75 * 0.75 / 16.0_f64).sqrt();
        assert!((weighted.standard_error(0.75).unwrap() - expected).abs() < 1e-15);
        let mut weightless = ClusterSums::default();
        weightless.add(1, 1.0, 0.0);
        weightless.add(2, 0.0, 0.0);
        assert_eq!(weightless.standard_error(0.0), None);
        assert_eq!(error(&[]), None);
    }

    #[test]
    fn clusters_count_as_what_they_are_at_least() {
        for (sizes, expected) in [
            (vec![1, 1, 1, 1], 4.0),
            (vec![5, 5, 5], 3.0),
            (vec![3, 1], 1.6),
            (vec![998, 1, 1], 1e6 / 996_006.0),
        ] {
            let mut sums = ClusterSums::default();
            (0..).zip(sizes).for_each(|(cluster, size)| (0..size).for_each(|_| sums.add(cluster, 1.0, 1.0)));
            assert!((sums.effective_count() - expected).abs() < 1e-12, "{expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn clusters_of_one_give_the_ordinary_error(scores in prop::collection::vec(-1e3..1e3, 2..100)) {
            let mut spread = Spread::default();
            scores.iter().for_each(|score| spread.add(*score));
            let clustered: Vec<(u64, f64)> = (0..).zip(scores).collect();
            let (one, two) = (error(&clustered).unwrap(), spread.standard_error().unwrap());
            prop_assert!((one - two).abs() <= 1e-9 * two.max(1.0), "{one} {two}");
        }
    }
}

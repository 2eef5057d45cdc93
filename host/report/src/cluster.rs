//! The standard error of a mean of samples that are not independent.

use crate::CompensatedSum;
use std::collections::BTreeMap;

/// Sums of scores by cluster: questions about one text, turns of one conversation. Keeps some
/// fifty bytes a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSums(BTreeMap<u64, (u64, CompensatedSum)>);

impl ClusterSums {
    pub(crate) fn add(&mut self, cluster: u64, score: f64) {
        let (count, sum) = self.0.entry(cluster).or_default();
        *count += 1;
        sum.add(score);
    }

    /// Number of clusters.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The cluster-robust standard error of the mean: the square root of
    /// `G / (G − 1) · Σ (sum of the residuals of a cluster)² / n²` over G clusters. It is the
    /// ordinary one where every sample is a cluster of its own. `None` for fewer than two clusters,
    /// and beyond the range of `f64`.
    ///
    /// The sandwich estimator of Liang and Zeger, "Longitudinal data analysis using generalized
    /// linear models", Biometrika 73 (1986), for a mean; with the correction for few clusters of
    /// Cameron and Miller, "A Practitioner's Guide to Cluster-Robust Inference", Journal of Human
    /// Resources 50 (2015).
    pub(crate) fn standard_error(&self, mean: f64) -> Option<f64> {
        if self.0.len() < 2 {
            return None;
        }
        let mut squares = CompensatedSum::default();
        let mut samples = 0;
        for (count, sum) in self.0.values() {
            let residual = (-(*count as f64)).mul_add(mean, sum.total());
            squares.add(residual * residual);
            samples += count;
        }
        let (clusters, samples) = (self.0.len() as f64, samples as f64);
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
        scores.iter().for_each(|(cluster, score)| sums.add(*cluster, *score));
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
        assert_eq!(error(&[]), None);
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

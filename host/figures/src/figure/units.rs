//! Independent units of a figure: samples, or clusters of samples.

use crate::accumulator::per_mille;
use crate::{Aggregation, CompensatedSum, RobustMean, Spread};
use std::collections::BTreeMap;

/// The scores of a figure, as far as its interval needs them.
pub(super) enum Units {
    /// Samples that count equally.
    Samples(Spread),
    /// Samples with weights: the score times the weight, and the weight.
    Weighted(Vec<(f64, f64)>),
    /// Clusters of samples, about fifty bytes each.
    Clusters(BTreeMap<u64, Cluster>),
    /// Scores with their clusters, for a quantile.
    Ranked(Vec<(f64, u64)>),
}

/// Sum of the weights of a cluster, and of the scores times their weights.
#[derive(Default)]
pub(super) struct Cluster {
    weight: f64,
    sum: CompensatedSum,
}

impl Units {
    pub(super) fn new(aggregation: &Aggregation, is_clustered: bool) -> Units {
        match (per_mille(aggregation), is_clustered) {
            (Some(_), true) => Units::Ranked(Vec::new()),
            (None, true) => Units::Clusters(BTreeMap::new()),
            (None, false) if *aggregation == Aggregation::WeightedMean => Units::Weighted(Vec::new()),
            (_, false) => Units::Samples(Spread::default()),
        }
    }

    /// Adds a score with its weight, 1 if all samples count equally.
    pub(super) fn add(&mut self, score: f64, weight: f64, cluster: u64) {
        match self {
            Units::Samples(spread) => spread.add(score),
            Units::Weighted(units) => units.push((score * weight, weight)),
            Units::Clusters(clusters) => {
                let cluster = clusters.entry(cluster).or_default();
                cluster.weight += weight;
                cluster.sum.add(score * weight);
            }
            Units::Ranked(scores) => scores.push((score, cluster)),
        }
    }

    /// Returns the number of clusters; `None` if the samples are not clustered.
    pub(super) fn clusters(&self) -> Option<u64> {
        match self {
            Units::Samples(_) | Units::Weighted(_) => None,
            Units::Clusters(clusters) => Some(clusters.len() as u64),
            Units::Ranked(scores) => {
                let clusters: std::collections::BTreeSet<u64> =
                    scores.iter().map(|(_, cluster)| *cluster).collect();
                Some(clusters.len() as u64)
            }
        }
    }

    /// Returns whether the units are samples that count equally.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Units::Samples(_))
    }

    /// Returns the scores with their clusters, for a quantile of clustered samples.
    pub(super) fn ranked(&mut self) -> Option<&mut Vec<(f64, u64)>> {
        match self {
            Units::Ranked(scores) => Some(scores),
            _ => None,
        }
    }

    /// Returns the mean over the units; `None` for fewer than two.
    pub(super) fn robust_mean(&self) -> Option<RobustMean> {
        match self {
            Units::Samples(spread) => spread.robust_mean(),
            Units::Weighted(units) => RobustMean::of_units(units.iter().copied()),
            Units::Clusters(clusters) => {
                RobustMean::of_units(clusters.values().map(|cluster| (cluster.sum.total(), cluster.weight)))
            }
            Units::Ranked(_) => None,
        }
    }
}

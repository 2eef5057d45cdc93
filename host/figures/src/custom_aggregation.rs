//! Custom aggregations: a component computes figures from the score cards.

use crate::statistics::Interval;
use gage_core::ScoreCard;
use serde::{Deserialize, Serialize};

/// Computes figures from score cards in one pass, in dataset order. One aggregator is created for every
/// metric with [`Aggregation::Custom`](crate::Aggregation::Custom), and one for each of its slices.
pub trait CustomAggregator: Send {
    /// Adds the next card.
    ///
    /// # Errors
    /// The reason why there can be no figure. Nothing is added after that.
    fn add(&mut self, row: AggregationRow<'_>) -> Result<(), String>;

    /// Returns whether a card without a primary score still counts, because the aggregator reads other parts
    /// of it.
    fn counts_unscored(&self, _card: &ScoreCard) -> bool {
        false
    }

    /// Returns whether it can compute figures of resamples.
    fn is_resampled(&self) -> bool {
        false
    }

    /// Adds a card to one of the parts that [`resample`](CustomAggregator::resample) combines.
    ///
    /// # Errors
    /// Same as for [`CustomAggregator::add`].
    fn add_to_part(&mut self, _part: usize, _row: AggregationRow<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Returns the figures of each draw, for which every part counts as often as the draw says.
    ///
    /// # Errors
    /// The reason why such figures cannot be computed.
    fn resample(&mut self, _draws: &[Vec<u32>]) -> Result<Vec<Vec<NamedFigure>>, String> {
        Ok(Vec::new())
    }

    /// Returns the figures, the metric's value first.
    ///
    /// # Errors
    /// The reason why there is no figure.
    fn finish(&mut self) -> Result<Vec<NamedFigure>, String>;
}

/// Returns the aggregator of a metric by the ids of its task and of the metric; if `None`, the metric has
/// no figure.
pub type CustomAggregators<'a> = &'a (dyn Fn(&str, &str) -> Option<Box<dyn CustomAggregator>> + Sync);

/// Returns `None` for every metric, for runs without custom aggregators.
pub fn no_custom_aggregators(_task_id: &str, _metric_id: &str) -> Option<Box<dyn CustomAggregator>> {
    None
}

/// One scored card. A repeated sample has a row for each repeat, consecutively and with the same id.
#[derive(Clone, Copy, Debug)]
pub struct AggregationRow<'a> {
    /// The sample.
    pub sample_id: &'a str,
    /// Weight of the row: `detail.weight` of the card, 1 if absent.
    pub weight: f64,
    /// Score card of the metric.
    pub card: &'a ScoreCard,
    /// Number of the sample's cluster; `None` if the task has no clusters.
    pub cluster: Option<u64>,
    /// Hash of the name of the cluster, or of the sample without clusters.
    pub unit: u64,
}

/// A figure returned by an aggregator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedFigure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The standard error, if there is one.
    pub stderr: Option<f64>,
    /// The confidence interval, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Number of rows that it covers.
    pub n: u64,
}

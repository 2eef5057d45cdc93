//! Custom aggregations: a component computes figures from the score cards.

use crate::statistics::is_no_spread;
use gage_core::ScoreCard;
use serde::{Deserialize, Serialize};

/// Computes figures from score cards in one pass, in dataset order. One aggregator is created for every
/// metric with [`Aggregation::Custom`](crate::Aggregation::Custom), and one for each of its slices.
pub trait CustomAggregator {
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

    /// Returns the figures, the metric's value first.
    ///
    /// # Errors
    /// The reason why there is no figure.
    fn finish(self: Box<Self>) -> Result<Vec<NamedFigure>, String>;
}

/// Returns the aggregator of a metric by the ids of its task and of the metric; if `None`, the metric has
/// no figure.
pub type CustomAggregators<'a> = &'a dyn Fn(&str, &str) -> Option<Box<dyn CustomAggregator>>;

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
    /// Number of rows that it covers.
    pub n: u64,
}

/// Maximum number of figures kept from an aggregator.
const MAX_FIGURES: usize = 1_000;

/// An aggregator, or the reason why it failed.
pub(crate) struct AggregatorState(Result<Box<dyn CustomAggregator>, String>);

impl AggregatorState {
    pub(crate) fn new(name: &str, aggregator: Option<Box<dyn CustomAggregator>>) -> AggregatorState {
        AggregatorState(aggregator.ok_or_else(|| {
            format!("there is no aggregator '{name}'; name one of the host's, or a component that is loaded")
        }))
    }

    pub(crate) fn add(&mut self, row: AggregationRow<'_>) {
        if let Ok(aggregator) = &mut self.0
            && let Err(error) = aggregator.add(row)
        {
            self.0 = Err(error);
        }
    }

    pub(crate) fn counts_unscored(&self, card: &ScoreCard) -> bool {
        self.0.as_ref().is_ok_and(|aggregator| aggregator.counts_unscored(card))
    }

    /// Returns the figures: at least one, all finite. A standard error of zero is dropped: it comes from samples that do not
    /// vary, and carries no information about the true value.
    pub(crate) fn finish(self) -> Result<Vec<NamedFigure>, String> {
        let mut figures = self.0?.finish()?;
        let is_wrong = |figure: &&NamedFigure| {
            !figure.value.is_finite() || figure.stderr.is_some_and(|error| !error.is_finite() || error < 0.0)
        };
        if let Some(wrong) = figures.iter().find(is_wrong) {
            return Err(format!(
                "the aggregator gave the figure '{}' a value or an error that is not a number; \
                 values must be finite, and errors not negative",
                wrong.name
            ));
        }
        if figures.is_empty() {
            return Err(
                "none of the samples has the values that this aggregation needs, so there is no figure"
                    .to_owned(),
            );
        }
        figures.truncate(MAX_FIGURES);
        for figure in &mut figures {
            figure.stderr = figure.stderr.filter(|error| !is_no_spread(*error, figure.value.abs()));
        }
        Ok(figures)
    }
}

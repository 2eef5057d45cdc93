//! Custom aggregations: a component computes figures from the score cards.

use crate::bootstrap::{Bootstrap, Resamples};
use crate::statistics::{Interval, is_no_spread};
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
    /// The reason why there are no such figures.
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
    /// The confidence interval, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Number of rows that it covers.
    pub n: u64,
}

/// Maximum number of figures kept from an aggregator.
const MAX_FIGURES: usize = 1_000;

/// An aggregator, or the reason why it failed.
pub(crate) struct AggregatorState {
    aggregator: Result<Box<dyn CustomAggregator>, String>,
    /// `None` if its figures get no intervals.
    bootstrap: Option<Bootstrap>,
}

/// Figures of an aggregator.
pub(crate) struct AggregatedFigures {
    /// The figures, at least one, all finite.
    pub(crate) figures: Vec<NamedFigure>,
    /// Replicates of the first, if it was resampled.
    pub(crate) resamples: Option<Resamples>,
}

impl AggregatorState {
    pub(crate) fn new(name: &str, aggregator: Option<Box<dyn CustomAggregator>>) -> AggregatorState {
        let aggregator = aggregator.ok_or_else(|| {
            format!("there is no aggregator '{name}'; name one of the host's, or a component that is loaded")
        });
        AggregatorState { aggregator, bootstrap: None }
    }

    /// Lets the figures get intervals, if the aggregator can resample its rows. Must be called before the first row.
    pub(crate) fn resampled(mut self) -> AggregatorState {
        let can = self.aggregator.as_ref().is_ok_and(|aggregator| aggregator.is_resampled());
        self.bootstrap = can.then(Bootstrap::new);
        self
    }

    pub(crate) fn add(&mut self, row: AggregationRow<'_>) {
        let Ok(aggregator) = &mut self.aggregator else { return };
        let mut added = aggregator.add(row);
        if let Some(bootstrap) = &mut self.bootstrap {
            added = added.and_then(|()| aggregator.add_to_part(bootstrap.place(&row), row));
        }
        if let Err(error) = added {
            self.aggregator = Err(error);
        }
    }

    pub(crate) fn counts_unscored(&self, card: &ScoreCard) -> bool {
        self.aggregator.as_ref().is_ok_and(|aggregator| aggregator.counts_unscored(card))
    }

    /// Returns the figures. A standard error of zero is dropped: it comes from samples that do not vary, and carries no
    /// information about the true value.
    pub(crate) fn finish(self) -> Result<AggregatedFigures, String> {
        let mut aggregator = self.aggregator?;
        let mut figures = aggregator.finish()?;
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
        let resamples = match &self.bootstrap {
            Some(bootstrap) => bootstrap.apply(&mut *aggregator, &mut figures)?,
            None => None,
        };
        Ok(AggregatedFigures { figures, resamples })
    }
}

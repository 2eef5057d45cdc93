//! Custom aggregations: a component makes figures of the score cards.

use crate::statistics::is_no_spread;
use gage_core::ScoreCard;
use serde::{Deserialize, Serialize};

/// Makes figures of score cards that are seen once, in dataset order. One aggregator is made for every
/// metric with [`Aggregation::Custom`](crate::Aggregation::Custom), and one for each of its slices.
pub trait CustomAggregator {
    /// Adds the next card.
    ///
    /// # Errors
    /// Why there can be no figure. Nothing is added after that.
    fn add(&mut self, row: AggregationRow<'_>) -> Result<(), String>;

    /// Returns whether a card without a primary score counts all the same, since the aggregator reads something
    /// else of it.
    fn counts_unscored(&self, _card: &ScoreCard) -> bool {
        false
    }

    /// The figures, the one that counts first.
    ///
    /// # Errors
    /// Why there is no figure.
    fn finish(self: Box<Self>) -> Result<Vec<NamedFigure>, String>;
}

/// Gives the aggregator of a metric by the ids of its task and of the metric; `None` where there is
/// none, and then the metric has no figure.
pub type CustomAggregators<'a> = &'a dyn Fn(&str, &str) -> Option<Box<dyn CustomAggregator>>;

/// For runs without custom aggregators: no metric has one.
pub fn no_custom_aggregators(_task_id: &str, _metric_id: &str) -> Option<Box<dyn CustomAggregator>> {
    None
}

/// One scored card. A sample that was repeated has a row for each repeat, one after the other and
/// with the same id.
#[derive(Clone, Copy, Debug)]
pub struct AggregationRow<'a> {
    /// The sample.
    pub sample_id: &'a str,
    /// How much it counts: `detail.weight` of the card, 1 where it says nothing.
    pub weight: f64,
    /// What the metric said.
    pub card: &'a ScoreCard,
    /// The number of the sample's cluster, where the task has clusters.
    pub cluster: Option<u64>,
}

/// A figure that an aggregator gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedFigure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The standard error, where there is one.
    pub stderr: Option<f64>,
    /// How many rows it stands for.
    pub n: u64,
}

/// Most figures of an aggregator that are kept.
const MAX_FIGURES: usize = 1_000;

/// An aggregator, or why there is none any more.
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

    /// The figures: at least one, all of them finite. A standard error of nothing is none: it is that of samples that do not vary,
    /// and says nothing of what may be true.
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
                "none of the samples holds what this aggregation counts, so it gave no figure".to_owned()
            );
        }
        figures.truncate(MAX_FIGURES);
        for figure in &mut figures {
            figure.stderr = figure.stderr.filter(|error| !is_no_spread(*error, figure.value.abs()));
        }
        Ok(figures)
    }
}

//! Aggregation by a component in progress, with the bootstrap of its figures.

use crate::bootstrap::Bootstrap;
use crate::custom_aggregation::{AggregationRow, CustomAggregator, NamedFigure};
use crate::resamples::Resamples;
use crate::statistics::is_no_spread;
use gage_core::ScoreCard;

/// Maximum number of figures kept from an aggregator.
const MAX_FIGURES: usize = 1_000;

/// An aggregator, or the reason why it failed.
pub(crate) struct AggregatorState {
    aggregator: Result<Box<dyn CustomAggregator>, String>,
    /// The parts for intervals, or the reason why they failed; `None` if the aggregator cannot resample.
    bootstrap: Option<Result<Bootstrap, String>>,
}

/// Figures of an aggregator.
pub(crate) struct AggregatedFigures {
    /// The figures, at least one, all finite.
    pub(crate) figures: Vec<NamedFigure>,
    /// Replicates of the first, or the reason why there are none; `None` if the aggregator cannot resample.
    pub(crate) resamples: Option<Result<Resamples, String>>,
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
        self.bootstrap = can.then(|| Ok(Bootstrap::new()));
        self
    }

    pub(crate) fn add(&mut self, row: AggregationRow<'_>) {
        let Ok(aggregator) = &mut self.aggregator else { return };
        if let Err(error) = aggregator.add(row) {
            self.aggregator = Err(error);
            return;
        }
        // A part that fails costs only the intervals.
        if let Some(Ok(bootstrap)) = &mut self.bootstrap
            && let Err(error) = aggregator.add_to_part(bootstrap.place(&row), row)
        {
            self.bootstrap = Some(Err(error));
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
        let apply = |bootstrap: Bootstrap| bootstrap.apply(&mut *aggregator, &mut figures);
        let resamples = self.bootstrap.map(|bootstrap| bootstrap.and_then(apply));
        Ok(AggregatedFigures { figures, resamples })
    }
}

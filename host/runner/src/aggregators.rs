//! The aggregator components of a run, adapted for reports.

use gage_core::ScoreCard;
use gage_engine::Scoring;
use gage_figures::{AggregationRow, CustomAggregator, NamedFigure};
use gage_plugin::{Aggregator, AggregatorRow, AggregatorState, ItemError};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of rows passed in one call.
const BATCH: usize = 256;

/// The aggregators of a run, by task and metric.
pub(super) struct Aggregators(HashMap<(String, String), Arc<Aggregator>>);

impl Aggregators {
    pub(super) fn new<'s>(scoring: impl Iterator<Item = &'s Scoring>) -> Aggregators {
        let of_task = |scoring: &'s Scoring| {
            scoring.metrics.iter().filter_map(move |planned| {
                let aggregator = Arc::clone(planned.aggregator.as_ref()?);
                Some(((scoring.task_id.clone(), planned.metric_id.clone()), aggregator))
            })
        };
        Aggregators(scoring.flat_map(of_task).collect())
    }

    /// Returns an empty aggregation, or `None` if the metric has no aggregator.
    pub(super) fn fold(&self, task_id: &str, metric_id: &str) -> Option<Box<dyn CustomAggregator>> {
        let aggregator = self.0.get(&(task_id.to_owned(), metric_id.to_owned()))?;
        Some(Box::new(PluginAggregation {
            aggregator: Arc::clone(aggregator),
            state: AggregatorState::default(),
            rows: Vec::with_capacity(BATCH),
            is_clustered: false,
        }))
    }
}

/// An aggregation in progress.
struct PluginAggregation {
    aggregator: Arc<Aggregator>,
    state: AggregatorState,
    rows: Vec<AggregatorRow>,
    /// True if the samples are clustered.
    is_clustered: bool,
}

/// Key of the cluster number in a card's detail.
const CLUSTER: &str = "cluster";

impl PluginAggregation {
    fn hand_over(&mut self) -> Result<(), String> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let state = std::mem::take(&mut self.state);
        self.state = self.aggregator.fold(state, &self.rows).map_err(message_of)?;
        self.rows.clear();
        Ok(())
    }
}

impl CustomAggregator for PluginAggregation {
    fn add(&mut self, row: AggregationRow<'_>) -> Result<(), String> {
        let mut card = row.card.clone();
        self.is_clustered |= row.cluster.is_some();
        if let Some(cluster) = row.cluster.filter(|_| self.aggregator.knows_clusters()) {
            let mut detail = card.detail.into_value();
            detail[CLUSTER] = cluster.into();
            card.detail = detail.into();
        }
        let sample_id = row.sample_id.to_owned();
        self.rows.push(AggregatorRow { sample_id, weight: row.weight, card });
        if self.rows.len() < BATCH { Ok(()) } else { self.hand_over() }
    }

    fn counts_unscored(&self, card: &ScoreCard) -> bool {
        self.aggregator.unscored_member().is_some_and(|member| card.detail.get(member).is_some())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<NamedFigure>, String> {
        self.hand_over()?;
        let figures = self.aggregator.finish(&self.state).map_err(message_of)?;
        // Treating clustered samples as independent would underestimate the standard error.
        let is_sound = !self.is_clustered || self.aggregator.knows_clusters();
        let named = figures.into_iter().map(|figure| NamedFigure {
            name: figure.name,
            value: figure.value,
            stderr: figure.stderr.filter(|_| is_sound),
            n: figure.count,
        });
        Ok(named.collect())
    }
}

fn message_of(error: ItemError) -> String {
    format!("{}: {}", error.kind, error.message)
}

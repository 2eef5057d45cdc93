//! The aggregator components of a run, adapted for reports.

use gage_core::ScoreCard;
use gage_engine::Scoring;
use gage_figures::{AggregationRow, CustomAggregator, NamedFigure};
use gage_plugin::{Aggregator, AggregatorFigure, AggregatorRow, AggregatorState, ItemError};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of rows passed in one call.
const BATCH: usize = 256;

/// Number of rows of a part passed in one call. There are many parts, and their rows wait in memory.
const PART_BATCH: usize = 16;

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

    /// Returns true if no metric has an aggregator.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an empty aggregation, or `None` if the metric has no aggregator.
    pub(super) fn fold(&self, task_id: &str, metric_id: &str) -> Option<Box<dyn CustomAggregator>> {
        let aggregator = self.0.get(&(task_id.to_owned(), metric_id.to_owned()))?;
        Some(Box::new(PluginAggregation {
            aggregator: Arc::clone(aggregator),
            state: AggregatorState::default(),
            rows: Vec::with_capacity(BATCH),
            is_clustered: false,
            parts: Vec::new(),
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
    /// Parts of the rows, for resampling.
    parts: Vec<PartialAggregation>,
}

/// Aggregation of some of the rows.
#[derive(Default)]
struct PartialAggregation {
    state: AggregatorState,
    rows: Vec<AggregatorRow>,
}

/// Key of the cluster number in a card's detail.
const CLUSTER: &str = "cluster";

impl PluginAggregation {
    fn row(&self, row: AggregationRow<'_>) -> AggregatorRow {
        let mut card = row.card.clone();
        if let Some(cluster) = row.cluster.filter(|_| self.aggregator.knows_clusters()) {
            let mut detail = card.detail.into_value();
            detail[CLUSTER] = cluster.into();
            card.detail = detail.into();
        }
        AggregatorRow { sample_id: row.sample_id.to_owned(), weight: row.weight, card }
    }
}

/// Adds the rows to the state, and removes them.
fn hand_over(
    aggregator: &Aggregator,
    state: &mut AggregatorState,
    rows: &mut Vec<AggregatorRow>,
) -> Result<(), String> {
    if rows.is_empty() {
        return Ok(());
    }
    *state = aggregator.fold(std::mem::take(state), rows).map_err(message_of)?;
    rows.clear();
    Ok(())
}

fn named(figure: AggregatorFigure) -> NamedFigure {
    let AggregatorFigure { name, value, stderr, count } = figure;
    NamedFigure { name, value, stderr, interval: None, n: count }
}

impl CustomAggregator for PluginAggregation {
    fn add(&mut self, row: AggregationRow<'_>) -> Result<(), String> {
        self.is_clustered |= row.cluster.is_some();
        self.rows.push(self.row(row));
        if self.rows.len() < BATCH {
            return Ok(());
        }
        hand_over(&self.aggregator, &mut self.state, &mut self.rows)
    }

    fn is_resampled(&self) -> bool {
        self.aggregator.merges()
    }

    fn add_to_part(&mut self, part: usize, row: AggregationRow<'_>) -> Result<(), String> {
        let row = self.row(row);
        if self.parts.len() <= part {
            self.parts.resize_with(part + 1, PartialAggregation::default);
        }
        let Some(PartialAggregation { state, rows }) = self.parts.get_mut(part) else { return Ok(()) };
        rows.push(row);
        if rows.len() < PART_BATCH { Ok(()) } else { hand_over(&self.aggregator, state, rows) }
    }

    fn resample(&mut self, draws: &[Vec<u32>]) -> Result<Vec<Vec<NamedFigure>>, String> {
        for PartialAggregation { state, rows } in &mut self.parts {
            hand_over(&self.aggregator, state, rows)?;
        }
        let states: Vec<AggregatorState> = self.parts.iter().map(|part| part.state.clone()).collect();
        let draws: Vec<Vec<u32>> =
            draws.iter().map(|draw| draw.iter().take(states.len()).copied().collect()).collect();
        let found = self.aggregator.resample(&states, &draws).map_err(message_of)?;
        Ok(found.into_iter().map(|figures| figures.into_iter().map(named).collect()).collect())
    }

    fn counts_unscored(&self, card: &ScoreCard) -> bool {
        self.aggregator.unscored_member().is_some_and(|member| card.detail.get(member).is_some())
    }

    fn finish(&mut self) -> Result<Vec<NamedFigure>, String> {
        hand_over(&self.aggregator, &mut self.state, &mut self.rows)?;
        let figures = self.aggregator.finish(&self.state).map_err(message_of)?;
        // Treating clustered samples as independent would underestimate the standard error.
        let is_sound = !self.is_clustered || self.aggregator.knows_clusters();
        let figures = figures.into_iter().map(named);
        Ok(figures
            .map(|figure| NamedFigure { stderr: figure.stderr.filter(|_| is_sound), ..figure })
            .collect())
    }
}

fn message_of(error: ItemError) -> String {
    format!("{}: {}", error.kind, error.message)
}

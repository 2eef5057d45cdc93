//! The figures of a suite over time.

use crate::error::{hint, list};
use crate::{History, HistoryError, HistoryFigure};
use gage_record::RunStatus;
use serde::Serialize;

/// A metric of a task across the runs of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// True if higher values are better.
    pub higher_is_better: bool,
    /// The figures, oldest run first.
    pub points: Vec<TrendPoint>,
}

/// Figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    /// The run.
    pub run_id: String,
    /// Name of its folder.
    pub folder: String,
    /// Label in lists, as from [`HistoryRun::label`](crate::HistoryRun::label).
    pub label: String,
    /// Start of the run, RFC 3339 in UTC.
    pub created_at: String,
    /// The models under test.
    pub model: Option<String>,
    /// Status of the finished run: `complete` or `incomplete`.
    pub status: RunStatus,
    /// True if the suite changed since the previous point: its data, prompts, plugins or settings. Also true if that
    /// is unknown.
    pub is_redefined: bool,
    /// The figure.
    pub figure: HistoryFigure,
}

impl History {
    /// Returns the figures of a suite over time: one entry per task and metric, in order of first appearance.
    /// Unfinished runs are excluded, because their figures are partial.
    ///
    /// # Errors
    /// Fails if no run belongs to the suite, no finished run has the metric, or the index fails.
    pub fn trend(&self, suite: &str, metric: Option<&str>) -> Result<Vec<Trend>, HistoryError> {
        let mut trends: Vec<(Trend, Option<String>)> = Vec::new();
        let mut known: Vec<String> = Vec::new();
        for run in self.runs_of(suite)?.into_iter().filter(|run| run.has_ended()) {
            for figure in &run.figures {
                if !known.contains(&figure.metric_id) {
                    known.push(figure.metric_id.clone());
                }
                if metric.is_some_and(|metric| metric != figure.metric_id) {
                    continue;
                }
                let is_same = |(trend, _): &(Trend, _)| {
                    trend.task_id == figure.task_id && trend.metric_id == figure.metric_id
                };
                let place = trends.iter().position(is_same).unwrap_or_else(|| {
                    trends.push((Trend::of(figure), run.definition_digest.clone()));
                    trends.len() - 1
                });
                let Some((trend, definition)) = trends.get_mut(place) else { continue };
                let is_first = trend.points.is_empty();
                let is_equal = definition.is_some() && *definition == run.definition_digest;
                trend.points.push(TrendPoint {
                    run_id: run.run_id.clone(),
                    folder: run.folder_name().to_owned(),
                    label: run.label(),
                    created_at: run.created_at.clone(),
                    model: run.model.clone(),
                    status: run.status,
                    is_redefined: !is_first && !is_equal,
                    figure: figure.clone(),
                });
                definition.clone_from(&run.definition_digest);
            }
        }
        match metric {
            Some(metric) if trends.is_empty() => {
                let names = || known.iter().map(String::as_str);
                Err(HistoryError::UnknownMetric {
                    suite: suite.to_owned(),
                    metric: metric.to_owned(),
                    hint: hint(metric, names()),
                    known: list(names()),
                })
            }
            _ => Ok(trends.into_iter().map(|(trend, _)| trend).collect()),
        }
    }
}

impl Trend {
    fn of(figure: &HistoryFigure) -> Trend {
        Trend {
            task_id: figure.task_id.clone(),
            metric_id: figure.metric_id.clone(),
            higher_is_better: figure.higher_is_better,
            points: Vec::new(),
        }
    }
}

//! `resamples.json`: the bootstrap replicates of a run.

use crate::resamples::Resamples;
use crate::{FiguresError, MetricFigure};
use gage_record::format::RESAMPLES_FILE;
use serde::{Deserialize, Serialize};

/// Version of `resamples.json`. 1: the first version.
const RESAMPLES_VERSION: u32 = 1;

/// Replicates of a metric's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResampledFigure {
    pub(crate) task_id: String,
    pub(crate) metric_id: String,
    pub(crate) resamples: Resamples,
}

/// Content of `resamples.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResamplesFile {
    pub(crate) format_version: u32,
    pub(crate) figures: Vec<ResampledFigure>,
}

impl ResamplesFile {
    /// `None` if no figure was resampled.
    pub(crate) fn of(figures: &[MetricFigure]) -> Option<ResamplesFile> {
        let resampled = |figure: &MetricFigure| {
            let (task_id, metric_id) = (figure.task_id.clone(), figure.metric_id.clone());
            figure.resamples.clone().map(|resamples| ResampledFigure { task_id, metric_id, resamples })
        };
        let figures: Vec<ResampledFigure> = figures.iter().filter_map(resampled).collect();
        (!figures.is_empty()).then_some(ResamplesFile { format_version: RESAMPLES_VERSION, figures })
    }

    /// Returns the figures; none of another format, whose parts are dealt in another way.
    pub(crate) fn into_figures(self) -> Vec<ResampledFigure> {
        if self.format_version == RESAMPLES_VERSION { self.figures } else { Vec::new() }
    }

    /// Returns the content of the file.
    pub(crate) fn to_json(&self) -> Result<String, FiguresError> {
        let text = serde_json::to_string(self)
            .map_err(|source| FiguresError::Write { file: RESAMPLES_FILE, source });
        text.map(|text| text + "\n")
    }
}

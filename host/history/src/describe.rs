//! One run folder, as the index keeps it.

use crate::HistoryFigure;
use crate::suite::SuiteOfRun;
use gage_config::load_recorded;
use gage_record::format::{SAMPLES_FILE, SUMMARY_FILE};
use gage_record::{Manifest, RecordError, RunFolder, RunReader};
use serde_json::Value;
use std::path::Path;

/// What is kept of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunDescription {
    pub(crate) manifest: Manifest,
    pub(crate) suite: SuiteOfRun,
    /// The models under test, each once.
    pub(crate) model: Option<String>,
    /// Of `samples.jsonl`, where the run has written it.
    pub(crate) samples_digest: Option<String>,
    pub(crate) samples: Option<u64>,
    pub(crate) not_reached: u64,
    pub(crate) total_is_least: bool,
    pub(crate) coverage: Option<f64>,
    pub(crate) figures: Vec<HistoryFigure>,
    pub(crate) bytes: u64,
    /// What cannot be trusted, where somebody edited it.
    pub(crate) edited: Option<String>,
}

impl RunDescription {
    /// Reads the small files of a run folder.
    ///
    /// # Errors
    /// When its manifest cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<RunDescription, RecordError> {
        let run = RunReader::open(folder)?;
        let edited = run.edited().map(|edited| edited.to_string());
        let manifest = run.manifest().clone();
        let summary = std::fs::read(folder.join(SUMMARY_FILE)).ok();
        let summary: Value = summary.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let figures = summary["metrics"].as_array().into_iter().flatten().filter_map(figure);
        Ok(RunDescription {
            suite: SuiteOfRun::read(folder, &manifest),
            model: model_of(&manifest),
            samples_digest: manifest.files.get(SAMPLES_FILE).map(|file| file.digest.to_string()),
            samples: summary["samples"]["total"].as_u64(),
            not_reached: summary["samples"]["not_reached"].as_u64().unwrap_or(0),
            total_is_least: summary["samples"]["total_is_least"].as_bool().unwrap_or(false),
            coverage: summary["samples"]["coverage"].as_f64(),
            figures: figures.collect(),
            bytes: RunFolder::bytes_below(folder),
            edited,
            manifest,
        })
    }
}

fn figure(figure: &Value) -> Option<HistoryFigure> {
    let interval = &figure["interval"];
    Some(HistoryFigure {
        task_id: figure["task_id"].as_str()?.to_owned(),
        metric_id: figure["metric_id"].as_str()?.to_owned(),
        value: figure["value"].as_f64(),
        n: figure["n"].as_u64()?,
        total: figure["total"].as_u64()?,
        total_is_least: figure["total_is_least"].as_bool().unwrap_or(false),
        coverage: figure["coverage"].as_f64()?,
        stderr: figure["stderr"].as_f64(),
        low: interval["low"].as_f64(),
        high: interval["high"].as_f64(),
        higher_is_better: figure["higher_is_better"].as_bool().unwrap_or(true),
    })
}

/// The models that the tasks ask.
fn model_of(manifest: &Manifest) -> Option<String> {
    let config = load_recorded(&manifest.identity.config)?;
    let mut models: Vec<&str> = Vec::new();
    for role in config.tasks.iter().filter_map(|task| config.inference_role_of(task)) {
        let model = manifest.identity.model_of(&role.backend_id);
        if !models.contains(&model) {
            models.push(model);
        }
    }
    (!models.is_empty()).then(|| models.join(", "))
}

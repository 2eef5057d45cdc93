//! Reads a run folder for the index.

use crate::suite::SuiteOfRun;
use crate::{HistoryFigure, HistoryRun};
use gage_config::load_recorded;
use gage_record::format::SAMPLES_FILE;
use gage_record::{Manifest, RecordError, RunFolder, RunReader};
use serde_json::Value;
use std::path::Path;

/// Reads the small files of a run folder.
///
/// # Errors
/// Fails if its manifest cannot be read, or if one of the other files is a link, no regular file or too large.
pub(crate) fn describe(folder: &Path) -> Result<HistoryRun, RecordError> {
    let run = RunReader::open(folder)?;
    let manifest = run.manifest();
    let SuiteOfRun { name: suite, lock_digest, definition_digest } = SuiteOfRun::read(folder, manifest)?;
    let summary: Value = match run.summary() {
        Err(error @ RecordError::Refused { .. }) => return Err(error),
        summary => summary.ok().flatten().unwrap_or_default(),
    };
    let samples = &summary["samples"];
    Ok(HistoryRun {
        run_id: manifest.run_id.clone(),
        path: folder.to_owned(),
        suite,
        model: model_of(manifest),
        status: manifest.status,
        ended_by: manifest.ended_by.clone(),
        is_written: false,
        created_at: manifest.created_at.clone(),
        finished_at: manifest.finished_at.clone(),
        host_version: manifest.host_version.clone(),
        format_version: manifest.format_version.number(),
        parent_run: manifest.parent_run.clone(),
        samples: samples["total"].as_u64(),
        total_is_least: samples["total_is_least"].as_bool().unwrap_or(false),
        not_reached: samples["not_reached"].as_u64().unwrap_or(0),
        coverage: samples["coverage"].as_f64(),
        cost: manifest.costs.values().copied().reduce(|sum, cost| sum + cost),
        missing_prices: manifest.missing_prices(),
        lock_digest,
        definition_digest,
        samples_digest: manifest.files.get(SAMPLES_FILE).map(|file| file.digest.to_string()),
        bytes: RunFolder::bytes_below(folder),
        edited: run.edited().map(|edited| edited.to_string()),
        figures: summary["metrics"].as_array().into_iter().flatten().filter_map(figure).collect(),
    })
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
        scale: figure["scale"][0].as_f64().zip(figure["scale"][1].as_f64()).map(|(low, high)| [low, high]),
    })
}

/// Returns the models that the tasks use.
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

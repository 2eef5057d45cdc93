//! The run folders below a folder: what they are, and which may go.

use gage_engine::without_notes;
use gage_record::format::{MANIFEST_FILE, SUMMARY_FILE};
use gage_record::{Manifest, MissingManifest, RecordError, RunFolder, RunStatus};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The figure that stands for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeadline {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// Its value.
    pub value: f64,
    /// How many further figures there are.
    pub further: usize,
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// Its folder.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Whether a process writes to it now.
    pub is_written: bool,
    /// Its first figure, where it has ended.
    pub headline: Option<RunHeadline>,
    /// Samples in its figures, where it has ended.
    pub samples: Option<u64>,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// What lies in a folder of runs.
#[derive(Debug, Default)]
pub struct FoundRuns {
    /// The runs, the oldest first.
    pub runs: Vec<RunEntry>,
    /// Folders of runs whose manifest cannot be read or is gone, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Looks at all runs in a folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(root: &Path) -> Result<FoundRuns, std::io::Error> {
    let mut found = FoundRuns::default();
    for file in std::fs::read_dir(root)? {
        let path = file?.path();
        if !path.join(MANIFEST_FILE).is_file() {
            if MissingManifest::of(&path) == MissingManifest::Lost {
                let lost = RecordError::NotARunFolder { path: path.clone() };
                found.unreadable.push((path, lost.to_string()));
            }
            continue;
        }
        match Manifest::read(&path) {
            Ok(manifest) => {
                let summary = std::fs::read(path.join(SUMMARY_FILE)).ok();
                let summary: Option<Value> = summary.and_then(|text| serde_json::from_slice(&text).ok());
                found.runs.push(RunEntry {
                    is_written: RunFolder::is_being_written(&path),
                    headline: summary.as_ref().and_then(headline),
                    samples: summary.as_ref().and_then(|summary| summary["samples"]["total"].as_u64()),
                    bytes: bytes_below(&path),
                    manifest,
                    path,
                });
            }
            Err(error) => found.unreadable.push((path, error.to_string())),
        }
    }
    found.runs.sort_by(|one, other| {
        (&one.manifest.created_at, &one.path).cmp(&(&other.manifest.created_at, &other.path))
    });
    found.unreadable.sort();
    Ok(found)
}

/// The newest run in a folder that was begun with this configuration, as its identity holds it but for what is for people, has not come to its end,
/// and is not written by a process now. Manifests that cannot be read are passed over.
///
/// # Errors
/// When the folder cannot be read.
pub fn newest_unfinished(root: &Path, config: &Value) -> Result<Option<String>, std::io::Error> {
    let mut newest: Option<Manifest> = None;
    let config = without_notes(config.clone());
    for file in std::fs::read_dir(root)? {
        let path = file?.path();
        let Ok(manifest) = Manifest::read(&path) else { continue };
        let is_later = newest.as_ref().is_none_or(|newest| newest.created_at < manifest.created_at);
        let is_unfinished = manifest.status != RunStatus::Complete && manifest.parent_run.is_none();
        let is_own = path.file_name().is_some_and(|name| *name == *manifest.run_id);
        if is_later
            && is_unfinished
            && is_own
            && without_notes(manifest.identity["config"].clone()) == config
            && !RunFolder::is_being_written(&path)
        {
            newest = Some(manifest);
        }
    }
    Ok(newest.map(|manifest| manifest.run_id))
}

fn headline(summary: &Value) -> Option<RunHeadline> {
    let figures = summary["metrics"].as_array()?;
    let first = figures.iter().find(|figure| figure["value"].is_number())?;
    let text = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
    Some(RunHeadline {
        task_id: text("task_id"),
        metric_id: text("metric_id"),
        value: first["value"].as_f64()?,
        further: figures.len() - 1,
    })
}

fn bytes_below(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|file| match file.metadata() {
            Ok(data) if data.is_dir() => bytes_below(&file.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// A run, and why it may not go although it was chosen.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The run.
    pub run: RunEntry,
    /// Why it stays; nothing where it goes.
    pub stays: Option<String>,
}

/// Of the runs that are not kept, which may go: all but those that are being written, and those whose answers a run that
/// stays was scored from. `is_kept` is asked for each, with its number from the newest, which is 0.
pub fn leftovers(runs: &[RunEntry], is_kept: impl Fn(usize, &RunEntry) -> bool) -> Vec<Deletion> {
    let (mut kept, mut chosen) = (Vec::new(), Vec::new());
    for (number, run) in runs.iter().rev().enumerate() {
        match is_kept(number, run) {
            true => kept.push(run),
            false => chosen.push(run),
        }
    }
    kept.extend(chosen.iter().copied().filter(|run| run.is_written));
    let needed: HashSet<&str> = kept.iter().filter_map(|run| run.manifest.parent_run.as_deref()).collect();
    let judge = |run: &RunEntry| Deletion {
        stays: if run.is_written {
            Some("a process writes to it".to_owned())
        } else if needed.contains(run.manifest.run_id.as_str()) {
            Some("a run that stays was scored from its answers".to_owned())
        } else {
            None
        },
        run: run.clone(),
    };
    chosen.into_iter().rev().map(judge).collect()
}

/// Deletes the folder of a run that nobody writes to.
///
/// # Errors
/// When somebody does, or the file system refuses.
pub fn delete(run: &RunEntry) -> Result<(), RecordError> {
    RunFolder::delete(&run.path)
}

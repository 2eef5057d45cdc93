//! Head block of the page: what it says of its runs as wholes.

use gage_compare::{Comparison, run_label};
use gage_figures::{RecordedRun, Summary, Timings};
use gage_record::RunFolder;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// Version of what the page holds; the script of the page reads this one.
pub(super) const PAGE_VERSION: u32 = 1;

/// The first block of the page.
#[derive(Serialize)]
pub(super) struct PageHead<'a> {
    format_version: u32,
    runs: Vec<RunHead<'a>>,
    /// Each run but the first against the first.
    comparisons: Vec<Value>,
}

/// A run. Its folder is not named: a report is sent to others.
#[derive(Serialize)]
struct RunHead<'a> {
    run_id: &'a str,
    /// What it is called where another run of the page has its id: the end of its folder and the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    status: &'static str,
    ended_by: Option<&'a str>,
    /// What cannot be trusted of it, where it was edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<String>,
    created_at: &'a str,
    finished_at: Option<&'a str>,
    host_version: &'a str,
    parent_run: Option<&'a str>,
    models: Vec<String>,
    tasks: Vec<Value>,
    summary: Option<&'a Summary>,
    timings: Option<Timings>,
}

impl<'a> PageHead<'a> {
    pub(super) fn new(
        sources: &'a [RecordedRun],
        comparisons: &[Comparison],
    ) -> Result<PageHead<'a>, serde_json::Error> {
        let without_folder = |comparison: &Comparison| {
            let mut value = serde_json::to_value(comparison)?;
            for side in ["base", "new"] {
                value[side].as_object_mut().map(|run| run.shift_remove("folder"));
            }
            Ok(value)
        };
        Ok(PageHead {
            format_version: PAGE_VERSION,
            runs: sources.iter().map(|source| RunHead::new(source, sources)).collect(),
            comparisons: comparisons.iter().map(without_folder).collect::<Result<_, serde_json::Error>>()?,
        })
    }
}

impl PageHead<'_> {
    /// What the runs are called.
    pub(super) fn names(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.label.as_deref().unwrap_or(run.run_id)).collect()
    }
}

impl<'a> RunHead<'a> {
    fn new(source: &'a RecordedRun, all: &[RecordedRun]) -> RunHead<'a> {
        let manifest = source.manifest();
        let is_killed = || !RunFolder::is_being_written(Path::new(source.folder()));
        let status = match manifest.status {
            gage_record::RunStatus::Running if is_killed() => "killed",
            status => status.name(),
        };
        let task = |task_id: &str| json!({"task_id": task_id, "repeat": source.repeat(task_id)});
        RunHead {
            run_id: &manifest.run_id,
            label: run_label(source, all),
            status,
            ended_by: manifest.ended_by.as_deref(),
            edited: source.edited().map(|edited| match all {
                [_] => edited.of("this run"),
                _ => edited.of(&format!("the run {}", source.run_id())),
            }),
            created_at: &manifest.created_at,
            finished_at: manifest.finished_at.as_deref(),
            host_version: &manifest.host_version,
            parent_run: manifest.parent_run.as_deref(),
            models: source.models(),
            tasks: source.task_ids().into_iter().map(task).collect(),
            summary: source.summary(),
            timings: source.timings(),
        }
    }
}

//! The requests that a run sent, rebuilt from its recorded configuration.

use super::setup;
use crate::terminal;
use gage_config::Problems;
use gage_engine::{Plan, SentRequest, recorded_requests};
use gage_figures::RecordedRun;
use gage_html::RequestsOf;
use gage_record::SampleRecord;
use std::path::PathBuf;

/// Returns the requests of runs, for their report. A run whose requests cannot be rebuilt gives a warning.
pub(super) fn of_runs(runs: &[RecordedRun]) -> Box<RequestsOf<'_>> {
    let of_run = |run| {
        let warn = |error: &anyhow::Error| terminal::eprint_line(format_args!("warning: {error:#}"));
        RunRequests::of(run, &[]).inspect_err(warn).ok()
    };
    let runs: Vec<Option<RunRequests<'_>>> = runs.iter().map(of_run).collect();
    Box::new(move |run, record| {
        let requests = runs.get(run)?.as_ref()?.of_record(record).ok()?;
        Some(requests.iter().map(SentRequest::to_json).collect())
    })
}

/// Rebuilds the requests of a run.
pub(super) struct RunRequests<'r> {
    run: &'r RecordedRun,
    plan: Option<Plan>,
}

impl<'r> RunRequests<'r> {
    /// Plans the requests of a run. A request that cannot be rebuilt gives a warning with the reason.
    ///
    /// # Errors
    /// If the registry of plugins cannot be built.
    pub(super) fn of(run: &'r RecordedRun, plugin_folders: &[PathBuf]) -> anyhow::Result<RunRequests<'r>> {
        let mut problems = Problems::default();
        let plan = match run.config() {
            Some(config) => {
                let mut registry = setup::registry(plugin_folders, true)?;
                Some(Plan::requests(config.clone(), &mut registry, &mut problems))
            }
            None => None,
        };
        problems.sorted().iter().for_each(|problem| {
            terminal::eprint_line(format_args!("warning: {}", gage_core::printable_line(&problem.message)));
        });
        Ok(RunRequests { run, plan })
    }

    /// Returns the requests about a recorded sample.
    ///
    /// # Errors
    /// The reason why they cannot be rebuilt.
    pub(super) fn of_record(&self, record: &SampleRecord) -> Result<Vec<SentRequest>, String> {
        let mut tasks = self.plan.iter().flat_map(|plan| &plan.tasks);
        match tasks.find(|task| task.spec.task_id == record.task_id) {
            Some(task) => recorded_requests(task, record, &self.run.manifest().facts),
            None => Err("the manifest of the run has no such task".to_owned()),
        }
    }
}

//! The requests that a run sent, rebuilt from its recorded configuration.

use super::setup;
use crate::terminal;
use gage_config::{Permissions, Problems, Purpose};
use gage_engine::{BackendFacts, Plan, SentRequest, recorded_requests};
use gage_figures::RecordedRun;
use gage_html::RequestsOf;
use gage_record::SampleRecord;
use std::path::{Path, PathBuf};

/// Returns the requests of runs, for their report. A run whose requests cannot be rebuilt gives a warning. `permissions` are
/// those of each recorded suite, besides the folder of its run.
pub(super) fn of_runs<'r>(runs: &'r [RecordedRun], permissions: &Permissions) -> Box<RequestsOf<'r>> {
    let of_run = |run| {
        let warn = |error: &anyhow::Error| terminal::eprint_line(format_args!("warning: {error:#}"));
        RunRequests::of(run, &[], permissions).inspect_err(warn).ok()
    };
    let runs: Vec<Option<RunRequests>> = runs.iter().map(of_run).collect();
    Box::new(move |run, record| {
        let requests = runs.get(run)?.as_ref()?.of_record(record).ok()?;
        Some(requests.iter().map(SentRequest::to_json).collect())
    })
}

/// Rebuilds the requests of a run.
pub(super) struct RunRequests {
    /// `None` if the run has no configuration.
    planned: Option<(Plan, BackendFacts)>,
}

impl RunRequests {
    /// Plans the requests of a run. A request that cannot be rebuilt gives a warning with the reason. No request can be
    /// rebuilt if the recorded suite may not use its plugins.
    ///
    /// # Errors
    /// If the registry of plugins cannot be built.
    pub(super) fn of(
        run: &RecordedRun,
        plugin_folders: &[PathBuf],
        permissions: &Permissions,
    ) -> anyhow::Result<RunRequests> {
        let mut problems = Problems::restricted(permissions.with_folder(Path::new(run.folder())));
        let planned = match run.config() {
            Some(config) if problems.check_resources_of(&config.resources, Purpose::Plugins) => {
                let mut registry = setup::registry(plugin_folders, true)?;
                let plan = Plan::requests(config.clone(), &mut registry, &mut problems);
                let backends = BackendFacts::new(run.manifest().facts.clone(), &registry);
                Some((plan, backends))
            }
            _ => None,
        };
        let is_refused = problems.resources.is_refused();
        problems.sorted().iter().for_each(|problem| {
            let help = problem.help.as_ref().filter(|_| is_refused);
            let message = match help {
                Some(help) => format!("{}; {help}", problem.message),
                None => problem.message.clone(),
            };
            terminal::eprint_line(format_args!("warning: {}", gage_core::printable_line(&message)));
        });
        Ok(RunRequests { planned })
    }

    /// Returns the requests about a recorded sample.
    ///
    /// # Errors
    /// The reason why they cannot be rebuilt.
    pub(super) fn of_record(&self, record: &SampleRecord) -> Result<Vec<SentRequest>, String> {
        let missing = || Err("the manifest of the run has no such task".to_owned());
        let Some((plan, backends)) = &self.planned else { return missing() };
        match plan.tasks.iter().find(|task| task.spec.task_id == record.task_id) {
            Some(task) => recorded_requests(task, record, backends),
            None => missing(),
        }
    }
}

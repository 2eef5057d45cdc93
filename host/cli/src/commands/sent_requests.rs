//! The requests that a run sent, rebuilt from its recorded configuration.

use super::setup;
use crate::terminal;
use gage_config::{Permissions, Problems, Purpose};
use gage_core::Message;
use gage_engine::{BackendFacts, Plan, PlannedTask, SentRequest, recorded_model_requests, recorded_requests};
use gage_export::{PromptsOf, SentPrompt};
use gage_figures::RecordedRun;
use gage_html::RequestsOf;
use gage_plugin::PluginHost;
use gage_record::SampleRecord;
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Work for the requests of a run in units of fuel, besides that for each sample.
const MAX_RUN_WORK: u64 = 20_000_000_000;
/// Work for the requests of a sample, in units of fuel. Unused work is left for later samples.
const MAX_SAMPLE_WORK: u64 = 50_000_000;
/// Work for each byte of the requests, in units of fuel: they are compressed into the page.
const WORK_PER_BYTE: u64 = 20;

/// Text in place of requests that are not rebuilt.
const TOO_MUCH_WORK: &str = "The requests of this sample are not shown: rebuilding those of the earlier samples took too much \
                             work. The command gage-host runs show --sample shows them.";

/// Returns the requests of runs, for their report. A run whose requests cannot be rebuilt gives a warning. If rebuilding them
/// takes too much work, those of the remaining samples are left out. `permissions` are those of each recorded suite, besides
/// the folder of its run.
pub(super) fn of_runs<'r>(runs: &'r [RecordedRun], permissions: &Permissions) -> Box<RequestsOf<'r>> {
    let of_run = |run| {
        let warn = |error: &anyhow::Error| terminal::eprint_line(format_args!("warning: {error:#}"));
        let requests = RunRequests::of(run, &[], permissions).inspect_err(warn).ok()?;
        Some((requests, RequestWork::default()))
    };
    let runs: Vec<Option<(RunRequests, RequestWork)>> = runs.iter().map(of_run).collect();
    Box::new(move |run, record| {
        let (requests, work) = runs.get(run)?.as_ref()?;
        if !work.allows_sample(requests.fuel()) {
            return Some(json!([{"unrendered": TOO_MUCH_WORK}]));
        }
        let requests: Value = requests.of_record(record).ok()?.iter().map(SentRequest::to_json).collect();
        work.add_text(&requests.to_string());
        Some(requests)
    })
}

/// Returns the prompts of a run for an export, with the permissions of [`of_runs`]. A prompt is unknown if it cannot be rebuilt,
/// or if rebuilding the earlier ones took too much work.
///
/// # Errors
/// As for [`RunRequests::of`].
pub(super) fn prompts_of(
    run: &RecordedRun,
    permissions: &Permissions,
) -> anyhow::Result<Box<PromptsOf<'static>>> {
    let requests = RunRequests::of(run, &[], permissions)?;
    let work = RequestWork::default();
    Ok(Box::new(move |record: &SampleRecord| {
        if !work.allows_sample(requests.fuel()) {
            return None;
        }
        let sent = requests.to_model(record).ok()?;
        Some(sent.into_iter().map(sent_prompt).collect())
    }))
}

/// Converts a request to the prompt of an export.
fn sent_prompt(request: SentRequest) -> SentPrompt {
    SentPrompt {
        messages: request.messages.iter().map(Message::to_value).collect(),
        text: request.text.or(request.rendered),
        continuations: request.continuations,
    }
}

/// Work that the requests of a run have taken.
#[derive(Default)]
struct RequestWork {
    samples: Cell<u64>,
    bytes: Cell<u64>,
    is_used_up: Cell<bool>,
}

impl RequestWork {
    /// Counts a sample. Returns whether its requests may be rebuilt after the earlier ones used this fuel. Once they may
    /// not, no later ones may.
    fn allows_sample(&self, fuel: u64) -> bool {
        self.samples.set(self.samples.get() + 1);
        let work = self.bytes.get().saturating_mul(WORK_PER_BYTE).saturating_add(fuel);
        let max_work = self.samples.get().saturating_mul(MAX_SAMPLE_WORK).saturating_add(MAX_RUN_WORK);
        self.is_used_up.set(self.is_used_up.get() || work > max_work);
        !self.is_used_up.get()
    }

    /// Adds requests as they are in the page.
    fn add_text(&self, requests: &str) {
        self.bytes.set(self.bytes.get() + requests.len() as u64);
    }
}

/// Rebuilds requests about a record.
type Rebuild = fn(&PlannedTask, &SampleRecord, &BackendFacts) -> Result<Vec<SentRequest>, String>;

/// Rebuilds the requests of a run.
pub(super) struct RunRequests {
    /// `None` if the run has no configuration.
    planned: Option<(Plan, BackendFacts, PluginHost)>,
}

impl RunRequests {
    /// Plans the requests of a run. A request that cannot be rebuilt gives a warning with the reason. No request can be
    /// rebuilt if the recorded suite may not use the plugins that build requests.
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
            Some(config) if problems.check_resources_of(&config.resources, Purpose::Requests) => {
                let mut registry = setup::registry(plugin_folders, true)?;
                let plan = Plan::requests(config.clone(), &mut registry, &mut problems);
                let backends = BackendFacts::new(&config.backends, run.manifest().facts.clone(), &registry);
                Some((plan, backends, registry.host().clone()))
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

    /// Returns the fuel that rebuilding requests has used so far.
    fn fuel(&self) -> u64 {
        let host = self.planned.as_ref().map(|(_, _, host)| host);
        host.map_or(0, |host| host.work().iter().map(|member| member.work.fuel).sum())
    }

    /// Returns the requests about a recorded sample.
    ///
    /// # Errors
    /// The reason why they cannot be rebuilt.
    pub(super) fn of_record(&self, record: &SampleRecord) -> Result<Vec<SentRequest>, String> {
        self.rebuilt(record, recorded_requests)
    }

    /// Returns the requests about a recorded sample to the model under test.
    ///
    /// # Errors
    /// As for [`RunRequests::of_record`].
    fn to_model(&self, record: &SampleRecord) -> Result<Vec<SentRequest>, String> {
        self.rebuilt(record, recorded_model_requests)
    }

    fn rebuilt(&self, record: &SampleRecord, rebuild: Rebuild) -> Result<Vec<SentRequest>, String> {
        let missing = || Err("the manifest of the run has no such task".to_owned());
        let Some((plan, backends, _)) = &self.planned else { return missing() };
        match plan.tasks.iter().find(|task| task.spec.task_id == record.task_id) {
            Some(task) => rebuild(task, record, backends),
            None => missing(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_prompts_of_a_run_are_not_all_rendered() {
        // Each sample uses the fuel of a whole call.
        let work = RequestWork::default();
        let rendered = (0..3_000_u64).filter(|number| work.allows_sample(number * 500_000_000)).count();
        assert_eq!(rendered, 45);
        // Later samples are not rendered either, although their number would allow it.
        assert!((0..3_000).all(|_| !work.allows_sample(0)));
    }

    #[test]
    fn long_requests_of_a_run_are_not_all_shown() {
        let (work, text) = (RequestWork::default(), "x".repeat(16 << 20));
        let mut shown = 0;
        while work.allows_sample(0) {
            work.add_text(&text);
            shown += 1;
        }
        assert_eq!(shown, 71);
        let usual = RequestWork::default();
        assert!((0..100_000_u64).all(|number| usual.allows_sample(number * 40_000_000)));
    }
}

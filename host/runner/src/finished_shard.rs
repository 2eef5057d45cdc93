//! A shard that is done: its command is repeated without loading a model.

use crate::finish::has_given_answers;
use crate::{Ending, RunOutcome};
use gage_core::Shard;
use gage_engine::{Datasets, Plan, RunUsage, TaskReport, identity_without_models};
use gage_figures::WrittenReports;
use gage_record::{Manifest, ManifestIntegrity, RunFolder, RunIdentity, RunStatus};
use std::path::Path;

/// Returns the outcome of a shard of a run that is complete, if it was made from the same suite, data and plugins, and no sample is
/// to be tried again. `None` if the shard has work left, is another one, or some of its files must be written again.
pub(crate) fn finished_shard(
    folder: &Path,
    (wanted, whole_run): &(Shard, String),
    plan: &Plan,
    datasets: &Datasets,
    max_samples: Option<u64>,
) -> Option<RunOutcome> {
    let manifest = Manifest::read(folder).ok()?;
    let shard = manifest.shard.as_ref()?;
    let is_wanted = manifest.run_id == wanted.folder_name() && shard.difference(*wanted, whole_run).is_none();
    let is_known = shard.tasks.iter().all(|task| task.records.is_some());
    let is_done = manifest.status == RunStatus::Complete && is_known && shard.max_samples == max_samples;
    if !is_wanted || !is_done || Manifest::integrity(folder).ok()? != ManifestIntegrity::Intact {
        return None;
    }
    // Models are compared when the shards are merged.
    let backends = manifest.identity.backends.clone();
    let now = RunIdentity { backends, ..identity_without_models(plan, datasets) };
    if !manifest.identity.differences(&now).is_empty() {
        return None;
    }
    let opened = RunFolder::open_read(folder).ok()?;
    let reports = WrittenReports::read(&opened, &manifest.files).ok().flatten()?;
    let outcomes = &reports.summary.samples.outcomes;
    if outcomes.iter().any(|(outcome, count)| *count > 0 && outcome.is_retried_on_resume()) {
        return None;
    }
    let task = |task_id: &String| TaskReport { task_id: task_id.clone(), ..TaskReport::default() };
    let budget = &plan.config.budget;
    Some(RunOutcome {
        run_id: manifest.run_id.clone(),
        folder: folder.to_owned(),
        status: RunStatus::Complete,
        ending: Ending::Complete,
        ended_by: None,
        shortfalls: Vec::new(),
        limits: Vec::new(),
        tasks: shard.tasks.iter().map(|sharded| task(&sharded.task_id)).collect(),
        usage: RunUsage::default(),
        has_usage_budget: budget.max_cost.is_some() || budget.max_tokens_total.is_some(),
        has_given_answers: has_given_answers(&plan.config),
        reports,
        batch: None,
    })
}

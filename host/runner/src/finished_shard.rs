//! A shard that is done: its command is repeated without loading a model.

use crate::finish::has_given_answers;
use crate::{Ending, RunOutcome};
use gage_core::Shard;
use gage_engine::{Datasets, Plan, RunUsage, TaskReport, identity_without_models};
use gage_figures::WrittenReports;
use gage_record::{Manifest, ManifestIntegrity, RunFolder, RunIdentity, RunStatus};
use std::path::Path;

/// Returns the outcome of a shard of a run that is complete, if it was made from the same suite, data and plugins, and no sample is
/// to be tried again. `None` if the shard has work left, is another one, differs from another shard of the run, or some of its
/// files must be written again.
pub(crate) fn finished_shard(
    folder: &Path,
    (wanted, whole_run): &(Shard, String),
    plan: &Plan,
    datasets: &Datasets,
    max_samples: Option<u64>,
    other_shard: Option<&Manifest>,
) -> Option<RunOutcome> {
    let manifest = Manifest::read(folder).ok()?;
    let shard = manifest.shard.as_ref()?;
    let is_wanted = manifest.run_id == wanted.folder_name() && shard.difference(*wanted, whole_run).is_none();
    let is_known = shard.tasks.iter().all(|task| task.records.is_some());
    let is_done = manifest.status == RunStatus::Complete && is_known && shard.max_samples == max_samples;
    if !is_wanted || !is_done || Manifest::integrity(folder).ok()? != ManifestIntegrity::Intact {
        return None;
    }
    let has_same_inputs = |other: &Manifest| {
        let other_limit = other.shard.as_ref().and_then(|shard| shard.max_samples);
        other_limit == shard.max_samples && other.identity.differences(&manifest.identity).is_empty()
    };
    if !other_shard.is_none_or(has_same_inputs) {
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
    let budget = &plan.config.budget;
    Some(RunOutcome {
        has_usage_budget: budget.max_cost.is_some() || budget.max_tokens_total.is_some(),
        has_given_answers: has_given_answers(&plan.config),
        ..recorded_outcome(&manifest, folder, reports, Ending::Complete)
    })
}

/// Returns the outcome of a run that has ended, for a process that has nothing to do.
pub(crate) fn recorded_outcome(
    manifest: &Manifest,
    folder: &Path,
    reports: WrittenReports,
    ending: Ending,
) -> RunOutcome {
    let task = |task_id: &str| TaskReport { task_id: task_id.to_owned(), ..TaskReport::default() };
    RunOutcome {
        run_id: manifest.run_id.clone(),
        folder: folder.to_owned(),
        status: manifest.status,
        ending,
        ended_by: manifest.ended_by.clone(),
        shortfalls: Vec::new(),
        limits: Vec::new(),
        tasks: manifest.identity.task_ids().map(task).collect(),
        usage: RunUsage::default(),
        has_usage_budget: false,
        has_given_answers: false,
        is_merged: !manifest.shards.is_empty(),
        reports,
        batch: None,
    }
}

//! A whole run: its folder, its tasks and its report.

pub(crate) mod context;
mod input_files;
mod rejudge;
pub(crate) mod report;
pub(crate) mod rescore;
mod shard;
pub(crate) mod task_scheduler;

use crate::identity::{self, identity};
use crate::limits::budget::BudgetTracker;
use crate::limits::cancel_token::{CancelToken, StopReason};
use crate::pipeline::record::events::Events;
use crate::pipeline::task_report::TaskReport;
use crate::pipeline::task_state::TaskState;
use crate::plan::Plan;
use crate::run_error::RunError;
use context::{EarlierRecording, RunContext, RunOptions};
use gage_config::{BackendKind, PipelineConfig};
use gage_record::{
    GrantedPermissions, JournalIndex, JournalWriter, Manifest, MediaFolder, OpenedJournal, QuarantinedTail,
    RunFolder, RunIdentity, RunStatus,
};
use input_files::check_all_files;
use report::RunReport;
use serde_json::json;
use shard::{check_other_shards, check_shard, check_shard_elsewhere, shard_of_run};
use std::error::Error as _;
use std::sync::Arc;
use task_scheduler::TaskScheduler;

/// Runs the tasks of a plan in order, up to the allowed number at a time. Recorded samples always stay
/// recorded. Must not be called from within the async runtime, because it blocks this thread.
///
/// # Errors
/// If the folder cannot be used, the data has changed, or the run to resume differs from this one.
pub fn run(context: &RunContext<'_>) -> Result<RunReport, RunError> {
    let RunContext { plan, datasets, session, options, run_id, stop, .. } = *context;
    let identity = identity(plan, datasets, session);
    let (folder, mut manifest) = open_folder(context, identity)?;
    let was_complete = manifest.status == RunStatus::Complete;
    let before = was_complete.then(|| manifest.clone());
    let journal = JournalWriter::read(&folder)?;
    check_sample_limit(plan, options, journal.index())?;
    check_recording(plan, options, journal.index(), &manifest)?;
    manifest.has_recording &= options.recording.is_some();
    // Written only once it is certain that the run resumes: its manifest holds the digests of its outputs. Only then may
    // the journal grow by a segment that the manifest does not name.
    if options.resume {
        manifest.reopen();
        manifest.write(&folder)?;
    }
    let OpenedJournal { mut writer, index, dropped_bytes, quarantined } = journal.begin()?;
    writer.set_storage(options.storage.clone());
    report_repairs(dropped_bytes, quarantined.as_ref());
    let index = match &options.rejudge {
        None => index,
        Some(judges) => {
            match context.answers_of {
                Some(parent) => {
                    MediaFolder::copy(parent.path(), &folder)?;
                    rejudge::await_judges(&plan.tasks, &parent.journal()?, judges, true, &mut writer)?;
                    // From here on the run can be resumed.
                    manifest.is_rejudged = true;
                    manifest.write(&folder)?;
                }
                None => rejudge::await_judges(&plan.tasks, &index, judges, false, &mut writer)?,
            }
            JournalIndex::read(&folder)?
        }
    };
    let index = Arc::new(index);
    // The records of an earlier process are only in the journal.
    let records = context.records.filter(|_| index.is_empty() && !manifest.is_rejudged);
    if let Some(records) = records {
        records.begin(&folder);
    }
    let events = Events::begin(&folder, &options.observability)?;
    events.emit_run(if options.resume { "run_resumed" } else { "run_started" }, json!({"run_id": run_id}));
    let budget = Arc::new(BudgetTracker::new(plan, &manifest.identity).reporting_to(context.progress));
    // A complete run cannot exceed a budget again. It only rewrites its reports.
    let recorded_stop = if was_complete { CancelToken::default() } else { stop.clone() };
    budget.add_recorded_usage(plan, &manifest, &index, &recorded_stop)?;
    budget.watch_time(stop, context.runtime, options.loading);
    let state_of =
        |task| Arc::new(TaskState::new(task, stop, &budget, options.is_lockstep, context.shortages));
    let tasks: Vec<Arc<TaskState>> = plan.tasks.iter().map(state_of).collect();
    let scheduler = TaskScheduler::new(context, &index, &events, &folder, manifest.is_rejudged);
    let reports = scheduler
        .run_tasks(&tasks, &mut writer, records)
        .and_then(|reports| check_all_files(context).map(|()| reports))
        .map_err(|error| note_changed_input(error, &mut manifest, &folder))?;
    report_unused_answers(context, &reports);
    // The rest is written by path.
    writer.check_in_place()?;
    let unchanged = before.filter(|_| !writer.has_grown());
    finish_journal(writer);
    let stopped = stop_reason(stop, &reports).map(|reason| budget.with_final_usage(reason));
    manifest.unrecorded_usage = budget.unrecorded_usage();
    manifest.costs = budget.costs();
    manifest.prices = budget.prices();
    manifest.unpriced = budget.unpriced();
    emit_end(events, run_id, stopped.as_ref());
    Ok(RunReport { folder, manifest, tasks: reports, stopped, unchanged, spent: budget.usage() })
}

/// Notes in the manifest that a changed input ended the run, so that others than its caller can tell.
fn note_changed_input(error: RunError, manifest: &mut Manifest, folder: &RunFolder) -> RunError {
    let RunError::Changed { what, .. } = &error else { return error };
    manifest.ended_by = Some(format!("an input changed: {what}"));
    manifest.write(folder).map_or_else(RunError::from, |()| error)
}

/// Warns of given answers that belong to no sample. A part of a run takes only a part of them.
fn report_unused_answers(context: &RunContext<'_>, reports: &[TaskReport]) {
    let is_part = context.options.resume
        || context.options.shard.is_some()
        || context.options.max_samples.is_some()
        || reports.iter().any(TaskReport::ended_early);
    if !is_part {
        context.session.unused_answers().iter().for_each(|message| tracing::warn!("{message}"));
    }
}

/// Seals the journal. A journal that cannot be sealed is only larger.
fn finish_journal(writer: JournalWriter) {
    if let Err(error) = writer.finish() {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        tracing::warn!("the journal is not compressed, and no record is lost: {error}{cause}");
    }
}

/// Logs the repairs made when the journal was opened.
fn report_repairs(dropped_bytes: u64, quarantined: Option<&QuarantinedTail>) {
    if let Some(QuarantinedTail { journal, path, lines, bytes }) = quarantined {
        let (journal, path) = (journal.display(), path.display());
        tracing::warn!(
            "found {bytes} bytes (line ends: {lines}) that do not belong to this run at the end of \
             {journal}; moved them to {path}; no record is lost"
        );
    } else if dropped_bytes > 0 {
        tracing::info!(dropped_bytes, "the journal ended in the middle of a record, which is written again");
    }
}

/// Reports the end of the run to its observers.
fn emit_end(events: Events, run_id: &str, stopped: Option<&StopReason>) {
    let payload = match stopped {
        None => json!({"run_id": run_id}),
        Some(reason) => json!({"run_id": run_id, "reason": reason_text(reason)}),
    };
    let is_failure = matches!(
        stopped,
        Some(
            StopReason::BackendRefused { .. }
                | StopReason::ModelLost { .. }
                | StopReason::ServerLost { .. }
                | StopReason::FailFast(_)
        )
    );
    let kind = if stopped.is_some() { "run_interrupted" } else { "run_finished" };
    events.end(kind, payload, is_failure);
}

/// Returns the reason that the run ended early. A budget that was exhausted by the last sample ended nothing. Samples that
/// wait for a batch count if nothing else ended the run.
fn stop_reason(stop: &CancelToken, reports: &[TaskReport]) -> Option<StopReason> {
    let Some(reason) = stop.reason() else {
        let awaits_batch = |report: &TaskReport| report.cut_off == Some(StopReason::AwaitsBatch);
        return reports.iter().any(awaits_batch).then_some(StopReason::AwaitsBatch);
    };
    let is_cut_off = reports.iter().any(|report| report.cut_off.is_some());
    (is_cut_off || reason == StopReason::Requested).then_some(reason)
}

fn reason_text(reason: &StopReason) -> String {
    match reason {
        StopReason::Requested => "asked".to_owned(),
        StopReason::AwaitsBatch => "requests wait for their batch".to_owned(),
        StopReason::Budget(text) | StopReason::FailFast(text) => text.clone(),
        StopReason::BackendRefused { backend_id, message }
        | StopReason::ModelLost { backend_id, message }
        | StopReason::ServerLost { backend_id, message } => {
            format!("{backend_id}: {message}")
        }
    }
}

/// Creates the folder of a run, or opens the existing one.
fn open_folder(context: &RunContext<'_>, identity: RunIdentity) -> Result<(RunFolder, Manifest), RunError> {
    let RunContext { plan, session, root, run_id, options, .. } = *context;
    let versions = plan
        .tasks
        .iter()
        .map(|task| (task.spec.task_id.clone(), task.scoring.prompt_version.clone()))
        .collect();
    let shard = shard_of_run(plan, options);
    check_shard_elsewhere(options.other_shard.as_deref(), shard.as_ref(), &identity)?;
    if !options.resume {
        let parent = context.answers_of.map(|parent| parent.manifest());
        check_other_shards(root, shard.as_ref(), &identity)?;
        let folder = match parent {
            Some(parent) => {
                check_answers(&parent.identity, &identity)?;
                RunFolder::create_scoring(root, run_id, &parent.run_id)?
            }
            None => RunFolder::create(root, run_id)?,
        };
        let mut manifest = Manifest::new(run_id, options.host_version, identity);
        manifest.has_recording = options.recording.is_some();
        manifest.shard = shard;
        manifest.parent_run = parent.map(|parent| parent.run_id.clone());
        manifest.prompt_versions = versions;
        manifest.facts = identity::facts(plan, session);
        manifest.plugins = identity::recorded_plugins(session.plugin_origins());
        manifest.permissions = granted_permissions(&plan.config);
        // Answers of another run are as limited as that run.
        manifest.warnings = parent.map_or_else(|| options.warnings.clone(), |parent| parent.warnings.clone());
        return match manifest.write(&folder) {
            Ok(()) => Ok((folder, manifest)),
            Err(error) => {
                folder.delete_unstarted();
                Err(error.into())
            }
        };
    }
    let folder = RunFolder::resume(root, run_id)?;
    let mut manifest = Manifest::read(folder.path())?;
    check_shard(&manifest, shard)?;
    match &options.rejudge {
        Some(_) => check_answers(&manifest.identity, &identity)?,
        None => {
            let found = manifest.identity.differences(&identity);
            if !found.is_empty() {
                let found = identity::name_variables(found, &plan.config);
                return Err(RunError::IdentityMismatch(found));
            }
        }
    }
    if manifest.identity.config["metadata"] != identity.config["metadata"] {
        tracing::warn!(
            "the suite's `metadata` changed since the run started; results are unaffected, and the manifest \
             was updated"
        );
    }
    // The identities may differ in values that no result depends on. The run then takes the new ones.
    manifest.identity = identity;
    manifest.facts = identity::facts(plan, session);
    manifest.plugins = identity::recorded_plugins(session.plugin_origins());
    manifest.permissions = granted_permissions(&plan.config);
    manifest.prompt_versions = versions;
    if !manifest.is_rejudged {
        manifest.warnings.clone_from(&options.warnings);
    }
    manifest.shard.iter_mut().for_each(|shard| shard.max_samples = options.max_samples);
    Ok((folder, manifest))
}

/// Returns what a suite may reach, as the manifest records it. `None` if it may reach everything.
pub fn granted_permissions(config: &PipelineConfig) -> Option<GrantedPermissions> {
    let allowed = config.resources.permissions().allowed()?;
    Some(GrantedPermissions {
        allow_env: allowed.env.clone(),
        allow_read: allowed.read.iter().map(|folder| folder.display().to_string()).collect(),
        allow_net: allowed.net.iter().map(ToString::to_string).collect(),
    })
}

/// Checks that a run would get the answers that another run has recorded. Judges and metrics may differ.
fn check_answers(recorded: &RunIdentity, now: &RunIdentity) -> Result<(), RunError> {
    let found = recorded.of_answers().differences(&now.of_answers());
    if found.is_empty() { Ok(()) } else { Err(RunError::OtherAnswers(found)) }
}

/// Refuses to resume with a sample limit below the number of recorded samples.
fn check_sample_limit(plan: &Plan, options: &RunOptions, index: &JournalIndex) -> Result<(), RunError> {
    let Some(most) = options.max_samples else { return Ok(()) };
    for task in &plan.tasks {
        let task_id = &task.spec.task_id;
        let rows = index.samples(task_id).last().map_or(0, |(last, _)| last / task.spec.repeat + 1);
        if rows > most {
            return Err(RunError::FewerSamples { task_id: task_id.clone(), recorded: rows, most });
        }
    }
    Ok(())
}

/// Refuses to record on in a file that lacks exchanges of the recorded answers. Each answer has at least one exchange.
fn check_recording(
    plan: &Plan,
    options: &RunOptions,
    index: &JournalIndex,
    manifest: &Manifest,
) -> Result<(), RunError> {
    let Some(EarlierRecording { path, exchanges }) = options.recording.clone() else { return Ok(()) };
    // The answers of such a run are those of another.
    if manifest.is_rejudged || options.rejudge.is_some() {
        return Ok(());
    }
    let of_servers = plan.tasks.iter().filter(|task| matches!(task.backend.kind, BackendKind::Http(_)));
    let answered = |task_id: &str| {
        index.samples(task_id).filter(|(_, sample)| sample.is_answered() || sample.awaits_judges()).count()
    };
    let answers: u64 = of_servers.map(|task| answered(&task.spec.task_id) as u64).sum();
    let is_whole = manifest.has_recording;
    if answers > exchanges || (answers > 0 && !is_whole) {
        return Err(RunError::IncompleteRecording { path, exchanges, answers, is_whole });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_stopped_on_request_or_with_a_cut_off_task() {
        let budget = || StopReason::Budget("max_time 1 s is over".to_owned());
        for (reason, is_cut_off, expected) in [
            (None, false, None),
            (Some(StopReason::Requested), false, Some(StopReason::Requested)),
            (Some(StopReason::Requested), true, Some(StopReason::Requested)),
            (Some(budget()), false, None),
            (Some(budget()), true, Some(budget())),
        ] {
            let stop = CancelToken::default();
            reason.iter().for_each(|reason| stop.cancel_for(reason));
            let cut_off = reason.clone().filter(|_| is_cut_off);
            let reports = [TaskReport { cut_off, ..TaskReport::default() }];
            assert_eq!(stop_reason(&stop, &reports), expected, "{reason:?} {is_cut_off}");
        }
        let open = [TaskReport { cut_off: Some(StopReason::AwaitsBatch), ..TaskReport::default() }];
        assert_eq!(stop_reason(&CancelToken::default(), &open), Some(StopReason::AwaitsBatch));
    }
}

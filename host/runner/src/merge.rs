//! Merging: makes a run from its shards.

mod combine;
mod merged_before;
mod shard_set;
mod summed_manifest;
mod summed_phases;
#[cfg(test)]
mod test_shards;

use crate::aggregators::Aggregators;
use crate::describe::{describe, describe_judges};
use crate::finish::{EndedRun, Origin};
use crate::live_reports::LiveReports;
use crate::merge_error::MergeError;
use crate::missing_records::MissingRecords;
use crate::request::MergeRequest;
use crate::rescore::{load_expanded, permissions_of};
use crate::shortage::watched;
use crate::{RunEvent, RunOutcome, RunnerError, Shortfall};
use combine::Combination;
use gage_backend::HttpHosts;
use gage_config::{PipelineConfig, RecordedConfig};
use gage_core::{Shard, ShortageWatch};
use gage_engine::{Plan, RecordSink, RunReport, RunUsage, Scoring, scoring_plugins};
use gage_figures::{Completeness, Phases, TaskCompleteness, TaskDescription};
use gage_plugin::PluginHost;
use gage_record::format::{CONFIG_FILE, LOCK_FILE};
use gage_record::{ComponentIdentity, Manifest, MediaFolder, MergedShard, RunFolder, RunStatus};
use merged_before::merged_before;
use shard_set::{ShardSet, TaskRecords};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Outcome of a merge.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeOutcome {
    /// The run that was written.
    pub run: RunOutcome,
    /// Its shards, by number.
    pub shards: Vec<MergedShard>,
    /// Shards that lack records. Empty unless the request allowed it.
    pub missing: Vec<MissingRecords>,
    /// Number of shards whose folders were deleted after an earlier merge. If there are some, the run has the records of all
    /// shards, and nothing was written.
    pub deleted: u64,
    /// Cost of the tokens of all shards, in the currency of the suite's prices. `None` without prices.
    pub cost: Option<f64>,
    /// Description of what the cost leaves out: models without a price.
    pub missing_prices: Option<String>,
}

/// Makes a run from its shards: writes its journal from theirs, in the order of the dataset, and then the same reports as an
/// undivided run. A run that was merged from the same shards before is written again, unless folders of shards were deleted since.
///
/// # Errors
/// Fails if the shards are not those of one run, if some are missing and the request does not allow it, or if a folder cannot
/// be read or written. The run is then as it was, unless a folder could not be written or the user stopped the merge.
pub fn merge(request: &MergeRequest) -> Result<MergeOutcome, RunnerError> {
    watched(|shortages| merge_shards(request, shortages))
}

fn merge_shards(request: &MergeRequest, shortages: ShortageWatch) -> Result<MergeOutcome, RunnerError> {
    let began = Instant::now();
    let (root, run_id) = place_of(&request.run)?;
    if let Some(merged) = merged_before(&request.run)? {
        return Ok(merged);
    }
    let shards = ShardSet::open(&request.run, &run_id)?;
    let (config, scoring, plugins) = planned(request, &shards)?;
    let task_ids: Vec<&str> = config.tasks.iter().map(|task| task.task_id.as_str()).collect();
    let tasks = shards.check_records(&task_ids)?;
    check_earlier_merge(&request.run, &shards, &tasks)?;
    let missing = shards.missing(&tasks);
    if !missing.is_empty() && !request.is_partial {
        return Err(MergeError::Incomplete { run: request.run.clone(), missing }.into());
    }
    let (lock, document) = (shards.text_of(LOCK_FILE)?, shards.text_of(CONFIG_FILE)?);
    let progress = &request.context.progress;
    progress.on_event(&RunEvent::Started { servers: &HttpHosts::default(), limits: &[] });
    let mut described: Vec<TaskDescription> =
        config.tasks.iter().zip(&scoring).map(|(spec, scoring)| describe(spec, scoring)).collect();
    describe_judges(&mut described, &config);
    let aggregators = Aggregators::new(scoring.iter());
    let custom = |task_id: &str, metric_id: &str| aggregators.fold(task_id, metric_id);
    let live_reports = LiveReports::new(described.clone(), &custom);

    let folder = RunFolder::create_merged(&root, &run_id)?;
    let manifest = shards.manifest(&run_id, &tasks);
    manifest.write(&folder)?;
    shards.folders().try_for_each(|shard| MediaFolder::copy(shard, &folder))?;
    live_reports.begin(&folder);
    let combination =
        Combination { config: &config, shards: &shards, tasks: &tasks, context: &request.context };
    let reports = combination.write(&folder, &live_reports)?;
    progress.on_event(&RunEvent::TasksEnded);
    let listed = manifest.shards.clone();
    let cost = (!manifest.costs.is_empty()).then(|| manifest.costs.values().sum());
    let missing_prices = manifest.missing_prices();
    let ended = EndedRun {
        config: &config,
        tasks: described,
        aggregators: &aggregators,
        origin: origin_of(&tasks, &missing, lock, document, shards.phases()),
        live_reports: Some(live_reports),
        report: RunReport {
            folder,
            spent: RunUsage::default(),
            manifest,
            tasks: reports,
            stopped: None,
            unchanged: None,
        },
        plugins,
        began,
        shortages,
        batch: None,
    };
    Ok(MergeOutcome { run: ended.finish()?, shards: listed, missing, deleted: 0, cost, missing_prices })
}

/// Refuses to replace a merged run by one with fewer records of any shard: its folder is gone, or has lost records. Records of
/// other shards do not replace them.
fn check_earlier_merge(run: &Path, shards: &ShardSet, tasks: &[TaskRecords]) -> Result<(), MergeError> {
    let Ok(manifest) = Manifest::read(run) else { return Ok(()) };
    // A merge that was killed had already deleted the earlier records.
    if manifest.status == RunStatus::Running {
        return Ok(());
    }
    let count = manifest.shards.len() as u64;
    for merged in &manifest.shards {
        let Some(shard) = Shard::new(merged.number, count) else { continue };
        let place = shards.opened.iter().position(|opened| opened.shard == shard);
        let ended = |task: &TaskRecords| place.and_then(|place| task.ended.get(place)).copied();
        let now: u64 = tasks.iter().filter_map(ended).fold(0, u64::saturating_add);
        let before = merged.records;
        if now < before {
            return Err(MergeError::FewerRecords { run: run.to_owned(), shard, before, now });
        }
    }
    Ok(())
}

/// Returns the folder of all runs, and the id of the run.
fn place_of(run: &Path) -> Result<(PathBuf, String), RunnerError> {
    let canonical = run.canonicalize();
    let canonical = canonical.map_err(|_| MergeError::NoShards { run: run.to_owned() })?;
    let name = canonical.file_name().and_then(|name| name.to_str());
    let (Some(root), Some(name)) = (canonical.parent(), name) else {
        return Err(MergeError::NoShards { run: run.to_owned() }.into());
    };
    let written = run.parent().filter(|folder| !folder.as_os_str().is_empty() && run.ends_with(name));
    Ok((written.unwrap_or(root).to_owned(), name.to_owned()))
}

/// Returns the suite of the shards with its metrics, which describe and aggregate the recorded scores, and the host of its
/// plugins.
fn planned(
    request: &MergeRequest,
    shards: &ShardSet,
) -> Result<(PipelineConfig, Vec<Scoring>, PluginHost), RunnerError> {
    let first = shards.first();
    let permissions = permissions_of(&request.context, first);
    let recorded = load_expanded(&first.manifest().identity.config, &[], first, &permissions);
    let RecordedConfig { config, mut problems, missing } = recorded;
    if !missing.is_empty() && !problems.has_errors() {
        return Err(RunnerError::MissingVariables(missing));
    }
    let mut registry = request.context.registry(&request.plugin_folders)?;
    let Some(mut config) = config.filter(|_| !problems.has_errors()) else {
        return Err(RunnerError::problems(problems));
    };
    let pins = &first.manifest().plugins;
    request.context.fetch_packages(&mut config, pins, request.is_offline, &mut problems)?;
    let scoring = Plan::scoring(&config, first.manifest(), None, &mut registry, &mut problems);
    let Some(scoring) = scoring else { return Err(RunnerError::problems(problems)) };
    let recorded = &first.manifest().identity.plugins;
    let is_other = |now: &ComponentIdentity| !recorded.values().any(|then| then == now);
    if let Some((name, now)) = scoring_plugins(&scoring).into_iter().find(|(_, now)| is_other(now)) {
        return Err(MergeError::OtherPlugin { name, digest: now.digest }.into());
    }
    request.context.progress.on_event(&RunEvent::Warnings(&problems));
    Ok((config, scoring, registry.host().clone()))
}

/// Returns what the reports of the run need from its shards. `lock` and `config` are the texts that a shard has written at its
/// end.
fn origin_of(
    tasks: &[TaskRecords],
    missing: &[MissingRecords],
    lock: Option<String>,
    config: Option<String>,
    phases: Phases,
) -> Origin {
    let completeness: Completeness = tasks
        .iter()
        .map(|task| {
            let reach = match (task.total, task.missing()) {
                (Some(_), Some(0)) => TaskCompleteness::Whole,
                (Some(total), _) => TaskCompleteness::Of(total),
                (None, _) => TaskCompleteness::Unknown,
            };
            (task.task_id.clone(), reach)
        })
        .collect();
    let records = missing.iter().try_fold(0_u64, |sum, shard| Some(sum.saturating_add(shard.records?)));
    let missing =
        (!missing.is_empty()).then_some(Shortfall::MissingRecords { shards: missing.len() as u64, records });
    Origin::Shards { lock, config, phases: Box::new(phases), missing, completeness }
}

//! A shard of a run.

use super::{PreparedSuite, SuiteRun};
use crate::finished_shard::finished_shard;
use crate::http_exchanges::HttpExchanges;
use crate::request::RunRequest;
use crate::{RunOutcome, RunnerError};
use gage_config::{BackendKind, BackendSpec};
use gage_core::{Outcome, Shard};
use gage_engine::Plan;
use gage_record::{Manifest, MissingManifest, RecordError, RunFolder, claim_division, shards_folder};
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

/// Starts a shard of a run, or continues it.
pub(super) fn run_shard(request: &RunRequest, shard: Shard) -> Result<RunOutcome, RunnerError> {
    let Some(whole_run) = &request.run_id else { return Err(RunnerError::ShardWithoutRun) };
    gage_core::check_name(whole_run).map_err(RecordError::InvalidRunId)?;
    let folder = request.output_folder.join(whole_run);
    let is_merged = || Manifest::read(&folder).is_ok_and(|manifest| !manifest.shards.is_empty());
    if RunFolder::has_manifest(&folder) && !is_merged() {
        return Err(RunnerError::run_exists(&request.output_folder, whole_run));
    }
    // A whole run that lost its manifest still has its answers.
    if MissingManifest::of(&folder) == MissingManifest::Lost && !RunFolder::has_manifest(&folder) {
        return Err(RecordError::RunExists { run_id: whole_run.clone(), path: folder }.into());
    }
    check_merged(&folder, shard)?;
    claim_division(&folder, shard)?;
    let (root, name) = (shards_folder(&folder), shard.folder_name());
    // The same command starts a shard and continues it, because schedulers repeat commands.
    let retry: Option<&[Outcome]> = RunFolder::exists(&root, &name).then_some(&[]);
    let request = RunRequest { output_folder: root, run_id: Some(name), ..request.clone() };
    let (shard, run_id) = (Some((shard, whole_run.clone())), OnceCell::new());
    SuiteRun { request: &request, retry, rejudge: None, answers_of: None, shard, run_id }.execute()
}

/// Refuses to begin a shard again that was merged, and whose folder is gone since: the merged run has its answers.
fn check_merged(run: &Path, shard: Shard) -> Result<(), RunnerError> {
    let Ok(manifest) = Manifest::read(run) else { return Ok(()) };
    let was_merged =
        manifest.shards.iter().any(|merged| merged.number == shard.number() && merged.records > 0);
    let folder = shards_folder(run).join(shard.folder_name());
    match was_merged && !folder.exists() {
        true => Err(RunnerError::ShardGone { shard, run: run.to_owned() }),
        false => Ok(()),
    }
}

impl SuiteRun<'_> {
    /// Returns the outcome of the shard if it is done, before any model is loaded. `None` for a whole run.
    pub(super) fn finished_shard(&self, prepared: &PreparedSuite) -> Option<RunOutcome> {
        let shard = self.shard.as_ref()?;
        let PreparedSuite { run_id, plan, datasets, .. } = prepared;
        let folder = self.request.output_folder.join(run_id);
        let RunRequest { max_samples, other_shard, .. } = self.request;
        finished_shard(&folder, shard, plan, datasets, *max_samples, other_shard.as_deref())
    }

    /// Checks that the run can be divided into shards, if one is asked for.
    pub(super) fn check_shard(&self, plan: &Plan) -> Result<(), RunnerError> {
        if self.shard.is_none() {
            return Ok(());
        }
        let is_given = |spec: &&Arc<BackendSpec>| matches!(spec.kind, BackendKind::Answers(_));
        let message = match &self.request.exchanges {
            HttpExchanges::WriteRequests(_) => "--requests-out writes the requests of a whole run".to_owned(),
            HttpExchanges::TakeResponses(_) => "--responses takes the results of a whole run".to_owned(),
            HttpExchanges::Live | HttpExchanges::Record(_) | HttpExchanges::Replay(_) => {
                let Some(spec) = plan.config.backends.iter().find(is_given) else { return Ok(()) };
                format!(
                    "the answers of `{}` are in a file, and ids of samples are unique only in a whole run",
                    spec.backend_id
                )
            }
        };
        Err(RunnerError::UnsuitedForShards { message })
    }
}

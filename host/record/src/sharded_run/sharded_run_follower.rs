//! Follows all shards of a run, and the run that is merged from them.

use super::shard_follower::{ShardFollower, SuiteFacts, TaskTotals, with_causes};
use super::{MergeState, ShardState, ShardStatus, ShardedRun, saturating_sum};
use crate::format::MANIFEST_FILE;
use crate::{
    Manifest, MergedShard, RecordError, RunFolder, RunStatus, ShardFolder, shard_folders, shards_folder,
};
use gage_core::{FileFingerprint, Shard};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Follows a sharded run. The first reading may read much of the journals; later ones read only what is new. Takes no lock, and
/// waits for no process.
#[derive(Debug)]
pub struct ShardedRunFollower {
    folder: PathBuf,
    run_id: String,
    counts_samples: bool,
    shards: HashMap<Shard, ShardFollower>,
    totals: TaskTotals,
    common: Option<SuiteFacts>,
    merged: Option<ReadMerge>,
}

/// The manifest of a merged run, as it was read.
#[derive(Debug)]
struct ReadMerge {
    fingerprint: FileFingerprint,
    /// Its status and its shards, or the reason why it cannot be used.
    facts: Result<(RunStatus, Vec<MergedShard>), String>,
}

impl ShardedRunFollower {
    /// Follows the run in a folder, and counts the samples of each shard.
    pub fn new(folder: &Path) -> ShardedRunFollower {
        ShardedRunFollower {
            folder: folder.to_owned(),
            run_id: name_of(folder),
            counts_samples: true,
            shards: HashMap::new(),
            totals: TaskTotals::new(),
            common: None,
            merged: None,
        }
    }

    /// Follows only the states of the shards. No journal is read, so the samples of shards that are not done are not counted.
    pub fn of_states(folder: &Path) -> ShardedRunFollower {
        ShardedRunFollower { counts_samples: false, ..ShardedRunFollower::new(folder) }
    }

    /// Reads how far the run is. A shard that cannot be read is not an error.
    ///
    /// # Errors
    /// If the folder has no shards and was not merged from any, or has shards of two divisions, or cannot be read.
    pub fn read(&mut self) -> Result<ShardedRun, RecordError> {
        let folders = shard_folders(&self.folder)?;
        // Before the manifest, whose last version is in place before the lock is released.
        let is_merging = RunFolder::is_being_written(&self.folder);
        self.read_merge();
        let count = self.division(&folders)?;
        let present: HashSet<Shard> = folders.iter().map(|folder| folder.shard).collect();
        self.shards.retain(|shard, _| present.contains(shard));
        let mut found: HashMap<Shard, ShardStatus> = HashMap::with_capacity(folders.len());
        for ShardFolder { shard, path } in folders {
            let begin = || ShardFollower::new(shard, &path, self.counts_samples);
            let follower = self.shards.entry(shard).or_insert_with(begin);
            found.insert(shard, follower.status(&self.run_id, &mut self.totals, &mut self.common));
        }
        let totals = self.totals_of_tasks();
        let status = |shard: Shard| {
            let status = found.remove(&shard).unwrap_or_else(|| self.without_folder(shard, count));
            let records = |totals: &Vec<u64>| {
                let own = |(task, total): (usize, &u64)| Some(shard.of_task(task).records_of(*total));
                saturating_sum(totals.iter().enumerate().map(own))
            };
            let planned = totals.as_ref().and_then(records).or(status.planned);
            let recorded = if status.state == ShardState::Done { planned } else { status.recorded };
            ShardStatus { planned, recorded, ..status }
        };
        let shards = Shard::all(count).map(status).collect();
        let started = self.shards.values().filter_map(|shard| Some(&shard.facts()?.created_at));
        let created_at = started.min().cloned();
        let SuiteFacts { suite, models, .. } = self.common.clone().unwrap_or_default();
        let run_id = self.run_id.clone();
        Ok(ShardedRun { run_id, suite, models, created_at, merge: self.merge_state(is_merging), shards })
    }

    /// Returns the status of a shard that has no folder.
    fn without_folder(&self, shard: Shard, count: u64) -> ShardStatus {
        let listed = self.merged_shards().iter().find(|merged| merged.number == shard.number());
        let is_of_division = self.merged_shards().len() as u64 == count;
        match listed.filter(|merged| is_of_division && merged.digest.is_some()) {
            Some(merged) => ShardStatus {
                recorded: Some(merged.records),
                planned: merged.missing.map(|missing| merged.records.saturating_add(missing)),
                ..ShardStatus::new(shard, ShardState::Deleted)
            },
            None => ShardStatus {
                recorded: self.counts_samples.then_some(0),
                ..ShardStatus::new(shard, ShardState::NotStarted)
            },
        }
    }

    /// Returns the shards that the run was merged from, if it was.
    fn merged_shards(&self) -> &[MergedShard] {
        match &self.merged {
            Some(ReadMerge { facts: Ok((_, merged)), .. }) => merged.as_slice(),
            _ => &[],
        }
    }

    /// Returns the number of shards. All folders have the same; without one, the merged run has it.
    fn division(&self, folders: &[ShardFolder]) -> Result<u64, RecordError> {
        let place = shards_folder(&self.folder);
        let Some(first) = folders.first().map(|folder| folder.shard) else {
            return match self.merged_shards().len() as u64 {
                0 => Err(RecordError::invalid(&place, "it has no folder of a shard, such as 03-of-16")),
                count => Ok(count),
            };
        };
        match folders.iter().find(|folder| folder.shard.count() != first.count()) {
            None => Ok(first.count()),
            Some(other) => {
                let other = other.shard;
                let reason = format!(
                    "it has shards of two divisions, {first} and {other}; move those of one of them away"
                );
                Err(RecordError::invalid(&place, reason))
            }
        }
    }

    /// Returns the number of records of each task in all shards, if all are known.
    fn totals_of_tasks(&self) -> Option<Vec<u64>> {
        let tasks = &self.common.as_ref()?.tasks;
        tasks.iter().map(|task_id| self.totals.get(task_id).copied()).collect()
    }

    fn merge_state(&self, is_held: bool) -> MergeState {
        let Some(ReadMerge { facts, .. }) = &self.merged else {
            return if is_held { MergeState::Running } else { MergeState::NotMerged };
        };
        let (status, merged) = match facts {
            Ok((status, merged)) => (*status, merged),
            Err(reason) => return MergeState::Unreadable(reason.clone()),
        };
        let is_changed = |merged_shard: &MergedShard| {
            let shard = Shard::new(merged_shard.number, merged.len() as u64);
            let follower = shard.and_then(|shard| self.shards.get(&shard));
            let digest_of = |follower: &ShardFollower| follower.facts().map(|facts| facts.digest.clone());
            follower.is_some_and(|follower| digest_of(follower) != merged_shard.digest)
        };
        match status {
            _ if is_held => MergeState::Running,
            RunStatus::Running | RunStatus::Interrupted => MergeState::Stopped,
            _ if merged.iter().any(is_changed) => MergeState::Outdated,
            _ if merged.iter().any(|shard| shard.missing != Some(0)) => MergeState::Partial,
            _ => MergeState::Merged,
        }
    }

    fn read_merge(&mut self) {
        let Ok(found) = fs::symlink_metadata(self.folder.join(MANIFEST_FILE)) else {
            self.merged = None;
            return;
        };
        let fingerprint = FileFingerprint::of(&found);
        if self.merged.as_ref().is_none_or(|before| before.fingerprint != fingerprint) {
            let facts = match Manifest::read(&self.folder) {
                Err(error) => Err(with_causes(&error)),
                Ok(manifest) if manifest.shards.is_empty() => {
                    Err("it was not merged from shards; move its files, or the shards, to another folder"
                        .to_owned())
                }
                Ok(manifest) => {
                    let without_facts = |shard: MergedShard| MergedShard { facts: BTreeMap::new(), ..shard };
                    Ok((manifest.status, manifest.shards.into_iter().map(without_facts).collect()))
                }
            };
            self.merged = Some(ReadMerge { fingerprint, facts });
        }
    }
}

/// Returns the name of a folder. A link has the name of its target.
fn name_of(folder: &Path) -> String {
    let canonical = folder.canonicalize();
    let path = canonical.as_deref().unwrap_or(folder);
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

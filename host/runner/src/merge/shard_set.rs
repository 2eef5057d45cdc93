//! The shards of a run, opened and checked.

use crate::RunnerError;
use crate::error::with_causes;
use crate::merge_error::MergeError;
use crate::missing_records::{MissingRecords, ShardProgress};
use gage_core::{Digest, Shard, batch_of};
use gage_record::format::{LOCK_FILE, MEDIA_FOLDER};
use gage_record::{
    IndexedSample, JournalIndex, MediaFolder, MissingManifest, RecordError, RunFolder, RunReader, RunStatus,
    ShardFolder, read_run_file, shard_folders,
};
use std::io::ErrorKind;
use std::path::Path;

/// The shards of one run, by number. All were made from the same inputs.
pub(super) struct ShardSet {
    /// The number of shards that the run has.
    pub(super) count: u64,
    pub(super) opened: Vec<OpenedShard>,
}

/// A shard that was started.
pub(super) struct OpenedShard {
    pub(super) shard: Shard,
    pub(super) run: RunReader,
    pub(super) journal: JournalIndex,
    /// True if a process was writing to it when it was opened.
    is_written: bool,
}

/// The records of a task in all shards.
pub(super) struct TaskRecords {
    pub(super) task_id: String,
    /// Its position in the suite, counted from 0.
    pub(super) position: usize,
    /// Number of records in all shards. `None` if no shard has read the dataset to its end.
    pub(super) total: Option<u64>,
    /// One more than the index of the last record.
    pub(super) end: u64,
    /// The scoring batches that have records, in order, each with the place of its shard in [`ShardSet::opened`].
    pub(super) batches: Vec<(u64, usize)>,
    /// Number of samples that have ended in each shard, in the order of [`ShardSet::opened`].
    pub(super) ended: Vec<u64>,
}

impl TaskRecords {
    /// Returns the number of records that a shard has when it is complete, if the total is known.
    pub(super) fn records_in(&self, shard: Shard) -> Option<u64> {
        self.total.map(|total| shard.of_task(self.position).records_of(total))
    }

    /// Returns the number of records that no shard has, if the total is known.
    pub(super) fn missing(&self) -> Option<u64> {
        let ended: u64 = self.ended.iter().sum();
        self.total.map(|total| total.saturating_sub(ended))
    }
}

/// The scored records of a batch. If a process ended while it scored the batch again, with answers that had been missing, the
/// batch holds scores of both passes. Continuing the shard scores it once more.
#[derive(Default)]
struct ScoredBatch {
    count: u64,
    /// The number of records of the passes that scored them, if it is the same for all.
    together: Option<u64>,
    is_of_several_passes: bool,
}

impl ScoredBatch {
    fn add(&mut self, sample: IndexedSample) {
        if sample.has_ended() && sample.is_answered() {
            let together = u64::from(sample.scored_together);
            self.count += 1;
            self.is_of_several_passes |= *self.together.get_or_insert(together) != together;
        }
    }

    /// Returns the number of its records that must be scored again.
    fn unfinished(&self) -> u64 {
        let is_whole =
            !self.is_of_several_passes && self.together.is_none_or(|together| together == self.count);
        if is_whole { 0 } else { self.count }
    }
}

impl ShardSet {
    /// Opens all shards of a run, and checks that they belong together.
    pub(super) fn open(run: &Path, run_id: &str) -> Result<ShardSet, RunnerError> {
        let folders = shard_folders(run)?;
        let no_shards = || MergeError::NoShards { run: run.to_owned() };
        let first = folders.first().ok_or_else(no_shards)?.shard;
        if let Some(other) = folders.iter().find(|folder| folder.shard.count() != first.count()) {
            return Err(MergeError::OtherDivision { first, other: other.shard }.into());
        }
        let mut opened: Vec<OpenedShard> = Vec::with_capacity(folders.len());
        for folder in folders {
            // It is just being started.
            if MissingManifest::of(&folder.path) == MissingManifest::NeverStarted {
                continue;
            }
            let shard = OpenedShard::open(folder, run_id)?;
            if let Some(first) = opened.first() {
                first.check_same_identity(&shard)?;
            }
            opened.push(shard);
        }
        match opened.is_empty() {
            true => Err(no_shards().into()),
            false => {
                let shards = ShardSet { count: first.count(), opened };
                shards.check_locks()?;
                Ok(shards)
            }
        }
    }

    /// Checks that all shards that have ended wrote the same lock.
    fn check_locks(&self) -> Result<(), RunnerError> {
        let mut first: Option<(Shard, Vec<u8>)> = None;
        for opened in &self.opened {
            let Some(lock) = opened.read_file(LOCK_FILE)? else { continue };
            match &first {
                None => first = Some((opened.shard, lock)),
                Some((_, known)) if *known == lock => {}
                Some((first, _)) => {
                    let differences = vec![format!("{LOCK_FILE}: the files differ")];
                    return Err(
                        MergeError::OtherInputs { first: *first, other: opened.shard, differences }.into()
                    );
                }
            }
        }
        Ok(())
    }

    /// Returns one of the shards. All have the same identity, so any of them stands for the others.
    pub(super) fn first(&self) -> &RunReader {
        // There is at least one.
        &self.opened[0].run
    }

    /// Returns the folders of the shards.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.opened.iter().map(|shard| shard.run.path())
    }

    /// Returns the text of a file that a shard has written at its end. `None` if no shard has.
    pub(super) fn text_of(&self, name: &str) -> Result<Option<String>, RunnerError> {
        for shard in &self.opened {
            if let Some(bytes) = shard.read_file(name)? {
                return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the records of each task of the suite, and checks that each is in its shard.
    pub(super) fn check_records(&self, task_ids: &[&str]) -> Result<Vec<TaskRecords>, MergeError> {
        for shard in &self.opened {
            let known = shard.journal.task_ids();
            if let Some(unknown) = known.into_iter().find(|known| !task_ids.contains(known)) {
                let index = shard.journal.samples(unknown).next().map_or(0, |(index, _)| index);
                return Err(shard.wrong_record(unknown, index, "and the suite has no such task"));
            }
        }
        task_ids.iter().enumerate().map(|(position, task_id)| self.check_task(position, task_id)).collect()
    }

    fn check_task(&self, position: usize, task_id: &str) -> Result<TaskRecords, MergeError> {
        let total = self.total_of(task_id)?;
        let (mut ended, mut end) = (Vec::with_capacity(self.opened.len()), 0_u64);
        let mut batches: Vec<(u64, usize)> = Vec::new();
        for (place, shard) in self.opened.iter().enumerate() {
            let (mut count, mut scored) = (0, ScoredBatch::default());
            for (index, sample) in shard.journal.samples(task_id) {
                if !shard.shard.of_task(position).has(index) {
                    return Err(shard.wrong_record(task_id, index, "which belongs to another shard"));
                }
                if total.is_some_and(|total| index >= total) {
                    return Err(shard.wrong_record(task_id, index, "and the dataset ends before it"));
                }
                end = end.max(index.saturating_add(1));
                let batch = (batch_of(index), place);
                if batches.last() != Some(&batch) {
                    batches.push(batch);
                    count -= std::mem::take(&mut scored).unfinished();
                }
                count += u64::from(sample.has_ended());
                scored.add(sample);
            }
            ended.push(count - scored.unfinished());
        }
        batches.sort_unstable();
        Ok(TaskRecords { task_id: task_id.to_owned(), position, total, end, batches, ended })
    }

    /// Returns the number of records of a task, on which all shards that know it must agree.
    fn total_of(&self, task_id: &str) -> Result<Option<u64>, MergeError> {
        let known = self.opened.iter().filter_map(|shard| {
            let of_run = shard.run.manifest().shard.as_ref()?;
            Some((shard.shard, of_run.records_of(task_id)?))
        });
        let known: Vec<(Shard, u64)> = known.collect();
        let Some((first, before)) = known.first().copied() else { return Ok(None) };
        match known.iter().find(|(_, total)| *total != before) {
            None => Ok(Some(before)),
            Some((other, now)) => {
                let (task_id, other, now) = (task_id.to_owned(), *other, *now);
                Err(MergeError::OtherTotals { task_id, first, before, other, now })
            }
        }
    }

    /// Returns the shards that lack records.
    pub(super) fn missing(&self, tasks: &[TaskRecords]) -> Vec<MissingRecords> {
        let lacks = |shard: Shard| {
            let place = self.opened.iter().position(|opened| opened.shard == shard);
            let records: Option<u64> = tasks
                .iter()
                .map(|task| {
                    let ended = place.and_then(|place| task.ended.get(place)).copied().unwrap_or(0);
                    Some(task.records_in(shard)?.saturating_sub(ended))
                })
                .try_fold(0_u64, |sum, records| Some(sum.saturating_add(records?)));
            let opened = place.and_then(|place| self.opened.get(place));
            let state = match opened {
                None => ShardProgress::NotStarted,
                Some(opened) if opened.is_written => ShardProgress::Running,
                Some(_) => ShardProgress::Stopped,
            };
            (records != Some(0)).then_some(MissingRecords { shard, state, records })
        };
        Shard::all(self.count).filter_map(lacks).collect()
    }
}

impl OpenedShard {
    fn open(folder: ShardFolder, run_id: &str) -> Result<OpenedShard, RunnerError> {
        let ShardFolder { shard, path } = folder;
        let untrusted = |error: RecordError| match error {
            // The system refuses, which says nothing about the shard.
            error @ RecordError::Io { .. } => RunnerError::Record(error),
            error => MergeError::Untrusted { path: path.clone(), reason: with_causes(&error) }.into(),
        };
        let is_written = RunFolder::is_being_written(&path);
        // A folder that may not be read says nothing about the shard.
        std::fs::read_dir(&path)
            .map_err(|error| RunnerError::io(format!("cannot read the folder {}", path.display()), error))?;
        let run = RunReader::open(&path).map_err(untrusted)?;
        if let Some(reason) = run.integrity().problem() {
            return Err(MergeError::Untrusted { path, reason: format!("its manifest: {reason}") }.into());
        }
        if let Some(reason) = other_than(&run, shard, run_id) {
            return Err(MergeError::NotThisShard { path, reason }.into());
        }
        // The files of a shard that is written change.
        if !is_written {
            run.check_journal().map_err(untrusted)?;
            let media = MediaFolder::digest(&path).map_err(untrusted)?;
            if run.manifest().status != RunStatus::Running
                && media.as_ref() != run.manifest().files.get(MEDIA_FOLDER)
            {
                let reason = format!("{MEDIA_FOLDER} changed after the shard ended");
                return Err(MergeError::Untrusted { path, reason }.into());
            }
        }
        let journal = run.journal().map_err(untrusted)?;
        Ok(OpenedShard { shard, run, journal, is_written })
    }

    /// Checks that another shard was made from the same inputs, as their manifests have them.
    fn check_same_identity(&self, other: &OpenedShard) -> Result<(), RunnerError> {
        let [before, now] = [self, other].map(|shard| &shard.run.manifest().identity);
        let differences = before.differences(now);
        match differences.is_empty() {
            true => Ok(()),
            false => {
                let (first, other) = (self.shard, other.shard);
                Err(MergeError::OtherInputs { first, other, differences }.into())
            }
        }
    }

    /// Reads a file that is written at its end, and checks its digest. `None` if the shard has not written it.
    fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>, RunnerError> {
        let path = self.run.path();
        let Some(written) = self.run.manifest().files.get(name) else { return Ok(None) };
        let failed = |error| RunnerError::io(format!("cannot read {}", path.join(name).display()), error);
        let change = match read_run_file(path, name) {
            Ok(bytes) if Digest::of_bytes(&bytes) == written.digest => return Ok(Some(bytes)),
            Ok(_) => "changed",
            Err(error) if error.kind() == ErrorKind::NotFound => "was deleted",
            Err(error) => return Err(failed(error)),
        };
        let reason = format!("{name} {change} after the shard ended");
        Err(MergeError::Untrusted { path: path.to_owned(), reason }.into())
    }

    fn wrong_record(&self, task_id: &str, index: u64, reason: &str) -> MergeError {
        let (task_id, reason) = (task_id.to_owned(), reason.to_owned());
        MergeError::WrongRecord { shard: self.shard, task_id, index, reason }
    }

    /// Returns the status in its manifest.
    pub(super) fn status(&self) -> RunStatus {
        self.run.manifest().status
    }
}

/// Returns how a run folder differs from a shard of a run.
fn other_than(run: &RunReader, shard: Shard, run_id: &str) -> Option<String> {
    match &run.manifest().shard {
        Some(found) => found.difference(shard, run_id),
        None => Some("it is a whole run".to_owned()),
    }
}

#[cfg(test)]
mod tests;

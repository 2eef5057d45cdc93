//! Follows a shard: its manifest, its lock and its journal.

use super::shard_journal::ShardJournal;
use super::{ShardState, ShardStatus};
use crate::format::{MANIFEST_FILE, SUMMARY_FILE};
use crate::{
    JournalId, Manifest, MissingManifest, RecordError, RunFolder, RunReader, RunStatus, unix_milliseconds,
};
use gage_core::{FileFingerprint, Outcome, Shard};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of records of each task in all shards, where a shard knows it.
pub(super) type TaskTotals = BTreeMap<String, u64>;

/// The facts that the manifests of all shards have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct SuiteFacts {
    pub(super) suite: Option<String>,
    pub(super) models: Vec<String>,
    /// The ids of the tasks, in the order of the suite.
    pub(super) tasks: Vec<String>,
}

/// Follows a shard that has a folder.
#[derive(Debug)]
pub(super) struct ShardFollower {
    shard: Shard,
    folder: PathBuf,
    /// True if the samples of a shard that is not done are counted.
    counts_samples: bool,
    /// Counts them, once the manifest has named the journal.
    journal: Option<ShardJournal>,
    /// True if the journal was read after its last process had ended.
    has_read_all: bool,
    manifest: Option<ReadManifest>,
}

/// A manifest, as it was read.
#[derive(Debug)]
struct ReadManifest {
    fingerprint: FileFingerprint,
    /// Time of its last change, in milliseconds since 1970.
    changed_unix_ms: u64,
    /// The facts in it, or the reason why it cannot be used.
    facts: Result<ShardFacts, String>,
}

/// The facts in a manifest on which the state of a shard depends.
#[derive(Clone, Debug)]
pub(super) struct ShardFacts {
    journal_id: JournalId,
    /// Its start, RFC 3339 in UTC.
    pub(super) created_at: String,
    /// The digest of its records, by which a merge knows it again.
    pub(super) digest: String,
    status: RunStatus,
    /// True if every sample has ended.
    is_done: bool,
    ended_by: Option<String>,
    /// Number of samples without a score, if the shard has figures.
    failed: Option<u64>,
}

/// The part of `summary.json` that counts samples.
#[derive(Deserialize)]
struct OutcomeSummary {
    samples: SampleOutcomes,
}

#[derive(Deserialize)]
struct SampleOutcomes {
    outcomes: BTreeMap<Outcome, u64>,
}

impl ShardFollower {
    /// Follows the shard in a folder. With `counts_samples`, its journal is read as well.
    pub(super) fn new(shard: Shard, folder: &Path, counts_samples: bool) -> ShardFollower {
        let folder = folder.to_owned();
        ShardFollower { shard, folder, counts_samples, journal: None, has_read_all: false, manifest: None }
    }

    /// Returns the facts in its manifest, as they were last read.
    pub(super) fn facts(&self) -> Option<&ShardFacts> {
        self.manifest.as_ref()?.facts.as_ref().ok()
    }

    /// Reads what has changed. Adds the totals that its manifest knows, and what it has in common with others if that is missing.
    pub(super) fn status(
        &mut self,
        run_id: &str,
        totals: &mut TaskTotals,
        common: &mut Option<SuiteFacts>,
    ) -> ShardStatus {
        // Before the manifest, whose last version is in place before the lock is released.
        let was_done = self.facts().is_some_and(|facts| facts.is_done);
        let was_held = !was_done && RunFolder::is_being_written(&self.folder);
        self.read_manifest(run_id, totals, common);
        let Some(ReadManifest { facts, changed_unix_ms, .. }) = &self.manifest else {
            return self.without_manifest(was_held);
        };
        let changed_unix_ms = *changed_unix_ms;
        let facts = match facts {
            Ok(facts) => facts.clone(),
            Err(reason) => return self.unreadable(reason.clone()),
        };
        // A process may have begun since.
        let is_held = was_held || (!facts.is_done && RunFolder::is_being_written(&self.folder));
        let status = self.with_state(ShardState::Done);
        if facts.is_done {
            // Frees what was counted while it was running.
            self.journal = None;
            let changed_unix_ms = Some(changed_unix_ms);
            return ShardStatus { failed: facts.failed, changed_unix_ms, ..status };
        }
        // A shard that was deleted and begun again has another journal.
        let is_read = |journal: &ShardJournal| journal.journal_id() == facts.journal_id;
        if self.counts_samples && !self.journal.as_ref().is_some_and(is_read) {
            self.journal = Some(ShardJournal::new(&self.folder, facts.journal_id));
        }
        let now = unix_milliseconds() / 1_000;
        if is_held || !self.has_read_all {
            let read = self.journal.as_mut().map(|journal| journal.read_new(now));
            if let Some(Err(error)) = read {
                return self.unreadable(with_causes(&error));
            }
            self.has_read_all = !is_held;
        }
        let journal = self.journal.as_ref();
        let last_record = journal.and_then(ShardJournal::last_unix_ms).unwrap_or(0);
        ShardStatus {
            state: if is_held { ShardState::Running } else { ShardState::Stopped },
            reason: (!is_held).then(|| facts.reason()).flatten(),
            recorded: journal.map(ShardJournal::ended),
            failed: journal.map(ShardJournal::failed),
            // A process writes the manifest when it begins.
            samples_per_s: journal
                .filter(|_| is_held)
                .and_then(|journal| journal.rate(changed_unix_ms / 1_000, now)),
            changed_unix_ms: Some(changed_unix_ms.max(last_record)),
            ..status
        }
    }

    fn read_manifest(&mut self, run_id: &str, totals: &mut TaskTotals, common: &mut Option<SuiteFacts>) {
        let Ok(found) = fs::symlink_metadata(self.folder.join(MANIFEST_FILE)) else {
            self.manifest = None;
            return;
        };
        let fingerprint = FileFingerprint::of(&found);
        if self.manifest.as_ref().is_some_and(|before| before.fingerprint == fingerprint) {
            return;
        }
        let facts = self.opened(run_id).map(|run| {
            let manifest = run.manifest();
            for task in manifest.shard.iter().flat_map(|shard| &shard.tasks) {
                if let Some(records) = task.records {
                    totals.insert(task.task_id.clone(), records);
                }
            }
            common.get_or_insert_with(|| SuiteFacts::of(manifest));
            ShardFacts::of(&run)
        });
        let changed_unix_ms = found.modified().map_or(0, milliseconds);
        self.has_read_all = false;
        self.manifest = Some(ReadManifest { fingerprint, changed_unix_ms, facts });
    }

    /// Opens the run folder, and checks that it is this shard of the run.
    fn opened(&self, run_id: &str) -> Result<RunReader, String> {
        let run = RunReader::open(&self.folder).map_err(|error| with_causes(&error))?;
        if let Some(problem) = run.integrity().problem() {
            return Err(format!("its manifest cannot be trusted: {problem}"));
        }
        let Some(found) = &run.manifest().shard else { return Err("it is a whole run".to_owned()) };
        match found.difference(self.shard, run_id) {
            Some(difference) => Err(difference),
            None => Ok(run),
        }
    }

    fn without_manifest(&self, is_held: bool) -> ShardStatus {
        let state = if is_held { ShardState::Running } else { ShardState::NotStarted };
        match MissingManifest::of(&self.folder) {
            MissingManifest::Nothing | MissingManifest::NeverStarted => {
                let recorded = self.counts_samples.then_some(0);
                ShardStatus { recorded, ..self.with_state(state) }
            }
            MissingManifest::Sharded | MissingManifest::Lost | MissingManifest::Foreign => {
                let error = RecordError::NotARunFolder { path: self.folder.clone() };
                self.unreadable(error.to_string())
            }
        }
    }

    fn unreadable(&self, reason: String) -> ShardStatus {
        ShardStatus { reason: Some(reason), ..self.with_state(ShardState::Unreadable) }
    }

    fn with_state(&self, state: ShardState) -> ShardStatus {
        ShardStatus::new(self.shard, state)
    }
}

impl ShardStatus {
    /// Creates the status of a shard of which nothing else is known.
    pub(super) fn new(shard: Shard, state: ShardState) -> ShardStatus {
        ShardStatus {
            number: shard.number(),
            state,
            reason: None,
            recorded: None,
            planned: None,
            failed: None,
            samples_per_s: None,
            changed_unix_ms: None,
        }
    }
}

impl SuiteFacts {
    fn of(manifest: &Manifest) -> SuiteFacts {
        let identity = &manifest.identity;
        let tasks = manifest.shard.iter().flat_map(|shard| &shard.tasks);
        SuiteFacts {
            suite: identity.suite_name().map(str::to_owned),
            models: identity.models().into_iter().map(str::to_owned).collect(),
            tasks: tasks.map(|task| task.task_id.clone()).collect(),
        }
    }
}

impl ShardFacts {
    fn of(run: &RunReader) -> ShardFacts {
        let manifest = run.manifest();
        ShardFacts {
            journal_id: manifest.journal_id,
            created_at: manifest.created_at.clone(),
            digest: manifest.shard_digest().to_string(),
            status: manifest.status,
            is_done: manifest.status == RunStatus::Complete,
            ended_by: manifest.ended_by.clone(),
            failed: manifest.files.contains_key(SUMMARY_FILE).then(|| failed_samples(run)).flatten(),
        }
    }

    /// Returns the reason why a shard without a process is not done.
    fn reason(&self) -> Option<String> {
        let known = match self.status {
            RunStatus::Running => Some("it was killed"),
            RunStatus::Interrupted | RunStatus::Complete => None,
            RunStatus::Incomplete => Some("it ended before its last row"),
        };
        self.ended_by.clone().or_else(|| known.map(str::to_owned))
    }
}

/// Returns the number of samples without a score. `None` if the summary cannot be read.
fn failed_samples(run: &RunReader) -> Option<u64> {
    let summary: OutcomeSummary = run.summary().ok().flatten()?;
    let is_failure = |outcome: &Outcome| !matches!(outcome, Outcome::Scored | Outcome::Skipped);
    let outcomes = summary.samples.outcomes.iter();
    Some(outcomes.filter(|(outcome, _)| is_failure(outcome)).map(|(_, count)| count).sum())
}

/// Returns an error and all its causes.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

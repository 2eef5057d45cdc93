//! How far a sharded run is: the state of each shard, and what all have recorded.

mod shard_follower;
mod shard_journal;
mod sharded_run_follower;
mod summary;
#[cfg(test)]
mod tests;

pub use sharded_run_follower::ShardedRunFollower;

use serde::Serialize;

/// How far a sharded run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardedRun {
    /// The id of the run, which is the name of its folder.
    pub run_id: String,
    /// The name of its suite. `None` if no shard can be read.
    pub suite: Option<String>,
    /// The models under test.
    pub models: Vec<String>,
    /// Start of the first shard, RFC 3339 in UTC. `None` if no shard can be read.
    pub created_at: Option<String>,
    /// State of the run that is merged from the shards.
    pub merge: MergeState,
    /// All shards by number, including those that were not started.
    pub shards: Vec<ShardStatus>,
}

/// How far a shard is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardStatus {
    /// The number of the shard, counted from 1.
    pub number: u64,
    /// The state.
    pub state: ShardState,
    /// The reason why it stopped or cannot be read, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of samples that have ended. `None` if it was not counted.
    pub recorded: Option<u64>,
    /// Number of samples of the shard. `None` until one shard has read the datasets to their ends.
    pub planned: Option<u64>,
    /// Number of ended samples without a score. `None` if it was not counted.
    pub failed: Option<u64>,
    /// Samples per second of the process that writes to it, over the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_per_s: Option<f64>,
    /// Time of its last change, in milliseconds since 1970, UTC.
    pub changed_unix_ms: Option<u64>,
}

/// State of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
pub enum ShardState {
    /// All its samples have ended.
    #[strum(to_string = "done")]
    Done,
    /// A process writes to it.
    #[strum(to_string = "running")]
    Running,
    /// It was stopped or killed, or a budget ended it.
    #[strum(to_string = "stopped")]
    Stopped,
    /// It has no records.
    #[strum(to_string = "not started")]
    NotStarted,
    /// Its folder is not that of this shard, was edited, or is damaged.
    #[strum(to_string = "unreadable")]
    Unreadable,
    /// It was merged, and its folder was deleted since. The merged run has its records.
    #[strum(to_string = "deleted")]
    Deleted,
}

impl ShardState {
    /// Returns the state in words.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// State of the run that is merged from shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub enum MergeState {
    /// There is none.
    NotMerged,
    /// A process merges the shards.
    Running,
    /// The process that merged the shards was stopped.
    Stopped,
    /// A shard has changed since it was merged. One whose folder was deleted has not.
    Outdated,
    /// The shards were merged, and some of them lacked records.
    Partial,
    /// All shards were merged.
    Merged,
    /// The folder has a run that was not merged from these shards, or cannot be read.
    Unreadable(String),
}

/// Sums over the shards of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShardTotals {
    /// Number of shards.
    pub shards: u64,
    /// Number of shards that are done.
    pub done: u64,
    /// Number of shards that a process writes to.
    pub running: u64,
    /// Number of shards that were stopped.
    pub stopped: u64,
    /// Number of shards that were not started.
    pub not_started: u64,
    /// Number of shards that cannot be read.
    pub unreadable: u64,
    /// Number of shards that were merged, and whose folders were deleted since.
    pub deleted: u64,
    /// Number of samples that have ended, where it was counted.
    pub recorded: u64,
    /// Number of samples of all shards, if known.
    pub planned: Option<u64>,
    /// Number of ended samples without a score, where it was counted.
    pub failed: u64,
    /// Samples per second of all processes. `None` if no process has a rate yet.
    pub samples_per_s: Option<f64>,
    /// Time in which these processes would do all samples that are left, in seconds.
    pub seconds_left: Option<f64>,
}

/// A row of a table of shards: one shard, or neighbouring ones in the same state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardRow {
    /// The number of the last shard.
    pub last: u64,
    /// The first shard, with the sums and the last change of all.
    pub shard: ShardStatus,
}

impl ShardedRun {
    /// Returns the sums over all shards.
    pub fn totals(&self) -> ShardTotals {
        let number_in =
            |state: ShardState| self.shards.iter().filter(|shard| shard.state == state).count() as u64;
        let sum = |of: fn(&ShardStatus) -> Option<u64>| {
            self.shards.iter().filter_map(of).fold(0, u64::saturating_add)
        };
        let recorded = sum(|shard| shard.recorded);
        let planned = saturating_sum(self.shards.iter().map(|shard| shard.planned));
        let rates: Vec<f64> = self.shards.iter().filter_map(|shard| shard.samples_per_s).collect();
        let rate = (!rates.is_empty()).then(|| rates.iter().sum::<f64>());
        let left = planned.map(|planned| planned.saturating_sub(recorded));
        let is_moving = rate.filter(|rate| *rate > 0.0);
        ShardTotals {
            shards: self.shards.len() as u64,
            done: number_in(ShardState::Done),
            running: number_in(ShardState::Running),
            stopped: number_in(ShardState::Stopped),
            not_started: number_in(ShardState::NotStarted),
            unreadable: number_in(ShardState::Unreadable),
            deleted: number_in(ShardState::Deleted),
            recorded,
            planned,
            failed: sum(|shard| shard.failed),
            samples_per_s: rate,
            // A number of samples stays far below 2^53.
            seconds_left: left.zip(is_moving).map(|(left, rate)| left as f64 / rate),
        }
    }

    /// Returns whether all shards are done, so that they can be merged.
    pub fn is_done(&self) -> bool {
        self.shards.iter().all(|shard| shard.state == ShardState::Done)
    }

    /// Returns whether no shard is running or still to be started.
    pub fn has_ended(&self) -> bool {
        !self.shards.iter().any(|shard| matches!(shard.state, ShardState::Running | ShardState::NotStarted))
    }

    /// Returns the rows of a table. At least `min_folded` neighbours in the same state, none of them running, are one row.
    pub fn rows(&self, min_folded: usize) -> Vec<ShardRow> {
        let is_alike = |one: &ShardStatus, other: &ShardStatus| {
            one.state != ShardState::Running && one.state == other.state && one.reason == other.reason
        };
        let row = |shard: &ShardStatus| ShardRow { last: shard.number, shard: shard.clone() };
        let mut rows = Vec::new();
        for alike in self.shards.chunk_by(is_alike) {
            let mut each = alike.iter().map(row);
            match each.next() {
                Some(first) if alike.len() >= min_folded => rows.push(each.fold(first, ShardRow::with)),
                first => rows.extend(first.into_iter().chain(each)),
            }
        }
        rows
    }
}

impl ShardRow {
    /// Adds the next shard.
    fn with(self, next: ShardRow) -> ShardRow {
        let sum = |one, other| saturating_sum([one, other].into_iter());
        let (one, other) = (self.shard, next.shard);
        ShardRow {
            last: next.last,
            shard: ShardStatus {
                recorded: sum(one.recorded, other.recorded),
                planned: sum(one.planned, other.planned),
                failed: sum(one.failed, other.failed),
                changed_unix_ms: one.changed_unix_ms.max(other.changed_unix_ms),
                ..one
            },
        }
    }
}

/// Returns the sum of some numbers. `None` if one of them is unknown. Totals are from manifests that others may have written.
fn saturating_sum(mut numbers: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    numbers.try_fold(0_u64, |sum, number| Some(sum.saturating_add(number?)))
}

//! The records that the shards of a run lack.

use gage_core::Shard;
use std::fmt;

/// A shard that lacks records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRecords {
    /// The shard.
    pub shard: Shard,
    /// Its progress.
    pub state: ShardProgress,
    /// Number of records that it lacks. `None` if no shard has read the dataset to its end.
    pub records: Option<u64>,
}

/// Progress of a shard that lacks records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardProgress {
    /// It was not started.
    NotStarted,
    /// A process writes to it.
    Running,
    /// It was stopped or killed, or a budget ended it.
    Stopped,
}

impl fmt::Display for MissingRecords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingRecords { shard, state, records } = self;
        let state = match state {
            ShardProgress::NotStarted => "was not started",
            ShardProgress::Running => "is running",
            ShardProgress::Stopped => "was stopped",
        };
        write!(formatter, "shard {shard} {state}")?;
        match records {
            Some(1) => write!(formatter, " and lacks 1 record"),
            Some(records) => write!(formatter, " and lacks {records} records"),
            None => Ok(()),
        }
    }
}

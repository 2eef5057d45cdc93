//! Reasons that shards cannot be merged.

use crate::missing_records::MissingRecords;
use gage_core::Shard;
use std::path::PathBuf;

/// Maximum number of shards that an error lists.
const MAX_LISTED: usize = 10;

/// Reason that the shards of a run cannot be merged. Nothing is written then, unless the user stops a merge that has begun.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The folder has no shards.
    #[error("{} has no shards: there is no folder `shards` with at least one of them", .run.display())]
    NoShards {
        /// The folder of the run.
        run: PathBuf,
    },
    /// The shards are of two divisions of the run.
    #[error("the shards are not of one division: there is {first}, and {other}")]
    OtherDivision {
        /// One of the shards.
        first: Shard,
        /// Another one.
        other: Shard,
    },
    /// A folder has another shard than its name says, or one of another run.
    #[error("{} is not this shard of the run: {reason}", .path.display())]
    NotThisShard {
        /// The folder.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// A shard was changed after it was written, or is damaged.
    #[error("{} cannot be trusted: {reason}", .path.display())]
    Untrusted {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Two shards were made from different inputs.
    #[error(
        "shard {other} was made from other inputs than shard {first}:\n  {}", .differences.join("\n  ")
    )]
    OtherInputs {
        /// One of the shards.
        first: Shard,
        /// Another one.
        other: Shard,
        /// The places that differ, with both values.
        differences: Vec<String>,
    },
    /// A plugin that describes or aggregates the scores is not the one that gave them.
    #[error("the plugin `{name}` is not the one that scored the shards: its digest is now {digest}")]
    OtherPlugin {
        /// The name that the suite uses.
        name: String,
        /// The digest of the plugin that was found.
        digest: String,
    },
    /// Two shards have read different numbers of rows.
    #[error(
        "the dataset of the task `{task_id}` had {before} records for shard {first}, and {now} for shard {other}; it must be \
         the same for all"
    )]
    OtherTotals {
        /// The task.
        task_id: String,
        /// One of the shards.
        first: Shard,
        /// Its number of records.
        before: u64,
        /// Another shard.
        other: Shard,
        /// Its number of records.
        now: u64,
    },
    /// A shard has a record that is not its own.
    #[error("shard {shard} has record {index} of the task `{task_id}`, {reason}")]
    WrongRecord {
        /// The shard.
        shard: Shard,
        /// The task.
        task_id: String,
        /// The index of the record.
        index: u64,
        /// The problem.
        reason: String,
    },
    /// The run was merged from more records of a shard before.
    #[error(
        "{} has {before} records of shard {shard}, and the folder of the shard has {now}: it is gone, or has lost records",
        .run.display()
    )]
    FewerRecords {
        /// The folder of the run.
        run: PathBuf,
        /// The shard.
        shard: Shard,
        /// Number of its records in the merged run.
        before: u64,
        /// Number of records in its folder.
        now: u64,
    },
    /// Shards or records are missing.
    #[error("{} cannot be merged yet: {}", .run.display(), listed(.missing))]
    Incomplete {
        /// The folder of the run.
        run: PathBuf,
        /// The shards that lack something.
        missing: Vec<MissingRecords>,
    },
    /// The user stopped the merge.
    #[error("stopped; the run is not merged, and its shards are unchanged")]
    Stopped,
}

/// Lists the shards that lack something.
fn listed(missing: &[MissingRecords]) -> String {
    let mut parts: Vec<String> = missing.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    let rest = missing.len().saturating_sub(MAX_LISTED);
    if rest > 0 {
        parts.push(format!("and {rest} more"));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::missing_records::ShardProgress;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn at_most_ten_missing_shards_are_listed() {
        for (shards, expected) in [
            (1, "cannot be merged yet: shard 1/12 was not started and lacks 3 records"),
            (10, "; shard 10/12 was not started and lacks 3 records"),
            (12, "; shard 10/12 was not started and lacks 3 records; and 2 more"),
        ] {
            let state = ShardProgress::NotStarted;
            let lacking = |shard| MissingRecords { shard, state, records: Some(3) };
            let missing: Vec<MissingRecords> = Shard::all(12).take(shards).map(lacking).collect();
            let error = MergeError::Incomplete { run: PathBuf::from("runs/r"), missing }.recorded("shards");
            assert!(error.starts_with("runs/r cannot") && error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn changed_plugin_and_stop_are_described() {
        let plugin = MergeError::OtherPlugin { name: "words".to_owned(), digest: "sha256:00".to_owned() };
        let expected =
            "the plugin `words` is not the one that scored the shards: its digest is now sha256:00";
        assert_eq!(plugin.recorded("shards"), expected);
        assert!(MergeError::Stopped.recorded("shards").contains("its shards are unchanged"));
    }
}

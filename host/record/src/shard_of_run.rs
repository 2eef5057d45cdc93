//! Descriptions of shards in manifests.

use crate::RunStatus;
use gage_core::{Object, ROWS_PER_BATCH, Shard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Description of a shard in its own manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardOfRun {
    /// The id of the whole run.
    pub run_id: String,
    /// The number of this shard, counted from 1.
    pub number: u64,
    /// The number of shards.
    pub count: u64,
    /// The number of rows that are scored together. Shards consist of whole batches.
    pub rows_per_batch: u64,
    /// Maximum number of samples of each task that the command line set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_samples: Option<u64>,
    /// The tasks, in the order of the suite. The position of a task decides which of its records are in this shard.
    pub tasks: Vec<ShardedTask>,
}

/// A task of a run that is divided into shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardedTask {
    /// The task.
    pub task_id: String,
    /// Number of its records in all shards, samples times repeats. `None` until the shard has read the dataset to its end.
    pub records: Option<u64>,
}

impl ShardOfRun {
    /// Returns the shard. `None` if the numbers are those of no shard.
    pub fn shard(&self) -> Option<Shard> {
        Shard::new(self.number, self.count)
    }

    /// Returns the number of records of a task in all shards, if it is known.
    pub fn records_of(&self, task_id: &str) -> Option<u64> {
        self.tasks.iter().find(|task| task.task_id == task_id)?.records
    }

    /// Returns the same without the numbers of records, as it is when a shard starts.
    #[must_use]
    pub fn without_records(mut self) -> ShardOfRun {
        self.tasks.iter_mut().for_each(|task| task.records = None);
        self
    }

    /// Describes how it differs from a shard of a run, as this program divides it. `None` if it is this shard.
    pub fn difference(&self, shard: Shard, run_id: &str) -> Option<String> {
        if self.run_id != run_id {
            return Some(format!("it is a shard of the run `{}`", self.run_id));
        }
        if self.shard() != Some(shard) {
            return Some(format!("its manifest says shard {}/{}", self.number, self.count));
        }
        (self.rows_per_batch != ROWS_PER_BATCH).then(|| {
            let rows = self.rows_per_batch;
            format!("it was divided by batches of {rows} rows, and this program uses {ROWS_PER_BATCH}")
        })
    }
}

/// Description of a shard in the manifest of the merged run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergedShard {
    /// The number of the shard, counted from 1.
    pub number: u64,
    /// Digest of its records when it was merged ([`Manifest::shard_digest`](crate::Manifest::shard_digest)). `None` if there was
    /// no such shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its status then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Version of the program that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_version: Option<String>,
    /// Its start, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Its end, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Number of its records.
    pub records: u64,
    /// Number of records that it lacked, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// Facts about its backends, such as threads and processors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Object>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_that_of_its_run_and_number() {
        let shard = Shard::new(3, 16).unwrap();
        let own = ShardOfRun {
            run_id: "nightly".to_owned(),
            number: 3,
            count: 16,
            rows_per_batch: ROWS_PER_BATCH,
            max_samples: None,
            tasks: Vec::new(),
        };
        for (found, expected) in [
            (own.clone(), None),
            (
                ShardOfRun { run_id: "weekly".to_owned(), ..own.clone() },
                Some("it is a shard of the run `weekly`"),
            ),
            (ShardOfRun { number: 4, ..own.clone() }, Some("its manifest says shard 4/16")),
            (ShardOfRun { count: 8, ..own.clone() }, Some("its manifest says shard 3/8")),
            (
                ShardOfRun { rows_per_batch: 8, ..own },
                Some("it was divided by batches of 8 rows, and this program uses 32"),
            ),
        ] {
            assert_eq!(found.difference(shard, "nightly").as_deref(), expected);
        }
    }
}

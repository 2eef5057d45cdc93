//! The manifest of a merged run: what its shards have in common, and their sums.

use super::shard_set::{ShardSet, TaskRecords};
use crate::HOST_VERSION;
use gage_core::{Shard, Usage};
use gage_record::{Manifest, MergedShard};

impl ShardSet {
    /// Returns the manifest of the merged run, as it is before its files are written.
    pub(super) fn manifest(&self, run_id: &str, tasks: &[TaskRecords]) -> Manifest {
        let first = self.first().manifest();
        let all = || self.opened.iter().map(|shard| shard.run.manifest());
        let mut manifest = Manifest::new(run_id, HOST_VERSION, first.identity.clone());
        let begun = all().map(|shard| &shard.created_at).min();
        manifest.created_at = begun.unwrap_or(&first.created_at).clone();
        manifest.permissions = first.permissions.clone();
        manifest.facts = first.facts.clone();
        manifest.plugins = first.plugins.clone();
        manifest.prompt_versions = first.prompt_versions.clone();
        // All shards have the same limit of samples.
        manifest.warnings = first.warnings.clone();
        for shard in all() {
            for (backend_id, usage) in &shard.unrecorded_usage {
                let sum = manifest.unrecorded_usage.entry(backend_id.clone()).or_default();
                *sum = added(*sum, *usage);
            }
            for (backend_id, cost) in &shard.costs {
                *manifest.costs.entry(backend_id.clone()).or_default() += cost;
            }
            manifest.prices.extend(shard.prices.clone());
            manifest.unpriced.extend(shard.unpriced.iter().cloned());
        }
        manifest.shards = Shard::all(self.count).map(|shard| self.listed(shard, tasks)).collect();
        manifest
    }

    /// Describes a shard for the manifest.
    fn listed(&self, shard: Shard, tasks: &[TaskRecords]) -> MergedShard {
        let place = self.opened.iter().position(|opened| opened.shard == shard);
        let ended =
            |task: &TaskRecords| place.and_then(|place| task.ended.get(place)).copied().unwrap_or_default();
        let lacking = |task: &TaskRecords| Some(task.records_in(shard)?.saturating_sub(ended(task)));
        let missing =
            tasks.iter().map(lacking).try_fold(0_u64, |sum, records| Some(sum.saturating_add(records?)));
        let records = tasks.iter().map(ended).sum();
        let listed = MergedShard { number: shard.number(), records, missing, ..MergedShard::default() };
        let Some(opened) = place.and_then(|place| self.opened.get(place)) else { return listed };
        let manifest = opened.run.manifest();
        MergedShard {
            digest: Some(manifest.shard_digest().to_string()),
            status: Some(opened.status()),
            host_version: Some(manifest.host_version.clone()),
            created_at: Some(manifest.created_at.clone()),
            finished_at: manifest.finished_at.clone(),
            facts: manifest.facts.clone(),
            ..listed
        }
    }
}

fn added(one: Usage, other: Usage) -> Usage {
    Usage {
        prompt_tokens: one.prompt_tokens.saturating_add(other.prompt_tokens),
        completion_tokens: one.completion_tokens.saturating_add(other.completion_tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_shards::{TestShard, write_shards};
    use super::*;
    use gage_record::{RunStatus, shards_folder};
    use std::collections::BTreeMap;

    fn costs(costs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        costs.iter().map(|(backend_id, cost)| ((*backend_id).to_owned(), *cost)).collect()
    }

    #[test]
    fn manifest_adds_up_the_shards_and_lists_each() {
        let first =
            TestShard { costs: costs(&[("model", 1.5)]), ..TestShard::new(1, 3, 0..32).with_total("t", 80) };
        let second =
            TestShard { costs: costs(&[("judges", 0.25), ("model", 2.0)]), ..TestShard::new(2, 3, 32..40) };
        let root = write_shards(&[first, second]);
        let shards = ShardSet::open(root.path(), "run").unwrap_or_else(|error| panic!("{error}"));
        let tasks = shards.check_records(&["t"]).unwrap_or_else(|error| panic!("{error}"));
        let manifest = shards.manifest("run", &tasks);
        assert_eq!(manifest.costs, costs(&[("judges", 0.25), ("model", 3.5)]));
        assert_eq!(manifest.shard, None);
        let of_shard = |shard: &MergedShard| (shard.number, shard.records, shard.missing, shard.status);
        let listed: Vec<_> = manifest.shards.iter().map(of_shard).collect();
        let complete = Some(RunStatus::Complete);
        assert_eq!(listed, [(1, 32, Some(0), complete), (2, 8, Some(24), complete), (3, 0, Some(16), None)]);
        let written = Manifest::read(&shards_folder(root.path()).join("01-of-03")).expect("a manifest");
        assert_eq!(manifest.shards[0].digest, Some(written.shard_digest().to_string()));
    }
}

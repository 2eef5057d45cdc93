//! The times and counts of all shards.

use super::shard_set::ShardSet;
use gage_figures::{Phases, PluginCosts, Timings};
use std::collections::BTreeMap;
use std::time::Duration;

impl ShardSet {
    /// Adds up the times and counts of all shards that have ended. The wall time is that of the longest one, because shards run at
    /// the same time.
    pub(super) fn phases(&self) -> Phases {
        let mut sum = Phases::default();
        let mut plugins: BTreeMap<(String, String, String), PluginCosts> = BTreeMap::new();
        for timings in self.opened.iter().filter_map(|shard| shard.run.timings::<Timings>().ok().flatten()) {
            sum.dataset_materialization += seconds(timings.dataset_materialization_s);
            sum.inference += seconds(timings.inference_s);
            sum.evaluation += seconds(timings.evaluation_s);
            sum.wall = sum.wall.max(seconds(timings.wall_runtime_s));
            sum.samples = sum.samples.saturating_add(timings.samples);
            sum.finished = sum.finished.saturating_add(timings.finished);
            sum.requests = sum.requests.saturating_add(timings.requests);
            sum.retries = sum.retries.saturating_add(timings.retries);
            sum.prompt_tokens = sum.prompt_tokens.saturating_add(timings.prompt_tokens);
            sum.completion_tokens = sum.completion_tokens.saturating_add(timings.completion_tokens);
            for costs in timings.plugins {
                let key = (costs.plugin.clone(), costs.kind.clone(), costs.member.clone());
                let all = plugins.remove(&key);
                plugins.insert(key, added(all, costs));
            }
        }
        sum.plugins = plugins.into_values().collect();
        sum.plugins.sort_by(|one, other| other.cpu_s.total_cmp(&one.cpu_s));
        sum
    }
}

/// Adds the costs of a plugin in one shard to those in others.
fn added(sum: Option<PluginCosts>, one: PluginCosts) -> PluginCosts {
    let Some(sum) = sum else { return one };
    let items = sum.items.saturating_add(one.items);
    let cpu_s = sum.cpu_s + one.cpu_s;
    PluginCosts {
        items,
        calls: sum.calls.saturating_add(one.calls),
        cpu_s,
        // Numbers of items stay far below 2^53.
        cpu_us_per_item: (items > 0).then(|| cpu_s * 1e6 / items as f64),
        fuel: sum.fuel.saturating_add(one.fuel),
        peak_memory_bytes: sum.peak_memory_bytes.max(one.peak_memory_bytes),
        ..one
    }
}

/// Returns a duration; none if a file has a number that is no time.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

//! Estimate of a run that is divided into shards, from that of the whole run.

use super::{
    Estimate, EstimateOptions, Range, RequestEstimate, TaskEstimate, seconds_of, seconds_of_requests,
    seconds_of_task,
};
use crate::plan::Plan;
use gage_config::LoopMode;
use gage_core::{ROWS_PER_BATCH, Shard};
use serde::Serialize;
use std::cmp::Reverse;
use std::ops::Add;

/// Estimate of one shard of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardEstimate {
    /// The number of the shard, counted from 1.
    pub number: u64,
    /// Number of its records in all tasks: samples times repeats.
    pub records: u64,
    /// Its requests.
    pub requests: Range,
    /// Tokens of its prompts.
    pub prompt_tokens: Range,
    /// Tokens of its completions.
    pub completion_tokens: Range,
    /// Cost of its priced requests. `None` if no request has a price.
    pub cost: Option<Range>,
    /// Duration of the shard, in seconds.
    pub seconds: Range,
}

/// Estimate of a run that is divided into shards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardedEstimate {
    /// Number of shards.
    pub count: u64,
    /// Number of records of the whole run.
    pub records: u64,
    /// Number of scoring batches of all tasks. No more shards than that have records.
    pub batches: u64,
    /// Number of shards without a record.
    pub empty: u64,
    /// The first of the shards with the most records.
    pub largest: ShardEstimate,
    /// The first of the shards with the fewest records.
    pub smallest: ShardEstimate,
}

impl Range {
    /// Returns `own` parts of `all`. Whole numbers stay whole where they can.
    fn part(self, own: u64, all: u64) -> Range {
        // Records stay far below 2^53.
        let part = |value: f64| if all == 0 { 0.0 } else { value * own as f64 / all as f64 };
        Range::new(part(self.low), part(self.high))
    }
}

impl Plan {
    /// Estimates the shards of a run from the estimate of the whole run. Tasks whose data is not on this machine are left out.
    /// `None` if a run cannot have that many shards.
    pub fn estimate_shards(
        &self,
        whole: &Estimate,
        options: &EstimateOptions<'_>,
        count: u64,
    ) -> Option<ShardedEstimate> {
        let modes: Vec<LoopMode> = self.tasks.iter().map(|task| task.spec.mode).collect();
        let parallelism = options.task_parallelism.unwrap_or(self.config.task_parallelism);
        ShardedEstimate::of(whole, &modes, parallelism, options.latency, count)
    }
}

impl ShardedEstimate {
    /// `modes` has the mode of each task.
    fn of(
        whole: &Estimate,
        modes: &[LoopMode],
        parallelism: usize,
        latency: (f64, f64),
        count: u64,
    ) -> Option<ShardedEstimate> {
        Shard::new(1, count)?;
        let records_in = |shard: Shard| -> u64 {
            let own =
                |(place, task): (usize, &TaskEstimate)| shard.of_task(place).records_of(records_of(task));
            whole.tasks.iter().enumerate().map(own).sum()
        };
        let shards = || Shard::all(count).map(|shard| (shard, records_in(shard)));
        let largest = shards().min_by_key(|(_, records)| Reverse(*records))?;
        let smallest = shards().min_by_key(|(_, records)| *records)?;
        let [largest, smallest] = [largest, smallest].map(|(shard, records)| {
            let tasks = whole.tasks.iter().zip(modes).enumerate();
            let of_shard = |(place, (task, mode)): (usize, (&TaskEstimate, &LoopMode))| {
                task_of_shard(task, *mode, latency, shard.of_task(place))
            };
            let tasks: Vec<TaskEstimate> = tasks.map(of_shard).collect();
            shard_estimate(shard, records, &tasks, parallelism)
        });
        Some(ShardedEstimate {
            count,
            records: whole.tasks.iter().map(records_of).sum(),
            batches: whole.tasks.iter().map(|task| records_of(task).div_ceil(ROWS_PER_BATCH)).sum(),
            empty: shards().filter(|(_, records)| *records == 0).count() as u64,
            largest,
            smallest,
        })
    }
}

/// Returns the number of records of a task; 0 if it is unknown.
fn records_of(task: &TaskEstimate) -> u64 {
    task.samples.unwrap_or(0).saturating_mul(task.repeat)
}

/// Returns the part of a task's estimate that belongs to a shard.
fn task_of_shard(task: &TaskEstimate, mode: LoopMode, latency: (f64, f64), shard: Shard) -> TaskEstimate {
    let all = records_of(task);
    let own = shard.records_of(all);
    let part = |request: &RequestEstimate| {
        let requests = request.requests.part(own, all);
        RequestEstimate {
            requests,
            prompt_tokens: request.prompt_tokens.part(own, all),
            completion_tokens: request.completion_tokens.part(own, all),
            cost: request.cost.map(|cost| cost.part(own, all)),
            seconds: seconds_of_requests(requests, request.in_flight, latency),
            ..request.clone()
        }
    };
    let requests: Vec<RequestEstimate> = task.requests.iter().map(part).collect();
    TaskEstimate { seconds: seconds_of_task(mode, &requests), requests, ..task.clone() }
}

/// Adds up the tasks of a shard.
fn shard_estimate(shard: Shard, records: u64, tasks: &[TaskEstimate], parallelism: usize) -> ShardEstimate {
    let all = || tasks.iter().flat_map(|task| &task.requests);
    let sum = |of: fn(&RequestEstimate) -> Range| all().map(of).fold(Range::default(), Add::add);
    ShardEstimate {
        number: shard.number(),
        records,
        requests: sum(|request| request.requests),
        prompt_tokens: sum(|request| request.prompt_tokens),
        completion_tokens: sum(|request| request.completion_tokens),
        cost: all().filter_map(|request| request.cost).reduce(Add::add),
        seconds: seconds_of(tasks, parallelism),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::TokensBy;
    use proptest::prelude::*;

    /// A task whose samples take one request each, with ten tokens that cost 1.
    fn task(samples: Option<u64>, repeat: u64) -> TaskEstimate {
        let requests = samples.unwrap_or(0) as f64 * repeat as f64;
        let range = |value: f64| Range::new(value, value);
        let request = RequestEstimate {
            step: "inference",
            adapter_id: "dut".to_owned(),
            backend_id: "model".to_owned(),
            requests: range(requests),
            prompt_tokens: range(8.0 * requests),
            completion_tokens: range(2.0 * requests),
            cost: Some(range(requests)),
            in_flight: 16,
            seconds: range(0.0),
        };
        TaskEstimate {
            task_id: "t".to_owned(),
            dataset_id: "d".to_owned(),
            samples,
            is_at_least: false,
            clusters: None,
            repeat,
            tokens_by: TokensBy::Bytes,
            requests: vec![request],
            seconds: range(0.0),
            plugins: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn sharded(tasks: Vec<TaskEstimate>, count: u64) -> Option<ShardedEstimate> {
        let modes = vec![LoopMode::FireAndForget; tasks.len()];
        let nothing = Range::default();
        let whole = Estimate {
            tasks,
            requests: nothing,
            prompt_tokens: nothing,
            completion_tokens: nothing,
            cost: None,
            seconds: nothing,
        };
        ShardedEstimate::of(&whole, &modes, 1, (1.0, 2.0), count)
    }

    #[test]
    fn shards_are_estimated_by_their_records() {
        // Of 1,000 records, 31 batches are full, and the last one has 8.
        for (tasks, count, batches, empty, largest, smallest) in [
            (vec![task(Some(1_000), 1)], 1, 32, 0, 1_000, 1_000),
            (vec![task(Some(1_000), 1)], 4, 32, 0, 256, 232),
            (vec![task(Some(500), 2)], 4, 32, 0, 256, 232),
            (vec![task(Some(1_000), 1)], 32, 32, 0, 32, 8),
            (vec![task(Some(1_000), 1)], 64, 32, 32, 32, 0),
            // The second task begins at the third shard.
            (vec![task(Some(1_000), 1), task(Some(40), 1)], 4, 34, 0, 288, 240),
            (vec![task(Some(30), 1); 6], 4, 6, 0, 90, 30),
            // The data is not on this machine.
            (vec![task(None, 1)], 2, 0, 2, 0, 0),
            (Vec::new(), 2, 0, 2, 0, 0),
        ] {
            let found = sharded(tasks, count).expect("a number of shards");
            assert_eq!((found.batches, found.empty), (batches, empty), "{found:?}");
            assert_eq!((found.largest.records, found.smallest.records), (largest, smallest), "{found:?}");
            let requests = found.largest.requests;
            assert_eq!((requests.low, requests.high), (largest as f64, largest as f64), "{found:?}");
        }
        for count in [0, gage_core::MAX_SHARDS + 1] {
            assert_eq!(sharded(vec![task(Some(1), 1)], count), None, "{count}");
        }
    }

    #[test]
    fn a_shard_takes_its_part_of_the_time_and_cost() {
        let found = sharded(vec![task(Some(1_000), 1)], 4).expect("four shards");
        let ShardEstimate { number, cost, seconds, prompt_tokens, completion_tokens, .. } = found.largest;
        // 256 requests, 16 at a time, of one to two seconds.
        assert_eq!((number, cost, seconds), (1, Some(Range::new(256.0, 256.0)), Range::new(16.0, 32.0)));
        assert_eq!((prompt_tokens.low, completion_tokens.low), (2_048.0, 512.0));
        assert_eq!((found.smallest.number, found.smallest.seconds.low), (4, 15.0));
    }

    proptest! {
        #[test]
        fn no_shard_is_larger_or_smaller_than_the_shown_ones(
            samples in proptest::collection::vec((0_u64..3_000, 1_u64..4), 1..4),
            count in 1_u64..70,
        ) {
            let totals: Vec<u64> = samples.iter().map(|(samples, repeat)| samples * repeat).collect();
            let tasks = samples.iter().map(|(samples, repeat)| task(Some(*samples), *repeat)).collect();
            let found = sharded(tasks, count).expect("a number of shards");
            let of_shards: Vec<u64> =
                Shard::all(count)
                    .map(|shard| (0..).zip(&totals).map(|(place, total)| shard.of_task(place).records_of(*total)).sum())
                    .collect();
            prop_assert_eq!(Some(found.largest.records), of_shards.iter().copied().max());
            prop_assert_eq!(Some(found.smallest.records), of_shards.iter().copied().min());
            prop_assert_eq!(found.empty, of_shards.iter().filter(|records| **records == 0).count() as u64);
            prop_assert_eq!(found.records, of_shards.iter().sum::<u64>());
        }
    }
}

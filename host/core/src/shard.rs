//! Shards: a run divided among processes, by whole scoring batches.

use crate::scoring_batch::{ROWS_PER_BATCH, batch_of, rows_of_batch};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Maximum number of shards of a run.
pub const MAX_SHARDS: u64 = 10_000;

/// A shard of a run. Of each task, it has the records of every N-th scoring batch. Therefore, all processes agree on the
/// assignment without knowing the number of records, and records are scored together as in an undivided run. The batches of a
/// task begin at a shard that depends on its position in the suite ([`Shard::of_task`]), so that many small tasks are spread
/// over all shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    /// Counted from 0, and less than `count`.
    position: u64,
    count: u64,
}

/// A text that names no shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidShard(pub String);

impl fmt::Display for InvalidShard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidShard(text) = self;
        write!(
            formatter,
            "'{text}' is not a shard: write K/N, such as 3/16 for the third of sixteen, or index:I/N, where I counts from 0; \
             N is at most {MAX_SHARDS}"
        )
    }
}

impl std::error::Error for InvalidShard {}

impl Shard {
    /// Returns shard `number`, counted from 1, of `count`. `None` if there is no such shard.
    pub fn new(number: u64, count: u64) -> Option<Shard> {
        let position = number.checked_sub(1)?;
        (position < count && count <= MAX_SHARDS).then_some(Shard { position, count })
    }

    /// Returns all shards of a run.
    pub fn all(count: u64) -> impl Iterator<Item = Shard> {
        (0..count.min(MAX_SHARDS)).map(move |position| Shard { position, count })
    }

    /// Returns its number, counted from 1.
    pub fn number(self) -> u64 {
        self.position + 1
    }

    /// Returns the number of shards of the run.
    pub fn count(self) -> u64 {
        self.count
    }

    /// Returns the shard of the first task that has the same records as this shard has of the task at a position of the suite,
    /// counted from 0. All other functions are about the first task.
    ///
    /// The batches of the task at position `t` begin at shard `floor(N * frac(t / φ))`, counted from 0, where φ is the golden
    /// ratio: any number of consecutive tasks begin at shards that are spread evenly.
    #[must_use]
    pub fn of_task(self, position: usize) -> Shard {
        // 2^64 / φ. The product wraps around at 1, and is less than 1 in units of 2^-64.
        const INVERSE_GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
        let Shard { position: own, count } = self;
        let fraction = (position as u64).wrapping_mul(INVERSE_GOLDEN_RATIO);
        let first = u64::try_from((u128::from(fraction) * u128::from(count)) >> 64).unwrap_or_default();
        Shard { position: (own + count - first) % count, count }
    }

    /// Returns whether a record is in this shard.
    pub fn has(self, index: u64) -> bool {
        batch_of(index) % self.count == self.position
    }

    /// Returns whether one of these neighbouring records is in this shard.
    pub fn has_any(self, indices: Range<u64>) -> bool {
        self.next_from(indices.start).is_some_and(|next| next < indices.end)
    }

    /// Returns the first record of this shard from `index` on. `None` if there is none up to `u64::MAX`.
    pub fn next_from(self, index: u64) -> Option<u64> {
        if self.has(index) {
            return Some(index);
        }
        let ahead = (self.position + self.count - batch_of(index) % self.count) % self.count;
        batch_of(index).checked_add(ahead)?.checked_mul(ROWS_PER_BATCH)
    }

    /// Returns how many of the first `total` records of a task are in this shard.
    pub fn records_of(self, total: u64) -> u64 {
        let whole_batches = batch_of(total);
        let own = (whole_batches + self.count - 1 - self.position) / self.count;
        let rest = total - rows_of_batch(total).start;
        own * ROWS_PER_BATCH + if whole_batches % self.count == self.position { rest } else { 0 }
    }

    /// Returns the name of its folder, such as `03-of-16`. The names of a run's shards sort by number.
    pub fn folder_name(self) -> String {
        let width = self.count.to_string().len().max(2);
        format!("{:0width$}-of-{:0width$}", self.number(), self.count)
    }

    /// Returns the shard that has a folder of this name.
    pub fn of_folder_name(name: &str) -> Option<Shard> {
        let (number, count) = name.split_once("-of-")?;
        let shard = Shard::new(number.parse().ok()?, count.parse().ok()?)?;
        (shard.folder_name() == name).then_some(shard)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number(), self.count)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    /// Parses `K/N`, with K counted from 1, or `index:I/N`, with I counted from 0.
    fn from_str(text: &str) -> Result<Shard, InvalidShard> {
        let (first, place) = match text.strip_prefix("index:") {
            Some(place) => (0, place),
            None => (1, text),
        };
        let parsed = || {
            let (number, count) = place.split_once('/')?;
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number(number) || !is_number(count) {
                return None;
            }
            let number = number.parse::<u64>().ok()?.checked_add(1 - first)?;
            Shard::new(number, count.parse().ok()?)
        };
        parsed().ok_or_else(|| InvalidShard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shards_are_written_from_1_or_as_an_index() {
        for (text, expected) in [
            ("1/1", Some((1, 1))),
            ("3/16", Some((3, 16))),
            ("03/16", Some((3, 16))),
            ("index:0/16", Some((1, 16))),
            ("index:15/16", Some((16, 16))),
            ("10000/10000", Some((10_000, 10_000))),
            ("0/16", None),
            ("17/16", None),
            ("index:16/16", None),
            ("1/10001", None),
            ("1/0", None),
            ("index:18446744073709551615/16", None),
            ("", None),
            ("3", None),
            ("3/", None),
            ("+3/16", None),
            (" 3/16", None),
            ("-1/16", None),
        ] {
            let parsed = text.parse::<Shard>();
            assert_eq!(parsed.as_ref().ok().map(|shard| (shard.number(), shard.count())), expected, "{text}");
            if let Err(error) = parsed {
                assert!(error.to_string().starts_with(&format!("'{text}' is not a shard")), "{error}");
            }
        }
    }

    #[test]
    fn folder_names_sort_by_number() {
        for (shard, name) in [((3, 16), "03-of-16"), ((1, 1), "01-of-01"), ((7, 1000), "0007-of-1000")] {
            let shard = Shard::new(shard.0, shard.1).unwrap();
            assert_eq!(shard.folder_name(), name);
            assert_eq!(Shard::of_folder_name(name), Some(shard));
        }
        for name in ["3-of-16", "03-of-016", "17-of-16", "00-of-16", "03-of-", "x", "003-of-16"] {
            assert_eq!(Shard::of_folder_name(name), None, "{name}");
        }
    }

    #[test]
    fn small_tasks_are_spread_over_all_shards() {
        for (count, tasks) in [(1, 1), (2, 2), (3, 3), (16, 16), (16, 57), (64, 57), (256, 1_000)] {
            let shards: Vec<Shard> = Shard::all(count).collect();
            let first_of = |task| shards.iter().position(|shard| shard.of_task(task).has(0)).unwrap();
            let mut tasks_of = vec![0_usize; shards.len()];
            (0..tasks).for_each(|task| tasks_of[first_of(task)] += 1);
            let even = tasks.div_ceil(shards.len());
            assert!(tasks_of.iter().all(|own| *own <= even + 1), "{count} {tasks}: {tasks_of:?}");
            assert_eq!(first_of(0), 0);
        }
    }

    proptest! {
        /// Each record is in one shard, with its whole batch. All ways to ask agree.
        #[test]
        fn shards_are_a_partition(
            count in 1_u64..40,
            total in 0_u64..2_000,
            begin in 0_u64..2_000,
            task in 0_usize..50,
        ) {
            let shards: Vec<Shard> = Shard::all(count).map(|shard| shard.of_task(task)).collect();
            let mut records = vec![0_u64; shards.len()];
            for index in 0..total {
                let owners: Vec<usize> = (0..shards.len()).filter(|place| shards[*place].has(index)).collect();
                prop_assert_eq!(owners.len(), 1, "{}", index);
                if task == 0 {
                    prop_assert_eq!(batch_of(index) % count, owners[0] as u64);
                }
                records[owners[0]] += 1;
            }
            for (shard, records) in shards.iter().zip(&records) {
                prop_assert_eq!(shard.records_of(total), *records);
                let next = (begin..).find(|index| shard.has(*index));
                prop_assert_eq!(shard.next_from(begin), next);
                prop_assert_eq!(shard.has_any(begin..begin + 40), (begin..begin + 40).any(|index| shard.has(index)));
            }
        }
    }
}

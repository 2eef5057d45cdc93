//! A sharded run in sentences.

use super::{MergeState, ShardStatus, ShardTotals, ShardedRun};

impl ShardedRun {
    /// Describes the state in a few words: `3 of 16 shards done`.
    pub fn state(&self) -> String {
        let ShardTotals { shards, done, .. } = self.totals();
        format!("{} of {} done", grouped(done), counted(shards, "shard"))
    }

    /// Describes how far the run is, in one line: shards, samples, rate and the time that is left.
    pub fn summary(&self) -> String {
        let totals = self.totals();
        let mut shards = vec![format!(
            "{} of {} {} done",
            grouped(totals.done),
            counted(totals.shards, "shard"),
            if totals.done == 1 { "is" } else { "are" }
        )];
        for (number, one, many) in [
            (totals.running, "runs", "run"),
            (totals.stopped, "was stopped", "were stopped"),
            (totals.not_started, "was not started", "were not started"),
            (totals.unreadable, "cannot be read", "cannot be read"),
            (totals.deleted, "was deleted", "were deleted"),
        ] {
            if number > 0 {
                shards.push(format!("{} {}", grouped(number), if number == 1 { one } else { many }));
            }
        }
        let samples = match totals.planned {
            Some(planned) => format!("{} of {}", grouped(totals.recorded), counted(planned, "sample")),
            None => counted(totals.recorded, "sample"),
        };
        let mut parts = vec![format!("{}: {samples}", shards.join(", "))];
        if totals.failed > 0 {
            parts.push(format!("{} failed", grouped(totals.failed)));
        }
        parts.extend(totals.samples_per_s.map(|rate| format!("{} samples/s", rounded(rate))));
        parts.extend(totals.seconds_left.map(|seconds| format!("about {} left", roughly(seconds))));
        parts.join("; ")
    }

    /// Describes the state of the merged run, in one line.
    pub fn merge_summary(&self) -> String {
        let merge = match &self.merge {
            MergeState::NotMerged => "the shards are not merged".to_owned(),
            MergeState::Running => "a process merges the shards".to_owned(),
            MergeState::Stopped => "the merge was stopped: merge the shards again".to_owned(),
            MergeState::Outdated => "the merged run is older than the shards: merge them again".to_owned(),
            MergeState::Partial => "the shards are merged, except for the samples that they lack".to_owned(),
            MergeState::Merged => "the shards are merged".to_owned(),
            MergeState::Unreadable(reason) => format!("the merged run cannot be used: {reason}"),
        };
        let deleted = self.totals().deleted;
        let were = if deleted == 1 { "was" } else { "were" };
        let deleted_folders = format!("{} {were} deleted", counted(deleted, "shard folder"));
        match &self.merge {
            _ if deleted == 0 => merge,
            MergeState::Merged => format!("{merge}; {deleted_folders}"),
            _ => format!("{merge}; {deleted_folders}, and must be restored before"),
        }
    }
}

impl ShardStatus {
    /// Returns the number of samples in words: `81,000 of 96,000`. `None` if it was not counted.
    pub fn samples(&self) -> Option<String> {
        let recorded = grouped(self.recorded?);
        Some(
            self.planned
                .map_or_else(|| recorded.clone(), |planned| format!("{recorded} of {}", grouped(planned))),
        )
    }

    /// Returns the time since its last change in words, such as `12 s`. `now_unix_ms` is in milliseconds since 1970.
    pub fn age(&self, now_unix_ms: u64) -> Option<String> {
        let age = now_unix_ms.saturating_sub(self.changed_unix_ms?);
        // A time stays far below 2^53 milliseconds.
        Some(roughly(age as f64 / 1_000.0))
    }
}

/// Formats a number with separated thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Formats a rate: with a digit after the point below 10.
fn rounded(rate: f64) -> String {
    // Cast: a negative rate becomes 0.
    if rate < 10.0 { format!("{rate:.1}") } else { grouped(rate.round() as u64) }
}

/// Formats a time in its largest unit.
fn roughly(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 90.0 * 60.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 48.0 * 3_600.0 => format!("{:.0} h", seconds / 3_600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShardState;
    use gage_core::Shard;

    #[test]
    fn samples_and_ages_are_in_words() {
        let shard = ShardStatus::new(Shard::new(1, 2).unwrap(), ShardState::Running);
        assert_eq!((shard.samples(), shard.age(5_000)), (None, None));
        let mut shard = ShardStatus { recorded: Some(1_200), changed_unix_ms: Some(5_000), ..shard };
        assert_eq!(shard.samples().as_deref(), Some("1,200"));
        shard.planned = Some(6_000);
        assert_eq!(shard.samples().as_deref(), Some("1,200 of 6,000"));
        for (now, expected) in [(17_000, "12 s"), (605_000, "10 min"), (0, "0 s")] {
            assert_eq!(shard.age(now).as_deref(), Some(expected));
        }
    }

    #[test]
    fn numbers_and_times_are_short() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), expected);
        }
        for (rate, expected) in [(0.0, "0.0"), (2.26, "2.3"), (310.4, "310"), (12_345.0, "12,345")] {
            assert_eq!(rounded(rate), expected);
        }
        for (seconds, expected) in
            [(4.0, "4 s"), (89.0, "89 s"), (120.0, "2 min"), (7_200.0, "2 h"), (864_000.0, "10 days")]
        {
            assert_eq!(roughly(seconds), expected);
        }
    }
}

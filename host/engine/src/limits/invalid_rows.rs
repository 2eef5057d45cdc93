//! Counts of invalid rows while a task runs: those that the reader finds, and those that turn out invalid only at inference.

use gage_config::{DatasetSpec, OnInvalid};
use parking_lot::Mutex;

/// If the number of rows is unknown in advance, this many are read before the share of invalid rows can end the run.
const MIN_ROWS_FOR_INVALID_SHARE: u64 = 1_000;

/// More invalid rows than the dataset allows.
#[derive(Clone, Debug, PartialEq)]
pub struct TooManyInvalid {
    /// The dataset.
    pub dataset_id: String,
    /// Number of invalid rows.
    pub invalid: u64,
    /// Number of rows read.
    pub rows: u64,
    /// Share of invalid rows that the dataset allows. `None` if it allows none.
    pub allowed: Option<f64>,
    /// Problem of the first invalid row found.
    pub first: String,
}

impl std::fmt::Display for TooManyInvalid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooManyInvalid { dataset_id, invalid, rows, allowed, first } = self;
        // Numbers of rows stay far below 2^53.
        let share = *invalid as f64 / (*rows).max(1) as f64 * 100.0;
        match allowed {
            Some(allowed) => write!(
                formatter,
                "{invalid} of the first {rows} rows of `{dataset_id}` are invalid ({share:.1} %); {:.1} % is \
                 allowed (max_invalid). The first: {first}",
                allowed * 100.0
            ),
            None => write!(formatter, "a row of `{dataset_id}` is invalid (on_invalid: error): {first}"),
        }
    }
}

/// Counter of invalid rows, shared by the reader and the dispatcher.
pub(crate) struct InvalidRows {
    dataset_id: String,
    /// The largest share allowed. `None` if the first invalid row ends the run.
    allowed: Option<f64>,
    /// Number of the task's rows, if known, including those of other shards.
    total: Option<u64>,
    /// True if the rows are those of a shard.
    is_shard: bool,
    counts: Mutex<InvalidCounts>,
}

#[derive(Default)]
struct InvalidCounts {
    invalid: u64,
    rows: u64,
    first: String,
    /// True if there are more than the dataset allows, even if all remaining rows are valid.
    are_too_many: bool,
    /// True if the limit was exceeded during inference.
    ends_inference: bool,
}

impl InvalidRows {
    /// `total` is the number of the task's rows, if known. A shard reads only some of them. It ends early only if it alone has
    /// more invalid rows than the whole task may have, because the others may have fewer.
    pub(crate) fn new(spec: &DatasetSpec, total: Option<u64>, is_shard: bool) -> InvalidRows {
        InvalidRows {
            dataset_id: spec.dataset_id.clone(),
            allowed: (spec.on_invalid == OnInvalid::Skip).then_some(spec.max_invalid),
            total,
            is_shard,
            counts: Mutex::default(),
        }
    }

    /// Counts a row that was read, with the problem if it is invalid. Returns true if there are too many invalid rows for
    /// the remaining ones to make up for.
    pub(crate) fn add_row(&self, message: Option<&str>) -> bool {
        let mut counts = self.counts.lock();
        counts.rows += 1;
        if let Some(message) = message {
            self.add(&mut counts, message);
        }
        counts.are_too_many
    }

    /// Counts a row that is read now, but turned out invalid in an earlier process.
    pub(crate) fn add_recorded(&self, message: &str) {
        let mut counts = self.counts.lock();
        self.add(&mut counts, message);
    }

    /// Counts a row that was read, and turned out invalid at inference.
    pub(crate) fn add_late(&self, message: &str) {
        let mut counts = self.counts.lock();
        self.add(&mut counts, message);
        counts.ends_inference = counts.are_too_many;
    }

    /// Returns true if the model need not be asked about further rows.
    pub(crate) fn ends_inference(&self) -> bool {
        self.counts.lock().ends_inference
    }

    /// Returns the error if the rows read exceed the limit.
    pub(crate) fn finish(&self) -> Option<TooManyInvalid> {
        let counts = self.counts.lock();
        let is_exceeded = match self.is_shard {
            true => counts.are_too_many,
            false => self.exceeds(&counts, counts.rows),
        };
        (counts.invalid > 0 && is_exceeded).then(|| TooManyInvalid {
            dataset_id: self.dataset_id.clone(),
            invalid: counts.invalid,
            rows: counts.rows,
            allowed: self.allowed,
            first: counts.first.clone(),
        })
    }

    fn add(&self, counts: &mut InvalidCounts, message: &str) {
        if counts.invalid == 0 {
            message.clone_into(&mut counts.first);
        }
        counts.invalid += 1;
        counts.are_too_many |= match self.total {
            _ if self.allowed.is_none() => true,
            Some(total) => self.exceeds(counts, total),
            None if self.is_shard => false,
            None => counts.rows >= MIN_ROWS_FOR_INVALID_SHARE && self.exceeds(counts, counts.rows),
        };
    }

    fn exceeds(&self, counts: &InvalidCounts, of: u64) -> bool {
        // Numbers of rows stay far below 2^53.
        self.allowed.is_none_or(|allowed| counts.invalid as f64 > allowed * of as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(allowed: Option<f64>, total: Option<u64>) -> InvalidRows {
        InvalidRows { dataset_id: "d".to_owned(), allowed, total, is_shard: false, counts: Mutex::default() }
    }

    #[test]
    fn a_shard_is_judged_by_the_rows_of_the_whole_task() {
        for (allowed, total, invalid, is_exceeded) in [
            // Four of 40 rows may be invalid, all of them in the first ten.
            (Some(0.1), Some(40), 4, false),
            (Some(0.1), Some(40), 5, true),
            // Nothing is known of the other shards.
            (Some(0.1), None, 10, false),
            (None, None, 1, true),
        ] {
            let rows = InvalidRows { is_shard: true, ..rows(allowed, total) };
            (0..10).for_each(|row| _ = rows.add_row((row < invalid).then_some("bad")));
            assert_eq!(rows.finish().is_some(), is_exceeded, "{allowed:?} {total:?} {invalid}");
        }
    }

    #[test]
    fn what_shows_late_counts_as_what_shows_early() {
        // Two of 40 rows may be invalid.
        let counted = rows(Some(0.05), Some(40));
        assert!(!counted.add_row(Some("the first")));
        (0..9).for_each(|_| assert!(!counted.add_row(None)));
        counted.add_late("late");
        assert!(!counted.ends_inference());
        counted.add_late("later");
        assert!(counted.ends_inference() && counted.add_row(None), "the reader ends too");
        let said = counted.finish().expect("too many");
        assert_eq!((said.invalid, said.rows, said.first.as_str()), (3, 11, "the first"));
    }

    #[test]
    fn one_is_enough_or_a_share_is_waited_for() {
        let strict = rows(None, None);
        assert!(!strict.add_row(None));
        strict.add_late("late");
        assert!(strict.ends_inference());
        assert_eq!(
            strict.finish().map(|said| said.to_string()).as_deref(),
            Some("a row of `d` is invalid (on_invalid: error): late")
        );

        let unknown = rows(Some(0.05), None);
        unknown.add_row(None);
        unknown.add_late("late");
        assert!(!unknown.ends_inference(), "too few rows to judge by");
        assert_eq!(unknown.finish().map(|said| said.invalid), Some(1));
        assert!((0..MIN_ROWS_FOR_INVALID_SHARE).all(|_| !unknown.add_row(None)));
        assert_eq!(unknown.finish(), None);
        (0..51).for_each(|_| unknown.add_late("late"));
        assert!(unknown.ends_inference());
    }
}

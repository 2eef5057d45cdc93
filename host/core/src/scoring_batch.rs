//! Scoring batches: the neighbouring records of a task that are scored together.

use std::ops::Range;

/// Rows of a scoring batch. Large enough that starting a component is cheap, and small enough that a score does not wait
/// long for its neighbours.
pub const ROWS_PER_BATCH: u64 = 32;

/// The number of the batch that a row is in.
pub fn batch_of(index: u64) -> u64 {
    index / ROWS_PER_BATCH
}

/// The rows of the batch that a row is in.
pub fn rows_of_batch(index: u64) -> Range<u64> {
    let first = index - index % ROWS_PER_BATCH;
    first..first.saturating_add(ROWS_PER_BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_runs_of_neighbouring_rows() {
        for (index, batch, rows) in [
            (0, 0, 0..ROWS_PER_BATCH),
            (ROWS_PER_BATCH - 1, 0, 0..ROWS_PER_BATCH),
            (ROWS_PER_BATCH + 3, 1, ROWS_PER_BATCH..2 * ROWS_PER_BATCH),
            (u64::MAX, u64::MAX / ROWS_PER_BATCH, u64::MAX - ROWS_PER_BATCH + 1..u64::MAX),
        ] {
            assert_eq!((batch_of(index), rows_of_batch(index)), (batch, rows), "{index}");
        }
    }
}

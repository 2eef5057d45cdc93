//! The reader thread of a task, which loads rows and prepares Samples.

use crate::limits::cancel_token::CancelToken;
use crate::limits::invalid_rows::InvalidRows;
use crate::resume::row_work::{PreparedRow, ReadError, RowWork};
use crate::resume::{FinishedRows, ResumeState};
use gage_core::Shard;
use gage_data::{DataError, MissingField, Preparation, PreparedSample, Rows, StreamReport, stream};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Result of reading.
pub(crate) struct ReadOutput {
    /// Time spent reading and preparing, excluding waits for the receiver.
    pub(crate) spent: Duration,
    /// Number of rows of the task, including those of other shards. `None` if they were not all read.
    pub(crate) rows: Option<u64>,
    /// Number of rows that the dataset's filter excluded.
    pub(crate) filtered: u64,
    /// Fields that the filter uses but no row had.
    pub(crate) missing_fields: Vec<MissingField>,
    /// The error, if the data could not be read to the end.
    pub(crate) failure: Option<DataError>,
    /// True if every row was sent.
    pub(crate) is_complete: bool,
}

/// Sends rows to the dispatcher through a channel with some capacity beyond the rows in progress. Reserves part of the
/// capacity at a time, so that this thread is not woken for each row.
pub(crate) struct PrefetchSender<'s> {
    sender: &'s mpsc::Sender<RowWork>,
    runtime: &'s Handle,
    /// Number of channel slots reserved together.
    reservation: usize,
    reserved: Option<mpsc::PermitIterator<'s, RowWork>>,
}

impl<'s> PrefetchSender<'s> {
    /// Creates a sender for a channel of this capacity. Rows are sent from outside the runtime.
    pub(crate) fn new(
        sender: &'s mpsc::Sender<RowWork>,
        capacity: usize,
        runtime: &'s Handle,
    ) -> PrefetchSender<'s> {
        PrefetchSender { sender, runtime, reservation: (capacity / 4).clamp(1, 64), reserved: None }
    }

    /// Waits for a slot and sends a row. Returns false if the dispatcher is gone.
    fn send(&mut self, row: RowWork) -> bool {
        loop {
            if let Some(place) = self.reserved.as_mut().and_then(Iterator::next) {
                place.send(row);
                return true;
            }
            match self.runtime.block_on(self.sender.reserve_many(self.reservation)) {
                Ok(places) => self.reserved = Some(places),
                Err(_) => return false,
            }
        }
    }
}

/// Returns the repeats of a row, in order.
fn repeats(prepared: PreparedSample, repeat: u64) -> impl Iterator<Item = PreparedRow> {
    let PreparedSample { index, row_digest, preprocess_ms, result } = prepared;
    let mut kept = Some((row_digest, result));
    (0..repeat).map_while(move |number| {
        // The last repeat takes the original and the others clone it, because most rows are asked once.
        let (row_digest, result) = if number + 1 == repeat { kept.take() } else { kept.clone() }?;
        // The row is prepared once.
        let preprocess_ms = if number == 0 { preprocess_ms } else { 0.0 };
        let index = index * repeat + number;
        Some(PreparedRow { index, row_digest, preprocess_ms, has_failed_before: false, result })
    })
}

/// The parts of a task that reading needs.
pub(crate) struct ReadContext<'a> {
    pub(crate) preparation: &'a Preparation,
    /// Number of threads that prepare rows.
    pub(crate) workers: usize,
    pub(crate) invalid: &'a InvalidRows,
    pub(crate) resume: Option<&'a ResumeState>,
    /// The rows once more, if nothing may be left to do.
    pub(crate) rows_to_compare: Option<Rows>,
    /// Number of times each row is asked.
    pub(crate) repeat: u64,
    /// The shard whose records are wanted; `None` for all records.
    pub(crate) shard: Option<Shard>,
    pub(crate) stop: &'a CancelToken,
}

/// Reads rows in batches, prepares them, and sends those that still need work. The repeats of a row are neighbours with
/// consecutive numbers.
///
/// # Errors
/// If the journal cannot be read, a row changed since it was recorded, or rows are lost that were counted.
pub(crate) fn read(
    rows: Rows,
    context: ReadContext<'_>,
    mut sender: PrefetchSender<'_>,
) -> Result<ReadOutput, ReadError> {
    let ReadContext { preparation, workers, invalid, resume, rows_to_compare, repeat, shard, stop } = context;
    let is_wanted = |index: u64| shard.is_none_or(|shard| shard.has(index));
    let began = Instant::now();
    if let Some(FinishedRows { rows, filtered, missing_fields }) = resume
        .zip(rows_to_compare)
        .and_then(|(resume, rows)| resume.rows_if_finished(rows, repeat, &is_wanted, stop))
    {
        return Ok(ReadOutput {
            spent: began.elapsed(),
            rows: Some(rows),
            filtered,
            missing_fields,
            failure: None,
            is_complete: true,
        });
    }
    let counted = rows.total();
    let mut failed = None;
    let mut is_whole = true;
    let mut remaining = resume.map(ResumeState::remaining);
    let streamed = stream(rows, preparation, workers, &|| stop.is_cancelled(), |prepared| {
        let rejection = prepared.result.as_ref().err().filter(|rejection| rejection.is_invalid());
        if let (Ok(_), Some(remaining)) = (&prepared.result, remaining.as_mut()) {
            let first = prepared.index.saturating_mul(repeat);
            let first = shard.and_then(|shard| shard.next_from(first)).unwrap_or(first);
            match remaining.invalid_message(first) {
                Ok(None) => {}
                Ok(Some(wrong)) => invalid.add_recorded(&wrong),
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        let are_too_many = invalid.add_row(rejection.map(|rejection| rejection.message.as_str()));
        let mut may_continue = !stop.is_cancelled();
        for one in repeats(prepared, repeat).filter(|one| is_wanted(one.index)) {
            if !may_continue {
                break;
            }
            let next = match remaining.as_mut() {
                None => Ok(Some(RowWork::Row(one))),
                Some(remaining) => remaining.next_step(one),
            };
            match next {
                Ok(next) => may_continue = next.is_none_or(|next| sender.send(next)),
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        is_whole &= may_continue && !are_too_many;
        if is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    if is_whole && streamed.failure.is_none() && !stop.is_cancelled() {
        check_count(&streamed, counted)?;
    }
    let is_complete = is_whole && streamed.is_complete;
    Ok(ReadOutput {
        spent: streamed.spent,
        rows: is_complete.then_some(streamed.rows + streamed.skipped),
        filtered: streamed.filtered,
        missing_fields: streamed.missing_fields,
        is_complete,
        failure: streamed.failure,
    })
}

/// Checks that a stream that neither failed nor was stopped has handed over every row. A run never counts as complete
/// with fewer rows than were counted before, whatever lost them.
fn check_count(streamed: &StreamReport, counted: Option<u64>) -> Result<(), ReadError> {
    let read = streamed.rows + streamed.skipped;
    match streamed.is_complete && counted.is_none_or(|counted| counted == read) {
        true => Ok(()),
        false => Err(ReadError::LostRows { expected: counted.unwrap_or(read + 1), read }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_counted_and_not_read_are_an_error() {
        for (rows, skipped, is_complete, counted, is_good) in [
            (10, 0, true, Some(10), true),
            (10, 0, true, None, true),
            (9, 0, true, Some(10), false),
            (11, 0, true, Some(10), false),
            (9, 0, false, None, false),
            (4, 6, true, Some(10), true),
            (4, 5, true, Some(10), false),
        ] {
            let streamed = StreamReport { rows, skipped, is_complete, ..StreamReport::default() };
            let is_accepted = check_count(&streamed, counted).is_ok();
            assert_eq!(is_accepted, is_good, "{rows} {skipped} {is_complete} {counted:?}");
        }
    }
}

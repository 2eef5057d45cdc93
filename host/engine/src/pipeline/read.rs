//! The reader thread of a task: it loads rows and prepares Samples.

use crate::limits::cancel_token::CancelToken;
use crate::limits::invalid_rows::InvalidRows;
use crate::resume::ResumeState;
use crate::resume::row_work::{PreparedRow, ReadError, RowWork};
use gage_data::{DataError, MissingField, Preparation, PreparedSample, Rows, stream};
use std::ops::ControlFlow;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// What came of reading.
pub(crate) struct ReadOutput {
    /// Reading and preparing, without waiting for the receiver.
    pub(crate) spent: Duration,
    /// Rows that the dataset's filter left out.
    pub(crate) filtered: u64,
    /// Fields that the filter names and that no row had.
    pub(crate) missing_fields: Vec<MissingField>,
    /// Why the data could not be read to its end.
    pub(crate) failure: Option<DataError>,
    /// Whether every row was handed on.
    pub(crate) is_complete: bool,
}

/// Sends rows to the dispatcher through a channel with some capacity beyond the rows in work. Reserves a part of the capacity
/// at a time, so that this thread is not woken for each row.
pub(crate) struct PrefetchSender<'s> {
    sender: &'s mpsc::Sender<RowWork>,
    runtime: &'s Handle,
    /// Places that are reserved together.
    reservation: usize,
    reserved: Option<mpsc::PermitIterator<'s, RowWork>>,
}

impl<'s> PrefetchSender<'s> {
    /// For a channel of this capacity. Rows are sent from outside of the runtime.
    pub(crate) fn new(
        sender: &'s mpsc::Sender<RowWork>,
        capacity: usize,
        runtime: &'s Handle,
    ) -> PrefetchSender<'s> {
        PrefetchSender { sender, runtime, reservation: (capacity / 4).clamp(1, 64), reserved: None }
    }

    /// Waits for a place and sends a row. Returns whether the dispatcher is there to take it.
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

/// The repeats of a row, one after the other.
fn repeats(prepared: PreparedSample, repeat: u64) -> impl Iterator<Item = PreparedRow> {
    let PreparedSample { index, row_digest, result } = prepared;
    let mut kept = Some((row_digest, result));
    (0..repeat).map_while(move |number| {
        // The last one has what the others copy; most rows are asked once.
        let (row_digest, result) = if number + 1 == repeat { kept.take() } else { kept.clone() }?;
        Some(PreparedRow { index: index * repeat + number, row_digest, result })
    })
}

/// The parts of a task that reading needs.
pub(crate) struct ReadContext<'a> {
    pub(crate) preparation: &'a Preparation,
    /// Threads that prepare rows.
    pub(crate) workers: usize,
    pub(crate) invalid: &'a InvalidRows,
    pub(crate) resume: Option<&'a ResumeState>,
    /// How often each row is asked.
    pub(crate) repeat: u64,
    pub(crate) stop: &'a CancelToken,
}

/// Reads rows in batches, prepares them, and sends those that still need work, each as often as it is to be asked: as
/// neighbours, with consecutive numbers.
pub(crate) fn read(
    rows: Rows,
    context: &ReadContext<'_>,
    mut sender: PrefetchSender<'_>,
) -> Result<ReadOutput, ReadError> {
    let ReadContext { preparation, workers, invalid, resume, repeat, stop } = *context;
    let mut failed = None;
    let mut is_whole = true;
    let mut remaining = resume.map(ResumeState::remaining);
    let streamed = stream(rows, preparation, workers, &|| stop.is_cancelled(), |prepared| {
        let rejection = prepared.result.as_ref().err().filter(|rejection| rejection.is_invalid());
        if let (Ok(_), Some(remaining)) = (&prepared.result, remaining.as_mut()) {
            match remaining.invalid_message(prepared.index.saturating_mul(repeat)) {
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
        for one in repeats(prepared, repeat) {
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
    match failed {
        Some(error) => Err(error),
        None => Ok(ReadOutput {
            spent: streamed.spent,
            filtered: streamed.filtered,
            missing_fields: streamed.missing_fields,
            // A filter that keeps nothing is left early when the run is stopped.
            is_complete: is_whole
                && streamed.failure.is_none()
                && !(stop.is_cancelled() && streamed.filtered > 0),
            failure: streamed.failure,
        }),
    }
}

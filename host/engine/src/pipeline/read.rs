//! The thread that loads rows and prepares Samples.

use crate::limits::cancel_token::CancelToken;
use crate::limits::invalid_rows::InvalidRows;
use crate::resume::ResumeState;
use gage_core::Sample;
use gage_data::{DataError, MissingField, Preparation, PreparedSample, Rejection, Rows, stream};
use gage_record::{RecordError, SampleRecord};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Why reading ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("row {row} has changed since the run began")]
    Changed { row: u64 },
}

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

/// A row that needs work.
pub(crate) enum RowWork {
    /// It is for the model, or is no Sample.
    Row(PreparedRow),
    /// The model has answered it in an earlier process; its scores, or those of a neighbour, are wanting.
    Answered(Box<SampleRecord>),
    /// The model has answered it in an earlier process; its judges are to be asked.
    AwaitingJudges(Box<SampleRecord>),
}

/// A row, once for each time that it is asked.
pub(crate) struct PreparedRow {
    /// Its number in the task, repeats counted.
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    /// The Sample, which its repeats share.
    pub(crate) result: Result<Arc<Sample>, Box<Rejection>>,
}

/// Hands rows to the sample loop, which has room for some more than it works on. Waits for a part of that room
/// rather than for each place, so that a thread is not woken for each row.
pub(crate) struct PrefetchSender<'s> {
    sender: &'s mpsc::Sender<RowWork>,
    runtime: &'s Handle,
    part: usize,
    places: Option<mpsc::PermitIterator<'s, RowWork>>,
}

impl<'s> PrefetchSender<'s> {
    /// For a channel that holds so many rows. Rows are sent from outside of the runtime.
    pub(crate) fn new(
        sender: &'s mpsc::Sender<RowWork>,
        room: usize,
        runtime: &'s Handle,
    ) -> PrefetchSender<'s> {
        PrefetchSender { sender, runtime, part: (room / 4).clamp(1, 64), places: None }
    }

    /// Waits for a place and hands a row over; returns whether somebody takes it.
    fn send(&mut self, row: RowWork) -> bool {
        loop {
            if let Some(place) = self.places.as_mut().and_then(Iterator::next) {
                place.send(row);
                return true;
            }
            match self.runtime.block_on(self.sender.reserve_many(self.part)) {
                Ok(places) => self.places = Some(places),
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

/// Reads rows in batches, prepares them, and hands on those that still need work, each as often as it is
/// to be asked: as neighbours, with consecutive numbers.
#[expect(clippy::too_many_arguments, reason = "the parts of a task that reading needs, each once")]
pub(crate) fn read(
    rows: Rows,
    preparation: &Preparation,
    workers: usize,
    invalid: &InvalidRows,
    earlier: Option<&ResumeState>,
    repeat: u64,
    mut ahead: PrefetchSender<'_>,
    stop: &CancelToken,
) -> Result<ReadOutput, ReadError> {
    let mut failed = None;
    let mut is_whole = true;
    let mut left = earlier.map(ResumeState::remaining);
    let streamed = stream(rows, preparation, workers, &|| stop.is_cancelled(), |prepared| {
        let rejection = prepared.result.as_ref().err().filter(|rejection| rejection.is_invalid());
        if let (Ok(_), Some(left)) = (&prepared.result, left.as_mut()) {
            match left.invalid_message(prepared.index.saturating_mul(repeat)) {
                Ok(None) => {}
                Ok(Some(wrong)) => invalid.add_recorded(&wrong),
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        let is_last = invalid.add_row(rejection.map(|rejection| rejection.message.as_str()));
        let mut goes_on = !stop.is_cancelled();
        for one in repeats(prepared, repeat) {
            if !goes_on {
                break;
            }
            let next = match left.as_mut() {
                None => Ok(Some(RowWork::Row(one))),
                Some(left) => left.next_step(one),
            };
            match next {
                Ok(next) => goes_on = next.is_none_or(|next| ahead.send(next)),
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        is_whole &= goes_on && !is_last;
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

//! The thread that loads rows and prepares Samples.

use crate::earlier::Earlier;
use crate::stop::Stop;
use gage_config::{DatasetSpec, OnInvalid};
use gage_core::Sample;
use gage_data::{DataError, Preparation, Prepared, Rejection, Rows, stream};
use gage_record::{RecordError, SampleRecord};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Where the number of rows is not known beforehand, so many are looked at before their share of
/// invalid ones ends the run.
const LEAST_JUDGED: u64 = 1_000;

/// Why reading ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("row {row} has changed since the run began; resume with the data as it was, or begin a new run")]
    Changed { row: u64 },
}

/// Rows that are no Samples, beyond what the dataset allows.
#[derive(Clone, Debug, PartialEq)]
pub struct TooManyInvalid {
    /// The dataset.
    pub dataset_id: String,
    /// How many there are.
    pub invalid: u64,
    /// Of how many rows that were read.
    pub rows: u64,
    /// What the dataset allows; none where it allows no such row.
    pub allowed: Option<f64>,
    /// What is wrong with the first of them.
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
                "{invalid} of the first {rows} rows of `{dataset_id}` are no Samples ({share:.1} %); it allows {:.1} % \
                 (max_invalid). The first: {first}",
                allowed * 100.0
            ),
            None => write!(formatter, "a row of `{dataset_id}` is no Sample (on_invalid: error): {first}"),
        }
    }
}

/// Counts the rows that are no Samples.
pub(crate) struct InvalidRows {
    dataset_id: String,
    /// The largest share; none where the first one ends the run.
    allowed: Option<f64>,
    total: Option<u64>,
    invalid: u64,
    rows: u64,
    first: String,
}

impl InvalidRows {
    pub(crate) fn new(spec: &DatasetSpec, total: Option<u64>) -> InvalidRows {
        InvalidRows {
            dataset_id: spec.dataset_id.clone(),
            allowed: (spec.on_invalid == OnInvalid::Skip).then_some(spec.max_invalid),
            total,
            invalid: 0,
            rows: 0,
            first: String::new(),
        }
    }

    /// Counts a row. Returns whether there are too many, so that nothing can make up for them.
    fn add(&mut self, prepared: &Prepared) -> bool {
        self.rows += 1;
        let Err(rejection) = prepared.result.as_ref() else { return false };
        if !rejection.is_invalid() {
            return false;
        }
        if self.invalid == 0 {
            self.first = rejection.message.clone();
        }
        self.invalid += 1;
        match self.total {
            _ if self.allowed.is_none() => true,
            Some(total) => self.is_too_many(total),
            None => self.rows >= LEAST_JUDGED && self.is_too_many(self.rows),
        }
    }

    fn is_too_many(&self, of: u64) -> bool {
        // Numbers of rows stay far below 2^53.
        self.allowed.is_none_or(|allowed| self.invalid as f64 > allowed * of as f64)
    }

    /// What is to be said in the end.
    fn finish(self) -> Option<TooManyInvalid> {
        if self.invalid == 0 || !self.is_too_many(self.rows) {
            return None;
        }
        let InvalidRows { dataset_id, allowed, invalid, rows, first, .. } = self;
        Some(TooManyInvalid { dataset_id, invalid, rows, allowed, first })
    }
}

/// What came of reading.
pub(crate) struct ReadOutput {
    /// Reading and preparing, without waiting for the receiver.
    pub(crate) spent: Duration,
    /// Rows that the dataset's filter left out.
    pub(crate) filtered: u64,
    pub(crate) too_many_invalid: Option<TooManyInvalid>,
    /// Why the data could not be read to its end.
    pub(crate) failure: Option<DataError>,
    /// Whether every row was handed on.
    pub(crate) is_whole: bool,
}

/// A row that needs work.
pub(crate) enum Next {
    /// It is for the model, or is no Sample.
    Row(Row),
    /// The model has answered it in an earlier process; its scores, or those of a neighbour, are wanting.
    Answered(Box<SampleRecord>),
    /// The model has answered it in an earlier process; its judges are to be asked.
    Unjudged(Box<SampleRecord>),
}

/// A row, once for each time that it is asked.
pub(crate) struct Row {
    /// Its number in the task, repeats counted.
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    pub(crate) result: Result<Asked, Rejection>,
}

/// A Sample that is asked once, or its part in one that is asked several times.
pub(crate) enum Asked {
    Once(Box<Sample>),
    Repeated(Arc<Repeated>),
}

/// What the repeats of a Sample share.
pub(crate) struct Repeated {
    pub(crate) sample: Sample,
    /// The same as JSON.
    pub(crate) value: Arc<Value>,
}

/// Hands rows to the sample loop, which has room for some more than it works on. Waits for a part of that room
/// rather than for each place, so that a thread is not woken for each row.
pub(crate) struct Ahead<'s> {
    sender: &'s mpsc::Sender<Next>,
    runtime: &'s Handle,
    part: usize,
    places: Option<mpsc::PermitIterator<'s, Next>>,
}

impl<'s> Ahead<'s> {
    /// For a channel that holds so many rows. Rows are sent from outside of the runtime.
    pub(crate) fn new(sender: &'s mpsc::Sender<Next>, room: usize, runtime: &'s Handle) -> Ahead<'s> {
        Ahead { sender, runtime, part: (room / 4).clamp(1, 64), places: None }
    }

    /// Waits for a place and hands a row over; returns whether somebody takes it.
    fn send(&mut self, row: Next) -> bool {
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
fn repeats(prepared: Prepared, repeat: u64) -> impl Iterator<Item = Row> {
    let Prepared { index, row_digest, result } = prepared;
    let mut once = None;
    let shared = match result {
        Ok(sample) if repeat == 1 => {
            once = Some(sample);
            None
        }
        Ok(sample) => {
            let value = Arc::new(sample.as_ref().clone().into_value());
            Some(Ok(Arc::new(Repeated { sample: *sample, value })))
        }
        Err(rejection) => Some(Err(rejection)),
    };
    (0..repeat).filter_map(move |number| {
        let result = match &shared {
            None => Ok(Asked::Once(once.take()?)),
            Some(Ok(repeated)) => Ok(Asked::Repeated(Arc::clone(repeated))),
            Some(Err(rejection)) => Err(rejection.clone()),
        };
        Some(Row { index: index * repeat + number, row_digest: row_digest.clone(), result })
    })
}

/// Reads rows in batches, prepares them, and hands on those that still need work, each as often as it is
/// to be asked: as neighbours, with consecutive numbers.
#[expect(clippy::too_many_arguments, reason = "the parts of a task that reading needs, each once")]
pub(crate) fn read(
    rows: Rows,
    preparation: &Preparation,
    workers: usize,
    mut invalid: InvalidRows,
    earlier: Option<&Earlier>,
    repeat: u64,
    mut ahead: Ahead<'_>,
    stop: &Stop,
) -> Result<ReadOutput, ReadError> {
    let mut failed = None;
    let mut is_whole = true;
    let mut left = earlier.map(Earlier::left);
    let streamed = stream(rows, preparation, workers, &|| stop.is_set(), |prepared| {
        let is_last = invalid.add(&prepared);
        let mut goes_on = !stop.is_set();
        for one in repeats(prepared, repeat) {
            if !goes_on {
                break;
            }
            let next = match left.as_mut() {
                None => Ok(Some(Next::Row(one))),
                Some(left) => left.of(one),
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
            too_many_invalid: if stop.is_set() { None } else { invalid.finish() },
            // A filter that keeps nothing is left early when the run is stopped.
            is_whole: is_whole && streamed.failure.is_none() && !(stop.is_set() && streamed.filtered > 0),
            failure: streamed.failure,
        }),
    }
}

//! Rows become Samples on several threads, and come out in their order.
//!
//! ```text
//! reader ─▶ batches ─▶ workers ─▶ prepared batches ─▶ caller: ids
//! ```
//!
//! Both queues are bounded, so nobody runs far ahead of the caller.

use crate::id_dedup::IdDeduplicator;
use crate::missing_fields::MissingField;
use crate::preparation::{Preparation, PreparedSample, SampleProjection};
use crate::row::{DataError, Row};
use crate::rows::Rows;
use gage_core::{Sample, spawn_named};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Most rows that are converted in one call.
#[derive(Clone, Copy)]
struct BatchSizes {
    /// At first, when somebody waits for the first rows.
    first: usize,
    /// Later, when what a call itself costs counts for more.
    later: usize,
}

/// For a model, which is to have its first sample soon and reads a few thousand a second: what is prepared long before it is
/// sent only takes up memory, and the processor's caches.
const FOR_A_MODEL: BatchSizes = BatchSizes { first: 64, later: 128 };
/// For who reads as fast as rows come.
const FOR_A_READER: BatchSizes = BatchSizes { first: 256, later: 1024 };
/// So many batches are small.
const FIRST_BATCHES: u64 = 8;
/// A batch is not filled further once its rows have so many bytes.
const BATCH_BYTES: usize = 1 << 20;

/// Batches that may be on their way for each worker.
const WINDOW: usize = 4;

/// What became of a stream.
#[derive(Debug, Default)]
pub struct StreamReport {
    /// Rows that were given to the caller.
    pub rows: u64,
    /// Rows that the dataset's filter left out.
    pub filtered: u64,
    /// Fields that the filter names and that no row had.
    pub missing_fields: Vec<MissingField>,
    /// Samples whose id had occurred before.
    pub renamed: u64,
    /// Reading, and preparing divided by the number of workers: without waiting for the caller.
    pub spent: Duration,
    /// Why the data could not be read to its end; the rows before that were handed over.
    pub failure: Option<DataError>,
}

/// A batch of rows, and where its prepared Samples go.
type RowBatch<K> = (Vec<Row>, SyncSender<Vec<PreparedSample<K>>>);

/// Reads and prepares all rows, and hands them to the caller in order, until it breaks off, or is stopped:
/// `is_stopped` is asked even where a filter keeps nothing.
pub fn stream(
    rows: Rows,
    preparation: &Preparation,
    workers: usize,
    is_stopped: &(dyn Fn() -> bool + Sync),
    take: impl FnMut(PreparedSample) -> ControlFlow<()>,
) -> StreamReport {
    let workers = Workers { preparation, count: workers.max(1), is_stopped };
    stream_in(FOR_A_MODEL, rows, workers, &|sample| sample, take)
}

/// The same for who needs little of each Sample: `keep` is called by the workers, which made the Samples and
/// are the fastest to be rid of them.
pub fn stream_kept<K: SampleProjection>(
    rows: Rows,
    preparation: &Preparation,
    workers: usize,
    is_stopped: &(dyn Fn() -> bool + Sync),
    keep: &(impl Fn(Arc<Sample>) -> K + Sync),
    take: impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> StreamReport {
    let workers = Workers { preparation, count: workers.max(1), is_stopped };
    stream_in(FOR_A_READER, rows, workers, keep, take)
}

/// The threads that prepare rows.
#[derive(Clone, Copy)]
struct Workers<'a> {
    preparation: &'a Preparation,
    count: usize,
    is_stopped: &'a (dyn Fn() -> bool + Sync),
}

fn stream_in<K: SampleProjection>(
    sizes: BatchSizes,
    rows: Rows,
    workers: Workers<'_>,
    keep: &(impl Fn(Arc<Sample>) -> K + Sync),
    mut take: impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> StreamReport {
    let Workers { count, is_stopped, .. } = workers;
    let (batch_sender, batches) = sync_channel::<RowBatch<K>>(count);
    // The batches that are on their way, in order. If one takes long, those after it wait.
    let (order, prepared) = sync_channel::<Receiver<Vec<PreparedSample<K>>>>(count * WINDOW);
    let batches = Mutex::new(Some(batches));
    std::thread::scope(|threads| {
        let reader =
            spawn_named(threads, "load", move || read(sizes, rows, &batch_sender, &order, is_stopped));
        let batches = &batches;
        let working: Vec<_> = (0..count)
            .map(|_| spawn_named(threads, "prepare", move || work(batches, workers, keep)))
            .collect();
        let (rows, renamed) = hand_over(prepared, &mut take);
        // A worker ends if no one waits for its batch; so does the reader.
        let ended: Vec<_> = working.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        *batches.lock() = None;
        let read = joined(reader.join());
        let preparing: Duration = ended.into_iter().map(joined).sum();
        let share = u32::try_from(count).unwrap_or(u32::MAX);
        let spent = read.spent + preparing / share;
        let ReadBatch { filtered, missing_fields, failure, .. } = read;
        StreamReport { rows, filtered, missing_fields, renamed, spent, failure }
    })
}

/// What a thread returned; its panic goes on in this one.
fn joined<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct ReadBatch {
    filtered: u64,
    missing_fields: Vec<MissingField>,
    spent: Duration,
    failure: Option<DataError>,
}

/// Reads rows in batches until they end or no one waits for them.
fn read<K>(
    sizes: BatchSizes,
    mut rows: Rows,
    sender: &SyncSender<RowBatch<K>>,
    order: &SyncSender<Receiver<Vec<PreparedSample<K>>>>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> ReadBatch {
    let mut failure = None;
    let mut spent = Duration::ZERO;
    for number in 0.. {
        let began = Instant::now();
        let most = if number < FIRST_BATCHES { sizes.first } else { sizes.later };
        let (mut batch, mut bytes) = (Vec::with_capacity(most), 0);
        while batch.len() < most && bytes < BATCH_BYTES {
            match rows.advance() {
                None => break,
                Some(Ok(Some(row))) => {
                    bytes += row.body.as_ref().map_or(0, String::len);
                    batch.push(row);
                }
                Some(Ok(None)) if is_stopped() => break,
                Some(Ok(None)) => {}
                // What was read before the error counts.
                Some(Err(error)) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        spent += began.elapsed();
        let (reply, prepared) = sync_channel(1);
        if batch.is_empty()
            || order.send(prepared).is_err()
            || sender.send((batch, reply)).is_err()
            || failure.is_some()
        {
            break;
        }
    }
    ReadBatch { filtered: rows.filtered(), missing_fields: rows.missing_fields(), spent, failure }
}

/// Prepares batches until they end or no one waits for them. Returns how long that took.
fn work<K: SampleProjection>(
    batches: &Mutex<Option<Receiver<RowBatch<K>>>>,
    workers: Workers<'_>,
    keep: &impl Fn(Arc<Sample>) -> K,
) -> Duration {
    let mut spent = Duration::ZERO;
    loop {
        let next = {
            let batches = batches.lock();
            batches.as_ref().and_then(|batches| batches.recv().ok())
        };
        let Some((rows, reply)) = next else { return spent };
        let began = Instant::now();
        let prepared = workers.preparation.prepare(rows, keep, workers.is_stopped);
        spent += began.elapsed();
        // Without a reply, after a stop or a panic, no one waits for this batch or a later one.
        if prepared.is_none_or(|prepared| reply.send(prepared).is_err()) {
            return spent;
        }
    }
}

/// Hands batches over in their order. Returns how many rows that were, and how many got another id.
fn hand_over<K: SampleProjection>(
    order: Receiver<Receiver<Vec<PreparedSample<K>>>>,
    take: &mut impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> (u64, u64) {
    let mut ids = IdDeduplicator::default();
    let (mut rows, mut renamed) = (0, 0);
    for mut one in order.into_iter().map_while(|prepared| prepared.recv().ok()).flatten() {
        match &mut one.result {
            Ok(kept) => renamed += kept.id().map_or(0, |id| u64::from(ids.deduplicate(id))),
            Err(rejection) => {
                ids.deduplicate(&mut rejection.id);
            }
        }
        rows += 1;
        if take(one).is_break() {
            break;
        }
    }
    (rows, renamed)
}

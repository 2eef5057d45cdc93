//! Parallel conversion of rows into Samples, returned in order.
//!
//! ```text
//! reader ─▶ batches ─▶ workers ─▶ prepared batches ─▶ caller: ids
//! ```
//!
//! Both queues are bounded, so no thread runs far ahead of the caller.

use crate::examples::ExamplePool;
use crate::id_dedup::IdDeduplicator;
use crate::missing_fields::MissingField;
use crate::preparation::{Preparation, PreparedSample, SampleProjection};
use crate::row::{DataError, Row};
use crate::rows::Rows;
use gage_core::{ResourceShortage, Sample, spawn_scoped};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Maximum rows converted in one call.
#[derive(Clone, Copy)]
struct BatchSizes {
    /// At first, when the caller waits for the first rows.
    first: usize,
    /// Later, when the overhead of a call matters more.
    later: usize,
}

/// For a model, which needs its first sample soon and reads a few thousand per second. Samples prepared long before
/// they are sent only take up memory and processor caches.
const FOR_A_MODEL: BatchSizes = BatchSizes { first: 64, later: 128 };
/// For a caller that reads as fast as rows arrive.
const FOR_A_READER: BatchSizes = BatchSizes { first: 256, later: 1024 };
/// Number of small batches.
const FIRST_BATCHES: u64 = 8;
/// Size of a batch's rows, in bytes, from which on it is not filled further.
const BATCH_BYTES: usize = 1 << 20;

/// Maximum batches in flight for each worker.
const WINDOW: usize = 4;

/// Result of a stream.
#[derive(Debug, Default)]
pub struct StreamReport {
    /// Rows handed to the caller.
    pub rows: u64,
    /// Rows of other shards, which were neither prepared nor handed over.
    pub skipped: u64,
    /// Rows excluded by the dataset's filter.
    pub filtered: u64,
    /// Fields that the filter names but no row had.
    pub missing_fields: Vec<MissingField>,
    /// Samples whose ID had occurred before.
    pub renamed: u64,
    /// Time for reading, and for preparing divided by the number of workers; excludes waiting for the caller.
    pub spent: Duration,
    /// Error that ended the reading early; the rows before it were handed over.
    pub failure: Option<DataError>,
    /// True if every row of the dataset was handed over. False after an error, and if the caller broke off or stopped
    /// the stream.
    pub is_complete: bool,
}

/// A batch of rows, and the channel for its prepared Samples.
type RowBatch<K> = (Vec<Row>, SyncSender<Vec<PreparedSample<K>>>);

/// Reads and prepares all rows, and hands them to the caller in order, until the caller breaks off or stops it.
/// `is_stopped` is called even if a filter keeps nothing.
pub fn stream(
    rows: Rows,
    preparation: &Preparation,
    workers: usize,
    is_stopped: &(dyn Fn() -> bool + Sync),
    take: impl FnMut(PreparedSample) -> ControlFlow<()>,
) -> StreamReport {
    let workers = Workers { preparation, pool: None, count: workers.max(1), is_stopped };
    stream_in(FOR_A_MODEL, rows, workers, &|sample| sample, take)
}

/// Same as [`stream`] for a caller that needs little of each Sample. The workers, which made the Samples, call `keep`
/// and can drop them fastest.
pub fn stream_kept<K: SampleProjection>(
    rows: Rows,
    preparation: &Preparation,
    workers: usize,
    is_stopped: &(dyn Fn() -> bool + Sync),
    keep: &(impl Fn(Arc<Sample>) -> K + Sync),
    take: impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> StreamReport {
    let workers = Workers { preparation, pool: None, count: workers.max(1), is_stopped };
    stream_in(FOR_A_READER, rows, workers, keep, take)
}

/// Shared state of the threads that prepare rows.
#[derive(Clone, Copy)]
struct Workers<'a> {
    preparation: &'a Preparation,
    /// The rows that examples are picked from.
    pool: Option<&'a ExamplePool>,
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
    let pool = rows.example_pool();
    let workers = Workers { pool: pool.as_deref(), ..workers };
    let Workers { count, is_stopped, .. } = workers;
    let (batch_sender, batches) = sync_channel::<RowBatch<K>>(count);
    // The batches in flight, in order. A slow one delays those after it.
    let (order, prepared) = sync_channel::<Receiver<Vec<PreparedSample<K>>>>(count * WINDOW);
    let batches = Mutex::new(Some(batches));
    // A shard does not know the ids of the others. They are numbered when the shards are merged.
    let mut ids = (!rows.is_sharded()).then(IdDeduplicator::default);
    let streamed = std::thread::scope(|threads| {
        let reader =
            spawn_scoped(threads, "load", move || read(sizes, rows, &batch_sender, &order, is_stopped))?;
        let batches = &batches;
        let (mut working, mut shortage) = (Vec::with_capacity(count), None);
        while working.len() < count && shortage.is_none() {
            match spawn_scoped(threads, "prepare", move || work(batches, workers, keep)) {
                Ok(worker) => working.push(worker),
                Err(short) => shortage = Some(short),
            }
        }
        let handed = match shortage {
            None => hand_over(prepared, &mut ids, &mut take),
            Some(_) => {
                drop(prepared);
                HandedRows::default()
            }
        };
        // A worker ends when its batch is no longer wanted; so does the reader.
        let ended: Vec<_> = working.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        *batches.lock() = None;
        let read = joined(reader.join());
        let preparing: Duration = ended.into_iter().map(joined).sum();
        let share = u32::try_from(count).unwrap_or(u32::MAX);
        let spent = read.spent + preparing / share;
        let ReadBatch { filtered, skipped, missing_fields, failure, has_ended, .. } = read;
        let failure = shortage.map(|shortage| shortage.report().into()).or(failure);
        let HandedRows { rows, renamed, are_all } = handed;
        let is_complete = has_ended && are_all && failure.is_none();
        Ok::<_, ResourceShortage>(StreamReport {
            rows,
            skipped,
            filtered,
            missing_fields,
            renamed,
            spent,
            failure,
            is_complete,
        })
    });
    streamed.unwrap_or_else(|shortage| StreamReport {
        failure: Some(shortage.report().into()),
        ..StreamReport::default()
    })
}

/// Returns a thread's result, or resumes its panic in the current thread.
fn joined<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct ReadBatch {
    filtered: u64,
    skipped: u64,
    missing_fields: Vec<MissingField>,
    spent: Duration,
    failure: Option<DataError>,
    /// True if the last row was read.
    has_ended: bool,
}

/// Reads rows in batches until they end or are no longer wanted.
fn read<K>(
    sizes: BatchSizes,
    mut rows: Rows,
    sender: &SyncSender<RowBatch<K>>,
    order: &SyncSender<Receiver<Vec<PreparedSample<K>>>>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> ReadBatch {
    let (mut failure, mut has_ended) = (None, false);
    let mut spent = Duration::ZERO;
    for number in 0.. {
        let began = Instant::now();
        let most = if number < FIRST_BATCHES { sizes.first } else { sizes.later };
        let (mut batch, mut bytes) = (Vec::with_capacity(most), 0);
        while batch.len() < most && bytes < BATCH_BYTES {
            match rows.advance() {
                None => {
                    has_ended = true;
                    break;
                }
                Some(Ok(Some(row))) => {
                    bytes += row.body.as_ref().map_or(0, String::len);
                    batch.push(row);
                }
                Some(Ok(None)) if is_stopped() => break,
                Some(Ok(None)) => {}
                // Rows read before the error still count.
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
    let missing_fields = rows.missing_fields();
    ReadBatch {
        filtered: rows.filtered(),
        skipped: rows.skipped(),
        missing_fields,
        spent,
        failure,
        has_ended,
    }
}

/// Prepares batches until they end or are no longer wanted. Returns the time it took.
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
        let mut prepared = workers.preparation.prepare(rows, workers.pool, keep, workers.is_stopped);
        let elapsed = began.elapsed();
        spent += elapsed;
        if let Some(prepared) = &mut prepared {
            let share = elapsed.as_secs_f64() * 1_000.0 / prepared.len().max(1) as f64;
            prepared.iter_mut().for_each(|one| one.preprocess_ms = share);
        }
        // Without a reply, after a stop or a panic, neither this batch nor a later one is wanted.
        if prepared.is_none_or(|prepared| reply.send(prepared).is_err()) {
            return spent;
        }
    }
}

/// Rows that were handed to the caller.
#[derive(Default)]
struct HandedRows {
    rows: u64,
    /// Samples whose ID had occurred before.
    renamed: u64,
    /// True if these are all that were read.
    are_all: bool,
}

/// Hands batches over in their order. `ids` numbers ids that occur again; without it, they stay as they are.
fn hand_over<K: SampleProjection>(
    order: Receiver<Receiver<Vec<PreparedSample<K>>>>,
    ids: &mut Option<IdDeduplicator>,
    take: &mut impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> HandedRows {
    let mut handed = HandedRows::default();
    for prepared in order {
        // Without a reply, the worker was stopped.
        let Ok(batch) = prepared.recv() else { return handed };
        for mut one in batch {
            if let Some(ids) = ids {
                match &mut one.result {
                    Ok(kept) => handed.renamed += kept.id().map_or(0, |id| u64::from(ids.deduplicate(id))),
                    Err(rejection) => {
                        ids.deduplicate(&mut rejection.id);
                    }
                }
            }
            handed.rows += 1;
            if take(one).is_break() {
                return handed;
            }
        }
    }
    HandedRows { are_all: true, ..handed }
}

//! Writes exchanges to a file on its own thread.

use super::frame::{FRAME_BYTES, MAX_EXCHANGE_BYTES};
use super::replay::{Frames, frames_of};
use super::{Exchange, FORMAT, RecordingError, RecordingHead, VERSION};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{ResourceShortage, spawn_thread};
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of exchanges that wait to be written. Further ones wait for room.
const QUEUE_CAPACITY: usize = 1024;

const COMPRESSION_LEVEL: i32 = 3;

/// Minimum interval between syncs of the file, so that many exchanges share one sync.
const SYNC_INTERVAL: Duration = Duration::from_millis(2);

/// An exchange to write, and the waiter to notify when it is safe.
struct WriteRequest {
    exchange: Exchange,
    is_safe: oneshot::Sender<()>,
}

pub(super) struct Recorder {
    path: PathBuf,
    /// Number of exchanges in the file when it was opened.
    earlier_exchanges: u64,
    ends: Mutex<Option<(mpsc::Sender<WriteRequest>, JoinHandle<std::io::Result<u64>>)>>,
}

impl Recorder {
    pub(super) fn open(path: &Path) -> Result<Recorder, RecordingError> {
        let error = |source| RecordingError::file(path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(error)?;
        let found = file.metadata().map_err(error)?;
        foreign_file::check(&found, FileLimit::NONE).map_err(error)?;
        let is_new = found.len() == 0;
        let mut earlier_exchanges = 0;
        if is_new {
            let head = RecordingHead { format: FORMAT.to_owned(), version: VERSION };
            let line = serde_json::to_string(&head)
                .map_err(|error| RecordingError::format(path, error.to_string()))?;
            write_frame(&mut file, format!("{line}\n").as_bytes()).map_err(error)?;
            file.sync_all().map_err(error)?;
            // Sync the folder so that the file's name survives a power loss; some file systems do not need this.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
                let _ = folder.sync_all();
            }
        } else {
            // A truncated frame is overwritten.
            let frames = frames_of(path)?;
            earlier_exchanges = frames.exchanges();
            let Frames { end, torn, .. } = frames;
            if torn > 0 {
                let path = path.display();
                tracing::warn!(%path, bytes = torn, "the recording was torn at its end, which is overwritten");
            }
            file.set_len(end).map_err(error)?;
            file.seek(SeekFrom::Start(end)).map_err(error)?;
        }
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let written_path = path.to_owned();
        let thread = spawn_thread("http-recording", move || run(&written_path, file, receiver))
            .map_err(|shortage| error(shortage.report().into()))?;
        Ok(Recorder { path: path.to_owned(), earlier_exchanges, ends: Mutex::new(Some((sender, thread))) })
    }

    pub(super) fn earlier_exchanges(&self) -> u64 {
        self.earlier_exchanges
    }

    pub(super) async fn note(&self, exchange: Exchange) -> bool {
        let sender = {
            let ends = self.ends.lock();
            ends.as_ref().map(|(sender, _)| sender.clone())
        };
        let Some(sender) = sender else { return false };
        let (is_safe, safe) = oneshot::channel();
        // If the thread has failed, `finish` returns the error.
        sender.send(WriteRequest { exchange, is_safe }).await.is_ok() && safe.await.is_ok()
    }

    pub(super) fn finish(&self) -> Result<u64, RecordingError> {
        let ends = self.ends.lock().take();
        let Some((sender, thread)) = ends else { return Ok(0) };
        drop(sender);
        let written = thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the writer panicked")));
        written.map_err(|source| RecordingError::file(&self.path, source))
    }
}

/// Writes exchanges until every sender is gone, and returns their number. A shortage of the machine is reported before any
/// sender learns that its exchange was not written.
fn run(path: &Path, mut file: File, mut waiting: mpsc::Receiver<WriteRequest>) -> std::io::Result<u64> {
    let mut batch = Vec::with_capacity(QUEUE_CAPACITY);
    write_all(&mut file, &mut waiting, &mut batch).inspect_err(|error| {
        if let Some(shortage) = ResourceShortage::find(error) {
            shortage.while_doing(format!("cannot write the recording {}: {error}", path.display())).report();
        }
    })
}

fn write_all(
    file: &mut File,
    waiting: &mut mpsc::Receiver<WriteRequest>,
    batch: &mut Vec<WriteRequest>,
) -> std::io::Result<u64> {
    let (mut frame, mut count) = (Vec::new(), 0);
    let mut synced: Option<Instant> = None;
    while waiting.blocking_recv_many(batch, QUEUE_CAPACITY) > 0 {
        if let Some(early) = synced.and_then(|synced| SYNC_INTERVAL.checked_sub(synced.elapsed())) {
            std::thread::sleep(early);
            while batch.len() < QUEUE_CAPACITY
                && let Ok(more) = waiting.try_recv()
            {
                batch.push(more);
            }
        }
        for WriteRequest { exchange, .. } in batch.iter() {
            let start = frame.len();
            serde_json::to_writer(&mut frame, exchange)?;
            frame.push(b'\n');
            if frame.len() - start > MAX_EXCHANGE_BYTES {
                let message = format!("an answer takes more than {MAX_EXCHANGE_BYTES} bytes of JSON");
                return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, message));
            }
            if frame.len() >= FRAME_BYTES {
                write_frame(file, &frame)?;
                frame.clear();
            }
        }
        if !frame.is_empty() {
            write_frame(file, &frame)?;
            frame.clear();
        }
        file.sync_data()?;
        synced = Some(Instant::now());
        count += batch.len() as u64;
        for WriteRequest { is_safe, .. } in batch.drain(..) {
            // The receiver is gone if the request was cancelled.
            let _ = is_safe.send(());
        }
    }
    Ok(count)
}

/// Appends a frame with a checksum of its content, so that a flipped bit is an error and never a different answer.
fn write_frame(file: &mut File, content: &[u8]) -> std::io::Result<()> {
    let mut compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?;
    compressor.include_checksum(true)?;
    file.write_all(&compressor.compress(content)?)
}

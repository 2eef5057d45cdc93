//! Writes exchanges into a file, on a thread of its own.

use super::play::frames_of;
use super::{Exchange, FORMAT, Head, TapeError, VERSION};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// A frame is written when it has so many bytes; more would be lost where the process is killed.
const FRAME_BYTES: usize = 64 * 1024;
/// So many exchanges wait to be written; then those who bring more wait.
const WAITING: usize = 1024;

pub(super) struct Recorder {
    path: PathBuf,
    ends: Mutex<Option<(mpsc::Sender<Exchange>, JoinHandle<std::io::Result<u64>>)>>,
}

impl Recorder {
    pub(super) fn open(path: &Path) -> Result<Recorder, TapeError> {
        let error = |source| TapeError::file(path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(error)?;
        let is_new = file.metadata().map_err(error)?.len() == 0;
        if is_new {
            let head = Head { format: FORMAT.to_owned(), version: VERSION };
            let line =
                serde_json::to_string(&head).map_err(|error| TapeError::format(path, error.to_string()))?;
            write_frame(&mut file, format!("{line}\n").as_bytes()).map_err(error)?;
        } else {
            // A frame that was cut off is written over.
            let end = frames_of(path)?.end;
            file.set_len(end).map_err(error)?;
            file.seek(SeekFrom::Start(end)).map_err(error)?;
        }
        let (sender, receiver) = mpsc::channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("http-tape".to_owned())
            .spawn(move || write_all(file, receiver))
            .map_err(error)?;
        Ok(Recorder { path: path.to_owned(), ends: Mutex::new(Some((sender, thread))) })
    }

    pub(super) async fn note(&self, exchange: Exchange) {
        let sender = {
            let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            ends.as_ref().map(|(sender, _)| sender.clone())
        };
        if let Some(sender) = sender {
            // Where the thread has failed, `finish` says why.
            let _ = sender.send(exchange).await;
        }
    }

    pub(super) fn finish(&self) -> Result<u64, TapeError> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((sender, thread)) = ends else { return Ok(0) };
        drop(sender);
        let written = thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the writer panicked")));
        written.map_err(|source| TapeError::file(&self.path, source))
    }
}

fn write_all(mut file: File, mut exchanges: mpsc::Receiver<Exchange>) -> std::io::Result<u64> {
    let (mut frame, mut count) = (Vec::new(), 0);
    while let Some(exchange) = exchanges.blocking_recv() {
        serde_json::to_writer(&mut frame, &exchange)?;
        frame.push(b'\n');
        count += 1;
        if frame.len() >= FRAME_BYTES {
            write_frame(&mut file, &frame)?;
            frame.clear();
        }
    }
    if !frame.is_empty() {
        write_frame(&mut file, &frame)?;
    }
    file.sync_all()?;
    Ok(count)
}

fn write_frame(file: &mut File, content: &[u8]) -> std::io::Result<()> {
    file.write_all(&zstd::bulk::compress(content, 3)?)
}

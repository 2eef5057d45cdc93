//! Recorder that sends events to a server: batches of JSON, posted by a separate thread.

use super::{FileRecorder, Recorder};
use crate::Event;
use crate::http::{ClientError, client, without_secrets};
use gage_core::{ensure_threads, spawn_thread};
use parking_lot::Mutex;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Maximum number of batches waiting to be posted.
const BATCH_QUEUE_CAPACITY: usize = 64;
/// Number of posts after which the share of failures is checked.
const MIN_POSTS: u64 = 5;
/// Maximum delay of a partial batch.
const MAX_BATCH_DELAY: Duration = Duration::from_secs(2);

/// Settings for posting events.
#[derive(Clone, Debug)]
pub struct HttpRecorderSettings {
    /// Destination: `https://collector.example/events`. A user name and a password in it are sent as such, and never
    /// shown.
    pub url: String,
    /// ID of the run, included in each post.
    pub run_id: String,
    /// Number of events per post; default 50.
    pub batch: usize,
    /// Share of posts that may fail, in percent; default 5. Above it, posting stops.
    pub fail_pct: f64,
    /// Time limit of a post; default 10 s.
    pub timeout: Duration,
    /// File for the events that did not arrive.
    pub fallback: PathBuf,
}

/// Failure to set up the posting of events.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpRecorderError {
    /// The address is invalid, or no client can be created.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system cannot provide a thread or an event loop.
    #[error("cannot begin to post events: {0}")]
    Io(#[from] io::Error),
}

/// Posts events as `{"run_id": …, "events": […]}`. Events that do not arrive are written to a file instead, as are
/// all events once too many posts fail. Only events that this file cannot take are lost.
pub struct HttpRecorder {
    /// Number of events per post.
    batch: u64,
    fallback: Arc<Fallback>,
    sender: Option<SyncSender<Batch>>,
    worker: Option<JoinHandle<()>>,
    /// Deadline for posts after the end of the run.
    by: watch::Sender<Option<Instant>>,
    held: Batch,
    held_since: Option<Instant>,
}

/// Lines of events, one after another.
#[derive(Default)]
struct Batch {
    lines: Vec<u8>,
    events: u64,
}

impl HttpRecorder {
    /// Checks the settings without posting anything.
    ///
    /// # Errors
    /// When the address is not that of a server.
    pub fn check(settings: &HttpRecorderSettings) -> Result<(), HttpRecorderError> {
        client(&settings.url, settings.timeout)?;
        Ok(())
    }

    /// Starts the posting thread.
    ///
    /// # Errors
    /// When the address is not that of a server, or no thread can be started.
    pub fn start(settings: HttpRecorderSettings) -> Result<HttpRecorder, HttpRecorderError> {
        let (url, client) = client(&settings.url, settings.timeout)?;
        // The thread itself, and one that looks up names.
        ensure_threads(2).map_err(|shortage| io::Error::from(shortage.report()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (sender, batches) = sync_channel(BATCH_QUEUE_CAPACITY);
        let (by, ends_by) = watch::channel(None);
        let fallback = Arc::new(Fallback { path: settings.fallback.clone(), state: Mutex::default() });
        let batch = settings.batch.max(1) as u64;
        let poster = Poster {
            client,
            url,
            settings,
            by: ends_by,
            fallback: Arc::clone(&fallback),
            posts: 0,
            failed: 0,
            is_given_up: false,
        };
        let worker = spawn_thread("event-posts", move || poster.work(&batches, &runtime));
        let worker = worker.map_err(|shortage| io::Error::from(shortage.report()))?;
        Ok(HttpRecorder {
            batch,
            fallback,
            sender: Some(sender),
            worker: Some(worker),
            by,
            held: Batch::default(),
            held_since: None,
        })
    }

    fn post(&mut self) {
        self.held_since = None;
        let batch = std::mem::take(&mut self.held);
        if batch.events == 0 {
            return;
        }
        let sent = self.sender.as_ref().map(|sender| sender.try_send(batch));
        if let Some(Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch))) = sent {
            self.fallback.keep(&batch, "the server is slower than the run");
        }
    }
}

impl Recorder for HttpRecorder {
    fn record(&mut self, _event: &Event, line: &[u8]) {
        self.held.lines.extend_from_slice(line);
        self.held.events += 1;
        self.held_since.get_or_insert_with(Instant::now);
        if self.held.events >= self.batch {
            self.post();
        }
    }

    fn flush(&mut self) {
        if self.held_since.is_some_and(|since| since.elapsed() >= MAX_BATCH_DELAY) {
            self.post();
        }
    }

    /// Waits until all events are posted, or written to the file if that takes too long.
    fn finish(&mut self, by: Instant) -> u64 {
        self.post();
        self.sender = None;
        self.by.send_replace(Some(by));
        if let Some(worker) = self.worker.take() {
            // A failed thread has lost only the events it held.
            let _ = worker.join();
        }
        self.fallback.finish(by)
    }
}

/// State of the posting thread.
struct Poster {
    client: reqwest::Client,
    url: reqwest::Url,
    settings: HttpRecorderSettings,
    by: watch::Receiver<Option<Instant>>,
    fallback: Arc<Fallback>,
    posts: u64,
    failed: u64,
    is_given_up: bool,
}

impl Poster {
    fn work(mut self, batches: &Receiver<Batch>, runtime: &tokio::runtime::Runtime) {
        for batch in batches {
            if self.is_given_up {
                self.fallback.keep(&batch, "too many posts failed");
                continue;
            }
            self.posts += 1;
            let posted = runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = deadline_passed(self.by.clone()) => Err(None),
                    posted = self.post(&batch) => posted.map_err(Some),
                }
            });
            let Err(reason) = posted else { continue };
            let Some(reason) = reason else {
                self.is_given_up = true;
                self.fallback.keep(&batch, "the server had not taken them when the run was over");
                continue;
            };
            self.failed += 1;
            self.fallback.keep(&batch, &reason);
            // Counts of posts stay far below 2^53.
            let share = self.failed as f64 / self.posts as f64 * 100.0;
            if self.posts >= MIN_POSTS && share > self.settings.fail_pct {
                self.is_given_up = true;
                let (failed, posts) = (self.failed, self.posts);
                tracing::warn!(failed, posts, "no more events are posted, for too many posts failed");
            }
        }
    }

    async fn post(&self, batch: &Batch) -> Result<(), String> {
        let body = body_of(&self.settings.run_id, batch);
        let request =
            self.client.post(self.url.clone()).header(reqwest::header::CONTENT_TYPE, "application/json");
        match request.body(body).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(format!("the server answered {}", response.status())),
            Err(error) => Err(without_secrets(error)),
        }
    }
}

/// Completes when the run is over and its deadline has passed.
async fn deadline_passed(mut by: watch::Receiver<Option<Instant>>) {
    let by = by.wait_for(Option::is_some).await.ok().and_then(|by| *by);
    match by {
        Some(by) => tokio::time::sleep_until(by.into()).await,
        // The posts have no deadline.
        None => std::future::pending().await,
    }
}

/// Builds `{"run_id": …, "events": […]}` without parsing the events.
fn body_of(run_id: &str, batch: &Batch) -> Vec<u8> {
    let mut body = format!("{{\"run_id\":{},\"events\":[", serde_json::Value::from(run_id)).into_bytes();
    let lines = batch.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (number, line) in lines.enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(line);
    }
    body.extend_from_slice(b"]}");
    body
}

/// File of undelivered events, created with the first of them.
struct Fallback {
    path: PathBuf,
    state: Mutex<FallbackState>,
}

#[derive(Default)]
struct FallbackState {
    file: Option<FileRecorder>,
    kept: u64,
    lost: u64,
}

impl Fallback {
    fn keep(&self, batch: &Batch, reason: &str) {
        let mut state = self.state.lock();
        if state.kept + state.lost == 0 {
            let path = self.path.display();
            tracing::warn!(%path, reason, "events could not be posted; those that did not arrive are in the file");
        }
        if state.file.is_none() {
            match FileRecorder::open(&self.path) {
                Ok(file) => state.file = Some(file),
                Err(error) => {
                    if state.lost == 0 {
                        tracing::warn!(path = %self.path.display(), %error, "events are lost");
                    }
                    state.lost += batch.events;
                }
            }
        }
        if let Some(file) = &mut state.file {
            file.append(&batch.lines, batch.events);
            state.kept += batch.events;
        }
    }

    fn finish(&self, by: Instant) -> u64 {
        let mut state = self.state.lock();
        let of_file = state.file.as_mut().map_or(0, |file| file.finish(by));
        if state.kept > 0 {
            tracing::warn!(
                events = state.kept,
                path = %self.path.display(),
                "not every event was posted; those that were not are in the file"
            );
        }
        state.lost + of_file
    }
}

//! Report of runs as a stream: the page that `gage-host report` writes.

use crate::listing::{error_text, without_folder};
use crate::live;
use crate::opened_runs::OpenedRuns;
use crate::refusal::Refusal;
use crate::report_slots::{ReportSlot, ReportSlots};
use bytes::Bytes;
use futures::Stream;
use gage_compare::CompareError;
use gage_compare::comparisons_with_first;
use gage_config::Permissions;
use gage_figures::FiguresError;
use gage_figures::RecordedRun;
use gage_html::{
    HtmlError, Link, MIN_PAGED_SAMPLES, PageServer, RequestsOf, paged_html, sample_json, write_html,
};
use gage_record::RunStatus;
use gage_record::format::{MANIFEST_FILE, SAMPLES_FILE};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

/// Size of one chunk of a report.
const CHUNK_BYTES: usize = 1 << 16;
/// Maximum number of samples of a run whose texts a page has, besides failed ones. The page asks for the texts of others when
/// one is opened.
const MAX_PAGE_TEXTS: u64 = 50_000;
/// Maximum number of chunks of one report that wait for a slow reader.
const MAX_QUEUED_CHUNKS: usize = 8;

/// Finds the requests that runs sent, for their report, with the permissions of their suites.
pub type RequestFinder = for<'r, 'p> fn(&'r [RecordedRun], &'p Permissions) -> Box<RequestsOf<'r>>;

/// Writes reports, a few at a time.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    slots: Arc<ReportSlots>,
    requests: RequestFinder,
    permissions: Permissions,
    /// The runs of the samples that pages asked for.
    opened: Arc<OpenedRuns>,
    /// Random text in the pages of this process, which a page sends with a note.
    token: Arc<str>,
}

impl Reporter {
    pub(crate) fn new(requests: RequestFinder, permissions: Permissions) -> Reporter {
        let token = Uuid::new_v4().simple().to_string().into();
        let (slots, opened) = (Arc::new(ReportSlots::new()), Arc::default());
        Reporter { slots, requests, permissions, opened, token }
    }

    /// Returns the text that proves that a page is of this process.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns everything that a report shows of a sample, as JSON. To index the journal of a run with many samples takes
    /// seconds. If that was not done yet, a quick answer is read from `samples.jsonl`, and lacks the requests and times. Blocks
    /// while files are read.
    pub(crate) fn sample(
        &self,
        folder: &Path,
        task_id: &str,
        index: u64,
        is_quick: bool,
    ) -> Result<String, Refusal> {
        if is_quick
            && !self.opened.is_open(folder)
            && let Some(text) = listed_sample(folder, task_id, index)
        {
            return Ok(text);
        }
        self.opened.read(folder, open_run, |run| {
            let record = run.record(task_id, index);
            let record = record.map_err(|error| Refusal::Failed(error_text(&error, folder)))?;
            let record = record.ok_or_else(|| Refusal::Unknown("the run has no such sample".to_owned()))?;
            let requests = (self.requests)(std::slice::from_ref(run), &self.permissions);
            let text = sample_json(run, &record, requests(0, &record));
            text.map_err(|error| Refusal::Failed(error_text(&error, folder)))
        })
    }

    /// Returns the page of a run that has ended with many samples, without them. `None` for other runs, whose report has all.
    /// It links to the shards of `of_run`. Blocks while files are read.
    pub(crate) fn paged(&self, folder: &Path, of_run: Option<&str>) -> Option<Vec<u8>> {
        // A run that cannot be read is refused when its report is written.
        let run = RecordedRun::open_head(folder).ok()?;
        let manifest = run.manifest();
        let has_ended = manifest.status != RunStatus::Running && manifest.files.contains_key(SAMPLES_FILE);
        let samples = run.summary().map_or(0, |summary| summary.samples.reached());
        if !has_ended || samples < MIN_PAGED_SAMPLES {
            return None;
        }
        paged_html(&run, &PageServer { links: &links(of_run), token: &self.token }).ok()
    }

    /// Returns the chunks of the report of some runs, or the reason why there is none. The report of a shard links to the shards
    /// of `of_run`. Stops writing when the reader disconnects.
    pub(crate) async fn write(
        &self,
        folders: Vec<PathBuf>,
        of_run: Option<&str>,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + 'static, Refusal> {
        let slot = self.slots.acquire(&folders).await;
        let slot = slot.map_err(|error| Refusal::Failed(error.to_string()))?;
        let (requests, permissions) = (self.requests, self.permissions.clone());
        let token = Arc::clone(&self.token);
        let links = links(of_run);
        let (begun, begins) = oneshot::channel();
        let (pieces, received) = mpsc::channel(MAX_QUEUED_CHUNKS);
        let chunks = PageChunks {
            pieces: pieces.clone(),
            slots: Arc::clone(&self.slots),
            folders: folders.clone(),
            slot: Some(slot),
            runtime: Handle::current(),
        };
        tokio::task::spawn_blocking(move || {
            let mut out = BufWriter::with_capacity(CHUNK_BYTES, chunks);
            let opened = open(&folders);
            let (sources, comparisons) = match opened {
                Ok(opened) => opened,
                Err(refusal) => {
                    // The requester may have disconnected.
                    let _ = begun.send(Err(refusal));
                    return;
                }
            };
            let _ = begun.send(Ok(()));
            let requests = requests(&sources, &permissions);
            let server = PageServer { links: &links, token: &token };
            let written =
                write_html(&mut out, &sources, &comparisons, Some(&server), &*requests, MAX_PAGE_TEXTS);
            match written.and_then(|_| out.flush().map_err(HtmlError::Output)) {
                // The reader has disconnected.
                Ok(()) | Err(HtmlError::Output(_)) => {}
                Err(error) => {
                    tracing::warn!("a report ends early: {error}");
                    // Makes the reader notice that the page is incomplete.
                    let _ = pieces.blocking_send(Err(io::Error::other(error)));
                }
            }
        });
        begins.await.unwrap_or_else(|_| Err(Refusal::Failed("the report cannot be written".to_owned())))?;
        Ok(futures::stream::unfold(received, |mut received| async {
            received.recv().await.map(|piece| (piece, received))
        }))
    }
}

/// Returns the links above a report. The report of a shard links to the shards of its run.
fn links(of_run: Option<&str>) -> Vec<Link> {
    let all = Link { address: "/".to_owned(), text: "All runs".to_owned() };
    let shards =
        |run: &str| Link { address: format!("/runs/{run}/shards"), text: format!("Shards of {run}") };
    std::iter::once(all).chain(of_run.map(shards)).collect()
}

/// Returns a sample as `samples.jsonl` has it. Prompts may need parts of a sample that are not there, so the requests about it
/// are left out.
fn listed_sample(folder: &Path, task_id: &str, index: u64) -> Option<String> {
    let run = RecordedRun::open_head(folder).ok()?;
    let record = run.listed_record(task_id, index)?;
    sample_json(&run, &record, None).ok()
}

fn open_run(folder: &Path) -> Result<RecordedRun, Refusal> {
    RecordedRun::open(folder).map_err(|error: FiguresError| match folder.join(MANIFEST_FILE).exists() {
        true => Refusal::Failed(error_text(&error, folder)),
        false => live::gone(),
    })
}

/// Opens runs and compares each further one with the first.
fn open(folders: &[PathBuf]) -> Result<(Vec<RecordedRun>, Vec<gage_compare::Comparison>), Refusal> {
    let sources = folders.iter().map(|folder| open_run(folder)).collect::<Result<Vec<_>, Refusal>>()?;
    let comparisons = comparisons_with_first(&sources).map_err(|error: CompareError| {
        let text = error_text(&error, Path::new("\0"));
        Refusal::Failed(folders.iter().fold(text, |text, folder| without_folder(&text, folder)))
    })?;
    Ok((sources, comparisons))
}

/// Writer that sends its data as chunks of a stream. Blocks while too many are queued; fails when the reader
/// disconnects.
struct PageChunks {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    slots: Arc<ReportSlots>,
    /// Folders of the runs.
    folders: Vec<PathBuf>,
    /// Right to write the report; given back while the reader takes nothing.
    slot: Option<ReportSlot>,
    runtime: Handle,
}

impl PageChunks {
    /// Waits until the reader takes a chunk, and lets other reports go on in the meantime.
    fn send_later(&mut self, piece: io::Result<Bytes>) -> io::Result<()> {
        drop(self.slot.take());
        self.pieces.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe)?;
        let slot = self.runtime.block_on(self.slots.acquire(&self.folders));
        self.slot = Some(slot.map_err(io::Error::other)?);
        Ok(())
    }
}

impl Write for PageChunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.pieces.try_send(Ok(Bytes::copy_from_slice(bytes))) {
            Ok(()) => {}
            Err(TrySendError::Full(piece)) => self.send_later(piece)?,
            Err(TrySendError::Closed(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

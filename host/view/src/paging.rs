//! Blocks of the pages of runs with many samples. A run whose page folder is absent, or of other samples, gets a new one in the
//! background. Meanwhile its page shows the first samples.

use crate::listing::error_text;
use crate::refusal::Refusal;
use gage_core::{Digest, spawn_thread};
use gage_figures::RecordedRun;
use gage_html::{PageBlock, PageFolder, PageFolderWriter};
use gage_record::format::SAMPLES_FILE;
use gage_record::{Manifest, RecordView, RunStatus};
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::HashMap;
use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The page folders that are being built.
#[derive(Debug, Default)]
pub(crate) struct PageBuilds {
    builds: Mutex<HashMap<PathBuf, Arc<PageBuild>>>,
    /// Held while a folder is built: one at a time.
    turn: Arc<Mutex<()>>,
    /// Dropped with the server, which ends its builds.
    server: Arc<()>,
}

/// A page folder that is being built.
#[derive(Debug, Default)]
struct PageBuild {
    /// True if the first block can be sent. It may lack the times of its samples.
    has_first_block: AtomicBool,
    /// The end of the build, with the problem that prevented it.
    end: OnceLock<Result<(), String>>,
}

/// The blocks that a page can ask for.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct PageStatus {
    /// Number of samples; `None` while the folder is built.
    rows: Option<u64>,
    /// Number of blocks of columns; up to one while the folder is built.
    columns: usize,
    is_complete: bool,
    /// The reason why there will be no blocks.
    problem: Option<String>,
}

impl PageStatus {
    fn complete(page: &PageFolder) -> PageStatus {
        let columns = page.column_blocks();
        PageStatus { rows: Some(page.rows()), columns, is_complete: true, problem: None }
    }

    fn problem(problem: String) -> PageStatus {
        PageStatus { rows: None, columns: 0, is_complete: false, problem: Some(problem) }
    }
}

impl PageBuilds {
    /// Returns the blocks of a run, and begins to build them if there are none. Blocks while files are read.
    pub(crate) fn status(&self, folder: &Path) -> Result<PageStatus, Refusal> {
        let manifest = Manifest::read(folder).map_err(|error| Refusal::Failed(error_text(&error, folder)))?;
        let samples = manifest.files.get(SAMPLES_FILE).filter(|_| manifest.status != RunStatus::Running);
        let Some(samples) = samples.map(|samples| samples.digest) else {
            return Err(Refusal::Failed("the run has not ended".to_owned()));
        };
        if let Some(page) = PageFolder::open(folder, &samples) {
            self.builds.lock().remove(folder);
            return Ok(PageStatus::complete(&page));
        }
        let build = self.begin(folder, samples)?;
        let columns = usize::from(build.has_first_block.load(Ordering::Acquire));
        let Some(end) = build.end.get() else {
            return Ok(PageStatus { rows: None, columns, is_complete: false, problem: None });
        };
        // The next page tries again.
        self.builds.lock().remove(folder);
        Ok(match (end, PageFolder::open(folder, &samples)) {
            (Ok(()), Some(page)) => PageStatus::complete(&page),
            (Ok(()), None) => PageStatus::problem("the run has changed".to_owned()),
            (Err(problem), _) => {
                tracing::warn!("a page of many samples is sent as a whole: {problem}");
                PageStatus::problem(problem.clone())
            }
        })
    }

    /// Returns the build of a run's page folder. Starts it if there is none.
    fn begin(&self, folder: &Path, samples: Digest) -> Result<Arc<PageBuild>, Refusal> {
        let mut builds = self.builds.lock();
        if let Some(known) = builds.get(folder) {
            return Ok(Arc::clone(known));
        }
        let build = Arc::new(PageBuild::default());
        let (own, turn, server) = (Arc::clone(&build), Arc::clone(&self.turn), Arc::downgrade(&self.server));
        let path = folder.to_owned();
        let work = move || {
            let _turn = turn.lock();
            let end = build_folder(&path, &samples, &own, &server);
            // Only this thread sets it.
            let _ = own.end.set(end);
        };
        spawn_thread("page-builder", work).map_err(|error| Refusal::Failed(error.to_string()))?;
        builds.insert(folder.to_owned(), Arc::clone(&build));
        Ok(build)
    }
}

/// Builds the page folder of a run, until the server ends.
fn build_folder(folder: &Path, samples: &Digest, build: &PageBuild, server: &Weak<()>) -> Result<(), String> {
    if write_first_block(folder).is_some() {
        build.has_first_block.store(true, Ordering::Release);
    }
    let text = |error: &dyn Error| error_text(error, folder);
    let run = RecordedRun::open(folder).map_err(|error| text(&error))?;
    let mut writer = PageFolderWriter::new(folder);
    for record in run.records().map_err(|error| text(&error))? {
        let record = record.map_err(|error| text(&error))?;
        if server.strong_count() == 0 {
            return Err("the server ends".to_owned());
        }
        writer.add(&RecordView::from(&record));
        if writer.has_failed() {
            break;
        }
    }
    match writer.finish(samples) {
        Ok(true) => Ok(()),
        Ok(false) => Err("the run has few samples".to_owned()),
        Err(error) => Err(text(&error)),
    }
}

/// Writes the first block from the beginning of `samples.jsonl`, for which the journal need not be read. `None` if that is not
/// possible; the build then finds out why.
fn write_first_block(folder: &Path) -> Option<()> {
    let run = RecordedRun::open_head(folder).ok()?;
    let mut writer = PageFolderWriter::new(folder);
    for record in run.records().ok()? {
        writer.add(&RecordView::from(&record.ok()?));
        if writer.column_blocks() > 0 || writer.has_failed() {
            break;
        }
    }
    (writer.column_blocks() > 0).then_some(())
}

/// Reads a block of a run's page folder, which is gzip.
pub(crate) fn read_block(folder: &Path, kind: PageBlock, number: usize) -> Result<Vec<u8>, Refusal> {
    kind.read(folder, number).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Refusal::Unknown("the page has no such block; load it again".to_owned()),
        _ => Refusal::Failed(format!("cannot read a block of the page: {error}")),
    })
}

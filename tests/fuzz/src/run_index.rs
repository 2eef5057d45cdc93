//! The index over a folder of runs. It is only a cache: the list of runs is always that of the run folders.

use crate::fuzz_input::FuzzInput;
use crate::manifests::{RUN_ID, manifest};
use crate::{Target, Verdict, mutation};
use gage_history::{History, HistoryRun, INDEX_FILE};
use gage_record::format::MANIFEST_FILE;
use proptest::strategy::BoxedStrategy;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The index of runs.
pub const TARGET: Target = Target { name: "run_index", cases: 200, seeds, inputs, check };

const TOKENS: &[&str] = &[
    "SQLite format 3\u{0}",
    "CREATE TABLE runs",
    "CREATE VIEW runs AS SELECT ",
    "CREATE TRIGGER ",
    "WITHOUT ROWID",
    "flips",
    "unreadable",
    "run",
    "complete",
    "sha256:",
    "{\"run_id\":\"other\"",
    "\"value\":0.99",
    "\u{0}",
    "\u{1}\u{0}",
    "gage",
];

/// A folder with one run, and what the history says of it without an index.
struct RunsFolder {
    folder: TempDir,
    runs: Vec<HistoryRun>,
    /// The index that this program writes.
    index: Vec<u8>,
}

thread_local! {
    /// Folder of all inputs: an index is only used for the runs that it was made from.
    static FOLDER: RefCell<Option<RunsFolder>> = const { RefCell::new(None) };
}

impl RunsFolder {
    fn new() -> Result<RunsFolder, String> {
        let failed = |error: std::io::Error| error.to_string();
        let folder = tempfile::tempdir().map_err(failed)?;
        let run = folder.path().join(RUN_ID);
        std::fs::create_dir(&run).map_err(failed)?;
        std::fs::write(run.join(MANIFEST_FILE), manifest().to_string()).map_err(failed)?;
        let (runs, _) = list(folder.path())?;
        if runs.len() != 1 {
            return Err(format!("{} runs instead of one", runs.len()));
        }
        let index = std::fs::read(index_of(folder.path())).map_err(failed)?;
        Ok(RunsFolder { folder, runs, index })
    }

    fn with<T>(work: impl FnOnce(&RunsFolder) -> Result<T, String>) -> Result<T, String> {
        FOLDER.with_borrow_mut(|folder| {
            if folder.is_none() {
                *folder = Some(RunsFolder::new()?);
            }
            folder.as_ref().map_or_else(|| Err("there is no folder".to_owned()), work)
        })
    }
}

fn index_of(folder: &Path) -> PathBuf {
    folder.join(INDEX_FILE)
}

/// Returns the runs of a folder, and whether its index was used as it is.
fn list(folder: &Path) -> Result<(Vec<HistoryRun>, bool), String> {
    let mut history = History::open(folder).map_err(|error| error.to_string())?;
    let report = history.refresh().map_err(|error| error.to_string())?;
    let runs = history.runs().map_err(|error| error.to_string())?;
    Ok((runs, report.read == 0 && history.notes().is_empty()))
}

fn seeds() -> Vec<Vec<u8>> {
    RunsFolder::with(|folder| Ok(folder.index.clone())).into_iter().collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    RunsFolder::with(|folder| {
        let index = index_of(folder.folder.path());
        for ending in ["-journal", "-wal", "-shm"] {
            // An earlier input may have left it.
            let _ = std::fs::remove_file(folder.folder.path().join(format!("{INDEX_FILE}{ending}")));
        }
        std::fs::write(&index, input).map_err(|error| error.to_string())?;
        let (runs, is_used) = list(folder.folder.path())?;
        match runs == folder.runs {
            true if is_used => Ok(Verdict::Accepted),
            true => Ok(Verdict::Refused),
            false => Err(format!("the index makes {runs:?} of {:?}", folder.runs)),
        }
    })
}

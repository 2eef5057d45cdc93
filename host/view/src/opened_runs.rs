//! Runs that were opened for one of their samples. The next samples of a run need its index again.

use crate::refusal::Refusal;
use gage_figures::RecordedRun;
use gage_record::format::MANIFEST_FILE;
use parking_lot::Mutex;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Maximum number of runs that stay open. The index of a million samples takes 33 MB.
const MAX_OPENED_RUNS: usize = 4;

/// The runs that were used last.
#[derive(Debug, Default)]
pub(crate) struct OpenedRuns {
    /// The run that was used last is the last one.
    slots: Mutex<Vec<Arc<RunSlot>>>,
}

#[derive(Debug)]
struct RunSlot {
    folder: PathBuf,
    /// Held while the run is opened or read. Readers of other runs do not wait for it.
    run: Mutex<Option<OpenedRun>>,
}

#[derive(Debug)]
struct OpenedRun {
    /// Time of the last change of its manifest.
    changed: Option<SystemTime>,
    run: RecordedRun,
}

impl OpenedRuns {
    /// Returns whether a run is open, and nothing waits for it.
    pub(crate) fn is_open(&self, folder: &Path) -> bool {
        let slot = self.slots.lock().iter().find(|slot| slot.folder == folder).cloned();
        slot.is_some_and(|slot| slot.run.try_lock().is_some_and(|run| run.is_some()))
    }

    /// Reads a run, which is opened with `open` unless it is open and has ended. Blocks meanwhile.
    ///
    /// # Errors
    /// Those of `open` and of `read`.
    pub(crate) fn read<T>(
        &self,
        folder: &Path,
        open: impl FnOnce(&Path) -> Result<RecordedRun, Refusal>,
        read: impl FnOnce(&RecordedRun) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let slot = self.slot_of(folder);
        let mut opened = slot.run.lock();
        let changed = fs::metadata(folder.join(MANIFEST_FILE)).and_then(|data| data.modified()).ok();
        // The journal of a run that has not ended may have grown.
        let is_same = |one: &OpenedRun| one.changed == changed && one.run.has_ended();
        let one = match opened.take().filter(is_same) {
            Some(one) => one,
            None => OpenedRun { changed, run: open(folder)? },
        };
        read(&opened.insert(one).run)
    }

    /// Returns the slot of a run, which is now the one that was used last.
    fn slot_of(&self, folder: &Path) -> Arc<RunSlot> {
        let mut slots = self.slots.lock();
        let slot = match slots.iter().position(|slot| slot.folder == folder) {
            Some(place) => slots.remove(place),
            None => Arc::new(RunSlot { folder: folder.to_owned(), run: Mutex::default() }),
        };
        if slots.len() >= MAX_OPENED_RUNS {
            slots.remove(0);
        }
        slots.push(Arc::clone(&slot));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_record::{Manifest, RunFolder, RunIdentity, RunStatus};
    use std::cell::Cell;

    fn write_run(root: &Path, run_id: &str, status: RunStatus) -> PathBuf {
        let folder = RunFolder::create(root, run_id).unwrap();
        let mut manifest = Manifest::new(run_id, "0.1.0", RunIdentity::default());
        manifest.finish(status);
        manifest.write(&folder).unwrap();
        folder.path().to_owned()
    }

    #[test]
    fn runs_used_last_stay_open_and_no_run_waits_for_another() {
        let root = tempfile::tempdir().unwrap();
        let ended = RunStatus::Complete;
        let folders: Vec<PathBuf> = (0..=MAX_OPENED_RUNS)
            .map(|number| write_run(root.path(), &format!("r{number}"), ended))
            .collect();
        let interrupted = write_run(root.path(), "interrupted", RunStatus::Interrupted);
        let (runs, opened) = (OpenedRuns::default(), Cell::new(0));
        let read = |folder: &Path| {
            let before = opened.get();
            let open = |folder: &Path| {
                opened.set(opened.get() + 1);
                RecordedRun::open(folder).map_err(|error| Refusal::Failed(error.to_string()))
            };
            let is_free = runs.read(folder, open, |_| Ok(runs.slots.try_lock().is_some()));
            assert!(matches!(is_free, Ok(true)), "{}", folder.display());
            opened.get() > before
        };
        assert!(!runs.is_open(&folders[0]));
        let (last, first) = (&folders[MAX_OPENED_RUNS], &folders[0]);
        for (folder, is_opened) in [(first, true), (first, false), (&interrupted, true), (&interrupted, true)]
        {
            assert_eq!(read(folder), is_opened, "{}", folder.display());
        }
        assert!(runs.is_open(first));
        folders.iter().skip(1).for_each(|folder| assert!(read(folder)));
        assert!(!read(last) && read(first));
        assert_eq!(runs.slots.lock().len(), MAX_OPENED_RUNS);
    }
}

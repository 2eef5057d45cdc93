//! Folders without a manifest where a run is expected.

use crate::format::{JOURNAL_FOLDER, RECORDED_FILE};
use crate::shards_folder::has_shards;
use gage_core::ResourceShortage;
use std::fs;
use std::path::Path;

/// State of a path that should hold a run but has no manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingManifest {
    /// The path does not exist.
    Nothing,
    /// A folder whose run never started, or is just starting.
    NeverStarted,
    /// The folder of a run whose shards are not merged.
    Sharded,
    /// The folder of a run that has lost its manifest.
    Lost,
    /// Something else.
    Foreign,
}

impl MissingManifest {
    /// Returns whether the path is that of a run: it lost its manifest, or its shards are not merged.
    pub fn is_run(self) -> bool {
        matches!(self, MissingManifest::Lost | MissingManifest::Sharded)
    }

    /// Classifies a path that has no manifest.
    pub fn of(path: &Path) -> MissingManifest {
        if !path.exists() {
            return MissingManifest::Nothing;
        }
        if path.is_dir() && is_never_started(path) {
            return MissingManifest::NeverStarted;
        }
        // A merge that was stopped at once leaves an empty journal.
        if has_shards(path) {
            return MissingManifest::Sharded;
        }
        match path.join(JOURNAL_FOLDER).is_dir() {
            true => MissingManifest::Lost,
            false => MissingManifest::Foreign,
        }
    }
}

/// Returns whether a folder contains only files that [`RunFolder::create`] makes.
pub(crate) fn is_never_started(path: &Path) -> bool {
    let is_leftover = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let is_of_none =
            |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|it| it.file_name() == RECORDED_FILE);
        let is_empty_folder = || fs::read_dir(entry.path()).is_ok_and(|mut entries| entries.all(is_of_none));
        // The first manifest may be half written.
        let is_temporary =
            name.to_string_lossy().starts_with('.') && name.to_string_lossy().ends_with(".tmp");
        is_temporary || (name == JOURNAL_FOLDER && is_empty_folder())
    };
    match fs::read_dir(path) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(is_leftover)),
        Err(error) => {
            ResourceShortage::report_in(&error);
            false
        }
    }
}

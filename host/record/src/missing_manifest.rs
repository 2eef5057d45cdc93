//! Folders without a manifest where a run is expected.

use crate::format::{JOURNAL_FOLDER, RECORDED_FILE, WRITER_LOCK_FILE};
use std::fs;
use std::path::Path;

/// What stands where a run is looked for and there is no manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingManifest {
    /// Nothing at all.
    Nothing,
    /// A folder in which a run was never begun, or begins at this moment.
    NeverStarted,
    /// The folder of a run, which has lost its manifest.
    Lost,
    /// Something else.
    Foreign,
}

impl MissingManifest {
    /// What stands there.
    pub fn of(path: &Path) -> MissingManifest {
        if !path.exists() {
            return MissingManifest::Nothing;
        }
        if path.is_dir() && is_never_started(path) {
            return MissingManifest::NeverStarted;
        }
        match path.join(JOURNAL_FOLDER).is_dir() {
            true => MissingManifest::Lost,
            false => MissingManifest::Foreign,
        }
    }
}

/// Returns whether a folder holds nothing but what [`RunFolder::create`] makes.
pub(crate) fn is_never_started(path: &Path) -> bool {
    let is_leftover = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let is_of_none =
            |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|it| it.file_name() == RECORDED_FILE);
        let is_empty_folder = || fs::read_dir(entry.path()).is_ok_and(|mut entries| entries.all(is_of_none));
        // The first manifest may have been half written.
        let is_temporary =
            name.to_string_lossy().starts_with('.') && name.to_string_lossy().ends_with(".tmp");
        name == WRITER_LOCK_FILE || is_temporary || (name == JOURNAL_FOLDER && is_empty_folder())
    };
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(is_leftover)))
}

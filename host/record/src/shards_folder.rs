//! The folder that holds the shards of a run.

use crate::format::SHARDS_FOLDER;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder that holds the shards of a run.
pub fn shards_folder(run: &Path) -> PathBuf {
    run.join(SHARDS_FOLDER)
}

/// Returns whether a folder has a folder of shards.
pub fn has_shards(run: &Path) -> bool {
    // A link could lead out of the folder.
    fs::symlink_metadata(shards_folder(run)).is_ok_and(|data| data.is_dir())
}

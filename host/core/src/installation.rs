//! The folders of an installation, in which this program finds the parts that are files of their own.

use std::env;
use std::path::{Path, PathBuf};

/// Folder of the parts of an installation, beside the folder of this program.
const INSTALL_FOLDER: &str = "lib/gage-host";

/// Returns the folders in which the other parts of this program may be, first its own. Empty if its file is unknown.
pub fn installation_folders() -> Vec<PathBuf> {
    let own = env::current_exe().and_then(|file| file.canonicalize()).ok();
    own.as_deref().map(installation_folders_of).unwrap_or_default()
}

/// Returns the folders in which the other parts of a program may be: the program's own folder, and `../lib/gage-host`
/// from there.
pub fn installation_folders_of(program: &Path) -> Vec<PathBuf> {
    let Some(beside) = program.parent() else { return Vec::new() };
    let installed = beside.parent().map(|prefix| prefix.join(INSTALL_FOLDER));
    std::iter::once(beside.to_owned()).chain(installed).collect()
}

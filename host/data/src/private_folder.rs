//! Cache folders, closed to other users.

use std::io;
use std::path::Path;

/// Creates a folder and its parents, and closes it to other users. Fails for an open folder of another user, who
/// could replace files in it.
#[cfg(unix)]
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    use std::fs::{DirBuilder, Permissions, metadata, set_permissions};
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    match metadata(folder)?.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => set_permissions(folder, Permissions::from_mode(0o700)),
    }
}

#[cfg(not(unix))]
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

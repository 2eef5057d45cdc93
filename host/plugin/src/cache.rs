//! Where compiled components are kept.

use std::path::Path;
use wasmtime::{Cache, CacheConfig};

/// Opens the compile cache in a folder that only this user can use; it is made if it does not
/// exist. Compiled code is run as it is read, so a folder that others can write is refused.
///
/// # Errors
/// What is wrong with the folder.
pub(crate) fn open(folder: &Path) -> Result<Cache, String> {
    let describe = |error: &dyn std::fmt::Display| format!("compile cache {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(|error| describe(&error))?;
    restrict(folder).map_err(|error| describe(&error))?;
    let folder = folder.canonicalize().map_err(|error| describe(&error))?;
    let mut config = CacheConfig::new();
    config.with_directory(folder.clone());
    Cache::new(config).map_err(|error| describe(&error))
}

#[cfg(unix)]
fn restrict(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // Fails when the folder belongs to somebody else.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn restrict(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

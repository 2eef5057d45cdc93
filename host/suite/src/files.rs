//! Atomically written files, and canonical folders.

use crate::SuiteError;
use gage_core::foreign_file::{self, FileLimit};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Maximum size of a suite, a template and a RunConfig.
pub(crate) const MAX_SUITE_SIZE: FileLimit = FileLimit::new("a suite", 16 << 20);

/// Maximum size of a lock, which holds the whole suite.
pub(crate) const MAX_LOCK_SIZE: FileLimit = FileLimit::new("a lock", 64 << 20);

/// Reads a text file of a suite.
pub(crate) fn read(path: &Path) -> Result<String, SuiteError> {
    foreign_file::read_named_text(path, MAX_SUITE_SIZE).map_err(|source| SuiteError::io("read", path, source))
}

/// Writes a new file durably, and creates its folder. An existing file stays unchanged.
///
/// # Errors
/// Fails if the file exists, or cannot be written.
pub fn write_new(path: &Path, content: impl AsRef<[u8]>) -> Result<(), SuiteError> {
    let file = fill(path, content.as_ref())?;
    match file.persist_noclobber(path) {
        Ok(_) => sync(path),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(SuiteError::refused(
            format!("the file {} already exists", path.display()),
            "nothing was written; choose another name, or move the file",
        )),
        Err(error) => Err(SuiteError::io("write", path, error.error)),
    }
}

/// Writes a file durably, and replaces any existing one.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), SuiteError> {
    let file = fill(path, text.as_bytes())?;
    file.persist(path).map_err(|error| SuiteError::io("write", path, error.error))?;
    sync(path)
}

fn fill(path: &Path, content: &[u8]) -> Result<tempfile::NamedTempFile, SuiteError> {
    let folder = folder_of(path);
    std::fs::create_dir_all(&folder)
        .map_err(|source| SuiteError::io("create the folder", &folder, source))?;
    let fail = |source| SuiteError::io("write", path, source);
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The usual permissions of new files; the system applies the user's umask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.prefix(".gage-").suffix(".tmp").tempfile_in(&folder).map_err(fail)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(fail)?;
    Ok(file)
}

fn sync(path: &Path) -> Result<(), SuiteError> {
    if cfg!(unix) {
        let folder = folder_of(path);
        let synced = std::fs::File::open(&folder).and_then(|opened| opened.sync_all());
        synced.map_err(|source| SuiteError::io("sync the folder", &folder, source))?;
    }
    Ok(())
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Formats a folder for `${config_dir}`: relative to the working folder if it is inside it. The text does not
/// depend on how the path was spelled.
pub fn shown_folder(folder: &Path) -> String {
    let canonical = canonical_path(folder);
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    match here.ok().and_then(|here| canonical.strip_prefix(here).map(Path::to_owned).ok()) {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => below.display().to_string(),
        None => canonical.display().to_string(),
    }
}

/// Resolves links and `..` in a folder's path, as far as it exists.
pub(crate) fn canonical_path(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut missing = Vec::new();
    let mut there = whole.as_path();
    loop {
        if let Ok(canonical) = there.canonicalize() {
            return missing.iter().rev().fold(canonical, |path, name| path.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                there = parent;
            }
            _ => return whole,
        }
    }
}

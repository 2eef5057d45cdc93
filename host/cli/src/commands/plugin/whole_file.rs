//! Files beside which nothing half-written is left.

use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::foreign_file::{FileLimit, read_named};
use std::io::ErrorKind;
use std::path::Path;
use std::{fs, io};

/// Maximum size of an existing file that is compared.
const MAX_COMPARED_BYTES: FileLimit = FileLimit::new("a component", 1 << 30);

/// Writes a file, or leaves it as it was.
///
/// # Errors
/// If it cannot be written. The message is printed.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), ExitCode> {
    write_whole(path, bytes).map_err(|error| {
        let reason = gage_core::system_message(&error);
        terminal::usage_error(&format!("cannot write {}: {reason}", path.display()), None)
    })
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = tempfile::Builder::new().prefix(".gage-plugin-").tempdir_in(folder)?;
    let whole = scratch.path().join("file");
    fs::write(&whole, bytes)?;
    fs::rename(&whole, path)
}

/// Checks that a file does not exist, or has these bytes.
///
/// # Errors
/// If it is another file. The message is printed.
pub(super) fn check_free(path: &Path, bytes: &[u8]) -> Result<(), ExitCode> {
    match read_named(path, MAX_COMPARED_BYTES) {
        Ok(found) if found == bytes => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => {
            let message = format!("{} exists, and differs from what would be written", path.display());
            Err(terminal::usage_error(&message, Some("delete it, or name another file")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_not_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.wasm");
        assert_eq!(check_free(&path, b"new"), Ok(()));
        write(&path, b"old").expect("written");
        assert_eq!(check_free(&path, b"new"), Err(ExitCode::Configuration));
        assert_eq!(check_free(&path, b"old"), Ok(()));
        write(&path, b"new").expect("replaced");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        assert_eq!(check_free(folder.path(), b"new"), Err(ExitCode::Configuration));
        let names = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, 1, "no scratch file is left");
    }
}

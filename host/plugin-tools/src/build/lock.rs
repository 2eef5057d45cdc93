//! Lock for a resource shared by several processes.

use crate::ToolError;
use std::fs::{self, File, TryLockError};
use std::path::Path;

/// A lock that is held until it is dropped or the process ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Acquires the lock named after a path, waiting until it is free.
    pub(super) fn take(path: &Path, say: &dyn Fn(&str)) -> Result<Lock, ToolError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let path = Path::new(&name);
        let fail = |error: std::io::Error| ToolError::io("lock", path, &error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        let file = File::create(path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                say("waiting for another build to finish");
                file.lock().map_err(fail)?;
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        Ok(Lock { _file: file })
    }
}

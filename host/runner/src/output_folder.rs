//! The folder of all runs, which is removed again if it stays empty.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of all runs. If it was created for a run that never began, it is removed again.
pub(crate) struct OutputFolder {
    made: Option<PathBuf>,
}

impl OutputFolder {
    pub(crate) fn create(path: &Path) -> io::Result<OutputFolder> {
        let was_there = path.exists();
        std::fs::create_dir_all(path)?;
        Ok(OutputFolder { made: (!was_there).then(|| path.to_owned()) })
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            // Fails if it contains a run; then the folder stays.
            let _ = std::fs::remove_dir(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_new_folder_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let new = root.path().join("runs");
        drop(OutputFolder::create(&new).unwrap());
        assert!(!new.exists());
        let folder = OutputFolder::create(&new).unwrap();
        std::fs::create_dir(new.join("nightly")).unwrap();
        drop(folder);
        assert!(new.join("nightly").exists());
        std::fs::remove_dir(new.join("nightly")).unwrap();
        drop(OutputFolder::create(&new).unwrap());
        assert!(new.exists(), "it was there before");
    }
}

//! The folder of all runs, which is removed again if it stays empty.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of all runs. If it was created for a run that never began, it is removed again, with the folders that were
/// created for it.
pub(crate) struct OutputFolder {
    /// The folders that were created, the innermost first.
    made: Vec<PathBuf>,
}

impl OutputFolder {
    pub(crate) fn create(path: &Path) -> io::Result<OutputFolder> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = path.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        std::fs::create_dir_all(path)?;
        Ok(OutputFolder { made })
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // Fails if it contains a run; then it stays, and so do those above it.
        let _ = self.made.iter().try_for_each(std::fs::remove_dir);
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
        drop(OutputFolder::create(&new.join("nightly/shards")).unwrap());
        assert!(new.exists() && !new.join("nightly").exists());
    }
}

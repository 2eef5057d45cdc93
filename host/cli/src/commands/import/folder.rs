//! The folder of a configuration of another program, whose files it may name.

use gage_core::foreign_file::{self, FileLimit};
use gage_import::SourceFolder;
use std::path::{Path, PathBuf};

/// Maximum size of a suite of another program, and of a file that it names.
pub(super) const MAX_SUITE_SIZE: FileLimit = FileLimit::new("a suite", 16 << 20);
/// Maximum number of files that are listed.
const MAX_FILES: usize = 5_000;
/// Maximum depth of folders that are listed.
const MAX_LEVELS: usize = 4;

/// A folder on this machine.
pub(super) struct TaskFolder {
    path: PathBuf,
}

impl TaskFolder {
    /// Returns the folder of a file.
    pub(super) fn of(file: &Path) -> TaskFolder {
        TaskFolder { path: file.parent().unwrap_or(Path::new("")).to_owned() }
    }

    /// Adds the YAML files of a folder and of those below it. Links to folders are not followed.
    fn list(&self, below: &str, level: usize, files: &mut Vec<String>) {
        let folder = match self.path.join(below) {
            here if here.as_os_str().is_empty() => PathBuf::from("."),
            folder => folder,
        };
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && level < MAX_LEVELS {
                self.list(&path, level + 1, files);
            } else if !is_folder
                && (path.ends_with(".yaml") || path.ends_with(".yml"))
                && files.len() < MAX_FILES
            {
                files.push(path);
            }
        }
    }
}

impl SourceFolder for TaskFolder {
    fn read(&self, path: &str) -> Result<String, String> {
        foreign_file::read_named_text(&self.path.join(path), MAX_SUITE_SIZE)
            .map_err(|error| error.to_string())
    }

    fn yaml_files(&self) -> Vec<String> {
        let mut files = Vec::new();
        self.list("", 0, &mut files);
        files.sort_unstable();
        files
    }
}

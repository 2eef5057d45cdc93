//! Detects changes of files, by looking at them again and again.

use crate::files::TOOL_FOLDERS;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum number of files that are watched.
const MAX_WATCHED_FILES: usize = 10_000;

/// The pauses between two looks at the files.
pub trait WatchPause {
    /// Waits until the next look. Returns false if there is none.
    fn pause(&mut self) -> bool;
}

/// Files and folders that are watched.
#[derive(Clone, Debug)]
pub struct WatchedFiles {
    paths: Vec<PathBuf>,
}

/// The time of change and size of each file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStates(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl WatchedFiles {
    /// Creates a list of files and folders. Of a folder everything is watched, except for components with their provenance,
    /// hidden files, and folders of tools.
    pub fn new(paths: Vec<PathBuf>) -> WatchedFiles {
        WatchedFiles { paths }
    }

    /// Returns the present state of the files.
    pub fn states(&self) -> FileStates {
        let mut states = FileStates::default();
        for path in &self.paths {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => states.add_folder(path),
                Ok(metadata) => states.add(path, &metadata),
                // A file that does not exist changes when it is created.
                Err(_) => {}
            }
        }
        states
    }
}

impl FileStates {
    fn add(&mut self, path: &Path, metadata: &Metadata) {
        if self.0.len() < MAX_WATCHED_FILES {
            self.0.insert(path.to_owned(), (metadata.modified().ok(), metadata.len()));
        }
    }

    fn add_folder(&mut self, folder: &Path) {
        // Files may vanish meanwhile, which is seen at the next look.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(metadata) = entry.metadata() else { continue };
            if name.starts_with('.') || name.ends_with(".wasm") || name.ends_with(".intoto.json") {
                continue;
            }
            // Links are not followed.
            match metadata.is_dir() {
                true if TOOL_FOLDERS.contains(&&*name) => {}
                true => self.add_folder(&entry.path()),
                false => self.add(&entry.path(), &metadata),
            }
        }
    }
}

/// Waits until the files differ from an earlier state, and do not change any more. Returns false if the pauses end before.
pub fn wait_for_change(files: &WatchedFiles, seen: &FileStates, pause: &mut dyn WatchPause) -> bool {
    let mut last = seen.clone();
    loop {
        if !pause.pause() {
            return false;
        }
        let now = files.states();
        if now == last && now != *seen {
            return true;
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does one step in each pause.
    struct Steps<'s>(Vec<&'s dyn Fn()>);

    impl WatchPause for Steps<'_> {
        fn pause(&mut self) -> bool {
            if self.0.is_empty() {
                return false;
            }
            (self.0.remove(0))();
            true
        }
    }

    #[test]
    fn changes_are_seen_once_they_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("plugin.py", "one");
        let files = WatchedFiles::new(vec![folder.path().to_owned(), folder.path().join("missing")]);
        let seen = files.states();
        let nothing = || {};
        let ignored = || {
            write("__pycache__/plugin.pyc", "x");
            write(".git/index", "x");
            write("a.wasm", "x");
        };
        let (longer, longest) = (|| write("plugin.py", "three"), || write("lib/more.py", "x"));
        for (steps, expected) in [
            (vec![&nothing as &dyn Fn(), &ignored, &nothing], (false, 0)),
            (vec![&nothing as &dyn Fn(), &longer, &longest, &nothing, &nothing], (true, 1)),
        ] {
            let mut steps = Steps(steps);
            assert_eq!((wait_for_change(&files, &seen, &mut steps), steps.0.len()), expected);
        }
    }
}

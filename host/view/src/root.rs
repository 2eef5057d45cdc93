//! Folder whose runs are shown; nothing outside of it is read.

use crate::ViewError;
use gage_record::format::{JOURNAL_FOLDER, MANIFEST_FILE};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of runs.
#[derive(Clone, Debug)]
pub struct RunsRoot {
    /// Path without symbolic links.
    path: PathBuf,
}

impl RunsRoot {
    /// Opens an existing folder.
    ///
    /// # Errors
    /// When it cannot be read, or when it is the folder of one run.
    pub fn open(folder: &Path) -> Result<RunsRoot, ViewError> {
        let failed = |source| ViewError::Folder { folder: folder.to_owned(), source };
        let path = folder.canonicalize().map_err(failed)?;
        fs::read_dir(&path).map_err(failed)?;
        if path.join(MANIFEST_FILE).exists() {
            return Err(ViewError::OneRun { folder: folder.to_owned() });
        }
        Ok(RunsRoot { path })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of a run, by its name. `None` if there is no such run, or if a link in it leads out of this
    /// folder.
    pub fn run(&self, name: &str) -> Option<PathBuf> {
        gage_core::check_name(name).ok()?;
        let folder = self.path.join(name);
        let is_run = folder.join(MANIFEST_FILE).is_file();
        (is_run && self.holds_all_of(&folder)).then_some(folder)
    }

    /// Returns whether the files of a run, and those of its journal, are in this folder.
    fn holds_all_of(&self, folder: &Path) -> bool {
        let is_inside = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&self.path));
        let links_stay = |folder: &Path| {
            let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.all(|entry| match entry.file_type() {
                Ok(kind) if kind.is_symlink() => is_inside(&entry.path()),
                Ok(_) => true,
                Err(_) => false,
            })
        };
        is_inside(folder) && links_stay(folder) && links_stay(&folder.join(JOURNAL_FOLDER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(root: &Path, name: &str) {
        fs::create_dir_all(root.join(name).join(JOURNAL_FOLDER)).unwrap();
        fs::write(root.join(name).join(MANIFEST_FILE), "{}").unwrap();
    }

    #[test]
    fn runs_are_found_by_name_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("runs");
        run(&inside, "one");
        run(folder.path(), "outside");
        fs::create_dir(inside.join("no-run")).unwrap();
        let root = RunsRoot::open(&inside).unwrap();
        assert!(root.run("one").is_some());
        for name in
            ["../outside", "..", ".", "", "no-run", "/etc", "one/../one", "one/journal", "a\0b", "two"]
        {
            assert!(root.run(name).is_none(), "{name:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_makes_no_run() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("runs");
        run(folder.path(), "outside");
        for name in ["file", "journal", "link-within"] {
            run(&inside, name);
        }
        fs::write(folder.path().join("secret"), "s").unwrap();
        symlink(folder.path().join("outside"), inside.join("linked")).unwrap();
        symlink(folder.path().join("secret"), inside.join("file/summary.json")).unwrap();
        symlink(folder.path().join("secret"), inside.join("journal/journal/000001.jsonl")).unwrap();
        symlink(inside.join("file/manifest.json"), inside.join("link-within/summary.json")).unwrap();
        let root = RunsRoot::open(&inside).unwrap();
        let seen = ["linked", "file", "journal", "link-within"].map(|name| root.run(name).is_some());
        assert_eq!(seen, [false, false, false, true]);
    }

    #[test]
    fn what_is_no_folder_of_runs_is_said() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), "one");
        let missing = RunsRoot::open(&folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("none: "), "{missing}");
        let one = RunsRoot::open(&folder.path().join("one")).unwrap_err();
        assert!(one.help().unwrap().contains("gage-host report"), "{one}");
    }
}

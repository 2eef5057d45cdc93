//! Folder whose runs are shown; nothing outside of it is read.

use crate::ViewError;
use gage_core::Shard;
use gage_record::format::{JOURNAL_FOLDER, MANIFEST_FILE};
use gage_record::{has_shards, shard_folders, shards_folder};
use std::fs;
use std::path::{Path, PathBuf};

/// Sign between the name of a run and that of its shard. No run has it in its name.
const SHARD_SEPARATOR: char = ':';

/// Returns the name of the run of a shard, given the name of the shard. `None` for the name of a run.
pub(crate) fn run_of_shard(name: &str) -> Option<&str> {
    name.split_once(SHARD_SEPARATOR).map(|(run, _)| run)
}

/// Returns the name by which a page names a shard of a run: `nightly:03-of-16`.
pub(crate) fn name_of_shard(run: &str, shard: Shard) -> String {
    format!("{run}{SHARD_SEPARATOR}{}", shard.folder_name())
}

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
        // A run may be named `shards`.
        let is_sharded = shard_folders(&path).is_ok_and(|shards| !shards.is_empty());
        if path.join(MANIFEST_FILE).exists() || is_sharded {
            return Err(ViewError::OneRun { folder: folder.to_owned() });
        }
        Ok(RunsRoot { path })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of a run by its name, or that of a shard by the names of its run and its own: `nightly:03-of-16`.
    /// `None` if there is no such run, or if a link in it leads out of this folder.
    pub fn run(&self, name: &str) -> Option<PathBuf> {
        let folder = match name.split_once(SHARD_SEPARATOR) {
            None => {
                gage_core::check_name(name).ok()?;
                self.path.join(name)
            }
            Some((run, shard)) => {
                let shard = Shard::of_folder_name(shard)?;
                shards_folder(&self.sharded_run(run)?).join(shard.folder_name())
            }
        };
        let is_run = folder.join(MANIFEST_FILE).is_file();
        (is_run && self.holds_all_of(&folder)).then_some(folder)
    }

    /// Returns the folder of a run that has shards, by its name. It may have no manifest: its shards are not merged.
    pub(crate) fn sharded_run(&self, name: &str) -> Option<PathBuf> {
        gage_core::check_name(name).ok()?;
        let folder = self.path.join(name);
        (has_shards(&folder) && self.holds(&folder)).then_some(folder)
    }

    /// Returns whether a path is in this folder, without links that lead out of it.
    fn holds(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path.starts_with(&self.path))
    }

    /// Returns whether the files of a run, and those of its journal, are in this folder.
    fn holds_all_of(&self, folder: &Path) -> bool {
        let links_stay = |folder: &Path| {
            let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.all(|entry| match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.holds(&entry.path()),
                Ok(_) => true,
                Err(_) => false,
            })
        };
        self.holds(folder) && links_stay(folder) && links_stay(&folder.join(JOURNAL_FOLDER))
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

    #[test]
    fn shards_are_found_by_both_names() {
        let folder = tempfile::tempdir().unwrap();
        run(&shards_folder(&folder.path().join("nightly")), "03-of-16");
        fs::create_dir(shards_folder(&folder.path().join("nightly")).join("04-of-16")).unwrap();
        run(folder.path(), "whole");
        run(folder.path(), "shards");
        let root = RunsRoot::open(folder.path()).unwrap();
        let shard = root.run("nightly:03-of-16").unwrap();
        assert!(shard.ends_with("nightly/shards/03-of-16"), "{}", shard.display());
        assert!(root.sharded_run("nightly").is_some() && root.run("nightly").is_none());
        assert!(root.sharded_run("whole").is_none() && root.sharded_run("..").is_none());
        for name in [
            "nightly:04-of-16",
            "nightly:3-of-16",
            "nightly:",
            "nightly:..",
            "nightly:03-of-16:03-of-16",
            "nightly:../shards/03-of-16",
            "nightly/shards:03-of-16",
            "../nightly:03-of-16",
            ":03-of-16",
            "whole:03-of-16",
        ] {
            assert!(root.run(name).is_none(), "{name:?}");
        }
        let one = RunsRoot::open(&folder.path().join("nightly")).unwrap_err();
        assert!(one.to_string().contains("is the folder of one run"), "{one}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_makes_no_shard() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("runs");
        let shards = |name: &str| shards_folder(&inside.join(name));
        run(&shards_folder(&folder.path().join("outside")), "01-of-02");
        fs::create_dir_all(inside.join("linked-shards")).unwrap();
        fs::create_dir_all(shards("linked-shard")).unwrap();
        symlink(folder.path().join("outside"), inside.join("linked")).unwrap();
        symlink(shards_folder(&folder.path().join("outside")), shards("linked-shards")).unwrap();
        let outside = shards_folder(&folder.path().join("outside")).join("01-of-02");
        symlink(outside, shards("linked-shard").join("01-of-02")).unwrap();
        let root = RunsRoot::open(&inside).unwrap();
        for name in ["linked", "linked-shards", "linked-shard"] {
            assert!(root.run(&format!("{name}:01-of-02")).is_none(), "{name}");
        }
        assert!(root.sharded_run("linked").is_none() && root.sharded_run("linked-shards").is_none());
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

//! Names of the objects of a shard.

use crate::StorageError;
use gage_core::{Digest, Shard, check_name, shown_name};
use gage_record::format::{MANIFEST_FILE, SHARDS_FOLDER};
use object_store::path::Path;

/// The objects of a shard.
#[derive(Debug)]
pub(crate) struct ShardObjects {
    folder: Path,
}

impl ShardObjects {
    /// Returns the objects of a shard, given the folder of its run and its name.
    ///
    /// # Errors
    /// If the name is not the one of a shard.
    pub(crate) fn new(run: &Path, name: &str) -> Result<ShardObjects, StorageError> {
        match is_shard_name(name) {
            true => Ok(ShardObjects { folder: shards_of(run).join(name) }),
            false => Err(StorageError::ShardName { name: shown_name(name) }),
        }
    }

    /// Returns the object that exists if the shard is complete.
    pub(crate) fn manifest(&self) -> Path {
        self.folder.clone().join(MANIFEST_FILE)
    }

    /// Returns the folder of the other files, given the digest of the manifest.
    pub(crate) fn files(&self, manifest: &Digest) -> Path {
        self.folder.clone().join(manifest.short())
    }
}

/// Returns the folder of the shards, given the folder of their run.
pub(crate) fn shards_of(run: &Path) -> Path {
    run.clone().join(SHARDS_FOLDER)
}

/// Returns the object of a file, given its path in the run folder.
pub(crate) fn object_in(files: &Path, name: &str) -> Path {
    name.split('/').fold(files.clone(), |path, part| path.join(part))
}

/// Returns whether a name is the one of a shard, such as `03-of-16`.
pub(crate) fn is_shard_name(name: &str) -> bool {
    Shard::of_folder_name(name).is_some()
}

/// Checks the path of a file in a run folder: its parts are ordinary names.
///
/// # Errors
/// Description of the problem.
pub(crate) fn check_file_name(name: &str) -> Result<(), String> {
    if name == MANIFEST_FILE {
        return Err(format!("'{MANIFEST_FILE}' cannot hold its own digest"));
    }
    let mut parts = name.split('/');
    parts.try_for_each(|part| {
        check_name(part).map_err(|problem| format!("in '{}', {problem}", shown_name(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards_have_two_numbers_of_one_width() {
        for name in ["01-of-01", "03-of-16", "16-of-16", "007-of-256"] {
            assert!(is_shard_name(name), "{name}");
        }
        for name in [
            "",
            "3-of-16",
            "1-of-1",
            "17-of-16",
            "00-of-16",
            "+3-of-16",
            "03-of-16x",
            "003-of-16",
            ".03-of-16",
        ] {
            assert!(!is_shard_name(name), "{name}");
        }
    }

    #[test]
    fn files_cannot_leave_the_run_folder() {
        for name in ["samples.jsonl", "journal/000001.jsonl.zst", "media/0a.png"] {
            assert_eq!(check_file_name(name), Ok(()), "{name}");
        }
        for name in
            ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/.", "a\\b", "c:d", ".lock", "manifest.json"]
        {
            assert!(check_file_name(name).is_err(), "{name}");
        }
    }
}

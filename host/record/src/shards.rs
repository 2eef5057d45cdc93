//! The folders of the shards of a run.

use crate::RecordError;
use crate::format::MANIFEST_FILE;
use crate::shards_folder::{has_shards, shards_folder};
use gage_core::Shard;
use gage_core::foreign_file::{self, FileLimit};
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// File with the number of shards of a run.
const DIVISION_FILE: &str = ".division";
const DIVISION_LIMIT: FileLimit = FileLimit::new("a number of shards", 32);

/// The folder of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardFolder {
    /// The shard that its name states.
    pub shard: Shard,
    /// The run folder of the shard.
    pub path: PathBuf,
}

/// Returns the folders of a run's shards by number, whatever is in them. Empty if the run is not sharded.
///
/// # Errors
/// If the folder cannot be read, or has something else than shards.
pub fn shard_folders(run: &Path) -> Result<Vec<ShardFolder>, RecordError> {
    let root = shards_folder(run);
    if !has_shards(run) {
        return Ok(Vec::new());
    }
    let failed = |source| RecordError::io("read", &root, source);
    let mut found = Vec::new();
    for entry in fs::read_dir(&root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        // A shard that is being downloaded or deleted.
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        match Shard::of_folder_name(&name) {
            Some(shard) if kind.is_dir() => found.push(ShardFolder { shard, path }),
            Some(_) if kind.is_symlink() => {
                return Err(RecordError::invalid(&path, "it is a link; move the folder of the shard here"));
            }
            // A file of someone else, such as a log.
            None if kind.is_file() => {}
            _ => {
                let reason = "it is not the folder of a shard, such as 03-of-16; move it away";
                return Err(RecordError::invalid(&path, reason));
            }
        }
    }
    found.sort_by_key(|folder| (folder.shard.count(), folder.shard.number()));
    Ok(found)
}

/// Returns the folders below a folder of runs that have shards and no manifest, sorted by name: their shards are not merged.
/// Names that start with a dot are skipped.
///
/// # Errors
/// If the folder cannot be read.
pub fn unmerged_runs(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let has_manifest = || path.join(MANIFEST_FILE).symlink_metadata().is_ok();
        if !is_hidden && has_shards(&path) && !has_manifest() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Claims a run for the division of a shard: its folder of shards is created, and a file in it has the number of shards.
///
/// # Errors
/// If the run is divided otherwise, the folder of shards is a link, or the file system refuses.
pub fn claim_division(run: &Path, shard: Shard) -> Result<(), RecordError> {
    let root = shards_folder(run);
    if root.is_symlink() {
        let reason = "it is a link, and shards are not looked for outside of their run; link the folder of runs instead";
        return Err(RecordError::invalid(&root, reason));
    }
    check_division(run, shard)?;
    fs::create_dir_all(&root).map_err(|source| RecordError::io("create", &root, source))?;
    let marker = root.join(DIVISION_FILE);
    // The first process of every container has the same id, so that the name is random.
    let unique = RandomState::new().build_hasher().finish();
    let temporary = root.join(format!("{DIVISION_FILE}.{unique:016x}.tmp"));
    let failed = |source| RecordError::io("create", &marker, source);
    fs::write(&temporary, shard.count().to_string()).map_err(failed)?;
    // A link is created whole, and by one process only. The file then says who was first.
    let _ = fs::hard_link(&temporary, &marker);
    fs::remove_file(&temporary).map_err(failed)?;
    match foreign_file::read_below(&root, DIVISION_FILE, DIVISION_LIMIT) {
        // A file system without links has no protection from two divisions that start at the same moment.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        claimed => match String::from_utf8_lossy(&claimed.map_err(failed)?).trim() {
            claimed if claimed == shard.count().to_string() => Ok(()),
            claimed => Err(other_division(&root, claimed, shard)),
        },
    }
}

/// Checks that a run has no shards of another division than `shard`.
fn check_division(run: &Path, shard: Shard) -> Result<(), RecordError> {
    let other = shard_folders(run)?.into_iter().find(|folder| folder.shard.count() != shard.count());
    other.map_or(Ok(()), |other| Err(other_division(&other.path, &other.shard.count().to_string(), shard)))
}

fn other_division(path: &Path, count: &str, shard: Shard) -> RecordError {
    let reason = format!(
        "it belongs to a run of {count} shards, and this is shard {shard}; a run is divided once: use --shard K/{count}, or name \
         another run with --run-id"
    );
    RecordError::invalid(path, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    fn names(run: &Path) -> Vec<String> {
        shard_folders(run).unwrap().iter().map(|folder| folder.shard.folder_name()).collect()
    }

    #[test]
    fn shards_are_listed_by_number() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path();
        assert_eq!((has_shards(run), names(run)), (false, Vec::new()));
        for name in ["10-of-12", "02-of-12", ".03-of-12.partial"] {
            fs::create_dir_all(shards_folder(run).join(name)).unwrap();
        }
        assert_eq!((has_shards(run), names(run)), (true, vec!["02-of-12".to_owned(), "10-of-12".to_owned()]));
        fs::write(shards_folder(run).join("nohup.out"), "").unwrap();
        assert_eq!(names(run).len(), 2);
        fs::create_dir(shards_folder(run).join("copy of 02-of-12")).unwrap();
        let error = shard_folders(run).unwrap_err().recorded("run_folders");
        assert!(
            error.contains("copy of 02-of-12") && error.contains("it is not the folder of a shard"),
            "{error}"
        );
    }

    #[test]
    fn unmerged_runs_have_shards_and_no_manifest() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b", "a", "merged", ".deleted"] {
            fs::create_dir_all(shards_folder(&root.path().join(name)).join("01-of-02")).unwrap();
        }
        fs::create_dir(root.path().join("other")).unwrap();
        fs::write(root.path().join("merged").join(MANIFEST_FILE), "{}").unwrap();
        let expected = ["a", "b"].map(|name| root.path().join(name));
        assert_eq!(unmerged_runs(root.path()).unwrap(), expected);
    }

    /// The claims come from one process, as those of containers seem to: their first processes all have the same id.
    #[test]
    fn claims_at_the_same_moment_have_one_winner() {
        for _ in 0..20 {
            let root = tempfile::tempdir().unwrap();
            let claim = |count| claim_division(root.path(), Shard::new(1, count).unwrap());
            let claims: Vec<(u64, Result<(), RecordError>)> = std::thread::scope(|threads| {
                let started: Vec<_> = (0..16)
                    .map(|number| 2 + number % 2)
                    .map(|count| threads.spawn(move || (count, claim(count))))
                    .collect();
                started.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let mut won: Vec<u64> =
                claims.iter().filter(|(_, claim)| claim.is_ok()).map(|(count, _)| *count).collect();
            assert!(
                claims
                    .iter()
                    .all(|(_, claim)| claim.is_ok() || matches!(claim, Err(RecordError::Invalid { .. })))
            );
            won.sort_unstable();
            won.dedup();
            assert_eq!(won.len(), 1, "{claims:?}");
            assert_eq!(claims.iter().filter(|(_, claim)| claim.is_ok()).count(), 8);
        }
    }

    #[test]
    fn a_run_is_divided_only_once() {
        let root = tempfile::tempdir().unwrap();
        let shard = |number, count| Shard::new(number, count).unwrap();
        fs::create_dir_all(shards_folder(root.path()).join("02-of-16")).unwrap();
        claim_division(root.path(), shard(1, 16)).unwrap();
        claim_division(root.path(), shard(2, 16)).unwrap();
        let refusal = || claim_division(root.path(), shard(1, 8)).unwrap_err().recorded("run_folders");
        let error = refusal();
        assert!(error.contains("a run of 16 shards") && error.contains("shard 1/8"), "{error}");
        // Another process has claimed the run, and has not yet begun its shard.
        fs::remove_dir(shards_folder(root.path()).join("02-of-16")).unwrap();
        assert!(refusal().contains("a run of 16 shards"));
        assert_eq!(fs::read_dir(shards_folder(root.path())).unwrap().count(), 1);
    }
}

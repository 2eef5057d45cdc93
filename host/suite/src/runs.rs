//! The run folders below a folder: their contents, and which can be deleted.

use gage_record::{
    Manifest, MergeState, MissingManifest, RecordError, RunFolder, RunIdentity, RunReader, RunStatus,
    ShardState, ShardedRunFollower, shard_folders, unmerged_runs,
};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The main figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeadline {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// The value.
    pub value: f64,
    /// Number of further figures.
    pub further: usize,
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// The run folder.
    pub path: PathBuf,
    /// The manifest.
    pub manifest: Manifest,
    /// True if a process is writing to it, or to one of its shards.
    pub is_written: bool,
    /// State of the merge of its shards. `None` if it has no shards.
    pub merge: Option<MergeState>,
    /// The main figure, if the run has ended.
    pub headline: Option<RunHeadline>,
    /// Number of samples in its figures, if the run has ended.
    pub samples: Option<u64>,
    /// Total size of its files in bytes.
    pub bytes: u64,
}

/// The runs in a folder.
#[derive(Debug, Default)]
pub struct FoundRuns {
    /// The runs, oldest first.
    pub runs: Vec<RunEntry>,
    /// Run folders whose manifest is unreadable or missing, and the reason.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Runs whose shards are not merged, and how far they are.
    pub unmerged: Vec<(PathBuf, String)>,
}

/// Lists all runs in a folder.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn list(root: &Path) -> Result<FoundRuns, std::io::Error> {
    let mut found = FoundRuns::default();
    for file in std::fs::read_dir(root)? {
        let path = file?.path();
        if !RunFolder::has_manifest(&path) {
            if MissingManifest::of(&path) == MissingManifest::Lost {
                let lost = RecordError::NotARunFolder { path: path.clone() };
                found.unreadable.push((path, lost.to_string()));
            }
            continue;
        }
        match RunReader::open(&path) {
            Ok(run) => {
                let summary: Option<Value> = run.summary().ok().flatten();
                let shards = ShardUse::of(&run);
                found.runs.push(RunEntry {
                    is_written: RunFolder::is_being_written(&path) || shards.is_written,
                    merge: shards.merge,
                    headline: summary.as_ref().and_then(headline),
                    samples: summary.as_ref().and_then(|summary| summary["samples"]["total"].as_u64()),
                    bytes: RunFolder::bytes_below(&path),
                    manifest: run.manifest().clone(),
                    path,
                });
            }
            Err(error) => found.unreadable.push((path, error.to_string())),
        }
    }
    found.runs.sort_by(|one, other| {
        (&one.manifest.created_at, &one.path).cmp(&(&other.manifest.created_at, &other.path))
    });
    found.unreadable.sort();
    for path in unmerged_runs(root)? {
        match ShardedRunFollower::of_states(&path).read() {
            Ok(run) => found.unmerged.push((path, run.state())),
            Err(error) => found.unreadable.push((path, error.to_string())),
        }
    }
    Ok(found)
}

/// Use of the shards of a run that has a manifest.
#[derive(Default)]
struct ShardUse {
    is_written: bool,
    merge: Option<MergeState>,
}

impl ShardUse {
    fn of(run: &RunReader) -> ShardUse {
        // Shards that were deleted after the merge are not in use.
        if shard_folders(run.path()).is_ok_and(|shards| shards.is_empty()) {
            return ShardUse::default();
        }
        match ShardedRunFollower::of_states(run.path()).read() {
            Ok(found) => ShardUse {
                is_written: found.shards.iter().any(|shard| shard.state == ShardState::Running),
                merge: Some(found.merge),
            },
            Err(error) => {
                ShardUse { is_written: false, merge: Some(MergeState::Unreadable(error.to_string())) }
            }
        }
    }
}

impl RunEntry {
    /// Returns the reason why a run is needed for itself: something writes to it, or its shards have what the run lacks.
    fn kept_reason(&self) -> Option<&'static str> {
        match &self.merge {
            _ if self.is_written => Some("a process writes to it"),
            None | Some(MergeState::Merged) => None,
            Some(MergeState::Outdated) => {
                Some("its shards have changed since they were merged; merge them again first")
            }
            Some(_) => Some("its shards are not fully merged; delete its folder if it is not needed"),
        }
    }
}

/// Returns the manifest of the newest unfinished run with an accepted identity that no process is writing to. Unreadable
/// manifests are skipped.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn newest_unfinished(
    root: &Path,
    accepts: impl Fn(&RunIdentity) -> bool,
) -> Result<Option<Manifest>, std::io::Error> {
    let mut newest: Option<Manifest> = None;
    for file in std::fs::read_dir(root)? {
        let path = file?.path();
        let Ok(manifest) = Manifest::read(&path) else { continue };
        let is_later = newest.as_ref().is_none_or(|newest| newest.created_at < manifest.created_at);
        // The shards of a merged run are continued one by one.
        let is_whole = manifest.parent_run.is_none() && manifest.shards.is_empty();
        let is_unfinished = manifest.status != RunStatus::Complete && is_whole;
        let is_own = path.file_name().is_some_and(|name| *name == *manifest.run_id);
        if is_later
            && is_unfinished
            && is_own
            && accepts(&manifest.identity)
            && !RunFolder::is_being_written(&path)
        {
            newest = Some(manifest);
        }
    }
    Ok(newest)
}

fn headline(summary: &Value) -> Option<RunHeadline> {
    let figures = summary["metrics"].as_array()?;
    let first = figures.iter().find(|figure| figure["value"].is_number())?;
    let text = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
    Some(RunHeadline {
        task_id: text("task_id"),
        metric_id: text("metric_id"),
        value: first["value"].as_f64()?,
        further: figures.len() - 1,
    })
}

/// A run chosen for deletion.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The run.
    pub run: RunEntry,
    /// The reason why it is kept, or `None` if it can be deleted.
    pub kept_reason: Option<String>,
}

/// Returns the runs that `is_kept` does not keep, and whether each can be deleted. A run stays if a process is writing to it, or
/// if a kept run was scored from its answers. So does a run whose shards are not fully merged, or have changed since. `is_kept`
/// is called for each run, with its index from the newest, which is 0.
pub fn leftovers(runs: &[RunEntry], is_kept: impl Fn(usize, &RunEntry) -> bool) -> Vec<Deletion> {
    let (mut kept, mut chosen) = (Vec::new(), Vec::new());
    for (number, run) in runs.iter().rev().enumerate() {
        match is_kept(number, run) {
            true => kept.push(run),
            false => chosen.push(run),
        }
    }
    kept.extend(chosen.iter().copied().filter(|run| run.kept_reason().is_some()));
    let needed: HashSet<&str> = kept.iter().filter_map(|run| run.manifest.parent_run.as_deref()).collect();
    let judge = |run: &RunEntry| {
        let is_needed = needed.contains(run.manifest.run_id.as_str());
        let of_child = is_needed.then_some("a run that stays was scored from its answers");
        Deletion { kept_reason: run.kept_reason().or(of_child).map(str::to_owned), run: run.clone() }
    };
    chosen.into_iter().rev().map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::{ROWS_PER_BATCH, Shard};
    use gage_record::{MergedShard, ShardOfRun, shards_folder};
    use serde_json::json;

    const FIRST: &str = "2026-01-01T00:00:00Z";
    const SECOND: &str = "2026-01-02T00:00:00Z";

    fn identity(threads: u64, context_length: u64) -> RunIdentity {
        let settings = json!({"threads": threads, "context_length": context_length});
        let config =
            json!({"metadata": {"name": "s"}, "backends": [{"backend_id": "b", "config": settings}]});
        RunIdentity { config, ..RunIdentity::default() }
    }

    /// Creates a run that started at a given time. A process is writing to it until its folder is dropped.
    fn begin(root: &Path, run_id: &str, created_at: &str, status: RunStatus) -> RunFolder {
        let folder = RunFolder::create(root, run_id).unwrap();
        let mut manifest = Manifest::new(run_id, "0.1.0", identity(2, 512));
        manifest.created_at = created_at.to_owned();
        manifest.status = status;
        manifest.write(&folder).unwrap();
        folder
    }

    fn derive(folder: &RunFolder, parent: &str) {
        let mut manifest = Manifest::read(folder.path()).unwrap();
        manifest.parent_run = Some(parent.to_owned());
        manifest.write(folder).unwrap();
    }

    #[test]
    fn the_newest_unfinished_run_of_the_same_settings_is_found() {
        let root = tempfile::tempdir().unwrap();
        let find = |wanted: &RunIdentity| {
            let found = newest_unfinished(root.path(), |identity| identity.is_same_suite(wanted)).unwrap();
            found.map(|manifest| manifest.run_id)
        };
        assert_eq!(find(&identity(2, 512)), None);
        drop(begin(root.path(), "old", FIRST, RunStatus::Running));
        drop(begin(root.path(), "done", SECOND, RunStatus::Complete));
        derive(&begin(root.path(), "scored", SECOND, RunStatus::Interrupted), "old");
        let written = begin(root.path(), "written", SECOND, RunStatus::Running);
        assert_eq!(find(&identity(2, 512)).as_deref(), Some("old"));
        assert_eq!(find(&identity(64, 512)).as_deref(), Some("old"), "threads change no number");
        assert_eq!(find(&identity(2, 256)), None, "the context does");
        drop(written);
        assert_eq!(find(&identity(2, 512)).as_deref(), Some("written"));
        std::fs::rename(root.path().join("written"), root.path().join("renamed")).unwrap();
        assert_eq!(find(&identity(2, 512)).as_deref(), Some("old"), "a renamed folder is not resumed");
    }

    #[test]
    fn runs_whose_answers_are_needed_or_that_are_written_stay() {
        let root = tempfile::tempdir().unwrap();
        drop(begin(root.path(), "answers", FIRST, RunStatus::Complete));
        derive(&begin(root.path(), "scored", SECOND, RunStatus::Complete), "answers");
        drop(begin(root.path(), "free", FIRST, RunStatus::Complete));
        let _written = begin(root.path(), "written", FIRST, RunStatus::Running);
        std::fs::create_dir(root.path().join("other")).unwrap();
        let found = list(root.path()).unwrap();
        assert_eq!((found.runs.len(), found.unreadable.len()), (4, 0));
        let deletions = leftovers(&found.runs, |_, run| run.manifest.run_id == "scored");
        let stays = |run_id: &str| {
            let deletion = deletions.iter().find(|one| one.run.manifest.run_id == run_id).unwrap();
            deletion.kept_reason.clone().unwrap_or_default()
        };
        assert_eq!(deletions.len(), 3);
        assert_eq!(stays("answers"), "a run that stays was scored from its answers");
        assert_eq!(stays("written"), "a process writes to it");
        assert_eq!(stays("free"), "");
    }

    /// Creates a shard that has ended. A process is writing to it until its folder is dropped.
    fn shard(root: &Path, run_id: &str, number: u64) -> RunFolder {
        let shard = Shard::new(number, 2).unwrap();
        let shards = shards_folder(&root.join(run_id));
        let folder = begin(&shards, &shard.folder_name(), FIRST, RunStatus::Complete);
        let mut manifest = Manifest::read(folder.path()).unwrap();
        manifest.shard = Some(ShardOfRun {
            run_id: run_id.to_owned(),
            number,
            count: shard.count(),
            rows_per_batch: ROWS_PER_BATCH,
            max_samples: None,
            tasks: Vec::new(),
        });
        manifest.write(&folder).unwrap();
        folder
    }

    /// Merges the shards of a run, as far as its manifest shows. Each shard lacked `missing` records.
    fn merge(root: &Path, run_id: &str, status: RunStatus, missing: u64) {
        let folder = RunFolder::create_merged(root, run_id).unwrap();
        let mut manifest = Manifest::new(run_id, "0.1.0", identity(2, 512));
        manifest.status = status;
        manifest.shards = Shard::all(2)
            .map(|shard| {
                let found = Manifest::read(&shards_folder(folder.path()).join(shard.folder_name())).unwrap();
                let digest = Some(found.shard_digest().to_string());
                MergedShard {
                    number: shard.number(),
                    digest,
                    missing: Some(missing),
                    ..MergedShard::default()
                }
            })
            .collect();
        manifest.write(&folder).unwrap();
    }

    #[test]
    fn runs_whose_shards_are_in_use_or_newer_stay() {
        let root = tempfile::tempdir().unwrap();
        for run_id in ["merged", "running", "newer"] {
            (1..=2).for_each(|number| drop(shard(root.path(), run_id, number)));
            merge(root.path(), run_id, RunStatus::Incomplete, 0);
        }
        drop(shard(root.path(), "unmerged", 1));
        let of_running = shards_folder(&root.path().join("running"));
        let folder = RunFolder::resume(&of_running, "01-of-02").unwrap();
        let mut manifest = Manifest::read(folder.path()).unwrap();
        manifest.reopen();
        manifest.write(&folder).unwrap();
        let of_newer = RunFolder::resume(&shards_folder(&root.path().join("newer")), "02-of-02").unwrap();
        let mut manifest = Manifest::read(of_newer.path()).unwrap();
        manifest.ended_by = Some("max_cost 1: 2 was spent".to_owned());
        manifest.write(&of_newer).unwrap();
        drop(of_newer);

        let found = list(root.path()).unwrap();
        assert_eq!((found.runs.len(), found.unreadable.len()), (3, 0));
        let unmerged = vec![(root.path().join("unmerged"), "1 of 2 shards done".to_owned())];
        assert_eq!(found.unmerged, unmerged);
        let deletions = leftovers(&found.runs, |_, _| false);
        let stays = |run_id: &str| {
            let deletion = deletions.iter().find(|one| one.run.manifest.run_id == run_id).unwrap();
            deletion.kept_reason.clone().unwrap_or_default()
        };
        assert_eq!(stays("merged"), "");
        assert_eq!(stays("running"), "a process writes to it");
        assert_eq!(stays("newer"), "its shards have changed since they were merged; merge them again first");
        // Such a run is not resumed as a whole.
        assert_eq!(newest_unfinished(root.path(), |_| true).unwrap(), None);
        let refused = RunFolder::delete(&root.path().join("running")).unwrap_err().to_string();
        assert!(
            refused.contains("another process is writing to") && refused.contains("01-of-02"),
            "{refused}"
        );
        drop(folder);
        RunFolder::delete(&root.path().join("running")).unwrap();
    }

    #[test]
    fn runs_whose_shards_are_not_fully_merged_stay() {
        let root = tempfile::tempdir().unwrap();
        for (run_id, status, missing) in [
            ("merged", RunStatus::Complete, 0),
            ("killed", RunStatus::Running, 0),
            ("stopped", RunStatus::Interrupted, 0),
            ("partial", RunStatus::Incomplete, 4),
            ("divided", RunStatus::Complete, 0),
            ("emptied", RunStatus::Complete, 0),
        ] {
            (1..=2).for_each(|number| drop(shard(root.path(), run_id, number)));
            merge(root.path(), run_id, status, missing);
        }
        drop(begin(root.path(), "undivided", FIRST, RunStatus::Complete));
        drop(shard(root.path(), "undivided", 1));
        let shards_of = |run_id: &str| shards_folder(&root.path().join(run_id));
        std::fs::create_dir(shards_of("divided").join("01-of-03")).unwrap();
        for name in ["01-of-02", "02-of-02"] {
            std::fs::remove_dir_all(shards_of("emptied").join(name)).unwrap();
        }

        let found = list(root.path()).unwrap();
        assert_eq!((found.runs.len(), found.unreadable.len()), (7, 0));
        let unfinished = |_: usize, run: &RunEntry| run.manifest.status == RunStatus::Complete;
        let chosen: Vec<String> =
            leftovers(&found.runs, unfinished).into_iter().filter_map(|one| one.kept_reason).collect();
        let reason = "its shards are not fully merged; delete its folder if it is not needed";
        assert_eq!(chosen, [reason; 3]);
        let deletions = leftovers(&found.runs, |_, _| false);
        for deletion in &deletions {
            let run_id = deletion.run.manifest.run_id.as_str();
            let expected = (!matches!(run_id, "merged" | "emptied")).then_some(reason);
            assert_eq!(deletion.kept_reason.as_deref(), expected, "{run_id}");
        }
        assert_eq!(deletions.len(), 7);
    }
}

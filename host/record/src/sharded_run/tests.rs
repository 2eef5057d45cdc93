//! Tests with real run folders as shards.

use super::*;
use crate::sample_record::tests::record;
use crate::{
    JournalWriter, Manifest, MergedShard, RunFolder, RunIdentity, RunStatus, ShardOfRun, ShardedTask,
    shards_folder,
};
use gage_core::{Outcome, ROWS_PER_BATCH, Shard};
use gage_recorded_messages::RecordedError as _;
use serde_json::json;
use std::fs;
use std::path::Path;

const COUNT: u64 = 12;
/// Each shard has two batches, except for the last one, which has one.
const TOTAL: u64 = (2 * COUNT - 1) * ROWS_PER_BATCH;

/// Starts a shard. A process is writing to it until its folder is dropped.
fn begin(run: &Path, number: u64) -> (RunFolder, Manifest) {
    let shard = Shard::new(number, COUNT).unwrap();
    let folder = RunFolder::create(&shards_folder(run), &shard.folder_name()).unwrap();
    let config = json!({"metadata": {"name": "sums"}, "tasks": [{"task_id": "t"}]});
    let identity = RunIdentity { config, ..RunIdentity::default() };
    let mut manifest = Manifest::new(&shard.folder_name(), "0.1.0", identity);
    manifest.created_at = format!("2026-01-01T00:00:{number:02}Z");
    manifest.shard = Some(ShardOfRun {
        run_id: "nightly".to_owned(),
        number,
        count: COUNT,
        rows_per_batch: ROWS_PER_BATCH,
        max_samples: None,
        tasks: vec![ShardedTask { task_id: "t".to_owned(), records: None }],
    });
    manifest.write(&folder).unwrap();
    (folder, manifest)
}

/// Appends records; the last one has failed.
fn append(folder: &RunFolder, count: u64) {
    let mut records: Vec<_> = (0..count).map(|index| record("t", index, "a")).collect();
    records.last_mut().unwrap().outcome = Outcome::BackendError;
    JournalWriter::open(folder).unwrap().writer.append_whole(&records).unwrap();
}

/// Ends a shard that has read its data to the end.
fn end(folder: &RunFolder, manifest: &mut Manifest, status: RunStatus) {
    manifest.shard.as_mut().unwrap().tasks[0].records = Some(TOTAL);
    manifest.finish(status);
    manifest.write(folder).unwrap();
}

fn done(run: &Path, number: u64) {
    let (folder, mut manifest) = begin(run, number);
    end(&folder, &mut manifest, RunStatus::Complete);
}

/// Writes the manifest of a run that was merged from its shards, as they are now.
fn merge(run: &Path, missing: Option<u64>, status: RunStatus) {
    let folder = RunFolder::create_merged(run.parent().unwrap(), "nightly").unwrap();
    let mut manifest = Manifest::new("nightly", "0.1.0", RunIdentity::default());
    let merged = |shard: Shard| {
        let of_shard = Manifest::read(&shards_folder(run).join(shard.folder_name()));
        let digest = of_shard.map(|manifest| manifest.shard_digest().to_string()).ok();
        MergedShard { number: shard.number(), digest, missing, ..MergedShard::default() }
    };
    manifest.shards = Shard::all(COUNT).map(merged).collect();
    manifest.status = status;
    manifest.write(&folder).unwrap();
}

#[test]
fn each_shard_has_its_state() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("nightly");
    done(&run, 1);
    let (running, _) = begin(&run, 2);
    append(&running, 5);
    let (folder, _) = begin(&run, 3);
    append(&folder, 3);
    drop(folder);
    let (folder, mut manifest) = begin(&run, 4);
    manifest.ended_by = Some("max_cost 2: 2.1 was spent".to_owned());
    end(&folder, &mut manifest, RunStatus::Incomplete);
    drop(folder);
    let (folder, mut manifest) = begin(&run, 5);
    end(&folder, &mut manifest, RunStatus::Interrupted);
    drop(folder);
    let (folder, mut manifest) = begin(&run, 6);
    manifest.finish(RunStatus::Incomplete);
    manifest.write(&folder).unwrap();
    drop(folder);
    // It is just being started.
    fs::create_dir_all(shards_folder(&run).join("07-of-12/journal")).unwrap();
    let path = begin(&run, 8).0.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("sums", "differences")).unwrap();
    let (folder, mut manifest) = begin(&run, 9);
    manifest.shard.as_mut().unwrap().run_id = "weekly".to_owned();
    manifest.write(&folder).unwrap();
    drop(folder);
    let (folder, mut manifest) = begin(&run, 10);
    manifest.shard = None;
    manifest.write(&folder).unwrap();
    drop(folder);
    let journal = "journal/000001.jsonl";
    let path = begin(&run, 11).0.path_of(journal);
    fs::copy(running.path_of(journal), path).unwrap();

    let found = ShardedRunFollower::new(&run).read().unwrap();
    let expected = [
        (ShardState::Done, "", Some(64), None),
        (ShardState::Running, "", Some(5), Some(1)),
        (ShardState::Stopped, "it was killed", Some(3), Some(1)),
        (ShardState::Stopped, "max_cost 2: 2.1 was spent", Some(0), Some(0)),
        (ShardState::Stopped, "", Some(0), Some(0)),
        (ShardState::Stopped, "it ended before its last row", Some(0), Some(0)),
        (ShardState::NotStarted, "", Some(0), None),
        (ShardState::Unreadable, "its manifest cannot be trusted: it was edited", None, None),
        (ShardState::Unreadable, "it is a shard of the run `weekly`", None, None),
        (ShardState::Unreadable, "it is a whole run", None, None),
        (ShardState::Unreadable, "000001.jsonl belongs to another journal: it has the", None, None),
        (ShardState::NotStarted, "", Some(0), None),
    ];
    assert_eq!(found.shards.len(), expected.len());
    for (shard, (state, reason, recorded, failed)) in found.shards.iter().zip(expected) {
        assert_eq!((shard.state, shard.recorded, shard.failed), (state, recorded, failed), "{shard:?}");
        let said = shard.reason.as_deref().unwrap_or_default();
        assert!(said.contains(reason) && said.is_empty() == reason.is_empty(), "{shard:?}");
        assert_eq!(shard.planned, Some(if shard.number == COUNT { 32 } else { 64 }));
    }
    assert_eq!((found.suite.as_deref(), found.run_id.as_str()), (Some("sums"), "nightly"));
    assert_eq!(found.created_at.as_deref(), Some("2026-01-01T00:00:01Z"));
    assert_eq!(found.state(), "1 of 12 shards done");
    assert!(!found.is_done() && !found.has_ended());
    assert!(
        found.summary().starts_with(
            "1 of 12 shards is done, 1 runs, 4 were stopped, 2 were not started, 4 cannot be read: 72 of 736 samples; 2 failed"
        ),
        "{}",
        found.summary()
    );
}

#[test]
fn later_readings_see_what_is_new() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("nightly");
    let (folder, mut manifest) = begin(&run, 1);
    let mut follower = ShardedRunFollower::new(&run);
    let mut read = || {
        let found = follower.read().unwrap();
        let ShardStatus { state, recorded, planned, .. } = found.shards[0].clone();
        (state, recorded, planned)
    };
    assert_eq!(read(), (ShardState::Running, Some(0), None));
    append(&folder, 7);
    assert_eq!(read(), (ShardState::Running, Some(7), None));
    drop(folder);
    assert_eq!(read(), (ShardState::Stopped, Some(7), None));
    let folder = RunFolder::resume(&shards_folder(&run), "01-of-12").unwrap();
    append(&folder, 9);
    assert_eq!(read(), (ShardState::Running, Some(9), None));
    end(&folder, &mut manifest, RunStatus::Complete);
    assert_eq!(read(), (ShardState::Done, Some(64), Some(64)));
    // The journals are not read.
    let states = ShardedRunFollower::of_states(&run).read().unwrap();
    assert_eq!((states.shards[0].recorded, states.shards[1].recorded), (Some(64), None));
    drop(folder);
    fs::remove_dir_all(shards_folder(&run).join("01-of-12")).unwrap();
    let (folder, _) = begin(&run, 1);
    append(&folder, 2);
    assert_eq!(read(), (ShardState::Running, Some(2), Some(64)));
    drop(folder);
    fs::remove_dir_all(shards_folder(&run).join("01-of-12")).unwrap();
    let (folder, _) = begin(&run, 1);
    append(&folder, 3);
    assert_eq!(read(), (ShardState::Running, Some(3), Some(64)), "it was begun again");
    drop(folder);
    fs::remove_dir_all(shards_folder(&run).join("01-of-12")).unwrap();
    fs::create_dir(shards_folder(&run).join("02-of-12")).unwrap();
    assert_eq!(read(), (ShardState::NotStarted, Some(0), Some(64)));
}

#[test]
fn a_merged_run_is_as_new_as_its_shards() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("nightly");
    (1..=COUNT).for_each(|number| done(&run, number));
    let mut follower = ShardedRunFollower::new(&run);
    let state = |follower: &mut ShardedRunFollower| follower.read().unwrap().merge;
    assert_eq!(state(&mut follower), MergeState::NotMerged);
    for (missing, status, expected) in [
        (Some(0), RunStatus::Complete, MergeState::Merged),
        (Some(0), RunStatus::Running, MergeState::Stopped),
        (Some(3), RunStatus::Incomplete, MergeState::Partial),
        (None, RunStatus::Incomplete, MergeState::Partial),
    ] {
        merge(&run, missing, status);
        assert_eq!(state(&mut follower), expected, "{missing:?} {status:?}");
    }
    merge(&run, Some(0), RunStatus::Complete);
    let folder = RunFolder::resume(&shards_folder(&run), "03-of-12").unwrap();
    let mut manifest = Manifest::read(folder.path()).unwrap();
    manifest.reopen();
    manifest.write(&folder).unwrap();
    assert_eq!(state(&mut follower), MergeState::Outdated);
    drop(folder);
    let merging = RunFolder::create_merged(root.path(), "nightly").unwrap();
    assert_eq!(state(&mut follower), MergeState::Running);
    Manifest::new("nightly", "0.1.0", RunIdentity::default()).write(&merging).unwrap();
    drop(merging);
    let unmerged = follower.read().unwrap();
    assert!(
        unmerged.merge_summary().contains("it was not merged from shards"),
        "{}",
        unmerged.merge_summary()
    );
}

/// The merged run has the records of the shards whose folders are gone.
#[test]
fn merged_run_does_not_need_its_shards() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("nightly");
    let folder_of = |number: u64| shards_folder(&run).join(Shard::new(number, COUNT).unwrap().folder_name());
    let read = || ShardedRunFollower::new(&run).read().unwrap();
    for (missing, status, expected, summary) in [
        (
            Some(0),
            RunStatus::Complete,
            MergeState::Merged,
            "the shards are merged; 2 shard folders were deleted",
        ),
        (
            Some(3),
            RunStatus::Incomplete,
            MergeState::Partial,
            "; 2 shard folders were deleted, and must be restored before",
        ),
    ] {
        (1..=COUNT).filter(|number| !folder_of(*number).exists()).for_each(|number| done(&run, number));
        merge(&run, missing, status);
        for number in [2, 12] {
            fs::remove_dir_all(folder_of(number)).unwrap();
        }
        let found = read();
        assert_eq!((&found.merge, found.totals().deleted, found.is_done()), (&expected, 2, false));
        assert_eq!((found.shards[1].state, found.shards[2].state), (ShardState::Deleted, ShardState::Done));
        assert!(found.has_ended() && found.merge_summary().ends_with(summary), "{}", found.merge_summary());
        assert!(
            found.summary().starts_with("10 of 12 shards are done, 2 were deleted: "),
            "{}",
            found.summary()
        );
    }
    // A shard that was begun anew is not the one that was merged.
    done(&run, 2);
    fs::write(folder_of(2).join("manifest.json"), "{}").unwrap();
    assert_eq!(read().merge, MergeState::Outdated);
    fs::remove_dir_all(shards_folder(&run)).unwrap();
    let found = read();
    assert_eq!((found.merge, found.shards.len()), (MergeState::Partial, 12));
    assert!(found.shards.iter().all(|shard| shard.state == ShardState::Deleted));
}

#[test]
fn folders_that_are_no_sharded_run_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("nightly");
    let refused = || ShardedRunFollower::new(&run).read().unwrap_err().recorded("run_folders");
    assert!(refused().contains("it has no folder of a shard"));
    done(&run, 1);
    fs::create_dir(shards_folder(&run).join("02-of-16")).unwrap();
    let error = refused();
    assert!(error.contains("shards of two divisions, 1/12 and 2/16"), "{error}");
}

#[test]
fn equal_neighbours_are_one_row() {
    let shard = |number, state| ShardStatus {
        recorded: Some(10),
        changed_unix_ms: Some(number),
        ..ShardStatus::new(Shard::new(number, 20).unwrap(), state)
    };
    let states =
        [(1..=9, ShardState::Done), (10..=15, ShardState::Running), (16..=20, ShardState::NotStarted)];
    let shards =
        states.into_iter().flat_map(|(numbers, state)| numbers.map(move |number| shard(number, state)));
    let mut run = ShardedRun {
        run_id: "nightly".to_owned(),
        suite: None,
        models: Vec::new(),
        created_at: None,
        merge: MergeState::NotMerged,
        shards: shards.collect(),
    };
    let ends = |rows: &[ShardRow]| rows.iter().map(|row| (row.shard.number, row.last)).collect::<Vec<_>>();
    let running = (10..=15).map(|number| (number, number));
    let expected: Vec<_> = [(1, 9)].into_iter().chain(running).chain([(16, 20)]).collect();
    let rows = run.rows(3);
    assert_eq!(ends(&rows), expected);
    assert_eq!((rows[0].shard.recorded, rows[0].shard.changed_unix_ms), (Some(90), Some(9)));
    assert_eq!((ends(&run.rows(6)).len(), run.rows(usize::MAX).len()), (12, 20));
    // A failed one has its own row.
    run.shards[4].state = ShardState::Stopped;
    run.shards[4].reason = Some("it was killed".to_owned());
    assert_eq!(ends(&run.rows(3))[..3], [(1, 4), (5, 5), (6, 9)]);
}

//! A shard of a run: what its manifest says, and whether it belongs to the others.

use super::context::RunOptions;
use crate::plan::Plan;
use crate::run_error::RunError;
use gage_core::{ROWS_PER_BATCH, Shard};
use gage_record::{Manifest, RunIdentity, ShardOfRun, ShardedTask, shard_folders};
use std::path::Path;

/// Describes the shard that starts, for its manifest. `None` for a whole run.
pub(super) fn shard_of_run(plan: &Plan, options: &RunOptions) -> Option<ShardOfRun> {
    let (shard, run_id) = options.shard.as_ref()?;
    let task = |task_id: &String| ShardedTask { task_id: task_id.clone(), records: None };
    Some(ShardOfRun {
        run_id: run_id.clone(),
        number: shard.number(),
        count: shard.count(),
        rows_per_batch: ROWS_PER_BATCH,
        max_samples: options.max_samples,
        tasks: plan.tasks.iter().map(|planned| task(&planned.spec.task_id)).collect(),
    })
}

/// Refuses to write another part of a run into a folder than is there.
pub(super) fn check_shard(manifest: &Manifest, wanted: Option<ShardOfRun>) -> Result<(), RunError> {
    let same = |shard: ShardOfRun| ShardOfRun { max_samples: None, ..shard.without_records() };
    let found = manifest.shard.clone().map(same);
    if found == wanted.clone().map(same) {
        return Ok(());
    }
    let difference = difference(found.as_ref(), wanted.as_ref());
    Err(RunError::OtherShard { run_id: manifest.run_id.clone(), difference })
}

/// Refuses to start a shard if another shard of the run was made from other inputs, because the two could not be merged. `root`
/// is the folder of all shards.
pub(super) fn check_other_shards(
    root: &Path,
    shard: Option<&ShardOfRun>,
    identity: &RunIdentity,
) -> Result<(), RunError> {
    let (Some(shard), Some(run)) = (shard, root.parent()) else { return Ok(()) };
    // Each of the others was compared when it started, so one is enough. What cannot be read is refused by the merge.
    let others = shard_folders(run)?.into_iter();
    let found = others.filter_map(|folder| Some((folder.shard, Manifest::read(&folder.path).ok()?)));
    match found.into_iter().find(|(other, _)| Some(*other) != shard.shard()) {
        Some((other, manifest)) => check_same_inputs(&manifest, other, shard, identity),
        None => Ok(()),
    }
}

/// Refuses a shard if another shard of the run, which is not in a folder beside it, was made from other inputs.
pub(super) fn check_shard_elsewhere(
    manifest: Option<&Manifest>,
    shard: Option<&ShardOfRun>,
    identity: &RunIdentity,
) -> Result<(), RunError> {
    let (Some(manifest), Some(shard)) = (manifest, shard) else { return Ok(()) };
    match manifest.shard.as_ref().and_then(ShardOfRun::shard) {
        Some(other) => check_same_inputs(manifest, other, shard, identity),
        // The merge refuses what is no shard.
        None => Ok(()),
    }
}

/// Compares the inputs of another shard, which has this manifest, with those of a shard.
fn check_same_inputs(
    manifest: &Manifest,
    other: Shard,
    shard: &ShardOfRun,
    identity: &RunIdentity,
) -> Result<(), RunError> {
    let mut differences = manifest.identity.differences(identity);
    let limit = |shard: &ShardOfRun| shard.max_samples.map_or("none".to_owned(), |most| most.to_string());
    if let Some(before) = manifest.shard.as_ref().filter(|before| before.max_samples != shard.max_samples) {
        differences.push(format!("--max-samples: {} before, {} now", limit(before), limit(shard)));
    }
    match differences.is_empty() {
        true => Ok(()),
        false => Err(RunError::OtherInputs { other, differences }),
    }
}

/// Describes how the part of a run in a folder differs from the one to be written.
fn difference(found: Option<&ShardOfRun>, wanted: Option<&ShardOfRun>) -> String {
    let tasks = |shard: &ShardOfRun| {
        shard.tasks.iter().map(|task| task.task_id.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (found, wanted) {
        (Some(found), Some(wanted)) if is_same_part(found, wanted) => format!(
            "the suite had its tasks in another order: {} before, and {} now",
            tasks(found),
            tasks(wanted)
        ),
        _ => format!("it is {}, and {} was to be written", part_of_run(found), part_of_run(wanted)),
    }
}

/// Returns whether two shards differ at most in their tasks.
fn is_same_part(one: &ShardOfRun, other: &ShardOfRun) -> bool {
    let part = |shard: &ShardOfRun| (shard.run_id.clone(), shard.number, shard.count, shard.rows_per_batch);
    part(one) == part(other)
}

/// Describes what a run folder holds.
fn part_of_run(shard: Option<&ShardOfRun>) -> String {
    shard.map_or_else(
        || "a whole run".to_owned(),
        |ShardOfRun { run_id, number, count, .. }| format!("shard {number}/{count} of the run `{run_id}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_record::RunIdentity;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn a_folder_is_resumed_only_as_the_shard_that_it_is() {
        let shard = |number| {
            let tasks = ["a", "b"].map(|task_id| ShardedTask { task_id: task_id.to_owned(), records: None });
            let (run_id, rows_per_batch, tasks) = ("run".to_owned(), ROWS_PER_BATCH, tasks.into());
            Some(ShardOfRun { run_id, number, count: 4, rows_per_batch, max_samples: None, tasks })
        };
        let reordered = shard(3).map(|mut shard| {
            shard.tasks.reverse();
            shard
        });
        for (found, wanted, expected) in [
            (None, None, None),
            (shard(3), shard(3), None),
            (
                shard(3),
                shard(2),
                Some("it is shard 3/4 of the run `run`, and shard 2/4 of the run `run` was to be written"),
            ),
            (
                shard(3),
                reordered,
                Some("the suite had its tasks in another order: a, b before, and b, a now"),
            ),
            (shard(3), None, Some("it is shard 3/4 of the run `run`, and a whole run was to be written")),
            (None, shard(3), Some("it is a whole run, and shard 3/4 of the run `run` was to be written")),
        ] {
            let mut manifest = Manifest::new("03-of-04", "0.1.0", RunIdentity::default());
            manifest.shard = found.clone();
            // Known once the dataset was read.
            let tasks = manifest.shard.iter_mut().flat_map(|shard| &mut shard.tasks);
            tasks.for_each(|task| task.records = Some(7));
            let shown = format!("{found:?} {wanted:?}");
            let error = check_shard(&manifest, wanted).err();
            let message = error.map(|error| error.recorded("shards"));
            assert_eq!(message.is_some(), expected.is_some(), "{shown}");
            assert!(message.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }
}

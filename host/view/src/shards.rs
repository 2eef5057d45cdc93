//! How far the shards of a run are, for its page.

use crate::listing::{error_text, without_folder};
use crate::refusal::Refusal;
use crate::root::{RunsRoot, name_of_shard};
use gage_core::Shard;
use gage_record::{MergeState, ShardRow, ShardedRun, ShardedRunFollower, unix_milliseconds};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Readers of one run within this time get the same snapshot.
const MAX_SNAPSHOT_AGE: Duration = Duration::from_millis(500);

/// Maximum number of sharded runs followed at once. The samples of their running shards are counted, which takes memory.
const MAX_FOLLOWED_RUNS: usize = 4;

/// Maximum number of shards that have a row each. Of more, equal neighbours are one row.
const MAX_SINGLE_ROWS: usize = 200;

/// Minimum number of equal neighbours that are one row.
const MIN_FOLDED_SHARDS: usize = 8;

/// Followers of sharded runs: one for each run, regardless of its number of readers.
#[derive(Debug, Default)]
pub(crate) struct ShardFollowers {
    /// The run that was used last is the last one.
    slots: Mutex<Vec<Arc<FollowedShards>>>,
}

#[derive(Debug)]
struct FollowedShards {
    folder: PathBuf,
    /// Held while the shards are read. Readers of other runs do not wait for it.
    reader: Mutex<ShardReader>,
}

#[derive(Debug)]
struct ShardReader {
    follower: ShardedRunFollower,
    last: Option<(Instant, Arc<str>)>,
}

impl ShardFollowers {
    /// Returns the current state of the shards in a folder, as JSON. The first call may read much of their journals.
    ///
    /// # Errors
    /// When the folder of shards cannot be read.
    pub(crate) fn snapshot_of(&self, root: &RunsRoot, folder: &Path) -> Result<Arc<str>, Refusal> {
        let slot = self.slot_of(folder);
        let mut reader = slot.reader.lock();
        if let Some((when, snapshot)) = &reader.last
            && when.elapsed() < MAX_SNAPSHOT_AGE
        {
            return Ok(Arc::clone(snapshot));
        }
        let run = reader.follower.read();
        let run = run.map_err(|error| Refusal::Failed(error_text(&error, folder)))?;
        let snapshot: Arc<str> = describe(&run, root, folder).to_string().into();
        reader.last = Some((Instant::now(), Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// Returns the slot of a run, which is now the one that was used last.
    fn slot_of(&self, folder: &Path) -> Arc<FollowedShards> {
        let mut slots = self.slots.lock();
        let slot = match slots.iter().position(|slot| slot.folder == folder) {
            Some(place) => slots.remove(place),
            None => {
                let reader = ShardReader { follower: ShardedRunFollower::new(folder), last: None };
                Arc::new(FollowedShards { folder: folder.to_owned(), reader: Mutex::new(reader) })
            }
        };
        if slots.len() >= MAX_FOLLOWED_RUNS {
            slots.remove(0);
        }
        slots.push(Arc::clone(&slot));
        slot
    }
}

fn describe(run: &ShardedRun, root: &RunsRoot, folder: &Path) -> Value {
    let is_large = run.shards.len() > MAX_SINGLE_ROWS;
    let rows = run.rows(if is_large { MIN_FOLDED_SHARDS } else { usize::MAX });
    let row = |row: &ShardRow| describe_row(row, run, root, folder);
    json!({
        "run_id": run.run_id,
        "suite": run.suite,
        "models": run.models,
        "created_at": run.created_at,
        "now": unix_milliseconds(),
        "has_ended": run.has_ended(),
        // A run that is merged has a report, even if its shards have changed since.
        "has_report": matches!(run.merge, MergeState::Merged | MergeState::Partial | MergeState::Outdated),
        "summary": run.summary(),
        "next": is_mergeable(run).then(|| format!("gage-host merge {}", run.run_id)),
        "merge": without_folder(&run.merge_summary(), folder),
        "totals": run.totals(),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// Returns whether all shards are done, and the merged run lacks some of them.
fn is_mergeable(run: &ShardedRun) -> bool {
    let is_open = !matches!(run.merge, MergeState::Merged | MergeState::Running | MergeState::Unreadable(_));
    run.is_done() && is_open
}

fn describe_row(row: &ShardRow, run: &ShardedRun, root: &RunsRoot, folder: &Path) -> Value {
    let ShardRow { last, shard } = row;
    let single = (shard.number == *last).then(|| Shard::new(shard.number, run.shards.len() as u64)).flatten();
    // A shard that is being started has no page yet.
    let name = folder.file_name().and_then(|name| name.to_str());
    let page = name.zip(single).map(|(name, shard)| name_of_shard(name, shard));
    json!({
        "first": shard.number,
        "last": last,
        "state": shard.state,
        "reason": shard.reason.as_ref().map(|reason| without_folder(reason, folder)),
        "recorded": shard.recorded,
        "planned": shard.planned,
        "failed": shard.failed,
        "samples_per_s": shard.samples_per_s,
        "changed_unix_ms": shard.changed_unix_ms,
        "page": page.filter(|page| root.run(page).is_some()),
    })
}

//! A run that was fully merged, and whose shards were deleted since: there is nothing to merge.

use super::MergeOutcome;
use crate::finished_shard::recorded_outcome;
use crate::{Ending, RunnerError};
use gage_figures::WrittenReports;
use gage_record::{Manifest, ManifestIntegrity, MergeState, RunFolder, RunStatus, ShardedRunFollower};
use std::path::Path;

/// Returns the outcome of the merge of a run that has all records of its shards, if folders of them were deleted and the others
/// have not changed. `None` if there is something to merge, or the merged run was edited.
pub(super) fn merged_before(run: &Path) -> Result<Option<MergeOutcome>, RunnerError> {
    let Ok(found) = ShardedRunFollower::of_states(run).read() else { return Ok(None) };
    let deleted = found.totals().deleted;
    if found.merge != MergeState::Merged || deleted == 0 {
        return Ok(None);
    }
    let (folder, manifest) = (RunFolder::open_read(run)?, Manifest::read(run)?);
    if Manifest::integrity(run)? != ManifestIntegrity::Intact {
        return Ok(None);
    }
    let Some(reports) = WrittenReports::read(&folder, &manifest.files)? else { return Ok(None) };
    // A merge that has ended was not stopped.
    let ending = match manifest.status {
        RunStatus::Complete => Ending::Complete,
        _ => Ending::Incomplete,
    };
    Ok(Some(MergeOutcome {
        run: recorded_outcome(&manifest, run, reports, ending),
        cost: (!manifest.costs.is_empty()).then(|| manifest.costs.values().sum()),
        missing_prices: manifest.missing_prices(),
        shards: manifest.shards,
        missing: Vec::new(),
        deleted,
    }))
}

//! A line about each dataset of a hub whose revision the suite does not pin.

use crate::terminal;
use gage_record::{Manifest, RunIdentity};
use std::path::Path;

/// Number of digits of a commit that are shown.
const MAX_SHOWN_DIGITS: usize = 7;

/// Prints the commits of the data of a run that are others once the hub has a newer one.
pub(super) fn print(run_folder: &Path) {
    let Ok(manifest) = Manifest::read(run_folder) else { return };
    for line in lines(&manifest.identity) {
        terminal::eprint_line(gage_core::printable_line(&line));
    }
}

fn lines(identity: &RunIdentity) -> Vec<String> {
    let entries = identity.config["datasets"].as_array().map(Vec::as_slice).unwrap_or_default();
    let unpinned = identity.datasets.iter().filter_map(|(dataset_id, dataset)| {
        let (hub_id, commit) = (dataset.hub_id.as_deref()?, dataset.commit.as_deref()?);
        let is_pinned = entries.iter().any(|entry| {
            let params = &entry["params"];
            params["hub_id"].as_str() == Some(hub_id) && params["revision"].as_str() == Some(commit)
        });
        let shown = commit.get(..MAX_SHOWN_DIGITS).unwrap_or(commit);
        (!is_pinned).then(|| {
            format!(
                "data: {hub_id} at {shown} (not pinned; --set datasets.{dataset_id}.params.revision={commit} pins it)"
            )
        })
    });
    unpinned.collect()
}

//! Fetching of a suite's model files from a hub.

use crate::plan::Plan;
use crate::plan::model_files::files_of;
use gage_config::{BackendKind, Permissions, Problems};
use gage_data::LocateOptions;
use gage_data::hub::{HubError, ModelHub, ModelReference};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Downloads the model files of a plan that are on a hub into the cache, each once, and returns their paths.
/// A failed download is a problem.
pub fn fetch_models(
    plan: &Plan,
    hub: &ModelHub,
    options: &LocateOptions<'_>,
    problems: &mut Problems,
) -> Option<BTreeMap<PathBuf, PathBuf>> {
    let mut found: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut is_whole = true;
    for backend in plan.backends() {
        let BackendKind::LlamaCpp(config) = &backend.kind else { continue };
        for (key, name, span) in files_of(config) {
            let Some(text) = name.to_str().filter(|text| ModelReference::is_one(text)) else { continue };
            if found.contains_key(name) {
                continue;
            }
            match fetch_one(text, hub, options, plan.config.resources.permissions()) {
                Ok(local) => drop(found.insert(name.to_owned(), local)),
                Err(message) => {
                    is_whole = false;
                    problems.error(span, key, message);
                }
            }
        }
    }
    is_whole.then_some(found)
}

fn fetch_one(
    text: &str,
    hub: &ModelHub,
    options: &LocateOptions<'_>,
    permissions: &Permissions,
) -> Result<PathBuf, String> {
    let reference = ModelReference::read(text, &hub.endpoint)?.restricted(permissions);
    let cache = options.cache_folder.ok_or("there is no cache folder; set GAGE_CACHE_DIR")?;
    // Many models need no token, so a suite that may not use it is refused only by the hub.
    let (token, refusal) = match hub.token_for(&reference) {
        Ok(token) => (token, None),
        Err(refusal) => (None, Some(refusal)),
    };
    let fetched = reference
        .fetch(token, cache.to_owned(), options.is_offline, options.progress, options.is_cancelled)
        .map_err(|error| match (&error, refusal) {
            (HubError::Denied(_) | HubError::NotFound(_), Some(refusal)) => format!("{error}; {refusal}"),
            _ => error.to_string(),
        })?;
    tracing::info!(
        reference = text,
        commit = fetched.commit,
        digest = %fetched.digest,
        file = %fetched.local.display(),
        "a model file of a hub is on this machine"
    );
    Ok(fetched.local)
}

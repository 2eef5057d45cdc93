//! Of which suite a run is, and by which digests: what its `gage.lock` says.

use gage_config::{Problems, parse_document};
use gage_core::{Digest, canonical_json};
use gage_record::Manifest;
use gage_record::format::LOCK_FILE;
use serde_json::{Value, json};
use std::path::Path;

/// What the lock of a run says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SuiteOfRun {
    /// The name of the suite.
    pub(crate) name: Option<String>,
    /// Of everything that the run was made from, the model too. Equal for two runs of the same thing.
    pub(crate) lock_digest: Option<String>,
    /// The same without the models that were asked.
    pub(crate) definition_digest: Option<String>,
}

impl SuiteOfRun {
    /// Reads the lock of a run. One that scored answers again has none and is of the suite of the run that gave them; one
    /// without either is of the suite that its configuration names.
    pub(crate) fn read(folder: &Path, manifest: &Manifest) -> SuiteOfRun {
        if let Some(lock) = lock_in(folder) {
            let lock_digest = manifest.files.get(LOCK_FILE).map(|file| file.digest.to_string());
            return SuiteOfRun {
                name: name_in(&lock),
                lock_digest,
                definition_digest: Some(definition(lock)),
            };
        }
        let of_parent = || {
            let parent = manifest.parent_run.as_deref().filter(|name| gage_core::check_name(name).is_ok())?;
            name_in(&lock_in(&folder.parent()?.join(parent))?)
        };
        let own = || manifest.identity["config"]["metadata"]["name"].as_str().map(str::to_owned);
        SuiteOfRun { name: of_parent().or_else(own), ..SuiteOfRun::default() }
    }
}

fn lock_in(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join(LOCK_FILE)).ok()?;
    let mut problems = Problems::default();
    parse_document(LOCK_FILE, &text, None, &mut problems).map(|node| node.to_json())
}

fn name_in(lock: &Value) -> Option<String> {
    lock["suite"]["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The digest of all that the suite says, whichever model is asked.
fn definition(mut lock: Value) -> String {
    let mut settings = lock["settings"].take();
    if let Value::Object(settings) = &mut settings {
        settings.retain(|key, _| key != "backends");
    }
    for role in settings["role_adapters"].as_object_mut().into_iter().flat_map(|roles| roles.values_mut()) {
        if let Value::Object(role) = role {
            role.retain(|key, _| key != "backend" && key != "backend_id");
        }
    }
    let kept = ["suite", "host", "datasets", "plugins", "prompts"].map(|part| lock[part].take());
    Digest::of_bytes(canonical_json(&json!([kept, settings])).as_bytes()).to_string()
}

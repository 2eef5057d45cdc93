//! The suite of a run and its digests, from its `gage.lock`.

use gage_config::{Problems, parse_document};
use gage_core::foreign_file::FileRefusal;
use gage_core::{Digest, canonical_json};
use gage_record::format::LOCK_FILE;
use gage_record::{Manifest, RecordError, read_run_file};
use serde_json::{Value, json};
use std::path::Path;

/// Data from a run's lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SuiteOfRun {
    /// Name of the suite.
    pub(crate) name: Option<String>,
    /// Digest of all inputs of the run, including the model. Equal runs have equal digests.
    pub(crate) lock_digest: Option<String>,
    /// Digest of the same inputs without the models under test.
    pub(crate) definition_digest: Option<String>,
}

impl SuiteOfRun {
    /// Reads the lock of a run. A rescored run has no lock, and belongs to the suite of its parent. Without either,
    /// the suite is the one named in the configuration.
    ///
    /// # Errors
    /// If the lock is a link, no regular file or too large.
    pub(crate) fn read(folder: &Path, manifest: &Manifest) -> Result<SuiteOfRun, RecordError> {
        if let Some(lock) = lock_in(folder)? {
            let lock_digest = manifest.files.get(LOCK_FILE).map(|file| file.digest.to_string());
            return Ok(SuiteOfRun {
                name: name_in(&lock),
                lock_digest,
                definition_digest: Some(definition(lock)),
            });
        }
        let of_parent = || {
            let parent = manifest.parent_run.as_deref().filter(|name| gage_core::check_name(name).is_ok())?;
            name_in(&lock_in(&folder.parent()?.join(parent)).ok()??)
        };
        let own = || manifest.identity.suite_name().map(str::to_owned);
        Ok(SuiteOfRun { name: of_parent().or_else(own), ..SuiteOfRun::default() })
    }
}

/// Returns the lock of a run; `None` if it has none that is YAML.
fn lock_in(folder: &Path) -> Result<Option<Value>, RecordError> {
    let text = match read_run_file(folder, LOCK_FILE) {
        Err(error) if FileRefusal::find(&error).is_some() => {
            return Err(RecordError::io("read", &folder.join(LOCK_FILE), error));
        }
        read => read.ok().and_then(|bytes| String::from_utf8(bytes).ok()),
    };
    let mut problems = Problems::default();
    let document = text.and_then(|text| parse_document(LOCK_FILE, &text, None, &mut problems));
    Ok(document.map(|node| node.to_json()))
}

fn name_in(lock: &Value) -> Option<String> {
    lock["suite"]["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Backend settings that affect requests to a model, on any backend.
const ASKED: [&str; 6] =
    ["default_params", "response_format", "grammar", "json_schema", "choices", "on_long_prompt"];

/// Computes the digest of everything in the suite except the models.
fn definition(mut lock: Value) -> String {
    let mut settings = lock["settings"].take();
    let backends = settings["backends"].clone();
    if let Value::Object(settings) = &mut settings {
        settings.retain(|key, _| key != "backends");
    }
    for role in settings["role_adapters"].as_object_mut().into_iter().flat_map(|roles| roles.values_mut()) {
        if let Value::Object(role) = role {
            let backend = match role.get("backend_id").and_then(Value::as_str) {
                Some(backend_id) => &backends[backend_id]["config"],
                None => role.get("backend").map_or(&Value::Null, |backend| &backend["config"]),
            };
            let asked = ASKED.iter().filter_map(|key| Some(((*key).to_owned(), backend.get(key)?.clone())));
            let asked: serde_json::Map<String, Value> = asked.collect();
            if !asked.is_empty() {
                role.insert("asked".to_owned(), Value::Object(asked));
            }
            role.retain(|key, _| key != "backend" && key != "backend_id");
        }
    }
    let kept = ["suite", "host", "datasets", "plugins", "prompts"].map(|part| lock[part].take());
    Digest::of_bytes(canonical_json(&json!([kept, settings])).as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(config: &Value, backend: &str) -> String {
        definition(json!({
            "suite": {"name": "words"},
            "settings": {
                "backends": {backend: {"type": "openai_http", "config": config}},
                "role_adapters": {"dut": {"role_type": "dut_model", "backend_id": backend}},
            },
        }))
    }

    #[test]
    fn only_sampling_not_the_model_changes_a_definition() {
        let one = digest(&json!({"model": "one", "base_url": "http://a"}), "a");
        assert_eq!(digest(&json!({"model": "two", "base_url": "http://b"}), "b"), one);
        let changes = [
            json!({"default_params": {"temperature": 1.0}}),
            json!({"response_format": {"type": "json_object"}}),
        ];
        for change in changes {
            assert_ne!(digest(&change, "a"), one, "{change}");
        }
        let inline = |config: Value| {
            let role =
                json!({"role_type": "dut_model", "backend": {"type": "openai_http", "config": config}});
            definition(json!({"settings": {"role_adapters": {"dut": role}}}))
        };
        assert_eq!(inline(json!({"model": "one"})), inline(json!({"model": "two"})));
        assert_ne!(inline(json!({})), inline(json!({"default_params": {"max_new_tokens": 9}})));
    }
}

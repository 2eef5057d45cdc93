//! The identity of a run: everything that determines its results. Two runs with equal identities give equal
//! numbers.
//!
//! The manifest stores the identity, `gage.lock` pins it, and `--resume` and `--locked` compare it. All three
//! use [`RunIdentity::pinned`], which holds everything that can change a number. Facts about the machine
//! (threads, slots, processor names) are not part of an identity: [`Manifest::facts`](crate::Manifest) holds
//! them.

mod answers;
mod plugin_names;
mod settings;

use crate::FileDigest;
use crate::differences::{Difference, compare, describe};
use gage_core::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub use plugin_names::align as align_plugin_names;

/// The key of the digests of redacted values.
const REDACTED: &str = "redacted";

/// Parts of an identity, in the order in which locks store them and comparisons report them.
pub const IDENTITY_PARTS: [&str; 6] = ["host", "datasets", "plugins", "prompts", "backends", "settings"];

/// Everything that determines the results of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunIdentity {
    /// The expanded configuration, without limits such as `budget`. Secrets are replaced by their names.
    pub config: Value,
    /// Folder of the suite file, spelled as paths in `config` spell it. It depends on the working folder and
    /// is not compared.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_dir: String,
    /// Versions of the host's own scoring.
    pub host: HostIdentity,
    /// The datasets of the run's tasks, by id.
    pub datasets: BTreeMap<String, DatasetIdentity>,
    /// Components used by the run, by the reference in the suite.
    pub plugins: BTreeMap<String, ComponentIdentity>,
    /// The prompts of roles, by role.
    pub prompts: BTreeMap<String, PromptIdentity>,
    /// Backends that were opened, by id.
    pub backends: BTreeMap<String, BackendIdentity>,
    /// Digests of redacted configuration values, by place: `backends.model.config.extra_body.token`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, String>,
}

/// Versions of the host's own scoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIdentity {
    /// Increased when the same answers would get different figures.
    pub scoring_version: u32,
    /// The number of rows that are scored together.
    #[serde(default)]
    pub rows_per_batch: u64,
}

/// The content of a dataset. Digests of local files are present only if requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetIdentity {
    /// Files of a dataset that has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DatasetFile>,
    /// Digest of the only file, or of the list of all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Total size of all files, in bytes.
    pub bytes: u64,
    /// Digest of the file of labels beside the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<FileDigest>,
    /// Digest of the file with the examples of `few_shot`, or of the list of the digests of all such files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_shot: Option<FileDigest>,
    /// Name of the dataset on a hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_id: Option<String>,
    /// Commit that was fetched from a hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the chat template that renders its prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_template: Option<String>,
}

/// One of several files of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetFile {
    /// Name of a local file, or path in a hub's repository.
    pub name: String,
    /// Digest of the bytes.
    pub digest: String,
    /// Number of bytes.
    pub bytes: u64,
}

/// A component used by a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComponentIdentity {
    /// The component's own name.
    pub component: String,
    /// Version of the component.
    pub version: String,
    /// Digest of the bytes.
    pub digest: String,
    /// Version of `gage:plugin` that it was built against.
    pub wit_version: String,
    /// Version of the member that the suite uses.
    pub scorer_version: String,
    /// Limits that it runs under. Work beyond a limit fails, so limits can change a number.
    pub limits: Object,
}

/// The prompt of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptIdentity {
    /// The id of the prompt.
    pub prompt_id: String,
    /// Digest of its templates and parameters.
    pub digest: String,
}

/// The model of a backend and the settings of its requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackendIdentity {
    /// The `type` of the configuration: `llama_cpp`, `openai_http`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Name of the model, or of its file.
    pub model: String,
    /// Details reported by the backend: digests, context length, build, kernel variant. The keys depend on
    /// its type.
    #[serde(default)]
    pub details: Object,
}

impl DatasetIdentity {
    /// Returns everything that can change a number. Omits file names and the digest of the list that contains
    /// them, since each file has its own digest.
    pub fn pinned(&self) -> Value {
        let mut pinned = to_json(self);
        if let Value::Object(keys) = &mut pinned
            && !self.files.is_empty()
        {
            keys.shift_remove("digest");
            let files = self.files.iter().map(|file| json!({"digest": file.digest, "bytes": file.bytes}));
            keys.insert("files".to_owned(), files.collect());
        }
        pinned
    }
}

impl BackendIdentity {
    /// Returns the digest of the model's file, if the model is a file.
    pub fn file_digest(&self) -> Option<&str> {
        self.details.get("file_digest").and_then(Value::as_str)
    }

    /// Returns everything that can change a number. Omits the name of a file, since its digest pins it.
    fn pinned(&self) -> Value {
        let mut pinned = to_json(self);
        if let Value::Object(keys) = &mut pinned
            && self.file_digest().is_some()
        {
            keys.shift_remove("model");
        }
        pinned
    }
}

impl RunIdentity {
    /// Returns the name that the suite gives itself.
    pub fn suite_name(&self) -> Option<&str> {
        suite_name(&self.config)
    }

    /// Returns the ids of the tasks, in suite order.
    pub fn task_ids(&self) -> impl Iterator<Item = &str> {
        let tasks = self.config["tasks"].as_array().into_iter().flatten();
        tasks.filter_map(|task| task["task_id"].as_str())
    }

    /// Returns the model of a backend, or the backend's id if the run did not open it.
    pub fn model_of<'i>(&'i self, backend_id: &'i str) -> &'i str {
        self.backends.get(backend_id).map_or(backend_id, |backend| &backend.model)
    }

    /// Returns whether a backend is asked by judges, and by no other role.
    pub fn only_judges_ask(&self, backend_id: &str) -> bool {
        let roles = self.config["role_adapters"].as_array().into_iter().flatten();
        let mut asking = roles.filter(|role| role["backend_id"] == backend_id).peekable();
        asking.peek().is_some() && asking.all(|role| role["role_type"] == "judge_model")
    }

    /// Describes what a cost leaves out, such as ``judges only: no price for `m` ``. `priced` are the backends with a price,
    /// and `unpriced` the servers that answered without one. `None` if there is no cost, or if it covers all.
    pub fn missing_prices<'p>(
        &self,
        priced: impl IntoIterator<Item = &'p str>,
        unpriced: &BTreeSet<String>,
    ) -> Option<String> {
        let mut priced = priced.into_iter().peekable();
        if priced.peek().is_none() || unpriced.is_empty() {
            return None;
        }
        let models: BTreeSet<&str> = unpriced.iter().map(|id| self.model_of(id)).collect();
        let models: Vec<String> = models.into_iter().map(|model| format!("`{model}`")).collect();
        let is_of_judges = priced.all(|backend_id| self.only_judges_ask(backend_id));
        let scope = if is_of_judges { "judges only: " } else { "" };
        Some(format!("{scope}no price for {}", models.join(", ")))
    }

    /// Returns the models under test, each once, in the order of the roles that use them.
    pub fn models(&self) -> Vec<&str> {
        let roles = self.config["role_adapters"].as_array().into_iter().flatten();
        let mut models: Vec<&str> = Vec::new();
        for role in roles.filter(|role| role["role_type"] == "dut_model") {
            let Some(backend_id) = role["backend_id"].as_str() else { continue };
            let model = self.model_of(backend_id);
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models
    }

    /// Returns everything that can change a number, by part (see [`IDENTITY_PARTS`]). Two runs with equal
    /// parts are the same evaluation.
    pub fn pinned(&self) -> Object {
        let mut settings = settings::pinned(&self.portable_config());
        let redacted = settings::pinned_redacted(&self.config, &self.redacted);
        if let (Value::Object(settings), false) = (&mut settings, redacted.is_empty()) {
            settings.insert(REDACTED.to_owned(), to_json(&redacted));
        }
        let datasets: Object =
            self.datasets.iter().map(|(id, dataset)| (id.clone(), dataset.pinned())).collect();
        let backends: Object =
            self.backends.iter().map(|(id, backend)| (id.clone(), backend.pinned())).collect();
        let parts = [
            to_json(&self.host),
            datasets.into(),
            plugin_names::portable(to_json(&self.plugins), &self.config_dir),
            to_json(&self.prompts),
            backends.into(),
            settings,
        ];
        IDENTITY_PARTS.iter().map(|part| (*part).to_owned()).zip(parts).collect()
    }

    /// Returns the reasons why a run with this identity cannot be resumed with another: each place that
    /// differs, with its old and new value. Empty if it can be resumed, that is, if both have equal
    /// [pinned](RunIdentity::pinned) parts and come from the same suite.
    pub fn differences(&self, now: &RunIdentity) -> Vec<String> {
        let (before, mut found) = (self.pinned(), now.pinned());
        let names = align_plugin_names(&before, &mut found);
        let mut all: Vec<Difference> = Vec::new();
        if self.suite_name() != now.suite_name() || without_redacted(&before) != without_redacted(&found) {
            // Reported by configuration place, since that is what users edit.
            let [before, mut found] =
                [self, now].map(|identity| settings::comparable_document(&identity.portable_config()));
            plugin_names::rename(&mut found, &names);
            all.extend(compare("config", &before, &found));
        }
        for part in IDENTITY_PARTS.iter().filter(|part| **part != "settings") {
            all.extend(compare(part, &before[*part], &found[*part]));
        }
        let redacted = |pinned: &Object| pinned["settings"][REDACTED].clone();
        let [before, found] = [redacted(&before), redacted(&found)].map(|value| match value {
            Value::Null => json!({}),
            value => value,
        });
        all.extend(compare(REDACTED, &before, &found));
        all.into_iter().map(describe).collect()
    }

    /// Returns whether two identities come from the same suite with settings that cannot change a number.
    /// Digests of redacted values are not compared.
    pub fn is_same_suite(&self, other: &RunIdentity) -> bool {
        let (one, mut two) = (self.pinned(), other.pinned());
        align_plugin_names(&one, &mut two);
        self.suite_name() == other.suite_name() && without_redacted(&one) == without_redacted(&two)
    }

    /// Returns the configuration with paths below the suite's folder written as `${config_dir}/…`, so that it
    /// does not depend on the working folder.
    fn portable_config(&self) -> Value {
        plugin_names::portable(self.config.clone(), &self.config_dir)
    }
}

/// Returns the pinned settings without the digests of redacted values.
fn without_redacted(pinned: &Object) -> Value {
    let mut settings = pinned["settings"].clone();
    if let Value::Object(keys) = &mut settings {
        keys.shift_remove(REDACTED);
    }
    settings
}

/// Returns whether one of the [differences](RunIdentity::differences) of two identities is a redacted value.
pub fn is_redacted(difference: &str) -> bool {
    difference.starts_with(REDACTED)
}

/// Returns a configuration without the sections for budgets, task parallelism, and caching of repeated
/// questions. Identities store it in this form, and a run may be resumed with different limits.
pub fn without_limits(mut document: Value) -> Value {
    if let Value::Object(keys) = &mut document {
        for key in settings::LIMITS {
            keys.shift_remove(key);
        }
    }
    document
}

fn suite_name(config: &Value) -> Option<&str> {
    config["metadata"]["name"].as_str()
}

/// Converts to JSON. Identities hold strings, numbers and maps with text keys, which JSON can always
/// represent.
fn to_json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;

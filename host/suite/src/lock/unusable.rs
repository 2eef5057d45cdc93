//! What of a suite that cannot be used is another than what was locked: the settings as far as they can be read, and the
//! files whose digests a lock holds.

use super::{Lock, LockDifference, settings};
use crate::load::{load, portable};
use gage_config::{BackendKind, LlamaCppConfig, PipelineConfig, PluginSource};
use gage_core::{Digest, Object};
use gage_record::{Difference, compare};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

impl Lock {
    /// What differs where the suite can be used no more: a model file or a plugin that is damaged, a prompt that is no
    /// template, a template that was edited. Empty where what is wrong with the suite is nothing that was locked, and where
    /// the lock is that of another suite.
    pub fn unusable(
        &self,
        path: &Path,
        overrides: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<LockDifference> {
        let loaded = load(path, overrides, variable, false);
        if loaded.origin.as_ref().is_some_and(|origin| origin.name != self.suite()) {
            return Vec::new();
        }
        let mut differing = Vec::new();
        if let Some(found) = loaded.other_template {
            let locked = self.part("suite", "template").and_then(|template| template.get("file_digest"));
            differing.extend(other_digest("suite.template.file_digest".to_owned(), locked, found));
        }
        let (Some(config), Ok(document)) = (loaded.config, portable(path, overrides, variable)) else {
            return differing;
        };
        let before = self.parts.get("settings").unwrap_or(&Value::Null);
        let settings = compare("settings", before, &settings::settings(&document));
        differing.extend(settings.into_iter().map(|Difference { place, before, now }| LockDifference {
            field: place,
            locked: before,
            found: now,
        }));
        differing.extend(self.models(&config));
        differing.extend(self.plugins(&config, &crate::files::folder_of(path)));
        differing
    }

    fn part(&self, section: &str, name: &str) -> Option<&Object> {
        self.parts.get(section)?.get(name)?.as_object()
    }

    fn models(&self, config: &PipelineConfig) -> Vec<LockDifference> {
        let models = config.backends.iter().filter_map(|backend| match &backend.kind {
            BackendKind::LlamaCpp(config) => Some((&backend.backend_id, config)),
            _ => None,
        });
        let mut differing = Vec::new();
        for (id, config) in models {
            let details = self.part("backends", id).and_then(|backend| backend.get("details"));
            let LlamaCppConfig { model_path, mmproj, lora, .. } = config;
            let files = [
                ("file_digest", Some(model_path)),
                ("mmproj_digest", mmproj.as_ref()),
                ("lora_digest", lora.as_ref().map(|lora| &lora.path)),
            ];
            for (key, file) in files {
                if let Some(found) = file.and_then(digest_of) {
                    let locked = details.and_then(|details| details.get(key));
                    differing.extend(other_digest(format!("backends.{id}.details.{key}"), locked, found));
                }
            }
        }
        differing
    }

    fn plugins(&self, config: &PipelineConfig, folder: &Path) -> Vec<LockDifference> {
        let mut differing = Vec::new();
        for (name, plugin) in self.parts.get("plugins").and_then(Value::as_object).into_iter().flatten() {
            // `${config_dir}/x.wasm#member` is a file, `id#member` an entry of the suite.
            let whole = name.split('#').next().unwrap_or(name);
            let entry = config.plugins.iter().find(|entry| entry.id == whole);
            let file = match (whole.strip_prefix("${config_dir}/"), entry.map(|entry| &entry.source)) {
                (Some(rest), _) => folder.join(rest),
                (None, Some(PluginSource::File(file))) => file.clone(),
                (None, _) => continue,
            };
            if let Some(found) = digest_of(&file) {
                differing.extend(other_digest(format!("plugins.{name}.digest"), plugin.get("digest"), found));
            }
        }
        differing
    }
}

fn other_digest(field: String, locked: Option<&Value>, found: Digest) -> Option<LockDifference> {
    let found = json!(found);
    (locked != Some(&found)).then(|| LockDifference { field, locked: locked.cloned(), found: Some(found) })
}

fn digest_of(path: &PathBuf) -> Option<Digest> {
    std::fs::File::open(path).and_then(Digest::of_reader).ok()
}

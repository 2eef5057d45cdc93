//! Differences between a lock and an unusable suite: the readable settings, and the files whose digests a lock
//! holds. Missing and unreadable files are also differences.

use super::{Lock, MEDIA, SETTINGS};
use crate::load::{SuiteInputs, load, portable};
use crate::template::OtherTemplate;
use gage_config::{
    BackendKind, DataSource, DatasetSpec, LlamaCppConfig, Permissions, PipelineConfig, PluginSource,
    PoolSource, Purpose, redacted_digests,
};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, Object};
use gage_data::hub::ModelReference;
use gage_data::{LocateOptions, NoProgress, few_shot_digest, locate};
use gage_record::{Difference, RecordedPlugin, RunIdentity, compare, join_place};
use gage_template::{TokenizerConfig, TokenizerError};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Options for local files.
const OFFLINE: LocateOptions<'static> = LocateOptions {
    with_digests: true,
    cache_folder: None,
    is_offline: true,
    progress: &NoProgress,
    is_cancelled: &|| false,
};

/// Locations of components outside the suite and its folder.
pub struct PluginPlaces<'p> {
    /// Folders from the command line.
    pub folders: &'p [PathBuf],
    /// Returns true if a component or a member of one is bundled with the program.
    pub is_bundled: &'p dyn Fn(&str) -> bool,
    /// Returns the file of an optional component, by its name or that of a member, if it is installed.
    pub installed: &'p dyn Fn(&str) -> Option<PathBuf>,
}

impl Lock {
    /// Returns the differences that make the suite unusable. Examples are a damaged, unreadable or missing dataset,
    /// model file, template or plugin, and an invalid prompt template. Empty if the fault is in nothing that was
    /// locked, or if the lock is for another suite.
    pub fn unusable(
        &self,
        path: &Path,
        inputs: &SuiteInputs<'_>,
        places: &PluginPlaces<'_>,
    ) -> Vec<Difference> {
        let loaded = load(path, inputs, Purpose::Run);
        if loaded.origin.as_ref().is_some_and(|origin| origin.name != self.suite()) {
            return Vec::new();
        }
        let mut differing = Vec::new();
        if let Some(template) = loaded.other_template {
            let locked = self.part("suite", "template").and_then(|template| template.get("file_digest"));
            let found = match template {
                OtherTemplate::Digest(found) => Some(json!(found)),
                OtherTemplate::Gone => None,
                OtherTemplate::Unreadable(reason) => Some(reason.into()),
            };
            differing.extend(other("suite.template.file_digest".to_owned(), locked, found));
        }
        let Some(config) = loaded.config else { return differing };
        let Ok(portable) = portable(path, inputs) else { return differing };
        let before = self.parts.get(SETTINGS).unwrap_or(&Value::Null);
        let found = RunIdentity {
            config: portable.document,
            redacted: redacted_digests(&portable.redacted),
            ..RunIdentity::default()
        };
        differing.extend(compare(SETTINGS, before, found.pinned().get(SETTINGS).unwrap_or(&Value::Null)));
        for dataset in &config.datasets {
            differing.extend(self.dataset(dataset, inputs.permissions));
        }
        differing.extend(self.models(&config));
        differing.extend(self.plugins(&config, &crate::files::folder_of(path), places, inputs.permissions));
        differing
    }

    fn part(&self, section: &str, name: &str) -> Option<&Object> {
        self.parts.get(section)?.get(name)?.as_object()
    }

    /// Compares the local files of a dataset, the files next to them, and its chat template.
    fn dataset(&self, spec: &DatasetSpec, permissions: &Permissions) -> Vec<Difference> {
        let id = &spec.dataset_id;
        let Some(locked) = self.part("datasets", id) else { return Vec::new() };
        let place = join_place("datasets", id);
        let field = |key: &str| format!("{place}.{key}");
        let mut differing = Vec::new();
        if let DataSource::Files(files) = &spec.source {
            // Ignores the digests that the suite itself names.
            let alone = DatasetSpec {
                sha256: None,
                labels_sha256: None,
                labels_path: None,
                few_shot: None,
                ..spec.clone()
            };
            match locate(&alone, &OFFLINE, permissions) {
                Ok(located) => {
                    let found = located.identity.pinned();
                    for key in ["files", "digest", "bytes"] {
                        differing.extend(other(field(key), locked.get(key), found.get(key).cloned()));
                    }
                }
                Err(_) => {
                    let reason = files.paths.iter().find_map(|path| read_digest(path).err());
                    let key = if locked.contains_key("digest") { "digest" } else { "files" };
                    differing.extend(other(field(key), locked.get(key), reason.flatten()));
                }
            }
        }
        if let Some(path) = &spec.labels_path {
            let digest = locked.get("labels").and_then(|labels| labels.get("digest"));
            differing.extend(compared(field("labels.digest"), digest, path));
        }
        if let Some(few_shot) = &spec.few_shot
            && let PoolSource::Files(files) = &few_shot.pool
        {
            let found = match few_shot_digest(files) {
                Ok(found) => Some(json!(found.digest)),
                Err(_) => files.paths.iter().find_map(|path| read_digest(path).err()).flatten(),
            };
            let digest = locked.get("few_shot").and_then(|few_shot| few_shot.get("digest"));
            differing.extend(other(field("few_shot.digest"), digest, found));
        }
        if let Some(path) = &spec.tokenizer_config {
            let found = match TokenizerConfig::read(path, permissions) {
                Ok(config) => Some(json!(config.digest)),
                Err(TokenizerError::Unreadable { source, .. }) => unreadable(&source),
                Err(error) => Some(json!(error.to_string())),
            };
            differing.extend(other(field("chat_template"), locked.get("chat_template"), found));
        }
        if let (Some(root), Some(media)) = (&spec.media.content_root, locked.get(MEDIA))
            && !root.is_dir()
        {
            differing.extend(other(field(MEDIA), Some(media), None));
        }
        differing
    }

    fn models(&self, config: &PipelineConfig) -> Vec<Difference> {
        let models = config.backends.iter().filter_map(|backend| match &backend.kind {
            BackendKind::LlamaCpp(config) => Some((&backend.backend_id, config)),
            _ => None,
        });
        let answers = config.backends.iter().filter_map(|backend| match &backend.kind {
            BackendKind::Answers(config) => Some((&backend.backend_id, &config.path)),
            _ => None,
        });
        let mut differing = Vec::new();
        for (id, path) in answers {
            let details = self.part("backends", id).and_then(|backend| backend.get("details"));
            let locked = details.and_then(|details| details.get("file_digest"));
            differing.extend(compared(
                format!("{}.details.file_digest", join_place("backends", id)),
                locked,
                path,
            ));
        }
        for (id, config) in models {
            let details = self.part("backends", id).and_then(|backend| backend.get("details"));
            let LlamaCppConfig { model_path, mmproj, lora, .. } = &**config;
            let files = [
                ("file_digest", Some(model_path)),
                ("mmproj_digest", mmproj.as_ref()),
                ("lora_digest", lora.as_ref().map(|lora| &lora.path)),
            ];
            for (key, file) in files {
                // Files on a hub are downloaded later.
                let is_here = |file: &&PathBuf| !file.to_str().is_some_and(ModelReference::is_one);
                if let Some(file) = file.filter(is_here) {
                    let locked = details.and_then(|details| details.get(key));
                    differing.extend(compared(
                        format!("{}.details.{key}", join_place("backends", id)),
                        locked,
                        file,
                    ));
                }
            }
        }
        differing
    }

    fn plugins(
        &self,
        config: &PipelineConfig,
        folder: &Path,
        places: &PluginPlaces<'_>,
        permissions: &Permissions,
    ) -> Vec<Difference> {
        let mut differing = Vec::new();
        for (name, plugin) in self.parts.get("plugins").and_then(Value::as_object).into_iter().flatten() {
            let locked = plugin.get("digest");
            let field = format!("{}.digest", join_place("plugins", name));
            // `${config_dir}/x.wasm#member` is a file, `id#member` an entry of the suite.
            let whole = name.split('#').next().unwrap_or(name);
            let entry = config.plugins.iter().find(|entry| entry.id == whole);
            let mut plain = whole.strip_prefix("aggregation ").unwrap_or(whole);
            let file = match (whole.strip_prefix("${config_dir}/"), entry.map(|entry| &entry.source)) {
                (Some(rest), _) => Some(folder.join(rest)),
                (None, Some(PluginSource::File(file))) => Some(file.clone()),
                // The digest that the suite names is known without the package.
                (None, Some(PluginSource::Registry(_))) => {
                    let named = entry.and_then(|entry| entry.sha256);
                    differing.extend(named.and_then(|named| other(field, locked, Some(json!(named)))));
                    continue;
                }
                (None, Some(PluginSource::Bundled(component))) => {
                    plain = component.as_str();
                    None
                }
                (None, None) => whole.ends_with(".wasm").then(|| PathBuf::from(whole)),
            };
            if let Some(file) = file {
                // The lock of a stranger may name any file.
                if permissions.check_file(&file).is_ok() {
                    differing.extend(compared(field, locked, &file));
                }
                continue;
            }
            // Without its package, a member of one cannot be compared.
            let is_locked =
                |package: &RecordedPlugin| locked.and_then(Value::as_str) == Some(package.digest.as_str());
            if (places.is_bundled)(plain) || self.packages().iter().any(is_locked) {
                continue;
            }
            let mut named = places.folders.iter().map(|folder| folder.join(format!("{plain}.wasm")));
            match named.find(|file| file.is_file()).or_else(|| (places.installed)(plain)) {
                Some(file) => differing.extend(compared(field, locked, &file)),
                // A member that is named without its component.
                None if !holds(places.folders, locked) => differing.extend(other(field, locked, None)),
                None => {}
            }
        }
        differing
    }
}

/// Returns true if one of the folders has a component with this digest.
fn holds(folders: &[PathBuf], digest: Option<&Value>) -> bool {
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let mut components = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    components.any(|path| read_digest(&path).is_ok_and(|found| Some(&json!(found)) == digest))
}

/// Returns the difference between the digest of a file and the locked one.
fn compared(field: String, locked: Option<&Value>, file: &Path) -> Option<Difference> {
    let found = match read_digest(file) {
        Ok(found) => Some(json!(found)),
        Err(reason) => reason,
    };
    other(field, locked, found)
}

/// Computes the digest of a file. The error is `None` if the file is missing, or else the reason.
fn read_digest(path: &Path) -> Result<Digest, Option<Value>> {
    let opened = foreign_file::open_named(path, FileLimit::NONE);
    opened.and_then(Digest::of_reader).map_err(|error| unreadable(&error))
}

fn unreadable(error: &std::io::Error) -> Option<Value> {
    (error.kind() != ErrorKind::NotFound).then(|| format!("unreadable: {error}").into())
}

fn other(field: String, locked: Option<&Value>, found: Option<Value>) -> Option<Difference> {
    (locked != found.as_ref()).then(|| Difference { place: field, before: locked.cloned(), now: found })
}

//! `gage.lock`: everything in a suite that can change a number.
//!
//! A lock holds the [pinned parts](RunIdentity::pinned) of the identity in a run's manifest. Locked and resumed
//! runs are therefore compared in the same way. It adds the suite's name and template, and the rows of datasets.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | first |

mod unusable;

use crate::{Origin, SuiteError, SuiteInputs, files, load, yaml};
use gage_config::{Permissions, Problems, RedactedValue, is_unset, parse_document, redacted_digests};
use gage_core::{Digest, Object, foreign_file};
use gage_data::DataError;
use gage_record::{Difference, IDENTITY_PARTS, RecordedPlugin, RunIdentity, align_plugin_names, compare};
use serde_json::{Value, json};
use std::path::Path;
pub use unusable::PluginPlaces;

/// The newest format version that can be read; also the version that is written.
pub const LOCK_VERSION: u64 = 1;

/// Features that a lock may require of its reader under `must-understand`; none yet.
const FEATURES: [&str; 0] = [];

/// Name of the part with the suite and its template.
const SUITE: &str = "suite";

/// Name of the part with the backends.
const BACKENDS: &str = "backends";

/// Name of the part with the digests of prompts.
const PROMPTS: &str = "prompts";

/// Name of the part with the configuration, and of its member with the digests of redacted values.
const SETTINGS: &str = "settings";
const REDACTED: &str = "redacted";

/// Name of the part with the plugins, and of the list of those that come from registries. The list holds facts: nothing compares
/// it. It names the packages that a locked run asks for.
const PLUGINS: &str = "plugins";
const PACKAGES: &str = "packages";

/// Key of a dataset's media digest, which covers all its rows.
const MEDIA: &str = "media";

const HEAD: &str = "\
# Everything that this suite is made from that can change a figure. Written by `gage-host lock`, compared by
# `gage-host run --locked`; `gage-host lock --check` says what differs, `gage-host lock --update` takes it over.
# Not edited by hand: the last line is the digest of all parts, from `suite` on.
";

/// The datasets of a suite, whose rows a lock counts.
pub trait DatasetRows {
    /// Returns the number of rows of a dataset after filtering, or `None` if the dataset does not exist.
    ///
    /// # Errors
    /// Fails if the dataset cannot be fully read.
    fn rows(&self, dataset_id: &str) -> Result<Option<u64>, DataError>;

    /// Returns the digest of the media in all rows of a dataset, or `None` without media or without such a dataset.
    ///
    /// # Errors
    /// Fails if the dataset cannot be fully read.
    fn media_digest(&self, dataset_id: &str) -> Result<Option<Digest>, DataError>;
}

/// A part that locks do not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lock has no part `{0}`")]
pub struct UnknownPart(pub String);

/// Everything in a suite that can change a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    parts: Object,
}

impl Lock {
    /// Creates a lock from the identity of a run, and the file of its suite.
    ///
    /// # Errors
    /// Fails if the suite cannot be read.
    pub fn new(
        path: &Path,
        inputs: &SuiteInputs<'_>,
        origin: &Origin,
        identity: &RunIdentity,
    ) -> Result<Lock, SuiteError> {
        let portable = load::portable(path, inputs)?;
        Ok(Lock::of(origin, identity, &portable.document, &portable.redacted))
    }

    fn of(origin: &Origin, identity: &RunIdentity, document: &Value, redacted: &[RedactedValue]) -> Lock {
        let mut suite = json!({"name": origin.name});
        if let Some(template) = &origin.template {
            suite["template"] = json!({
                "version": template.version,
                "digest": template.digest,
                "file_digest": template.file_digest,
            });
        }
        let portable = RunIdentity {
            config: document.clone(),
            config_dir: origin.config_dir.clone(),
            redacted: redacted_digests(redacted),
            ..identity.clone()
        };
        let mut parts = Object::from_iter([(SUITE.to_owned(), suite)]);
        parts.extend(portable.pinned());
        let parts = Value::Object(parts);
        // Parsed again, so that both sides of a comparison have the same form.
        let text = yaml::of_json(&parts);
        let read = parse_document("lock", &text, None, &mut Problems::default()).map(|node| node.to_json());
        match read.unwrap_or(parts) {
            Value::Object(parts) => Lock { parts },
            _ => Lock { parts: Object::new() },
        }
    }

    /// Returns the name of the locked suite.
    pub fn suite(&self) -> &str {
        self.parts.get(SUITE).and_then(|suite| suite["name"].as_str()).unwrap_or_default()
    }

    /// Counts all rows of each dataset after filtering, and adds the digest of their media.
    ///
    /// # Errors
    /// Fails if a dataset cannot be read.
    pub fn count_rows(&mut self, datasets: &dyn DatasetRows) -> Result<(), DataError> {
        let Some(Value::Object(locked)) = self.parts.get_mut("datasets") else { return Ok(()) };
        for (id, value) in locked.iter_mut() {
            if let (Some(rows), Value::Object(value)) = (datasets.rows(id)?, value) {
                value.insert("rows".to_owned(), rows.into());
                if let Some(digest) = datasets.media_digest(id)? {
                    value.insert(MEDIA.to_owned(), digest.to_string().into());
                }
            }
        }
        Ok(())
    }

    /// Copies the row counts of datasets with equal digests from another lock, instead of counting them again.
    /// Datasets with other digests are counted, as are all with `counts_all`. If that lock has no row counts, like
    /// one of an unlocked run, none are added. If it has media digests, they are computed again: nothing else
    /// reveals a changed media file.
    ///
    /// # Errors
    /// Fails if a dataset cannot be read.
    pub fn copy_rows(
        &mut self,
        from: &Lock,
        datasets: &dyn DatasetRows,
        counts_all: bool,
    ) -> Result<(), DataError> {
        let is_same = !counts_all && from.parts.get(SETTINGS) == self.parts.get(SETTINGS);
        let before = from.parts.get("datasets").cloned().unwrap_or_default();
        let Some(Value::Object(found)) = self.parts.get_mut("datasets") else { return Ok(()) };
        for (id, value) in found.iter_mut() {
            let Some(locked) = before.get(id) else { continue };
            let (Some(rows), Value::Object(value)) = (locked.get("rows"), value) else { continue };
            let is_same =
                is_same && ["digest", "files", "labels"].iter().all(|key| locked.get(key) == value.get(*key));
            let counted = if is_same { None } else { datasets.rows(id)? };
            value.insert("rows".to_owned(), counted.map_or_else(|| rows.clone(), Value::from));
            if locked.get(MEDIA).is_some()
                && let Some(digest) = datasets.media_digest(id)?
            {
                value.insert(MEDIA.to_owned(), digest.to_string().into());
            }
        }
        Ok(())
    }

    /// Reads a lock. `permissions` are those of its suite.
    ///
    /// # Errors
    /// Fails if it may not be read, or is unreadable, incomplete, edited, of a newer version, or requires unknown
    /// features.
    pub fn read(path: &Path, permissions: &Permissions) -> Result<Lock, SuiteError> {
        permissions.check_file(path).map_err(|refusal| SuiteError::refused(refusal.message, refusal.help))?;
        let mut parts = read_mapping(path)?;
        check_head(path, &mut parts)?;
        let Some(written) = parts.shift_remove("digest") else {
            return Err(broken(path, "it is not whole: its last line, the digest, is missing"));
        };
        if written != json!(digest_of(&parts)) {
            return Err(broken(path, "its digest does not match: it was edited, or written in part"));
        }
        if let Some(missing) = Lock::part_names().find(|part| !parts.contains_key(*part)) {
            return Err(broken(path, &format!("it has no part `{missing}`")));
        }
        Ok(Lock { parts })
    }

    /// Returns the kernel variants that its models ran with, by backend id.
    pub fn kernel_variants(&self) -> impl Iterator<Item = (&str, &str)> {
        let backends = self.parts.get(BACKENDS).and_then(Value::as_object).into_iter().flatten();
        backends.filter_map(|(id, backend)| {
            Some((id.as_str(), backend.get("details")?.get("kernel_variant")?.as_str()?))
        })
    }

    /// Lists the packages of the suite. Their signers are left out, because they depend on the policy of the machine.
    #[must_use]
    pub fn with_packages(mut self, packages: &[RecordedPlugin]) -> Lock {
        let packages = packages.iter().map(|package| RecordedPlugin { signer: None, ..package.clone() });
        let packages: Vec<Value> =
            packages.filter_map(|package| serde_json::to_value(package).ok()).collect();
        self.parts.shift_remove(PACKAGES);
        if !packages.is_empty() {
            self.parts.insert(PACKAGES.to_owned(), packages.into());
        }
        self
    }

    /// Returns the packages of the suite.
    pub fn packages(&self) -> Vec<RecordedPlugin> {
        let listed = self.parts.get(PACKAGES).cloned();
        listed.and_then(|listed| serde_json::from_value(listed).ok()).unwrap_or_default()
    }

    /// Takes over the packages with these components from another lock.
    fn update_packages(&mut self, found: &Lock, is_updated: impl Fn(&RecordedPlugin) -> bool) {
        let now: Vec<RecordedPlugin> = found.packages().into_iter().filter(is_updated).collect();
        let is_kept = |before: &RecordedPlugin| !now.iter().any(|now| now.id == before.id);
        let mut packages: Vec<RecordedPlugin> = self.packages().into_iter().filter(is_kept).collect();
        packages.extend(now.iter().cloned());
        packages.sort_by(|one, other| one.id.cmp(&other.id));
        *self = self.clone().with_packages(&packages);
    }

    /// Returns the lock file's text.
    pub fn to_yaml(&self) -> String {
        let mut document = Object::new();
        document.insert("format".to_owned(), "gage-lock".into());
        document.insert("format_version".to_owned(), LOCK_VERSION.into());
        document.insert("must-understand".to_owned(), json!(FEATURES));
        document.extend(self.parts.clone());
        document.insert("digest".to_owned(), digest_of(&self.parts).to_string().into());
        format!("{HEAD}{}", yaml::of_json(&Value::Object(document)))
    }

    /// Writes the lock, and replaces an existing one.
    ///
    /// # Errors
    /// Fails on file system errors.
    pub fn write(&self, path: &Path) -> Result<(), SuiteError> {
        files::replace(path, &self.to_yaml())
    }

    /// Returns the differences from the lock, by field.
    pub fn differences(&self, found: &Lock) -> Vec<Difference> {
        let mut found = found.parts.clone();
        align_plugin_names(&self.parts, &mut found);
        let differing = Lock::part_names().flat_map(|part| {
            let (locked, found) = (self.parts.get(part), found.get(part));
            compare(part, locked.unwrap_or(&Value::Null), found.unwrap_or(&Value::Null))
        });
        differing.collect()
    }

    /// Copies the locked digests of values whose variables are unset in this process, as when a recording is
    /// replayed: no requests are sent then. Only values that would be sent to models are copied.
    pub fn copy_unset(&mut self, locked: &Lock) {
        let section = |lock: &Lock| lock.parts.get(SETTINGS)?.get(REDACTED)?.as_object().cloned();
        let (Some(locked), Some(Value::Object(settings))) = (section(locked), self.parts.get_mut(SETTINGS))
        else {
            return;
        };
        let Some(Value::Object(found)) = settings.get_mut(REDACTED) else { return };
        for (place, digest) in found.iter_mut() {
            let is_asked = place.starts_with("backends.") || place.starts_with("role_adapters.");
            if let (true, Some(before)) =
                (is_asked && digest.as_str().is_some_and(is_unset), locked.get(place))
            {
                *digest = before.clone();
            }
        }
    }

    /// Returns this lock with one part updated: `datasets`, or `datasets.piqa`. `settings` also updates the digests
    /// of the prompts.
    ///
    /// # Errors
    /// Fails if neither lock has the part.
    pub fn with_part(&self, part: &str, found: &Lock) -> Result<Lock, UnknownPart> {
        let unknown = || UnknownPart(part.to_owned());
        let mut updated = self.clone();
        let (section, rest) =
            part.split_once('.').map_or((part, None), |(section, rest)| (section, Some(rest)));
        if !Lock::part_names().any(|part| part == section) {
            return Err(unknown());
        }
        let now = found.parts.get(section).cloned().unwrap_or_default();
        let Some(rest) = rest else {
            updated.parts.insert(section.to_owned(), now);
            // The texts and the parameters of prompts are settings, which determine their digests.
            if section == SETTINGS {
                updated
                    .parts
                    .insert(PROMPTS.to_owned(), found.parts.get(PROMPTS).cloned().unwrap_or_default());
            }
            if section == PLUGINS {
                updated = updated.with_packages(&found.packages());
            }
            return Ok(updated);
        };
        let Some(Value::Object(before)) = updated.parts.get_mut(section) else { return Err(unknown()) };
        match now.get(rest) {
            Some(value) => {
                before.insert(rest.to_owned(), value.clone());
            }
            None => drop(before.shift_remove(rest).ok_or_else(unknown)?),
        }
        if section == PLUGINS {
            let digest = now.get(rest).and_then(|plugin| plugin["digest"].as_str()).unwrap_or_default();
            updated.update_packages(found, |package| package.digest == digest);
        }
        Ok(updated)
    }

    /// Returns the names of its parts, in file order.
    pub fn part_names() -> impl Iterator<Item = &'static str> {
        std::iter::once(SUITE).chain(IDENTITY_PARTS)
    }
}

/// Reads the mapping in a lock file.
fn read_mapping(path: &Path) -> Result<Object, SuiteError> {
    let text = match foreign_file::read_named_text(path, files::MAX_LOCK_SIZE) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(SuiteError::refused(
                format!("there is no lock {}", path.display()),
                "make one with `gage-host lock`, or name another with --lock",
            ));
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(broken(path, "it is not UTF-8 text"));
        }
        Err(error) => return Err(SuiteError::io("read", path, error)),
    };
    if text.trim().is_empty() {
        return Err(broken(path, "it is empty"));
    }
    let mut problems = Problems::default();
    let node = parse_document(&path.display().to_string(), &text, None, &mut problems);
    let Some(node) = node.filter(|_| !problems.has_errors()) else {
        let reason = problems.sorted().first().map(|problem| problem.message.clone()).unwrap_or_default();
        let what = format!("it was edited or is incomplete: it is not YAML ({reason})");
        return Err(broken(path, &what));
    };
    match node.to_json() {
        Value::Object(parts) => Ok(parts),
        _ => Err(broken(path, "it is not a mapping")),
    }
}

/// Removes the header keys, and rejects a file that this program does not support.
fn check_head(path: &Path, parts: &mut Object) -> Result<(), SuiteError> {
    if parts.shift_remove("format") != Some(json!("gage-lock")) {
        return Err(broken(path, "it is not a lock of gage-host (`format: gage-lock`)"));
    }
    let version = parts.shift_remove("format_version");
    let Some(version) = version.as_ref().and_then(Value::as_u64) else {
        return Err(broken(path, "it has no `format_version`"));
    };
    if version == 0 {
        return Err(broken(path, "it has `format_version` 0, and the first is 1"));
    }
    if version > LOCK_VERSION {
        return Err(SuiteError::refused(
            format!(
                "the lock {} has format version {version}, and this program reads up to {LOCK_VERSION}",
                path.display()
            ),
            "use a newer gage-host",
        ));
    }
    let Some(Value::Array(demanded)) = parts.shift_remove("must-understand") else {
        return Err(broken(path, "it has no list `must-understand`, which every lock has"));
    };
    for feature in &demanded {
        let Some(name) = feature.as_str() else {
            return Err(broken(path, "its `must-understand` has an entry that is not the name of a feature"));
        };
        if !FEATURES.contains(&name) {
            return Err(SuiteError::refused(
                format!(
                    "the lock {} needs a reader that knows `{name}`, and this program does not",
                    path.display()
                ),
                "use a newer gage-host",
            ));
        }
    }
    Ok(())
}

fn digest_of(parts: &Object) -> Digest {
    Digest::of_json(&Value::Object(parts.clone()))
}

fn broken(path: &Path, what: &str) -> SuiteError {
    SuiteError::refused(
        format!("the lock {} cannot be used: {what}", path.display()),
        "restore it; or delete it, and create it again with `gage-host lock`",
    )
}

#[cfg(test)]
mod tests;

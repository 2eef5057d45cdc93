//! `gage.lock`: everything that a suite is made from and that can change a number.
//!
//! A lock holds the [pinned parts](RunIdentity::pinned) of the identity that a run writes into its manifest, so that a locked
//! run and a resumed one are compared in the same way. It adds the suite's name and template, and the rows of datasets.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | first |

mod unusable;

use crate::{Origin, SuiteError, files, load, yaml};
use gage_config::{Problems, RedactedValue, is_unset, parse_document, redacted_digests};
use gage_core::{Digest, Object};
use gage_data::DataError;
use gage_record::{Difference, IDENTITY_PARTS, RunIdentity, align_plugin_names, compare};
use serde_json::{Value, json};
use std::path::Path;
pub use unusable::PluginPlaces;

/// The newest version of the format that can be read, and that is written.
pub const LOCK_VERSION: u64 = 1;

/// What a lock may demand of its reader under `must-understand`; nothing yet.
const FEATURES: [&str; 0] = [];

/// The part that names the suite and its template.
const SUITE: &str = "suite";

/// The part with the backends.
const BACKENDS: &str = "backends";

/// The part with the digests of prompts.
const PROMPTS: &str = "prompts";

/// The part with the configuration, and its member with the digests of redacted values.
const SETTINGS: &str = "settings";
const REDACTED: &str = "redacted";

/// Of a dataset: the digest of the media of all its rows.
const MEDIA: &str = "media";

const HEAD: &str = "\
# Everything that this suite is made from that can change a figure. Written by `gage-host lock`, compared by
# `gage-host run --locked`; `gage-host lock --check` says what differs, `gage-host lock --update` takes it over.
# Not edited by hand: the last line is the digest of all parts, from `suite` on.
";

/// The datasets of a suite, whose rows a lock counts.
pub trait DatasetRows {
    /// The number of rows of a dataset that are not filtered out. None if there is no such dataset.
    ///
    /// # Errors
    /// When it cannot be read to its end.
    fn rows(&self, dataset_id: &str) -> Result<Option<u64>, DataError>;

    /// The digest of the media that all rows of a dataset refer to. None if there are none, or no such dataset.
    ///
    /// # Errors
    /// When it cannot be read to its end.
    fn media_digest(&self, dataset_id: &str) -> Result<Option<Digest>, DataError>;
}

/// A part that no lock has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lock has no part `{0}`")]
pub struct UnknownPart(pub String);

/// What a suite is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    parts: Object,
}

impl Lock {
    /// What a run is made from: its identity, and the file of its suite.
    ///
    /// # Errors
    /// When the suite cannot be read.
    pub fn new(
        path: &Path,
        overrides: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
        origin: &Origin,
        identity: &RunIdentity,
    ) -> Result<Lock, SuiteError> {
        let portable = load::portable(path, overrides, variable)?;
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
        // As it will be read again, so that what is compared has been the same way.
        let text = yaml::of_json(&parts);
        let read = parse_document("lock", &text, None, &mut Problems::default()).map(|node| node.to_json());
        match read.unwrap_or(parts) {
            Value::Object(parts) => Lock { parts },
            _ => Lock { parts: Object::new() },
        }
    }

    /// The name of the suite that it is of.
    pub fn suite(&self) -> &str {
        self.parts.get(SUITE).and_then(|suite| suite["name"].as_str()).unwrap_or_default()
    }

    /// Counts the rows of each dataset, all that are there and not filtered out, and adds the digest of the media that
    /// they refer to.
    ///
    /// # Errors
    /// When a dataset cannot be read.
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

    /// Takes the rows of datasets that have the same digests over from another lock, so that they need not be counted, unless
    /// `counts_all` says that they are; those of others are counted. Where that lock has no rows, as that of a run that was not
    /// locked, there are none. Media are looked at again where that lock has some: nothing else shows that one
    /// of their files was changed.
    ///
    /// # Errors
    /// When a dataset cannot be read.
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

    /// Reads a lock.
    ///
    /// # Errors
    /// When it cannot be read, is of a newer version, demands what this program does not know, is not whole, or was edited.
    pub fn read(path: &Path) -> Result<Lock, SuiteError> {
        let mut parts = read_mapping(path)?;
        check_head(path, &mut parts)?;
        let Some(written) = parts.shift_remove("digest") else {
            return Err(broken(path, "it is not whole: its last line, the digest, is missing"));
        };
        if written != json!(digest_of(&parts)) {
            return Err(broken(path, "its digest does not fit: it was edited, or written in part"));
        }
        if let Some(missing) = Lock::part_names().find(|part| !parts.contains_key(*part)) {
            return Err(broken(path, &format!("it has no part `{missing}`")));
        }
        Ok(Lock { parts })
    }

    /// The kernel variants that its models ran with, by the id of the backend.
    pub fn kernel_variants(&self) -> impl Iterator<Item = (&str, &str)> {
        let backends = self.parts.get(BACKENDS).and_then(Value::as_object).into_iter().flatten();
        backends.filter_map(|(id, backend)| {
            Some((id.as_str(), backend.get("details")?.get("kernel_variant")?.as_str()?))
        })
    }

    /// Returns its text.
    pub fn to_yaml(&self) -> String {
        let mut document = Object::new();
        document.insert("format".to_owned(), "gage-lock".into());
        document.insert("format_version".to_owned(), LOCK_VERSION.into());
        document.insert("must-understand".to_owned(), json!(FEATURES));
        document.extend(self.parts.clone());
        document.insert("digest".to_owned(), digest_of(&self.parts).to_string().into());
        format!("{HEAD}{}", yaml::of_json(&Value::Object(document)))
    }

    /// Writes it, in the place of one that is there.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, path: &Path) -> Result<(), SuiteError> {
        files::replace(path, &self.to_yaml())
    }

    /// What is another than what was locked, by field.
    pub fn differences(&self, found: &Lock) -> Vec<Difference> {
        let mut found = found.parts.clone();
        align_plugin_names(&self.parts, &mut found);
        let differing = Lock::part_names().flat_map(|part| {
            let (locked, found) = (self.parts.get(part), found.get(part));
            compare(part, locked.unwrap_or(&Value::Null), found.unwrap_or(&Value::Null))
        });
        differing.collect()
    }

    /// Takes over what was locked of values for which this process has no variables, as where a recording is played back:
    /// nothing is sent then. Only what would be sent to models is.
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

    /// This lock with a part of it as it was found: `datasets`, or `datasets.piqa`. With `settings` go the digests of the prompts.
    ///
    /// # Errors
    /// When neither has such a part.
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
            // The texts and the parameters of prompts are settings, and their digests follow from these.
            if section == SETTINGS {
                updated
                    .parts
                    .insert(PROMPTS.to_owned(), found.parts.get(PROMPTS).cloned().unwrap_or_default());
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
        Ok(updated)
    }

    /// The names of its parts, in the order of the file.
    pub fn part_names() -> impl Iterator<Item = &'static str> {
        std::iter::once(SUITE).chain(IDENTITY_PARTS)
    }
}

/// The mapping in the file of a lock.
fn read_mapping(path: &Path) -> Result<Object, SuiteError> {
    let text = match std::fs::read_to_string(path) {
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

/// Takes the keys that say which kind of file it is out, and refuses a file that this program does not understand.
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
                    "the lock {} demands `{name}` of its reader, which this program does not know",
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

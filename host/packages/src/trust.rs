//! The trust policy: which plugins may score. It belongs to the user or the team, because a suite cannot vouch for itself.

use crate::trust_error::TrustError;
use gage_config::{TrustPolicy, TrustRequirement, TrustRule, TrustScope};
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_core::{Digest, OciReference, name_list, system_message};
use gage_signature::{MAX_KEY_BYTES, Signature, SignatureError, Subject, VerifyingKey, verify};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Limit of a file that holds a key.
const KEY_LIMIT: FileLimit = FileLimit::new("a key", MAX_KEY_BYTES as u64);
/// Maximum number of keys in a message.
const MAX_SHOWN_KEYS: usize = 3;

/// A trust policy whose keys are loaded. By default there is no policy, and every plugin may score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The entries; `None` if there is no policy.
    entries: Option<Vec<TrustEntry>>,
    /// The keys of all entries, each once.
    keys: Vec<TrustedKey>,
    /// True if packages need no digest, because nothing is scored with them.
    allows_unpinned: bool,
}

/// A key of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    /// Name of its file.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The key.
    pub key: VerifyingKey,
}

/// An entry of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TrustEntry {
    scope: TrustScope,
    requirement: TrustRequirement,
    keys: Vec<TrustedKey>,
}

/// Where a component comes from.
#[derive(Clone, Copy, Debug)]
pub enum PackageOrigin<'o> {
    /// A registry.
    Registry(&'o OciReference),
    /// A file.
    File(&'o Path),
    /// The program or its installation. Their components are always trusted.
    Bundled,
}

/// The key that signed a component. It is recorded as a fact, and never compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signer {
    /// File name of the key.
    pub key: String,
    /// Fingerprint of the key.
    pub fingerprint: Digest,
}

impl Trust {
    /// Loads the keys of a policy.
    ///
    /// # Errors
    /// If a key cannot be read.
    pub fn load(policy: &TrustPolicy) -> Result<Trust, TrustError> {
        let entries: Vec<TrustEntry> = policy.rules.iter().map(TrustEntry::load).collect::<Result<_, _>>()?;
        let mut keys: Vec<TrustedKey> = Vec::new();
        for key in entries.iter().flat_map(|entry| &entry.keys) {
            if !keys.iter().any(|known| known.key == key.key) {
                keys.push(key.clone());
            }
        }
        Ok(Trust { entries: Some(entries), keys, allows_unpinned: false })
    }

    /// Returns the policy for commands that score nothing. A package needs no digest for them, because a lock may pin it
    /// before it scores. Files need one, because a lock does not pin them before they are compiled.
    #[must_use]
    pub fn allowing_unpinned(&self) -> Trust {
        Trust { allows_unpinned: true, ..self.clone() }
    }

    /// Returns the keys of all entries, each once.
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// Checks the address of a package before its registry is contacted.
    ///
    /// # Errors
    /// If the policy has entries, and none of them names the registry.
    pub fn check_address(&self, reference: &OciReference) -> Result<(), TrustError> {
        let is_listed =
            self.entries.as_ref().is_none_or(|entries| entry_of(entries, &reference.name()).is_some());
        if is_listed { Ok(()) } else { Err(unlisted(reference)) }
    }

    /// Checks a component before it is compiled. Returns the key that signed it, if the policy has keys for it and one of them
    /// did. `is_pinned` tells whether the suite or its lock has the digest of the component.
    ///
    /// Signatures are verified for each requirement, because runs record the signer. `signatures` is called only if the
    /// policy has keys for the component.
    ///
    /// # Errors
    /// If the policy does not allow the component.
    pub fn check(
        &self,
        origin: PackageOrigin<'_>,
        subject: &Subject,
        is_pinned: bool,
        signatures: &dyn Fn() -> Vec<Signature>,
    ) -> Result<Option<Signer>, TrustError> {
        let Some(entries) = &self.entries else { return Ok(None) };
        let is_package = matches!(origin, PackageOrigin::Registry(_));
        let (plugin, entry) = match origin {
            PackageOrigin::Bundled => return Ok(None),
            PackageOrigin::File(path) => {
                let Some(entry) = entries.iter().find(|entry| entry.scope == TrustScope::Files) else {
                    return Ok(None);
                };
                (path.display().to_string(), entry)
            }
            PackageOrigin::Registry(reference) => {
                let entry = entry_of(entries, &reference.name()).ok_or_else(|| unlisted(reference))?;
                (reference.to_string(), entry)
            }
        };
        let may_lack_digest = is_package && self.allows_unpinned;
        let name = || entry.scope.to_string();
        match (entry.requirement, entry.signer(subject, signatures)) {
            (TrustRequirement::Signature, Err(reason)) => Err(TrustError::Unsigned {
                plugin,
                is_package,
                entry: name(),
                keys: entry.key_names(),
                reason,
            }),
            (TrustRequirement::Digest, _) if !(is_pinned || may_lack_digest) => {
                let component = subject.component;
                Err(TrustError::NotPinned { plugin, is_package, entry: name(), component })
            }
            (_, signer) => Ok(signer.ok()),
        }
    }
}

impl TrustEntry {
    fn load(rule: &TrustRule) -> Result<TrustEntry, TrustError> {
        let load = |path: &PathBuf| -> Result<TrustedKey, TrustError> {
            let failed = |problem: String| TrustError::Key {
                path: path.clone(),
                entry: rule.scope.to_string(),
                problem,
            };
            let text = read_named_text(path, KEY_LIMIT).map_err(|error| failed(system_message(&error)))?;
            let key = VerifyingKey::from_pem(&text).map_err(|error| failed(error.to_string()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(TrustedKey { name, path: path.clone(), key })
        };
        let keys = rule.keys.iter().map(load).collect::<Result<_, _>>()?;
        Ok(TrustEntry { scope: rule.scope.clone(), requirement: rule.requirement, keys })
    }

    /// Returns the key of this entry that signed a component.
    fn signer(
        &self,
        subject: &Subject,
        signatures: &dyn Fn() -> Vec<Signature>,
    ) -> Result<Signer, SignatureError> {
        if self.keys.is_empty() {
            return Err(SignatureError::NoKeys);
        }
        let keys: Vec<VerifyingKey> = self.keys.iter().map(|trusted| trusted.key.clone()).collect();
        let key = verify(&signatures(), subject, &keys)?;
        let trusted = self.keys.iter().find(|trusted| trusted.key == *key);
        let name = trusted.map(|trusted| trusted.name.clone()).unwrap_or_default();
        Ok(Signer { key: name, fingerprint: key.fingerprint() })
    }

    fn key_names(&self) -> String {
        name_list(self.keys.iter().map(|key| &key.name), MAX_SHOWN_KEYS, " or ")
    }
}

fn unlisted(reference: &OciReference) -> TrustError {
    TrustError::Unlisted { plugin: reference.to_string(), registry: reference.registry().to_owned() }
}

/// Returns the entry with the longest path that a repository is at or below. `name` is the registry and the repository.
fn entry_of<'t>(entries: &'t [TrustEntry], name: &str) -> Option<&'t TrustEntry> {
    let covering = entries.iter().filter_map(|entry| match &entry.scope {
        TrustScope::Registry(path) if is_at_or_below(name, path) => Some((path.len(), entry)),
        _ => None,
    });
    covering.max_by_key(|(length, _)| *length).map(|(_, entry)| entry)
}

/// Returns whether a name begins with all segments of a path.
fn is_at_or_below(name: &str, path: &str) -> bool {
    name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;

//! `trust` of the policy file: which plugins may score.
//!
//! ```yaml
//! trust:
//!   registry.example/metrics: {keys: [~/keys/team.pub], require: signature}
//!   registry.example/tools: {require: digest}
//!   files: {keys: [team.pub], require: signature}
//! ```

use crate::mapping_reader::MappingReader;
use crate::node::Entry;
use crate::problems::Problems;
use crate::source::expand_home;
use gage_core::{OciReference, nearest, shown_name};
use std::fmt;
use std::path::{Path, PathBuf};
use strum::{IntoStaticStr, VariantArray};

/// Name of the entry for components that are files.
const FILES: &str = "files";
/// Maximum number of keys of an entry.
const MAX_KEYS: usize = 64;
/// Help for a key of an entry that has no value.
const HELP_FOR_EMPTY: &str = "list the files of public keys: `keys: [team.pub]`; if every component may score, write only \
                              `require: nothing`";

/// Which plugins may score. A registry that no rule names is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustPolicy {
    /// The rules, in the order of the file. Their scopes differ.
    pub rules: Vec<TrustRule>,
}

/// What a policy requires of some plugins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRule {
    /// The plugins that the rule is about.
    pub scope: TrustScope,
    /// Files of the public keys whose signatures count.
    pub keys: Vec<PathBuf>,
    /// What a plugin must have.
    pub requirement: TrustRequirement,
}

/// Plugins that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustScope {
    /// Components of a registry. The text is a registry, or a registry and the first segments of repositories.
    Registry(String),
    /// Components that are files.
    Files,
}

impl fmt::Display for TrustScope {
    /// Writes the name of the entry in the policy.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TrustScope::Registry(path) => path,
            TrustScope::Files => FILES,
        })
    }
}

/// What a plugin must have so that it may score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TrustRequirement {
    /// A signature with one of the keys.
    Signature,
    /// A digest in the suite or its lock.
    Digest,
    /// Nothing.
    Nothing,
}

impl TrustPolicy {
    /// Reads the key `trust`. Relative paths of keys begin in `folder`.
    pub(crate) fn read(
        table: &mut MappingReader<'_>,
        folder: &Path,
        problems: &mut Problems,
    ) -> Option<TrustPolicy> {
        let Some(node) = table.free_map("trust", problems) else {
            if let Some(span) = table.key_without_value("trust") {
                let help = "write `trust: {}` to refuse every registry, or remove the key so that every plugin may score";
                problems.error(span, "trust", "`trust` has no value").help(help);
            }
            return None;
        };
        let entries = node.as_map().unwrap_or_default();
        let rules = entries.iter().filter_map(|entry| TrustRule::read(entry, folder, problems)).collect();
        Some(TrustPolicy { rules })
    }
}

impl TrustRule {
    fn read(entry: &Entry, folder: &Path, problems: &mut Problems) -> Option<TrustRule> {
        let path = format!("trust.{}", entry.key);
        let Some(scope) = scope_of(&entry.key) else {
            let name = shown_name(&entry.key);
            let message =
                format!("`{name}` in `trust` is neither a registry nor the beginning of a repository");
            let help = "write it like registry.example, registry.example/metrics or localhost:5000/metrics: in lower case, \
                        without `oci://` and without a tag; the entry `files` is about files";
            problems.error(entry.key_span, &path, message).help(help);
            return None;
        };
        let mut table = MappingReader::open(&entry.node, path, problems)?;
        let listed = table.texts("keys", problems);
        let given = table.variant("require", problems);
        // An empty value would allow every component.
        for key in ["keys", "require"] {
            if let Some(span) = table.key_without_value(key) {
                let message = format!("`{key}` has no value");
                problems.error(span, &table.path_of(key), message).help(HELP_FOR_EMPTY);
            }
        }
        let is_empty_list = listed.as_ref().is_some_and(Vec::is_empty);
        if is_empty_list {
            table.error("keys", "`keys` is empty", problems).help(HELP_FOR_EMPTY);
        }
        let keys = listed.unwrap_or_default();
        if keys.len() > MAX_KEYS {
            let message = format!("`keys` has {} entries; at most {MAX_KEYS} are allowed", keys.len());
            table.error("keys", message, problems);
        }
        // A user who lists keys expects that they are needed.
        let default = if keys.is_empty() { TrustRequirement::Nothing } else { TrustRequirement::Signature };
        let requirement = given.unwrap_or(default);
        if requirement == TrustRequirement::Signature && keys.is_empty() && !is_empty_list {
            let message = "`require: signature` needs `keys`";
            table
                .error("require", message, problems)
                .help("list the files of public keys: `keys: [team.pub]`");
        }
        table.finish(problems);
        let keys = keys.iter().map(|key| folder.join(expand_home(key))).collect();
        Some(TrustRule { scope, keys, requirement })
    }
}

/// Returns the scope of an entry; `None` if its name is not one.
fn scope_of(name: &str) -> Option<TrustScope> {
    if name == FILES {
        return Some(TrustScope::Files);
    }
    let is_misspelt = !name.contains(['.', ':', '/']) && nearest(name, [FILES]).is_some();
    // A name is the beginning of a repository if a segment can follow it. References have the registry in lower case.
    let continued = format!("oci://{name}/x:1").parse::<OciReference>().ok()?;
    match !is_misspelt && continued.name().strip_suffix("/x") == Some(name) {
        true => Some(TrustScope::Registry(name.to_owned())),
        false => None,
    }
}

//! One file for each element of the configuration: its keys, their defaults and their meaning.

pub mod backend;
pub mod dataset;
pub mod metric;
mod metric_call;
pub mod prompt;
pub mod role;
pub mod sampling;
pub mod step;
pub mod task;

use crate::node::Node;
use crate::problems::Problems;
use std::path::PathBuf;

/// The aggregations that the host ships, by name.
pub const METRIC_AGGREGATIONS: [&str; 7] =
    ["mean", "weighted_mean", "sum", "min", "max", "median", "identity"];

/// How configuration names a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PluginReference {
    /// A short name in the registry: `exact_match`.
    Name(String),
    /// A component's file, and which of its members where it has several:
    /// `./my_metric.wasm#strict`.
    File {
        /// The file, relative to the working folder.
        path: PathBuf,
        /// The member's name.
        member: Option<String>,
    },
}

impl PluginReference {
    /// Reads a reference: whatever has a `/` or ends in `.wasm` is a file.
    pub(crate) fn parse(text: &str) -> PluginReference {
        let (path, member) = match text.split_once('#') {
            Some((path, member)) => (path, Some(member.to_owned())),
            None => (text, None),
        };
        if path.ends_with(".wasm") || path.contains('/') {
            PluginReference::File { path: PathBuf::from(path), member }
        } else {
            PluginReference::Name(text.to_owned())
        }
    }

    /// Reads a reference, and refuses what the reference implementation took instead: class
    /// paths.
    pub(crate) fn read(
        node: &Node,
        key: &str,
        text: &str,
        problems: &mut Problems,
    ) -> Option<PluginReference> {
        let reference = PluginReference::parse(text);
        if let PluginReference::Name(name) = &reference
            && (name.contains(':') || name.contains('.'))
        {
            problems
                .error(
                    node.span,
                    key,
                    format!("`{name}` looks like a Python class path, which is never loaded"),
                )
                .help("name a plugin by its short name (`gage-host list`) or by its file (./my_metric.wasm)");
            return None;
        }
        Some(reference)
    }
}

impl std::fmt::Display for PluginReference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PluginReference::Name(name) => formatter.write_str(name),
            PluginReference::File { path, member: None } => write!(formatter, "{}", path.display()),
            PluginReference::File { path, member: Some(member) } => {
                write!(formatter, "{}#{member}", path.display())
            }
        }
    }
}

/// Reports every id that occurs twice.
pub(crate) fn check_unique<'a>(
    what: &str,
    ids: impl Iterator<Item = (&'a str, crate::source::Span)>,
    problems: &mut Problems,
) {
    let mut seen: Vec<&str> = Vec::new();
    for (id, span) in ids {
        if seen.contains(&id) {
            problems.error(span, what, format!("the {what} `{id}` occurs twice")).help("each must be unique");
        }
        seen.push(id);
    }
}

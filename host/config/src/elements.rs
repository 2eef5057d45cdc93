//! One file per configuration element, with its keys, defaults and meaning.

mod address;
pub mod backend;
pub mod budget;
pub mod cache;
pub mod dataset;
pub mod embed_step;
pub mod gate;
pub mod judge_step;
pub mod metric;
pub mod metric_call;
pub mod plugin;
pub mod plugin_call;
pub mod pricing;
pub mod prompt;
pub mod role;
mod sample_path;
pub mod sampling;
pub mod step;
pub mod step_order;
pub mod support_step;
pub mod task;

use crate::problems::Problems;
use crate::resources::ResourceKind;
use crate::source::Span;
use std::collections::HashSet;
use std::path::PathBuf;

/// Names of the aggregations that the host ships. Percentiles are also accepted, see [`is_aggregation`].
pub const METRIC_AGGREGATIONS: [&str; 10] =
    ["mean", "weighted_mean", "sum", "min", "max", "median", "count", "pass_rate", "categorical", "identity"];

/// Returns true if the host ships an aggregation of this name: one of [`METRIC_AGGREGATIONS`], or a percentile from
/// `p1` to `p99`.
pub fn is_aggregation(name: &str) -> bool {
    let is_percentile = || {
        let digits = name.strip_prefix("percentile_").or_else(|| name.strip_prefix('p'));
        digits.and_then(|digits| digits.parse().ok()).is_some_and(|number: u8| (1..=99).contains(&number))
    };
    METRIC_AGGREGATIONS.contains(&name) || is_percentile()
}

/// Reference to a plugin, as written in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PluginReference {
    /// A short name: `exact_match`, or the id of a `plugins` entry that contains a single plugin.
    Name(String),
    /// A member of a `plugins` entry: `vendor#exact_match`.
    Member {
        /// The entry's id, or the name of a bundled component.
        plugin: String,
        /// The member's name.
        member: String,
    },
    /// A component file, and which of its members if it has several: `./my_metric.wasm#strict`.
    File {
        /// The file, relative to the working folder.
        path: PathBuf,
        /// The member's name.
        member: Option<String>,
    },
}

impl PluginReference {
    /// Parses a reference: anything that contains a `/` or ends in `.wasm` is a file.
    pub(crate) fn parse(text: &str) -> PluginReference {
        let (front, member) = match text.split_once('#') {
            Some((front, member)) => (front, Some(member.to_owned())),
            None => (text, None),
        };
        match member {
            member if front.ends_with(".wasm") || front.contains('/') => {
                PluginReference::File { path: PathBuf::from(front), member }
            }
            Some(member) => PluginReference::Member { plugin: front.to_owned(), member },
            None => PluginReference::Name(text.to_owned()),
        }
    }

    /// Reads a reference to a plugin of the given kind (`metric`), and rejects the class paths that the older
    /// program accepted.
    pub(crate) fn read(
        span: Span,
        key: &str,
        text: &str,
        kind: &str,
        problems: &mut Problems,
    ) -> Option<PluginReference> {
        if text.starts_with(plugin::REGISTRY_SCHEME) {
            let (whole, member) = text.split_once('#').map_or((text, ""), |(whole, member)| (whole, member));
            let name = if member.is_empty() { "my_plugin".to_owned() } else { format!("my_plugin#{member}") };
            problems
                .error(
                    span,
                    key,
                    format!("`{text}` is a package of a registry, which only `plugins` may name"),
                )
                .help(format!(
                    "add {{id: my_plugin, source: {whole}}} to `plugins`, and write `{name}` here"
                ));
            return None;
        }
        let reference = PluginReference::parse(text);
        let (front, is_python) = match &reference {
            PluginReference::Name(name) | PluginReference::Member { plugin: name, .. } => {
                (text, name.contains([':', '.']))
            }
            PluginReference::File { path, .. } => {
                let front = path.to_str().unwrap_or_default();
                (front, front.ends_with(".py"))
            }
        };
        let last = front.rsplit([':', '.']).next().unwrap_or_default();
        if is_python && kind == "doc-hook" && BUILT_IN_HOOKS.contains(&last) {
            problems
                .error(
                    span,
                    key,
                    format!("`{front}` names Python code, which is never loaded into this program"),
                )
                .help(format!("write `{last}`: a hook of this name is built in"));
            return None;
        }
        if is_python {
            refuse_python(span, key, &format!("`{front}`"), kind, problems);
            return None;
        }
        if let PluginReference::File { path, .. } = &reference {
            problems.add_resource(span, key, ResourceKind::Component(path.clone()));
        }
        Some(reference)
    }
}

/// Doc hooks that have the same name as in the older program.
const BUILT_IN_HOOKS: [&str; 1] = ["embed_local_message_images"];

/// Reports what replaces Python code that the older program loaded, and how to port it.
pub(crate) fn refuse_python(span: Span, key: &str, what: &str, kind: &str, problems: &mut Problems) {
    let place = match kind {
        "role-adapter" => format!("that file is named as `adapter`: ./my-{kind}.wasm"),
        "backend" => "that file is named as `component`: ./my-backend.wasm".to_owned(),
        "judge" => "that file is named by the step: {step: judge, judge: ./my-judge.wasm}".to_owned(),
        _ => format!("that file is named here: ./my-{kind}.wasm"),
    };
    problems.error(span, key, format!("{what} names Python code, which is never loaded into this \
        program")).help(format!(
        "use a WebAssembly component. `gage-host plugin new --lang python --kind {kind} my-{kind}` makes a project \
         to move the code into, `gage-host plugin build` makes a .wasm file of it; {place}. `gage-host list` shows what exists already"
    ));
}

impl std::fmt::Display for PluginReference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PluginReference::Name(name) => formatter.write_str(name),
            PluginReference::Member { plugin, member } => write!(formatter, "{plugin}#{member}"),
            PluginReference::File { path, member: None } => write!(formatter, "{}", path.display()),
            PluginReference::File { path, member: Some(member) } => {
                write!(formatter, "{}#{member}", path.display())
            }
        }
    }
}

/// Reports every duplicate id.
pub(crate) fn check_unique<'a>(
    what: &str,
    ids: impl Iterator<Item = (&'a str, Span)>,
    problems: &mut Problems,
) {
    let mut seen: HashSet<&str> = HashSet::new();
    for (id, span) in ids {
        if !seen.insert(id) {
            problems.error(span, what, format!("the {what} `{id}` occurs twice")).help("each must be unique");
        }
    }
}

//! `gage-host list`: lists everything that a suite can name.

use super::permissions::permissions;
use super::setup;
use crate::arguments::{DEFAULT_LOG, ListArguments, ListKind};
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_config::{Permissions, Purpose};
use gage_plugin::{ListedPlugin, Registry, RegistryError, World};
use gage_suite::LoadedSuite;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Maximum number of names of several plugins that are shown.
const MAX_SHOWN_CONFLICTS: usize = 20;

pub(crate) fn execute(arguments: &ListArguments) -> anyhow::Result<ExitCode> {
    show(arguments, arguments.what.as_slice())
}

/// Lists some kinds, or all of them.
pub(super) fn show(arguments: &ListArguments, kinds: &[ListKind]) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let permissions = permissions(&arguments.permissions)?;
    let registry =
        registry(arguments.config.as_deref(), &permissions, &arguments.plugin_folders, arguments.quiet)?;
    let all = collect(&registry, kinds).map_err(|error| setup::refuse_plugin(&error))?;
    if arguments.json {
        terminal::print_json(format_args!("{:#}", Value::Object(all)))?;
    } else {
        print(&all)?;
    }
    let conflicts = registry.conflicts()?;
    for conflict in conflicts.iter().take(MAX_SHOWN_CONFLICTS) {
        setup::refuse_plugin(conflict);
    }
    let others = conflicts.len().saturating_sub(MAX_SHOWN_CONFLICTS);
    if others > 0 {
        let names = terminal::count(others, "further name");
        terminal::usage_error(&format!("{names} in several plugins, not shown here"), None);
    }
    Ok(if conflicts.is_empty() { ExitCode::Done } else { ExitCode::Configuration })
}

/// Registers the components of some folders and the plugins of a suite, and ignores the rest of the suite.
pub(super) fn registry(
    suite: Option<&Path>,
    permissions: &Permissions,
    folders: &[PathBuf],
    quiet: bool,
) -> anyhow::Result<Registry> {
    let mut registry = setup::registry(folders, quiet)?;
    let Some(path) = suite else { return Ok(registry) };
    let LoadedSuite { config, mut problems, .. } = setup::loaded(path, &[], permissions, Purpose::Plugins);
    for plugin in config.iter().flat_map(|config| &config.plugins) {
        if let Err(error) = registry.add(plugin) {
            problems.error(plugin.spans.entry, "plugins", error.to_string()).help = error.help();
            if matches!(error, RegistryError::Untrusted(_)) {
                problems.note_untrusted_plugin();
            }
        }
    }
    terminal::show_problems(&problems);
    if problems.has_errors() { Err(setup::code_of(&problems).into()) } else { Ok(registry) }
}

const BACKENDS: [(&str, &str); 8] = [
    ("openai_http", "Any server that speaks the OpenAI chat completions API"),
    ("anthropic_http", "The messages API of Anthropic"),
    ("gemini_http", "The Gemini API"),
    ("tgi", "The native API of text-generation-inference"),
    ("hf_inference_endpoint", "A Hugging Face inference endpoint that continues texts"),
    ("llama_cpp", "A GGUF file, run by llama.cpp"),
    ("custom_script", "A WebAssembly component that answers in place of a model"),
    ("answers", "A file of answers that were made elsewhere"),
];

const LOADERS: [(&str, &str); 6] = [
    ("jsonl", "One JSON object per line; may be compressed with gzip or zstd"),
    ("json", "One JSON array of objects; may be compressed"),
    ("csv", "Comma-separated values with a header line; may be compressed"),
    ("tsv", "Tab-separated values with a header line; may be compressed"),
    ("parquet", "Apache Parquet"),
    ("hf_hub", "A dataset on a hub with Hugging Face's API, downloaded once and verified"),
];

/// Kinds with their headings, and their plugins.
const LISTS: [(ListKind, &str, Option<World>); 10] = [
    (ListKind::Metrics, "metrics", Some(World::Metric)),
    (ListKind::Preprocessors, "preprocessors", Some(World::Preprocessor)),
    (ListKind::Hooks, "hooks", Some(World::DocHook)),
    (ListKind::Aggregators, "aggregators", Some(World::Aggregator)),
    (ListKind::Judges, "judges", Some(World::Judge)),
    (ListKind::Extractors, "extractors", Some(World::Extractor)),
    (ListKind::Adapters, "adapters", Some(World::RoleAdapter)),
    (ListKind::Backends, "backends", Some(World::Backend)),
    (ListKind::Loaders, "loaders", None),
    (ListKind::Plugins, "plugins", None),
];

fn collect(registry: &Registry, kinds: &[ListKind]) -> Result<Map<String, Value>, RegistryError> {
    let plugins = registry.list()?;
    let mut all = Map::new();
    for (kind, heading, world) in LISTS {
        if !kinds.is_empty() && !kinds.contains(&kind) {
            continue;
        }
        let mut entries: Vec<Value> = match kind {
            ListKind::Backends => named(&BACKENDS),
            ListKind::Loaders => named(&LOADERS),
            _ => Vec::new(),
        };
        let mut found = Vec::new();
        for plugin in &plugins {
            if kind == ListKind::Plugins {
                found.push(describe_plugin(plugin));
            }
            if Some(plugin.world()) == world {
                found.extend(plugin.members().iter().filter_map(|member| {
                    let mut entry = serde_json::to_value(member).ok()?;
                    // A backend is named after its plugin; other members have their own names.
                    if kind == ListKind::Backends {
                        entry["name"] = plugin.id.as_str().into();
                    }
                    entry["plugin"] = plugin.id.as_str().into();
                    entry["source"] = plugin.source.as_str().into();
                    entry["digest"] = json!(plugin.summary.digest);
                    Some(entry)
                }));
            }
        }
        found.sort_by(|one, two| one["name"].as_str().cmp(&two["name"].as_str()));
        entries.extend(found);
        // Omits empty lists of kinds that were not requested.
        if !entries.is_empty() || !kinds.is_empty() {
            all.insert(heading.to_owned(), Value::Array(entries));
        }
    }
    Ok(all)
}

fn named(entries: &[(&str, &str)]) -> Vec<Value> {
    entries.iter().map(|(name, description)| json!({"name": name, "description": description})).collect()
}

fn describe_plugin(plugin: &ListedPlugin) -> Value {
    let ListedPlugin { id, source, summary, described, signer } = plugin;
    let capabilities: Vec<&str> = summary.capabilities().iter().map(|one| one.name()).collect();
    let mut value = json!({
        "name": id,
        "description": described.description,
        "kind": summary.world.kind(),
        "version": described.version,
        "source": source,
        "digest": summary.digest,
        "size": summary.size,
        "wit_version": summary.wit_version,
        "capabilities": capabilities,
        "members": described.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(),
    });
    if let Some(signer) = signer {
        value["signer"] = json!({"key": signer.key, "fingerprint": signer.fingerprint});
    }
    value
}

fn print(all: &Map<String, Value>) -> anyhow::Result<()> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entries = || all.values().filter_map(Value::as_array).flatten();
    let width_of = |key: &str| entries().map(|entry| text(entry, key).chars().count()).max().unwrap_or(0);
    let (width, versions) = (width_of("name"), width_of("version"));
    for (number, (kind, list)) in all.iter().enumerate() {
        if number > 0 {
            terminal::print_line("")?;
        }
        terminal::print_line(kind)?;
        let list = list.as_array().context("a list of names")?;
        if list.is_empty() {
            terminal::print_line("  none")?;
        }
        for entry in list {
            let (name, version) = (text(entry, "name"), text(entry, "version"));
            // Bundled components do not repeat their source in each line.
            let source = match text(entry, "source") {
                source if source.ends_with(".wasm") || source.starts_with("oci://") => format!(" ({source})"),
                _ => String::new(),
            };
            let name = format!("  {name:width$}  {version:versions$}  ");
            let description = format!("{}{source}", text(entry, "description"));
            let shown =
                terminal::beside(&gage_core::printable_line(&name), &gage_core::printable_line(&description));
            terminal::print_line(shown.trim_end())?;
        }
    }
    Ok(())
}

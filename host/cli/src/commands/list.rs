//! `gage-host list`: what a suite can name.

use super::setup;
use crate::arguments::{DEFAULT_LOG, ListArguments, Listed};
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_config::PluginReference;
use gage_plugin::{Registry, World};
use serde_json::{Map, Value, json};

pub(crate) fn execute(arguments: &ListArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let registry = setup::registry()?;
    let mut all = Map::new();
    let is_wanted = |kind| arguments.what.is_none_or(|what| what == kind);
    if is_wanted(Listed::Metrics) {
        all.insert("metrics".to_owned(), metrics(&registry)?);
    }
    if is_wanted(Listed::Preprocessors) {
        all.insert("preprocessors".to_owned(), preprocessors(&registry)?);
    }
    if is_wanted(Listed::Backends) {
        all.insert("backends".to_owned(), named(&BACKENDS));
    }
    if is_wanted(Listed::Loaders) {
        all.insert("loaders".to_owned(), named(&LOADERS));
    }
    if arguments.json {
        terminal::answer(format_args!("{:#}", Value::Object(all)))?;
    } else {
        print(&all)?;
    }
    Ok(ExitCode::Done)
}

const BACKENDS: [(&str, &str); 3] = [
    ("openai_http", "Any server that speaks the OpenAI chat completions API"),
    ("llama_cpp", "A GGUF file, run by llama.cpp in this process"),
    ("custom_script", "A WebAssembly component that answers in place of a model"),
];

const LOADERS: [(&str, &str); 1] = [("jsonl", "One JSON object a line")];

fn named(entries: &[(&str, &str)]) -> Value {
    entries.iter().map(|(name, description)| json!({"name": name, "description": description})).collect()
}

fn metrics(registry: &Registry) -> anyhow::Result<Value> {
    let mut found = Vec::new();
    for component in registry.bundled().iter().filter(|component| component.world == World::Metric) {
        let Some(first) = component.members.first() else { continue };
        let (family, _) = registry.metric(&PluginReference::Name((*first).to_owned()))?;
        for description in family.descriptions() {
            let mut entry = serde_json::to_value(&description).context("a description of a metric")?;
            entry["component"] = component.name.into();
            found.push(entry);
        }
    }
    Ok(sorted(found))
}

fn preprocessors(registry: &Registry) -> anyhow::Result<Value> {
    let mut found = Vec::new();
    for component in registry.bundled().iter().filter(|component| component.world == World::Preprocessor) {
        let Some(first) = component.members.first() else { continue };
        let (family, _) = registry.preprocessor(&PluginReference::Name((*first).to_owned()))?;
        for description in family.descriptions() {
            let mut entry = serde_json::to_value(description).context("a description of a preprocessor")?;
            entry["component"] = component.name.into();
            found.push(entry);
        }
    }
    Ok(sorted(found))
}

fn sorted(mut entries: Vec<Value>) -> Value {
    entries.sort_by(|one, two| one["name"].as_str().cmp(&two["name"].as_str()));
    Value::Array(entries)
}

fn print(all: &Map<String, Value>) -> anyhow::Result<()> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entries = || all.values().filter_map(Value::as_array).flatten();
    let width = entries().map(|entry| text(entry, "name").chars().count()).max().unwrap_or(0);
    for (number, (kind, list)) in all.iter().enumerate() {
        if number > 0 {
            terminal::answer("")?;
        }
        terminal::answer(kind)?;
        for entry in list.as_array().into_iter().flatten() {
            terminal::answer(format_args!(
                "  {:width$}  {}",
                text(entry, "name"),
                text(entry, "description")
            ))?;
        }
    }
    Ok(())
}

//! Tests that the schema and the readers agree.

use super::suite_schema;
use crate::mapping_reader::asked_keys;
use crate::pipeline::{Environment, load};
use gage_core::SamplingParams;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A suite with a mapping of each kind.
const EVERY_KIND: &str = include_str!("every_kind.yaml");

/// Mappings with other readers: the core reads sampling parameters, `gage-suite` a RunConfig, and the short form a model.
const OTHER_READERS: [&str; 5] = ["sampling_params", "run_config", "runtime", "dataset_params", "model"];

/// The possible mappings at each path.
type Mappings<'s> = BTreeMap<String, Vec<&'s Value>>;

/// Adds the schemas that may apply in place of `schema`: itself, its references, and those of its conditions.
fn add_alternatives<'s>(root: &'s Value, schema: &'s Value, found: &mut Vec<&'s Value>) {
    if found.iter().any(|known| std::ptr::eq(*known, schema)) {
        return;
    }
    found.push(schema);
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#'));
        add_alternatives(root, target.expect("a reference that leads somewhere"), found);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for member in schema[keyword].as_array().into_iter().flatten() {
            add_alternatives(root, member, found);
        }
    }
    if schema.get("then").is_some() {
        add_alternatives(root, &schema["then"], found);
    }
}

/// Adds the mappings at a path and below it. A key of any name is `*`.
fn add_mappings<'s>(root: &'s Value, path: &str, schemas: &[&'s Value], mappings: &mut Mappings<'s>) {
    let mut all = Vec::new();
    for schema in schemas {
        add_alternatives(root, schema, &mut all);
    }
    let mut below: Mappings<'s> = BTreeMap::new();
    for schema in all {
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            below.entry(place).or_default().push(value);
        }
        if schema["additionalProperties"].is_object() {
            below.entry(format!("{path}.*")).or_default().push(&schema["additionalProperties"]);
        }
        if schema["items"].is_object() {
            below.entry(format!("{path}[]")).or_default().push(&schema["items"]);
        }
        if schema["properties"].is_object() {
            mappings.entry(path.to_owned()).or_default().push(schema);
        }
    }
    for (path, schemas) in below {
        add_mappings(root, &path, &schemas, mappings);
    }
}

fn keys(mapping: &Value) -> impl Iterator<Item = &str> {
    mapping["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str())
}

#[test]
fn schema_has_the_keys_that_readers_ask_for() {
    asked_keys::take();
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load("every_kind.yaml", EVERY_KIND, &[], &environment);
    assert!(config.is_some() && !problems.has_errors(), "{:?}", problems.sorted());
    let asked = asked_keys::take();
    let schema = suite_schema();
    let mut mappings = BTreeMap::new();
    add_mappings(&schema, "", &[&schema["$defs"]["pipeline_config"]], &mut mappings);
    let mut differences = String::new();
    for (path, asked) in &asked {
        let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
        let described = mappings.get(path).or_else(|| mappings.get(&format!("{parent}.*")));
        let described: BTreeSet<&str> =
            described.into_iter().flatten().flat_map(|mapping| keys(mapping)).collect();
        for key in asked.iter().filter(|key| !described.contains(**key)) {
            differences.push_str(&format!("the schema lacks `{key}` of `{path}`\n"));
        }
    }
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        if OTHER_READERS.contains(&name.as_str()) {
            continue;
        }
        let is_here = |schemas: &Vec<&Value>| schemas.iter().any(|schema| std::ptr::eq(*schema, definition));
        let places = mappings.iter().filter(|(_, schemas)| is_here(schemas));
        let asked: BTreeSet<&str> = places
            .flat_map(|(path, _)| {
                let prefix = path.trim_end_matches('*');
                let is_at =
                    move |asked: &str| asked == path || path.ends_with(".*") && asked.starts_with(prefix);
                asked.iter().filter(move |(path, _)| is_at(path)).flat_map(|(_, keys)| keys.iter().copied())
            })
            .collect();
        for key in keys(definition).filter(|key| !asked.contains(key)) {
            differences.push_str(&format!("no reader asks for `{key}` of the definition `{name}`\n"));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn schema_has_the_sampling_params_of_the_core() {
    let schema = suite_schema();
    let described: BTreeSet<&str> = keys(&schema["$defs"]["sampling_params"]).collect();
    for key in &described {
        let value = if *key == "stop" { json!("x") } else { json!(1) };
        let object = json!({*key: value}).as_object().cloned().expect("an object");
        assert!(SamplingParams::from_object(object).is_ok(), "{key}");
    }
    for key in SamplingParams::NAMES {
        assert!(described.contains(key), "the schema lacks {key}");
    }
}

#[test]
fn schema_accepts_its_defaults_and_examples() {
    let schema = suite_schema();
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            let mut alone = property.clone();
            alone["$defs"] = schema["$defs"].clone();
            let validator = jsonschema::validator_for(&alone).expect("a schema");
            let examples =
                property["examples"].as_array().into_iter().flatten().chain(property.get("default"));
            for example in examples {
                assert!(validator.is_valid(example), "{name}.{key}: {example}");
            }
            let shared =
                property["$ref"].as_str().and_then(|path| schema.pointer(path.trim_start_matches('#')));
            let description = property.get("description").or_else(|| shared?.get("description"));
            assert!(description.is_some(), "{name}.{key} has no description");
        }
    }
}

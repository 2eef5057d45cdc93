//! Page of the keys of a suite, from its JSON Schema.

use super::markdown::{code, flow, heading, table, type_of};
use serde_json::Value;

const INTRODUCTION: &str = "\
Every mapping of a suite, with its keys. `gage-host schema suite` prints the JSON Schema that this page is made from, and \
`gage-host validate SUITE` checks a suite. \
`${NAME}` and `${NAME:-default}` are replaced by environment variables anywhere in a text. [Rules of suites](../concepts/suites.md) explains variables, \
paths, plugin names and secrets.";

/// Returns the page of all mappings, in the order of the schema's definitions.
pub(super) fn page(schema: &Value) -> String {
    let mut page = heading("Suite", INTRODUCTION);
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        if definition["title"].is_string() {
            add_mapping(schema, name, definition, &mut page);
        }
    }
    page
}

/// Returns the mapping whose keys a mapping shares, if there is one.
fn shared_keys<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let shared = match name {
        "task" => "task_defaults",
        _ if name.starts_with("dataset_params_") => "dataset_params",
        _ if name.starts_with("backend_") && schema["$defs"][name]["allOf"].is_array() => "backend_http",
        _ => return None,
    };
    Some(&schema["$defs"][shared])
}

fn link(definition: &Value) -> String {
    let title = title_of(definition).replace('[', "\\[").replace(']', "\\]");
    format!("[{title}](#{})", anchor(title_of(definition)))
}

fn title_of(definition: &Value) -> &str {
    definition["title"].as_str().unwrap_or("Suite")
}

/// Returns the id that mdBook and GitHub give to a heading.
fn anchor(title: &str) -> String {
    let letters = title.to_lowercase();
    letters
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

fn target<'s>(schema: &'s Value, of: &'s Value) -> Option<&'s Value> {
    of["$ref"].as_str().and_then(|reference| schema.pointer(reference.trim_start_matches('#')))
}

/// Returns the type of a value, with links to mappings of the page.
fn linked_type(schema: &Value, of: &Value) -> String {
    match of["$ref"].as_str() {
        // Every value may be a variable, which the page says once.
        Some("#/$defs/placeholder") => return String::new(),
        Some("#/$defs/text") => return "string".to_owned(),
        Some("#/$defs/id") => return "id".to_owned(),
        Some("#/$defs/sha256") => return "SHA-256".to_owned(),
        // The steps are the mappings after this one.
        Some("#/$defs/step") => return "step".to_owned(),
        _ => {}
    }
    if let Some(definition) = target(schema, of) {
        return match definition["title"].is_string() {
            true => link(definition),
            false => linked_type(schema, definition),
        };
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(members) = of[keyword].as_array() {
            let mut types: Vec<String> = members.iter().map(|member| linked_type(schema, member)).collect();
            types.retain(|text| !text.is_empty() && text != "null");
            types.dedup();
            return types.join(" or ");
        }
    }
    if of["type"] == "array" && of["items"].is_object() {
        return format!("list of {}", linked_type(schema, &of["items"]));
    }
    if of["type"] == "object" && of["additionalProperties"].is_object() {
        let values = linked_type(schema, &of["additionalProperties"]);
        return if values.is_empty() { "mapping".to_owned() } else { format!("mapping of {values}") };
    }
    type_of(of)
}

/// Says when a condition holds, such as "`type` is `llama_cpp`".
fn condition(of: &Value) -> String {
    let mut parts = Vec::new();
    for (key, value) in of["properties"].as_object().into_iter().flatten() {
        let values: Vec<String> = match (value.get("const"), value["enum"].as_array()) {
            (Some(value), _) => vec![code(&flow(value))],
            (None, Some(values)) => values.iter().map(|value| code(&flow(value))).collect(),
            (None, None) => Vec::new(),
        };
        parts.push(format!("{} is {}", code(key), values.join(" or ")));
    }
    parts.join(" and ")
}

fn add_mapping(schema: &Value, name: &str, definition: &Value, page: &mut String) {
    page.push_str(&format!("\n## {}\n\n", title_of(definition)));
    if let Some(description) = definition["description"].as_str() {
        page.push_str(&format!("{description}\n"));
    }
    let shared = shared_keys(schema, name);
    if let Some(shared) = shared {
        page.push_str(&format!("\nThe keys of {} are also allowed.\n", link(shared)));
    }
    add_keys(schema, definition, shared, page);
    for conditional in definition["allOf"].as_array().into_iter().flatten() {
        let then = &conditional["then"];
        let mut parts = Vec::new();
        if let Some(target) = target(schema, then) {
            parts.push(format!("the keys are those of {}", link(target)));
        }
        for (key, value) in then["properties"].as_object().into_iter().flatten() {
            parts.push(format!("{} is {}", code(key), linked_type(schema, value)));
        }
        if !parts.is_empty() && conditional["if"]["properties"].is_object() {
            page.push_str(&format!("\nIf {}, {}.\n", condition(&conditional["if"]), parts.join(", ")));
        }
    }
}

fn add_keys(schema: &Value, definition: &Value, shared: Option<&Value>, page: &mut String) {
    let required: Vec<&str> =
        definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let rows: Vec<Vec<String>> = definition["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| shared.is_none_or(|shared| shared["properties"].get(key.as_str()).is_none()))
        .map(|(key, property)| {
            let default = match property.get("default") {
                _ if required.contains(&key.as_str()) => "required".to_owned(),
                Some(default) if !default.is_null() => code(&flow(default)),
                _ => String::new(),
            };
            let own = property["description"].as_str();
            let description =
                own.or_else(|| target(schema, property)?["description"].as_str()).unwrap_or_default();
            let example = property["examples"].as_array().and_then(|examples| examples.first());
            let example =
                example.map(|example| format!(" Example: {}.", code(&flow(example)))).unwrap_or_default();
            vec![code(key), linked_type(schema, property), default, format!("{description}{example}")]
        })
        .collect();
    if !rows.is_empty() {
        page.push('\n');
        page.push_str(&table(&["key", "type", "default", "meaning"], &rows));
    }
}

//! `gage-host plugin inspect`: describes a component, its members and the grants it requests.

use super::{file_of, host_for, read, refuse_load};
use crate::arguments::InspectArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{name_list, shortened, shown_name};
use gage_plugin::{AnyComponent, ComponentSummary, InstanceSetup, MemberDescription, summarise};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Maximum number of imports, exports, inputs, values or parameters that are shown.
const MAX_SHOWN: usize = 64;

/// Maximum length of a value of a parameter, in characters.
const MAX_VALUE_CHARS: usize = 1_000;

/// Maximum length of a declared description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 4 << 10;

pub(super) fn inspect(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    let file = file_of(arguments.file.as_deref())?;
    let name = file.display().to_string();
    let bytes = read(&file, &InstanceSetup::default())?;
    let summary = summarise(&name, &bytes).map_err(|error| refuse_load(&error))?;
    let component = match arguments.is_static {
        true => None,
        false => {
            let host = host_for(&file, arguments.print.quiet)?;
            let setup = InstanceSetup { is_only_described: true, ..InstanceSetup::default() };
            Some(AnyComponent::load(&host, &name, &bytes, &setup).map_err(|error| refuse_load(&error))?)
        }
    };
    if arguments.print.json {
        terminal::print_json(format_args!("{:#}", to_json(&name, &summary, component.as_ref())))?;
    } else {
        let text = to_text(&name, &summary, component.as_ref());
        terminal::print_line(gage_core::printable(text.trim_end()))?;
    }
    Ok(ExitCode::Done)
}

fn to_json(name: &str, summary: &ComponentSummary, component: Option<&AnyComponent>) -> Value {
    let mut value = json!({
        "file": name,
        "kind": summary.world.kind(),
        "wit_version": summary.wit_version,
        "size": summary.size,
        "digest": summary.digest,
        "imports": summary.imports,
        "exports": summary.exports,
        "packages": summary.packages,
        "grants_asked_for": summary.capabilities().iter().map(|one| one.name()).collect::<Vec<_>>(),
    });
    if let Some(component) = component {
        value["name"] = component.identity().name.as_str().into();
        value["version"] = component.identity().version.as_str().into();
        value["description"] = component.description().into();
        value["extra"] = Value::Object(component.extra().clone());
        value["limits"] = json!(component.limits());
        value["members"] = json!(component.descriptions());
    }
    value
}

fn to_text(name: &str, summary: &ComponentSummary, component: Option<&AnyComponent>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key:10}  {value}");
    };
    line("file", name);
    match component {
        Some(component) => {
            let identity = component.identity();
            let about = component.description();
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            line("plugin", &format!("{} {}{about}", identity.name, identity.version));
        }
        None => line("plugin", "not asked: only the file was read"),
    }
    line("kind", summary.world.kind());
    line("contract", &format!("gage:plugin@{}", summary.wit_version));
    line("size", &size(summary.size));
    line("digest", &summary.digest.to_string());
    let capabilities: Vec<&str> = summary.capabilities().iter().map(|one| one.name()).collect();
    let asked = if capabilities.is_empty() { "none".to_owned() } else { capabilities.join(", ") };
    line("asks for", &asked);
    if let Some(wants) = component.and_then(|component| component.extra().get("wants")) {
        line("hopes for", &shortened(&wants.to_string(), MAX_VALUE_CHARS));
    }
    line("imports", &listed(&summary.imports));
    // Build tools add exports of their own, which are not called.
    let ours = summary.exports.iter().filter(|export| export.starts_with("gage:")).cloned();
    line("exports", &listed(&ours.collect::<Vec<String>>()));
    if !summary.packages.is_empty() {
        line("contains", &listed(&summary.packages));
    }
    for member in component.iter().flat_map(|component| component.descriptions()) {
        describe_member(member, &mut text);
    }
    text
}

/// Lists the names, with those of WASI combined.
fn listed(names: &[String]) -> String {
    const SEPARATOR: &str = "\n            ";
    let (wasi, others): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| name.starts_with("wasi:"));
    let mut shown = Vec::new();
    if !others.is_empty() {
        shown.push(name_list(others, MAX_SHOWN, SEPARATOR));
    }
    if !wasi.is_empty() {
        shown.push(format!("WASI 0.2, {} interfaces: present, but empty", wasi.len()));
    }
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(SEPARATOR) }
}

/// Describes a member: its inputs, parameters and results.
pub(crate) fn describe_member(member: &MemberDescription, text: &mut String) {
    let hook = member.hook.as_ref().map(|hook| format!(" ({hook})")).unwrap_or_default();
    let _ = writeln!(text, "\n{}{hook}, version {}: {}", member.name, member.version, member.description);
    for input in &member.inputs {
        let params = name_list(&input.path_params, MAX_SHOWN, ", ");
        let paths = name_list(&input.default_paths, MAX_SHOWN, ", ");
        let _ = writeln!(text, "  reads    {:14} {params}, by default {paths}", input.name);
    }
    for (place, value) in member.values.iter().enumerate() {
        let what = if place == 0 { "gives" } else { "and" };
        let direction = if value.higher_is_better { "higher is better" } else { "lower is better" };
        let bounds = match (value.minimum, value.maximum) {
            (Some(least), Some(most)) => format!(", {least} to {most}"),
            (Some(least), None) => format!(", at least {least}"),
            (None, Some(most)) => format!(", at most {most}"),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "  {what:8} {:14} {direction}{bounds}", value.name);
    }
    describe_params(&member.params_schema, text);
}

/// Describes the parameters of a schema.
fn describe_params(schema: &Value, text: &mut String) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, schema) in properties.iter().take(MAX_SHOWN) {
        let name = shown_name(name);
        let kind = schema.get("type").or_else(|| schema.get("enum")).map(Value::to_string);
        let kind = kind.unwrap_or_default().replace(['"', '[', ']'], "").replace(',', " or ");
        let kind = shortened(&kind, MAX_VALUE_CHARS);
        let default = schema.get("default").map(|default| format!(", by default {default}"));
        let default = default.unwrap_or_default();
        let default = shortened(&default, MAX_VALUE_CHARS);
        let about = schema.get("description").and_then(Value::as_str).map(|about| format!(": {about}"));
        let about = about.unwrap_or_default();
        let about = shortened(&about, MAX_DESCRIPTION_CHARS);
        let _ = writeln!(text, "  takes    {name:14} {kind}{default}{about}");
    }
    let others = properties.len().saturating_sub(MAX_SHOWN);
    if others > 0 {
        let _ = writeln!(text, "  takes    {others} more, which --json shows");
    }
}

/// `18.2 KiB`, `11.9 MiB`.
pub(super) fn size(bytes: usize) -> String {
    // Sizes stay far below 2^53.
    let bytes = bytes as f64;
    if bytes < f64::from(1 << 20) {
        format!("{:.1} KiB", bytes / 1024.0)
    } else {
        format!("{:.1} MiB", bytes / f64::from(1 << 20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_hostile_components_are_short() {
        let long = "x".repeat(5_000);
        let names: Vec<String> = (0..1_000).map(|number| format!("gage:{number}{long}")).collect();
        let shown = listed(&names);
        assert!(shown.len() < 20_000 && shown.ends_with("and 936 more"), "{}", shown.len());
        let parameter = json!({"enum": [long], "default": long, "description": long});
        let properties = names.iter().map(|name| (name.clone(), parameter.clone())).collect();
        let mut text = String::new();
        describe_params(&json!({"properties": Value::Object(properties)}), &mut text);
        assert!(
            text.len() < 1 << 20 && text.ends_with("takes    936 more, which --json shows\n"),
            "{}",
            text.len()
        );
        assert_eq!(listed(&["gage:plugin/log".to_owned(), "wasi:io/x".to_owned()]).lines().count(), 2);
    }
}

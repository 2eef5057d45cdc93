//! `gage-host plugin inspect`: describes a component, its members and the grants it requests.

use super::keys::refuse_signature_file;
use super::package::{Package, read_package};
use super::signers::SignerFacts;
use super::{claims, file_of, host_for, origin_of, read, refuse_load};
use crate::arguments::{ComponentTarget, InspectArguments};
use crate::commands::{permissions, setup};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{Digest, OciReference, name_list, shortened, shown_name};
use gage_packages::{PackageOrigin, signatures_beside};
use gage_plugin::{AnyComponent, ComponentSummary, InstanceSetup, MemberDescription, PluginHost, summarise};
use gage_signature::Subject;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Width of the first column.
const KEY_WIDTH: usize = 10;

/// Maximum number of imports, exports, inputs, values or parameters that are shown.
const MAX_SHOWN: usize = 64;

/// Maximum length of a value of a parameter, in characters.
const MAX_VALUE_CHARS: usize = 1_000;

/// Maximum length of a declared description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 4 << 10;

/// A component before its description.
struct InspectedComponent {
    /// The file, or the reference of the package.
    name: String,
    bytes: Vec<u8>,
    /// The manifest and the author's words, of a package.
    package: Option<(Digest, BTreeMap<String, String>)>,
    /// The signers, of a package, of a file with a signature beside it, or of one that the policy refuses.
    signers: Option<SignerFacts>,
}

impl InspectedComponent {
    /// Returns what the name is.
    fn key(&self) -> &'static str {
        if self.package.is_some() { "source" } else { "file" }
    }
}

pub(super) fn inspect(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    match &arguments.target {
        Some(ComponentTarget::Package(reference)) => {
            let inspected = inspected_package(arguments, reference)?;
            show(arguments, &inspected, || setup::plugin_host(arguments.print.quiet, false))
        }
        Some(ComponentTarget::File(file)) => inspect_file(arguments, Some(file.as_path())),
        None => inspect_file(arguments, None),
    }
}

fn inspect_file(arguments: &InspectArguments, named: Option<&Path>) -> anyhow::Result<ExitCode> {
    let file = file_of(named)?;
    let bytes = read(&file, &InstanceSetup::default())?;
    let name = file.display().to_string();
    let signatures = signatures_beside(&file).map_err(|error| refuse_signature_file(&file, &error))?;
    let subject = Subject { component: Digest::of_bytes(&bytes), manifest: None, name: name.clone() };
    let signers = SignerFacts::of(&*permissions::trust()?, origin_of(&file), &subject, &signatures);
    let signers = (signers.signatures > 0 || signers.refusal.is_some()).then_some(signers);
    let inspected = InspectedComponent { name, bytes, package: None, signers };
    show(arguments, &inspected, || host_for(&file, arguments.print.quiet))
}

fn inspected_package(
    arguments: &InspectArguments,
    reference: &OciReference,
) -> anyhow::Result<InspectedComponent> {
    let trust = permissions::trust()?;
    let package = read_package(reference, arguments.offline, arguments.print.quiet)?;
    let (subject, origin) = (package.subject(), PackageOrigin::Registry(reference));
    let signers = SignerFacts::of(&trust, origin, &subject, &package.signatures);
    let Package { component, manifest, annotations, .. } = package;
    Ok(InspectedComponent {
        name: reference.to_string(),
        bytes: component,
        package: Some((manifest, annotations)),
        signers: Some(signers),
    })
}

/// Prints the description. A component that the policy refuses is not compiled.
fn show(
    arguments: &InspectArguments,
    inspected: &InspectedComponent,
    host: impl FnOnce() -> anyhow::Result<PluginHost>,
) -> anyhow::Result<ExitCode> {
    let InspectedComponent { name, bytes, signers, .. } = inspected;
    let summary = summarise(name, bytes).map_err(|error| refuse_load(&error))?;
    let is_refused = signers.as_ref().is_some_and(|signers| signers.refusal.is_some());
    let component = match arguments.is_static || is_refused {
        true => None,
        false => {
            let setup = InstanceSetup { is_only_described: true, ..InstanceSetup::default() };
            Some(AnyComponent::load(&host()?, name, bytes, &setup).map_err(|error| refuse_load(&error))?)
        }
    };
    if arguments.print.json {
        terminal::print_json(format_args!("{:#}", to_json(inspected, &summary, component.as_ref())))?;
    } else {
        let text = to_text(inspected, &summary, component.as_ref());
        terminal::print_line(gage_core::printable(text.trim_end()))?;
    }
    Ok(ExitCode::Done)
}

fn to_json(
    inspected: &InspectedComponent,
    summary: &ComponentSummary,
    component: Option<&AnyComponent>,
) -> Value {
    let mut value = json!({
        (inspected.key()): inspected.name,
        "kind": summary.world.kind(),
        "wit_version": summary.wit_version,
        "size": summary.size,
        "digest": summary.digest,
        "imports": summary.imports,
        "exports": summary.exports,
        "packages": summary.packages,
        "grants_asked_for": summary.capabilities().iter().map(|one| one.name()).collect::<Vec<_>>(),
    });
    if let Some((manifest, annotations)) = &inspected.package {
        value["manifest"] = json!(manifest);
        value["claims"] = claims::to_json(annotations);
    }
    if let Some(signers) = &inspected.signers {
        value["signatures"] = signers.to_json();
    }
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

fn to_text(
    inspected: &InspectedComponent,
    summary: &ComponentSummary,
    component: Option<&AnyComponent>,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key:KEY_WIDTH$}  {value}");
    };
    line(inspected.key(), &inspected.name);
    let refusal = inspected.signers.as_ref().and_then(|signers| signers.refusal.as_deref());
    match component {
        Some(component) => {
            let identity = component.identity();
            let about = component.description();
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            line("plugin", &format!("{} {}{about}", identity.name, identity.version));
        }
        None if refusal.is_some() => line("plugin", "not asked: the policy refuses it"),
        None => line("plugin", "not asked: only the file was read"),
    }
    line("kind", summary.world.kind());
    line("contract", &format!("gage:plugin@{}", summary.wit_version));
    line("size", &size(summary.size));
    line("digest", &summary.digest.to_string());
    if let Some((manifest, _)) = &inspected.package {
        line("manifest", &manifest.to_string());
    }
    if let Some(signers) = &inspected.signers {
        line("signature", &signers.shown());
        line("policy", &refusal.map_or("accepts it".to_owned(), |reason| format!("refuses it: {reason}")));
    }
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
    if let Some((_, annotations)) = &inspected.package {
        claims::describe(annotations, KEY_WIDTH, &mut text);
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

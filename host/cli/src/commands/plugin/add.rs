//! `gage-host plugin add`: adds a package of a registry to a suite.

use super::package::fetch;
use super::registry_plugins::{accept, check_address};
use crate::arguments::PluginAddArguments;
use crate::commands::permissions::trust;
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Permissions;
use gage_core::OciReference;
use gage_plugin::{Capability, ComponentSummary, RegistryError, World};
use gage_suite::{PluginPin, SuitePlugins};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn add(arguments: &PluginAddArguments) -> anyhow::Result<ExitCode> {
    let (reference, path) = (&arguments.reference, arguments.config.as_path());
    let id = arguments.id.clone().unwrap_or_else(|| id_of(reference));
    check_id(&id)?;
    let trust = trust()?;
    // Fetching takes long, and a mistake in the suite should be known before.
    let opened = || SuitePlugins::open(path).map_err(setup::refuse_suite);
    opened()?.check_new_id(&id).map_err(setup::refuse_suite)?;
    check_address(&trust, reference)?;
    let package = fetch(reference, Permissions::default(), arguments.print.quiet)?;
    let summary = accept(&package, &trust)?;
    let pin = PluginPin { id, source: reference.to_string(), sha256: Some(summary.digest) };
    // The suite is read again, because it may have been edited meanwhile.
    let mut suite = opened()?;
    suite.add(&pin).and_then(|()| suite.save()).map_err(setup::refuse_suite)?;
    if arguments.print.json {
        let wanted: Vec<&str> = summary.capabilities().iter().map(|one| one.name()).collect();
        let answer = json!({
            "config": path.display().to_string(),
            "id": pin.id,
            "source": pin.source,
            "sha256": summary.digest.hex(),
            "kind": summary.world.kind(),
            "grants_asked_for": wanted,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        terminal::print_line(added(&pin, path, &summary))?;
    }
    Ok(ExitCode::Done)
}

/// Checks that neither a bundled component nor one of its members has an id. The plugin would be used in place of the member.
fn check_id(id: &str) -> Result<(), ExitCode> {
    let public = || gage_plugin_bundle::COMPONENTS.iter().filter(|component| !component.is_internal);
    if public().any(|component| component.name == id) {
        return Err(setup::refuse_plugin(&RegistryError::taken_by_bundled(id)));
    }
    let Some(component) = public().find(|component| component.members.contains(&id)) else { return Ok(()) };
    let message = format!("the id `{id}` is the name of a built-in {}", component.world);
    let help = "choose another one with --id; otherwise, the plugin would be used in its place";
    Err(terminal::usage_error(&message, Some(help)))
}

/// Returns the id that a package has in a suite: the last part of its name, without characters that an id may not have.
pub(super) fn id_of(reference: &OciReference) -> String {
    reference.last_segment().replace(['-', '.'], "_")
}

/// Describes the new entry, and what a person may have to add.
fn added(pin: &PluginPin, path: &Path, summary: &ComponentSummary) -> String {
    let kind = summary.world.kind();
    let mut text = format!("added `{}`, a plugin of the kind `{kind}`, to {}", pin.id, path.display());
    // Writing to a string cannot fail.
    let _ = write!(text, "\n  source  {}\n  sha256  {}", pin.source, summary.digest.hex());
    if summary.world == World::Metric {
        let _ = write!(text, "\nto score with it, name it in the suite: metrics: [{}]", pin.id);
    }
    let wanted = summary.capabilities();
    if !wanted.is_empty() {
        let names = wanted.iter().map(|one| one.name()).collect::<Vec<_>>().join(" and ");
        let _ = write!(text, "\nit asks for {names}, and nothing is granted; to grant it, add to its entry");
        let _ = write!(text, "\n    grants:");
        for capability in &wanted {
            let _ = write!(text, "\n      {}", Capability::example(*capability));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Digest;

    #[test]
    fn ids_are_the_last_part_of_the_name() {
        for (reference, expected) in [
            ("oci://registry.example/metrics/word-recall:0.1.0", "word_recall"),
            ("oci://registry.example/recall:1", "recall"),
            ("oci://registry.example:5000/a/b.c-d:latest", "b_c_d"),
        ] {
            let reference: OciReference = reference.parse().expect("a reference");
            assert_eq!(id_of(&reference), expected, "{reference}");
        }
    }

    #[test]
    fn wanted_grants_are_shown_and_not_added() {
        let pin = PluginPin {
            id: "judge_all".to_owned(),
            source: "oci://registry.example/m/judge-all:1".to_owned(),
            sha256: None,
        };
        let import = |name: &str| format!("gage:plugin/{name}@{}", gage_plugin::WIT_VERSION);
        let summary = |imports: Vec<String>| ComponentSummary {
            digest: Digest::of_bytes(b"component"),
            size: 9,
            world: World::Metric,
            wit_version: gage_plugin::WIT_VERSION.to_owned(),
            imports,
            exports: Vec::new(),
            packages: Vec::new(),
        };
        let text = added(&pin, Path::new("suite.yaml"), &summary(vec![import("log")]));
        assert!(
            text.starts_with("added `judge_all`, a plugin of the kind `metric`, to suite.yaml\n"),
            "{text}"
        );
        assert!(!text.contains("grants"), "{text}");
        let text = added(&pin, Path::new("suite.yaml"), &summary(vec![import("media")]));
        let lines = "it asks for media, and nothing is granted; to grant it, add to its entry\n    \
                     grants:\n      media: true";
        assert!(text.ends_with(lines), "{text}");
    }
}

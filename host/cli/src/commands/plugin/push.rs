//! `gage-host plugin push`: pushes a component to a registry.

use super::add::id_of;
use super::build::progress;
use super::claims::{annotations, to_json};
use super::package::{client, refuse_registry, start_runtime};
use super::{file_of, read, refuse_load, refuse_tool};
use crate::arguments::PluginPushArguments;
use crate::commands::next_command;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Permissions;
use gage_core::{Digest, OciReference};
use gage_oci::{OciError, OciErrorKind, PackageDescription, Resolved};
use gage_plugin::{ComponentSummary, InstanceSetup, World, summarise};
use gage_plugin_tools::{Project, SETTINGS};
use serde_json::json;
use std::path::Path;

pub(super) fn push(arguments: &PluginPushArguments) -> anyhow::Result<ExitCode> {
    let reference = &arguments.reference;
    if reference.tag().is_none() || reference.digest().is_some() {
        let message = format!("{reference} cannot be pushed: a push names a tag, and no digest");
        let help = format!("write oci://{}:TAG; the push prints the digest", reference.name());
        return Ok(terminal::usage_error(&message, Some(&help)));
    }
    let file = file_of(Some(arguments.file.as_path()))?;
    let bytes = read(&file, &InstanceSetup::default())?;
    let summary = summarise(&file.display().to_string(), &bytes).map_err(|error| refuse_load(&error))?;
    let project = project_of(&file)?;
    let annotations = annotations(project.as_ref(), arguments.revision.as_deref());
    let claims = to_json(&annotations);
    let about = PackageDescription {
        target: Some(target_of(&summary)),
        imports: summary.imports.clone(),
        exports: summary.exports.clone(),
        annotations,
    };
    let say = progress(arguments.print.quiet);
    say(&format!("pushing {} to {reference}", super::inspect::size(summary.size)));
    let client = client(Permissions::default())?;
    let runtime = start_runtime()?;
    let before = runtime.block_on(client.resolve(reference));
    let replaced = replaced_manifest(reference, before, summary.digest)?;
    let pushed = runtime.block_on(client.push(reference, bytes, &about));
    let pushed = pushed.map_err(|error| refuse_registry(&error))?;
    let pinned = reference.with_digest(pushed.manifest);
    if let Some(old) = replaced.filter(|old| *old != pushed.manifest) {
        terminal::eprint_line(format_args!(
            "warning: {reference} named the manifest {old} with the same component; signatures of it are not about the \
             new one\n  help: sign the new one"
        ));
    }
    if arguments.print.json {
        let answer = json!({
            "reference": reference.to_string(),
            "pinned": pinned.to_string(),
            "manifest": pushed.manifest,
            "component": pushed.component,
            "size": summary.size,
            "claims": claims,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        terminal::print_line(format_args!("{pinned}\n\n{}", suite_entry(reference, pushed.component)))?;
    }
    if !arguments.print.quiet {
        next_command::print(&format!("gage-host plugin sign --key KEY {pinned}"));
    }
    Ok(ExitCode::Done)
}

/// Warns if the tag names another component before the push. Returns the manifest of a tag that names the same component. A
/// registry may refuse to tell, which is no error: it may allow the push.
///
/// # Errors
/// If the registry does not answer. The message is printed.
fn replaced_manifest(
    reference: &OciReference,
    before: Result<Resolved, OciError>,
    component: Digest,
) -> Result<Option<Digest>, ExitCode> {
    match before {
        Ok(Resolved { component: old, .. }) if old != component => {
            terminal::eprint_line(format_args!(
                "warning: {reference} names the component {old}, and this push replaces it with {component}; suites that \
                 pin or lock the old one refuse the new one\n  help: push other bytes under a new tag"
            ));
            Ok(None)
        }
        Ok(Resolved { manifest, .. }) => Ok(Some(manifest)),
        Err(error) if matches!(error.kind, OciErrorKind::Timeout | OciErrorKind::Unreachable) => {
            Err(refuse_registry(&error))
        }
        Err(_) => Ok(None),
    }
}

/// Returns the project that builds a component, if it is in the folder of one.
fn project_of(file: &Path) -> Result<Option<Project>, ExitCode> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.join(SETTINGS).exists() {
        return Ok(None);
    }
    let project = Project::read(folder).map_err(|error| refuse_tool(&error))?;
    let is_of_project = project.component().file_name() == file.file_name();
    Ok(is_of_project.then_some(project))
}

/// Returns the world of the contract that the component implements.
fn target_of(summary: &ComponentSummary) -> String {
    let world = match summary.world {
        World::Extractor => summary.world.kind(),
        world => world.interface(),
    };
    format!("gage:plugin/{world}-plugin@{}", summary.wit_version)
}

/// Formats the entry of a suite for a package.
fn suite_entry(reference: &OciReference, component: Digest) -> String {
    let id = id_of(reference);
    format!("plugins:\n  - id: {id}\n    source: {reference}\n    sha256: {}", component.hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_a_suite_pins_the_component() {
        let reference = "oci://registry.example/metrics/word-recall:0.1.0".parse().expect("a reference");
        insta::assert_snapshot!(suite_entry(&reference, Digest::of_bytes(b"component")), @r"
        plugins:
          - id: word_recall
            source: oci://registry.example/metrics/word-recall:0.1.0
            sha256: 6985ca1f4daa5a584a28eae043a239cb96689af1337ea13afb63e00c2bf512fa
        ");
    }

    #[test]
    fn a_broken_project_is_not_pushed_without_its_claims() {
        let folder = tempfile::tempdir().expect("a folder");
        let component = folder.path().join("a.wasm");
        assert_eq!(project_of(&component), Ok(None));
        let write = |text: &str| std::fs::write(folder.path().join(SETTINGS), text).expect("written");
        write("name = 'a'\nkind = 'metric'\nlanguage = 'js'\n[package]\nlicense = 'MIT'\n");
        let project = project_of(&component).expect("valid").expect("a project");
        assert_eq!(annotations(Some(&project), None)["org.opencontainers.image.licenses"], "MIT");
        assert_eq!(project_of(&folder.path().join("other.wasm")), Ok(None));
        write("name = 'a'\nlicence = 'MIT'\n");
        assert_eq!(project_of(&component), Err(ExitCode::Configuration));
    }
}

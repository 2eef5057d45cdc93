//! `gage-host plugin update`: changes the plugins of a suite to the newest ones of their registries.

use super::package::{client, max_component_bytes, refuse_registry, start_runtime};
use super::registry_plugins::{
    Latest, OpenedSuite, RegistryPlugin, accept, check_address, latest, open_suite, selected,
};
use crate::arguments::PluginUpdateArguments;
use crate::commands::{next_command, setup};
use crate::exit_code::ExitCode;
use crate::terminal::{self, shell_word};
use gage_core::{Digest, OciReference};
use gage_suite::{PluginPin, SuiteError, SuitePlugins};
use serde_json::{Value, json};
use std::path::Path;

/// An entry before and after its update.
struct UpdatedPin {
    before: PluginPin,
    after: PluginPin,
}

pub(super) fn update(arguments: &PluginUpdateArguments) -> anyhow::Result<ExitCode> {
    let opened = open_suite(&arguments.config, &arguments.permissions)?;
    let leaves_out = arguments.ids.is_empty() && !opened.left_out.is_empty();
    if leaves_out {
        opened.warn_of_left_out();
    }
    let OpenedSuite { plugins: suite, permissions, trust, .. } = opened;
    let plugins = selected(&suite.pins(), &arguments.ids)?;
    plugins.iter().try_for_each(|plugin| check_address(&trust, &plugin.reference))?;
    let mut updates = Vec::new();
    if !plugins.is_empty() {
        let (client, runtime) = (client(permissions)?, start_runtime()?);
        for plugin in plugins {
            let asked = runtime.block_on(latest(&client, &trust, &plugin));
            let asked = asked.map_err(|error| refuse_registry(&error))?;
            let Some(target) = target_of(&plugin, &asked) else { continue };
            if !arguments.print.quiet {
                terminal::eprint_line(format_args!("fetching {target}"));
            }
            let package = runtime.block_on(client.pull(&target, max_component_bytes()));
            let package = package.map_err(|error| refuse_registry(&error))?;
            let summary = accept(&package, &trust)?;
            let source = match plugin.reference.digest() {
                Some(_) => target.with_digest(Digest::of_bytes(&package.manifest)),
                None => target,
            };
            let after = PluginPin {
                id: plugin.pin.id.clone(),
                source: source.to_string(),
                sha256: Some(summary.digest),
            };
            updates.push(UpdatedPin { before: plugin.pin, after });
        }
    }
    save(&arguments.config, &updates).map_err(setup::refuse_suite)?;
    show(arguments, &updates, leaves_out)?;
    Ok(ExitCode::Done)
}

/// Writes the updates into the suite, which is read again because it may have been edited meanwhile.
fn save(path: &Path, updates: &[UpdatedPin]) -> Result<(), SuiteError> {
    if updates.is_empty() {
        return Ok(());
    }
    let mut suite = SuitePlugins::open(path)?;
    updates.iter().try_for_each(|update| suite.update(&update.after))?;
    suite.save()
}

/// Returns the package to fetch for a plugin. `None` if its entry is up to date.
fn target_of(plugin: &RegistryPlugin, latest: &Latest) -> Option<OciReference> {
    match latest {
        Latest::WithoutTag if plugin.pin.sha256.is_none() => Some(plugin.reference.clone()),
        Latest::WithoutTag | Latest::Untrusted => None,
        Latest::Newer(tag) => Some(plugin.reference.with_tag(tag)),
        Latest::Pinned if plugin.pin.sha256.is_some() => None,
        Latest::Pinned | Latest::Moved(_) => Some(plugin.reference.with_tag(plugin.reference.tag()?)),
    }
}

fn show(arguments: &PluginUpdateArguments, updates: &[UpdatedPin], leaves_out: bool) -> anyhow::Result<()> {
    let hex = |pin: &PluginPin| pin.sha256.map(|digest| digest.hex());
    if arguments.print.json {
        let list: Value = updates
            .iter()
            .map(|UpdatedPin { before, after }| {
                json!({
                    "id": after.id,
                    "before": {"source": before.source, "sha256": hex(before)},
                    "after": {"source": after.source, "sha256": hex(after)},
                })
            })
            .collect();
        return terminal::print_json(format_args!("{list:#}"));
    }
    if updates.is_empty() {
        let config = arguments.config.display();
        let other = if leaves_out { "other " } else { "" };
        return terminal::print_line(format_args!("the {other}plugins of {config} are up to date"));
    }
    for UpdatedPin { before, after } in updates {
        let none = || "none".to_owned();
        let (old, new) = (hex(before).unwrap_or_else(none), hex(after).unwrap_or_else(none));
        terminal::print_line(format_args!(
            "updated `{}`\n  source  {}\n       -> {}\n  sha256  {old}\n       -> {new}",
            after.id, before.source, after.source
        ))?;
    }
    let different = updates.iter().find(|update| update.before.source != update.after.source);
    if let (Some(UpdatedPin { before, after }), false) = (different, arguments.print.quiet) {
        let (old, new) = (shell_word(&before.source), shell_word(&after.source));
        next_command::print(&format!("gage-host plugin diff {old} {new}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reference with the digest of a manifest.
    const BY_MANIFEST: &str =
        "oci://r.example/a@sha256:6985ca1f4daa5a584a28eae043a239cb96689af1337ea13afb63e00c2bf512fa";

    #[test]
    fn only_entries_that_are_not_up_to_date_are_fetched() {
        let digest = Digest::of_bytes(b"component");
        for (source, is_pinned, latest, expected) in [
            ("oci://r.example/a:1.0.0", true, Latest::Pinned, None),
            ("oci://r.example/a:1.0.0", false, Latest::Pinned, Some("oci://r.example/a:1.0.0")),
            (
                "oci://r.example/a:1.0.0",
                true,
                Latest::Newer("1.1.0".to_owned()),
                Some("oci://r.example/a:1.1.0"),
            ),
            ("oci://r.example/a:latest", true, Latest::Moved(digest), Some("oci://r.example/a:latest")),
            ("oci://r.example/a:latest", true, Latest::WithoutTag, None),
            (BY_MANIFEST, true, Latest::WithoutTag, None),
            (BY_MANIFEST, false, Latest::WithoutTag, Some(BY_MANIFEST)),
            ("oci://r.example/a:1.0.0", false, Latest::Untrusted, None),
        ] {
            let sha256 = is_pinned.then_some(digest);
            let pin = PluginPin { id: "a".to_owned(), source: source.to_owned(), sha256 };
            let plugin = RegistryPlugin { pin, reference: source.parse().expect("a reference") };
            let found = target_of(&plugin, &latest).map(|target| target.to_string());
            assert_eq!(found.as_deref(), expected, "{source} {latest:?}");
        }
    }
}

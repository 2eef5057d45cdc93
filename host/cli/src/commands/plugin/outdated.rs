//! `gage-host plugin outdated`: lists the plugins of a suite that have a newer version in their registry.

use super::package::{client, refuse_registry, start_runtime};
use super::registry_plugins::{Latest, RegistryPlugin, latest, open_suite, selected};
use crate::arguments::PluginOutdatedArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use serde_json::{Value, json};

pub(super) fn outdated(arguments: &PluginOutdatedArguments) -> anyhow::Result<ExitCode> {
    let suite = open_suite(&arguments.config, &arguments.permissions)?;
    let mut found = Vec::new();
    let plugins = selected(&suite.plugins.pins(), &[])?;
    if !plugins.is_empty() {
        let (client, runtime) = (client(suite.permissions)?, start_runtime()?);
        for plugin in plugins {
            let asked = runtime.block_on(latest(&client, &plugin));
            found.push((plugin, asked.map_err(|error| refuse_registry(&error))?));
        }
    }
    if arguments.print.json {
        let list: Value = found.iter().map(|(plugin, latest)| to_json(plugin, latest)).collect();
        terminal::print_json(format_args!("{list:#}"))?;
    } else if found.is_empty() {
        let config = arguments.config.display();
        terminal::print_line(format_args!("no plugin of {config} is from a registry"))?;
    } else {
        let rows: Vec<[String; 4]> = found.iter().map(|(plugin, latest)| row(plugin, latest)).collect();
        terminal::print_line(terminal::columns(["plugin", "source", "pinned", "newest"], &rows))?;
    }
    let is_outdated = found.iter().any(|(_, latest)| latest.is_outdated());
    Ok(if is_outdated { ExitCode::LockMismatch } else { ExitCode::Done })
}

fn to_json(plugin: &RegistryPlugin, latest: &Latest) -> Value {
    let (newest, component) = match latest {
        Latest::Newer(tag) => (Some(tag.as_str()), None),
        Latest::Moved(component) => (plugin.reference.tag(), Some(component.hex())),
        Latest::Pinned => (plugin.reference.tag(), None),
        Latest::WithoutTag => (None, None),
    };
    json!({
        "id": plugin.pin.id,
        "source": plugin.pin.source,
        "sha256": plugin.pin.sha256.map(|digest| digest.hex()),
        "newest": newest,
        "newest_sha256": component,
        "is_outdated": latest.is_outdated(),
    })
}

fn row(plugin: &RegistryPlugin, latest: &Latest) -> [String; 4] {
    let reference = &plugin.reference;
    let tag = reference.tag().unwrap_or_default();
    let pinned = match (reference.tag(), plugin.pin.sha256) {
        (Some(tag), Some(_)) => tag.to_owned(),
        (Some(tag), None) => format!("{tag}, without sha256"),
        (None, _) => reference.digest().map(|digest| digest.short()).unwrap_or_default(),
    };
    let newest = match latest {
        Latest::Newer(newest) => newest.clone(),
        Latest::Pinned => tag.to_owned(),
        Latest::Moved(component) => format!("{tag}, now {}", component.short()),
        Latest::WithoutTag => "-".to_owned(),
    };
    [plugin.pin.id.clone(), reference.name(), pinned, newest]
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Digest;
    use gage_suite::PluginPin;

    fn plugin(source: &str, is_pinned: bool) -> RegistryPlugin {
        let sha256 = is_pinned.then(|| Digest::of_bytes(b"component"));
        let pin = PluginPin { id: "recall".to_owned(), source: source.to_owned(), sha256 };
        RegistryPlugin { pin, reference: source.parse().expect("a reference") }
    }

    #[test]
    fn rows_name_what_is_pinned_and_what_is_newest() {
        let moved = Digest::of_bytes(b"other");
        let manifest = Digest::of_bytes(b"manifest");
        let name = "registry.example/m/recall";
        for (source, is_pinned, latest, expected) in [
            (":1.0.0".to_owned(), true, Latest::Pinned, ["1.0.0".to_owned(), "1.0.0".to_owned()]),
            (
                ":1.0.0".to_owned(),
                true,
                Latest::Newer("1.1.0".to_owned()),
                ["1.0.0".to_owned(), "1.1.0".to_owned()],
            ),
            (
                ":latest".to_owned(),
                false,
                Latest::Moved(moved),
                ["latest, without sha256".to_owned(), format!("latest, now {}", moved.short())],
            ),
            (format!("@{manifest}"), true, Latest::WithoutTag, [manifest.short(), "-".to_owned()]),
        ] {
            let plugin = plugin(&format!("oci://{name}{source}"), is_pinned);
            let [id, source, pinned, newest] = row(&plugin, &latest);
            assert_eq!((id.as_str(), source.as_str()), ("recall", name));
            assert_eq!([pinned, newest], expected);
            let json = to_json(&plugin, &latest);
            assert_eq!(json["is_outdated"], latest.is_outdated(), "{json}");
        }
    }
}

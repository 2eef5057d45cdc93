//! `gage-host plugin outdated`: lists the plugins of a suite that have a newer version in their registry.

use super::package::{client, refuse_registry, start_runtime};
use super::registry_plugins::{Latest, RegistryPlugin, latest, open_suite, selected};
use crate::arguments::PluginOutdatedArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_oci::OciError;
use serde_json::{Value, json};

pub(super) fn outdated(arguments: &PluginOutdatedArguments) -> anyhow::Result<ExitCode> {
    let suite = open_suite(&arguments.config, &arguments.permissions)?;
    suite.warn_of_left_out();
    let (mut found, mut code) = (Vec::new(), ExitCode::Done);
    let plugins = selected(&suite.plugins.pins(), &[])?;
    if !plugins.is_empty() {
        let (client, runtime) = (client(suite.permissions)?, start_runtime()?);
        for plugin in plugins {
            let asked = runtime.block_on(latest(&client, &suite.trust, &plugin));
            code = code.worse(match &asked {
                Ok(latest) if latest.is_outdated() => ExitCode::LockMismatch,
                Ok(_) => ExitCode::Done,
                Err(error) => refuse_registry(error),
            });
            found.push((plugin, asked));
        }
    }
    if arguments.print.json {
        let list: Value = found.iter().map(|(plugin, latest)| to_json(plugin, latest)).collect();
        terminal::print_json(format_args!("{list:#}"))?;
    } else if found.is_empty() {
        let config = arguments.config.display();
        let other = if suite.left_out.is_empty() { "" } else { "other " };
        terminal::print_line(format_args!("no {other}plugin of {config} is from a registry"))?;
    } else {
        let rows: Vec<[String; 4]> = found.iter().map(|(plugin, latest)| row(plugin, latest)).collect();
        terminal::print_line(terminal::columns(["plugin", "source", "pinned", "newest"], &rows))?;
    }
    Ok(code)
}

fn to_json(plugin: &RegistryPlugin, latest: &Result<Latest, OciError>) -> Value {
    let (newest, component) = match latest {
        Ok(Latest::Newer(tag)) => (Some(tag.as_str()), None),
        Ok(Latest::Moved(component)) => (plugin.reference.tag(), Some(component.hex())),
        Ok(Latest::Pinned) => (plugin.reference.tag(), None),
        Ok(Latest::WithoutTag | Latest::Untrusted) | Err(_) => (None, None),
    };
    json!({
        "id": plugin.pin.id,
        "source": plugin.pin.source,
        "sha256": plugin.pin.sha256.map(|digest| digest.hex()),
        "newest": newest,
        "newest_sha256": component,
        "is_outdated": latest.as_ref().ok().map(Latest::is_outdated),
        "is_trusted": latest.as_ref().ok() != Some(&Latest::Untrusted),
        "error": latest.as_ref().err().map(|error| error.message.as_str()),
    })
}

fn row(plugin: &RegistryPlugin, latest: &Result<Latest, OciError>) -> [String; 4] {
    let reference = &plugin.reference;
    let tag = reference.tag().unwrap_or_default();
    let pinned = match (reference.tag(), plugin.pin.sha256) {
        (Some(tag), Some(_)) => tag.to_owned(),
        (Some(tag), None) => format!("{tag}, without sha256"),
        (None, _) => reference.digest().map(|digest| digest.short()).unwrap_or_default(),
    };
    let newest = match latest {
        Ok(Latest::Newer(newest)) => newest.clone(),
        Ok(Latest::Pinned) => tag.to_owned(),
        Ok(Latest::Moved(component)) => format!("{tag}, now {}", component.short()),
        Ok(Latest::WithoutTag) => "-".to_owned(),
        Ok(Latest::Untrusted) => "not trusted".to_owned(),
        Err(_) => "unknown, see the error".to_owned(),
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
            (":1.0.0".to_owned(), true, Latest::Untrusted, ["1.0.0".to_owned(), "not trusted".to_owned()]),
        ] {
            let plugin = plugin(&format!("oci://{name}{source}"), is_pinned);
            let (is_outdated, is_trusted) = (latest.is_outdated(), latest != Latest::Untrusted);
            let latest = Ok(latest);
            let [id, source, pinned, newest] = row(&plugin, &latest);
            assert_eq!((id.as_str(), source.as_str()), ("recall", name));
            assert_eq!([pinned, newest], expected);
            let json = to_json(&plugin, &latest);
            assert_eq!(json["is_outdated"], is_outdated, "{json}");
            assert_eq!(json["is_trusted"], is_trusted, "{json}");
        }
    }
}

//! Plugins of a suite that come from registries: which have a newer version, and what is fetched for them.

use super::package::{refuse_store, store};
use super::refuse_load;
use crate::arguments::PermissionArguments;
use crate::commands::permissions::{Access, access};
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::{Permissions, PipelineConfig, PluginSource, Purpose};
use gage_core::{Digest, OciReference};
use gage_oci::{OciClient, OciError};
use gage_packages::{NewPackage, PackageOrigin, Trust, TrustError};
use gage_plugin::{ComponentSummary, summarise};
use gage_signature::{Signature, Subject};
use gage_suite::{PluginPin, SuitePlugins};
use semver::Version;
use std::path::Path;
use std::sync::Arc;

/// The scheme of sources in registries.
const SCHEME: &str = "oci://";

/// Start of a variable in a source.
const VARIABLE: &str = "${";

/// Advice about a source with variables.
const WRITE_ADDRESS: &str = "write the whole address of the package, without ${…}";

/// A plugin of a suite that comes from a registry.
#[derive(Clone, Debug)]
pub(super) struct RegistryPlugin {
    /// Its entry in the suite.
    pub(super) pin: PluginPin,
    /// The package that the entry names.
    pub(super) reference: OciReference,
}

/// What a registry has for a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Latest {
    /// Nothing newer than the entry.
    Pinned,
    /// The tag of a newer version.
    Newer(String),
    /// The tag, which is not a version, names this component, which is not the pinned one.
    Moved(Digest),
    /// The entry names a manifest without a tag, so nothing can be newer.
    WithoutTag,
    /// The policy does not name the registry, so it was not asked.
    Untrusted,
}

impl Latest {
    /// Returns whether the plugin is not up to date.
    pub(super) fn is_outdated(&self) -> bool {
        matches!(self, Latest::Newer(_) | Latest::Moved(_))
    }
}

/// The plugins of a suite, and what a command may use for them.
pub(super) struct OpenedSuite {
    /// The plugins, with the text of the suite.
    pub(super) plugins: SuitePlugins,
    /// The hosts that the suite may connect to.
    pub(super) permissions: Permissions,
    /// The plugins that may be loaded.
    pub(super) trust: Arc<Trust>,
    /// Warnings of the plugins that are left out: those whose sources have variables, unless they are files.
    pub(super) left_out: Vec<String>,
}

impl OpenedSuite {
    /// Warns of the plugins that are left out.
    pub(super) fn warn_of_left_out(&self) {
        self.left_out.iter().for_each(terminal::eprint_line);
    }
}

/// Reads the plugins of a suite, and checks that the suite may reach their registries.
///
/// # Errors
/// If the suite or the policy cannot be used. The message is printed.
pub(super) fn open_suite(path: &Path, arguments: &PermissionArguments) -> Result<OpenedSuite, ExitCode> {
    let Access { permissions, trust } = access(arguments)?;
    let plugins = SuitePlugins::open(path).map_err(setup::refuse_suite)?;
    let loaded = setup::loaded(path, &[], &permissions, Purpose::Plugins);
    if loaded.problems.resources.is_refused() {
        terminal::show_problems(&loaded.problems);
        return Err(ExitCode::Configuration);
    }
    let left_out = left_out(path, &plugins, loaded.config.as_ref());
    Ok(OpenedSuite { plugins, permissions, trust, left_out })
}

/// Returns a warning for each plugin whose source has variables. Only the loaded suite tells which of them are files.
fn left_out(path: &Path, plugins: &SuitePlugins, config: Option<&PipelineConfig>) -> Vec<String> {
    let is_package = |pin: &PluginPin| {
        let spec = config.and_then(|config| config.plugins.iter().find(|spec| spec.id == pin.id));
        spec.is_none_or(|spec| matches!(spec.source, PluginSource::Registry(_)))
    };
    let warning = |PluginPin { id, source, .. }: PluginPin| {
        let line = plugins.source_line(&id).map(|line| format!(":{line}")).unwrap_or_default();
        let (id, source) = (gage_core::shown_name(&id), gage_core::shown_name(&source));
        format!(
            "warning: {}{line}: the plugin `{id}` is left out, because its source has variables: {source}\n  help: \
             {WRITE_ADDRESS}",
            path.display()
        )
    };
    let pins = plugins.pins().into_iter();
    pins.filter(|pin| pin.source.contains(VARIABLE) && is_package(pin)).map(warning).collect()
}

/// Returns the plugins with these ids, or all plugins from registries if there are no ids. Plugins whose sources have variables
/// are left out.
///
/// # Errors
/// If an id is unknown, or its plugin is not from a registry, or its source has variables. The message is printed.
pub(super) fn selected(pins: &[PluginPin], ids: &[String]) -> Result<Vec<RegistryPlugin>, ExitCode> {
    for id in ids {
        let Some(pin) = pins.iter().find(|pin| pin.id == *id) else {
            let known: Vec<&str> = pins.iter().map(|pin| pin.id.as_str()).collect();
            let message = format!("the suite has no plugin `{}`", gage_core::shown_name(id));
            let help = match gage_core::nearest(id, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its plugins are: {}", gage_core::name_list(known, MAX_LISTED, ", ")),
            };
            return Err(terminal::usage_error(&message, Some(&help)));
        };
        if pin.source.contains(VARIABLE) {
            let message = format!("the source of the plugin `{id}` has variables: {}", pin.source);
            return Err(terminal::usage_error(&message, Some(WRITE_ADDRESS)));
        }
        if !pin.source.starts_with(SCHEME) {
            let message = format!("the plugin `{id}` is not from a registry: its source is {}", pin.source);
            return Err(terminal::usage_error(&message, Some("a source in a registry begins with oci://")));
        }
    }
    let is_selected = |pin: &&PluginPin| {
        let is_readable = pin.source.starts_with(SCHEME) && !pin.source.contains(VARIABLE);
        is_readable && (ids.is_empty() || ids.contains(&pin.id))
    };
    let read = |pin: &PluginPin| match pin.source.parse::<OciReference>() {
        Ok(reference) => Ok(RegistryPlugin { pin: pin.clone(), reference }),
        Err(error) => {
            let message = format!("the source of the plugin `{}`: {error}", pin.id);
            Err(terminal::usage_error(&message, None))
        }
    };
    pins.iter().filter(is_selected).map(read).collect()
}

/// Maximum number of ids that a message lists.
const MAX_LISTED: usize = 20;

/// Asks the registry of a plugin for something newer, if the policy names the registry.
///
/// # Errors
/// If the registry does not answer, or does not know the package.
pub(super) async fn latest(
    client: &OciClient,
    trust: &Trust,
    plugin: &RegistryPlugin,
) -> Result<Latest, OciError> {
    if trust.check_address(&plugin.reference).is_err() {
        return Ok(Latest::Untrusted);
    }
    let Some(tag) = plugin.reference.tag() else { return Ok(Latest::WithoutTag) };
    if version_of(tag).is_some() {
        let tags = client.tags(&plugin.reference).await?;
        let newest = newest_tag(tag, &tags);
        return Ok(newest.map_or(Latest::Pinned, |newest| Latest::Newer(newest.to_owned())));
    }
    let component = client.resolve(&plugin.reference.with_tag(tag)).await?.component;
    Ok(match plugin.pin.sha256 {
        Some(pinned) if pinned == component => Latest::Pinned,
        _ => Latest::Moved(component),
    })
}

/// Returns the tag of the newest version, if it is newer than the pinned one. Pre-releases count only if that is one.
fn newest_tag<'t>(pinned: &str, tags: &'t [String]) -> Option<&'t str> {
    let own = version_of(pinned)?;
    let versions = tags.iter().filter_map(|tag| Some((version_of(tag)?, tag.as_str())));
    let allowed = versions.filter(|(version, _)| version.pre.is_empty() || !own.pre.is_empty());
    let (version, tag) = allowed.max_by(|(one, _), (other, _)| one.cmp_precedence(other))?;
    version.cmp_precedence(&own).is_gt().then_some(tag)
}

/// Parses a tag as a version: `1.2.3`, `v1.2.3-rc.1`.
fn version_of(tag: &str) -> Option<Version> {
    Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()
}

/// Checks that the policy trusts a fetched component and that this host can run it, and saves it in the cache.
///
/// # Errors
/// If it is refused, or cannot be saved. The message is printed.
pub(super) fn accept(package: &NewPackage, trust: &Trust) -> Result<ComponentSummary, ExitCode> {
    let subject = Subject {
        component: Digest::of_bytes(&package.component),
        manifest: Some(Digest::of_bytes(&package.manifest)),
        name: package.reference.name(),
    };
    let origin = PackageOrigin::Registry(&package.reference);
    check_trust(trust, origin, &subject, &package.signatures)?;
    let name = package.reference.to_string();
    let summary = summarise(&name, &package.component).map_err(|error| refuse_load(&error))?;
    store()?.save(package).map_err(|error| refuse_store(&error))?;
    Ok(summary)
}

/// Checks that the policy trusts a component whose digest is known.
///
/// # Errors
/// If it does not. The message is printed.
pub(super) fn check_trust(
    trust: &Trust,
    origin: PackageOrigin<'_>,
    subject: &Subject,
    signatures: &[Signature],
) -> Result<(), ExitCode> {
    let checked = trust.check(origin, subject, true, &|| signatures.to_vec());
    checked.map(drop).map_err(|error| refuse_untrusted(&error))
}

/// Checks that the policy names the registry of a package, before the registry is contacted.
///
/// # Errors
/// If it does not. The message is printed.
pub(super) fn check_address(trust: &Trust, reference: &OciReference) -> Result<(), ExitCode> {
    trust.check_address(reference).map_err(|error| refuse_untrusted(&error))
}

fn refuse_untrusted(error: &TrustError) -> ExitCode {
    terminal::usage_error(&error.to_string(), None);
    ExitCode::LockMismatch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found_among_tags() {
        for (pinned, tags, expected) in [
            ("0.1.0", vec!["0.1.0", "0.2.0", "0.10.0", "latest"], Some("0.10.0")),
            ("0.10.0", vec!["0.9.0", "0.10.0"], None),
            ("v1.0.0", vec!["v1.0.0", "v1.1.0", "1.0.5"], Some("v1.1.0")),
            ("1.0.0", vec!["1.1.0-rc.1", "1.0.1"], Some("1.0.1")),
            ("1.0.0", vec!["1.1.0-rc.1"], None),
            ("1.1.0-rc.1", vec!["1.1.0-rc.2", "1.0.9"], Some("1.1.0-rc.2")),
            ("1.1.0-rc.1", vec!["1.1.0-rc.2", "1.1.0"], Some("1.1.0")),
            ("1.0.0", vec![], None),
            ("latest", vec!["1.0.0"], None),
            ("1", vec!["2", "2.0.0"], None),
        ] {
            let tags: Vec<String> = tags.into_iter().map(str::to_owned).collect();
            assert_eq!(newest_tag(pinned, &tags), expected, "{pinned} {tags:?}");
        }
    }

    #[test]
    fn plugins_are_selected_by_their_ids() {
        let pin =
            |id: &str, source: &str| PluginPin { id: id.to_owned(), source: source.to_owned(), sha256: None };
        let pins = [
            pin("a", "oci://registry.example/m/a:1.0.0"),
            pin("b", "./b.wasm"),
            pin("c", "oci://registry.example/m/c:1.0.0"),
            pin("v", "oci://${REGISTRY}/m/v:1.0.0"),
        ];
        let ids = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            let found = selected(&pins, &ids)?;
            Ok::<_, ExitCode>(found.into_iter().map(|plugin| plugin.pin.id).collect::<Vec<_>>())
        };
        for (given, expected) in [
            (vec![], Ok(vec!["a".to_owned(), "c".to_owned()])),
            (vec!["c"], Ok(vec!["c".to_owned()])),
            (vec!["b"], Err(ExitCode::Configuration)),
            (vec!["d"], Err(ExitCode::Configuration)),
            (vec!["v"], Err(ExitCode::Configuration)),
        ] {
            assert_eq!(ids(&given), expected, "{given:?}");
        }
        let broken = [pin("a", "oci://registry.example/without-a-tag")];
        assert_eq!(selected(&broken, &[]).map(drop), Err(ExitCode::Configuration));
    }
}

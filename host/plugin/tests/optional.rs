//! The registry with a component that may be installed.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_config::PluginReference;
use gage_plugin::{HostOptions, MetricKind, OptionalComponent, PluginHost, Registry, RegistryError, World};
use std::path::{Path, PathBuf};

const MEMBER: &str = "obedient";

static OPTIONAL: [OptionalComponent; 1] = [OptionalComponent {
    name: "hostile",
    world: World::Metric,
    members: &[MEMBER],
    description: "null",
    remedy: "build it",
}];

fn registry(installation: &Path) -> Registry {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    Registry::new(host, &[]).with_optional(&OPTIONAL, &[installation.to_owned()])
}

/// Writes the component into a folder, and returns its file.
fn write(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).expect("a folder");
    let file = folder.join("hostile.wasm");
    std::fs::write(&file, gage_test_guests::HOSTILE).expect("written");
    file
}

/// Returns the references that select the member of the component.
fn references() -> [PluginReference; 2] {
    let name = PluginReference::Name(MEMBER.to_owned());
    [name, PluginReference::Member { plugin: "hostile".to_owned(), member: MEMBER.to_owned() }]
}

fn sources(registry: &Registry) -> Vec<String> {
    registry.list().expect("a list").into_iter().map(|plugin| plugin.source).collect()
}

#[test]
fn installed_component_is_found_like_a_bundled_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(&folder.path().join("plugins"));
    let registry = registry(folder.path());
    for reference in references() {
        let (_, member) = registry.find::<MetricKind>(&reference).expect("found");
        assert_eq!(member.as_deref(), Some(MEMBER));
    }
    assert_eq!(sources(&registry), [file.display().to_string()]);
    let unknown = registry.find::<MetricKind>(&PluginReference::Name("obedience".to_owned())).err();
    assert!(
        matches!(&unknown, Some(RegistryError::Unknown { known, .. }) if *known == [MEMBER]),
        "{unknown:?}"
    );
}

#[test]
fn component_of_a_folder_comes_before_an_installed_one() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("plugins"));
    let own = write(&folder.path().join("own"));
    let mut registry = registry(folder.path());
    registry.add_folder(&folder.path().join("own")).expect("added");
    for reference in references() {
        registry.find::<MetricKind>(&reference).expect("found");
    }
    assert_eq!(sources(&registry), [own.display().to_string()]);
    assert!(registry.conflicts().expect("loaded").is_empty());
}

#[test]
fn component_that_is_not_installed_says_how_to_get_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = registry(folder.path());
    for reference in references() {
        let error = registry.find::<MetricKind>(&reference).err().expect("not installed");
        assert!(matches!(error, RegistryError::NotInstalled { .. }), "{error}");
        assert_eq!(error.help().as_deref(), Some("build it"));
    }
    assert!(registry.not_installed(MEMBER).is_some());
    assert!(registry.not_installed("other").is_none());
    assert!(sources(&registry).is_empty());
}

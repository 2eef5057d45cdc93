use super::*;
use crate::host_options::HostOptions;
use crate::kinds::metric::MetricKind;
use gage_config::{Environment, TrustPolicy, TrustRequirement, TrustRule, TrustScope};
use gage_core::Digest;
use gage_packages::{NewPackage, package_manifest};
use gage_recorded_messages::RecordedError as _;
use gage_test_guests::BARE_WORD_RECALL;

const ADDRESS: &str = "oci://registry.example/metrics/word-recall:0.1.0";

/// Reads an entry of `plugins`.
fn spec(entry: &str) -> PluginSpec {
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\nplugins: [{entry}]\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: d.jsonl}}}}]\n\
         backends: [{{backend_id: b, type: llama_cpp, config: {{model_path: m.gguf}}}}]\n\
         role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
         custom: {{steps: [{{step: inference}}]}}\n"
    );
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = gage_config::load("suite.yaml", &text, &[], &environment);
    config.and_then(|mut config| config.plugins.pop()).unwrap_or_else(|| panic!("{}", problems.render(false)))
}

fn registry(store: &PackageStore, trust: Trust) -> Registry {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    Registry::new(host, &[]).with_packages(Some(store.clone()), Arc::new(trust))
}

/// Creates a store with one package.
fn store(component: &[u8]) -> (tempfile::TempDir, PackageStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = PackageStore::new(folder.path().join("plugins"));
    let package = NewPackage {
        reference: ADDRESS.parse().expect("a reference"),
        manifest: package_manifest(b"{}", component, "x.wasm", &BTreeMap::new()),
        config: b"{}".to_vec(),
        component: component.to_vec(),
        signatures: Vec::new(),
    };
    store.save(&package).expect("saved");
    (folder, store)
}

fn policy(scope: TrustScope, requirement: TrustRequirement) -> Trust {
    let rule = TrustRule { scope, keys: Vec::new(), requirement };
    Trust::load(&TrustPolicy { rules: vec![rule] }).expect("a policy without keys")
}

#[test]
fn package_is_found_in_the_store_by_tag_and_by_component() {
    let (_folder, store) = store(BARE_WORD_RECALL);
    let digest = Digest::of_bytes(BARE_WORD_RECALL);
    for entry in [
        format!("{{id: words, source: '{ADDRESS}'}}"),
        format!("{{id: words, source: '{ADDRESS}', sha256: {}}}", digest.hex()),
    ] {
        let mut registry = registry(&store, Trust::default());
        registry.add(&spec(&entry)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(registry.used_origins().len(), 0, "nothing is used yet");
        registry.find::<MetricKind>(&PluginReference::Name("words".to_owned())).expect("found");
        let origins = registry.used_origins();
        let [origin] = origins.as_slice() else { panic!("{origins:?}") };
        assert_eq!((origin.id.as_str(), origin.source.as_str(), origin.digest), ("words", ADDRESS, digest));
        assert!(origin.manifest.is_some() && origin.signer.is_none(), "{origin:?}");
        assert_eq!(registry.package_origins().len(), 1);
    }
}

#[test]
fn package_that_is_not_in_the_store_is_an_error() {
    let (folder, store) = store(BARE_WORD_RECALL);
    let other = Digest::of_bytes(b"other");
    let entry = format!("{{id: words, source: '{ADDRESS}', sha256: {}}}", other.hex());
    let error = registry(&store, Trust::default()).add(&spec(&entry)).expect_err("another component");
    assert_eq!(error.recorded("plugins"), format!("the component {other} of {ADDRESS} is not in the cache"));
    assert!(error.help().is_some_and(|help| help.contains(&format!("gage-host plugin pull {ADDRESS}"))));
    std::fs::remove_dir_all(folder.path().join("plugins")).expect("removed");
    let entry = format!("{{id: words, source: '{ADDRESS}'}}");
    let error = registry(&store, Trust::default()).add(&spec(&entry)).expect_err("an empty cache");
    assert_eq!(error.recorded("plugins"), format!("the package {ADDRESS} is not in the cache"));
}

#[test]
fn untrusted_package_is_refused_before_it_is_compiled() {
    // These bytes would be another error.
    let (_folder, store) = store(b"no component");
    let registry_of = |name: &str| TrustScope::Registry(name.to_owned());
    for trust in [
        policy(registry_of("other.example"), TrustRequirement::Nothing),
        policy(registry_of("registry.example/metrics"), TrustRequirement::Signature),
        policy(registry_of("registry.example"), TrustRequirement::Digest),
    ] {
        let entry = spec(&format!("{{id: words, source: '{ADDRESS}'}}"));
        let error = registry(&store, trust).add(&entry).expect_err("refused");
        assert!(matches!(error, RegistryError::Untrusted(_)), "{error}");
        assert!(error.recorded("plugins").contains("is not trusted"), "{error}");
    }
    // A registry without an entry is refused also if its package was never fetched.
    let absent = spec("{id: words, source: 'oci://registry.example/metrics/absent:1'}");
    let trust = policy(registry_of("other.example"), TrustRequirement::Nothing);
    let error = registry(&store, trust).add(&absent).expect_err("refused");
    assert!(matches!(error, RegistryError::Untrusted(_)), "{error}");
    let pinned =
        format!("{{id: words, source: '{ADDRESS}', sha256: {}}}", Digest::of_bytes(b"no component").hex());
    let trust = policy(registry_of("registry.example"), TrustRequirement::Digest);
    let error = registry(&store, trust).add(&spec(&pinned)).expect_err("no component");
    assert!(matches!(error, RegistryError::Load(_)), "{error}");
}

#[test]
fn component_of_the_installation_is_trusted() {
    static OPTIONAL: [OptionalComponent; 1] = [OptionalComponent {
        name: "words",
        world: World::Metric,
        members: &["word_recall"],
        description: "null",
        remedy: "build it",
    }];
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plugins/words.wasm");
    std::fs::create_dir(folder.path().join("plugins")).expect("a folder");
    std::fs::write(&file, BARE_WORD_RECALL).expect("written");
    let store = PackageStore::new(folder.path().join("packages"));
    for requirement in [TrustRequirement::Signature, TrustRequirement::Digest] {
        let registry = || {
            let trust = policy(TrustScope::Files, requirement);
            registry(&store, trust).with_optional(&OPTIONAL, &[folder.path().to_owned()])
        };
        let by_name = PluginReference::Name("word_recall".to_owned());
        registry().find::<MetricKind>(&by_name).unwrap_or_else(|error| panic!("{error}"));
        let entry = spec("{id: mine, source: words}");
        registry().add(&entry).unwrap_or_else(|error| panic!("{error}"));
        // A suite that names the file by its path vouches for it itself.
        let by_path = PluginReference::File { path: file.clone(), member: None };
        let error = registry().find::<MetricKind>(&by_path).err();
        assert!(matches!(error, Some(RegistryError::Untrusted(_))), "{error:?}");
    }
}

#[test]
fn files_are_checked_however_they_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("words.wasm");
    std::fs::write(&file, BARE_WORD_RECALL).expect("written");
    let store = PackageStore::new(folder.path().join("plugins"));
    let trust = || policy(TrustScope::Files, TrustRequirement::Signature);
    let entry = spec(&format!("{{id: words, source: '{}'}}", file.display()));
    let by_file = PluginReference::File { path: file.clone(), member: None };
    for error in [
        registry(&store, trust()).add(&entry).err(),
        registry(&store, trust()).add_folder(folder.path()).err(),
        registry(&store, trust()).find::<MetricKind>(&by_file).err(),
    ] {
        assert!(matches!(error, Some(RegistryError::Untrusted(_))), "{error:?}");
    }
    // The digest of a file counts.
    let pinned = format!(
        "{{id: words, source: '{}', sha256: {}}}",
        file.display(),
        Digest::of_bytes(BARE_WORD_RECALL).hex()
    );
    let digest = || policy(TrustScope::Files, TrustRequirement::Digest);
    assert!(registry(&store, digest()).add(&entry).is_err());
    registry(&store, digest()).add(&spec(&pinned)).unwrap_or_else(|error| panic!("{error}"));
    let free = registry(&store, Trust::default());
    free.find::<MetricKind>(&by_file).expect("found");
    let origins = free.used_origins();
    let named: Vec<_> = origins.iter().map(|one| (one.id.as_str(), one.source.as_str())).collect();
    assert_eq!(named, [("words.wasm", "words.wasm")], "without its folder");
}

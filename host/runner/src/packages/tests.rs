use super::*;
use crate::HostSettings;
use gage_config::{Environment, TrustPolicy, TrustRequirement, TrustRule, TrustScope};
use gage_packages::{Trust, package_manifest};
use gage_recorded_messages::RecordedError as _;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An address at which nothing listens.
const ADDRESS: &str = "oci://127.0.0.1:1/metrics/words:1";
const COMPONENT: &[u8] = b"a component";

/// Reads a suite with one plugin.
fn suite(entry: &str) -> (PipelineConfig, Problems) {
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\nplugins: [{entry}]\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: d.jsonl}}}}]\n\
         backends: [{{backend_id: b, type: llama_cpp, config: {{model_path: m.gguf}}}}]\n\
         role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
         custom: {{steps: [{{step: inference}}]}}\n"
    );
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = gage_config::load("suite.yaml", &text, &[], &environment);
    (config.unwrap_or_else(|| panic!("{}", problems.render(false))), problems)
}

fn context(cache_folder: &std::path::Path) -> Context {
    let host = HostSettings { cache_folder: Some(cache_folder.to_owned()), ..HostSettings::default() };
    Context { host, ..Context::default() }
}

fn pin(digest: Digest) -> RecordedPlugin {
    RecordedPlugin {
        id: "words".to_owned(),
        source: ADDRESS.to_owned(),
        digest: digest.to_string(),
        manifest: Some(Digest::of_bytes(b"manifest").to_string()),
        signer: None,
    }
}

#[test]
fn lock_pins_the_package_of_the_same_address() {
    let (locked, other) = (Digest::of_bytes(COMPONENT), Digest::of_bytes(b"other"));
    let manifest = Some(Digest::of_bytes(b"manifest"));
    let tag = format!("{{id: words, source: '{ADDRESS}'}}");
    for (entry, sha256, found) in [
        (tag.clone(), Some(locked), manifest),
        (format!("{{id: words, source: '{ADDRESS}', sha256: {}}}", locked.hex()), Some(locked), manifest),
        (format!("{{id: words, source: '{ADDRESS}', sha256: {}}}", other.hex()), Some(other), None),
        ("{id: words, source: 'oci://127.0.0.1:1/metrics/words:2'}".to_owned(), None, None),
        (format!("{{id: more, source: '{ADDRESS}'}}"), None, None),
        ("{id: words, source: ./words.wasm}".to_owned(), None, None),
    ] {
        let (mut config, _) = suite(&entry);
        assert_eq!(pin_packages(&mut config, &[pin(locked)]), [found], "{entry}");
        assert_eq!(config.plugins.first().map(|spec| spec.sha256), Some(sha256), "{entry}");
    }
}

#[test]
fn pinned_package_in_the_cache_needs_no_registry() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = context(folder.path());
    let package = NewPackage {
        reference: ADDRESS.parse().expect("a reference"),
        manifest: package_manifest(b"{}", COMPONENT, "words.wasm", &BTreeMap::new()),
        config: b"{}".to_vec(),
        component: COMPONENT.to_vec(),
        signatures: Vec::new(),
    };
    context.packages().expect("a cache").save(&package).expect("saved");
    let (mut config, mut problems) = suite(&format!("{{id: words, source: '{ADDRESS}'}}"));
    let pins = [pin(Digest::of_bytes(COMPONENT))];
    context.fetch_packages(&mut config, &pins, false, &mut problems).expect("fetched");
    assert!(!problems.has_errors(), "{}", problems.render(false));
    // Without a pin, the registry is asked what the tag is now, unless the user forbids the network.
    for (is_offline, has_errors) in [(true, false), (false, true)] {
        let (mut config, mut problems) = suite(&format!("{{id: words, source: '{ADDRESS}'}}"));
        let fetched = context.fetch_packages(&mut config, &[], is_offline, &mut problems);
        assert_eq!(fetched.is_err(), has_errors, "{fetched:?}");
    }
}

#[test]
fn registry_that_the_policy_does_not_name_is_not_contacted() {
    let folder = tempfile::tempdir().expect("a folder");
    let rule = TrustRule {
        scope: TrustScope::Registry("registry.example".to_owned()),
        keys: Vec::new(),
        requirement: TrustRequirement::Nothing,
    };
    let trust = Trust::load(&TrustPolicy { rules: vec![rule] }).expect("a policy");
    let context = Context { trust: Arc::new(trust), ..context(folder.path()) };
    let (mut config, mut problems) = suite(&format!("{{id: words, source: '{ADDRESS}'}}"));
    context.fetch_packages(&mut config, &[], false, &mut problems).expect("tried");
    // Nothing listens at the address, so that a connection would be an error. The plan refuses the plugin.
    assert!(!problems.has_errors(), "{}", problems.render(false));
}

#[test]
fn locked_package_that_nobody_has_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut config, mut problems) = suite(&format!("{{id: words, source: '{ADDRESS}'}}"));
    let pins = [pin(Digest::of_bytes(COMPONENT))];
    let fetched = context(folder.path()).fetch_packages(&mut config, &pins, false, &mut problems);
    let error = fetched.expect_err("nothing listens at the address");
    assert_eq!(error.recorded("plugins"), "packages of the suite cannot be fetched");
    let RunnerError::UnfetchedPackages { problems, category } = error else {
        unreachable!("none is fetched")
    };
    assert_eq!(category, ErrorCategory::RetryLater);
    let shown = problems.render(false);
    shown.recorded("plugins");
    assert!(shown.contains("suite.yaml:3:"), "{shown}");
    assert!(shown.contains("is neither in the cache nor can it be fetched"), "{shown}");
    assert!(shown.contains("gage-host plugin import"), "{shown}");
    assert!(!folder.path().join("plugins").exists(), "nothing is cached");
}

#[test]
fn moved_tag_names_both_components() {
    let reference: OciReference = ADDRESS.parse().expect("a reference");
    let (wanted, found) = (Digest::of_bytes(b"wanted"), Digest::of_bytes(b"found"));
    let problem = moved_tag(&reference, wanted, found);
    assert_eq!(problem.category, ErrorCategory::LockMismatch);
    let expected = format!("sha256 mismatch for {ADDRESS}: expected {}, found {}", wanted.hex(), found.hex());
    assert_eq!(problem.message.recorded("plugins"), expected);
    assert!(problem.help.is_some_and(|help| help.contains("the tag was moved")));
}

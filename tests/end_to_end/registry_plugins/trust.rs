//! Signatures of plugins, and the policy that demands them.

use super::{FIRST, REPOSITORY, Team, component_with_note};
use crate::plugins::with_plugins;
use crate::registry_server::sha256;
use crate::support::{CommandOutput, suite};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};
use serde_json::{Value, json};

const POLICY: &str = ".config/gage-host/policy.yaml";

impl Team {
    /// Writes a new pair of keys as `NAME.key` and `NAME.pub`.
    fn write_keys(&self, name: &str, pair: &KeyPair) {
        self.workspace.write(&format!("{name}.key"), pair.serialize_pem());
        self.workspace.write(&format!("{name}.pub"), pair.public_key_pem());
    }

    /// Writes the keys `team` and `other`, and a policy that demands a signature of `team` for the registry.
    fn demand_signatures(&self) {
        self.write_keys("team", &KeyPair::generate().expect("keys"));
        self.write_keys("other", &KeyPair::generate_for(&PKCS_ED25519).expect("keys"));
        self.write_policy(&self.rule("metrics", "{keys: [~/team.pub], require: signature}"));
    }

    /// Returns a rule for a path of the registry.
    fn rule(&self, path: &str, rule: &str) -> String {
        format!("  '{}/{path}': {rule}\n", self.registry.address())
    }

    fn write_policy(&self, rules: &str) {
        self.workspace.write(POLICY, format!("trust:\n{rules}"));
    }

    fn sign(&self, key: &str, what: &str) -> CommandOutput {
        self.run(&["plugin", "sign", "--key", key, what]).expect_code(0)
    }

    /// Fails the test unless a run is refused with some texts, before anything is compiled.
    #[track_caller]
    fn assert_refused(&self, run_id: &str, texts: &[&str]) {
        self.run_suite(run_id, &[]).expect_code(3).expect_error(texts);
        self.assert_nothing_is_compiled();
        assert!(!self.workspace.path(&format!("runs/{run_id}/samples.jsonl")).exists());
    }
}

#[test]
fn unsigned_plugin_is_refused_before_it_is_compiled() {
    let team = Team::with_first();
    team.demand_signatures();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    let reference = team.reference("0.1.0");
    team.assert_refused("unsigned", &[&reference, "team.pub", "help: "]);
    // The policy is about plugins, so it applies to trusted suites too.
    team.run_suite("trusted", &["--trusted"]).expect_code(3);
    team.run(&["lock", "suite.yaml"]).expect_code(3);
    team.run(&["plugin", "verify", &reference]).expect_code(3).expect_error(&[&reference]);

    team.sign("other.key", &reference);
    team.assert_refused("other", &[&reference, "team.pub"]);
    team.run(&["plugin", "verify", "--key", "team.pub", &reference]).expect_code(3);
    team.run(&["plugin", "verify", "--key", "other.pub", &reference]).expect_code(0);
    team.run(&["plugin", "verify", "--key", "team.pub", "--key", "other.pub", &reference]).expect_code(0);
    team.assert_nothing_is_compiled();
}

#[test]
fn signed_plugin_runs_and_its_signer_is_recorded() {
    for (algorithm, has_referrers) in
        [(&PKCS_ECDSA_P256_SHA256, false), (&PKCS_ECDSA_P256_SHA256, true), (&PKCS_ED25519, true)]
    {
        let team = Team::with_first();
        if has_referrers {
            team.registry.offer_referrers();
        }
        team.demand_signatures();
        team.write_keys("team", &KeyPair::generate_for(algorithm).expect("keys"));
        let reference = team.reference("0.1.0");
        team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
        // Another signature beside the right one changes nothing.
        team.sign("other.key", &reference);
        team.sign("team.key", &reference);
        let verified = team.run(&["plugin", "verify", &reference]).expect_code(0);
        assert!(verified.stdout.contains("team.pub"), "{}", verified.stdout);
        let inspected = team.run(&["plugin", "inspect", "--static", &reference]).expect_code(0);
        assert!(inspected.stdout.contains("team.pub"), "{}", inspected.stdout);

        team.run_suite("signed", &[]).expect_code(0);
        team.assert_scored("signed");
        for file in ["summary.json", "manifest.json"] {
            let text = team.workspace.read(&format!("runs/signed/{file}"));
            assert!(text.contains("team.pub"), "{file}: {text}");
        }
        let shown = team.run(&["runs", "show", "signed"]).expect_code(0);
        assert!(shown.stdout.contains("team.pub"), "{}", shown.stdout);

        // The cache has the signatures too.
        team.registry.take_requests();
        team.run_suite("offline", &["--offline"]).expect_code(0);
        assert_eq!(team.registry.take_requests(), Vec::<String>::new());
        team.workspace.assert_equal_files("signed", "offline", &["samples.jsonl"]);
        // The signer is a fact: a run without a policy has the same results.
        std::fs::remove_file(team.workspace.path(POLICY)).expect("removed");
        team.run_suite("open", &["--offline"]).expect_code(0);
        team.run(&["compare", "signed", "open"]).expect_code(0);
    }
}

#[test]
fn signature_has_the_forms_of_cosign() {
    let team = Team::with_first();
    team.demand_signatures();
    team.sign("team.key", &team.reference("0.1.0"));
    let digest = team.registry.digest_of(REPOSITORY, "0.1.0").replace(':', "-");
    let tags = team.registry.tags(REPOSITORY);
    assert_eq!(tags, ["0.1.0".to_owned(), digest.clone(), format!("{digest}.sig")]);
    let simple = team.registry.manifest(REPOSITORY, &format!("{digest}.sig"));
    let layer = &simple["layers"][0];
    assert_eq!(layer["mediaType"], "application/vnd.dev.cosign.simplesigning.v1+json");
    assert!(layer["annotations"]["dev.cosignproject.cosign/signature"].is_string(), "{simple}");
    let index = team.registry.manifest(REPOSITORY, &digest);
    let referrer = &index["manifests"][0];
    assert_eq!(referrer["artifactType"], "application/vnd.dev.sigstore.bundle.v0.3+json", "{index}");
    // A second signature is added to the first one.
    team.sign("other.key", &team.reference("0.1.0"));
    let simple = team.registry.manifest(REPOSITORY, &format!("{digest}.sig"));
    assert_eq!(simple["layers"].as_array().map(Vec::len), Some(2), "{simple}");
    let index = team.registry.manifest(REPOSITORY, &digest);
    assert_eq!(index["manifests"].as_array().map(Vec::len), Some(2), "{index}");
}

#[test]
fn each_form_of_a_signature_is_enough() {
    let team = Team::with_first();
    team.demand_signatures();
    let reference = team.reference("0.1.0");
    team.sign("team.key", &reference);
    let index_tag = team.registry.digest_of(REPOSITORY, "0.1.0").replace(':', "-");
    let simple_tag = format!("{index_tag}.sig");
    let index = team.registry.manifest(REPOSITORY, &index_tag);
    let simple = team.registry.manifest(REPOSITORY, &simple_tag);
    let without = |manifest: &Value, key: &str| {
        let mut manifest = manifest.clone();
        manifest[key] = json!([]);
        manifest
    };
    // cosign lists a referrer with the type of its configuration.
    let mut index_of_cosign = index.clone();
    index_of_cosign["manifests"][0]["artifactType"] = "application/vnd.oci.empty.v1+json".into();
    for (case, index, simple, code) in [
        ("both", index.clone(), simple.clone(), 0),
        ("bundle", index_of_cosign, without(&simple, "layers"), 0),
        ("simple signing", without(&index, "manifests"), simple.clone(), 0),
        ("none", without(&index, "manifests"), without(&simple, "layers"), 3),
    ] {
        team.registry.put_manifest(REPOSITORY, &index_tag, &index);
        team.registry.put_manifest(REPOSITORY, &simple_tag, &simple);
        let ended = team.run(&["plugin", "verify", &reference]);
        assert_eq!(ended.code, Some(code), "{case}: {}", ended.stderr);
    }
}

#[test]
fn signature_of_another_component_is_not_accepted() {
    let team = Team::with_first();
    team.demand_signatures();
    team.sign("team.key", &team.reference("0.1.0"));
    let signed = team.registry.digest_of(REPOSITORY, "0.1.0").replace(':', "-");
    let other = component_with_note("other");
    team.push("0.2.0", &other);
    let digest = team.registry.digest_of(REPOSITORY, "0.2.0").replace(':', "-");
    // A registry can move signatures, but not make them.
    for suffix in ["", ".sig"] {
        let moved = team.registry.manifest(REPOSITORY, &format!("{signed}{suffix}"));
        team.registry.put_manifest(REPOSITORY, &format!("{digest}{suffix}"), &moved);
    }
    team.write_suite("0.2.0", &format!(", sha256: {}", sha256(&other)));
    team.assert_refused("moved", &[&team.reference("0.2.0")]);
}

#[test]
fn rules_of_a_policy_are_applied_to_their_registries() {
    let team = Team::with_first();
    team.demand_signatures();
    let pin = format!(", sha256: {}", sha256(FIRST));
    let reference = team.reference("0.1.0");
    let (metrics, whole) = ("metrics", REPOSITORY);
    for (case, rules, more_keys, code) in [
        ("digest without one", team.rule(metrics, "{require: digest}"), "", 3),
        ("digest", team.rule(metrics, "{require: digest}"), pin.as_str(), 0),
        ("nothing", team.rule(metrics, "{require: nothing}"), "", 0),
        ("unnamed registry", "  registry.example: {require: nothing}\n".to_owned(), &pin, 3),
        ("part of a segment", team.rule("metric", "{require: nothing}"), &pin, 3),
        (
            "the longest rule allows",
            team.rule(metrics, "{keys: [~/team.pub], require: signature}")
                + &team.rule(whole, "{require: digest}"),
            &pin,
            0,
        ),
        (
            "the longest rule refuses",
            team.rule(whole, "{keys: [~/team.pub], require: signature}")
                + &team.rule(metrics, "{require: digest}"),
            &pin,
            3,
        ),
    ] {
        team.write_policy(&rules);
        team.write_suite("0.1.0", more_keys);
        let ended = team.run_suite(&case.replace(' ', "-"), &[]);
        assert_eq!(ended.code, Some(code), "{case}: {}", ended.stderr);
        assert!(code == 0 || ended.stderr.contains(&reference), "{case}: {}", ended.stderr);
    }
}

#[test]
fn lock_pins_what_a_policy_wants_pinned() {
    let team = Team::with_first();
    team.write_keys("team", &KeyPair::generate().expect("keys"));
    team.write_policy(&team.rule("metrics", "{require: digest}"));
    team.write_suite("0.1.0", "");
    let pin = format!("write `sha256: {}`", sha256(FIRST));
    team.assert_refused("unpinned", &[&team.reference("0.1.0"), &pin, "gage-host lock", "--locked"]);
    // Neither command scores, and the suite can be pinned after both.
    team.run(&["validate", "suite.yaml"]).expect_code(0);
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    team.run(&["lock", "suite.yaml", "--check"]).expect_code(0);
    team.run(&["validate", "suite.yaml"]).expect_code(0);
    team.run_suite("locked", &["--locked"]).expect_code(0);
    team.assert_scored("locked");
    team.run_suite("unlocked", &[]).expect_code(3).expect_error(&[&pin]);
    // A lock is no signature.
    team.write_policy(&team.rule("metrics", "{keys: [~/team.pub], require: signature}"));
    for command in [&["lock", "suite.yaml", "--check"][..], &["validate", "suite.yaml"]] {
        team.run(command).expect_code(3).expect_error(&["team.pub"]);
    }
    team.run_suite("unsigned", &["--locked"]).expect_code(3);
}

#[test]
fn file_is_pinned_in_the_suite() {
    let team = Team::new();
    team.write_policy("  files: {require: digest}\n");
    let text = suite(&team.model.backend(""), "[word_recall]");
    let write = |more: &str| {
        let plugin = format!("  - {{id: recall, source: ./word-recall.wasm{more}}}\n");
        team.workspace.write("suite.yaml", with_plugins(&plugin, &text));
    };
    let pin = format!("sha256: {}", sha256(FIRST));
    write("");
    for command in [&["lock", "suite.yaml"][..], &["run", "suite.yaml"]] {
        let refused = team.run(command).expect_code(3).expect_error(&[&pin]);
        assert!(!refused.stderr.contains("--locked"), "{}", refused.stderr);
    }
    write(&format!(", {pin}"));
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    team.run_suite("locked", &["--locked"]).expect_code(0);
}

#[test]
fn registry_without_a_rule_is_not_contacted() {
    let team = Team::with_first();
    let reference = team.reference("0.1.0");
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    let written = team.workspace.read("suite.yaml");
    team.write_policy("  registry.example: {require: nothing}\n");
    team.registry.take_requests();
    for command in [
        &["plugin", "add", &reference, "--config", "suite.yaml", "--id", "other"][..],
        &["plugin", "update", "--config", "suite.yaml"],
        &["plugin", "diff", &reference, "word-recall.wasm"],
    ] {
        team.run(command).expect_code(3).expect_error(&[&reference, "names its registry"]);
    }
    let shown = team.run(&["plugin", "outdated", "--config", "suite.yaml"]).expect_code(0);
    let row = shown.stdout.lines().find(|line| line.contains("recall"));
    assert!(row.is_some_and(|row| row.contains("not trusted")), "{}", shown.stdout);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
    assert_eq!(team.workspace.read("suite.yaml"), written);
    team.assert_nothing_is_cached();
    // A user who names a package wants it fetched. A run refuses it nevertheless.
    let pulled = team.run(&["plugin", "pull", &reference]).expect_code(0);
    assert!(pulled.stderr.contains("warning: the policy refuses this plugin"), "{}", pulled.stderr);
    team.assert_refused("pulled", &[&reference]);
}

#[test]
fn empty_values_of_a_policy_are_errors() {
    let team = Team::with_first();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    let registry = team.registry.address();
    for (policy, place, text) in [
        ("trust:\n".to_owned(), "policy.yaml:1:1", "`trust` has no value"),
        (format!("trust:\n  '{registry}': {{keys: []}}\n"), "policy.yaml:2:", "`keys` is empty"),
        (format!("trust:\n  '{registry}':\n    keys:\n"), "policy.yaml:3:5", "`keys` has no value"),
        (format!("trust:\n  '{registry}': {{require: }}\n"), "policy.yaml:2:", "`require` has no value"),
    ] {
        team.workspace.write(POLICY, policy);
        team.run_suite("empty", &[]).expect_code(2).expect_error(&[place, text, "help: "]);
        team.assert_nothing_is_compiled();
    }
}

#[test]
fn files_need_a_signature_beside_them() {
    let team = Team::new();
    team.write_keys("team", &KeyPair::generate().expect("keys"));
    team.write_keys("other", &KeyPair::generate().expect("keys"));
    team.write_policy("  files: {keys: [~/team.pub], require: signature}\n");
    let text = suite(&team.model.backend(""), "[word_recall]");
    team.workspace.write("suite.yaml", with_plugins("  - {id: recall, source: ./word-recall.wasm}\n", &text));
    team.assert_refused("unsigned", &["word-recall.wasm", "team.pub"]);
    for (run_id, key) in [("other", "other.key"), ("signed", "team.key")] {
        // A file has room for one signature.
        let _ = std::fs::remove_file(team.workspace.path("word-recall.wasm.sigstore.json"));
        team.sign(key, "word-recall.wasm");
        let bundle = team.workspace.read("word-recall.wasm.sigstore.json");
        assert!(bundle.contains("application/vnd.dev.sigstore.bundle.v0.3+json"), "{bundle}");
        match key {
            "team.key" => drop(team.run_suite(run_id, &[]).expect_code(0)),
            _ => team.assert_refused(run_id, &["word-recall.wasm"]),
        }
    }
    team.run(&["plugin", "verify", "word-recall.wasm"]).expect_code(0);
    // The signature is about these bytes.
    team.workspace.write("word-recall.wasm", component_with_note("altered"));
    team.run_suite("altered", &[]).expect_code(3).expect_error(&["word-recall.wasm"]);
    team.run(&["plugin", "verify", "word-recall.wasm"]).expect_code(3);
    for bundle in ["", "{}", "[]", "{\"mediaType\": 3}", &"[".repeat(100_000)] {
        team.workspace.write("word-recall.wasm.sigstore.json", bundle);
        let shown: String = bundle.chars().take(20).collect();
        let ended = team.run_suite("bad", &[]);
        assert_eq!(ended.code, Some(3), "{shown}: {}", ended.stderr);
    }
    std::fs::remove_file(team.workspace.path("word-recall.wasm.sigstore.json")).expect("removed");
    std::fs::create_dir(team.workspace.path("word-recall.wasm.sigstore.json")).expect("a folder");
    let ended = team.run_suite("folder", &[]).expect_code(3);
    assert!(ended.stderr.contains("the signatures of ./word-recall.wasm cannot be read"), "{}", ended.stderr);
}

#[test]
fn exported_packages_carry_their_signatures() {
    let team = Team::with_first();
    team.demand_signatures();
    team.sign("team.key", &team.reference("0.1.0"));
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    team.run(&["plugin", "export", "--config", "suite.yaml", "-o", "plugins.tar"]).expect_code(0);
    team.run_with_cache("there", &["plugin", "import", "plugins.tar"]).expect_code(0);
    team.registry.take_requests();
    let offline =
        |run_id: &str| team.run_with_cache("there", &["run", "suite.yaml", "--run-id", run_id, "--offline"]);
    offline("there").expect_code(0);
    assert!(team.workspace.read("runs/there/summary.json").contains("team.pub"));
    team.write_policy(&team.rule("metrics", "{keys: [~/other.pub], require: signature}"));
    offline("refused").expect_code(3);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
}

#[test]
fn keys_that_cannot_be_used_are_named() {
    let team = Team::with_first();
    team.demand_signatures();
    let reference = team.reference("0.1.0");
    team.workspace.write("text.key", "no key");
    let encrypted = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n\
                     -----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
    team.workspace.write("cosign.key", encrypted);
    for (key, text) in [
        ("missing.key", "missing.key"),
        ("text.key", "text.key"),
        ("team.pub", "public"),
        ("cosign.key", "openssl genpkey"),
    ] {
        team.run(&["plugin", "sign", "--key", key, &reference]).expect_error(&[key, text]);
    }
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    for (key, text) in
        [("~/missing.pub", "missing.pub"), ("~/text.key", "text.key"), ("~/team.key", "private")]
    {
        team.write_policy(&team.rule("metrics", &format!("{{keys: [{key}], require: signature}}")));
        team.run_suite("bad", &[]).expect_error(&[text]);
        team.assert_nothing_is_compiled();
    }
    team.write_policy(&team.rule("metrics", "{require: signature}"));
    team.run_suite("bad", &[]).expect_code(2).expect_error(&["policy.yaml:2"]);
}

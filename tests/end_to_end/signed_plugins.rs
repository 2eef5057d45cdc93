//! Signatures of component files, and the commands for packages as far as they need no registry.

use crate::support::{CommandOutput, Workspace, suite};

const TEAM_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgASngW0rVCMalM6ad
4mfsbwxjb4UBgnTacWqXm0xK7+ahRANCAATGKiUu3Y+RiAq9+fgfYhCW6vL6Xtrb
0h+AlThl860RQ6o4pqga+QXsPF/mKqpuX2rNJuiUGdAVw9EG/9r/sx8B
-----END PRIVATE KEY-----
";
const TEAM_PUB: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExiolLt2PkYgKvfn4H2IQlury+l7a
29IfgJU4ZfOtEUOqOKaoGvkF7Dxf5iqqbl9qzSbolBnQFcPRBv/a/7MfAQ==
-----END PUBLIC KEY-----
";
const OTHER_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEILExaogfRCumN6SLUXgoAio7rmVvpo7MP8rK7c/FM9xX
-----END PRIVATE KEY-----
";
const OTHER_PUB: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAm4aB4XVknALiiwYcvAEZjk1IcPGCL8EANpCH/wPP4AE=
-----END PUBLIC KEY-----
";

const PACKAGE: &str = "oci://registry.example/metrics/word-recall:0.1.0";

/// A component, two pairs of keys, and a policy in which only signed files may score.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    for (file, text) in [
        ("team.key", TEAM_KEY),
        ("team.pub", TEAM_PUB),
        ("other.key", OTHER_KEY),
        ("other.pub", OTHER_PUB),
        ("strict/team.pub", TEAM_PUB),
        ("strict/policy.yaml", "trust:\n  files: {keys: [team.pub], require: signature}\n"),
        ("other/other.pub", OTHER_PUB),
        ("other/policy.yaml", "trust:\n  files: {keys: [other.pub], require: nothing}\n"),
    ] {
        workspace.write(file, text);
    }
    workspace
}

fn run_with_policy(workspace: &Workspace, policy: &str, arguments: &[&str]) -> CommandOutput {
    workspace.run_with_env([("GAGE_HOST_POLICY", format!("{policy}/policy.yaml"))], arguments)
}

#[test]
fn a_signed_file_is_verified_by_the_right_key() {
    let workspace = workspace();
    let signed = workspace.run(&["plugin", "sign", "--key", "team.key", "recall.wasm"]).expect_code(0);
    assert!(signed.stdout.starts_with("recall.wasm.sigstore.json: signed with the key sha256:"));
    assert_eq!(signed.stderr.trim(), "next: gage-host plugin verify --key PUB recall.wasm");

    let verify = |keys: &[&str]| {
        let keys = keys.iter().flat_map(|key| ["--key", key]);
        let words: Vec<&str> = ["plugin", "verify"].into_iter().chain(keys).chain(["recall.wasm"]).collect();
        workspace.run(&words)
    };
    for keys in [&["team.pub"][..], &["other.pub", "team.pub"]] {
        let verified = verify(keys).expect_code(0);
        assert!(verified.stdout.starts_with("recall.wasm: signed by team.pub (sha256:"), "{keys:?}");
    }
    let refused = verify(&["other.pub"]).expect_code(3);
    assert!(refused.stderr.starts_with("error: recall.wasm: "), "{}", refused.stderr);

    // The signature is that of other bytes.
    let changed = [gage_test_guests::BARE_WORD_RECALL, b"\0\x02\x01a"].concat();
    workspace.write("recall.wasm", changed);
    verify(&["team.pub"]).expect_code(3);
}

#[test]
fn signature_that_is_needed_is_not_replaced() {
    const BUNDLE: &str = "recall.wasm.sigstore.json";
    let workspace = workspace();
    let sign = |key: &str| workspace.run(&["plugin", "sign", "--key", key, "recall.wasm"]);
    sign("team.key").expect_code(0);
    sign("team.key").expect_code(0);
    let of_team = workspace.read(BUNDLE);
    for (found, expected) in [
        (of_team.as_str(), "is a signature of this component that this key did not make"),
        ("{}", "is not a signature that can be read here"),
    ] {
        workspace.write(BUNDLE, found);
        let refused = sign("other.key").expect_code(2);
        assert!(refused.stderr.contains(&format!("error: {BUNDLE} {expected}")), "{}", refused.stderr);
        assert!(refused.stderr.contains("move that one away first"), "{}", refused.stderr);
        assert_eq!(workspace.read(BUNDLE), found);
    }
    // A signature of other bytes is of no use.
    workspace.write(BUNDLE, &of_team);
    workspace.write("recall.wasm", [gage_test_guests::BARE_WORD_RECALL, b"\0\x02\x01a"].concat());
    sign("other.key").expect_code(0);
    workspace.run(&["plugin", "verify", "--key", "other.pub", "recall.wasm"]).expect_code(0);
}

#[test]
fn the_policy_names_the_keys_of_files() {
    let workspace = workspace();
    let verify = |policy: &str| run_with_policy(&workspace, policy, &["plugin", "verify", "recall.wasm"]);
    let unsigned = verify("strict").expect_code(3);
    assert!(unsigned.stderr.contains("recall.wasm: it has no signature"), "{}", unsigned.stderr);

    workspace.run(&["plugin", "sign", "--key", "team.key", "recall.wasm"]).expect_code(0);
    let signed = verify("strict").expect_code(0);
    assert!(signed.stdout.contains("signed by team.pub"), "{}", signed.stdout);
    let refused = verify("other").expect_code(3);
    assert!(refused.stderr.contains("no key of the policy made one of its signatures"), "{}", refused.stderr);
    let without = workspace.run(&["plugin", "verify", "recall.wasm"]).expect_code(2);
    assert!(without.stderr.contains("the policy names none"), "{}", without.stderr);

    let json =
        run_with_policy(&workspace, "strict", &["plugin", "verify", "recall.wasm", "--json"]).expect_code(0);
    let json = json.stdout_json();
    assert_eq!(json["signer"]["key"], "team.pub");
    assert_eq!(json["refusal"], serde_json::Value::Null);
}

#[test]
fn inspect_shows_signers_and_runs_nothing_that_is_refused() {
    let workspace = workspace();
    let inspect = |policy: &str| {
        run_with_policy(&workspace, policy, &["plugin", "inspect", "recall.wasm"]).expect_code(0)
    };
    let unsigned = inspect("strict").stdout;
    for part in ["plugin      not asked: the policy refuses it", "signature   not signed", "refuses it: "] {
        assert!(unsigned.contains(part), "{part}: {unsigned}");
    }
    assert!(!inspect("other").stdout.contains("signature"), "an unsigned file needs no line");

    workspace.run(&["plugin", "sign", "--key", "team.key", "recall.wasm"]).expect_code(0);
    let signed = inspect("strict").stdout;
    for part in ["signature   signed by team.pub (sha256:", "policy      accepts it", "version 1"] {
        assert!(signed.contains(part), "{part}: {signed}");
    }
    let unknown = inspect("other").stdout;
    let none = "signature   1 signature, none by a key of the policy";
    assert!(unknown.contains(none), "{unknown}");
    // Nothing is known about a bundle that cannot be read.
    workspace.write("recall.wasm.sigstore.json", "{\"a\": 1}");
    assert!(inspect("other").stdout.contains(none));
}

#[test]
fn commands_that_describe_files_apply_the_policy() {
    let workspace = workspace();
    let commands = [&["plugin", "diff", "recall.wasm", "recall.wasm"][..], &["metrics", "./recall.wasm"]];
    for command in commands {
        let refused = run_with_policy(&workspace, "strict", command).expect_code(3);
        let expected = "error: the plugin ";
        assert!(refused.stderr.starts_with(expected), "{command:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("recall.wasm is not trusted"), "{command:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains("plugin pull"), "{command:?}: {}", refused.stderr);
    }
    workspace.run(&["plugin", "sign", "--key", "team.key", "recall.wasm"]).expect_code(0);
    for command in commands {
        run_with_policy(&workspace, "strict", command).expect_code(0);
    }
    // Authors test their own components, which need no signature.
    workspace.write("other.wasm", gage_test_guests::BARE_WORD_RECALL);
    run_with_policy(&workspace, "strict", &["plugin", "bench", "other.wasm", "--seconds", "0.01"])
        .expect_code(0);
    // A built-in component is no file.
    run_with_policy(&workspace, "strict", &["plugin", "diff", "text", "text"]).expect_code(0);
}

#[test]
fn commands_for_packages_refuse_what_they_cannot_do() {
    let workspace = workspace();
    workspace.write("suite.yaml", suite("type: openai_http\n    config: {model: m}", "[exact_match]"));
    workspace.write("broken.key", "no key\n");
    workspace.write("broken.tar", "no archive\n");
    workspace.write("blocked.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("blocked.wasm.sigstore.json/file", "");
    let digest = "0".repeat(64);
    let pinned = format!("oci://registry.example/metrics/word-recall@sha256:{digest}");
    for (arguments, expected) in [
        (&["push", "recall.wasm", pinned.as_str()][..], "a push names a tag, and no digest"),
        (&["push", "missing.wasm", PACKAGE], "missing.wasm"),
        (&["push", "team.key", PACKAGE], "team.key"),
        (&["sign", "recall.wasm"], "openssl pkey -in team.key -pubout -out team.pub"),
        (&["sign", "--key", "missing.key", "recall.wasm"], "cannot read the key missing.key"),
        (&["sign", "--key", "broken.key", "recall.wasm"], "cannot use the key broken.key: "),
        (&["sign", "--key", "team.pub", "recall.wasm"], "cannot use the key team.pub: it is a public key"),
        (&["sign", "--key", "team.key", "text"], "there is no file text"),
        (
            &["sign", "--key", "team.key", "blocked.wasm"],
            "cannot read the signature blocked.wasm.sigstore.json: ",
        ),
        (&["verify", "--key", "team.pub", "blocked.wasm"], "blocked.wasm.sigstore.json: "),
        (&["verify", "--key", "missing.pub", "recall.wasm"], "cannot read the key missing.pub"),
        (&["verify", "--key", "team.key", "recall.wasm"], "cannot use the key team.key: it is a private key"),
        (&["verify", "--key", "team.pub", "--offline", PACKAGE], "is not in the cache"),
        (&["inspect", "--offline", PACKAGE], "add it with `gage-host plugin import`"),
        (&["export", "-o", "plugins.tar"], "no plugin of suite.yaml comes from a registry"),
        (&["export", "--config", "missing.yaml", "-o", "plugins.tar"], "missing.yaml"),
        (&["import", "broken.tar"], "broken.tar"),
        (&["import", "missing.tar"], "missing.tar"),
    ] {
        let words: Vec<&str> = ["plugin"].into_iter().chain(arguments.iter().copied()).collect();
        let refused = workspace.run(&words).expect_code(2);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "", "{arguments:?}");
    }
    std::fs::remove_file(workspace.path("suite.yaml")).expect("removed");
    let refused = workspace.run(&["plugin", "export", "-o", "plugins.tar"]).expect_code(2);
    assert!(refused.stderr.contains("there is no suite to export"), "{}", refused.stderr);
    assert!(!workspace.path("plugins.tar").exists());
}

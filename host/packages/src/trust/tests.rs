use super::{PackageOrigin, Signer, Trust};
use crate::trust_error::TrustError;
use gage_config::load_policy;
use gage_core::{Digest, OciReference};
use gage_recorded_messages::RecordedError as _;
use gage_signature::{Signature, SigningKey, Subject, sign_bundle};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Keys of the tests of signatures. They protect nothing.
const TEAM_KEY: &str = include_str!("../../../signature/tests/fixtures/p256.pem");
const TEAM_PUBLIC_KEY: &str = include_str!("../../../signature/tests/fixtures/p256.pub");
const OTHER_KEY: &str = include_str!("../../../signature/tests/fixtures/ed25519.pem");
const OTHER_PUBLIC_KEY: &str = include_str!("../../../signature/tests/fixtures/ed25519.pub");

const POLICY: &str = "\
trust:
  registry.example: {require: nothing}
  registry.example/metrics: {keys: [team.pub], require: signature}
  registry.example/metrics/open: {keys: [other.pub, team.pub], require: nothing}
  localhost:5000/tools: {require: digest}
";

fn subject() -> Subject {
    Subject { component: Digest::of_bytes(b"component"), manifest: None, name: "word-recall".to_owned() }
}

/// Loads the policy of a folder that has two keys.
fn load(folder: &TempDir, policy: &str) -> Result<Trust, TrustError> {
    let path = folder.path();
    fs::write(path.join("team.pub"), TEAM_PUBLIC_KEY).expect("written");
    fs::write(path.join("other.pub"), OTHER_PUBLIC_KEY).expect("written");
    let (policy, problems) = load_policy(&path.join("policy.yaml"), policy);
    assert!(!problems.has_errors(), "{}", problems.render(false));
    Trust::load(&policy.expect("a policy").trust.expect("`trust`"))
}

fn trust(policy: &str) -> Trust {
    load(&tempfile::tempdir().expect("a folder"), policy).expect("keys")
}

fn signed_with(key: &str) -> Vec<Signature> {
    let key = SigningKey::from_pem(key).expect("a key");
    vec![Signature::Bundle(sign_bundle(&key, &subject()).expect("a bundle"))]
}

/// Checks a component. Returns the file name of the key that signed it, or the message.
fn check(trust: &Trust, source: &str, is_pinned: bool, key: Option<&str>) -> Result<Option<String>, String> {
    let reference = source.parse::<OciReference>();
    let origin = match &reference {
        Ok(reference) => PackageOrigin::Registry(reference),
        Err(_) => PackageOrigin::File(Path::new(source)),
    };
    let signatures = || key.map(signed_with).unwrap_or_default();
    match trust.check(origin, &subject(), is_pinned, &signatures) {
        Ok(signer) => Ok(signer.map(|signer| signer.key)),
        Err(error) => Err(error.recorded("plugins")),
    }
}

#[test]
fn longest_entry_of_whole_segments_counts() {
    let trust = trust(POLICY);
    let (team, other) = (Some("team.pub".to_owned()), Some("other.pub".to_owned()));
    for (source, is_pinned, key, expected) in [
        ("oci://registry.example/metrics/word-recall:0.1.0", false, Some(TEAM_KEY), team.clone()),
        ("oci://registry.example/metrics:0.1.0", false, Some(TEAM_KEY), team.clone()),
        ("oci://registry.example/metrics2/word-recall:0.1.0", false, None, None),
        ("oci://registry.example/metrics2/word-recall:0.1.0", false, Some(TEAM_KEY), None),
        ("oci://registry.example/metrics/open/a:1", false, Some(OTHER_KEY), other),
        ("oci://registry.example/metrics/open/a:1", false, Some(TEAM_KEY), team),
        ("oci://registry.example/metrics/open/a:1", false, None, None),
        ("oci://localhost:5000/tools/a:1", true, None, None),
        ("plugins/word_recall.wasm", false, None, None),
    ] {
        assert_eq!(check(&trust, source, is_pinned, key), Ok(expected), "{source}");
    }
}

#[test]
fn refusal_names_plugin_entry_and_remedy() {
    let trust = trust(POLICY);
    let hex = subject().component.hex();
    let metric = "oci://registry.example/metrics/word-recall:0.1.0";
    let unsigned = "the plugin oci://registry.example/metrics/word-recall:0.1.0 is not trusted: the entry \
                    `registry.example/metrics` of `trust` in the policy requires a signature with team.pub, and it has no \
                    signature; ask the owner of the key for a signature (`gage-host plugin sign`), or add the key of the \
                    signer to the entry";
    let not_pinned = format!(
        "the plugin oci://localhost:5000/tools/a:1 is not trusted: the entry `localhost:5000/tools` of `trust` in the policy \
         requires a digest; write `sha256: {hex}` next to its `source` in `plugins` of the suite, or lock the suite with \
         `gage-host lock` and run it with `--locked`"
    );
    let unlisted = "the plugin oci://other.example/metrics/a:1 is not trusted: no entry of `trust` in the policy names its \
                    registry; add an entry such as `other.example: {keys: [KEY.pub], require: signature}` to the policy file, \
                    or take the plugin from another registry";
    for (source, is_pinned, key, expected) in [
        (metric, true, None, unsigned),
        (
            metric,
            true,
            Some(OTHER_KEY),
            "and its signature is not accepted: it was made with the key sha256:",
        ),
        ("oci://localhost:5000/tools/a:1", false, Some(TEAM_KEY), not_pinned.as_str()),
        ("oci://other.example/metrics/a:1", true, Some(TEAM_KEY), unlisted),
        (
            "oci://localhost:5001/tools/a:1",
            true,
            None,
            "names its registry; add an entry such as `localhost:5001: {",
        ),
        ("oci://localhost:5000/tools2/a:1", true, None, "names its registry"),
    ] {
        let message = check(&trust, source, is_pinned, key).expect_err(source);
        assert!(message.contains(expected), "{expected}\n{message}");
    }
}

#[test]
fn rule_for_files_counts_for_files_only() {
    let signature = trust("trust: {files: {keys: [team.pub, other.pub]}}\n");
    let file = "plugins/word_recall.wasm";
    assert_eq!(check(&signature, file, false, Some(OTHER_KEY)), Ok(Some("other.pub".to_owned())));
    let message = check(&signature, file, true, None).expect_err("no signature");
    let expected = "the plugin plugins/word_recall.wasm is not trusted: the entry `files` of `trust` in the policy requires a \
                    signature with team.pub or other.pub, and it has no signature;";
    assert!(message.starts_with(expected), "{message}");
    let message =
        check(&signature, "oci://registry.example/a:1", true, Some(TEAM_KEY)).expect_err("no entry");
    assert!(message.contains("no entry of `trust` in the policy names its registry"), "{message}");
    let digest = trust("trust: {files: {require: digest}}\n");
    assert_eq!(check(&digest, file, true, None), Ok(None));
    let message = check(&digest, file, false, None).expect_err("no digest");
    assert!(message.contains("the entry `files` of `trust` in the policy requires a digest"), "{message}");
    // A lock does not pin files.
    assert!(message.ends_with("next to its `source` in `plugins` of the suite"), "{message}");
}

#[test]
fn commands_that_score_nothing_need_no_digest() {
    let trust = trust(
        "trust:\n  registry.example: {keys: [team.pub]}\n  localhost:5000: {require: digest}\n  \
         files: {require: digest}\n",
    );
    let allowing = trust.allowing_unpinned();
    for (source, is_allowed) in [
        ("oci://localhost:5000/tools/a:1", true),
        ("oci://registry.example/a:1", false),
        ("oci://other.example/a:1", false),
        ("plugins/word_recall.wasm", false),
    ] {
        assert_eq!(check(&allowing, source, false, None).is_ok(), is_allowed, "{source}");
        assert!(check(&trust, source, false, None).is_err(), "{source}");
    }
    assert_eq!(allowing.keys(), trust.keys());
}

#[test]
fn only_unsigned_packages_are_fetched_again() {
    let trust = trust(
        "trust:\n  registry.example: {keys: [team.pub]}\n  localhost:5000: {require: digest}\n  \
         files: {keys: [team.pub]}\n",
    );
    for (source, has_help) in [
        ("oci://registry.example/a:1", true),
        ("oci://localhost:5000/a:1", false),
        ("oci://other.example/a:1", false),
        ("a.wasm", false),
    ] {
        let reference = source.parse::<OciReference>();
        let origin = match &reference {
            Ok(reference) => PackageOrigin::Registry(reference),
            Err(_) => PackageOrigin::File(Path::new(source)),
        };
        let error = trust.check(origin, &subject(), false, &Vec::<Signature>::new).expect_err(source);
        assert_eq!(error.help().is_some(), has_help, "{error}");
    }
}

#[test]
fn bundled_components_and_no_policy_need_nothing() {
    let never = || -> Vec<Signature> { panic!("signatures are not needed") };
    let reference: OciReference = "oci://other.example/a:1".parse().expect("a reference");
    let file = PackageOrigin::File(Path::new("a.wasm"));
    let everything_refused = trust("trust: {}\n");
    for (trust, origin) in [
        (&Trust::default(), PackageOrigin::Registry(&reference)),
        (&Trust::default(), file),
        (&everything_refused, PackageOrigin::Bundled),
        (&everything_refused, file),
    ] {
        assert_eq!(trust.check(origin, &subject(), false, &never), Ok(None), "{origin:?}");
    }
    let refused = everything_refused.check(PackageOrigin::Registry(&reference), &subject(), true, &never);
    assert!(matches!(refused, Err(TrustError::Unlisted { .. })));
}

#[test]
fn signer_is_recorded_with_its_fingerprint() {
    let trust = trust(POLICY);
    let reference: OciReference = "oci://registry.example/metrics/a:1".parse().expect("a reference");
    let signatures = || signed_with(TEAM_KEY);
    let origin = PackageOrigin::Registry(&reference);
    let signer = trust.check(origin, &subject(), false, &signatures).expect("trusted").expect("a signer");
    let fingerprint = SigningKey::from_pem(TEAM_KEY).expect("a key").verifying_key().fingerprint();
    let json = serde_json::to_value(&signer).expect("JSON");
    assert_eq!(json, serde_json::json!({"key": "team.pub", "fingerprint": fingerprint.to_string()}));
    assert_eq!(serde_json::from_value::<Signer>(json).expect("a signer"), signer);
}

#[test]
fn keys_of_all_entries_are_listed_once() {
    let names: Vec<String> = trust(POLICY).keys().iter().map(|key| key.name.clone()).collect();
    assert_eq!(names, ["team.pub", "other.pub"]);
    assert!(Trust::default().keys().is_empty());
}

#[test]
fn key_that_cannot_be_used_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let rsa = include_str!("../../../signature/tests/fixtures/rsa.pub");
    fs::write(folder.path().join("rsa.pub"), rsa).expect("written");
    fs::write(folder.path().join("team.key"), TEAM_KEY).expect("written");
    fs::create_dir(folder.path().join("folder.pub")).expect("a folder");
    fs::write(folder.path().join("huge.pub"), " ".repeat(100_000)).expect("written");
    fs::write(folder.path().join("bytes.pub"), b"\xff\xfe").expect("written");
    for (name, expected) in [
        ("missing.pub", "cannot be used: no such file or directory; correct the policy file"),
        ("folder.pub", "it is a folder, not a regular file"),
        ("rsa.pub", "its algorithm is RSA; supported are ECDSA P-256 and Ed25519"),
        ("team.key", "it is a private key; name its public key"),
        ("huge.pub", "it has 97 KiB; at most 64 KiB are allowed for a key"),
        ("bytes.pub", "stream did not contain valid UTF-8"),
    ] {
        let policy = format!("trust: {{registry.example: {{keys: [team.pub, {name}]}}}}\n");
        let error = load(&folder, &policy).expect_err(name).recorded("plugins");
        let place = format!("{name}' of the entry `registry.example` in `trust` cannot be used: ");
        assert!(error.starts_with("the key '") && error.contains(&place), "{error}");
        assert!(error.contains(expected), "{expected}\n{error}");
    }
}

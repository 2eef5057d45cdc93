//! Registries that fail or lie: the message names the reference, and nothing is cached.

use super::{FIRST, REPOSITORY, Team, component_with_note};
use crate::plugins::with_plugins;
use crate::registry_server::{Fault, Login, RegistryServer, docker_config, sha256};
use crate::support::suite;
use serde_json::{Value, json};
use std::net::{TcpListener, TcpStream};

/// Runs every command that fetches, and fails the test unless each is refused with a code and some texts.
#[track_caller]
fn assert_no_command_fetches(team: &Team, case: &str, code: i32, texts: &[&str]) {
    let reference = team.reference("0.1.0");
    for command in [
        ["plugin", "pull", &reference, "-o", "pulled.wasm"].as_slice(),
        &["run", "suite.yaml", "--run-id", "r"],
        &["lock", "suite.yaml"],
    ] {
        let ended = team.run(command).expect_error(&[&[reference.as_str()], texts].concat());
        assert_eq!(ended.code, Some(code), "{case} {command:?}: {}", ended.stderr);
        assert!(!team.workspace.path("pulled.wasm").exists(), "{case}: {}", ended.stderr);
        team.assert_nothing_is_cached();
    }
}

#[test]
fn what_a_failing_registry_sends_is_not_cached() {
    let team = Team::with_first();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    let blob = format!("/blobs/sha256:{}", sha256(FIRST));
    let manifest = "/manifests/0.1.0";
    let again = format!("http://{}/v2/{REPOSITORY}{blob}", team.registry.address());
    for (case, part, fault, code, text) in [
        ("altered blob", blob.as_str(), Fault::Altered, 3, "sha256"),
        ("altered manifest", manifest, Fault::Altered, 3, "sha256"),
        ("longer blob", &blob, Fault::Longer, 2, "bytes"),
        ("longer manifest", manifest, Fault::Longer, 2, ""),
        ("cut blob", &blob, Fault::Cut, 5, ""),
        ("cut manifest", manifest, Fault::Cut, 5, ""),
        ("missing manifest", manifest, Fault::Status(404), 2, "help: "),
        ("missing blob", &blob, Fault::Status(404), 2, ""),
        ("refused", manifest, Fault::Status(403), 2, "help: "),
        ("broken", manifest, Fault::Status(500), 5, "help: "),
        ("loop", &blob, Fault::Redirect(again.clone()), 2, ""),
        ("another scheme", &blob, Fault::Redirect("file:///etc/hostname".to_owned()), 2, ""),
    ] {
        team.registry.fault(part, fault);
        assert_no_command_fetches(&team, case, code, &[text]);
        team.registry.clear_faults();
    }
    // The same registry without a fault.
    team.registry.fault(&blob, Fault::Pieces);
    team.run_suite("r", &[]).expect_code(0);
}

#[test]
fn registry_that_is_away_is_named() {
    let mut team = Team::with_first();
    team.write_suite("0.1.0", "");
    let (reference, address) = (team.reference("0.1.0"), team.registry.address());
    // Another registry takes the place of the first one, which ends.
    team.registry = RegistryServer::start();
    for command in [
        ["plugin", "pull", &reference].as_slice(),
        &["plugin", "push", "word-recall.wasm", &reference],
        &["run", "suite.yaml"],
        &["lock", "suite.yaml"],
        &["plugin", "outdated", "--config", "suite.yaml"],
    ] {
        team.run(command).expect_error(&[&address]).expect_code(5);
        team.assert_nothing_is_cached();
    }
}

#[test]
fn registry_that_fails_does_not_hide_the_others() {
    let team = Team::with_first();
    team.push("0.2.0", &component_with_note("0.2.0"));
    let other = team.registry.reference("metrics/other:0.1.0");
    let source = team.reference("0.1.0");
    let entries = |more: &str| format!("  - {{id: other, source: '{other}'}}\n{more}");
    let text = suite(&team.model.backend(""), "[word_recall]");
    let outdated = ["plugin", "outdated", "--config", "suite.yaml"];
    team.registry.fault("/metrics/other/", Fault::Status(500));

    team.workspace.write("suite.yaml", with_plugins(&entries(""), &text));
    let shown = team.run(&outdated).expect_error(&[&other]).expect_code(5);
    assert!(shown.stdout.contains("unknown"), "{}", shown.stdout);

    let recall = format!("  - {{id: recall, source: '{source}'}}\n");
    team.workspace.write("suite.yaml", with_plugins(&entries(&recall), &text));
    let shown = team.run(&outdated).expect_error(&[&other]).expect_code(3);
    for text in ["unknown", "0.2.0"] {
        assert!(shown.stdout.contains(text), "no `{text}` in: {}", shown.stdout);
    }
    let shown = team.run(&[&outdated[..], &["--json"]].concat()).expect_code(3);
    let list: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!((&list[0]["is_outdated"], &list[1]["is_outdated"]), (&Value::Null, &Value::Bool(true)));
    assert!(list[0]["error"].as_str().is_some_and(|error| error.contains("500")), "{list}");
}

#[test]
fn many_bad_signatures_give_few_warnings() {
    let team = Team::with_first();
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let missing = |number: u8| {
        let digest = format!("sha256:{}", sha256(&[number]));
        json!({"mediaType": media_type, "digest": digest, "size": 1})
    };
    let listed: Vec<Value> = (0..10).map(missing).collect();
    let tag = team.registry.digest_of(REPOSITORY, "0.1.0").replace(':', "-");
    let index = json!({"schemaVersion": 2, "manifests": listed});
    team.registry.put_manifest(REPOSITORY, &tag, &index);
    let pulled = team.run(&["plugin", "pull", &team.reference("0.1.0")]).expect_code(0);
    assert_eq!(pulled.stderr.matches("warning: a signature is left out: ").count(), 3, "{}", pulled.stderr);
    assert!(pulled.stderr.contains("warning: 7 other signatures of "), "{}", pulled.stderr);
}

/// A proxy would see the login of a registry that is asked without TLS.
#[test]
fn registry_of_this_machine_is_asked_without_proxy() {
    use std::io::{Read as _, Write as _};
    const METHOD_BYTES: usize = 8;
    let team = Team::with_first();
    team.registry.demand_login(Login::Token);
    team.registry.redirect_blobs();
    team.workspace.write(".docker/config.json", docker_config(&team.registry.address()));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let proxy = listener.local_addr().expect("an address");
    let first_request = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut bytes = [0; METHOD_BYTES];
        stream.read_exact(&mut bytes).expect("a request");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let pull = |reference: &str| {
        let variables =
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, format!("http://{proxy}")));
        team.workspace.run_with_env(variables, &["plugin", "pull", reference])
    };
    pull(&team.reference("0.1.0")).expect_code(0);
    pull("oci://registry.example/metrics/word-recall:0.1.0").expect_code(5);
    // Ends the thread if the program did not connect.
    if let Ok(mut stream) = TcpStream::connect(proxy) {
        let _ = stream.write_all(&[b'?'; METHOD_BYTES]);
    }
    assert_eq!(first_request.join().expect("no panic"), "CONNECT ");
}

/// Only registries of this machine are asked without TLS.
#[cfg(target_os = "linux")]
#[test]
fn registry_of_another_machine_is_asked_with_tls() {
    use std::io::{Read as _, Write as _};
    const TLS_HANDSHAKE: u8 = 0x16;
    let listener = TcpListener::bind("127.0.0.2:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let first_byte = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a byte");
        byte[0]
    });
    let team = Team::new();
    let reference = format!("oci://{address}/{REPOSITORY}:0.1.0");
    team.run(&["plugin", "pull", &reference]).expect_error(&[&address.to_string()]);
    // Ends the thread if the program did not connect.
    if let Ok(mut stream) = TcpStream::connect(address) {
        let _ = stream.write_all(b"?");
    }
    assert_eq!(first_byte.join().expect("no panic"), TLS_HANDSHAKE);
}

#[test]
fn references_that_are_none_are_refused() {
    let team = Team::new();
    for (reference, text) in [
        ("oci://", "oci://"),
        ("oci://registry.example", "repository"),
        ("oci://registry.example/metrics/word-recall", "tag"),
        ("oci://registry.example/Metrics/word-recall:1", "lower-case"),
        ("oci://registry.example/metrics/../x:1", "metrics/../x"),
        ("oci://user:secret@registry.example/metrics/x:1", "oci://"),
        ("oci://registry.example/metrics/x@sha256:12", "sha256"),
        ("https://registry.example/metrics/x:1", "oci://"),
    ] {
        let ended = team.run(&["plugin", "pull", reference]).expect_code(2);
        assert!(ended.stderr.contains(text), "{reference}: {}", ended.stderr);
        assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
        if !reference.starts_with("oci://") {
            continue;
        }
        let plugin = format!("  - {{id: recall, source: '{reference}'}}\n");
        let suite = suite(&team.model.backend(""), "[word_recall]");
        team.workspace.write("suite.yaml", with_plugins(&plugin, &suite));
        let ended = team.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains("suite.yaml:"), "{reference}: {}", ended.stderr);
    }
    team.assert_nothing_is_cached();
}

/// A registry that never answers does not keep a user who wants to stop.
#[cfg(unix)]
#[test]
fn interrupt_ends_a_command_that_waits_for_a_registry() {
    use crate::support::{CommandOutput, send_signal};
    use std::process::Stdio;
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    let reference = team.reference("0.1.0");
    for (part, command) in [
        ("GET /v2/", ["plugin", "pull", &reference].as_slice()),
        ("/blobs/", &["plugin", "pull", &reference]),
        ("/blobs/", &["run", "suite.yaml", "--run-id", "r"]),
        ("/blobs/", &["lock", "suite.yaml"]),
    ] {
        team.registry.clear_faults();
        team.registry.fault(part, Fault::Hang);
        team.registry.take_requests();
        let mut program = team.workspace.program();
        program.args(command).env("GAGE_CACHE_DIR", team.workspace.path("cache"));
        let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        team.registry.wait_for_request(part);
        send_signal(&child, "INT");
        let ended = CommandOutput::wait_for(child);
        assert!(ended.code.is_none_or(|code| code == 130), "{command:?}: {:?} {}", ended.code, ended.stderr);
        team.assert_nothing_is_cached();
    }
}

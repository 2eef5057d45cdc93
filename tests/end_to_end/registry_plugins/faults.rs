//! Registries that fail or lie: the message names the reference, and nothing is cached.

use super::{FIRST, REPOSITORY, Team};
use crate::registry_server::{Fault, RegistryServer, sha256};

/// Runs every command that fetches, and fails the test unless each is refused with some texts.
#[track_caller]
fn assert_no_command_fetches(team: &Team, case: &str, texts: &[&str]) {
    let reference = team.reference("0.1.0");
    for command in [
        ["plugin", "pull", &reference, "-o", "pulled.wasm"].as_slice(),
        &["run", "suite.yaml", "--run-id", "r"],
        &["lock", "suite.yaml"],
    ] {
        let ended = team.run(command).expect_error(&[&[reference.as_str()], texts].concat());
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
    for (case, part, fault, text) in [
        ("altered blob", blob.as_str(), Fault::Altered, "sha256"),
        ("altered manifest", manifest, Fault::Altered, "sha256"),
        ("longer blob", &blob, Fault::Longer, "bytes"),
        ("longer manifest", manifest, Fault::Longer, ""),
        ("cut blob", &blob, Fault::Cut, ""),
        ("cut manifest", manifest, Fault::Cut, ""),
        ("missing manifest", manifest, Fault::Status(404), "help: "),
        ("missing blob", &blob, Fault::Status(404), ""),
        ("refused", manifest, Fault::Status(403), "help: "),
        ("broken", manifest, Fault::Status(500), ""),
        ("loop", &blob, Fault::Redirect(again.clone()), ""),
        ("another scheme", &blob, Fault::Redirect("file:///etc/hostname".to_owned()), ""),
    ] {
        team.registry.fault(part, fault);
        assert_no_command_fetches(&team, case, &[text]);
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
        team.run(command).expect_error(&[&address]);
        team.assert_nothing_is_cached();
    }
}

/// Only registries of this machine are asked without TLS.
#[cfg(target_os = "linux")]
#[test]
fn registry_of_another_machine_is_asked_with_tls() {
    use std::io::{Read as _, Write as _};
    const TLS_HANDSHAKE: u8 = 0x16;
    let listener = std::net::TcpListener::bind("127.0.0.2:0").expect("a port");
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
    if let Ok(mut stream) = std::net::TcpStream::connect(address) {
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
        let suite = crate::support::suite(&team.model.backend(""), "[word_recall]");
        team.workspace.write("suite.yaml", crate::plugins::with_plugins(&plugin, &suite));
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

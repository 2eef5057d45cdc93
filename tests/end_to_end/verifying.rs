//! `gage-host verify`: every file of a run folder is as the run wrote it, and there are no others.

use crate::server::{Server, completion};
use crate::support::{Workspace, rows, suite};
use crate::words_suite::write_suite;
use serde_json::{Value, json};

/// Creates a finished run with its server.
fn finished_run() -> (Server, Workspace) {
    let server = Server::start(|_| completion("answer 1"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(5));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match, latency]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    (server, workspace)
}

/// Returns the state of a file that `verify` reports.
fn file_state(workspace: &Workspace, name: &str) -> Value {
    let ended = workspace.run(&["verify", "r", "--json"]);
    let report = ended.stdout_json();
    let files = report["files"].as_array().cloned().unwrap_or_default();
    files.into_iter().find(|file| file["name"] == name).map_or(Value::Null, |file| file["state"].clone())
}

#[test]
fn samples_of_a_changed_file_are_shown_with_a_warning() {
    let (_server, workspace) = finished_run();
    for is_changed in [false, true] {
        for command in ["samples", "report"] {
            let shown = workspace.run(&[command, "r"]).expect_code(0);
            let warning = "warning: samples.jsonl of r is not the file that the run wrote; `gage-host verify runs/r` says \
                           what was changed\n";
            assert_eq!(shown.stderr.contains(warning), is_changed, "{command}: {}", shown.stderr);
        }
        workspace.write("runs/r/samples.jsonl", "");
    }
}

#[test]
fn figures_of_a_clock_are_shown_with_their_unit() {
    let (_server, workspace) = finished_run();
    let shown = workspace.run(&["runs", "show", "r"]).expect_code(0);
    let line = shown.stdout.lines().find(|line| line.starts_with("figure") && line.contains(" latency "));
    assert!(line.is_some_and(|line| line.ends_with(" ms (5 of 5)")), "{}", shown.stdout);
}

#[test]
fn verify_detects_a_change_of_any_file() {
    let (_server, workspace) = finished_run();
    workspace.run(&["verify", "r"]).expect_code(0);
    let names = [
        "config.yaml",
        "events.jsonl",
        "gage.lock",
        "journal/000001.jsonl",
        "journal/recorded",
        "manifest.json",
        "samples.jsonl",
        "summary.json",
        "timings.json",
    ];
    let mut found: Vec<String> = Vec::new();
    for folder in ["", "journal/"] {
        for entry in std::fs::read_dir(workspace.path(&format!("runs/r/{folder}"))).expect("a folder") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_file() {
                found.push(format!("{folder}{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    found.sort();
    assert_eq!(found, names, "a file that this test does not know");
    for name in names {
        let path = workspace.path(&format!("runs/r/{name}"));
        let written = std::fs::read(&path).expect("a file");
        let mut edited = written.clone();
        // Another digit keeps the file valid JSON.
        let last = edited.iter().rposition(u8::is_ascii_digit).expect("a digit");
        // `journal/recorded` can be read until both of its slots are damaged.
        let first = edited.iter().position(u8::is_ascii_digit).filter(|_| name == "journal/recorded");
        for digit in first.into_iter().chain([last]) {
            edited[digit] = if edited[digit] == b'7' { b'8' } else { b'7' };
        }
        std::fs::write(&path, edited).expect("written");
        let ended = workspace.run(&["verify", "r"]).expect_code(3);
        assert!(
            ended.stdout.contains(&format!("{name}: CHANGED"))
                || ended.stdout.contains(&format!("{name}: DAMAGED")),
            "{name}\n{}",
            ended.stdout
        );
        if name != "manifest.json" {
            std::fs::remove_file(&path).expect("removed");
            let ended = workspace.run(&["verify", "r"]).expect_code(3);
            assert!(ended.stdout.contains(&format!("{name}: MISSING")), "{name}\n{}", ended.stdout);
        }
        std::fs::write(&path, written).expect("written");
    }
    workspace.run(&["verify", "r"]).expect_code(0);
}

#[test]
fn verify_reports_foreign_files_but_not_reports_and_exports() {
    let (_server, workspace) = finished_run();
    workspace.run(&["report", "r"]).expect_code(0);
    workspace.run(&["export", "r", "--format", "csv"]).expect_code(0);
    workspace.write("runs/r/.summary.json.tmp", "left by a process that was killed");
    workspace.run(&["verify", "r"]).expect_code(0);
    for name in
        ["notes.txt", "journal/notes.txt", "more/deep.json", "shards/notes.txt", "events-unsent.jsonl"]
    {
        let path = workspace.write(&format!("runs/r/{name}"), "{}");
        assert_eq!(file_state(&workspace, name), "foreign");
        let ended = workspace.run(&["verify", "r"]).expect_code(3);
        let line = format!("{name}: NOT PART OF THE RUN");
        assert!(ended.stdout.contains(&line), "{}", ended.stdout);
        std::fs::remove_file(path).expect("removed");
    }
    workspace.run(&["verify", "r"]).expect_code(0);
}

#[test]
fn quiet_verification_prints_only_problems() {
    let (_server, workspace) = finished_run();
    let verify = ["verify", "r", "--files-only", "--quiet"];
    assert_eq!(workspace.run(&verify).expect_code(0).stdout, "");
    let bytes = workspace.read("runs/r/samples.jsonl").len();
    workspace.write("runs/r/samples.jsonl", "");
    let expected =
        format!("samples.jsonl: CHANGED, it has 0 bytes, and the run wrote {bytes}\nr: NOT verified\n");
    assert_eq!(workspace.run(&verify).expect_code(3).stdout, expected);
}

#[test]
fn a_manifest_without_its_digest_is_damaged() {
    let (_server, workspace) = finished_run();
    let mut manifest = workspace.json("r", "manifest.json");
    manifest.as_object_mut().expect("a manifest").shift_remove("digest");
    workspace.write("runs/r/manifest.json", manifest.to_string());
    assert_eq!(file_state(&workspace, "manifest.json"), "damaged");
    let ended = workspace.run(&["verify", "r"]).expect_code(3);
    assert!(ended.stdout.contains("the digest at its end is gone"), "{}", ended.stdout);
    let ended = workspace.run(&["run", "suite.yaml", "--resume", "r"]).expect_code(2);
    assert!(ended.stderr.contains("the digest at its end is gone"), "{}", ended.stderr);
}

#[test]
fn run_without_figures_is_not_verified_but_edits_are_found() {
    let (_server, workspace) = finished_run();
    let mut manifest = workspace.json("r", "manifest.json");
    manifest["files"] = json!({});
    for status in ["running", "interrupted"] {
        manifest["status"] = status.into();
        workspace.write("runs/r/manifest.json", with_digest(manifest.clone()));
        let ended = workspace.run(&["verify", "r"]).expect_code(2);
        let expected = format!("the run r has not ended (status `{status}`): it has no figures yet");
        assert!(ended.stderr.contains(&expected) && ended.stderr.contains("--resume"), "{}", ended.stderr);
        let edited = workspace.read("runs/r/manifest.json").replacen("exact_match", "contains", 1);
        workspace.write("runs/r/manifest.json", edited);
        let ended = workspace.run(&["verify", "r"]).expect_code(3);
        assert!(ended.stdout.contains("manifest.json: DAMAGED: it was edited"), "{}", ended.stdout);
        assert!(ended.stdout.contains("r: NOT verified"), "{}", ended.stdout);
        // Files without a known digest are not reported.
        assert!(!ended.stdout.contains("samples.jsonl"), "{}", ended.stdout);
        assert_eq!(file_state(&workspace, "manifest.json"), "damaged");
        let shown = workspace.run(&["runs", "show", "r"]).expect_code(0);
        assert!(shown.stderr.contains("the manifest of r cannot be trusted"), "{}", shown.stderr);
    }
}

#[test]
fn verify_names_changed_files_and_changed_figures() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    workspace.run(&["run", "config/custom/words.yaml", "--run-id", "r"]).expect_code(0);
    for file in ["samples.jsonl", "summary.json", "config.yaml", "gage.lock", "journal/000001.jsonl"] {
        let path = workspace.path(&format!("runs/r/{file}"));
        let good = std::fs::read(&path).expect("a file");
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        std::fs::write(&path, bad).expect("written");
        let ended = workspace.run(&["verify", "runs/r"]).expect_code(3);
        assert!(ended.stdout.contains(&format!("{file}: CHANGED")), "{file}: {}", ended.stdout);
        std::fs::remove_file(&path).expect("removed");
        let ended = workspace.run(&["verify", "r", "--json"]).expect_code(3);
        let report = ended.stdout_json();
        assert_eq!(report["verified"], false, "{file}");
        std::fs::write(&path, good).expect("written");
        workspace.run(&["verify", "r"]).expect_code(0);
    }
    // Rescoring finds a figure that was changed along with its digest.
    let summary = workspace.read("runs/r/summary.json").replacen("\"value\": 1.0", "\"value\": 0.5", 1);
    let before = workspace.json("r", "manifest.json")["files"]["summary.json"].clone();
    workspace.write("runs/r/summary.json", &summary);
    let digest = digest_of(summary.as_bytes());
    let manifest =
        workspace.read("runs/r/manifest.json").replace(before["digest"].as_str().expect("a digest"), &digest);
    workspace.write("runs/r/manifest.json", manifest);
    let ended = workspace.run(&["verify", "r"]).expect_code(3);
    assert!(ended.stdout.contains("summary.json: unchanged"), "{}", ended.stdout);
    assert!(ended.stdout.contains("metrics[0].value"), "{}", ended.stdout);
}

/// Returns the JSON that digests of manifests and locks cover: without white space, keys sorted.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            let one = |(key, value): (&String, &Value)| {
                format!("{}:{}", Value::from(key.as_str()), canonical(value))
            };
            format!("{{{}}}", sorted.into_iter().map(one).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// Returns a manifest with the digest of its content.
pub(crate) fn with_digest(mut manifest: Value) -> String {
    manifest.as_object_mut().and_then(|keys| keys.shift_remove("digest"));
    manifest["digest"] = digest_of(canonical(&manifest).as_bytes()).into();
    manifest.to_string()
}

pub(crate) fn digest_of(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let hexadecimal: String = sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hexadecimal}")
}

/// An editor could update the digests of a file and of the manifest, but the configuration is in both.
#[test]
fn verify_finds_a_config_that_differs_from_the_manifest() {
    let (_server, workspace) = finished_run();
    let mut manifest = workspace.json("r", "manifest.json");
    let sealed = manifest.as_object_mut().and_then(|keys| keys.shift_remove("digest"));
    assert_eq!(sealed, Some(digest_of(canonical(&manifest).as_bytes()).into()), "how a manifest is sealed");
    let config = workspace.read("runs/r/config.yaml");
    for (edited, place) in [
        (config.replace("- exact_match", "- contains"), "metrics[0]"),
        (format!("{config}failure_policy: best_effort\n"), "failure_policy"),
    ] {
        assert_ne!(edited, config);
        workspace.write("runs/r/config.yaml", &edited);
        manifest["files"]["config.yaml"]["digest"] = digest_of(edited.as_bytes()).into();
        manifest["files"]["config.yaml"]["bytes"] = edited.len().into();
        let mut whole = manifest.clone();
        whole["digest"] = digest_of(canonical(&manifest).as_bytes()).into();
        workspace.write("runs/r/manifest.json", whole.to_string());
        assert_eq!(file_state(&workspace, "manifest.json"), "intact");
        let ended = workspace.run(&["verify", "r"]).expect_code(3);
        let line =
            format!("config.yaml: DAMAGED: it is not the configuration of the manifest: {place} differs");
        assert!(ended.stdout.contains(&line), "{}", ended.stdout);
    }
}

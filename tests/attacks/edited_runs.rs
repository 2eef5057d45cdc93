//! Run folders whose manifest or journal was edited, or whose name steers terminals.

use crate::scripted_backend::constant_backend;
use crate::support::{CommandOutput, Workspace, rows, suite};
use std::fs;

/// Characters that steer a terminal.
const STEERING: [char; 3] = ['\u{1b}', '\u{7}', '\u{202e}'];

/// Returns a workspace with the run `good`.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "answer 1"), "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "good", "--quiet"]).expect_code(0);
    workspace
}

fn execute(workspace: &Workspace, arguments: &str) -> CommandOutput {
    workspace.run(&arguments.split(' ').collect::<Vec<_>>())
}

/// Replaces a text in the records of the journal, and corrects their checksums.
fn edit_journal(workspace: &Workspace, from: &str, to: &str) {
    let file = "runs/good/journal/000001.jsonl";
    let text = workspace.read(file);
    let (header, records) = text.split_once('\n').expect("a header");
    assert!(records.contains(from), "{records}");
    let manifest: serde_json::Value =
        serde_json::from_str(&workspace.read("runs/good/manifest.json")).expect("a manifest");
    let seed = crc32fast::hash(manifest["journal_id"].as_str().expect("an id").as_bytes());
    let framed = records.lines().map(|line| {
        let json = line.split_once(' ').expect("a checksum").1.replace(from, to);
        let mut checksum = crc32fast::Hasher::new_with_initial(seed);
        checksum.update(json.as_bytes());
        format!("{:08x} {json}\n", checksum.finalize())
    });
    workspace.write(file, format!("{header}\n{}", framed.collect::<String>()));
}

#[test]
fn run_id_with_escapes_is_an_error_of_its_manifest() {
    let workspace = workspace();
    let manifest = workspace.read("runs/good/manifest.json");
    let hostile = r#""run_id": "\u001b]0;x\u0007\u202e<script>\n""#;
    let edited = manifest.replace(r#""run_id": "good""#, hostile);
    assert_ne!(edited, manifest);
    workspace.write("runs/good/manifest.json", edited);
    for (arguments, code) in [
        ("runs gc --keep 1", 0),
        ("runs list", 0),
        ("runs show good", 2),
        ("verify good", 2),
        ("report good --output report.html", 2),
        ("run suite.yaml --run-id good --resume", 2),
    ] {
        let ended = execute(&workspace, arguments).expect_code(code);
        let shown = format!("{arguments}\n{}", ended.transcript());
        assert!(ended.stderr.contains("manifest.json cannot be used: its 'run_id'"), "{shown}");
        assert!(!ended.stdout.contains(STEERING) && !ended.stderr.contains(STEERING), "{shown:?}");
    }
}

#[test]
fn name_of_a_folder_does_not_steer_the_terminal() {
    let workspace = workspace();
    let hostile = "a\u{202e}b";
    fs::rename(workspace.path("runs/good"), workspace.path(&format!("runs/{hostile}"))).expect("renamed");
    let listed = execute(&workspace, "runs list --json").expect_code(0);
    assert!(!listed.stdout.contains(STEERING) && listed.stdout.contains(r"a\u202eb"), "{}", listed.stdout);
    let found = listed.stdout_json();
    let path = found["runs"][0]["path"].as_str();
    assert!(path.is_some_and(|path| path.ends_with(hostile)), "{found:#}");
    let shown = execute(&workspace, "runs list").expect_code(0);
    assert!(!shown.stdout.contains(STEERING), "{}", shown.stdout);
}

#[test]
fn huge_number_of_a_sample_is_an_error_of_its_line() {
    let workspace = workspace();
    edit_journal(&workspace, r#""index":1,"#, r#""index":18446744073709551615,"#);
    for arguments in ["run suite.yaml --run-id good --resume", "report good --output report.html"] {
        let ended = execute(&workspace, arguments).expect_code(2);
        let parts = ["000001.jsonl, line ", "the `index` is 18446744073709551615"];
        assert!(parts.iter().all(|part| ended.stderr.contains(part)), "{arguments}\n{}", ended.stderr);
    }
}

#[test]
fn damaged_texts_of_samples_name_journal_and_sample() {
    for damaged in ["1e400", r#""\ud800""#] {
        let workspace = workspace();
        let members = r#""model_output":{"#;
        edit_journal(&workspace, members, &format!(r#"{members}"damaged":{damaged},"#));
        let ended = execute(&workspace, "report good --output report.html").expect_code(2);
        assert!(ended.stderr.contains("journal cannot be used: sample '"), "{damaged}\n{}", ended.stderr);
    }
}

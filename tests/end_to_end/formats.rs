//! The formats of run folders grow only by keys that older programs skip. [`StoredRun`] is such a program.

use crate::files::files_below;
use crate::killed_runs::{journal_line, journal_record};
use crate::server::{Server, completion, question_number};
use crate::stored_reader::{RunFiles, StoredRun, StoredSample};
use crate::support::{RESULT_FILES, Workspace, rows, suite};
use crate::verifying::{canonical, digest_of, with_digest};
use serde_json::{Value, json};
use std::fs;
use std::mem::take;
use std::path::PathBuf;
use wiremock::ResponseTemplate;

/// Objects whose keys are names. A further key there would be a further entry.
const MAPS: [&str; 8] =
    ["backends", "datasets", "files", "outcomes", "plugins", "prompts", "stages", "tasks"];

/// Creates a finished run of two tasks with an invalid row and a failed request.
fn finished_run() -> (Server, Workspace) {
    let server = Server::start(|request| match question_number(request) {
        2 => ResponseTemplate::new(400),
        usize::MAX => completion("B"),
        number => completion(&format!("answer {number}")),
    });
    let workspace = Workspace::new();
    let row = |id: &str, answer: u64| json!({"id": id, "question": "Which?", "choices": ["one", "two"], "answer": answer});
    workspace.write("choices.jsonl", format!("{}\n{}\n", row("c0", 1), row("c1", 0)));
    let text = rows(4).replace("\"question 1\"", "oops").replace("\"answer 3\"", "\"another\"");
    workspace.write("rows.jsonl", text);
    let choices = "datasets:\n  - {dataset_id: choices, loader: jsonl, params: {path: choices.jsonl, preprocess: multi_choice}}\n";
    let text = suite(&server.backend(", max_retries: 0"), "[exact_match, latency]")
        .replace("datasets:\n", choices)
        .replace("path: rows.jsonl", "path: rows.jsonl, max_invalid: 0.5");
    let tasks = "failure_policy: best_effort
tasks:
  - {task_id: write, dataset_id: rows}
  - {task_id: choose, dataset_id: choices, metric_overrides: [multi_choice_accuracy]}
";
    workspace.write("suite.yaml", text + tasks);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    (server, workspace)
}

/// Returns the files of the run `r`.
fn files_of(workspace: &Workspace) -> RunFiles {
    let folder = workspace.path("runs/r");
    let read = |path: PathBuf| {
        let name =
            path.strip_prefix(&folder).expect("a file of the run").to_string_lossy().replace('\\', "/");
        (name, fs::read(&path).expect("a file"))
    };
    files_below(&folder).into_iter().map(read).collect()
}

/// Checks that the journal and `samples.jsonl` hold the same samples, and returns the task, outcome, answer and score of each.
fn results(run: &StoredRun) -> Vec<(&str, &str, Option<&str>, Option<f64>)> {
    let journal: Vec<&StoredSample> = run.journal.iter().map(|entry| &entry.sample).collect();
    assert_eq!(journal, run.samples.iter().collect::<Vec<_>>());
    let listed = run.samples.iter().map(|sample| {
        let answer = sample.model_output.as_ref().map(|output| output.answer.as_str());
        (sample.task_id.as_str(), sample.outcome.as_str(), answer, sample.score())
    });
    listed.collect()
}

#[test]
fn stored_reader_reads_every_file_of_a_run() {
    let (_server, workspace) = finished_run();
    let run = StoredRun::read(&files_of(&workspace));
    let expected = [
        ("write", "scored", Some("answer 0"), Some(1.0)),
        ("write", "invalid_sample", None, None),
        ("write", "backend_error", None, None),
        ("write", "scored", Some("answer 3"), Some(0.0)),
        ("choose", "scored", Some("B"), Some(1.0)),
        ("choose", "scored", Some("B"), Some(0.0)),
    ];
    assert_eq!(results(&run), expected);
    let values: Vec<_> = run.summary.metrics.iter().map(|figure| (&*figure.task_id, figure.value)).collect();
    assert_eq!(values, [("write", Some(0.5)), ("choose", Some(0.5))]);
    assert_eq!((run.summary.samples.total, run.timings.samples_of_run), (6, 6));
    for task in &run.timings.tasks {
        let of_task = run.journal.iter().filter(|entry| entry.sample.task_id == task.task_id);
        assert_eq!(of_task.map(|entry| entry.timing.scoring_fuel).sum::<u64>(), task.scoring_fuel);
    }
    assert_eq!(run.manifest.status, "complete");
    assert_eq!(run.manifest.identity.datasets, run.lock.datasets);
    assert!((0..).zip(&run.events).all(|(number, event)| event.event_id == number));
    let kinds = [run.events.first(), run.events.last()].map(|event| event.map(|event| event.kind.as_str()));
    assert_eq!(kinds, [Some("run_started"), Some("run_finished")]);
}

#[test]
fn stored_reader_reads_a_sealed_journal() {
    let server = Server::answering();
    let workspace = Workspace::new();
    let long = "x".repeat(20_000);
    workspace.write("rows.jsonl", rows(100).replace("\"question ", &format!("\"{long} question ")));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let files = files_of(&workspace);
    assert!(files.contains_key("journal/000001.jsonl.zst") && !files.contains_key("journal/000001.jsonl"));
    let run = StoredRun::read(&files);
    let answers: Vec<String> = (0..100).map(|number| format!("answer {number}")).collect();
    let expected: Vec<_> =
        answers.iter().map(|answer| ("rows", "scored", Some(answer.as_str()), Some(1.0))).collect();
    assert_eq!(results(&run), expected);
}

/// Adds a key to an object, as a later program might.
fn add_key(object: &mut Value) {
    object["added"] = json!({"later": [1, null]});
}

/// Adds a key to each object in a value.
fn add_keys(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(add_keys),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    Value::Object(entries) if MAPS.contains(&key.as_str()) => {
                        entries.values_mut().for_each(add_keys);
                    }
                    member => add_keys(member),
                }
            }
            add_key(value);
        }
        _ => {}
    }
}

/// Returns the files of the run `r` with a change of each JSON or YAML document, and new checksums and digests.
fn with_change(mut files: RunFiles, change: impl Fn(&str, &mut Value)) -> RunFiles {
    let changed = |name: &str, mut document: Value| {
        change(name, &mut document);
        document
    };
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).expect("JSON");
    let journal_id = manifest["journal_id"].as_str().expect("an id").to_owned();
    let mut manifest = changed("manifest.json", manifest);
    for (name, bytes) in files.iter_mut().filter(|(name, _)| *name != "manifest.json") {
        let text = String::from_utf8(bytes.clone()).expect("UTF-8");
        let from_json = |text: &str| changed(name, serde_json::from_str(text).expect("JSON"));
        let from_yaml = |text: &str| changed(name, serde_yaml::from_str(text).expect("YAML"));
        let record = |line: &str| journal_record(&journal_id, &from_json(&line[9..]).to_string());
        // Lines that hold the id have the checksum of their JSON alone.
        let unseeded = |line: &str| {
            let line = journal_line(&from_json(&line[9..]).to_string());
            String::from_utf8(line).expect("UTF-8")
        };
        let text = match name.as_str() {
            "summary.json" | "timings.json" => from_json(&text).to_string(),
            "samples.jsonl" | "events.jsonl" => {
                text.lines().map(|line| format!("{}\n", from_json(line))).collect::<String>()
            }
            "config.yaml" => serde_yaml::to_string(&from_yaml(&text)).expect("YAML"),
            "gage.lock" => lock_text(from_yaml(&text)),
            "journal/recorded" => {
                let slot = unseeded(text.split_inclusive('\n').next().expect("a slot"));
                format!("{slot:\0<4096}{slot}")
            }
            "journal/000001.jsonl" => {
                let (header, records) = text.split_once('\n').expect("a header");
                unseeded(header) + &records.lines().map(record).collect::<String>()
            }
            _ => panic!("{name} is a file that this test does not know"),
        };
        manifest["files"][name] = json!({"digest": digest_of(text.as_bytes()), "bytes": text.len()});
        *bytes = text.into_bytes();
    }
    files.insert("manifest.json".to_owned(), with_digest(manifest).into_bytes());
    files
}

/// Returns the text of a lock with the digest of its parts.
fn lock_text(mut lock: Value) -> String {
    let mut parts = lock.clone();
    let keys = parts.as_object_mut().expect("a mapping");
    keys.retain(|key, _| !["format", "format_version", "must-understand", "digest"].contains(&key.as_str()));
    lock["digest"] = digest_of(canonical(&parts).as_bytes()).into();
    serde_yaml::to_string(&lock).expect("YAML")
}

#[test]
fn stored_reader_skips_added_keys() {
    let (_server, workspace) = finished_run();
    let files = files_of(&workspace);
    let mut run = StoredRun::read(&files);
    let mut changed = StoredRun::read(&with_change(files, |_, document| add_keys(document)));
    assert_ne!(take(&mut run.manifest.files), take(&mut changed.manifest.files));
    assert_eq!(run, changed);
}

/// The reverse: this program takes the part of an older one.
#[test]
fn this_program_skips_added_keys() {
    let (_server, workspace) = finished_run();
    let files = files_of(&workspace);
    let changed = with_change(files.clone(), |name, document| {
        // A key that a suite does not have is a mistake.
        if name != "config.yaml" {
            add_key(document);
        }
        if name == "manifest.json" {
            add_key(&mut document["identity"]);
        }
    });
    for (name, bytes) in changed {
        workspace.write(&format!("runs/r/{name}"), bytes);
    }
    let lock = ["lock", "suite.yaml", "--check", "--lock", "runs/r/gage.lock"];
    let commands =
        [lock.as_slice(), &["verify", "r", "--files-only"], &["report", "r"], &["runs", "show", "r"]];
    for arguments in commands {
        let ended = workspace.run(arguments).expect_code(0);
        assert!(ended.stderr.is_empty(), "{arguments:?}: {}", ended.stderr);
    }
    workspace.run(&["score", "runs/r", "--run-id", "again"]).expect_code(0);
    for name in RESULT_FILES {
        assert_eq!(workspace.read(&format!("runs/again/{name}")).into_bytes(), files[name], "{name}");
    }
}

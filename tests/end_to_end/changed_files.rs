//! Inputs that change during a run: no figure is written under the digest of other content, and no answer is lost.

use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, Workspace, rows, suite};
use serde_json::json;
use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use wiremock::ResponseTemplate;

const ROWS: usize = 1_000;

/// A run with one request at a time, whose rows are prepared only some hundred in advance.
const RUN: [&str; 8] =
    ["run", "suite.yaml", "--run-id", "r", "--concurrency", "1", "--autoeval-workers", "1"];

/// Returns a row of about four kilobytes.
fn padded_row(number: usize, answer: &str) -> String {
    let padding = "x".repeat(4_000);
    format!(
        "{{\"id\":\"q{number}\",\"question\":\"question {number}\",\"answer\":\"{answer}\",\"padding\":\"{padding}\"}}\n"
    )
}

/// Returns so many rows that most of the file is unread at the first request.
fn padded_rows(count: usize, answer: &str) -> String {
    (0..count).map(|number| padded_row(number, answer)).collect()
}

/// A run whose dataset is changed by steps, each before an answer.
struct ChangedRun {
    workspace: Workspace,
    server: Server,
    ended: CommandOutput,
}

impl ChangedRun {
    /// Runs a suite. `step` is called with the number of each question and the path of the dataset.
    fn new(step: impl Fn(usize, &Path) + Send + Sync + 'static) -> ChangedRun {
        let place: Arc<OnceLock<PathBuf>> = Arc::default();
        let seen = Arc::clone(&place);
        let server = Server::start(move |request| {
            step(question_number(request), seen.get().expect("the dataset is written before the run"));
            completion("old")
        });
        let workspace = Workspace::new();
        let path = workspace.write("rows.jsonl", padded_rows(ROWS, "old"));
        place.set(path).expect("set once");
        workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
        let ended = workspace.run(&RUN);
        ChangedRun { workspace, server, ended }
    }

    /// Runs a suite whose dataset is changed once, at the first request.
    fn with_change(change: impl Fn(&Path) + Send + Sync + 'static) -> ChangedRun {
        let done = OnceLock::new();
        ChangedRun::new(move |_, path| {
            done.get_or_init(|| change(path));
        })
    }

    /// Checks that the run ended without figures, because its dataset changed, and that `verify` says so.
    fn expect_change(&self) {
        expect_change(&self.workspace, &self.ended, "changed while the run was reading it", "rows.jsonl");
    }

    fn resume(&self) -> CommandOutput {
        resume(&self.workspace)
    }
}

fn resume(workspace: &Workspace) -> CommandOutput {
    workspace.run(&[&RUN[..], &["--resume"]].concat())
}

/// Checks that a run ended without figures and named the input, and that `verify` names it again.
fn expect_change(workspace: &Workspace, ended: &CommandOutput, message: &str, input: &str) {
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    for expected in [input, message, "its digest is sha256:", "restore it"] {
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
    assert!(!workspace.path("runs/r/summary.json").exists());
    let verified = workspace.run(&["verify", "r"]).expect_code(3);
    let expected = format!("the run r has no figures: an input changed: {input}");
    assert!(verified.stderr.contains(&expected), "{}", verified.stderr);
}

#[test]
fn overwritten_dataset_ends_the_run_without_figures() {
    let run = ChangedRun::with_change(|path| {
        fs::write(path, padded_rows(ROWS, "new")).expect("written in place");
    });
    run.expect_change();
    run.resume().expect_code(2);
    // With the first content back, every recorded answer is kept, and no recorded row is another.
    run.workspace.write("rows.jsonl", padded_rows(ROWS, "old"));
    run.resume().expect_code(0);
    assert_eq!(run.workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    assert_eq!(run.server.requests(), ROWS);
}

#[test]
fn shortened_dataset_ends_the_run_without_figures() {
    let run = ChangedRun::with_change(|path| {
        fs::write(path, padded_rows(900, "old")).expect("written in place");
    });
    run.expect_change();
}

/// Writes the rows from number 800 on with this answer, in place. The rows before them are not touched.
fn write_last_rows(path: &Path, answer: &str) {
    let start = padded_rows(800, answer).len() as u64;
    let last: String = (800..ROWS).map(|number| padded_row(number, answer)).collect();
    let opened = fs::OpenOptions::new().write(true).open(path);
    opened
        .and_then(|mut file| file.seek(SeekFrom::Start(start)).and_then(|_| file.write_all(last.as_bytes())))
        .expect("written in place");
}

/// The last rows are edited before they are read, and restored after some of them were read. That is the case when
/// question 770 is asked: a batch of rows ends with row 767, and the next one reaches beyond row 800.
#[test]
fn dataset_edited_and_restored_is_noticed_and_resumed() {
    let run = ChangedRun::new(|number, path| match number {
        0 => write_last_rows(path, "new"),
        770 => write_last_rows(path, "old"),
        _ => {}
    });
    run.expect_change();
    run.resume().expect_code(0);
    assert_eq!(run.workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    assert_eq!(run.server.requests(), ROWS);
}

/// The run has the first file open, and reads it to its end.
#[test]
fn replaced_dataset_does_not_disturb_a_run() {
    let run = ChangedRun::with_change(|path| {
        let other = path.with_extension("new");
        fs::write(&other, padded_rows(ROWS, "new")).expect("written");
        fs::rename(other, path).expect("replaced");
    });
    assert_eq!(run.ended.code, Some(0), "{}", run.ended.stderr);
    assert_eq!(run.workspace.samples("r").len(), ROWS);
    // The path now leads to another dataset.
    run.resume().expect_code(2);
}

#[test]
fn rewriting_the_same_content_does_not_disturb_a_run() {
    let run = ChangedRun::with_change(|path| {
        let content = fs::read(path).expect("read");
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(&content))
            .expect("written in place");
    });
    assert_eq!(run.ended.code, Some(0), "{}", run.ended.stderr);
    run.resume().expect_code(0);
}

/// Runs a suite with a metric in a file, which is changed before each answer.
fn run_with_plugin(change: impl Fn(&Path) + Send + Sync + 'static) -> (Workspace, Server, CommandOutput) {
    let workspace = Workspace::new();
    let plugin = workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    let server = Server::start(move |request| {
        change(&plugin);
        completion(&format!("answer {}", question_number(request)))
    });
    workspace.write("rows.jsonl", rows(3));
    let metrics = "[{metric_id: recall, implementation: ./recall.wasm}]";
    workspace.write("suite.yaml", suite(&server.backend(""), metrics));
    let ended = workspace.run(&RUN);
    (workspace, server, ended)
}

#[test]
fn overwritten_plugin_ends_the_run_without_figures() {
    let (workspace, server, ended) =
        run_with_plugin(|plugin| fs::write(plugin, "no component").expect("written in place"));
    expect_change(&workspace, &ended, "the file changed during the run", "the plugin ./recall.wasm");
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    resume(&workspace).expect_code(0);
    assert_eq!(server.requests(), 3);
}

#[test]
fn replaced_plugin_does_not_disturb_a_run() {
    let (workspace, _server, ended) = run_with_plugin(|plugin| {
        let other = plugin.with_extension("new");
        fs::write(&other, "no component").expect("written");
        fs::rename(other, plugin).expect("replaced");
    });
    ended.expect_code(0);
    assert_eq!(workspace.samples("r").len(), 3);
}

#[test]
fn overwritten_chat_template_ends_the_run_without_figures() {
    let tokenizer = |template: &str| json!({ "chat_template": template }).to_string();
    let workspace = Workspace::new();
    let file = workspace.write("tokenizer_config.json", tokenizer("{{ messages[0].content }}"));
    let server = Server::answering();
    server.respond_at("/v1/completions", move |_| {
        fs::write(&file, tokenizer("Say no more.")).expect("written in place");
        let choices = json!([{"index": 0, "finish_reason": "stop", "text": "an answer"}]);
        ResponseTemplate::new(200).set_body_json(json!({ "choices": choices }))
    });
    workspace.write("rows.jsonl", rows(3));
    let params = "{path: rows.jsonl, tokenizer_config: tokenizer_config.json}";
    let text = suite(&server.backend(""), "[exact_match]").replace("{path: rows.jsonl}", params);
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&RUN);
    let input = "the chat template tokenizer_config.json";
    expect_change(&workspace, &ended, "the file changed during the run", input);
    workspace.write("tokenizer_config.json", tokenizer("{{ messages[0].content }}"));
    resume(&workspace).expect_code(0);
    assert_eq!(server.requests(), 3);
}

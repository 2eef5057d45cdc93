//! The loop of a plugin's author: native tests, watching, printed lines, tracebacks, and upgrades of a project.

use crate::languages::is_there;
use crate::scripted_backend::constant_backend;
use crate::support::{CommandOutput, Workspace, rows, suite};
use serde_json::{Value, json};

const RESULT: &str = "11 of 11 cases passed; pure: results are the same alone, in batches and shuffled\n";

/// Creates the project `word-recall` with a metric. `None` if the language is not installed.
fn project(language: &str) -> Option<Workspace> {
    let is_installed = match language {
        "python" => is_there("python3", &["-c", "import sys; print(sys.version_info[1])"], 10),
        _ => is_there("node", &["--version"], 20),
    };
    if !is_installed {
        eprintln!("skipped: there is no interpreter for {language}");
        return None;
    }
    let workspace = Workspace::new();
    workspace.run(&["plugin", "new", "--lang", language, "word-recall"]).expect_code(0);
    Some(workspace)
}

fn test_natively(workspace: &Workspace) -> CommandOutput {
    workspace.run(&["plugin", "test", "word-recall", "--native"])
}

#[test]
fn new_projects_pass_their_cases_without_a_build() {
    for (language, program) in [("python", "python3"), ("js", "node")] {
        let Some(workspace) = project(language) else { continue };
        let ended = test_natively(&workspace).expect_code(0);
        assert_eq!(ended.stdout, RESULT, "{language}");
        let note = format!("note: the source runs in your {program}, without the sandbox;");
        assert!(ended.stderr.starts_with(&note), "{}", ended.stderr);
        assert!(!workspace.path("word-recall/word-recall.wasm").exists());
    }
}

const FAILING_PYTHON: &str = r#"
from gage_sdk import log, metric


@metric(version="1")
def first(prediction: str | None) -> float:
    """Looks up a word."""
    print("asked for", prediction)
    log.warn("be careful")
    return look_up({"one": 1.0, "two": 2.0}, prediction)


def look_up(words: dict[str, float], word: str) -> float:
    return words[word]


@metric(version="1")
def second(prediction: str | None) -> float:
    """Ends the process."""
    import os

    os._exit(3)
"#;

const FAILING_JAVASCRIPT: &str = r#"
import { metric } from "gage-sdk";
import * as log from "gage-sdk/log";

const lookUp = (words, word) => words[word].score;

export default metric({
  name: "first",
  version: "1",
  description: "Looks up a word.",
  inputs: { prediction: "model_output.answer" },
  score({ prediction }) {
    console.log("asked for", prediction);
    log.warn("be careful");
    return lookUp({ one: { score: 1 }, two: { score: 2 } }, prediction);
  },
});
"#;

#[test]
fn printed_lines_and_tracebacks_name_the_case() {
    let cases = json!({"case": "known", "member": "first", "inputs": {"prediction": "one"}, "expected": {"primary_score": 1}});
    let missing = json!({"case": "missing", "member": "first", "inputs": {"prediction": "three\u{1b}"}, "expected": {}});
    let high = json!({"case": "high", "member": "first", "inputs": {"prediction": "two"}, "expected": {}});
    let cases = format!("{cases}\n{missing}\n{high}\n");
    for (language, file, source, places) in [
        (
            "python",
            "plugin.py",
            FAILING_PYTHON,
            "KeyError: 'three\\x1b' (plugin.py, line 14, in look_up, called from plugin.py, line 10, in first)",
        ),
        (
            "js",
            "plugin.js",
            FAILING_JAVASCRIPT,
            "(plugin.js, line 5, in lookUp, called from plugin.js, line 15, in Object.score)",
        ),
    ] {
        let Some(workspace) = project(language) else { continue };
        workspace.write(&format!("word-recall/{file}"), source);
        workspace.write("word-recall/cases.jsonl", &cases);
        let ended = test_natively(&workspace).expect_code(4);
        let shown = ended.stdout.replace("info    asked", "stdout  asked");
        for expected in [
            "cases.jsonl:1 (known), first\n        stdout  asked for one\n        warn    be careful\n",
            "cases.jsonl:2 (missing), first\n        stdout  asked for three\\u{1b}\n        warn    be careful\n        debug   ",
            "the value 'score' is 2; the metric declares the range 0 to 1",
            "\n1 of 3 cases passed; pure",
        ] {
            assert!(shown.contains(expected), "{language}: {expected}\n{shown}");
        }
        assert!(shown.contains(places), "{language}: {places}\n{shown}");
        // Repeated calls of the purity test do not repeat the lines.
        assert_eq!(shown.matches("asked for one").count(), 1, "{shown}");
    }
}

#[test]
fn interpreter_that_ends_costs_one_case() {
    let Some(workspace) = project("python") else { return };
    workspace.write("word-recall/plugin.py", FAILING_PYTHON);
    let of =
        |member: &str| json!({"member": member, "inputs": {"prediction": "one"}, "expected": {}}).to_string();
    workspace.write("word-recall/cases.jsonl", [of("second"), of("first")].join("\n"));
    let ended = test_natively(&workspace).expect_code(4);
    assert!(
        ended.stdout.contains("found the error trap: python3 ended (exit status: 3)"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("\n1 of 2 cases passed"), "{}", ended.stdout);
}

#[test]
fn source_that_cannot_be_loaded_shows_its_traceback() {
    let source = "import json\nimport not_a_module\n";
    let python = "error: the plugin cannot be loaded:\nTraceback (most recent call last):\n";
    let javascript = "error: the plugin cannot be loaded:\n";
    for (language, file, source, start, advice) in [
        ("python", "plugin.py", source, python, "write not_a_module into requirements.in"),
        ("js", "plugin.js", "import \"not_a_module\";\n", javascript, "npm install not_a_module"),
    ] {
        let Some(workspace) = project(language) else { continue };
        workspace.write(&format!("word-recall/{file}"), source);
        let ended = test_natively(&workspace).expect_code(2);
        let message = ended.stderr.split_once('\n').map(|(_, rest)| rest).unwrap_or_default();
        assert!(message.starts_with(start) && message.contains("not_a_module"), "{}", ended.stderr);
        assert!(message.contains(&format!("  help: install it into the project: {advice}")), "{message}");
    }
}

#[test]
fn native_tests_are_refused_for_other_plugins() {
    let workspace = Workspace::new();
    workspace.run(&["plugin", "new", "--lang", "rust", "word-recall"]).expect_code(0);
    let ended = test_natively(&workspace).expect_code(2);
    assert!(ended.stderr.contains("this is a plugin in Rust"), "{}", ended.stderr);
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    let ended = workspace.run(&["plugin", "test", "recall.wasm", "--native"]).expect_code(2);
    assert!(ended.stderr.contains("`--native` runs the source of a project"), "{}", ended.stderr);
}

#[test]
fn cases_are_checked_before_a_component_is_compiled() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    // Each test of the same component would find it in the cache.
    let cache = [("GAGE_CACHE_DIR", workspace.path("cache"))];
    for (line, expected) in [
        (
            r#"{"inptus": {}, "expected": {}}"#,
            "cases.jsonl:2: unknown key `inptus`\n  help: did you mean `inputs`?",
        ),
        (r#"{"inputs": [], "expected": {}}"#, "cases.jsonl:2: `inputs` must be an object, found []\n"),
    ] {
        workspace.write("cases.jsonl", format!("{}\n{line}\n", json!({"inputs": {}, "expected": {}})));
        let ended = workspace.run_with_env(cache.clone(), &["plugin", "test", "recall.wasm"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    let compiled = std::fs::read_dir(workspace.path("cache/components")).map(Iterator::count);
    assert_eq!(compiled.unwrap_or(0), 0);
}

#[test]
fn lines_of_a_component_are_shown_with_their_case() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write("cases.jsonl", json!({"inputs": {"prediction": "log"}, "expected": {}}).to_string());
    let ended = workspace.run(&["plugin", "test", "hostile.wasm"]).expect_code(0);
    let start = "printed cases.jsonl:1, obedient\n        info    \\u{1b}[31mred\n";
    assert!(ended.stdout.starts_with(start), "{}", ended.stdout);
    assert!(ended.stdout.contains("        warn    log lines left out: "), "{}", ended.stdout);
    let value = workspace.run(&["plugin", "test", "hostile.wasm", "--json"]).expect_code(0).stdout_json();
    let line =
        json!({"case": "cases.jsonl:1", "member": "obedient", "source": "info", "text": "\\u{1b}[31mred"});
    assert_eq!(value["lines"][0], line);
}

#[test]
fn plugin_learns_which_lines_are_kept() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write("rows.jsonl", rows(1));
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "debug"), "[./hostile.wasm]"));
    for (run, log, expected, other) in [
        ("quiet", "warn,plugin=info", "debug lines are dropped", "built with care"),
        ("full", "warn,plugin=debug", "built with care", "debug lines are dropped"),
    ] {
        let arguments = ["run", "suite.yaml", "--run-id", run, "--log", log];
        let ended = workspace.run(&arguments).expect_code(0);
        assert!(ended.stderr.contains(expected), "{log}: {}", ended.stderr);
        assert!(!ended.stderr.contains(other), "{log}: {}", ended.stderr);
    }
    // `plugin test` shows every line.
    workspace.write("cases.jsonl", json!({"inputs": {"prediction": "debug"}, "expected": {}}).to_string());
    let ended = workspace.run(&["plugin", "test", "hostile.wasm"]).expect_code(0);
    assert!(ended.stdout.contains("debug   built with care\n"), "{}", ended.stdout);
}

#[test]
fn log_of_a_run_names_the_member_and_the_sample() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write("rows.jsonl", rows(1));
    let backend = constant_backend(&workspace, "log");
    workspace.write("suite.yaml", suite(&backend, "[./hostile.wasm]"));
    let arguments = ["run", "suite.yaml", "--run-id", "r", "--log", "warn,plugin=info"];
    let ended = workspace.run(&arguments).expect_code(0);
    assert!(ended.stderr.contains("member=\"obedient\" sample=\"q0\""), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn watched_project_is_tested_after_each_change() {
    use std::io::{BufRead as _, BufReader};
    let Some(workspace) = project("python") else { return };
    let mut child = workspace.start(&["plugin", "test", "word-recall", "--native", "--watch"]);
    let mut results = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut messages = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let mut messages_of_a_test = || -> Vec<String> {
        messages.by_ref().take_while(|line| line != "watching the files; Ctrl-C ends").collect()
    };
    messages_of_a_test();
    let source = workspace.read("word-recall/plugin.py");
    workspace.write("word-recall/plugin.py", "import not_a_module\n");
    let failed = messages_of_a_test();
    assert!(failed.iter().any(|line| line.starts_with("error: the plugin cannot be loaded")), "{failed:?}");
    workspace.write("word-recall/plugin.py", source);
    messages_of_a_test();
    for _ in 0..2 {
        assert!(results.next().is_some_and(|line| line.starts_with("11 of 11 cases passed")));
    }
    CommandOutput::interrupt(child).expect_code(0);
}

#[test]
fn project_is_brought_up_to_date() {
    let workspace = Workspace::new();
    workspace.run(&["plugin", "new", "--lang", "python", "word-recall"]).expect_code(0);
    let upgrade = |arguments: &[&str]| {
        workspace.run(&[["plugin", "upgrade", "word-recall"].as_slice(), arguments].concat())
    };
    let ended = upgrade(&["--check"]).expect_code(0);
    assert!(ended.stdout.starts_with("word-recall is up to date: "), "{}", ended.stdout);
    let file = "word-recall/gage/sdk/python/src/gage_sdk/metrics.py";
    let text = workspace.read(file);
    workspace.write(file, "old");
    workspace.write("word-recall/plugin.py", "mine");
    workspace.write("word-recall/gage/notes.txt", "mine");
    let ended = upgrade(&["--check"]).expect_code(3);
    let changed = "changed  gage/sdk/python/src/gage_sdk/metrics.py\nunknown  gage/notes.txt (not part of";
    assert!(ended.stdout.starts_with(changed), "{}", ended.stdout);
    let ended = upgrade(&[]).expect_code(0);
    assert!(ended.stdout.contains("\nwrote 1 of "), "{}", ended.stdout);
    assert_eq!(workspace.read(file), text);
    assert_eq!(workspace.read("word-recall/plugin.py"), "mine");
    upgrade(&["--check"]).expect_code(0);
}

#[test]
fn metrics_command_explains_a_file() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("http.wasm", gage_test_guests::HTTP_MODEL);
    for name in ["./recall.wasm", "recall.wasm#word_recall"] {
        let ended = workspace.run(&["metrics", name]).expect_code(0);
        assert!(ended.stdout.contains("implementation: ./recall.wasm\n"), "{}", ended.stdout);
    }
    let value: Value = workspace.run(&["metrics", "recall.wasm", "--json"]).expect_code(0).stdout_json();
    assert_eq!((&value["name"], &value["source"]), (&json!("word_recall"), &json!("recall.wasm")));
    for (name, expected) in [
        ("recall.wasm#other", "recall.wasm has no metric 'other'\n  help: expected one of: word_recall"),
        ("http.wasm", "is a plugin of the kind backend, which `metrics` does not explain"),
        ("missing.wasm", "cannot read the plugin "),
    ] {
        let ended = workspace.run(&["metrics", name]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

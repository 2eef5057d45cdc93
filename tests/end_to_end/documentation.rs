//! What the documentation says is what the program does.

use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, repository, rows};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The commands in the code blocks of a page that begin with the program's name.
fn commands_of(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page");
    let mut is_code = false;
    let mut commands = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let line = line.trim().trim_start_matches("$ ");
            let words =
                line.split_whitespace().skip_while(|word| word.contains('=') && !word.starts_with('-'));
            if words.clone().next() == Some("gage-host") {
                commands.push(line.split(" #").next().unwrap_or(line).trim().to_owned());
            }
        }
    }
    commands
}

/// Rows in the shape of the public datasets, written for this test.
fn write_datasets(workspace: &Workspace) {
    let goal = |number: usize| {
        format!("{{\"goal\":\"Cut bread {number}.\",\"sol1\":\"Use a knife.\",\"sol2\":\"Use a spoon.\"}}\n")
    };
    workspace.write("data/piqa/valid.jsonl", (0..3).map(goal).collect::<String>());
    workspace.write("data/piqa/valid-labels.lst", "0\n0\n0\n");
    workspace.write(
        "data/gsm8k/test.jsonl",
        "{\"question\":\"What is 2 + 2?\",\"answer\":\"2 + 2 = 4\\n#### 4\"}\n",
    );
}

fn run_in_shell(workspace: &Workspace, server: &Server, command: &str) -> CommandOutput {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_gage-host"));
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    // Not beside the suite, where it would be found by the next who follows the README.
    let command = match command.contains("lock") {
        true => format!("{command} --lock {}", workspace.path("suite.gage.lock").display()),
        false => command.to_owned(),
    };
    let output = std::process::Command::new("bash")
        .args(["-c", &command])
        .current_dir(repository())
        .env("PATH", path)
        .env("HOME", workspace.path(""))
        .env("GAGE_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .env("GAGE_HOST_OUTPUT_DIR", workspace.path("runs"))
        // What is locked is run as it was locked.
        .envs((!command.contains("--locked")).then_some(("GAGE_EVAL_MAX_SAMPLES", "2")))
        .env("LOCAL_DATASETS_ROOT", workspace.path("data"))
        .env("GAGE_MODEL_PATH", repository().join("config/models/gage-tiny.gguf"))
        .env("OPENAI_BASE_URL", format!("{}/v1", server.server.uri()))
        .output();
    CommandOutput::of(output.expect("bash runs"))
}

#[test]
fn every_command_of_the_readme_works() {
    let workspace = Workspace::new();
    write_datasets(&workspace);
    workspace.write("mine.jsonl", "");
    let server = Server::start(|_| completion("4"));
    let mut commands = commands_of(&repository().join("README.md"));
    commands.extend(commands_of(&repository().join("config/README.md")));
    commands.dedup();
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        let ended = run_in_shell(&workspace, &server, &command);
        // A model of 900,000 parameters may be cut off or out of its depth; it must not fail.
        assert!(matches!(ended.code, Some(0 | 4)), "{command}\n{}", ended.transcript());
        assert!(!ended.stderr.contains("error"), "{command}\n{}", ended.transcript());
    }
}

#[test]
fn every_shipped_suite_is_valid() {
    let workspace = Workspace::new();
    write_datasets(&workspace);
    let server = Server::start(|_| completion("4"));
    let mut count = 0;
    for entry in std::fs::read_dir(repository().join("config/custom")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let ended = run_in_shell(&workspace, &server, &format!("gage-host validate {}", path.display()));
        assert_eq!(ended.code, Some(0), "{}\n{}", path.display(), ended.transcript());
        count += 1;
    }
    assert!(count >= 6, "{count} suites");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let workspace = Workspace::new();
    let help = workspace.run(&["--help"]).expect_code(0);
    insta::assert_snapshot!("help", help.stdout);
    for command in ["run", "plan", "validate", "list"] {
        let help = workspace.run(&[command, "--help"]).expect_code(0);
        assert!(help.stdout.contains("Examples:"), "{command}");
        insta::assert_snapshot!(format!("help_{command}"), help.stdout);
    }
}

#[test]
fn metrics_explains_what_stands_before_and_behind_metrics_too() {
    let workspace = Workspace::new();
    for (name, expected) in [
        ("exact_match", ["reads    prediction", "figure   mean over", "- metric_id: my_exact_match"]),
        ("last_number", ["reads    text", "takes    which", "{step: extract, extractors: [{last_number: {"]),
        ("choice_letter", ["option_map_field, by default", "kind     extractor", "- {step: auto_eval}"]),
        ("verdict", ["kind     judge", "takes    scale", "{step: judge, judge: {verdict: {"]),
        ("ece", ["kind     aggregator", "by default 10", "aggregation: {ece: {bins: 10, "]),
    ] {
        let ended = workspace.run(&["metrics", name]).expect_code(0);
        for expected in expected {
            assert!(ended.stdout.contains(expected), "{name}: {expected}\n{}", ended.stdout);
        }
    }
    // The name of a metric and of an aggregator.
    let both = workspace.run(&["metrics", "pass_at_k"]).expect_code(0);
    assert_eq!(both.stdout.matches("pass_at_k, version").count(), 2, "{}", both.stdout);
    let all = workspace.run(&["metrics"]).expect_code(0);
    for heading in ["metrics\n", "\nextractors\n", "\njudges\n", "\naggregators\n"] {
        assert!(all.stdout.contains(heading), "{heading:?}\n{}", all.stdout);
    }
    let ended = workspace.run(&["metrics", "last_numbr"]).expect_code(2);
    assert!(ended.stderr.contains("did you mean `last_number`?"), "{}", ended.stderr);
}

/// What `gage-host metrics NAME` shows of each metric, extractor, judge and aggregator is a part of a suite that can be run.
#[test]
fn every_example_is_a_suite() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    let list: Value =
        serde_json::from_str(&workspace.run(&["list", "--json"]).expect_code(0).stdout).expect("JSON");
    let mut names: Vec<&str> = Vec::new();
    for kind in ["metrics", "extractors", "judges", "aggregators"] {
        let of_kind = list[kind].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str());
        let before = names.len();
        names.extend(of_kind);
        assert!(names.len() > before, "{kind}: {list}");
    }
    names.sort_unstable();
    names.dedup();
    let mut plain = Vec::new();
    let validate = |name: &str, example: &str| {
        let part: String =
            example.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect();
        let custom = if part.contains("custom:") {
            ""
        } else {
            "custom: {steps: [{step: inference}, {step: auto_eval}]}\n"
        };
        let metrics = if part.contains("metrics:") { "" } else { "metrics: [exact_match]\n" };
        workspace.write(
            "suite.yaml",
            format!(
                "api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{{dataset_id: rows, loader: jsonl, params: {{path: rows.jsonl}}}}]
backends: [{{backend_id: tiny, type: llama_cpp, config: {{model_path: {model}}}}}]
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: tiny}}
  - {{adapter_id: judge, role_type: judge_model, backend_id: tiny}}
  - {{adapter_id: embedder, role_type: helper_model, backend_id: tiny}}
{metrics}{custom}{part}"
            ),
        );
        let ended = workspace.run(&["validate", "suite.yaml"]);
        assert_eq!(ended.code, Some(0), "{name}:\n{part}\n{}", ended.stderr);
    };
    for name in names {
        let shown: Value =
            serde_json::from_str(&workspace.run(&["metrics", name, "--json"]).expect_code(0).stdout)
                .expect("JSON");
        let shown = shown.as_array().cloned().unwrap_or_else(|| vec![shown]);
        for member in &shown {
            let example = member["example"].as_str().unwrap_or_default();
            assert!(example.contains(name) && !example.contains('…'), "{name}: {example}");
            // All that need no steps of their own are one suite.
            match example.strip_prefix("  metrics:\n").filter(|metrics| !metrics.contains("custom:")) {
                Some(metrics) => plain.push(metrics.replace("my_", &format!("my_{}_", plain.len()))),
                None => validate(name, example),
            }
        }
    }
    assert!(plain.len() > 20, "{}", plain.len());
    validate("all without steps", &format!("  metrics:\n{}", plain.concat()));
}

#[test]
fn the_list_names_what_there_is() {
    let workspace = Workspace::new();
    insta::assert_snapshot!("list", workspace.run(&["list"]).expect_code(0).stdout);
    let json = workspace.run(&["list", "metrics", "--json"]).expect_code(0);
    let list: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert!(list["metrics"].as_array().is_some_and(|metrics| metrics.len() >= 7));
}

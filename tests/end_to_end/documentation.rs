//! The help texts and examples match the program.

use crate::support::{Workspace, repository, rows};

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
fn metrics_command_explains_every_kind_of_scoring_plugin() {
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
    // This is the name of a metric and of an aggregator.
    let both = workspace.run(&["metrics", "pass_at_k"]).expect_code(0);
    assert_eq!(both.stdout.matches("pass_at_k, version").count(), 2, "{}", both.stdout);
    let all = workspace.run(&["metrics"]).expect_code(0);
    for heading in ["metrics\n", "\nextractors\n", "\njudges\n", "\naggregators\n"] {
        assert!(all.stdout.contains(heading), "{heading:?}\n{}", all.stdout);
    }
    let ended = workspace.run(&["metrics", "last_numbr"]).expect_code(2);
    assert!(ended.stderr.contains("did you mean `last_number`?"), "{}", ended.stderr);
}

/// The example that `gage-host metrics NAME` shows for each metric, extractor, judge and aggregator is part of a valid suite.
#[test]
fn every_example_of_the_metrics_command_is_valid() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    let list = workspace.run(&["list", "--json"]).expect_code(0).stdout_json();
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
        let shown = workspace.run(&["metrics", name, "--json"]).expect_code(0).stdout_json();
        let shown = shown.as_array().cloned().unwrap_or_else(|| vec![shown]);
        for member in &shown {
            let example = member["example"].as_str().unwrap_or_default();
            assert!(example.contains(name) && !example.contains('…'), "{name}: {example}");
            // The metrics that need no steps of their own form one suite.
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
fn list_command_names_every_plugin() {
    let workspace = Workspace::new();
    insta::assert_snapshot!("list", workspace.run(&["list"]).expect_code(0).stdout);
    let json = workspace.run(&["list", "metrics", "--json"]).expect_code(0);
    let list = json.stdout_json();
    assert!(list["metrics"].as_array().is_some_and(|metrics| metrics.len() >= 7));
}

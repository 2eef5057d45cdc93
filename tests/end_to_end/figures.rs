//! Figures computed from scores: aggregations, slices, clusters, repeats, and custom aggregators.

use crate::scripted_backend::constant_backend;
use crate::server::Server;
use crate::support::{Workspace, rows, suite};
use serde_json::{Value, json};

/// Forty questions in two subjects and ten passages; the model answers "1" to all of them.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let row = |number: usize| {
        let message = json!({"role": "user", "content": [{"type": "text", "text": format!("{number}?")}]});
        let label = if number.is_multiple_of(4) { "0" } else { "1" };
        json!({
            "schema_version": "v1", "id": format!("q{number}"), "messages": [message], "label": label,
            "references": [label],
            "metadata": {"subject": if number < 10 { "law" } else { "art" }, "passage": number / 4},
        })
        .to_string()
            + "\n"
    };
    workspace.write("rows.jsonl", (0..40).map(row).collect::<String>());
    workspace
}

fn figures(workspace: &Workspace, run: &str) -> Vec<Value> {
    workspace.json(run, "summary.json")["metrics"].as_array().cloned().unwrap_or_default()
}

#[test]
fn weights_come_from_a_field_of_the_sample() {
    let workspace = Workspace::new();
    let row = |id: &str, label: &str, weight: Value| {
        json!({"id": id, "question": "?", "answer": label, "weight": weight}).to_string() + "\n"
    };
    workspace.write("rows.jsonl", row("a", "1", json!(3)) + &row("b", "0", json!("1")));
    let run = |id: &str, metrics: &str, code: i32| {
        workspace.write("suite.yaml", suite(&constant_backend(&workspace, "1"), metrics));
        workspace.run(&["run", "suite.yaml", "--run-id", id]).expect_code(code)
    };
    run(
        "r",
        "[{exact_match: {weight_field: sample.metadata.weight}}, {metric_id: plain, implementation: exact_match}]",
        0,
    );
    let found = figures(&workspace, "r");
    assert_eq!((&found[0]["aggregation"], &found[0]["value"]), (&json!("weighted_mean"), &json!(0.75)));
    assert_eq!(found[1]["value"], 0.5);

    workspace.write("rows.jsonl", row("a", "1", json!(3)) + &row("b", "0", json!("heavy")));
    run("wrong", "[{exact_match: {weight_field: sample.metadata.weight}}]", 4);
    let error = workspace.samples("wrong")[1]["metrics"][0]["error"].as_str().map(str::to_owned);
    assert_eq!(
        error.as_deref(),
        Some(
            "invalid_input: the weight at sample.metadata.weight must be a number of at least 0, found \"heavy\""
        )
    );
    let metric = "[{metric_id: m, implementation: exact_match, aggregation: median, params: {weight_field: sample.metadata.weight}}]";
    let refused = run("refused", metric, 2);
    assert!(
        refused.stderr.contains("the aggregation `median` does not use `weight_field`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn short_forms_of_metrics_take_an_aggregation() {
    let workspace = workspace();
    let metrics =
        "[{exact_match: {aggregation: count}}, \"numeric_match(tolerance=0.1, aggregation='median')\"]";
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "1"), metrics));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let found = figures(&workspace, "r");
    assert_eq!((&found[0]["aggregation"], &found[0]["value"]), (&json!("count"), &json!(40.0)));
    assert_eq!((&found[1]["aggregation"], &found[1]["value"]), (&json!("median"), &json!(1.0)));
}

#[test]
fn figures_have_slices_clusters_and_aggregations() {
    let workspace = workspace();
    let metric = |id: &str, implementation: &str, aggregation: &str| {
        format!("{{metric_id: {id}, implementation: {implementation}, aggregation: {aggregation}}}")
    };
    let metrics = [
        metric("acc", "exact_match", "mean"),
        metric("rate", "exact_match", "pass_rate"),
        metric("many", "exact_match", "count"),
        metric("upper", "exact_match", "p90"),
        metric("kinds", "exact_match", "categorical"),
        metric("table", "exact_match", "confusion"),
        metric("bleus", "bleu", "corpus_bleu"),
    ];
    let text = suite(&constant_backend(&workspace, "1"), &format!("[{}]", metrics.join(", ")))
        + "  slices: [metadata.subject]\n  cluster_by: metadata.passage\n";
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let found = figures(&workspace, "r");
    let value = |place: usize| found[place]["value"].as_f64();
    assert_eq!((value(0), value(1), value(2), value(3)), (Some(0.75), Some(0.75), Some(40.0), Some(1.0)));
    // Each passage has three of four right, so there is no spread between passages.
    assert_eq!((&found[0]["clusters"], &found[0]["interval"]["method"]), (&json!(10), &json!("wilson")));
    let slices: Vec<(&str, f64, u64)> = found[0]["slices"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|slice| {
            let key = slice["key"].as_str().unwrap_or_default();
            (key, slice["value"].as_f64().unwrap_or(f64::NAN), slice["n"].as_u64().unwrap_or(0))
        })
        .collect();
    assert_eq!(slices, [("art", 23.0 / 30.0, 30), ("law", 0.7, 10)]);
    assert_eq!(found[4]["categories"][0], json!({"name": "1", "count": 40, "share": 1.0}));
    assert!(found[5]["figures"].as_array().is_some_and(|figures| figures.len() > 3), "{}", found[5]);
    assert_eq!(found[6]["aggregation"], "corpus_bleu");
    insta::assert_snapshot!("figures", ended.stdout.split("\n\n").next().unwrap_or_default());
}

/// A path of a metric that no sample has makes its figure invalid. One of a slice only gives a warning.
#[test]
fn unused_field_path_is_reported_with_the_nearest_one() {
    let workspace = workspace();
    let paths = "  slices: [metadata.subjct, metadata.subject, colour]\n  cluster_by: passage\n";
    workspace.write(
        "suite.yaml",
        suite(&constant_backend(&workspace, "1"), "[exact_match, 'contains(label_field=metadata.sujbect)']")
            + paths,
    );
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let unfound = json!([
        {"key": "slices", "path": "metadata.subjct", "nearest": "metadata.subject"},
        {"key": "slices", "path": "colour"},
        {"key": "cluster_by", "path": "passage", "nearest": "metadata.passage"},
        {"key": "contains.label_field", "path": "metadata.sujbect", "nearest": "metadata.subject"},
    ]);
    assert_eq!(workspace.json("r", "summary.json")["tasks"][0]["unfound"], unfound);
    for (path, nearest) in [
        ("`metadata.subjct` (slices)", "; did you mean `metadata.subject`?"),
        ("`colour` (slices)", "\n"),
        ("`passage` (cluster_by)", "; did you mean `metadata.passage`?"),
    ] {
        let expected = format!("no sample has a value at {path}; figures are made without it{nearest}");
        assert!(ended.stderr.contains(&expected), "{expected}\n{}", ended.stderr);
    }
    let expected = "incomplete: rows: no sample has a value at `metadata.sujbect` (contains.label_field), so this metric \
        has no valid figure; did you mean `metadata.subject`?";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    workspace.run(&["score", "runs/r", "--run-id", "again"]).expect_code(4);
    assert_eq!(workspace.read("runs/again/summary.json"), workspace.read("runs/r/summary.json"));
    // A missing judge output cannot be scored.
    let ended = workspace.run(&["score", "runs/r", "--metric", "judge_score"]).expect_code(2);
    for expected in [
        "the metric `judge_score` reads `judge_output.score`, but the run has none",
        "sample.judge_output.score",
    ] {
        assert!(ended.stderr.contains(expected), "{expected}\n{}", ended.stderr);
    }
}

/// If the suite asks for an error per sample, there is no warning as well.
#[test]
fn missing_field_that_is_an_error_is_reported_once() {
    let workspace = workspace();
    let metrics = "['contains(label_field=metadata.sujbect, on_missing_field=error)', exact_match]";
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "1"), metrics));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--quiet"]).expect_code(4);
    assert_eq!(ended.stderr.matches("metadata.sujbect").count(), 1, "{}", ended.stderr);
    assert_eq!(workspace.json("r", "summary.json")["tasks"][0]["unfound"], json!(null));
    assert_eq!(workspace.samples("r")[0]["metrics"][0]["outcome"], "plugin_error");
}

#[test]
fn repeats_are_averaged_within_a_sample_first() {
    let workspace = workspace();
    let metrics =
        "[exact_match, {metric_id: passes, implementation: exact_match, aggregation: 'pass_at_k(k=2)'}]";
    workspace.write(
        "suite.yaml",
        suite(&constant_backend(&workspace, "1"), metrics) + "  repeat: 3\n  max_samples: 8\n",
    );
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let found = figures(&workspace, "r");
    assert_eq!((&found[0]["n"], &found[0]["total"], &found[0]["repeats"]), (&json!(8), &json!(8), &json!(3)));
    assert_eq!(found[0]["value"], 0.75);
    assert_eq!(found[1]["value"], 0.75);
    assert_eq!(workspace.samples("r").len(), 24);
}

#[test]
fn unknown_aggregations_are_refused_before_the_run() {
    let workspace = workspace();
    for (aggregation, expected) in [
        ("meen", "did you mean `mean`?"),
        ("p0", "unknown aggregation `p0`"),
        ("confusoin", "did you mean `confusion`?"),
        ("ece(bin=3)", "did you mean `bins`?"),
    ] {
        let metrics = format!("[{{metric_id: a, implementation: exact_match, aggregation: {aggregation}}}]");
        workspace.write("suite.yaml", suite(&constant_backend(&workspace, "1"), &metrics));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{aggregation}\n{}", ended.stderr);
    }
}

#[test]
fn attempts_beyond_the_repeats_are_refused() {
    let workspace = workspace();
    for (k, repeat, expected) in [
        ("100", "  repeat: 10\n", Some("`k` is 100, but `repeat` of the task `rows` is 10")),
        (
            "[1, 100]",
            "  repeat: 10\n",
            Some("`repeat: 100` for the task or in `custom`, or leave 100 out of `k`"),
        ),
        ("2", "", Some("`k` is 2, but `repeat` of the task `rows` is 1")),
        ("[1, 10]", "  repeat: 10\n", None),
        ("1", "", None),
    ] {
        let metrics = format!(
            "[{{metric_id: passes, implementation: exact_match, aggregation: {{pass_at_k: {{k: {k}}}}}}}]"
        );
        workspace.write("suite.yaml", suite(&constant_backend(&workspace, "1"), &metrics) + repeat);
        let ended = workspace.run(&["validate", "suite.yaml"]);
        let ended = ended.expect_code(if expected.is_some() { 2 } else { 0 });
        assert!(ended.stderr.contains(expected.unwrap_or_default()), "k: {k}\n{}", ended.stderr);
    }
}

#[test]
fn attempts_without_a_temperature_are_reported() {
    let server = Server::answering();
    let workspace = workspace();
    let metrics = "[{metric_id: passes, implementation: exact_match, aggregation: {pass_at_k: {k: [1, 3]}}}]";
    let warning = "`pass_at_k` compares the 3 answers to a sample of the task `rows`, but at temperature 0";
    for (backend, custom, is_warned) in [
        (server.backend(""), "  repeat: 3\n", true),
        (server.backend(""), "  repeat: 3\n  sampling_params: {temperature: 0.8}\n", false),
        (constant_backend(&workspace, "1"), "  repeat: 3\n", false),
        (constant_backend(&workspace, "1"), "  repeat: 3\n  sampling_params: {temperature: 0}\n", true),
    ] {
        workspace.write("suite.yaml", suite(&backend, metrics) + custom);
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
        assert_eq!(ended.stderr.contains(warning), is_warned, "{custom}{}", ended.stderr);
    }
}

#[test]
fn timings_list_what_each_plugin_costs() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match, text_length]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    workspace.run(&["score", "runs/r", "--metric", "contains", "--run-id", "again"]).expect_code(0);
    let costs = |run: &str| {
        let timings = workspace.json(run, "timings.json");
        let plugins = timings["plugins"].as_array().expect("plugins").clone();
        let mut costs: Vec<(String, u64)> = Vec::new();
        for plugin in &plugins {
            assert!(
                plugin["cpu_s"].as_f64() > Some(0.0) && plugin["cpu_us_per_item"].as_f64() > Some(0.0),
                "{plugin}"
            );
            assert!(plugin["fuel"].as_u64() > Some(1_000) && plugin["calls"].as_u64() > Some(0), "{plugin}");
            // An instance has at least a page.
            assert!(plugin["peak_memory_bytes"].as_u64() >= Some(65_536), "{plugin}");
            let name = format!("{} {}", plugin["kind"].as_str().unwrap_or_default(), plugin["member"]);
            costs.push((name, plugin["items"].as_u64().unwrap_or_default()));
        }
        costs.sort();
        costs
    };
    let of = |name: &str, items| (name.to_owned(), items);
    // The check before the run prepares the first rows too.
    let found = costs("r");
    let [metrics @ .., (preprocessor, rows)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(metrics, [of("metric \"exact_match\"", 40), of("metric \"text_length\"", 40)]);
    assert!(preprocessor == "preprocessor \"default\"" && *rows >= 40, "{found:?}");
    assert_eq!(costs("again"), [of("metric \"contains\"", 40)]);
}

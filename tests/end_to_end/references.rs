//! Several right answers per row, in every form that rows and suites accept.

use crate::scripted_backend::scripted_backend;
use crate::support::{Workspace, suite};
use serde_json::{Value, json};

/// Creates a workspace whose model gives each row's `say` as its answer.
fn workspace(rows: &[Value], metrics: &str, extra: &str) -> Workspace {
    let workspace = Workspace::new();
    let answers: Value = rows
        .iter()
        .enumerate()
        .map(|(number, row)| (format!("question {number}"), row["say"].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let written = rows.iter().enumerate().map(|(number, row)| {
        let mut row = row.clone();
        row["id"] = json!(format!("q{number}"));
        row["question"] = json!(format!("question {number}"));
        row.to_string() + "\n"
    });
    workspace.write("rows.jsonl", written.collect::<String>());
    let backend = scripted_backend(&workspace, &json!({"answers": answers}));
    workspace.write("suite.yaml", suite(&backend, metrics) + extra);
    workspace
}

/// Returns the scores of each sample, in the order of the metrics.
fn scores(workspace: &Workspace) -> Vec<Vec<Option<f64>>> {
    let of_sample = |sample: &Value| {
        let metrics = sample["metrics"].as_array().cloned().unwrap_or_default();
        metrics.iter().map(|metric| metric["card"]["primary_score"].as_f64()).collect()
    };
    workspace.samples("r").iter().map(of_sample).collect()
}

#[test]
fn each_of_several_references_is_accepted() {
    let metric = |id: &str, name: &str, params: Value| json!({"metric_id": id, "implementation": name, "params": params});
    let any = |field: &str| json!({"any_reference": true, "label_field": field});
    let canonical = json!({
        "answer_field": "model_output.answer", "reference_field": "references", "answer_type": "number",
        "any_reference": true,
    });
    let metrics = json!([
        metric("listed", "exact_match", any("metadata.right")),
        metric("own", "exact_match", any("references")),
        metric("second", "exact_match", json!({"label_field": "references.1"})),
        metric("parts", "exact_match", json!({"label_field": "sample.references.1.answer"})),
        metric("label", "exact_match", json!({})),
        metric("held", "contains", any("metadata.right")),
        metric("held_own", "contains", any("references")),
        metric("number", "numeric_match", any("references")),
        metric("near", "numeric_error", any("metadata.right")),
        metric("canonical", "canonical_answer", canonical),
    ]);
    let row = |say: &str, right: Value| json!({"say": say, "answer": right, "right": right});
    let rows = [
        row("two", json!(["one", "two"])),
        row("2.0", json!(["1", 2])),
        row("true", json!([false, true])),
        row("it is two", json!(["one", "two"])),
        row("three", json!(["one", "two"])),
    ];
    let workspace = workspace(&rows, &metrics.to_string(), "");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let found = scores(&workspace);
    let expected = [
        [1, 1, 1, 1, 0, 1, 1, 0, 0, 0],
        // Only the metrics on numbers compare texts by value.
        [1, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 1, 0, 0, 0],
        [0; 10],
    ];
    for ((found, expected), row) in found.into_iter().zip(expected).zip(&rows) {
        assert_eq!(found, expected.map(|score| Some(f64::from(score))), "{row}");
    }
}

#[test]
fn references_in_either_form_are_read_alike() {
    let metrics = "[{exact_match: {any_reference: true, label_field: references}}, squad]";
    let rows = [
        json!({"say": "two", "references": ["one", "two"]}),
        json!({"say": "two", "references": [{"answer": [{"type": "text", "text": "two"}]}]}),
    ];
    let workspace = workspace(&rows, metrics, "");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(scores(&workspace), [[Some(1.0), Some(1.0)], [Some(1.0), Some(1.0)]]);
}

#[test]
fn several_options_of_a_row_can_be_right() {
    let row = |say: &str, answer: Value| json!({"say": say, "choices": ["Paris", "Oslo", "Rome", "Bern"], "answer": answer});
    let rows = [
        row("C", json!(["A", "C"])),
        row("Rome", json!([0, 2])),
        row("A, C", json!(["Paris", "Rome"])),
        row("A, B", json!(["A", "C"])),
        row("A, B, C, D", json!(["A", "C"])),
        row("A and D", json!(["A", "C"])),
        row("B and A", json!(["A", "C"])),
        row("AB", json!(["A", "C"])),
    ];
    let workspace = workspace(&rows, "[multi_choice_accuracy]", "");
    let preprocess =
        "{path: rows.jsonl, preprocess: multi_choice, preprocess_kwargs: {style: question_only}}";
    let text = workspace.read("suite.yaml").replace("{path: rows.jsonl}", preprocess);
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let found: Vec<Option<f64>> = scores(&workspace).into_iter().flatten().collect();
    let expected = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0].map(Some);
    assert_eq!(found, expected);
}

#[test]
fn figures_without_variance_have_no_standard_error() {
    let row = |number: usize| json!({"say": "right", "answer": if number.is_multiple_of(4) { "wrong" } else { "right" }, "group": number / 4});
    let rows: Vec<Value> = (0..24).map(row).collect();
    let figure = |id: &str, aggregation: &str| json!({"metric_id": id, "implementation": "exact_match", "aggregation": aggregation});
    let metrics = json!([
        figure("mean", "mean"),
        figure("weighted", "weighted_mean"),
        figure("median", "median"),
        figure("p90", "p90"),
    ]);
    let clustered = workspace(&rows, &metrics.to_string(), "  cluster_by: metadata.group\n");
    clustered.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let figures = &clustered.json("r", "summary.json")["metrics"];
    assert_eq!((&figures[0]["value"], &figures[0]["interval"]["method"]), (&json!(0.75), &json!("wilson")));
    assert_eq!(figures[1]["interval"], figures[0]["interval"]);
    for place in [2, 3] {
        assert_eq!(figures[place]["stderr"], Value::Null);
    }
    let alike: Vec<Value> = (0..6).map(|_| json!({"say": "right", "answer": "right"})).collect();
    let metrics = json!([figure("passes", "pass_at_k"), figure("votes", "majority_vote")]);
    let alike = workspace(&alike, &metrics.to_string(), "");
    alike.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    for figure in alike.json("r", "summary.json")["metrics"].as_array().into_iter().flatten() {
        assert_eq!((&figure["value"], &figure["stderr"]), (&json!(1.0), &Value::Null), "{figure}");
        let named = figure["figures"].as_array().cloned().unwrap_or_default();
        assert!(named.iter().all(|named| named["stderr"].is_null()), "{figure}");
    }
}

#[test]
fn field_paths_of_a_sample_are_checked_like_those_of_a_suite() {
    let odd = ["references[0]", "", "sample..q", "sample.", "references.-1"];
    let row = |path: &str| {
        let config = json!({"metrics": {"exact_match": {"label_field": path}}});
        json!({"say": "x", "answer": "x", "eval_config": config})
    };
    let mut rows: Vec<Value> = odd.iter().map(|path| row(path)).collect();
    rows.push(row("references.0"));
    let workspace = workspace(&rows, "[exact_match]", "  min_coverage: 0\n");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    for (sample, path) in samples.iter().zip(odd) {
        let metric = &sample["metrics"][0];
        assert_eq!(metric["outcome"], "invalid_sample", "{path:?}: {metric}");
        let expected = format!("eval_config.metrics.exact_match: /label_field: the path `{path}` ");
        let message = metric["error"].as_str().unwrap_or_default();
        assert!(message.starts_with(&expected), "{message}");
    }
    assert_eq!(samples[odd.len()]["metrics"][0]["card"]["primary_score"], 1.0);
}

#[test]
fn metric_parameters_that_differ_in_an_aggregator_are_reported() {
    let metric = |aggregation: Value| {
        json!([{
            "metric_id": "b", "implementation": "bleu", "params": {"smooth_method": "add-k", "lowercase": true},
            "aggregation": aggregation,
        }])
    };
    let rows = [json!({"say": "x", "answer": "x"})];
    for (aggregation, is_reported) in [
        (json!("corpus_bleu"), true),
        (json!({"corpus_bleu": {"smooth_method": "floor"}}), true),
        (json!({"corpus_bleu": {"smooth_method": "add-k"}}), false),
        (json!("mean"), false),
    ] {
        let workspace = workspace(&rows, &metric(aggregation.clone()).to_string(), "");
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
        let output = format!("{}{}", ended.stdout, ended.stderr);
        let expected = "the aggregator `corpus_bleu`, which has its own `smooth_method`";
        assert_eq!(output.contains(expected), is_reported, "{aggregation}: {output}");
        assert!(!output.contains("`lowercase` of the metric"), "{output}");
        assert_eq!(output.contains("corpus_bleu: {smooth_method: \"add-k\"}"), is_reported, "{output}");
    }
}

//! Answers that are objects, and metrics that read several of their fields.

use crate::server::{Server, completion};
use crate::support::{Workspace, suite};
use serde_json::{Value, json};

/// Runs one row with an answer, and returns the primary scores by metric.
fn scores(row: &Value, answer: &str, metrics: &str) -> Value {
    let answer = answer.to_owned();
    let server = Server::start(move |_| completion(&answer));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", format!("{row}\n"));
    let steps = "[{step: inference}, {step: extract, extractors: [json_object]}, {step: auto_eval}]";
    let text = suite(&server.backend(""), metrics).replace("[{step: inference}, {step: auto_eval}]", steps);
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let sample = workspace.samples("r")[0].clone();
    let metrics = sample["metrics"].as_array().cloned().unwrap_or_default();
    let score = |metric: &Value| {
        let name = metric["metric_id"].as_str().unwrap_or_default().to_owned();
        (name, metric["card"]["primary_score"].clone())
    };
    metrics.iter().map(score).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn fields_of_an_answer_reach_the_metrics() {
    let row = json!({
        "id": "q", "question": "?", "answer": "up",
        "ground_truth": {"value": "up"},
        "metadata": {"gt_evidence_ids": ["e1"]},
    });
    let answer = json!({
        "final_answer": {"value": "up"},
        "steps": [{"id": 1, "text": "sales rose"}],
        "claims": [{"text": "sales rose", "evidence": ["e1"]}],
    });
    let found = scores(
        &row,
        &format!("Here it is:\n```json\n{answer}\n```"),
        "[exact_match, claim_evidence_overlap]",
    );
    assert_eq!(found, json!({"exact_match": 1.0, "claim_evidence_overlap": 1.0}));
    let row = json!({"id": "q", "question": "?", "answer": "12.5"});
    let answer = json!({"answer": {"value": 12.5, "unit": "%"}, "why": "computed"}).to_string();
    let found = scores(&row, &answer, "[numeric_match]");
    assert_eq!(found, json!({"numeric_match": 1.0}));
}

#[test]
fn metrics_that_cannot_read_the_answers_are_named() {
    for (answer, metric, label, is_named) in [
        ("She sells 9 eggs at 2 dollars.\n#### 18", "numeric_match", "18", true),
        ("18", "numeric_match", "18", false),
        ("17", "numeric_match", "18", false),
        ("neither", "multi_choice_accuracy", "A", true),
        ("B", "multi_choice_accuracy", "A", false),
        ("18", "numeric_match", "A", false),
    ] {
        let row = json!({"id": "q", "question": "?", "options": {"A": "x", "B": "y"}, "label": label});
        let server = Server::start(move |_| completion(answer));
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", format!("{row}\n"));
        workspace.write("suite.yaml", suite(&server.backend(""), &format!("[{metric}]")));
        let stderr = workspace.run(&["run", "suite.yaml"]).expect_code(0).stderr;
        let named = format!("`{metric}` could not read 1 of 1 answer (");
        assert_eq!(stderr.contains(&named), is_named, "{answer}: {stderr}");
        assert_eq!(stderr.contains("add a step `extract`"), is_named, "{answer}: {stderr}");
        let has_unusable = metric == "numeric_match" && label == "A";
        assert_eq!(stderr.contains("1 sample has no reference that"), has_unusable, "{label}: {stderr}");
    }
}

//! Accuracies of instructions that a program can verify.

use crate::scripted_backend::scripted_backend;
use crate::support::{Workspace, suite};
use serde_json::{Value, json};

#[test]
fn each_instruction_counts_once() {
    let rows = [
        ("first", "<<A>>", vec!["punctuation:no_comma", "detectable_format:title"]),
        ("second", "a, b", vec!["punctuation:no_comma"]),
    ];
    let workspace = Workspace::new();
    let mut written = String::new();
    let mut answers = serde_json::Map::new();
    for (question, answer, names) in rows {
        // Rows on the hub have every argument, and null for those of other instructions.
        let arguments: Vec<Value> = names.iter().map(|_| json!({"num_words": null})).collect();
        let row = json!({
            "id": question, "question": question, "answer": "?", "instruction_id_list": names, "kwargs": arguments,
        });
        written.push_str(&(row.to_string() + "\n"));
        answers.insert(question.to_owned(), answer.into());
    }
    workspace.write("rows.jsonl", written);
    let backend = scripted_backend(&workspace, &json!({"answers": answers}));
    let metrics = json!([
        {"metric_id": "prompts", "implementation": "ifeval"},
        {"metric_id": "instructions", "implementation": "ifeval", "params": {"level": "instruction"}},
    ]);
    workspace.write("suite.yaml", suite(&backend, &metrics.to_string()));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let figures = &workspace.json("r", "summary.json")["metrics"];
    for (place, expected) in [(0, 0.5), (1, 2.0 / 3.0)] {
        let figure = &figures[place];
        assert_eq!(figure["aggregation"], "weighted_mean");
        assert_eq!(
            (&figure["value"], &figure["sub_scores"][0]["value"]),
            (&json!(expected), &json!(expected))
        );
    }
}

//! The step `embed` with the vectors of the tiny model.

use crate::support::{Workspace, repository};
use serde_json::{Value, json};

fn near(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() < 1e-6)
}

#[test]
fn tiny_model_embeds_and_refuses_long_texts() {
    let workspace = Workspace::new();
    let long = "What is the capital of France? ".repeat(60);
    let row = |id: &str, reference: &str| {
        json!({"id": id, "question": "What is the capital of France?", "answer": reference}).to_string()
            + "\n"
    };
    workspace.write("rows.jsonl", row("right", "Paris") + &row("other", "narrow") + &row("long", &long));
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    workspace.write(
        "suite.yaml",
        format!(
            "api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{{dataset_id: rows, loader: jsonl, params: {{path: rows.jsonl}}}}]
backends:
  - backend_id: tiny
    type: llama_cpp
    config: {{model_path: '{model}', slots: 1, deterministic: true, default_params: {{max_new_tokens: 16, temperature: 0}}}}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: tiny}}
  - {{adapter_id: embedder, role_type: helper_model, backend_id: tiny}}
metrics: [semantic_similarity]
custom: {{steps: [{{step: inference}}, {{step: embed}}, {{step: auto_eval}}]}}
"
        ),
    );
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--cache=kept"]).expect_code(4);
    let samples = workspace.samples("r");
    let similarity = |place: usize| samples[place]["model_output"]["semantic"]["similarities"][0].clone();
    assert!(near(&similarity(0), 1.0), "{}", samples[0]);
    assert!(similarity(1).as_f64().is_some_and(|value| value < 0.99), "{}", samples[1]);
    assert_eq!(samples[2]["error"]["kind"], "context_length");
    assert!(samples[2]["error"]["message"].to_string().contains("tokens"), "{}", samples[2]["error"]);
    workspace.run(&["run", "suite.yaml", "--run-id", "kept", "--cache=kept"]).expect_code(4);
    assert_eq!(workspace.read("runs/kept/samples.jsonl"), workspace.read("runs/r/samples.jsonl"));
}

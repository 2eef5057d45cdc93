//! Plans whose tokens the vocabulary of a model counts.

use crate::support::{Workspace, repository, rows, suite};
use serde_json::Value;

#[test]
fn a_plan_counts_tokens_with_the_vocabulary_of_the_model() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(10));
    let model = repository().join("config/models/gage-tiny.gguf");
    let backend = format!("type: llama_cpp\n    config: {{model_path: '{}'}}", model.display());
    workspace.write("local.yaml", suite(&backend, "[exact_match]"));
    let ended = workspace.run(&["plan", "local.yaml", "--json"]).expect_code(0);
    let plan: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(plan["tasks"][0]["tokens_by"], "model");
    let tokens = plan["prompt_tokens"]["low"].as_f64().unwrap_or_default();
    // A token has a byte at least.
    assert!((10.0..=100.0).contains(&tokens), "{tokens}");
}

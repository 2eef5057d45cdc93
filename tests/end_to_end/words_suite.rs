//! A suite with its own files of every kind, for tests that freeze and lock it.

use crate::support::{Workspace, rows};

/// Writes a suite below `config/custom` with its own prompts, data, chat template, plugin and model.
pub(crate) fn write_suite(workspace: &Workspace, backend: &str, key: &str) {
    workspace.write("config/data/rows.jsonl", rows(40));
    workspace
        .write("config/data/tokenizer_config.json", r#"{"chat_template": "{{ messages[0]['content'] }}"}"#);
    workspace.write("config/custom/words.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write(
        "config/custom/words.yaml",
        format!(
            "api_version: gage/v1alpha1
kind: PipelineConfig
metadata: {{name: words}}
plugins:
  - {{id: words, source: '${{config_dir}}/words.wasm'}}
datasets:
  - dataset_id: rows
    loader: jsonl
    params:
      path: ${{config_dir}}/../data/rows.jsonl
      tokenizer_config: ${{config_dir}}/../data/tokenizer_config.json
backends:
  - backend_id: model
    {backend}{key}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model, prompt_id: ask}}
prompts:
  - {{prompt_id: ask, template: '{{{{ sample.messages[0].content[0].text }}}}'}}
metrics: [exact_match, words]
custom:
  score_outcomes: [truncated, empty_output]
  steps: [{{step: inference}}, {{step: auto_eval}}]
tasks:
  - {{task_id: rows, dataset_id: rows, max_samples: 20}}
"
        ),
    );
}

/// Makes a template of the suite, a run config of the template, and its lock.
pub(crate) fn freeze(workspace: &Workspace) {
    workspace.run(&["distill", "config/custom/words.yaml", "--builtin-name", "words"]).expect_code(0);
    workspace.run(&["init", "words"]).expect_code(0);
    workspace.run(&["lock", RUN_CONFIG]).expect_code(0);
}

pub(crate) const RUN_CONFIG: &str = "config/run_configs/words_run_1.yaml";
pub(crate) const LOCK: &str = "config/run_configs/words_run_1.gage.lock";

//! `gage-host import gage`, and the hints for keys and options of the older program.

use crate::server::{Server, completion};
use crate::support::{Workspace, repository, rows};
use serde_json::{Value, json};

const OLD: &str = "\
api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - {dataset_id: rows, loader: jsonl, params: {path: rows.jsonl}}
backends:
  - {backend_id: engine, type: vllm, config: {model_path: small, dtype: bfloat16}}
role_adapters:
  - {adapter_id: dut, role_type: dut_model, backend_id: engine, concurrency: 2}
metrics: [exact_match]
custom: {steps: [{step: inference}, {step: auto_eval}]}
reporting: {sinks: []}
";

#[test]
fn import_writes_a_suite_that_is_valid() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    workspace.write("old.yaml", OLD);
    let ended = workspace.run(&["import", "gage", "old.yaml", "-o", "new.yaml"]).expect_code(0);
    assert_eq!(ended.stdout, "");
    for line in [
        "changed: backends[0].type: `vllm` is a server that speaks the protocol of `openai_http`",
        "dropped: backends[0].config.dtype: `dtype` is left out: it is a setting of the server",
        "  help: start the server with: vllm serve MODEL --dtype bfloat16",
        "dropped: reporting: `reporting` is left out: it has no effect: every run writes its results",
        "next: gage-host validate new.yaml",
    ] {
        assert!(ended.stderr.lines().any(|one| one == line), "{line}\n{}", ended.stderr);
    }
    workspace.run(&["validate", "new.yaml"]).expect_code(0);
    let printed = workspace.run(&["import", "gage", "old.yaml"]).expect_code(0);
    assert_eq!(printed.stdout, workspace.read("new.yaml"));
}

#[test]
fn import_replaces_a_file_only_with_force() {
    let workspace = Workspace::new();
    workspace.write("old.yaml", OLD);
    workspace.write("new.yaml", "mine\n");
    let refused = workspace.run(&["import", "gage", "old.yaml", "-o", "new.yaml"]).expect_code(2);
    assert!(
        refused.stderr.contains("exists already") && refused.stderr.contains("--force"),
        "{}",
        refused.stderr
    );
    assert_eq!(workspace.read("new.yaml"), "mine\n");
    workspace.run(&["import", "gage", "old.yaml", "-o", "new.yaml", "--force"]).expect_code(0);
    assert!(workspace.read("new.yaml").starts_with("# Converted from old.yaml"));
}

#[test]
fn import_ends_with_code_2_if_work_is_left() {
    let workspace = Workspace::new();
    workspace.write("old.yaml", OLD.replace("exact_match", "my_own_metric"));
    let ended = workspace.run(&["import", "gage", "old.yaml", "--json"]).expect_code(2);
    let answer = ended.stdout_json();
    assert_eq!(answer["needs_work"], true);
    let notes = answer["notes"].as_array().expect("notes");
    let help = notes.iter().filter_map(|note| note["help"].as_str());
    let command = "gage-host plugin new --lang python --kind metric my-own-metric";
    assert!(help.into_iter().any(|help| help.ends_with(command)), "{answer:#}");
    workspace.write("list.yaml", "- a\n");
    let refused = workspace.run(&["import", "gage", "list.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("a suite is a mapping"), "{}", refused.stderr);
    let absent = workspace.run(&["import", "gage", "absent.yaml"]).expect_code(2);
    assert!(absent.stderr.contains("cannot read 'absent.yaml'"), "{}", absent.stderr);
}

#[test]
fn validate_has_hints_for_old_keys_and_names() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let old = OLD.replace("{path: rows.jsonl}", "{path: rows.jsonl, preprocess: multi_choice_standardizer}");
    workspace.write("old.yaml", &old);
    let ended = workspace.run(&["validate", "old.yaml"]).expect_code(2);
    for hint in [
        "`vllm` of gage-eval is `openai_http` here",
        "write `resource_requirement: {pool_size: N}` into the role",
        "it has no effect; leave it out",
    ] {
        assert!(ended.stderr.contains(hint), "{hint}\n{}", ended.stderr);
    }
    let new = old.replace("type: vllm", "type: openai_http").replace("model_path: small", "model: small");
    workspace.write("new.yaml", new.replace(", concurrency: 2", ""));
    let ended = workspace.run(&["validate", "new.yaml"]).expect_code(2);
    let hint = "`multi_choice_standardizer` of gage-eval is `multi_choice` here";
    assert!(ended.stderr.contains(hint), "{}", ended.stderr);
}

/// The example migration of the older program's design document, its four parts in one suite.
const MMMU: &str = "\
api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - dataset_id: mmmu_val_local
    loader: jsonl
    params:
      path: ${LOCAL_DATASETS_ROOT:-./local-datasets}/MMMU/mmmu_val_500.jsonl
      doc_to_visual: gage_eval.assets.datasets.converters.image_utils:embed_local_message_images
      doc_to_visual_kwargs:
        content_field: messages.0.content
role_adapters:
  - adapter_id: mmmu_qwen25_vl
    role_type: dut_model
    backend:
      type: vlm_transformers
      config:
        model_name_or_path: /mnt/model/qwen2_5_vl_3b
        dtype: bfloat16
        max_pixels: 12845056
    capabilities:
      - vision_chat
custom:
  steps: [{step: inference}, {step: auto_eval}]
metrics:
  - metric_id: mmmu_acc
    implementation: mmmu_accuracy
    params:
      label_field: sample.choices.0.message.content.0.text
      prediction_field: model_output.answer
";

/// Returns a row of the older program, with a picture in a file.
fn mmmu_row(number: usize, label: &str) -> Value {
    let question = format!("<image> Which letter is shown in picture {number}? A, B, C or D");
    json!({
        "id": format!("mmmu-{number}"),
        "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "pictures/pixel.png"}},
            {"type": "text", "text": question},
        ]}],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": [{"type": "text", "text": label}]}}],
    })
}

#[test]
fn mmmu_migration_example_runs_after_import() {
    let server = Server::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let parts = &body["messages"][0]["content"];
        let url = parts[0]["image_url"]["url"].as_str().unwrap_or_default().to_owned();
        assert!(url.starts_with("data:image/png;base64,"), "{body}");
        completion(if parts[1]["text"].to_string().contains("picture 0") {
            "The answer is B."
        } else {
            "(C)"
        })
    });
    let workspace = Workspace::new();
    let labels = ["B", "C", "D", "A"];
    let lines = labels.iter().enumerate().map(|(number, label)| format!("{}\n", mmmu_row(number, label)));
    workspace.write("local-datasets/MMMU/mmmu_val_500.jsonl", lines.collect::<String>());
    let picture = std::fs::read(repository().join("tests/datasets/image-qa/media/red-square.png"));
    workspace.write("local-datasets/MMMU/pictures/pixel.png", picture.expect("a picture"));
    workspace.write("mmmu.yaml", MMMU);
    let converted = workspace.run(&["import", "gage", "mmmu.yaml", "-o", "new.yaml"]).expect_code(0);
    assert!(converted.stderr.contains("vllm serve MODEL --dtype bfloat16"), "{}", converted.stderr);
    let address = [("GAGE_BASE_URL", format!("{}/v1", server.server.uri()))];
    let ended = workspace.run_with_env(address, &["run", "new.yaml", "--run-id", "r", "--json"]);
    let report = ended.expect_code(0).stdout_json();
    let metric = &report["summary"]["metrics"][0];
    assert_eq!((&metric["metric_id"], &metric["value"]), (&json!("mmmu_acc"), &json!(0.5)), "{report:#}");
}

/// Extractors for one metric leave the answers of the others as they were.
#[test]
fn metrics_of_a_task_keep_their_answers_after_import() {
    let server = Server::start(|_| completion("The answer is B"));
    let workspace = Workspace::new();
    let row = json!({"id": "q", "question": "Which?", "choices": ["one", "two"], "answer": 1});
    workspace.write("rows.jsonl", format!("{row}\n"));
    let old = OLD
        .replace("{path: rows.jsonl}", "{path: rows.jsonl, preprocess: multi_choice_standardizer}")
        .replace(
            "metrics: [exact_match]",
            "metrics: [mme_accuracy, mmlu_pro_accuracy, multi_choice_accuracy, text_length]",
        );
    workspace.write("old.yaml", old);
    let ended = workspace.run(&["import", "gage", "old.yaml", "-o", "new.yaml"]).expect_code(0);
    assert!(ended.stderr.contains("the metric reads the answer as it was written"), "{}", ended.stderr);
    let address = [("GAGE_BASE_URL", format!("{}/v1", server.server.uri()))];
    let ended = workspace.run_with_env(address, &["run", "new.yaml", "--run-id", "r"]);
    let figures = workspace.json("r", "summary.json")["metrics"].clone();
    let value = |metric: &str| {
        let figures = figures.as_array().expect("metrics");
        figures.iter().find(|one| one["metric_id"] == metric).map(|one| one["value"].clone())
    };
    for (metric, expected) in
        [("mmlu_pro_accuracy", 1.0), ("multi_choice_accuracy", 1.0), ("text_length", 15.0)]
    {
        assert_eq!(value(metric), Some(json!(expected)), "{metric}: {figures:#}\n{}", ended.stderr);
    }
    // Two metrics that need different extractors cannot share a task.
    let old = OLD.replace("metrics: [exact_match]", "metrics: [gsm8k_accuracy, math500_accuracy]");
    workspace.write("two.yaml", old);
    let ended = workspace.run(&["import", "gage", "two.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("this one needs other extractors"), "{}", ended.stderr);
}

/// A suite whose judge reads a field that no row has, and another that is a template with a value of a RunConfig.
#[test]
fn imports_without_work_are_valid() {
    let judged = OLD
        .replace("{path: rows.jsonl}", "{path: piqa.jsonl, preprocess: piqa_struct_only}")
        .replace(
            "role_adapters:\n",
            "prompts: [{prompt_id: grade, template: \"{{ sample.question }}{{ sample.get('note') }} \
             {{ sample.predict_result[0].message.content[0].text }}\"}]\nrole_adapters:\n  \
             - {adapter_id: judge, role_type: judge_model, backend_id: engine, prompt_id: grade}\n",
        )
        .replace("{step: inference}", "{step: inference}, {step: judge}")
        .replace("[exact_match]", "[judge_threshold]");
    let body = OLD.lines().skip(2).map(|line| format!("  {line}\n")).collect::<String>();
    let template = format!(
        "api_version: gage/v1alpha1\nkind: BuiltinTemplate\nmetadata: {{name: t}}\ndefinition:\n{body}  \
         tasks: [{{task_id: t, dataset_id: rows, max_samples: \"${{runtime.tasks.t.max_samples}}\"}}]\n\
         parameters: [{{name: runtime.datasets.rows, type: obj}}]\n"
    );
    for old in [judged, template] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(2));
        let row = json!({"id": "1", "goal": "dry it", "sol1": "towel", "sol2": "water", "label": 0});
        workspace.write("piqa.jsonl", format!("{row}\n"));
        workspace.write("old.yaml", &old);
        workspace.run(&["import", "gage", "old.yaml", "-o", "new.yaml"]).expect_code(0);
        workspace.run(&["validate", "new.yaml"]).expect_code(0);
    }
}

#[test]
fn all_images_of_a_document_are_sent_after_import() {
    let server = Server::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let parts = body["messages"][0]["content"].as_array().cloned().unwrap_or_default();
        let images = parts.iter().filter(|part| part["type"] == "image_url").count();
        completion(&format!("{images} images"))
    });
    let workspace = Workspace::new();
    let image = |name: &str| json!({"type": "image_url", "image_url": {"url": name}});
    let content = json!([image("one.png"), image("two.png"), {"type": "text", "text": "How many?"}]);
    let messages = json!([{"role": "user", "content": content}]);
    let row = json!({"id": "1", "question": "How many?", "answers": ["2 images"], "messages": messages});
    workspace.write("rows.jsonl", format!("{row}\n"));
    for (name, picture) in [("one.png", "red-square.png"), ("two.png", "blue-circle.png")] {
        let picture = std::fs::read(repository().join("tests/datasets/image-qa/media").join(picture));
        workspace.write(name, picture.expect("a picture"));
    }
    let params = "{path: rows.jsonl, preprocess: docvqa_image_standardizer, preprocess_kwargs: \
                  {content_field: messages.0.content}}";
    let old = OLD.replace("{path: rows.jsonl}", params).replace("[exact_match]", "[docvqa_anls]");
    workspace.write("old.yaml", old);
    workspace.run(&["import", "gage", "old.yaml", "-o", "new.yaml"]).expect_code(0);
    let address = [("GAGE_BASE_URL", format!("{}/v1", server.server.uri()))];
    let ended = workspace.run_with_env(address, &["run", "new.yaml", "--run-id", "r", "--json"]);
    let report = ended.expect_code(0).stdout_json();
    assert_eq!(report["summary"]["metrics"][0]["value"], 1.0, "{report:#}");
}

#[test]
fn old_options_have_hints() {
    let workspace = Workspace::new();
    for (arguments, hint) in [
        (vec!["run", "s.yaml", "--distill"], "gage-host distill SUITE --builtin-name NAME"),
        (vec!["run", "s.yaml", "--init-mode", "x"], "it is --mode of the command init"),
        (vec!["run", "s.yaml", "--gpus", "1"], "leave it out"),
    ] {
        let ended = workspace.run(&arguments).expect_code(2);
        assert!(ended.stderr.contains(hint), "{arguments:?}: {}", ended.stderr);
    }
}

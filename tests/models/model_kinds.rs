//! Suites that request something their model, or a layer above it, does not support; and figures that are not means.

use crate::gguf_file::{Setting, encoder, of_architecture, with_keys};
use crate::support::{Workspace, repository, rows, suite};
use serde_json::{Value, json};
use std::path::PathBuf;

fn tiny() -> PathBuf {
    repository().join("config/models/gage-tiny.gguf")
}

fn perplexity() -> String {
    repository().join("config/custom/tiny_perplexity.yaml").display().to_string()
}

#[test]
fn what_a_model_cannot_do_is_told_before_anything_is_asked() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    workspace.write("encoder.gguf", encoder());
    workspace.write("rank.gguf", with_keys(&tiny(), &[], &[("llama.pooling_type", Setting::Number(4))]));
    let model = |file: &str| format!("type: llama_cpp\n    config: {{model_path: ./{file}, slots: 1}}");
    let asks = |request: &str| format!("{{step: inference, request: {request}}}");
    let embeds = "{step: inference}, {step: embed, adapter_id: dut_too}";
    for (file, metric, steps, expected) in [
        ("encoder.gguf", "exact_match", asks("generate"), "(llama_cpp) cannot do `generate`"),
        ("encoder.gguf", "bits_per_byte", asks("rolling_loglikelihood"), "cannot do `rolling_loglikelihood`"),
        ("rank.gguf", "semantic_similarity", embeds.to_owned(), "(llama_cpp) has no embeddings"),
    ] {
        let text = suite(&model(file), &format!("[{metric}]")).replace("{step: inference}", &steps).replace(
            "role_adapters:\n",
            "role_adapters:\n  - {adapter_id: dut_too, role_type: helper_model, backend_id: model}\n",
        );
        workspace.write("suite.yaml", text);
        for command in [&["run", "suite.yaml", "--run-id", "r"][..], &["validate", "suite.yaml"]] {
            let ended = workspace.run(command).expect_code(2);
            assert!(ended.stderr.contains(expected), "{file}: {}", ended.stderr);
        }
        assert!(!workspace.path("runs/r").exists());
    }
}

/// Every command that inspects a file that is not a model refuses it with help.
#[test]
fn a_file_in_the_place_of_another_is_told_with_what_to_do() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let adapter = [("general.type", Setting::Text("adapter")), ("adapter.type", Setting::Text("lora"))];
    workspace.write("adapter.gguf", with_keys(&tiny(), &[], &adapter));
    workspace.write("new.gguf", of_architecture(&tiny(), "brandnew"));
    workspace.write("embed.gguf", of_architecture(&tiny(), "llama-embed"));
    let projector = repository().join("config/models/gage-tiny-mmproj.gguf").display().to_string();
    let tiny = tiny().display().to_string();
    for (config, expected) in [
        ("{model_path: ./adapter.gguf}".to_owned(), "name it as `lora: {path: …}`"),
        (format!("{{model_path: '{projector}'}}"), "name it as `mmproj`"),
        (format!("{{model_path: '{tiny}', mmproj: '{tiny}'}}"), "is not an image projector"),
        ("{model_path: ./new.gguf}".to_owned(), "unknown model architecture: 'brandnew'"),
        ("{model_path: ./embed.gguf}".to_owned(), "is an embedding model"),
    ] {
        workspace
            .write("suite.yaml", suite(&format!("type: llama_cpp\n    config: {config}"), "[exact_match]"));
        for command in [&["validate", "suite.yaml"][..], &["run", "suite.yaml", "--run-id", "r"]] {
            let ended = workspace.run(command).expect_code(2);
            assert!(ended.stderr.contains(expected), "{config} {command:?}: {}", ended.stderr);
        }
    }
    for (file, expected) in [
        ("adapter.gguf", "`lora: {path: …}`"),
        ("embed.gguf", "is an embedding model"),
        (&projector, "`mmproj`"),
    ] {
        let refused = workspace.run(&["model", "bench", file, "--repeats", "1"]).expect_code(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

/// A model aborted for lack of memory is reported; the log format of llama.cpp is not.
#[test]
fn less_memory_is_told_and_odd_logs_are_not() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let config = |settings: &str| {
        let model = tiny().display().to_string();
        format!("type: llama_cpp\n    config: {{model_path: '{model}'{settings}}}")
    };
    workspace.write("suite.yaml", suite(&config(", context_length: 16777216, slots: 64"), "[exact_match]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "large"]).expect_code(2);
    for slots in [64, 57, 44, 32] {
        let step = format!("does not fit with {slots} slots");
        assert!(ended.stderr.contains(&step), "{slots}: {}", ended.stderr);
    }
    workspace.write("suite.yaml", suite(&config(""), "[exact_match]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "well"]).expect_code(0);
    assert!(!ended.stderr.contains("CONT"), "{}", ended.stderr);
}

#[test]
fn files_that_are_missing_or_not_whole_are_refused_by_validate() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    workspace.write("text.gguf", "no adapter");
    let model = std::fs::read(tiny()).expect("the model");
    workspace.write("cut.gguf", &model[..500_000]);
    workspace.write("model.gguf", model);
    for (path, expected) in [
        ("./missing.gguf", "cannot be read"),
        ("./text.gguf", "is not a GGUF file"),
        ("./model.gguf", "is not an adapter"),
        ("hub:owner/name/lora.gguf", "an adapter must be a local file"),
    ] {
        let model = format!(
            "type: llama_cpp\n    config: {{model_path: '{}', lora: {{path: '{path}'}}}}",
            tiny().display()
        );
        workspace.write("suite.yaml", suite(&model, "[exact_match]"));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(
            ended.stderr.contains(expected) && ended.stderr.contains(path.trim_start_matches("./")),
            "{}",
            ended.stderr
        );
    }
    workspace
        .write("suite.yaml", suite("type: llama_cpp\n    config: {model_path: ./cut.gguf}", "[exact_match]"));
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("is cut off: it has 500000 bytes"), "{}", ended.stderr);
}

#[test]
fn inspect_says_what_a_file_is_made_for() {
    let workspace = Workspace::new();
    let with = |settings: &[(&str, Setting<'_>)]| with_keys(&tiny(), &[], settings);
    workspace.write("encoder.gguf", encoder());
    workspace.write("rank.gguf", with(&[("llama.pooling_type", Setting::Number(4))]));
    let adapter = [("general.type", Setting::Text("adapter")), ("adapter.type", Setting::Text("lora"))];
    workspace.write("adapter.gguf", with(&adapter));
    workspace.write("plain.gguf", with(&[]));
    for (file, purpose, expected) in [
        ("encoder.gguf", "encoder", "is an embedding model, which gives no answers"),
        ("rank.gguf", "reranker", "it gives texts a rank, and no vectors"),
        ("adapter.gguf", "adapter", "a LoRA adapter: use it as `lora`"),
        ("plain.gguf", "model", "256 tokens in training"),
    ] {
        let shown = workspace.run(&["model", "inspect", file]).expect_code(0);
        assert!(shown.stdout.contains(expected), "{}", shown.stdout);
        assert_eq!(shown.stdout.contains("what it is"), purpose != "model", "{}", shown.stdout);
        let json = workspace.run(&["model", "inspect", file, "--json"]).expect_code(0);
        let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
        assert_eq!(json["purpose"], purpose);
    }
}

#[test]
fn settings_for_gpus_are_told_to_have_no_effect() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let model = format!(
        "type: llama_cpp\n    config: {{model_path: '{}', gpu_layers: 4, main_gpu: 0, split_mode: none}}",
        tiny().display()
    );
    workspace.write("suite.yaml", suite(&model, "[exact_match]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]);
    assert!(
        ended.stderr.contains("`gpu_layers`, `main_gpu`, `split_mode` have no effect"),
        "{}",
        ended.stderr
    );
}

/// The perplexity of a corpus is not the mean over its texts, so neither the progress nor a plan shows one.
#[test]
fn a_perplexity_is_no_mean_of_scores() {
    let workspace = Workspace::new();
    let ended = workspace.run(&["run", &perplexity(), "--run-id", "r", "--progress", "json"]).expect_code(0);
    let objects: Vec<Value> =
        ended.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(objects.iter().any(|object| object["done"] == 12), "{}", ended.stderr);
    assert!(objects.iter().all(|object| object["score"].is_null()), "{}", ended.stderr);
    let events = workspace.read("runs/r/events.jsonl");
    let planned: Vec<Value> = events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["kind"] == "samples_planned")
        .collect();
    assert_eq!(planned[0]["payload"]["means"], json!([]), "{events}");
    let plan = workspace.run(&["plan", &perplexity()]).expect_code(0);
    assert!(!plan.stdout.contains("detects"), "{}", plan.stdout);
    let plan = workspace.run(&["plan", &perplexity(), "--json"]).expect_code(0);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    assert_eq!(plan["tasks"][0]["smallest_detectable_difference"], Value::Null);
}

/// `likelihood` gives the same as `model_output.rolling` for each text.
#[test]
fn the_likelihood_of_a_text_is_that_of_one_of_its_tokens() {
    let workspace = Workspace::new();
    let rolling = std::fs::read_to_string(perplexity()).expect("the suite");
    let folder = repository().join("config/custom").display().to_string();
    let (head, tail) = rolling.split_once("metrics:\n").expect("metrics");
    let tail = tail.split_once("\n\n").expect("an end").1;
    let metrics = "metrics:\n  - likelihood: {metric_type: ppl}\n\n";
    workspace.write("suite.yaml", format!("{head}{metrics}{tail}").replace("${config_dir}", &folder));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    assert_eq!(samples.len(), 12);
    for sample in &samples {
        let rolling = &sample["model_output"]["rolling"];
        let number = |key: &str| rolling[key].as_f64().expect("a number");
        let nll = -number("loglikelihood") / number("token_count");
        let card = &sample["metrics"][0]["card"];
        let expected = [
            ("nll", nll),
            ("ppl", nll.exp()),
            ("bits_per_byte", -number("loglikelihood") / (number("byte_count") * std::f64::consts::LN_2)),
        ];
        for (name, expected) in expected {
            let found = card["sub_scores"].as_object().and_then(|all| all[name].as_f64());
            assert!(found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9), "{name}: {card:#}");
        }
        assert_eq!(card["primary_score"], card["sub_scores"]["ppl"]);
    }
}

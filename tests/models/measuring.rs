//! Requests of a component to a role other than answers: the likelihood of texts, and their vectors. Also a component
//! built against the contract before these existed.

use crate::gguf_file::{Setting, of_architecture, with_keys};
use crate::support::{Workspace, repository};
use serde_json::{Value, json};

/// Returns the tiny model, configured to give the same bytes for the same text regardless of other requests in flight.
fn tiny() -> String {
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    format!(
        "type: llama_cpp\n    config: {{model_path: '{model}', context_length: 1024, deterministic: true}}"
    )
}

const SCRIPTED: &str =
    "type: custom_script\n    config: {component: ./scripted.wasm, config: {default: yes}}";

/// Returns a suite whose model is a component that asks the role `model`.
fn suite(component: &str, model: &str, budget: &str, config: &Value) -> String {
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
plugins:
  - id: asks
    source: ./{component}.wasm
    grants: {{llm: [{{role: model, {budget}}}]}}
datasets:
  - {{dataset_id: rows, loader: jsonl, params: {{path: rows.jsonl}}}}
backends:
  - backend_id: composed
    type: custom_script
    config: {{component: asks, config: {config}}}
  - backend_id: asked
    {model}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: composed}}
  - {{adapter_id: model, role_type: helper_model, backend_id: asked}}
metrics: [exact_match]
custom: {{steps: [{{step: inference}}, {{step: auto_eval}}]}}
"
    )
}

const ENOUGH: &str = "max_calls: 1000, max_tokens: 100000";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("measuring.wasm", gage_test_guests::MEASURING_BACKEND);
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    workspace
}

/// Returns the results of the measuring component for some lines.
fn measured(workspace: &Workspace, run_id: &str, suite: String, lines: &[&str]) -> Value {
    workspace.write(
        "rows.jsonl",
        json!({"id": "a", "question": lines.join("\n"), "answer": "any"}).to_string() + "\n",
    );
    workspace.write("suite.yaml", suite);
    workspace.run(&["run", "suite.yaml", "--run-id", run_id]).expect_code(0);
    let answer = workspace.samples(run_id)[0]["model_output"]["answer"].clone();
    serde_json::from_str(answer.as_str().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{answer}: {error}"))
}

fn numbers(vector: &Value) -> Vec<f64> {
    vector.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn cosine(one: &Value, other: &Value) -> f64 {
    let (one, other) = (numbers(one), numbers(other));
    let product =
        |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}

/// Runs the tiny model itself, over one row.
fn own_run(workspace: &Workspace, run_id: &str, row: &Value, metric: &str, steps: &str) -> Value {
    workspace.write("own.jsonl", row.to_string() + "\n");
    workspace.write(
        "own.yaml",
        format!(
            "api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{{dataset_id: rows, loader: jsonl, params: {{path: own.jsonl}}}}]
backends:
  - backend_id: tiny
    {}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: tiny, sampling_params: {{max_new_tokens: 8, temperature: 0}}}}
  - {{adapter_id: embedder, role_type: helper_model, backend_id: tiny}}
metrics: [{metric}]
custom: {{steps: [{steps}, {{step: auto_eval}}]}}
",
            tiny()
        ),
    );
    workspace.run(&["run", "own.yaml", "--run-id", run_id]).expect_code(0);
    workspace.samples(run_id)[0]["model_output"].clone()
}

#[test]
fn what_a_component_measures_is_what_the_run_itself_measures() {
    let workspace = workspace();
    let config = json!({"role": "model", "continuations": ["Paris", " seventeen or so"]});
    let question = "What is the capital of France?";
    let texts = ["The sea was calm.", question, "Größe: 3 €"];
    let suite = || suite("measuring", &tiny(), ENOUGH, &config);
    let found = measured(&workspace, "lines", suite(), &texts);

    for (place, text) in texts.iter().enumerate() {
        let row = json!({"id": "a", "text": text});
        let steps = "{step: inference, request: rolling_loglikelihood}";
        let own = own_run(&workspace, &format!("text{place}"), &row, "bits_per_byte", steps);
        let rolling = &own["rolling"];
        let expected = json!([rolling["loglikelihood"], rolling["token_count"], rolling["byte_count"]]);
        assert_eq!(found["rolling_loglikelihood"][place], expected, "{text}");
        assert_eq!(expected[2], text.len());
    }
    assert_eq!(found["rolling_loglikelihood_all"], found["rolling_loglikelihood"]);

    let options = json!([{"id": "A", "content": "Paris"}, {"id": "B", "content": " seventeen or so"}]);
    let message = json!([{"role": "user", "content": [{"type": "text", "text": question}]}]);
    let row =
        json!({"schema_version": "v1", "id": "a", "messages": message, "options": options, "label": "A"});
    let steps = "{step: inference, request: loglikelihood}";
    let own = own_run(&workspace, "options", &row, "loglikelihood_accuracy", steps);
    let scores: Vec<Value> = (0..2)
        .map(|place| {
            json!([own["continuations"][place]["logprob"], own["continuations"][place]["token_count"]])
        })
        .collect();
    assert_eq!(found["loglikelihood"][1], json!(scores));
    assert_eq!(found["loglikelihood_all"], found["loglikelihood"]);
    let steps = "{step: inference, request: loglikelihood, continuation_prefix: ' '}";
    let own = own_run(&workspace, "prefix", &row, "loglikelihood_accuracy", steps);
    assert_eq!(own["continuations"][0]["byte_count"], "Paris".len(), "the prefix is not counted");

    let row = json!({"id": "a", "question": question, "answer": "Lima"});
    let own = own_run(&workspace, "near", &row, "semantic_similarity", "{step: inference}, {step: embed}");
    let answer = own["answer"].as_str().expect("a text");
    let found = measured(&workspace, "vectors", suite(), &[answer, "Lima"]);
    let vectors = &found["embed"];
    let similarity = own["semantic"]["similarities"][0].as_f64().expect("a number");
    assert!((cosine(&vectors[0], &vectors[1]) - similarity).abs() < 1e-6, "{similarity} {answer}");
    assert!(similarity < 0.999_999, "two texts: {answer}");
    assert_eq!(json!([found["embed_all"][0][0], found["embed_all"][1][0]]), *vectors);
}

#[test]
fn what_is_measured_counts_and_what_cannot_be_is_told() {
    let workspace = workspace();
    let lines = ["One text.", "Another.", "", "The last."];
    let config = |way: &[&str]| json!({"role": "model", "continuations": ["x"], "ways": way});
    let used_up = |what: &str| json!({"error": "limit_exceeded", "message": format!("the budget of the role 'model' is used up: {what}")});
    for way in ["rolling_loglikelihood_all", "loglikelihood_all", "embed_all"] {
        let text = suite("measuring", &tiny(), "max_calls: 2, max_tokens: 100000", &config(&[way]));
        let found = &measured(&workspace, &format!("calls_{way}"), text, &lines)[way];
        assert!(found[0].is_array() && found[1].is_array(), "{way}: {found}");
        assert_eq!((&found[2], &found[3]), (&used_up("2 calls"), &used_up("2 calls")), "{way}");
    }
    for way in ["rolling_loglikelihood", "loglikelihood"] {
        let text = suite("measuring", &tiny(), "max_calls: 1000, max_tokens: 1", &config(&[way]));
        let found = &measured(&workspace, &format!("tokens_{way}"), text, &lines)[way];
        assert!(found[0].is_array(), "{way}: {found}");
        assert_eq!(found[1], used_up("1 tokens"), "{way}");
    }
    let text =
        suite("measuring", &tiny(), "max_calls: 1000, max_tokens: 1", &config(&["embed", "embed_all"]));
    let found = measured(&workspace, "tokens_embed", text, &["One text."]);
    assert_eq!((found["embed"][0].is_array(), &found["embed_all"][0]), (true, &used_up("1 tokens")));

    let found = measured(
        &workspace,
        "empty",
        suite("measuring", &tiny(), ENOUGH, &config(&["rolling_loglikelihood_all"])),
        &lines,
    );
    let found = &found["rolling_loglikelihood_all"];
    assert_eq!(found[2], json!({"error": "invalid_input", "message": "the text to score is empty"}));
    assert!(found[3].is_array(), "an error is one text's: {found}");

    let text = suite("measuring", SCRIPTED, ENOUGH, &config(&[]));
    let found = measured(&workspace, "without", text, &["One text."]);
    for (what, error) in [
        ("rolling_loglikelihood", &found["rolling_loglikelihood"][0]),
        ("rolling_loglikelihood_all", &found["rolling_loglikelihood_all"][0]),
        ("embed", &found["embed"]),
        ("embed_all", &found["embed_all"][0]),
    ] {
        assert_eq!(error["error"], "unsupported", "{what}: {found}");
        assert!(
            error["message"].as_str().is_some_and(|text| text.contains("custom_script has no ")),
            "{error}"
        );
    }
    assert_eq!(found["loglikelihood"][0], json!([[-2.0, 1]]), "what it has it gives: {found}");
    let text = suite("measuring", &tiny(), ENOUGH, &json!({"role": "dut", "ways": ["embed"]}));
    let found = measured(&workspace, "other", text, &["One text."]);
    assert_eq!(found["embed"]["message"], "the role 'dut' is not granted; granted are: model");
}

/// llama.cpp would give numbers for all of it.
#[test]
fn what_a_model_is_not_made_for_no_component_gets_from_it() {
    let workspace = workspace();
    let model = repository().join("config/models/gage-tiny.gguf");
    workspace.write("embed.gguf", of_architecture(&model, "llama-embed"));
    workspace.write("rank.gguf", with_keys(&model, &[], &[("llama.pooling_type", Setting::Number(4))]));
    let config = json!({"role": "model", "continuations": ["x"]});
    let found = |file: &str| {
        let model = format!("type: llama_cpp\n    config: {{model_path: ./{file}, slots: 1}}");
        measured(
            &workspace,
            file.trim_end_matches(".gguf"),
            suite("measuring", &model, ENOUGH, &config),
            &["A text."],
        )
    };
    let (encoder, reranker) = (found("embed.gguf"), found("rank.gguf"));
    for way in ["loglikelihood", "loglikelihood_all", "rolling_loglikelihood", "rolling_loglikelihood_all"] {
        assert_eq!(encoder[way][0]["error"], "unsupported", "{way}: {encoder}");
        assert!(reranker[way][0].is_array(), "{way}: {reranker}");
    }
    assert!(encoder["embed"][0].is_array(), "{encoder}");
    assert_eq!(reranker["embed"]["error"], "unsupported", "{reranker}");
    assert_eq!(reranker["embed_all"][0]["error"], "unsupported", "{reranker}");
}

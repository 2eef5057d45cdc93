//! The step `embed`: the similarity of answers and references, from the vectors of a server.

use crate::server::{Server, completion, question_number};
use crate::support::Workspace;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use wiremock::ResponseTemplate;

/// Rows with one, several and no references.
fn rows() -> String {
    [
        json!({"id": "same", "question": "question 0", "references": ["north"]}),
        json!({"id": "best", "question": "question 1", "references": ["south", " ", "north-east"]}),
        json!({"id": "none", "question": "question 2"}),
        json!({"id": "far", "question": "question 3", "answer": "south"}),
    ]
    .map(|row| row.to_string() + "\n")
    .concat()
}

/// Returns a suite whose model and whose embedding model are at the same server.
fn suite(server: &Server, embed: &str, more: &str) -> String {
    let uri = server.server.uri();
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{{dataset_id: rows, loader: jsonl, params: {{path: rows.jsonl}}}}]
backends:
  - {{backend_id: model, type: openai_http, config: {{base_url: '{uri}/v1', model: m}}}}
  - backend_id: vectors
    type: openai_http
    config: {{base_url: '{uri}/v1', model: compass, max_retries: 0}}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
  - {{adapter_id: embedder, role_type: helper_model, backend_id: vectors}}
metrics: [{{semantic_similarity: {{threshold: 0.5}}}}]
custom:
  score_outcomes: [empty_output]
  steps: [{{step: inference}}, {{step: embed{embed}}}, {{step: auto_eval}}]
{more}"
    )
}

/// Returns the vector of a text that names a direction.
fn vector(text: &str) -> Value {
    match text {
        "north" => json!([0.0, 1.0]),
        "north-east" => json!([1.0, 1.0]),
        "south" => json!([0.0, -2.0]),
        "nowhere" => json!([0.0, 0.0]),
        "flat" => json!([1.0]),
        _ => json!([1.0, 0.0]),
    }
}

/// Returns the reply to a request for embeddings.
fn embeddings_reply(request: &wiremock::Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body["model"], "compass");
    let texts = body["input"].as_array().cloned().unwrap_or_default();
    let data = texts
        .iter()
        .zip(0..)
        .map(|(text, index)| json!({"index": index, "embedding": vector(text.as_str().unwrap_or_default())}));
    let data: Vec<Value> = data.collect();
    ResponseTemplate::new(200)
        .set_body_json(json!({"data": data, "usage": {"prompt_tokens": 2 * texts.len()}}))
}

/// Starts a server that gives one answer to all questions, and embeds the names of directions.
fn server(answer: &'static str) -> Server {
    let server = Server::start(move |_| completion(answer));
    server.respond_at("/v1/embeddings", embeddings_reply);
    server
}

fn is_close(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() < 1e-6)
}

#[test]
fn similarities_are_recorded_and_rescored_without_a_model() {
    let (server, workspace) = (server("north"), Workspace::new());
    workspace.write("rows.jsonl", rows());
    workspace.write("suite.yaml", suite(&server, ", adapter_id: embedder", ""));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--record", "tape.zst"]);
    assert!(ended.code == Some(0) || ended.code == Some(4), "{}", ended.stderr);
    let samples = workspace.samples("r");
    let semantic = |place: usize| samples[place]["model_output"]["semantic"].clone();
    assert_eq!(semantic(0)["model"], "compass");
    assert!(is_close(&semantic(0)["similarities"][0], 1.0), "{}", semantic(0));
    let several = semantic(1)["similarities"].clone();
    assert!(
        is_close(&several[0], -1.0) && several[1].is_null() && is_close(&several[2], 0.5_f64.sqrt()),
        "{several}"
    );
    assert_eq!(semantic(1)["usage"]["prompt_tokens"], 6);
    assert_eq!(semantic(2), json!({"model": "compass", "similarities": [], "missing": "reference"}));
    assert!(!samples[0].to_string().contains("embedding\":"), "vectors are not kept");
    let card = |place: usize| samples[place]["metrics"][0]["card"].clone();
    assert!(is_close(&card(1)["primary_score"], 0.5_f64.sqrt()) && card(1)["pass"] == true, "{}", card(1));
    assert_eq!(
        (&card(1)["detail"]["reference"], &card(2)["error_tags"]),
        (&json!(2), &json!(["missing_reference"]))
    );
    assert!(is_close(&card(3)["primary_score"], -1.0) && card(3)["pass"] == false, "{}", card(3));
    // The run is rescored and verified from its records, and replayed without the server.
    let asked = server.requests();
    workspace.run(&["score", "runs/r", "--run-id", "again"]).expect_code(4);
    assert_eq!(workspace.read("runs/again/summary.json"), workspace.read("runs/r/summary.json"));
    workspace.run(&["verify", "r"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "played", "--replay", "tape.zst"]);
    assert_eq!(workspace.read("runs/played/samples.jsonl"), workspace.read("runs/r/samples.jsonl"));
    assert_eq!(server.requests(), asked);
    let manifest = workspace.json("r", "manifest.json");
    assert!(manifest["identity"]["backends"]["vectors"].is_object(), "{manifest:#}");
    let plan = workspace.run(&["plan", "suite.yaml", "--json"]).expect_code(0);
    assert!(plan.stdout.contains("\"embed\""), "{}", plan.stdout);
}

#[test]
fn empty_answer_is_scored_and_an_invalid_vector_fails() {
    for (answer, place, outcome, kind) in [
        ("", 0, "scored", Value::Null),
        ("nowhere", 0, "backend_error", json!("protocol")),
        ("flat", 0, "backend_error", json!("protocol")),
        ("north", 0, "invalid_sample", json!("no_text")),
        ("north", 0, "invalid_sample", json!("too_many_references")),
    ] {
        let (server, workspace) = (server(answer), Workspace::new());
        let fields = if kind == "no_text" { ", references_field: sample.messages.0" } else { "" };
        let many = json!({"id": "many", "question": "question 0", "references": vec!["north"; 257]});
        let is_many = kind == "too_many_references";
        workspace.write("rows.jsonl", if is_many { many.to_string() + "\n" } else { rows() });
        workspace.write("suite.yaml", suite(&server, fields, ""));
        workspace.run(&["run", "suite.yaml", "--run-id", "r", "--max-samples", "1"]);
        let sample = workspace.samples("r")[place].clone();
        assert_eq!(
            (&sample["outcome"], &sample["error"]["kind"]),
            (&json!(outcome), &kind),
            "{answer} {sample:#}"
        );
        if outcome == "scored" {
            let card = &sample["metrics"][0]["card"];
            assert_eq!(
                (&card["primary_score"], &card["error_tags"]),
                (&json!(0.0), &json!(["missing_prediction"]))
            );
        } else {
            assert_eq!(sample["error"]["stage"], "embed");
            let message = sample["error"]["message"].as_str().unwrap_or_default();
            assert_eq!(
                message.contains("257 references") && message.contains("at most 256"),
                is_many,
                "{message}"
            );
            assert_eq!(sample["model_output"]["answer"], answer, "what the model said is kept");
            // The usage of vectors that cannot be compared is in no record.
            let unrecorded = &workspace.json("r", "manifest.json")["unrecorded_usage"]["vectors"];
            let tokens = if answer == "nowhere" { json!(4) } else { Value::Null };
            assert_eq!(unrecorded["prompt_tokens"], tokens, "{answer}");
        }
    }
}

/// An answer is in the journal before its vectors are requested, so a resumed run requests only the vectors.
#[test]
fn failed_embedding_is_retried_without_the_model() {
    let (works, model_asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (open, counted) = (Arc::clone(&works), Arc::clone(&model_asked));
    let server = Server::start(move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        assert!(question_number(request) < 4);
        completion("north")
    });
    server.respond_at("/v1/embeddings", move |request| match open.load(Ordering::SeqCst) {
        true => embeddings_reply(request),
        false => ResponseTemplate::new(500),
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows());
    workspace.write("suite.yaml", suite(&server, "", ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert_eq!(workspace.samples("r")[0]["outcome"], "backend_error");
    works.store(true, Ordering::SeqCst);
    workspace.run(&["run", "suite.yaml", "--resume", "r"]);
    assert_eq!(model_asked.load(Ordering::SeqCst), 4, "the model was asked again");
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]);
    assert_eq!(workspace.read("runs/r/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

#[test]
fn invalid_embed_steps_are_refused_before_any_request() {
    let (server, workspace) = (server("north"), Workspace::new());
    workspace.write("rows.jsonl", rows());
    let whole = suite(&server, "", "");
    for (text, expected) in [
        (whole.replace("type: openai_http\n", "type: tgi\n"), "the backend `vectors` has no embeddings"),
        (whole.replace("{step: embed}, ", ""), "the task `rows` has no step `embed`"),
        (
            whole.replace("role_type: helper_model", "role_type: judge_model"),
            "`embed` needs a role adapter of the type `helper_model`",
        ),
        (whole.replace("step: embed}", "step: embed, adapter_id: dut}"), "`embed` cannot ask `dut`"),
        (
            whole.replace("step: embed}", "step: embed, prediction_field: answer}"),
            "must be a path that begins with `model_output.`",
        ),
        (
            whole.replace("step: embed}", "step: embed, prediction_field: model_output.parsed}"),
            "is not there yet",
        ),
        (
            whole.replace("step: embed}", "step: embed, references_field: model_output.answer}"),
            "must be a path that begins with `sample.`",
        ),
        (
            whole.replace(
                "backend_id: vectors}\n",
                "backend_id: vectors, prompt_id: p}\nprompts: [{prompt_id: p, template: x}]\n",
            ),
            "its `prompt_id` would not be used",
        ),
        (
            whole.replace("{step: inference}, {step: embed}", "{step: embed}, {step: inference}"),
            "`inference` must come before `embed`",
        ),
        (whole.replace("threshold: 0.5", "threshold: 1.5"), "must be a number from -1 to 1"),
    ] {
        assert_ne!(text, whole, "{expected}");
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{expected}\n{}", ended.stderr);
    }
    assert_eq!(server.requests(), 0);
}

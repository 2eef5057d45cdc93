//! Replies that are images, sound or video: stored in the run folder, and given to judges and metrics.

use crate::plugins::with_plugins;
use crate::server::{Server, completion};
use crate::support::{Workspace, judged_suite};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

/// A picture of one pixel, and a sound without samples, in Base64.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

fn reply(message: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }))
}

/// Starts a server that is both the model and the judge. The judge requires to see the picture of the answer.
fn server() -> Server {
    let picture =
        || json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PICTURE}")}});
    Server::start(move |request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let question = body["messages"].to_string();
        match () {
            () if body["model"] == "judge" => {
                let sees = question.contains("The media of the answer:") && question.contains(PICTURE);
                completion(if sees { "CORRECT: yes\nSCORE: 1.0" } else { "CORRECT: no\nSCORE: 0.0" })
            }
            () if question.contains("draw") => reply(&json!({"role": "assistant", "content": [picture()]})),
            () if question.contains("edit") => {
                reply(&json!({"role": "assistant", "content": "Done.", "images": [picture()]}))
            }
            () if question.contains("say") => reply(
                &json!({"role": "assistant", "content": null, "audio": {"data": SOUND, "transcript": "hello"}}),
            ),
            () if question.contains("film") => {
                let url = "https://example.org/film.mp4";
                reply(
                    &json!({"role": "assistant", "content": [{"type": "video_url", "video_url": {"url": url}}]}),
                )
            }
            () => {
                let url = "data:image/png;base64,A";
                reply(
                    &json!({"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": url}}]}),
                )
            }
        }
    })
}

fn workspace(questions: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("media.wasm", gage_test_guests::MEDIA_METRIC);
    let rows = questions.iter().map(|(id, task_type)| {
        let messages = json!([{"role": "user", "content": format!("{id} it")}]);
        json!({"schema_version": "v1", "id": id, "task_type": task_type, "messages": messages, "references": [{"answer": "x"}]})
            .to_string()
            + "\n"
    });
    workspace.write("rows.jsonl", rows.collect::<String>());
    workspace
}

fn suite_with(server: &Server, grants: &str, steps: &str, metrics: &str) -> String {
    let backend = |model: &str| server.backend("").replace("model: m", &format!("model: {model}"));
    let plugins = format!("  - {{id: media, source: ./media.wasm{grants}}}\n");
    with_plugins(&plugins, &judged_suite(&backend("m"), &backend("judge"), "", metrics, steps, ""))
}

const GRANT: &str = ", grants: {media: true}";
const STEPS: &str = "[{step: inference}, {step: judge, attempts: 1}, {step: auto_eval}]";
const METRICS: &str = "[judge_threshold, {metric_id: size, implementation: media}]";

/// Returns the score of a metric for each sample.
fn scores(workspace: &Workspace, run: &str, metric: &str) -> Vec<Value> {
    let score = |sample: &Value| {
        let metrics = sample["metrics"].as_array().cloned().unwrap_or_default();
        let found = metrics.into_iter().find(|one| one["metric_id"] == metric);
        found.map_or(Value::Null, |one| one["card"]["primary_score"].clone())
    };
    workspace.samples(run).iter().map(score).collect()
}

#[test]
fn media_of_replies_are_stored_judged_and_scored() {
    let server = server();
    let workspace = workspace(&[
        ("draw", "text-to-image"),
        ("edit", "image-to-image"),
        ("say", "text-to-audio"),
        ("film", "text-to-video"),
    ]);
    workspace.write("suite.yaml", suite_with(&server, GRANT, STEPS, METRICS));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert!(ended.stderr.contains("they are recorded as URLs, and not fetched"), "{}", ended.stderr);

    let samples = workspace.samples("r");
    let outputs: Vec<&Value> = samples.iter().map(|sample| &sample["model_output"]).collect();
    let answers: Vec<&Value> = outputs.iter().map(|output| &output["answer"]).collect();
    assert_eq!(answers, ["", "Done.", "hello", ""]);
    let media = &outputs[0]["media"][0];
    assert_eq!(
        (&media["type"], &media["media_type"], &media["bytes"]),
        (&json!("image_url"), &json!("image/png"), &json!(70))
    );
    let path = media["image_url"]["url"].as_str().expect("a path");
    assert_eq!(
        media["digest"],
        json!(format!("sha256:{}", &path["media/".len()..path.len() - ".png".len()]))
    );
    assert_eq!(outputs[1]["media"], outputs[0]["media"]);
    assert_eq!(outputs[2]["media"][0]["media_type"], "audio/wav");
    assert_eq!(outputs[3]["media"][0]["video_url"]["url"], "https://example.org/film.mp4");
    let files = std::fs::read_dir(workspace.path("runs/r/media")).expect("a folder");
    assert_eq!(files.count(), 2, "equal pictures are stored once");

    let size = json!(44.0);
    assert_eq!(scores(&workspace, "r", "size"), [json!(70.0), json!(70.0), size, json!(0.0)]);
    assert_eq!(samples[0]["metrics"][1]["card"]["detail"]["media"][0], "image/png \u{fffd}PNG");
    assert_eq!(scores(&workspace, "r", "judge_threshold"), [1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn stored_media_are_verified_and_scored_again() {
    let server = server();
    let workspace = workspace(&[("draw", "text-to-image"), ("say", "text-to-audio")]);
    workspace.write("suite.yaml", suite_with(&server, GRANT, STEPS, METRICS));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let verified = workspace.run(&["verify", "runs/r"]).expect_code(0);
    assert!(verified.stdout.contains("media: unchanged"), "{}", verified.stdout);

    // Runs made from the answers have their own copy.
    workspace.run(&["score", "runs/r", "--run-id", "scored"]).expect_code(0);
    workspace.run(&["score", "runs/r", "--judge", "judge", "--run-id", "judged"]).expect_code(0);
    std::fs::remove_dir_all(workspace.path("runs/r/media")).expect("removed");
    for run in ["scored", "judged"] {
        assert_eq!(scores(&workspace, run, "size"), [70.0, 44.0], "{run}");
        workspace.run(&["verify", &format!("runs/{run}")]).expect_code(0);
    }
    let verified = workspace.run(&["verify", "runs/r"]).expect_code(3);
    assert!(verified.stdout.contains("media: MISSING"), "{}", verified.stdout);
}

#[test]
fn damaged_media_and_missing_grants_are_errors() {
    let server = server();
    let workspace = workspace(&[("draw", "text-to-image"), ("break", "text-to-image")]);
    workspace.write("suite.yaml", suite_with(&server, GRANT, STEPS, METRICS));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let error = &workspace.samples("r")[1]["error"];
    assert_eq!(error["stage"], "inference");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("the media of the reply are damaged: "), "{message}");

    workspace.write("suite.yaml", suite_with(&server, "", STEPS, METRICS));
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("media: true"), "{}", ended.stderr);
}

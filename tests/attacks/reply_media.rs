//! Replies of models that name files of this machine as their media.

use crate::support::{Workspace, judged_suite, rows};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_load_server::{LoadServer, Reply, completion};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Content of a file that a model would like to be read. Its length is a multiple of 3, so its Base64 has no padding.
const CONTENT: &str = "content of a private file..";

/// Starts a server that is the model and its judge. Each reply of the model names these URLs as images. `received` gets the bodies
/// of all requests.
fn server(urls: &[String], received: &Arc<Mutex<String>>) -> LoadServer {
    let images = urls.iter().map(|url| json!({"type": "image_url", "image_url": {"url": url}}));
    let message = json!({"role": "assistant", "content": images.collect::<Vec<Value>>()});
    let choice = json!({"index": 0, "finish_reason": "stop", "message": message});
    let reply = json!({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let received = Arc::clone(received);
    let server = LoadServer::start(move |request| {
        let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
        received.push_str(&String::from_utf8_lossy(&request.body));
        match request.json()["model"] == "judge" {
            true => completion("CORRECT: yes\nSCORE: 1.0").into(),
            false => Reply::json(200, &reply).into(),
        }
    });
    server.expect("a server")
}

/// Returns the text of all files below a folder.
fn texts_below(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let text = |path: PathBuf| match path.is_dir() {
        true => texts_below(&path),
        false => String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned(),
    };
    entries.map(text).collect()
}

#[test]
fn files_that_replies_name_are_not_read() {
    let workspace = Workspace::new();
    let file = workspace.write("private.png", CONTENT).display().to_string();
    let urls = [
        format!("file://{file}"),
        file,
        "private.png".to_owned(),
        "../../private.png".to_owned(),
        "media/../../../private.png".to_owned(),
    ];
    let received = Arc::default();
    let server = server(&urls, &received);
    let backend = |model: &str| {
        format!(
            "type: openai_http\n    config: {{base_url: '{}/v1', model: {model}, max_retries: 0}}",
            server.url()
        )
    };
    workspace.write("rows.jsonl", rows(1));
    workspace.write("media.wasm", gage_test_guests::MEDIA_METRIC);
    let metrics = "[judge_threshold, {metric_id: size, implementation: media}]";
    let steps = "[{step: inference}, {step: judge, attempts: 1}, {step: auto_eval}]";
    let plugins = "plugins:\n  - {id: media, source: ./media.wasm, grants: {media: true}}\n";
    let suite = judged_suite(&backend("m"), &backend("judge"), "", metrics, steps, plugins);
    workspace.write("suite.yaml", suite);

    let mut output = String::new();
    for arguments in [
        "run suite.yaml --run-id r",
        "report r",
        "export r --format inspect",
        "export r --format lm-eval",
        "runs show r",
    ] {
        let ended = workspace.run(&arguments.split(' ').collect::<Vec<_>>()).expect_code(0);
        output.push_str(&ended.transcript());
    }
    assert!(output.contains("they are recorded as URLs, and not fetched"), "{output}");
    let media = &workspace.samples("r")[0]["model_output"]["media"];
    let recorded: Vec<&Value> =
        media.as_array().into_iter().flatten().map(|part| &part["image_url"]["url"]).collect();
    assert_eq!(recorded, urls.each_ref().map(String::as_str));
    assert!(!workspace.path("runs/r/media").exists(), "nothing was stored");
    output.push_str(&texts_below(&workspace.path("runs")));
    output.push_str(&received.lock().unwrap_or_else(PoisonError::into_inner));
    let encoded = STANDARD.encode(CONTENT);
    assert!(!output.contains(CONTENT) && !output.contains(&encoded), "{output}");
}

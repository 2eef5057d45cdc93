//! Questions about images, from the shipped suite to the figures.

use crate::support::{Workspace, repository, suite};
use serde_json::{Value, json};

fn pictures() -> String {
    repository().join("config/custom/tiny_pictures.yaml").display().to_string()
}

fn shipped(path: &str) -> String {
    repository().join("config").join(path).display().to_string()
}

#[test]
fn pictures_are_read_and_counted() {
    let workspace = Workspace::new();
    workspace.run(&["run", &pictures(), "--run-id", "process", "--quiet"]).expect_code(0);
    let counted = &workspace.json("process", "timings.json")["backends"]["tiny"];
    assert!(counted["images"].as_u64().is_some_and(|images| images > 40), "{counted}");
    // Every token of every prompt, including those of images, is either computed or reused.
    let samples = workspace.samples("process");
    let prompts =
        samples.iter().filter_map(|sample| sample["model_output"]["usage"]["prompt_tokens"].as_u64());
    let answers =
        samples.iter().filter_map(|sample| sample["model_output"]["usage"]["completion_tokens"].as_u64());
    let (prompts, answers) = (prompts.sum::<u64>(), answers.sum::<u64>());
    let of = |key: &str| counted[key].as_u64().expect("counted");
    assert_eq!(
        of("evaluated_tokens") + of("reused_tokens"),
        prompts + answers - samples.len() as u64,
        "{counted}"
    );
    let summary = workspace.json("process", "summary.json");
    let mean = summary["tasks"][0]["metrics"][0]["value"].as_f64();
    assert!(mean.is_some_and(|mean| mean >= 0.95), "{summary:#}");
    let manifest = workspace.json("process", "manifest.json");
    let text = manifest.to_string();
    assert!(text.contains("mmproj_digest") && text.contains("\"mmproj_projector\":\"mlp\""), "{text}");
}

/// Media that a model does not support are detected before any request if the first row has some.
#[test]
fn media_that_the_model_does_not_take_are_refused_or_typed() {
    let workspace = Workspace::new();
    let model = shipped("models/gage-tiny.gguf");
    let mmproj = shipped("models/gage-tiny-mmproj.gguf");
    let of = |further: &str| {
        let backend = format!("type: llama_cpp\n    config: {{model_path: {model}{further}}}");
        suite(&backend, "[exact_match]").replace("path: rows.jsonl", "path: rows.jsonl, max_invalid: 1")
    };
    let row = |id: &str, parts: Value| json!({"id": id, "messages": [{"role": "user", "content": parts}], "label": "54"});
    let text = json!({"type": "text", "text": "35?"});
    let picture = json!({"type": "image_url", "image_url": {"url": "19.png"}});
    let web = json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}});
    let sound = json!({"type": "audio_url", "audio_url": {"url": "https://example.org/a.wav"}});
    let rows = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    std::fs::copy(shipped("data/tiny/pictures/19-plus.png"), workspace.path("19.png")).expect("copied");
    let whole = [
        row("seen", json!([{"type": "text", "text": "What is "}, picture, text])),
        row("heard", json!([sound, text])),
        row("elsewhere", json!([web, text])),
    ];
    workspace.write("rows.jsonl", rows(&whole));
    let server = "type: tgi\n    config: {base_url: 'http://127.0.0.1:9'}";
    for (text, help) in [
        (of(""), "set `mmproj` of the backend"),
        (suite(server, "[exact_match]"), "use a backend that accepts such media"),
    ] {
        workspace.write("suite.yaml", text);
        for command in ["validate", "plan", "run"] {
            let refused = workspace.run(&[command, "suite.yaml"]).expect_code(2);
            let is_said = refused.stderr.contains("accepts text only") && refused.stderr.contains(help);
            assert!(is_said, "{command}: {}", refused.stderr);
        }
    }
    workspace.write("suite.yaml", of(&format!(", mmproj: {mmproj}")));
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--quiet"]);
    let samples = workspace.samples("r");
    let found: Vec<(&str, &str)> = samples
        .iter()
        .map(|sample| {
            (sample["outcome"].as_str().unwrap_or(""), sample["error"]["kind"].as_str().unwrap_or(""))
        })
        .collect();
    assert_eq!(
        found,
        [("scored", ""), ("invalid_sample", "media_unsupported"), ("backend_error", "unsupported")],
        "{samples:#?}"
    );
    assert_eq!(samples[0]["model_output"]["answer"], "54");
    // A suite whose first row is a sound is refused at once.
    workspace.write("rows.jsonl", rows(&[row("heard", json!([sound, text]))]));
    let refused = workspace.run(&["run", "suite.yaml", "--run-id", "s"]).expect_code(2);
    assert!(refused.stderr.contains("accepts text and images only"), "{}", refused.stderr);
    // A missing file is detected without a run.
    workspace.write("suite.yaml", of(", mmproj: nowhere.gguf"));
    let missing = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(missing.stderr.contains("nowhere.gguf"), "{}", missing.stderr);
}

#[test]
fn a_projector_is_inspected_as_what_it_is() {
    let workspace = Workspace::new();
    let file = shipped("models/gage-tiny-mmproj.gguf");
    let shown = workspace.run(&["model", "inspect", &file]).expect_code(0).stdout;
    assert!(shown.contains("an image projector") && shown.contains("mlp"), "{shown}");
    let report = workspace.run(&["model", "inspect", &file, "--json"]).expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(
        report["projector"],
        json!({"type": "mlp", "image_size": 16, "patch_size": 8, "embedding_length": 128})
    );
}

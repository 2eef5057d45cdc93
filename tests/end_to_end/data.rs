//! Datasets: every task type, every loader, and invalid rows.

use crate::hub_server::{Fault, HubServer};
use crate::scripted_backend::constant_backend;
use crate::server::{Server, completion};
use crate::support::{Workspace, repository, rows, suite};
use serde_json::{Value, json};

/// The datasets of the tests: a task type, its loader, and the file of its rows.
const DATASETS: [(&str, &str, &str); 13] = [
    ("multiple-choice", "jsonl", "samples.jsonl"),
    ("short-answer", "csv", "samples.csv"),
    ("dialogue", "json", "samples.json"),
    ("audio-translation", "jsonl", "samples.jsonl"),
    ("image-qa", "jsonl", "samples.jsonl"),
    ("video-qa", "jsonl", "samples.jsonl"),
    ("doc-qa", "jsonl", "samples.jsonl"),
    ("text-to-image", "jsonl", "samples.jsonl"),
    ("image-to-image", "jsonl", "samples.jsonl"),
    ("text-to-audio", "jsonl", "samples.jsonl"),
    ("text-to-video", "jsonl", "samples.jsonl"),
    ("code-generation", "jsonl", "samples.jsonl"),
    ("agent", "jsonl", "samples.jsonl"),
];

/// Returns a suite over some datasets, with one task for each.
fn suite_with_datasets(datasets: &[(&str, String)], backend: &str) -> String {
    let listed: String =
        datasets.iter().map(|(id, keys)| format!("  - {{dataset_id: {id}, {keys}}}\n")).collect();
    let tasks: String =
        datasets.iter().map(|(id, _)| format!("  - {{task_id: {id}, dataset_id: {id}}}\n")).collect();
    format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\ndatasets:\n{listed}backends:\n  - backend_id: model\n    {backend}\n\
         role_adapters:\n  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}\nmetrics: [exact_match]\n\
         custom:\n  steps: [{{step: inference}}, {{step: auto_eval}}]\ntasks:\n{tasks}"
    )
}

/// Two integers with the same nearest float stay different labels, in JSON Lines and in a JSON array.
#[test]
fn whole_numbers_of_any_length_keep_their_digits() {
    let workspace = Workspace::new();
    let (one, other) = ("12345678901234567890123", "12345678901234567890124");
    let row = |answer: &str| format!("{{\"question\": \"q\", \"answer\": {answer}}}");
    workspace.write("rows.jsonl", format!("{}\n{}\n", row(one), row(other)));
    workspace.write("rows.json", format!("[{}, {}]", row(one), row(other)));
    for file in ["rows.jsonl", "rows.json"] {
        let shown = workspace.run(&["data", "preview", file, "--json"]).expect_code(0);
        for label in [one, other] {
            assert!(shown.stdout.contains(&format!("\"label\":\"{label}\"")), "{file}\n{}", shown.stdout);
        }
    }
}

#[test]
fn every_task_type_is_shown_validated_and_run() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("an answer"));
    let folder = repository().join("tests/datasets");
    let datasets: Vec<(&str, String)> = DATASETS
        .iter()
        .map(|(id, loader, file)| {
            let path = folder.join(id).join(file);
            (*id, format!("loader: {loader}, params: {{path: '{}'}}", path.display()))
        })
        .collect();
    workspace.write("suite.yaml", suite_with_datasets(&datasets, &server.backend("")));

    let report = workspace.run(&["data", "validate", "suite.yaml", "--json"]).expect_code(0);
    let report = report.stdout_json();
    let counts = |key: &str| -> Vec<u64> {
        let datasets = report["datasets"].as_array().expect("a list");
        datasets.iter().map(|one| one[key].as_u64().expect("a number")).collect()
    };
    assert_eq!(counts("samples"), [6, 5, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4]);
    assert_eq!(counts("invalid"), [0; 13]);

    for (id, _, _) in DATASETS {
        let lines =
            workspace.run(&["data", "preview", "suite.yaml", "--dataset", id, "--json"]).expect_code(0);
        let samples: Vec<Value> =
            lines.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(samples.len(), 3);
        assert!(samples.iter().any(|sample| sample["task_type"] == id), "{id}: {samples:?}");
        let shown = workspace.run(&["data", "preview", "suite.yaml", "--dataset", id]).expect_code(0);
        assert!(shown.stdout.contains("user"), "{}", shown.stdout);
    }

    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    assert_eq!(samples.len(), 56);
    assert!(samples.iter().all(|sample| sample["outcome"] == "scored"), "{samples:?}");
    // Local media reach the server as data URLs, and nothing else does.
    let bodies = server.bodies();
    let images = bodies
        .iter()
        .flat_map(|body| body["messages"].as_array().expect("a list"))
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let urls: Vec<String> = images
        .filter_map(|part| Some(part["image_url"]["url"].as_str()?.chars().take(22).collect()))
        .collect();
    assert!(urls.len() >= 8 && urls.iter().all(|url| url == "data:image/png;base64,"), "{urls:?}");
    let agent = bodies.iter().filter(|body| body.get("tools").is_some()).count();
    assert_eq!(agent, 4, "tools reach the server");
}

#[test]
fn invalid_row_is_recorded_and_reported() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("answer 1"));
    let mut lines: Vec<String> = rows(10).lines().map(str::to_owned).collect();
    lines[6] = "{\"id\": \"q6\", \"question\": oops}".to_owned();
    workspace.write("rows.jsonl", lines.join("\n"));
    let text = suite(&server.backend(""), "[exact_match]");
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", "path: rows.jsonl, max_invalid: 0.2"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--set", "tasks=null"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let sample = &workspace.samples("r")[6];
    assert_eq!((&sample["outcome"], &sample["error"]["stage"]), (&json!("invalid_sample"), &json!("load")));
    let message = sample["error"]["message"].as_str().expect("a message");
    assert!(message.starts_with("line 7 of rows.jsonl: ") && message.contains("column"), "{message}");
    assert!(workspace.read("runs/r/events.jsonl").contains("line 7 of rows.jsonl"), "events");
    let summary = workspace.json("r", "summary.json");
    assert_eq!(summary["samples"]["outcomes"]["invalid_sample"], 1, "{summary}");

    let report = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(0);
    insta::assert_snapshot!("data_validate_broken", report.stdout);
    let strict = workspace.run(&["data", "validate", "rows.jsonl"]).expect_code(4);
    assert!(strict.stdout.contains("not valid: 1 invalid"), "{}", strict.stdout);
}

#[test]
fn validate_reports_rows_that_no_model_could_be_asked() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("answer 1"));
    let row = |extra: Value| {
        let mut row = json!({"id": "x", "question": "q", "answer": "answer 1"});
        row.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        row.to_string()
    };
    let lines = [
        row(json!({"sampling_params": {"temperature": 0.5}})),
        row(json!({"sampling_params": {"temperature": -1}})),
        row(json!({"sampling_params": {"tempreture": 1}})),
        row(json!({"generation_params": {"max_new_tokens": 0, "width": 640}})),
        row(json!({"id": ["x"]})),
        row(json!({"id": true})),
    ];
    workspace.write("rows.jsonl", lines.join("\n"));
    let text = suite(&server.backend(""), "[exact_match]");
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", "path: rows.jsonl, max_invalid: 1"));
    let found = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(0).stdout;
    for (line, expected) in [
        (2, "/sampling_params/temperature: expected a number from 0 to 100, found -1"),
        (3, "/sampling_params/tempreture: unknown sampling parameter; did you mean `temperature`?"),
        (4, "/generation_params/max_new_tokens: expected a whole number from 1 to"),
        (5, "/id: "),
        (6, "/id: "),
    ] {
        assert!(found.contains(&format!("line {line} of rows.jsonl: {expected}")), "{expected}: {found}");
    }
    assert!(found.contains("(in the Sample that the preprocessor `default` made)"), "{found}");
    let run = ["run", "suite.yaml", "--run-id", "r"];
    workspace.run(&run).expect_code(4);
    let outcomes: Vec<Value> =
        workspace.samples("r").iter().map(|sample| sample["outcome"].clone()).collect();
    assert_eq!(outcomes[0], "scored");
    assert!(outcomes[1..].iter().all(|outcome| outcome == "invalid_sample"), "{outcomes:?}");
    assert_eq!(server.requests(), 1);
}

#[test]
fn invalid_row_gets_a_unique_id() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("a"));
    let lines = [
        r#"{"id": "left out", "question": "q", "answer": "a", "level": 1}"#,
        r#"{"id": "row-2", "question": "q", "answer": "a", "level": 2}"#,
        r#"{"id": "no question", "level": 2}"#,
        r#"{"id": "row-2", "question": "another", "answer": "a", "level": 2}"#,
    ];
    workspace.write("rows.jsonl", lines.join("\n"));
    let text = suite(&server.backend(""), "[exact_match]");
    let keys = "path: rows.jsonl, max_invalid: 1, filter: {level: 2}";
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", keys));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let ids: Vec<Value> = workspace.samples("r").iter().map(|sample| sample["sample_id"].clone()).collect();
    assert_eq!(ids, ["row-2", "row-2#2", "row-2#3"]);
}

#[test]
fn too_many_invalid_rows_end_the_run() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("answer 1"));
    let mut text = rows(400);
    for number in 0..50 {
        text.insert_str(0, &format!("broken {number}\n"));
    }
    workspace.write("rows.jsonl", text);
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "cap"]).expect_code(4);
    assert!(
        ended.stderr.contains(
            "23 of the first 23 rows of `rows` are invalid (100.0 %); 5.0 % is allowed (max_invalid)"
        ),
        "{}",
        ended.stderr
    );
    assert_eq!(server.requests(), 0, "nothing is asked if the run cannot succeed");
    let first = ["run", "suite.yaml", "--run-id", "first", "--set", "datasets.rows.params.on_invalid=error"];
    let ended = workspace.run(&first).expect_code(4);
    assert!(ended.stderr.contains("(on_invalid: error): line 1 of rows.jsonl"), "{}", ended.stderr);
}

#[test]
fn the_same_rows_come_from_every_format() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("a0"));
    let rows: Vec<Value> = (0..6)
        .map(|n| json!({"id": format!("q{n}"), "question": format!("Q{n}"), "answer": format!("a{n}")}))
        .collect();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    workspace.write("rows.jsonl", &lines);
    workspace.write("rows.json", json!({"data": {"rows": rows}}).to_string());
    let table = |between: &str| {
        let line = |row: &Value| {
            format!(
                "{}{between}{}{between}{}\n",
                row["id"].as_str().unwrap_or_default(),
                row["question"].as_str().unwrap_or_default(),
                row["answer"].as_str().unwrap_or_default()
            )
        };
        format!("id{between}question{between}answer\n{}", rows.iter().map(line).collect::<String>())
    };
    workspace.write("rows.csv", table(","));
    workspace.write("rows.tsv", table("\t"));
    let datasets = [
        ("jsonl", "loader: jsonl, params: {path: rows.jsonl, shuffle: true, seed: 7, limit: 4}".to_owned()),
        ("json", "loader: json, params: {path: rows.json, records: data.rows, shuffle: true, seed: 7, limit: 4}".to_owned()),
        ("csv", "loader: csv, params: {path: rows.csv, shuffle: true, seed: 7, limit: 4}".to_owned()),
        ("tsv", "loader: tsv, params: {path: rows.tsv, shuffle: true, seed: 7, limit: 4}".to_owned()),
        ("two", "loader: jsonl, params: {path: [rows.jsonl, rows.jsonl], filter: {id: [q1, q2]}, exclude: {answer: a2}}".to_owned()),
    ];
    workspace.write("suite.yaml", suite_with_datasets(&datasets, &server.backend("")));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    let ids = |task: &str| -> Vec<&str> {
        let of_task = samples.iter().filter(|sample| sample["task_id"] == task);
        of_task.map(|sample| sample["sample_id"].as_str().expect("an id")).collect()
    };
    assert_eq!(ids("jsonl").len(), 4);
    for other in ["json", "csv", "tsv"] {
        assert_eq!(ids(other), ids("jsonl"), "{other}");
    }
    assert_eq!(ids("two"), ["q1", "q1#2"]);
    assert!(ended.stderr.contains("two: the dataset's filter left out 10 rows"), "{}", ended.stderr);
}

#[test]
fn preprocessors_are_chained_and_hooks_inherit_parameters() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("x"));
    std::fs::create_dir_all(workspace.path("data/pictures")).expect("a folder");
    let picture = repository().join("tests/datasets/image-qa/media/red-square.png");
    std::fs::copy(picture, workspace.path("data/pictures/a.png")).expect("copied");
    workspace.write(
        "data/rows.jsonl",
        "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"What?\"},{\"role\":\"assistant\",\"content\":\"red\"}],\"metadata\":{\"shot\":\"pictures/a.png\"}}\n",
    );
    let keys = "loader: jsonl, params: {path: data/rows.jsonl, preprocess: [strip_assistant, {name: default, kwargs: {instruction: Be brief.}}], \
                doc_to_visual: visual_from_field, doc_to_visual_kwargs: {fields: [metadata.shot]}}";
    workspace.write("suite.yaml", suite_with_datasets(&[("d", keys.to_owned())], &server.backend("")));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let body = &server.bodies()[0];
    let content = &body["messages"][0]["content"];
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(1), "{body}");
    assert!(
        content[0]["image_url"]["url"].as_str().is_some_and(|url| url.starts_with("data:image/png")),
        "{body}"
    );
    assert_eq!(content[1]["text"], "What?\n\nBe brief.");
    let sample = &workspace.samples("r")[0]["sample"];
    assert_eq!(sample["label"], "red");
    assert_eq!(sample["inputs"]["multi_modal_data"]["image"], json!(["data/pictures/a.png"]));
    assert_eq!(sample["_media_meta"]["images"][0]["media_type"], "image/png");
    let journal = workspace.read("runs/r/journal/000001.jsonl");
    assert!(journal.contains(r#""_dataset_metadata":{"path":"data/rows.jsonl","row":0}"#), "{journal}");

    let wrong = suite_with_datasets(
        &[(
            "d",
            "loader: jsonl, params: {path: data/rows.jsonl, preprocess: multi_choise, doc_to_visual: visual_from_feild, doc_to_text: visual_from_field}".to_owned(),
        )],
        &server.backend(""),
    );
    workspace.write("wrong.yaml", wrong);
    let ended = workspace.run(&["validate", "wrong.yaml"]).expect_code(2);
    insta::assert_snapshot!("data_unknown_names", ended.stderr);
    workspace.write(
        "kwarg.yaml",
        suite_with_datasets(
            &[("d", "loader: jsonl, params: {path: data/rows.jsonl, preprocess: default, preprocess_kwargs: {instructoin: x}}".to_owned())],
            &server.backend(""),
        ),
    );
    let ended = workspace.run(&["validate", "kwarg.yaml"]).expect_code(2);
    insta::assert_snapshot!("data_unknown_kwarg", ended.stderr);
}

#[test]
fn doc_hook_sets_the_text_and_its_errors_name_hook_and_row() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("x"));
    workspace.write("rows.jsonl", "{\"id\":\"a\",\"question\":\"old\",\"answer\":\"x\",\"asked\":\"new\"}\n");
    let keys = "loader: jsonl, params: {path: rows.jsonl, doc_to_text: text_from_field, doc_to_text_kwargs: {field: metadata.asked}}";
    workspace.write("suite.yaml", suite_with_datasets(&[("d", keys.to_owned())], &server.backend("")));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(server.bodies()[0]["messages"], json!([{"role": "user", "content": "new"}]));

    let keys = "loader: jsonl, params: {path: rows.jsonl, doc_to_visual: visual_from_field, \
                doc_to_visual_kwargs: {fields: [metadata.picture], required: true}}";
    workspace.write("suite.yaml", suite_with_datasets(&[("d", keys.to_owned())], &server.backend("")));
    let ended = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(4);
    assert!(
        ended.stdout.contains("line 1 of rows.jsonl: the doc hook `visual_from_field`: ")
            && ended.stdout.contains("metadata.picture"),
        "{}",
        ended.stdout
    );
    let keys = "loader: jsonl, params: {path: rows.jsonl, preprocess: gsm8k}";
    workspace.write("suite.yaml", suite_with_datasets(&[("d", keys.to_owned())], &server.backend("")));
    let ended = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(4);
    assert!(
        ended.stdout.contains("line 1 of rows.jsonl: the preprocessor `gsm8k`: field 'answer'"),
        "{}",
        ended.stdout
    );
}

#[test]
fn unusable_media_give_typed_errors() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("x"));
    let picture =
        std::fs::read(repository().join("tests/datasets/image-qa/media/red-square.png")).expect("a file");
    workspace.write("d/cut.png", &picture[..picture.len() / 2]);
    workspace.write("d/text.png", "no picture at all");
    workspace.write("d/good.png", &picture);
    // The header of an image of 50,000 x 50,000 pixels, without the pixels.
    let header =
        [b"IHDR".as_slice(), &50_000_u32.to_be_bytes(), &50_000_u32.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let checked = [header.as_slice(), &crc32fast::hash(&header).to_be_bytes()].concat();
    let bomb = [&picture[..8], &13_u32.to_be_bytes(), checked.as_slice(), &picture[33..]].concat();
    workspace.write("d/bomb.png", bomb);
    let urls = ["missing.png", "cut.png", "text.png", "bomb.png", "../../etc/passwd", "good.png"];
    let lines: String = urls
        .iter()
        .map(|url| {
            let content =
                json!([{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "?"}]);
            format!(
                "{}\n",
                json!({"id": url, "messages": [{"role": "user", "content": content}], "answer": "x"})
            )
        })
        .collect();
    workspace.write("d/rows.jsonl", lines);
    let keys = "loader: jsonl, params: {path: d/rows.jsonl, max_invalid: 1}".to_owned();
    workspace.write("suite.yaml", suite_with_datasets(&[("d", keys)], &server.backend("")));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let ends: Vec<(String, String)> = workspace
        .samples("r")
        .iter()
        .map(|sample| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&sample["outcome"]), text(&sample["error"]["kind"]))
        })
        .collect();
    let ends: Vec<(&str, &str)> = ends.iter().map(|(one, two)| (one.as_str(), two.as_str())).collect();
    assert_eq!(
        ends,
        [
            ("invalid_sample", "media_missing"),
            ("invalid_sample", "media_truncated"),
            ("invalid_sample", "media_type"),
            ("invalid_sample", "media_too_large"),
            ("invalid_sample", "media_outside_root"),
            ("scored", ""),
        ]
    );
    let outside = workspace.samples("r")[4]["error"]["message"].to_string();
    assert!(outside.contains("content_root"), "{outside}");
}

#[test]
fn prompt_rendered_by_a_tokenizer_is_not_rendered_again() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("x"));
    server.respond_at("/v1/completions", |_| {
        wiremock::ResponseTemplate::new(200)
            .set_body_json(json!({"choices": [{"index": 0, "finish_reason": "stop", "text": "answer 0"}]}))
    });
    let template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
    workspace.write(
        "model/tokenizer_config.json",
        json!({"chat_template": template, "bos_token": "<s>"}).to_string(),
    );
    workspace.write("rows.jsonl", rows(1));
    let keys = "loader: jsonl, params: {path: rows.jsonl, tokenizer_config: model}".to_owned();
    workspace.write("suite.yaml", suite_with_datasets(&[("d", keys)], &server.backend("")));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let is_chat = |body: &Value| body.get("messages").is_some();
    assert!(!server.bodies().iter().any(is_chat), "the chat API would apply a template of its own");
    let sample = &workspace.samples("r")[0];
    assert_eq!(sample["sample"]["inputs"]["prompt"], "<s>[user]question 0[assistant]");
    let flags = ["chat_template_mode", "rendered_by", "template_source", "cache_suffix", "_tokenizer_path"];
    let flags: Vec<&str> = flags.iter().filter_map(|flag| sample["sample"][flag].as_str()).collect();
    assert_eq!(
        flags,
        ["preprocess", "preprocess", "tokenizer", "-chat_template", "model/tokenizer_config.json"]
    );
    assert_eq!(sample["metrics"][0]["card"]["primary_score"], 1.0, "{sample}");
}

#[test]
fn prompt_template_keeps_media_and_must_not_render_empty() {
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("red"));
    let path = repository().join("tests/datasets/image-qa/samples.jsonl");
    let keys = format!("loader: jsonl, params: {{path: '{}', limit: 1}}", path.display());
    let text = suite_with_datasets(&[("d", keys.clone())], &server.backend(""))
        .replace("backend_id: model}", "backend_id: model, prompt_id: p}")
        .replace("metrics:", "prompts: [{prompt_id: p, template: 'Colour?'}]\nmetrics:");
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let content = server.bodies()[0]["messages"][0]["content"].clone();
    assert!(
        content[0]["image_url"]["url"].as_str().is_some_and(|url| url.starts_with("data:image/png")),
        "{content}"
    );
    assert_eq!(content[1]["text"], "Colour?");

    workspace.write("model/tokenizer_config.json", json!({"chat_template": "{{ nothing }}"}).to_string());
    let keys = keys.replace("limit: 1", "limit: 1, tokenizer_config: model");
    workspace.write("empty.yaml", suite_with_datasets(&[("d", keys)], &server.backend("")));
    let ended = workspace.run(&["data", "validate", "empty.yaml"]).expect_code(4);
    assert!(ended.stdout.contains("the chat template rendered an empty text"), "{}", ended.stdout);
}

#[test]
fn hub_dataset_is_downloaded_resumed_and_pinned() {
    const COMMIT: &str = "0123456789012345678901234567890123456789";
    let workspace = Workspace::new();
    let server = Server::start(|_| completion("answer 1"));
    let hub = HubServer::start();
    hub.commit("team/questions", "main", COMMIT);
    let (train, test) = (rows(2_000), rows(3));
    hub.large_file("team/questions", "data/train.jsonl", train.as_bytes());
    hub.file("team/questions", "data/test.jsonl", test.as_bytes());
    let keys = |split: &str| {
        format!(
            "loader: hf_hub, params: {{hub_id: team/questions, split: {split}, endpoint: '{}'}}",
            hub.endpoint()
        )
    };
    workspace.write("suite.yaml", suite_with_datasets(&[("train", keys("train"))], &server.backend("")));
    let run =
        |arguments: &[&str]| workspace.run_with_env([("XDG_CACHE_HOME", workspace.path("cache"))], arguments);

    // The download is cut off, and the server fails until the retries are exhausted.
    hub.fault("data/train.jsonl", Fault::CutAfter(30_000));
    for _ in 0..5 {
        hub.fault("data/train.jsonl", Fault::Status(503, vec![("retry-after", "0".to_owned())]));
    }
    let ended = run(&["data", "validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("503"), "{}", ended.stderr);
    let before = hub.seen_of("data/train.jsonl").len();
    let ended = run(&["data", "validate", "suite.yaml"]).expect_code(0);
    assert!(ended.stdout.contains("2,000 rows"), "{}", ended.stdout);
    let resumed = &hub.seen_of("data/train.jsonl")[before..];
    assert!(
        resumed.iter().any(|seen| seen.headers.get("range").is_some_and(|range| range == "bytes=30000-"))
    );
    assert!(resumed.iter().all(|seen| seen.sent <= train.len() - 30_000), "only the rest is sent");

    // The same dataset without the hub.
    workspace.write("test.yaml", suite_with_datasets(&[("test", keys("test"))], &server.backend("")));
    run(&["data", "stats", "test.yaml", "--json"]).expect_code(0);
    let asked = hub.seen().len();
    run(&["run", "test.yaml", "--run-id", "r", "--offline"]).expect_code(0);
    assert_eq!(hub.seen().len(), asked, "nothing is asked for");
    let manifest = workspace.json("r", "manifest.json");
    assert_eq!(manifest["identity"]["datasets"]["test"]["commit"], COMMIT);
    let journal = workspace.read("runs/r/journal/000001.jsonl");
    assert!(journal.contains(&format!(r#""path":"team/questions (split test) at {COMMIT}""#)), "{journal}");

    let pinned = keys("test").replace("hub_id", &format!("sha256: {}, hub_id", "0".repeat(64)));
    workspace.write("pinned.yaml", suite_with_datasets(&[("test", pinned)], &server.backend("")));
    let ended = run(&["run", "pinned.yaml", "--offline"]).expect_code(2);
    assert!(ended.stderr.contains("sha256 mismatch for"), "{}", ended.stderr);

    let unknown = keys("tset");
    workspace.write("unknown.yaml", suite_with_datasets(&[("test", unknown)], &server.backend("")));
    let ended = run(&["data", "preview", "unknown.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("train") && ended.stderr.contains("test"), "{}", ended.stderr);
}

#[test]
fn data_stats_and_preview_describe_a_dataset() {
    let workspace = Workspace::new();
    let lines = [
        json!({"id": "a", "question": "2 + 2?", "answer": "4", "data_tag": {"topic": ["sums", "easy"]}}),
        json!({"id": "b", "question": "3 + 3?", "answer": "6", "data_tag": {"topic": "sums"}}),
        json!({"id": "c", "question": "2 + 2?", "answer": "4"}),
        json!({"id": "c", "question": "What is the capital of France?", "answer": "Paris"}),
    ];
    workspace.write("rows.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let stats = workspace.run(&["data", "stats", "rows.jsonl"]).expect_code(0);
    insta::assert_snapshot!("data_stats", stats.stdout);
    let shown = workspace.run(&["data", "preview", "rows.jsonl", "--max-samples", "2"]).expect_code(0);
    insta::assert_snapshot!("data_preview", shown.stdout);
    let schema = workspace.run(&["schema", "sample"]).expect_code(0);
    let schema = schema.stdout_json();
    assert!(schema["properties"]["messages"].is_object());
    let long = json!({"id": "long", "question": "x".repeat(100_000), "answer": "y"});
    workspace.write("long.jsonl", format!("{long}\n{{\"question\": \"q\"}}\n{long}\n"));
    let stats = workspace.run(&["data", "stats", "--json", "long.jsonl"]).expect_code(0);
    let stats = stats.stdout_json();
    let median = stats["datasets"][0]["numbers"]["prompt_characters"]["median"].as_u64().expect("a number");
    assert!((99_900..=100_100).contains(&median), "{stats}");
    let ended = workspace.run(&["data", "preview", "rows.txt"]).expect_code(2);
    assert!(ended.stderr.contains("--loader"), "{}", ended.stderr);
}

#[test]
fn truncated_dataset_leaves_a_run_with_the_rows_before() {
    let workspace = Workspace::new();
    workspace.write("rows.csv", "id,question,answer\na,1?,1\nb,2?,2\nc,\"3?,3\nd,4?,4\n");
    let backend = constant_backend(&workspace, "1");
    workspace.write(
        "suite.yaml",
        suite(&backend, "[exact_match]").replace("jsonl", "csv").replace("rows.csvl", "rows.csv"),
    );
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(2);
    assert!(ended.stderr.contains("a quoted field that begins in line 4 does not end"), "{}", ended.stderr);
    assert_eq!(workspace.json("r", "manifest.json")["status"], "incomplete");
    assert_eq!(workspace.samples("r").len(), 2);
    let checked = workspace.run(&["data", "validate", "rows.csv"]).expect_code(2);
    assert!(checked.stdout.contains("2 rows from"), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("not valid: the data could not be read to its end"),
        "{}",
        checked.stdout
    );
}

#[test]
fn filter_that_keeps_no_row_is_an_error() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(20));
    let backend = constant_backend(&workspace, "1");
    let text =
        suite(&backend, "[exact_match]").replace("path: rows.jsonl", "path: rows.jsonl, filter: {id: none}");
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert!(ended.stderr.contains("there are no samples, so there is no figure"), "{}", ended.stderr);
    let checked = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(4);
    assert!(checked.stdout.contains("not valid: there are no rows"), "{}", checked.stdout);
}

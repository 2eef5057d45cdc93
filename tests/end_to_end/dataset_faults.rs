//! Errors in datasets and in prompts made of them are found as early as possible and reported with their position.

use crate::files::files_below;
use crate::hub_server::{Fault, HubServer};
use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, repository, rows, suite};
use serde_json::{Value, json};
use std::sync::{Arc, Barrier};

/// Creates a workspace with some rows and a suite whose model has a prompt template.
fn workspace_with_prompt(server: &Server, count: usize, template: &str, extra: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(count));
    let text = suite(&server.backend(""), "[exact_match]")
        .replace("backend_id: model}", "backend_id: model, prompt_id: ask}")
        .replace("path: rows.jsonl", &format!("path: rows.jsonl{extra}"))
        .replace(
            "metrics:",
            &format!("prompts:\n  - prompt_id: ask\n    template: {}\nmetrics:", json!(template)),
        );
    workspace.write("suite.yaml", text);
    workspace
}

#[test]
fn unknown_template_filter_is_found_before_any_request() {
    let server = Server::start(|_| completion("x"));
    let template = "Think.\n{% if sample.hard %}{{ sample.id|uper }}{% endif %}{% include 'rules.txt' %}";
    let workspace = workspace_with_prompt(&server, 2, template, "");
    for command in
        [&["validate"][..], &["plan"], &["lock"], &["run"], &["data", "validate"], &["data", "preview"]]
    {
        let ended = workspace.run(&[command, &["suite.yaml"]].concat()).expect_code(2);
        for expected in [
            "line 2 of the template `ask`: there is no filter `uper`; did you mean `upper`?",
            "line 2 of the template `ask`: there is no template `rules.txt`",
            "--> suite.yaml:",
        ] {
            assert!(ended.stderr.contains(expected), "{command:?}: {}", ended.stderr);
        }
    }
    assert_eq!(server.requests(), 0);
    assert!(!workspace.path("runs").exists());
}

#[test]
fn broken_chat_template_is_found_before_the_run() {
    let server = Server::start(|_| completion("x"));
    let workspace = workspace_with_prompt(&server, 2, "a", ", tokenizer_config: model");
    let template = "{% for m in messages %}\n{{ m.content|trimm }}{% endfor %}";
    workspace.write("model/tokenizer_config.json", json!({"chat_template": template}).to_string());
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    let expected = "the chat template of model/tokenizer_config.json cannot be compiled: line 2: there is no filter \
                    `trimm`; did you mean `trim`?";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

#[test]
fn samples_found_invalid_late_count_towards_max_invalid() {
    let server = Server::start(|_| completion("answer 1"));
    // One of the rows that are examined before the run can be rendered.
    let template = "{% if row.question.endswith('5') %}{{ row.question }}{% else %}{{ {}.hint }}{% endif %}";
    // Two of 40 rows may be invalid.
    let workspace = workspace_with_prompt(&server, 40, template, "");
    let run = ["run", "suite.yaml", "--run-id", "r", "--set", "custom.mode=sequential"];
    let ended = workspace.run(&run).expect_code(4);
    for expected in ["3 of the first ", "5.0 % is allowed (max_invalid). The first: row 1 of rows.jsonl: "] {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    assert!(ended.stderr.contains("undefined"), "{}", ended.stderr);
    let recorded = workspace.samples("r");
    assert_eq!(recorded.len(), 3, "one more than is allowed, and none after it");
    assert!(recorded.iter().all(|sample| sample["outcome"] == "invalid_sample"), "{recorded:?}");
    assert!(workspace.read("runs/r/events.jsonl").contains("too_many_invalid"));
    // Invalid rows of an earlier process count too.
    let ended = workspace.run(&[&run[..], &["--resume"]].concat()).expect_code(4);
    assert!(ended.stderr.contains("3 of the first 3 rows of `rows` are invalid"), "{}", ended.stderr);
    assert_eq!(workspace.samples("r").len(), 3);

    let strict = workspace_with_prompt(&server, 40, template, ", on_invalid: error");
    let ended = strict.run(&run).expect_code(4);
    assert!(ended.stderr.contains("(on_invalid: error): row 1 of rows.jsonl: "), "{}", ended.stderr);
    assert_eq!(strict.samples("r").len(), 1);

    let lenient = workspace_with_prompt(&server, 40, template, ", max_invalid: 1");
    lenient.run(&run).expect_code(4);
    assert_eq!(lenient.samples("r").len(), 40);
    assert_eq!(server.requests(), 4);
}

#[test]
fn filter_on_an_unknown_field_gives_a_warning() {
    let server = Server::start(|_| completion("answer 1"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(3));
    let with = |keys: &str| {
        let text = suite(&server.backend(""), "[exact_match]");
        workspace.write("suite.yaml", text.replace("path: rows.jsonl", &format!("path: rows.jsonl, {keys}")));
    };
    with("exclude: {anser: answer 1}");
    let warning = "warning: rows: none of the 3 rows that were read has a field `anser`, which `exclude` names: it leaves out nothing; did you mean `answer`?";
    let ended = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(0);
    assert_eq!(ended.stderr.matches(warning).count(), 1, "{}", ended.stderr);
    let ended = workspace.run(&["data", "validate", "suite.yaml", "--json"]).expect_code(0);
    let report = ended.stdout_json();
    assert_eq!(report["datasets"][0]["warnings"].as_array().map(Vec::len), Some(1), "{report}");
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(ended.stderr.matches("did you mean `answer`?").count(), 1, "{}", ended.stderr);
    assert!(workspace.read("runs/r/events.jsonl").contains("missing_field"));

    with("filter: {subject: law}");
    let ended = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(4);
    assert!(ended.stderr.contains("it keeps nothing; there are: id, question, answer"), "{}", ended.stderr);
    // A field that some rows have, and one that must be missing, give no warning.
    with("filter: {flag: null}, exclude: {answer: [answer 0, answer 7]}");
    let ended = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
}

#[test]
fn error_in_a_dataset_points_at_its_key() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(3));
    workspace.write("rows", "0\n1\n");
    for (keys, key) in [
        ("      labels_path: nowhere.lst", "labels_path"),
        // Its name is a prefix of that of the rows.
        ("      labels_path: rows", "labels_path"),
        ("      content_root: nowhere", "content_root"),
        ("      preprocess: docvqa\n      preprocess_kwargs:\n        content_root: nowhere", "content_root"),
        ("      media:\n        factor: 28\n        max_pixels: 100", "max_pixels"),
        ("      media:\n        max_pixels: 100\n        min_pixels: 200", "min_pixels"),
        ("      media:\n        allowed_roots: [nowhere]", "allowed_roots"),
    ] {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\ndatasets:\n  - dataset_id: d\n    loader: jsonl\n    params:\n      path: rows.jsonl\n{keys}\n"
        );
        let line = text.lines().position(|line| line.trim_start().starts_with(&format!("{key}:")));
        workspace.write("suite.yaml", &text);
        let ended = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(2);
        let place = format!("--> suite.yaml:{}:", line.expect("a line") + 1);
        assert!(ended.stderr.contains(&place), "{keys}: expected {place} in {}", ended.stderr);
    }
}

#[test]
fn error_in_a_hub_selection_points_at_its_key() {
    let hub = HubServer::start();
    hub.commit("team/questions", "main", "0123456789012345678901234567890123456789");
    for file in ["one/train.jsonl", "one/test.jsonl", "two/test.jsonl"] {
        hub.file("team/questions", file, rows(2).as_bytes());
    }
    let workspace = Workspace::new();
    for (keys, key) in [
        ("      subset: three", "subset"),
        ("      subset: one\n      split: tset", "split"),
        ("      data_files: ['*.parquet']", "data_files"),
        ("      subset: two\n      revision: v7", "revision"),
        ("      split: test", "hub_id"),
    ] {
        let endpoint = hub.endpoint();
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\ndatasets:\n  - dataset_id: d\n    loader: hf_hub\n    params:\n      endpoint: '{endpoint}'\n      hub_id: team/questions\n{keys}\n"
        );
        let line = text.lines().position(|line| line.trim_start().starts_with(&format!("{key}:")));
        workspace.write("suite.yaml", &text);
        let cache = [("GAGE_CACHE_DIR", workspace.path("cache"))];
        let ended = workspace.run_with_env(cache, &["data", "validate", "suite.yaml"]).expect_code(2);
        let place = format!("--> suite.yaml:{}:", line.expect("a line") + 1);
        assert!(ended.stderr.contains(&place), "{keys}: expected {place} in {}", ended.stderr);
    }
}

#[test]
fn text_that_is_too_large_a_number_needs_quotes() {
    let workspace = Workspace::new();
    for (revision, is_refused) in [("1234567e890", true), ("'1234567e890'", false), ("1234567e89", false)] {
        let text = format!(
            "datasets:\n  - dataset_id: d\n    loader: hf_hub\n    params: {{hub_id: a/b, revision: {revision}}}\n\
             model: openai:m@http://127.0.0.1:9/v1\nmetrics: [exact_match]\n"
        );
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(if is_refused { 2 } else { 0 });
        for expected in
            ["error: the number 1234567e890 is too large", "help: write it in quotes if it is a text"]
        {
            assert_eq!(ended.stderr.contains(expected), is_refused, "{revision}: {}", ended.stderr);
        }
    }
}

#[test]
fn preprocessor_with_invalid_output_fails_its_cases() {
    let workspace = Workspace::new();
    let preprocess = gage_plugin_bundle::COMPONENTS.iter().find(|one| one.name == "preprocess");
    workspace.write("preprocess.wasm", preprocess.expect("it ships").bytes);
    let sample = |extra: Value| {
        let mut sample = json!({"schema_version": "v1", "id": "a", "messages": [{"role": "user", "content": "q"}], "references": []});
        sample.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        sample
    };
    let case = |row: &Value, extra: Value| {
        let mut case = json!({"member": "default", "row": row});
        case.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        case.to_string()
    };
    let cold = sample(json!({"sampling_params": {"temperature": -1}}));
    let nested = sample(json!({"few_shot_examples": [{"messages": [], "few_shot_examples": []}]}));
    workspace.write(
        "cases.jsonl",
        [
            case(&sample(json!({})), json!({"expected": {"id": "a"}})),
            case(&cold, json!({"expected": {"id": "a"}})),
            case(&cold, json!({"expected_error": "invalid_sample"})),
            case(&nested, json!({"expected": {}})),
            case(&nested, json!({"expected": {"id": "a"}, "intermediate": true})),
        ]
        .join("\n"),
    );
    let ended =
        workspace.run(&["plugin", "test", "preprocess.wasm", "--cases", "cases.jsonl"]).expect_code(4);
    for expected in [
        "failed  cases.jsonl:2\n        found the error invalid_sample: /sampling_params/temperature: expected a number from 0 to 100, found -1\n",
        "failed  cases.jsonl:4\n        found the error invalid_sample: /few_shot_examples/0",
        "3 of 5 cases passed",
    ] {
        assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn images_of_a_hub_dataset_are_downloaded_once() {
    let hub = HubServer::start();
    hub.commit("team/pictures", "main", "0123456789012345678901234567890123456789");
    let picture =
        std::fs::read(repository().join("tests/datasets/image-qa/media/red-square.png")).expect("a file");
    let row = |id: &str, url: &str| {
        let content =
            json!([{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "?"}]);
        format!(
            "{}\n",
            json!({"id": id, "messages": [{"role": "user", "content": content}], "answer": "red"})
        )
    };
    let rows = [
        row("beside", "pictures/a.png"),
        row("again", "x/../pictures/a.png"),
        row("elsewhere", "../shared/b.png"),
        row("nowhere", "none.png"),
        row("outside", "../../../../../../etc/passwd"),
    ];
    hub.file("team/pictures", "data/train.jsonl", rows.concat().as_bytes());
    for path in ["data/pictures/a.png", "shared/c.png"] {
        hub.file("team/pictures", path, picture.as_slice());
    }
    hub.large_file("team/pictures", "shared/b.png", picture.as_slice());

    let server = Server::start(|_| completion("red"));
    let workspace = Workspace::new();
    let text = suite(&server.backend(""), "[exact_match]").replace("loader: jsonl", "loader: hf_hub");
    let keys = format!("hub_id: team/pictures, endpoint: '{}', max_invalid: 1", hub.endpoint());
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", &keys));
    let run = |arguments: &[&str], cache: &str| {
        workspace.run_with_env([("GAGE_CACHE_DIR", workspace.path(cache))], arguments)
    };
    let kinds = |ended: CommandOutput| -> Vec<(String, u64)> {
        let report: Value = serde_json::from_str(&ended.expect_code(0).stdout).expect("JSON");
        let reasons = report["datasets"][0]["reasons"].as_array().cloned().unwrap_or_default();
        let mut kinds: Vec<(String, u64)> = reasons
            .iter()
            .map(|reason| {
                (
                    reason["kind"].as_str().unwrap_or_default().to_owned(),
                    reason["count"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        kinds.sort();
        kinds
    };
    let of = |kinds: &[(&str, u64)]| {
        kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect::<Vec<_>>()
    };
    let validate = ["data", "validate", "suite.yaml", "--json"];
    // Only files that rows name are downloaded, each once.
    assert_eq!(kinds(run(&validate, "cache")), of(&[("media_missing", 1), ("media_outside_root", 1)]));
    assert_eq!(hub.seen_of("data/pictures/a.png").len(), 1);
    assert!(!hub.seen().iter().any(|seen| seen.target.contains("c.png")));
    // The hub is not needed from then on.
    let asked = hub.seen().len();
    run(&["run", "suite.yaml", "--run-id", "r", "--offline"], "cache");
    assert_eq!(hub.seen().len(), asked);
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 3);
    let has_image = |body: &Value| body.to_string().contains("data:image/png;base64,");
    assert!(bodies.iter().all(has_image), "{bodies:?}");
    let sample = &workspace.samples("r")[1]["sample"];
    assert_eq!(sample["inputs"]["multi_modal_data"]["image"], json!(["team/pictures/data/pictures/a.png"]));

    // A changed file is downloaded again, and is not used if that is impossible.
    let mut files = files_below(&workspace.path("cache/datasets")).into_iter();
    let cached = files.find(|file| file.ends_with("a.png")).expect("it is cached");
    std::fs::write(&cached, &picture[..picture.len() - 1]).expect("written");
    let offline = ["data", "validate", "suite.yaml", "--json", "--offline"];
    let damaged = of(&[("media_missing", 1), ("media_outside_root", 1), ("media_unreadable", 2)]);
    assert_eq!(kinds(run(&offline, "cache")), damaged);
    assert_eq!(kinds(run(&validate, "cache")), of(&[("media_missing", 1), ("media_outside_root", 1)]));
    assert_eq!(std::fs::read(&cached).expect("a file"), picture);

    // Requests to a failing hub are retried as for the rows, and no further file is requested after that.
    for _ in 0..5 {
        // Both files are requested at the same time.
        for path in ["data/pictures/a.png", "shared/b.png"] {
            hub.fault(path, Fault::Status(503, vec![("retry-after", "0".to_owned())]));
        }
    }
    let failed = of(&[("media_missing", 1), ("media_outside_root", 1), ("media_unreadable", 3)]);
    assert_eq!(kinds(run(&validate, "other")), failed);
}

/// Starts a hub with a dataset whose rows each name an image, and a workspace with a suite over it.
fn hub_with_images(count: usize, backend: &str) -> (HubServer, Workspace) {
    let hub = HubServer::start();
    hub.commit("team/pictures", "main", "0123456789012345678901234567890123456789");
    let picture = std::fs::read(repository().join("tests/datasets/image-qa/media/red-square.png"));
    let picture = picture.expect("a file");
    let mut rows = String::new();
    for number in 0..count {
        let url = format!("{number}.png");
        let content = json!([{"type": "image_url", "image_url": {"url": url}}]);
        let row =
            json!({"id": url, "messages": [{"role": "user", "content": content}], "answer": "answer 0"});
        rows += &format!("{row}\n");
        hub.file("team/pictures", &url, picture.as_slice());
    }
    hub.file("team/pictures", "train.jsonl", rows);
    let workspace = Workspace::new();
    let text = suite(backend, "[exact_match]").replace("loader: jsonl", "loader: hf_hub");
    let keys = format!("hub_id: team/pictures, endpoint: '{}'", hub.endpoint());
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", &keys));
    (hub, workspace)
}

#[test]
fn images_of_a_hub_dataset_are_downloaded_concurrently() {
    let server = Server::start(|_| completion("answer 0"));
    let (hub, workspace) = hub_with_images(6, &server.backend(""));
    let barrier = Arc::new(Barrier::new(4));
    for number in 0..4 {
        hub.fault(&format!("{number}.png"), Fault::Hold(vec![Arc::clone(&barrier)]));
    }
    // None of the four is sent before all were requested.
    let ended = workspace.run(&["data", "validate", "suite.yaml", "--json"]).expect_code(0);
    let report = ended.stdout_json();
    assert_eq!(report["datasets"][0]["samples"], 6, "{report}");
}

#[cfg(unix)]
#[test]
fn interrupt_does_not_wait_for_images_of_a_hub() {
    let server = Server::start(|_| completion("answer 0"));
    let (hub, workspace) = hub_with_images(6, &server.backend(""));
    let (asked, over) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    hub.fault("3.png", Fault::Hold(vec![Arc::clone(&asked), Arc::clone(&over)]));
    let run = ["run", "suite.yaml", "--run-id", "r"];
    let child = workspace.start(&run);
    asked.wait();
    let ended = CommandOutput::interrupt(child).expect_code(130);
    assert!(ended.stderr.contains("--run-id r --resume"), "{}", ended.stderr);
    over.wait();
    workspace.run(&[&run[..], &["--resume"]].concat()).expect_code(0);
    let samples = workspace.samples("r");
    assert_eq!(samples.len(), 6);
    assert!(samples.iter().all(|sample| sample["outcome"] == "scored"), "{samples:?}");
}

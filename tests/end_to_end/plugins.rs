//! The section `plugins`: refusals, grants, and the limits of grants.

use crate::contract_versions::with_text;
use crate::files::texts_below;
use crate::scripted_backend::constant_backend;
use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, rows, suite};
use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

/// Returns a suite with a section `plugins`.
pub(crate) fn with_plugins(plugins: &str, suite: &str) -> String {
    suite.replacen("datasets:", &format!("plugins:\n{plugins}datasets:"), 1)
}

/// Returns a transcript without the parts that differ between builds.
fn normalized_transcript(workspace: &Workspace, ended: &CommandOutput) -> String {
    let folder = workspace.path("").display().to_string();
    let text = ended.transcript().replace(&folder, "[folder]/");
    let mut filtered = String::new();
    let mut rest = text.as_str();
    // Digests and offsets depend on the compiler.
    while let Some(place) = rest.find(|one: char| one.is_ascii_hexdigit()) {
        let length = rest[place..].find(|one: char| !one.is_ascii_hexdigit()).unwrap_or(rest.len() - place);
        filtered.push_str(&rest[..place]);
        filtered.push_str(match length {
            64 => "(digest)",
            _ if filtered.ends_with("at offset 0x") => "(offset)",
            _ => &rest[place..place + length],
        });
        rest = &rest[place + length..];
    }
    filtered + rest
}

#[test]
fn unusable_plugins_are_refused_with_advice() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("recall2.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("http_model.wasm", gage_test_guests::HTTP_MODEL);
    workspace.write("module.wasm", b"\0asm\x01\0\0\0");
    workspace.write("cut.wasm", &gage_test_guests::BARE_WORD_RECALL[..5000]);
    workspace.write("machine.wasm", b"\x7fELF\x02\x01\x01\0");
    workspace.write("empty.wasm", b"");
    workspace.write("text.wasm", b"(component)");
    let ours = format!("@{}", gage_plugin::WIT_VERSION);
    workspace.write("other.wasm", with_text(gage_test_guests::BARE_WORD_RECALL, &ours, "@0.2.0"));
    let model = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9', model: m}";
    let entry = |extra: &str| format!("  - {{id: mine, source: ./recall.wasm{extra}}}\n");
    let zeros = "0".repeat(64);
    let cases: Vec<(&str, String, &str)> = vec![
        ("another_file", entry(&format!(", sha256: {zeros}")), "[word_recall]"),
        ("no_digest", entry(", sha256: abc"), "[word_recall]"),
        ("unknown_key", entry(", grant: {}"), "[word_recall]"),
        ("unknown_limit", entry(", limits: {fuel: 3}"), "[word_recall]"),
        ("limit_out_of_bounds", entry(", limits: {memory_mib: 0}"), "[word_recall]"),
        ("params_of_the_schema", entry(""), "[mine#word_recall: {case_sensitive: 3}]"),
        ("no_such_member", entry(""), "['mine#recall']"),
        ("no_such_plugin", entry(""), "['others#word_recall']"),
        ("same_id_twice", entry("") + &entry(""), "[word_recall]"),
        ("two_plugins_of_one_name", entry("") + "  - {id: yours, source: ./recall2.wasm}\n", "[word_recall]"),
        ("without_a_grant", "  - {id: mine, source: ./http_model.wasm}\n".to_owned(), "[exact_match]"),
        ("grant_of_a_pattern", entry(", grants: {http: [{host: '*.example.com'}]}"), "[word_recall]"),
        (
            "secret_in_the_suite",
            entry(", grants: {http: [{host: a.example}], secrets: ['sk-1 2']}"),
            "[word_recall]",
        ),
        ("secret_without_host", entry(", grants: {secrets: [KEY]}"), "[word_recall]"),
        (
            "secret_that_is_not_set",
            entry(", grants: {http: [{host: a.example}], secrets: [GAGE_NOT_SET]}"),
            "[word_recall]",
        ),
        (
            "unknown_role",
            entry(", grants: {llm: [{role: hleper, max_calls: 1, max_tokens: 1}]}"),
            "[word_recall]",
        ),
        ("no_budget", entry(", grants: {llm: [{role: dut}]}"), "[word_recall]"),
        ("a_module", "  - {id: mine, source: ./module.wasm}\n".to_owned(), "[exact_match]"),
        ("cut_off", "  - {id: mine, source: ./cut.wasm}\n".to_owned(), "[exact_match]"),
        ("machine_code", "  - {id: mine, source: ./machine.wasm}\n".to_owned(), "[exact_match]"),
        ("empty", "  - {id: mine, source: ./empty.wasm}\n".to_owned(), "[exact_match]"),
        ("text", "  - {id: mine, source: ./text.wasm}\n".to_owned(), "[exact_match]"),
        ("another_contract", "  - {id: mine, source: ./other.wasm}\n".to_owned(), "[exact_match]"),
        (
            "not_loaded_but_used",
            "  - {id: mine, source: ./missing.wasm}\n".to_owned(),
            "['mine#word_recall', mine]",
        ),
        ("missing", "  - {id: mine, source: ./missing.wasm}\n".to_owned(), "[exact_match]"),
        ("class_path", "  - {id: mine, source: 'my_pkg.metrics:Recall'}\n".to_owned(), "[exact_match]"),
        ("python_file", "  - {id: mine, source: ./recall.py}\n".to_owned(), "[exact_match]"),
        ("class_path_of_a_metric", String::new(), "['my_pkg.metrics:Recall']"),
        ("another_kind", "  - {id: mine, source: preprocess}\n".to_owned(), "[mine]"),
    ];
    for (name, plugins, metrics) in cases {
        let plain = suite(model, metrics);
        let text = if plugins.is_empty() { plain } else { with_plugins(&plugins, &plain) };
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        insta::assert_snapshot!(format!("plugins_{name}"), normalized_transcript(&workspace, &ended));
    }
}

#[test]
fn component_that_could_call_itself_is_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("majority.wasm", gage_test_guests::SELF_CONSISTENCY);
    for name in ["majority", "./majority.wasm", "majority#self-consistency"] {
        let backend =
            format!("type: custom_script\n    config: {{component: '{name}', config: {{role: dut}}}}");
        let plugins = "  - id: majority\n    source: ./majority.wasm\n    grants: {llm: [{role: dut, max_calls: 9, max_tokens: 9}]}\n";
        workspace.write("suite.yaml", with_plugins(plugins, &suite(&backend, "[exact_match]")));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(
            ended.stderr.contains("may ask the role `dut`, which leads back to `model`"),
            "{}",
            ended.stderr
        );
    }
}

const SECRET: &str = "sk-very/secret+42";

/// Replies with the secret in the answer and in a header.
fn echo_secret(request: &Request) -> ResponseTemplate {
    let bearer =
        request.headers.get("authorization").map(|value| value.to_str().unwrap_or_default().to_owned());
    let key = bearer.unwrap_or_default().replace("Bearer ", "");
    completion(&format!("you sent [{key}]")).insert_header("x-echo", key.as_str())
}

/// Returns a suite whose model is the component `http-model`, with grants.
fn http_model_suite(grants: &str, url: &str) -> String {
    let backend = format!(
        "type: custom_script\n    config:\n      component: asks\n      config: {{url: '{url}', model: m, secret: THE_KEY}}"
    );
    let plugins = format!("  - id: asks\n    source: ./http_model.wasm\n    grants: {grants}\n");
    with_plugins(&plugins, &suite(&backend, "[exact_match]"))
}

fn run_with_secret(workspace: &Workspace, run_id: &str) -> CommandOutput {
    let arguments = ["run", "suite.yaml", "--run-id", run_id, "--log", "debug"];
    workspace.run_with_env([("THE_KEY", SECRET)], &arguments)
}

#[test]
fn promise_9_granted_host_is_asked_and_the_secret_stays_hidden() {
    let workspace = Workspace::new();
    let server = Server::start(echo_secret);
    workspace.write("rows.jsonl", rows(40));
    workspace.write("http_model.wasm", gage_test_guests::HTTP_MODEL);
    let address = server.server.address().to_string();
    let grants = format!("{{http: [{{host: '{address}', methods: [POST]}}], secrets: [THE_KEY]}}");
    let url = format!("{}/v1/chat/completions", server.server.uri());
    workspace.write("suite.yaml", http_model_suite(&grants, &url));
    let ended = run_with_secret(&workspace, "r").expect_code(0);
    let samples = workspace.samples("r");
    assert_eq!(samples.len(), 40);
    for sample in &samples {
        assert_eq!(sample["model_output"]["answer"], "you sent [[secret THE_KEY]]", "{sample}");
    }
    let inner = SECRET.to_owned();
    for (name, text) in texts_below(&workspace.path("runs")) {
        assert!(!text.contains(&inner), "{name} holds the secret");
    }
    assert!(!ended.stdout.contains(&inner) && !ended.stderr.contains(&inner));
}

#[test]
fn calls_without_a_grant_are_refused() {
    let workspace = Workspace::new();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&asked);
    let server = Server::start(move |_: &Request| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        completion("x")
    });
    workspace.write("rows.jsonl", rows(2));
    workspace.write("http_model.wasm", gage_test_guests::HTTP_MODEL);
    let address = server.server.address();
    let port = address.port();
    let of = |host: &str, more: &str| {
        format!("{{http: [{{host: '{host}', methods: [POST]{more}}}], secrets: [THE_KEY]}}")
    };
    let path = "/v1/chat/completions";
    let (here, other) = (format!("http://127.0.0.1:{port}{path}"), format!("127.0.0.1:{}", port ^ 1));
    let cases: Vec<(&str, String, String, &str)> = vec![
        ("host", of("api.example.com", ""), here.clone(), "the host '127.0.0.1' (port "),
        ("port", of(&other, ""), here.clone(), "is not granted; granted are: 127.0.0.1:"),
        (
            "method",
            format!("{{http: [{{host: '{address}', methods: [GET]}}], secrets: [THE_KEY]}}"),
            here.clone(),
            "the method POST is not granted for '127.0.0.1'; granted are: GET",
        ),
        (
            "mapped",
            of(&address.to_string(), ""),
            format!("http://[::ffff:127.0.0.1]:{port}{path}"),
            "the host '[::ffff:7f00:1]' (port ",
        ),
        (
            "user",
            of(&address.to_string(), ""),
            format!("http://u:p@127.0.0.1:{port}{path}"),
            "a URL with a user name",
        ),
        (
            "scheme",
            of(&address.to_string(), ""),
            "file:///etc/passwd".to_owned(),
            "the scheme 'file' is never granted",
        ),
        (
            "secret",
            format!("{{http: [{{host: '{address}', methods: [POST]}}]}}"),
            here.clone(),
            "the secret 'THE_KEY' is not granted; granted are: there are none",
        ),
        (
            "secret_elsewhere",
            format!(
                "{{http: [{{host: '{address}', methods: [POST]}}, {{host: a.example}}], secrets: [{{name: THE_KEY, hosts: [a.example]}}]}}"
            ),
            here.clone(),
            "the secret 'THE_KEY' must not be sent to '127.0.0.1'",
        ),
    ];
    for (name, grants, url, message) in cases {
        workspace.write("suite.yaml", http_model_suite(&grants, &url));
        run_with_secret(&workspace, name).expect_code(4);
        for sample in workspace.samples(name) {
            assert_eq!(sample["outcome"], "backend_error", "{name}: {sample}");
            let found = sample["error"]["message"].as_str().unwrap_or_default();
            assert!(found.starts_with("denied: ") && found.contains(message), "{name}: {found}");
        }
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 0, "nothing was sent");
}

#[test]
fn redirects_are_returned_and_not_followed() {
    let workspace = Workspace::new();
    let target = Server::start(|_: &Request| completion("reached"));
    let to = format!("{}/v1/chat/completions", target.server.uri());
    let server =
        Server::start(move |_: &Request| ResponseTemplate::new(307).insert_header("location", to.as_str()));
    workspace.write("rows.jsonl", rows(2));
    workspace.write("http_model.wasm", gage_test_guests::HTTP_MODEL);
    let grants =
        format!("{{http: [{{host: '{}', methods: [POST]}}], secrets: [THE_KEY]}}", server.server.address());
    workspace.write(
        "suite.yaml",
        http_model_suite(&grants, &format!("{}/v1/chat/completions", server.server.uri())),
    );
    run_with_secret(&workspace, "r").expect_code(4);
    for sample in workspace.samples("r") {
        let found = sample["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(found.starts_with("upstream: ") && found.contains("307"), "{found}");
    }
}

/// Returns a suite whose model asks the role `helper`, which is a script.
fn majority_suite(budget: &str, config: &str) -> String {
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
plugins:
  - id: majority
    source: ./majority.wasm
    grants: {{llm: [{{role: helper, {budget}}}]}}
datasets:
  - {{dataset_id: rows, loader: jsonl, params: {{path: rows.jsonl}}}}
backends:
  - backend_id: composed
    type: custom_script
    config: {{component: majority, config: {config}}}
  - backend_id: script
    type: custom_script
    config: {{component: ./scripted.wasm, config: {{default: answer 0}}}}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: composed}}
  - {{adapter_id: helper, role_type: helper_model, backend_id: script}}
metrics: [exact_match]
custom:
  steps: [{{step: inference}}, {{step: auto_eval}}]
"
    )
}

#[test]
fn component_asks_a_role_within_its_budget() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(10));
    workspace.write("majority.wasm", gage_test_guests::SELF_CONSISTENCY);
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    let config = "{role: helper, samples: 2}";
    workspace.write("suite.yaml", majority_suite("max_calls: 1000, max_tokens: 100000", config));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    assert_eq!(samples.len(), 10);
    for sample in &samples {
        let output = &sample["model_output"];
        assert_eq!(
            (&output["answer"], &output["votes"], &output["samples"]),
            (&json!("answer 0"), &json!(2), &json!(2))
        );
    }

    // Two calls per sample: nine calls suffice for four samples and half of a fifth.
    workspace.write("suite.yaml", majority_suite("max_calls: 9, max_tokens: 100000", config));
    workspace.run(&["run", "suite.yaml", "--run-id", "calls", "--concurrency", "1"]).expect_code(4);
    let ends: Vec<Value> =
        workspace.samples("calls").iter().map(|sample| sample["outcome"].clone()).collect();
    assert_eq!(ends.iter().filter(|end| **end == "scored").count(), 4, "{ends:?}");
    let last = &workspace.samples("calls")[9]["error"]["message"];
    assert_eq!(last, "limit_exceeded: the budget of the role 'helper' is used up: 9 calls");

    workspace.write("suite.yaml", majority_suite("max_calls: 1000, max_tokens: 12", config));
    workspace.run(&["run", "suite.yaml", "--run-id", "tokens", "--concurrency", "1"]).expect_code(4);
    let last = &workspace.samples("tokens")[9]["error"]["message"];
    assert_eq!(last, "limit_exceeded: the budget of the role 'helper' is used up: 12 tokens");

    workspace.write("suite.yaml", majority_suite("max_calls: 1000, max_tokens: 1000", "{role: dut}"));
    workspace.run(&["run", "suite.yaml", "--run-id", "other"]).expect_code(4);
    let message = &workspace.samples("other")[0]["error"]["message"];
    assert_eq!(message, "denied: the role 'dut' is not granted; granted are: helper");
}

#[test]
fn promise_8_a_plugin_that_fails_on_every_item_gives_no_score() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write("rows.jsonl", rows(20));
    let backend = constant_backend(&workspace, "trap");
    // Even with `min_coverage: 0`, a run without any score fails.
    let text = suite(&backend, "[obedient]") + "tasks: [{task_id: t, dataset_id: rows, min_coverage: 0}]\n";
    workspace.write("suite.yaml", with_plugins("  - {id: bad, source: ./hostile.wasm}\n", &text));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert!(workspace.samples("r").iter().all(|sample| sample["outcome"] == "plugin_error"));
    let summary = workspace.json("r", "summary.json");
    assert_eq!((&summary["metrics"][0]["value"], &summary["metrics"][0]["n"]), (&Value::Null, &json!(0)));
    assert!(ended.stderr.contains("none of 20 samples were scored"), "{}", ended.stderr);
}

/// The table has a figure of the other metric, so the task has figures.
#[test]
fn metrics_that_fail_are_named_beside_one_that_scores() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write("rows.jsonl", rows(20));
    let backend = constant_backend(&workspace, "trap");
    let metrics = "[exact_match, obedient, {metric_id: other, implementation: obedient}]";
    let text = suite(&backend, metrics);
    workspace.write("suite.yaml", with_plugins("  - {id: bad, source: ./hostile.wasm}\n", &text));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    for metric_id in ["obedient", "other"] {
        let expected = format!("`{metric_id}` scored 0 of 20 samples (0.0 %)");
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("none of 20 samples"), "{}", ended.stderr);
}

#[test]
fn limits_of_the_suite_apply_to_the_plugin() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write("rows.jsonl", rows(3));
    let backend = constant_backend(&workspace, "loop");
    let plugins = "  - {id: bad, source: ./hostile.wasm, limits: {fuel_per_item: 1000000}}\n";
    // The file name leads to the same entry.
    for (run_id, metric) in
        [("name", "obedient"), ("id", "bad"), ("member", "bad#obedient"), ("file", "./hostile.wasm")]
    {
        workspace.write("suite.yaml", with_plugins(plugins, &suite(&backend, &format!("['{metric}']"))));
        workspace.run(&["run", "suite.yaml", "--run-id", run_id]).expect_code(4);
        for sample in workspace.samples(run_id) {
            let message = sample["error"]["message"].as_str().unwrap_or_default().to_owned();
            assert!(message.ends_with("used up its fuel of 1000000 units"), "{metric}: {message}");
        }
    }
}

#[test]
fn promise_6_runs_with_one_and_many_workers_are_equal() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("rows.jsonl", rows(300));
    let backend = constant_backend(&workspace, "answer 7");
    workspace.write("suite.yaml", suite(&backend, "[./recall.wasm, exact_match, contains]"));
    let (mut files, mut fuel) = (Vec::new(), Vec::new());
    for round in 0..3 {
        for concurrency in ["1", "16"] {
            let run_id = format!("r{round}-{concurrency}");
            workspace
                .run(&["run", "suite.yaml", "--run-id", &run_id, "--concurrency", concurrency])
                .expect_code(0);
            files.push(
                workspace.read(&format!("runs/{run_id}/samples.jsonl"))
                    + &workspace.read(&format!("runs/{run_id}/summary.json")).replace(&run_id, "r"),
            );
            let timings = workspace.json(&run_id, "timings.json");
            fuel.push(timings["tasks"][0]["scoring_fuel"].as_u64().expect("a count"));
        }
    }
    assert!(files.iter().all(|file| *file == files[0]), "runs differ");
    assert!(fuel[0] > 0 && fuel.iter().all(|one| *one == fuel[0]), "{fuel:?}");
}

#[test]
fn plugin_reads_only_media_of_its_messages() {
    let workspace = Workspace::new();
    workspace.write("media.wasm", gage_test_guests::MEDIA_BACKEND);
    let row = |id: &str, content: &Value| {
        json!({"id": id, "schema_version": "v1", "messages": [{"role": "user", "content": content}]})
            .to_string()
            + "\n"
    };
    // "hello media", in Base64.
    let file = json!([{"type": "file_url", "file_url": {"url": "data:text/plain;base64,aGVsbG8gbWVkaWE="}}]);
    let digest = format!("sha256:{}", "0".repeat(64));
    workspace.write("rows.jsonl", row("a", &file) + &row("b", &json!(format!("ask for {digest}"))));
    let backend = "type: custom_script\n    config: {component: reader}";
    let plugins = "  - {id: reader, source: ./media.wasm, grants: {media: true}}\n";
    workspace.write("suite.yaml", with_plugins(plugins, &suite(backend, "[text_length]")));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let samples = workspace.samples("r");
    assert_eq!(
        samples[0]["model_output"]["answer"], "text/plain of 11 bytes ending in dia",
        "{}",
        samples[0]
    );
    let message = samples[1]["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, format!("denied: the items of this call have no media with the digest '{digest}'"));

    workspace.write(
        "suite.yaml",
        with_plugins("  - {id: reader, source: ./media.wasm}\n", &suite(backend, "[text_length]")),
    );
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(
        ended.stderr.contains("which the suite does not grant") && ended.stderr.contains("media: true"),
        "{}",
        ended.stderr
    );
}

#[test]
fn backend_that_calls_the_host_forever_is_ended() {
    let workspace = Workspace::new();
    let slow = Server::start(|_: &Request| completion("late").set_delay(std::time::Duration::from_secs(600)));
    workspace.write("asks.wasm", gage_test_guests::ASKING_BACKEND);
    let url = format!("{}/v1/chat/completions", slow.server.uri());
    let questions = [
        "spin".to_owned(),
        "spin denied".to_owned(),
        "spin log".to_owned(),
        format!("ask {url}"),
        "fine".to_owned(),
    ];
    let row =
        |question: &String| json!({"id": question, "question": question, "answer": "x"}).to_string() + "\n";
    workspace.write("rows.jsonl", questions.iter().map(row).collect::<String>());
    let backend = "type: custom_script\n    config: {component: asks}";
    let grants = format!("{{http: [{{host: '{}', methods: [POST]}}]}}", slow.server.address());
    let limits = "{wall_time: 60, wait_time: 0.5, fuel_per_item: 1000000000000}";
    let plugins = format!("  - {{id: asks, source: ./asks.wasm, grants: {grants}, limits: {limits}}}\n");
    workspace.write("suite.yaml", with_plugins(&plugins, &suite(backend, "[text_length]")));
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "1"]).expect_code(4);
    let ends: Vec<String> = workspace
        .samples("r")
        .iter()
        .map(|sample| sample["error"]["message"].as_str().unwrap_or("answered").to_owned())
        .collect();
    assert_eq!(ends[0], "budget: called the host too often");
    assert_eq!(ends[1], "budget: called the host too often");
    assert_eq!(ends[2], "budget: called the host too often");
    assert!(ends[3].starts_with("limit_exceeded: no answer within the 0.5 s"), "{}", ends[3]);
    assert_eq!(ends[4], "answered");
}

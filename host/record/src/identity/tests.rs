use super::*;
use gage_core::Digest;

/// An identity with one of everything, as a manifest stores it.
fn stored() -> Value {
    json!({
        "config": {
            "api_version": "gage/v1alpha1",
            "kind": "PipelineConfig",
            "metadata": {"name": "sums", "description": "Sums."},
            "datasets": [{
                "dataset_id": "rows",
                "params": {"path": "a/rows.jsonl", "preprocess_kwargs": {"path": "kept"}, "media": {"allowed_roots": ["a"]}},
            }],
            "backends": [
                {"backend_id": "local", "type": "llama_cpp", "config": {
                    "model_path": "a/m.gguf", "threads": 2, "slots": 4, "replicas": 2, "hang_timeout": 60, "context_length": 512,
                    "lora": {"path": "a/l.gguf", "scale": 1.0},
                }},
                {"backend_id": "server", "type": "openai_http", "config": {
                    "model": "m", "api_key": "${KEY}", "timeout": 5, "max_concurrency": 8, "extra_body": {"timeout": 5},
                }},
            ],
            "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "local"}],
            "plugins": [{"id": "mine", "source": "./mine.wasm", "limits": {"fuel": 1}}],
            "metrics": ["exact_match"],
            "tasks": [
                {"task_id": "one", "dataset_id": "rows", "max_inflight": 3},
                {"task_id": "two", "dataset_id": "rows", "max_samples": 10},
            ],
            "custom": {"max_inflight": 5, "steps": [{"step": "inference"}]},
        },
        "host": {"scoring_version": 1},
        "datasets": {
            "rows": {"digest": "sha256:00", "bytes": 12, "labels": {"digest": Digest::of_bytes(b"l"), "bytes": 1}},
            "parts": {
                "files": [
                    {"name": "a.jsonl", "digest": "sha256:01", "bytes": 5},
                    {"name": "b.jsonl", "digest": "sha256:02", "bytes": 6},
                ],
                "digest": "sha256:03", "bytes": 11,
            },
        },
        "plugins": {"mine": {
            "component": "mine", "version": "1", "digest": "sha256:04", "wit_version": "0.1.0", "scorer_version": "1",
            "limits": {"fuel_per_item": 5},
        }},
        "prompts": {"dut": {"prompt_id": "p", "digest": "sha256:05"}},
        "backends": {
            "local": {"type": "llama_cpp", "model": "m.gguf", "details": {
                "file_digest": "sha256:06", "kernel_variant": "baseline", "llama_cpp_2": "0.1.160",
            }},
            "server": {"type": "openai_http", "model": "m", "details": {"base_url": "http://127.0.0.1:1/v1"}},
        },
        "redacted": {
            "backends.server.config.extra_body.token": "sha256:07",
            "backends.local.config.model_path": "sha256:08",
        },
    })
}

fn identity(stored: Value) -> RunIdentity {
    serde_json::from_value(stored).unwrap()
}

/// The stored identity with a different value at a JSON pointer; null removes the key.
fn with(pointer: &str, value: Value) -> RunIdentity {
    let mut stored = stored();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = stored.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(parent), Value::Null) => drop(parent.shift_remove(key)),
        (parent, value) => parent[key] = value,
    }
    identity(stored)
}

/// The stored identity with a list reversed.
fn reversed(pointer: &str) -> RunIdentity {
    let mut stored = stored();
    stored.pointer_mut(pointer).unwrap().as_array_mut().unwrap().reverse();
    identity(stored)
}

#[test]
fn an_identity_reads_back_as_it_was_written() {
    let one = identity(stored());
    assert_eq!(serde_json::from_value::<RunIdentity>(json!(one)).unwrap(), one);
    assert_eq!(one.suite_name(), Some("sums"));
    assert_eq!(one.task_ids().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!((one.models(), one.model_of("none")), (vec!["m.gguf"], "none"));
}

#[test]
fn unknown_keys_of_an_identity_are_skipped() {
    for pointer in ["", "/host", "/datasets/rows", "/plugins/mine", "/prompts/dut", "/backends/local"] {
        let mut later = stored();
        later.pointer_mut(pointer).unwrap()["later"] = json!(1);
        let identity = serde_json::from_value::<RunIdentity>(later).unwrap();
        assert_eq!(identity, serde_json::from_value(stored()).unwrap(), "{pointer}");
    }
    assert!(serde_json::from_value::<RunIdentity>(json!({})).is_ok(), "parts may be missing");
}

#[test]
fn changes_that_can_change_a_number_are_named() {
    let changes = [
        ("/config/metadata/name", json!("other"), "config.metadata.name"),
        (
            "/config/datasets/0/params/preprocess_kwargs/path",
            json!("x"),
            "config.datasets[0].params.preprocess_kwargs.path",
        ),
        ("/config/backends/0/config/context_length", json!(256), "config.backends[0].config.context_length"),
        ("/config/backends/0/config/lora/scale", json!(0.5), "config.backends[0].config.lora.scale"),
        ("/config/backends/1/config/model", json!("n"), "config.backends[1].config.model"),
        (
            "/config/backends/1/config/extra_body/timeout",
            json!(6),
            "config.backends[1].config.extra_body.timeout",
        ),
        ("/config/plugins/0/limits/fuel", json!(2), "config.plugins[0].limits.fuel"),
        ("/config/metrics", json!(["contains"]), "config.metrics[0]"),
        ("/config/tasks/1/max_samples", json!(20), "config.tasks[1].max_samples"),
        ("/host/scoring_version", json!(2), "host.scoring_version"),
        ("/datasets/rows/digest", json!("sha256:ff"), "datasets.rows.digest"),
        ("/datasets/rows/labels/digest", json!(Digest::of_bytes(b"m")), "datasets.rows.labels.digest"),
        ("/datasets/rows/chat_template", json!("sha256:ff"), "datasets.rows.chat_template"),
        ("/datasets/parts/files/1/digest", json!("sha256:ff"), "datasets.parts.files[1].digest"),
        ("/plugins/mine/digest", json!("sha256:ff"), "plugins.mine.digest"),
        ("/plugins/mine/limits/fuel_per_item", json!(6), "plugins.mine.limits.fuel_per_item"),
        ("/prompts/dut/digest", json!("sha256:ff"), "prompts.dut.digest"),
        ("/backends/local/details/file_digest", json!("sha256:ff"), "backends.local.details.file_digest"),
        ("/backends/local/details/kernel_variant", json!("avx512"), "backends.local.details.kernel_variant"),
        (
            "/backends/local/details/kernel_variant",
            json!("cuda 9.0"),
            "backends.local.details.kernel_variant",
        ),
        ("/backends/local/details/llama_cpp_2", json!("0.2.0"), "backends.local.details.llama_cpp_2"),
        ("/backends/server/model", json!("n"), "backends.server.model"),
        (
            "/redacted/backends.server.config.extra_body.token",
            json!("sha256:ff"),
            "redacted[\"backends.server.config.extra_body.token\"]",
        ),
    ];
    let before = identity(stored());
    for (pointer, value, place) in changes {
        let found = before.differences(&with(pointer, value));
        let [only] = found.as_slice() else { panic!("{pointer}: {found:?}") };
        assert!(only.starts_with(&format!("{place}: ")), "{pointer}: {only}");
        assert_eq!(is_redacted(only), place.starts_with("redacted"), "{only}");
    }
}

#[test]
fn changes_that_cannot_change_a_number_are_accepted() {
    let changes = [
        ("/config/metadata/description", json!("Other words.")),
        ("/config/budget", json!({"max_requests": 5})),
        ("/config/task_parallelism", json!(2)),
        ("/config/cache", json!({"folder": "c"})),
        ("/config/datasets/0/params/path", json!("b/renamed.jsonl")),
        ("/config/datasets/0/params/media/allowed_roots", json!(["b"])),
        ("/config/backends/0/config/model_path", json!("b/renamed.gguf")),
        ("/config/backends/0/config/lora/path", json!("b/renamed.gguf")),
        ("/config/backends/0/config/threads", json!(64)),
        ("/config/backends/0/config/threads", Value::Null),
        ("/config/backends/0/config/slots", json!(1)),
        ("/config/backends/0/config/replicas", json!("auto")),
        ("/config/backends/0/config/hang_timeout", json!(600)),
        ("/config/backends/1/config/api_key", json!("${OTHER_KEY}")),
        ("/config/backends/1/config/timeout", json!(600)),
        ("/config/backends/1/config/max_concurrency", json!(1)),
        ("/config/plugins/0/source", json!("./renamed.wasm")),
        ("/config/backends/1/config/proxy", json!("http://127.0.0.1:1")),
        ("/config/backends/1/config/max_retries", json!(0)),
        ("/config/tasks/0/prefetch_factor", json!(7)),
        ("/config/tasks/0/max_inflight", json!(1)),
        ("/config/custom/max_inflight", json!(1)),
        ("/datasets/parts/files/0/name", json!("renamed.jsonl")),
        ("/datasets/parts/digest", json!("sha256:ff")),
        ("/backends/local/model", json!("renamed.gguf")),
        ("/redacted/backends.local.config.model_path", json!("sha256:ff")),
    ];
    let before = identity(stored());
    for (pointer, value) in changes {
        let now = with(pointer, value);
        assert_eq!(before.differences(&now), Vec::<String>::new(), "{pointer}");
        assert_eq!(before.pinned(), now.pinned(), "{pointer}: a lock pins it");
        assert!(before.is_same_suite(&now), "{pointer}");
    }
    for list in ["/config/tasks", "/config/backends"] {
        assert_eq!(before.differences(&reversed(list)), Vec::<String>::new(), "the order of {list}");
    }
}

/// Identity of a suite that names components by file, run from a working folder where the suite's folder is
/// `config_dir`.
fn with_components(config_dir: &str, file: &str, digest: &str) -> RunIdentity {
    let mut stored = stored();
    let (metric, aggregator) = (format!("{config_dir}/{file}#exact"), format!("{config_dir}/{file}"));
    let component = json!({
        "component": "m", "version": "1", "digest": digest, "wit_version": "0.1.0", "scorer_version": "1", "limits": {},
    });
    stored["config_dir"] = json!(config_dir);
    stored["config"]["metrics"] =
        json!([{"mine": {"implementation": metric, "aggregation": aggregator}}, {&metric: {}}]);
    stored["plugins"][&metric] = component.clone();
    stored["plugins"][format!("aggregation {aggregator}")] = component;
    identity(stored)
}

#[test]
fn file_names_and_the_working_folder_are_not_compared() {
    let before = with_components("suites/a", "m.wasm", "sha256:aa");
    for (config_dir, file) in
        [("suites/a", "m.wasm"), ("a", "m.wasm"), (".", "m.wasm"), ("..", "renamed.wasm")]
    {
        let now = with_components(config_dir, file, "sha256:aa");
        assert_eq!(before.differences(&now), Vec::<String>::new(), "{config_dir}/{file}");
        assert!(before.is_same_suite(&now), "{config_dir}/{file}");
    }
    for (file, expected) in [("m.wasm", 2), ("renamed.wasm", 8)] {
        let found = before.differences(&with_components("a", file, "sha256:ff"));
        assert_eq!(found.len(), expected, "another component in {file}: {found:#?}");
    }
}

#[test]
fn every_part_that_is_pinned_has_a_name() {
    let pinned = identity(stored()).pinned();
    assert_eq!(pinned.keys().collect::<Vec<_>>(), IDENTITY_PARTS);
    assert_eq!(
        pinned["settings"]["redacted"],
        json!({"backends.server.config.extra_body.token": "sha256:07"})
    );
    assert_eq!(pinned["settings"]["tasks"]["two"], json!({"dataset_id": "rows", "max_samples": 10}));
}

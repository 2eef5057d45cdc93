//! Components that misbehave, and components that answer.

use crate::scripted_backend::scripted_backend;
use crate::support::{Workspace, rows, suite};
use serde_json::{Value, json};

#[test]
fn failure_of_a_metric_stays_with_its_sample() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    let deeds = ["fine", "trap", "fine", "loop", "fine", "memory", "error", "nan", "log", "fine"];
    let text: String = deeds
        .iter()
        .enumerate()
        .map(|(number, deed)| format!("{{\"id\":\"s{number}\",\"question\":\"{deed}\",\"answer\":\"x\"}}\n"))
        .collect();
    workspace.write("rows.jsonl", text);
    let answers: serde_json::Map<String, Value> = deeds
        .iter()
        .filter(|deed| **deed != "trap")
        .map(|deed| ((*deed).to_owned(), (*deed).into()))
        .collect();
    let backend = scripted_backend(&workspace, &json!({"answers": answers, "default": "fine"}));
    // The metric reads the question; the backend does not see it, since it would trap as well.
    let metrics = "[{metric_id: obedient, implementation: ./hostile.wasm, params: {prediction_field: sample.messages.0.content.0.text}}]";
    workspace.write(
        "suite.yaml",
        suite(&backend, metrics)
            .replace("backend_id: model}", "backend_id: model, prompt_id: p}")
            .replace("metrics:", "prompts: [{prompt_id: p, template: fine}]\nmetrics:"),
    );
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let ends: Vec<(String, String)> = workspace
        .samples("r")
        .iter()
        .map(|sample| {
            let message = sample["error"]["message"].as_str().unwrap_or_default().to_owned();
            (sample["outcome"].as_str().unwrap_or_default().to_owned(), message)
        })
        .collect();
    let expected = [
        ("scored", ""),
        ("plugin_error", "obedient: trap: wasm trap: wasm `unreachable` instruction executed"),
        ("scored", ""),
        ("plugin_timeout", "obedient: budget: used up its fuel of 500000000 units"),
        ("scored", ""),
        ("plugin_error", "obedient: trap: needed more than its 67108864 bytes of memory"),
        ("plugin_error", "obedient: invalid_input at /prediction: as told"),
        ("plugin_error", "obedient: invalid_result: the primary score is NaN, which is not a number"),
        ("scored", ""),
        ("scored", ""),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(end, message)| ((*end).to_owned(), (*message).to_owned())).collect();
    assert_eq!(ends, expected);
    let summary = workspace.json("r", "summary.json");
    assert_eq!((&summary["metrics"][0]["value"], &summary["metrics"][0]["n"]), (&json!(1.0), &json!(5)));
    assert!(!ended.stderr.contains('\u{1b}'), "a guest wrote to the terminal");
}

#[test]
fn a_component_answers_in_place_of_a_model() {
    let workspace = Workspace::new();
    let answers: serde_json::Map<String, Value> =
        (0..40).map(|number| (format!("question {number}"), format!("answer {number}").into())).collect();
    let backend = scripted_backend(&workspace, &json!({"answers": answers}));
    workspace.write("rows.jsonl", rows(40) + "{\"id\":\"t\",\"question\":\"trap 1\",\"answer\":\"x\"}\n");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let summary = workspace.json("r", "summary.json");
    assert_eq!((&summary["metrics"][0]["value"], &summary["metrics"][0]["n"]), (&json!(1.0), &json!(40)));
    assert_eq!(workspace.samples("r")[40]["outcome"], "backend_error");

    let wrong = suite(&backend, "[exact_match]").replace(
        "component: ./scripted.wasm, config: {",
        "component: ./scripted.wasm, config: {\"anwsers\": {}, ",
    );
    workspace.write("suite.yaml", wrong);
    let refused = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("did you mean `answers`?"), "{}", refused.stderr);
}

#[test]
fn a_component_chooses_by_log_likelihood() {
    let workspace = Workspace::new();
    let backend = scripted_backend(&workspace, &json!({"answers": {"Which?": "two"}}));
    workspace.write(
        "rows.jsonl",
        "{\"id\":\"q\",\"question\":\"Which?\",\"choices\":[\"one\",\"two\"],\"answer\":1}\n",
    );
    let text = suite(&backend, "[multi_choice_accuracy]")
        .replace(
            "{path: rows.jsonl}",
            "{path: rows.jsonl, preprocess: multi_choice, preprocess_kwargs: {style: question_only}}",
        )
        .replace("{step: inference}", "{step: inference, request: loglikelihood}");
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let sample = &workspace.samples("r")[0];
    assert_eq!(sample["model_output"]["answer"], "B");
    assert_eq!(sample["model_output"]["continuations"][0]["logprob"], -2.0);
    assert_eq!(sample["metrics"][0]["card"]["primary_score"], 1.0);
}

#[test]
fn files_that_are_not_plugins_are_refused_before_compiling() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("text.wasm", "(component)");
    workspace.write("module.wasm", b"\0asm\x01\0\0\0");
    workspace.write("cut.wasm", &gage_test_guests::HOSTILE[..1_000]);
    workspace.write("backend.wasm", gage_test_guests::SCRIPTED_BACKEND);
    let backend = scripted_backend(&workspace, &json!({}));
    for (file, expected) in [
        ("text.wasm", "it does not begin like a WebAssembly file"),
        ("module.wasm", "it is a core WebAssembly module, not a component"),
        ("cut.wasm", "it is a cut off WebAssembly file"),
        ("backend.wasm", "it is a backend plugin, but is used as a metric"),
    ] {
        workspace.write("suite.yaml", suite(&backend, &format!("[./{file}]")));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{file}: {}", ended.stderr);
    }
}

/// A machine with many cores compiles with eight threads, each of which reserves address space.
#[test]
fn component_compiles_with_all_threads_in_the_least_memory() {
    let workspace = Workspace::new();
    for component in [gage_test_guests::HOSTILE, gage_test_guests::MEDIA_METRIC] {
        let file = workspace.write("component.wasm", component);
        let memory = (1_u64 << 30) + component.len() as u64 * 384;
        let compiled = workspace
            .program()
            .args(["compile-component", &memory.to_string(), "60"])
            .env("MIMALLOC_ARENA_RESERVE", "65536")
            .env("RAYON_NUM_THREADS", "8")
            .stdin(std::fs::File::open(file).expect("the component"))
            .output()
            .expect("started");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
}

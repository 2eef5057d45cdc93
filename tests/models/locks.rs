//! Locks of suites with a model: files that have changed, are missing or are unreadable.

use crate::support::{Workspace, repository};
use crate::words_suite::{LOCK, RUN_CONFIG, freeze, write_suite};
use std::fs;

const TEMPLATE: &str = "config/builtin_templates/words/v1.yaml";

/// Replacement of a file.
#[derive(Clone, Copy, Debug)]
enum Instead {
    Nothing,
    /// Unreadable as a file, even with all permissions.
    AFolder,
}

#[test]
fn missing_pinned_file_is_named_with_its_lock() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("config")).expect("a folder");
    let model = repository().join("config/models/gage-tiny.gguf");
    fs::copy(model, workspace.path("config/model.gguf")).expect("a model");
    let backend = "type: llama_cpp\n    config: {model_path: '${config_dir}/../model.gguf', slots: 1, default_params: {max_new_tokens: 2}}";
    write_suite(&workspace, backend, "");
    workspace.write("config/data/labels.txt", "0\n".repeat(40));
    workspace.write("config/data/shots.jsonl", "{\"question\": \"solved\"}\n");
    let keys = "    params:\n      labels_path: ${config_dir}/../data/labels.txt\n      few_shot: {path: '${config_dir}/../data/shots.jsonl', count: 1}\n";
    let suite = workspace.read("config/custom/words.yaml").replace("    params:\n", keys);
    workspace.write("config/custom/words.yaml", suite);
    freeze(&workspace);
    for (file, field) in [
        ("config/data/rows.jsonl", "datasets.rows.digest"),
        ("config/data/labels.txt", "datasets.rows.labels.digest"),
        ("config/data/shots.jsonl", "datasets.rows.few_shot.digest"),
        ("config/data/tokenizer_config.json", "datasets.rows.chat_template"),
        ("config/custom/words.wasm", "plugins.words.digest"),
        ("config/model.gguf", "backends.model.details.file_digest"),
        ("config/builtin_templates/words/v1.yaml", "suite.template.file_digest"),
    ] {
        for instead in [Instead::Nothing, Instead::AFolder] {
            let aside = workspace.path("aside");
            fs::rename(workspace.path(file), &aside).expect("moved");
            if matches!(instead, Instead::AFolder) {
                fs::create_dir(workspace.path(file)).expect("a folder");
            }
            for command in [
                ["run", RUN_CONFIG, "--locked", "--run-id", "r"].as_slice(),
                &["run", RUN_CONFIG, "--frozen", "--run-id", "r"],
                &["lock", RUN_CONFIG, "--check"],
            ] {
                let ended = workspace.run(command);
                let transcript = format!("{file}, {instead:?}, {command:?}: {}", ended.transcript());
                assert_eq!(ended.code, Some(3), "{transcript}");
                let row = ended.stderr.lines().find(|line| line.trim_start().starts_with(field));
                let row = row.unwrap_or_else(|| panic!("no row of {field}: {transcript}"));
                assert!(row.contains("sha256:"), "{transcript}");
                let found = row.split("sha256:").nth(1).unwrap_or_default();
                // A template is searched for among files.
                let is_read = matches!(instead, Instead::AFolder)
                    && !file.ends_with(".yaml")
                    && !file.ends_with("tokenizer_config.json");
                let expected = if is_read { "unreadable: " } else { "(nothing)" };
                assert!(found.contains(expected), "{transcript}");
                assert!(!workspace.path("runs/r").exists(), "{transcript}");
            }
            if matches!(instead, Instead::AFolder) {
                fs::remove_dir(workspace.path(file)).expect("removed");
            }
            fs::rename(&aside, workspace.path(file)).expect("moved back");
        }
    }
    workspace.run(&["lock", RUN_CONFIG, "--check"]).expect_code(0);
}

/// Changes one byte of a file.
fn flip(workspace: &Workspace, file: &str, place: impl Fn(&[u8]) -> usize) {
    let mut bytes = fs::read(workspace.path(file)).expect("a file");
    let place = place(&bytes);
    bytes[place] ^= 1;
    fs::write(workspace.path(file), bytes).expect("written");
}

/// Returns the position of a text in a file.
fn place_of(text: &'static str) -> impl Fn(&[u8]) -> usize {
    move |bytes| bytes.windows(text.len()).position(|window| window == text.as_bytes()).expect("the text")
}

#[test]
#[expect(clippy::too_many_lines, reason = "one run, checked step by step")]
fn one_byte_that_changed_is_refused_and_named() {
    let model = repository().join("config/models/gage-tiny.gguf");
    type Case = (&'static str, &'static str, fn(&[u8]) -> usize, i32, &'static str);
    let cases: [Case; 11] = [
        (
            "a dataset",
            "config/data/rows.jsonl",
            |bytes| place_of("question 7")(bytes) + 9,
            3,
            "datasets.rows.digest",
        ),
        (
            "a row that no run reads",
            "config/data/rows.jsonl",
            |bytes| bytes.len() - 4,
            3,
            "datasets.rows.digest",
        ),
        // In the component's own description, so that it still loads.
        (
            "a plugin",
            "config/custom/words.wasm",
            |bytes| place_of("Share of the")(bytes) + 3,
            3,
            "plugins.words.digest",
        ),
        (
            "a chat template",
            "config/data/tokenizer_config.json",
            |bytes| place_of("content")(bytes),
            3,
            "chat_template",
        ),
        ("a model", "config/model.gguf", |bytes| bytes.len() - 1000, 3, "backends.model.details.file_digest"),
        (
            "a model that is none any more",
            "config/model.gguf",
            |_| 0,
            3,
            "backends.model.details.file_digest",
        ),
        ("a plugin that is none any more", "config/custom/words.wasm", |_| 0, 3, "plugins.words.digest"),
        (
            "what a template says of itself",
            TEMPLATE,
            |bytes| place_of("source_tasks")(bytes) + 3,
            3,
            "suite.template.file_digest",
        ),
        (
            "a prompt of the template",
            TEMPLATE,
            |bytes| place_of("sample.messages")(bytes) + 1,
            3,
            "suite.template.file_digest",
        ),
        (
            "a setting of the RunConfig",
            RUN_CONFIG,
            |bytes| place_of("max_samples: 20")(bytes) + 14,
            3,
            "settings.tasks.rows.max_samples",
        ),
        ("the lock itself", LOCK, |bytes| place_of("rows: 40")(bytes) + 7, 2, "digest does not match"),
    ];
    for (case, file, place, code, expected) in cases {
        let workspace = Workspace::new();
        fs::create_dir_all(workspace.path("config")).expect("a folder");
        fs::copy(&model, workspace.path("config/model.gguf")).expect("a model");
        let backend = "type: llama_cpp\n    config: {model_path: '${config_dir}/../model.gguf', slots: 1, default_params: {max_new_tokens: 2}}";
        write_suite(&workspace, backend, "");
        freeze(&workspace);
        flip(&workspace, file, place);
        let ended = workspace.run(&["run", RUN_CONFIG, "--locked", "--run-id", "r"]);
        assert_eq!(ended.code, Some(code), "{case}: {}", ended.transcript());
        assert!(ended.stderr.contains(expected), "{case}: {}", ended.transcript());
        assert!(!workspace.path("runs/r").exists(), "{case}: a run folder was made");
    }
}

//! `gage-host list` and `gage-host plugin`.

use crate::support::{CommandOutput, Workspace, repository, rows, suite};
use serde_json::{Value, json};

fn cases_file(kind: &str) -> String {
    repository().join(format!("sdk/templates/cases/{kind}.jsonl")).display().to_string()
}

#[test]
fn a_component_is_inspected_with_and_without_running_it() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("http.wasm", gage_test_guests::HTTP_MODEL);
    let shown = |arguments: &[&str]| {
        let ended = workspace.run(arguments).expect_code(0);
        let hide = |line: &str| match line.split_whitespace().next() {
            Some(key @ ("size" | "digest")) => format!("{key} (varies)"),
            _ => line.to_owned(),
        };
        ended.stdout.lines().map(hide).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("inspect_metric", shown(&["plugin", "inspect", "recall.wasm"]));
    insta::assert_snapshot!("inspect_static", shown(&["plugin", "inspect", "--static", "http.wasm"]));
    let ended = workspace.run(&["plugin", "inspect", "http.wasm", "--json"]).expect_code(0);
    let value = ended.stdout_json();
    assert_eq!(value["grants_asked_for"], json!(["http"]));
    assert_eq!(value["extra"]["wants"]["http"], json!(["the host of `url`"]));
    assert_eq!(value["members"][0]["params_schema"]["properties"]["url"]["type"], "string");
}

#[test]
fn plugin_test_runs_cases_and_shows_differences() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    let ended =
        workspace.run(&["plugin", "test", "recall.wasm", "--cases", &cases_file("metric")]).expect_code(0);
    assert_eq!(
        ended.stdout,
        "11 of 11 cases passed; pure: results are the same alone, in batches and shuffled\n"
    );

    workspace.write(
        "wrong.jsonl",
        "{\"case\": \"wrong\", \"inputs\": {\"prediction\": \"a\", \"reference\": \"a b\"}, \"expected\": {\"primary_score\": 1, \"pass\": true}}\n\
         {\"inputs\": {\"prediction\": \"a\", \"reference\": \"a\"}, \"expected_error\": \"invalid_input\"}\n\
         {\"params\": {\"case_sensitive\": 1}, \"inputs\": {}, \"expected\": {}}\n",
    );
    let ended = workspace.run(&["plugin", "test", "recall.wasm", "--cases", "wrong.jsonl"]).expect_code(4);
    insta::assert_snapshot!("test_failures", ended.transcript());

    let ended =
        workspace.run(&["plugin", "test", "recall.wasm", "--cases", "wrong.jsonl", "--json"]).expect_code(4);
    let value = ended.stdout_json();
    assert_eq!((&value["cases"], &value["passed"]), (&json!(3), &json!(false)));
    assert_eq!(value["failures"].as_array().map(Vec::len), Some(3));
}

#[test]
fn plugin_test_detects_a_plugin_that_keeps_state() {
    let workspace = Workspace::new();
    workspace.write("hostile.wasm", gage_test_guests::HOSTILE);
    workspace.write(
        "cases.jsonl",
        "{\"inputs\": {\"prediction\": \"state\"}, \"expected\": {\"primary_score\": 0}}\n\
         {\"case\": 2, \"inputs\": {\"prediction\": \"state\"}, \"expected\": {\"primary_score\": 0}}\n",
    );
    let ended = workspace.run(&["plugin", "test", "hostile.wasm", "--cases", "cases.jsonl"]).expect_code(4);
    assert!(ended.stdout.contains("impure  cases.jsonl:2 (2): in a batch it gives "), "{}", ended.stdout);
    assert!(ended.stdout.contains("2 of 2 cases passed; not pure: "), "{}", ended.stdout);
}

#[test]
fn plugin_build_reads_the_cases_first() {
    let workspace = Workspace::new();
    workspace.run(&["plugin", "new", "--lang", "javascript", "word-recall"]).expect_code(0);
    workspace.write("word-recall/cases.jsonl", "{\"inptus\": {}, \"expected\": {}}\n");
    let refused = workspace.run(&["plugin", "build", "word-recall"]).expect_code(2);
    for part in ["word-recall/cases.jsonl:1: unknown key `inptus`", "did you mean `inputs`?"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn plugin_bench_measures_any_metric() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    let arguments =
        ["plugin", "bench", "recall.wasm", "--seconds", "0.01", "--batch", "16", "--uncounted", "--json"];
    // The code is in the cache for the second command.
    let cache = [("GAGE_CACHE_DIR", workspace.path("cache"))];
    let ended = workspace.run_with_env(cache.clone(), &arguments).expect_code(0);
    let value = ended.stdout_json();
    for pointer in
        ["/instantiate/median_s", "/compile_s", "/items/batched/item/median_s", "/items/counting_costs"]
    {
        assert!(
            value.pointer(pointer).and_then(Value::as_f64).is_some_and(|number| number > 0.0),
            "{pointer}"
        );
    }
    assert!(value["items"]["batched"]["fuel_per_item"].as_u64().is_some_and(|fuel| fuel > 100));
    let shown = workspace.run_with_env(cache, &["plugin", "bench", "recall.wasm", "--seconds", "0.01"]);
    let shown = shown.expect_code(0);
    for part in ["item in a batch of 256", "done before; the code is in the cache"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
}

#[test]
fn plugins_of_a_suite_and_of_folders_are_listed() {
    let workspace = Workspace::new();
    workspace.write("folder/recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.write("folder/notes.txt", "not a plugin");
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    workspace.write("rows.jsonl", rows(1));
    let plain = suite("type: openai_http\n    config: {model: m}", "[word_recall]");
    workspace.write(
        "suite.yaml",
        plain.replacen("datasets:", "plugins: [{id: script, source: ./scripted.wasm}]\ndatasets:", 1),
    );
    let arguments = ["list", "--plugin-dir", "folder", "--config", "suite.yaml", "--json"];
    let ended = workspace.run(&arguments).expect_code(0);
    let value = ended.stdout_json();
    let named = |kind: &str, name: &str| {
        let list = value[kind].as_array().cloned().unwrap_or_default();
        list.into_iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    let recall = named("metrics", "word_recall");
    assert_eq!((&recall["plugin"], &recall["source"]), (&json!("recall"), &json!("folder/recall.wasm")));
    assert!(recall["digest"].as_str().is_some_and(|digest| digest.len() > 60));
    assert_eq!(recall["inputs"][0]["name"], "prediction");
    assert_eq!(recall["params_schema"]["properties"]["case_sensitive"]["type"], "boolean");
    assert_eq!(named("backends", "script")["source"], "./scripted.wasm");
    assert_eq!(named("plugins", "script")["kind"], "backend");
    // The suite can use the plugins of the folder.
    workspace.run(&["validate", "suite.yaml", "--plugin-dir", "folder"]).expect_code(0);
    workspace.run(&["validate", "suite.yaml"]).expect_code(2);

    workspace.write("folder/again.wasm", gage_test_guests::BARE_WORD_RECALL);
    let ended = workspace.run(&["list", "metrics", "--plugin-dir", "folder"]).expect_code(2);
    let message = "error: the metric 'word_recall' is in several plugins: again (folder/again.wasm), recall (folder/recall.wasm)\n  help: name one of them: again#word_recall, recall#word_recall\n";
    assert_eq!(ended.stderr, message);
}

/// Inspects a component with its own cache.
fn inspect_with_cache(workspace: &Workspace) -> CommandOutput {
    let cache = [("GAGE_CACHE_DIR", workspace.path("cache"))];
    workspace.run_with_env(cache, &["plugin", "inspect", "recall.wasm", "--json"])
}

fn compiled_files(workspace: &Workspace) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(workspace.path("cache/components")).expect("a folder");
    entries.flatten().map(|entry| entry.path()).collect()
}

#[test]
fn the_compile_cache_survives_damage_and_races() {
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(|| inspect_with_cache(&workspace))).collect();
        for one in started {
            one.join().expect("no panic").expect_code(0);
        }
    });
    let files = compiled_files(&workspace);
    assert_eq!(files.len(), 1, "{files:?}");
    let sound = std::fs::read(&files[0]).expect("a file");
    for damage in [sound[..sound.len() / 2].to_vec(), Vec::new(), [b"x", sound.as_slice()].concat()] {
        std::fs::write(&files[0], damage).expect("written");
        let ended = inspect_with_cache(&workspace).expect_code(0);
        assert!(ended.stderr.contains("it is created again"), "{}", ended.stderr);
        assert_eq!(std::fs::read(&compiled_files(&workspace)[0]).expect("a file"), sound);
    }
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    std::fs::write(&files[0], flipped).expect("written");
    inspect_with_cache(&workspace).expect_code(0);
    assert_eq!(std::fs::read(&compiled_files(&workspace)[0]).expect("a file"), sound);
    assert!(
        inspect_with_cache(&workspace).expect_code(0).stderr.is_empty(),
        "nothing to say about a sound entry"
    );
}

#[cfg(unix)]
#[test]
fn compiled_code_that_others_can_write_is_not_loaded() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    inspect_with_cache(&workspace).expect_code(0);
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let (folder, file) = (workspace.path("cache/components"), compiled_files(&workspace).remove(0));
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).expect("set");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("set");
    let ended = inspect_with_cache(&workspace).expect_code(0);
    assert!(ended.stderr.contains("other users can write to it"), "{}", ended.stderr);
    assert_eq!((mode(&folder), mode(&compiled_files(&workspace)[0])), (0o700, 0o600));
}

#[test]
fn compilation_is_bounded_in_time_and_memory() {
    use gage_plugin::{
        AnyComponent, CompileLimits, ComponentCompiler, HostOptions, InstanceSetup, PluginHost,
    };
    let compiler = ComponentCompiler::Child {
        program: env!("CARGO_BIN_EXE_gage-host").into(),
        arguments: vec!["compile-component".to_owned()],
    };
    let load = |limits: CompileLimits| {
        let options =
            HostOptions { compiler: compiler.clone(), compile_limits: limits, ..HostOptions::default() };
        let host = PluginHost::new(&options).expect("an engine");
        AnyComponent::load(&host, "recall", gage_test_guests::BARE_WORD_RECALL, &InstanceSetup::default())
    };
    let usual = CompileLimits::default();
    assert!(load(usual).is_ok());
    let message = |limits| load(limits).err().map(|error| error.to_string()).unwrap_or_default();
    let hasty = CompileLimits { time: std::time::Duration::ZERO, ..usual };
    assert_eq!(message(hasty), "plugin 'recall': it did not compile within 0 s");
    let small = CompileLimits { memory_bytes: 96 << 20, ..usual };
    let found = message(small);
    assert!(found.starts_with("plugin 'recall': it does not compile within 96 MiB of memory"), "{found}");
}

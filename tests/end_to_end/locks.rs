//! Locks: missing files, suggested commands, and placeholders of a RunConfig inside longer texts.

use crate::server::Server;
use crate::support::{CommandOutput, Workspace};
use crate::verifying::{canonical, digest_of};
use crate::words_suite::{LOCK, RUN_CONFIG, freeze, write_suite};
use std::fs;

const SUITE: &str = "config/custom/words.yaml";

#[test]
fn missing_or_changed_component_of_a_folder_is_named() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let suite = workspace.read("config/custom/words.yaml");
    let entry = "plugins:\n  - {id: words, source: '${config_dir}/words.wasm'}\n";
    assert!(suite.contains(entry));
    workspace.write("config/custom/words.yaml", suite.replace(entry, ""));
    let component = workspace.write("more/words.wasm", gage_test_guests::BARE_WORD_RECALL);
    let run = |command: &[&str]| {
        let rest = ["config/custom/words.yaml", "--plugin-dir", "more"];
        workspace.run(&[&command[..1], rest.as_slice(), &command[1..]].concat())
    };
    let locked = run(&["lock"]).expect_code(0);
    assert!(locked.stdout.contains("--locked --plugin-dir more"), "{}", locked.stdout);
    run(&["run", "--locked"]).expect_code(0);
    for (case, found) in [(None, "(nothing)"), (Some("no component"), "sha256:")] {
        match case {
            None => fs::remove_file(&component).expect("removed"),
            Some(text) => fs::write(&component, text).expect("written"),
        }
        for command in [["run", "--locked"], ["lock", "--check"]] {
            let ended = run(&command).expect_code(3);
            let row = ended.stderr.lines().find(|line| line.contains("plugins.words.digest"));
            assert!(row.is_some_and(|row| row.contains(found)), "{}", ended.stderr);
        }
    }
}

#[test]
fn suggested_command_quotes_file_names() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let made = workspace
        .run(&["distill", "config/custom/words.yaml", "--builtin-name", "words", "--templates", "my own"])
        .expect_code(0);
    let next = |ended: &CommandOutput| {
        let line = ended.stdout.lines().find_map(|line| line.strip_prefix("next: gage-host "));
        line.map(str::to_owned).unwrap_or_else(|| panic!("no next command: {}", ended.stdout))
    };
    assert_eq!(next(&made), "init words --templates 'my own'");
    let made = workspace.run(&["init", "words", "--templates", "my own"]).expect_code(0);
    assert_eq!(next(&made), "lock ./run_configs/words_run_1.yaml");
    let made = workspace.run(&["lock", "run_configs/words_run_1.yaml", "--lock", "a b"]).expect_code(0);
    assert_eq!(next(&made), "run run_configs/words_run_1.yaml --locked --lock 'a b'");
    workspace.run(&["run", "run_configs/words_run_1.yaml", "--locked", "--lock", "a b"]).expect_code(0);
}

#[cfg(unix)]
#[test]
fn matching_lock_is_not_rewritten() {
    use std::os::unix::fs::MetadataExt as _;
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    freeze(&workspace);
    // A rewritten file would have another inode.
    let file = || fs::metadata(workspace.path(LOCK)).expect("a lock").ino();
    let before = file();
    for update in [["--update"].as_slice(), &["--update", "datasets"]] {
        let same = workspace.run(&[["lock", RUN_CONFIG].as_slice(), update].concat()).expect_code(0);
        assert!(same.stdout.contains("as it was, nothing written"), "{}", same.stdout);
        assert_eq!(file(), before);
    }
}

#[test]
fn placeholder_inside_a_text_is_filled_locked_and_redacted() {
    let server = Server::answering();
    let workspace = Workspace::new();
    let address = server.server.uri();
    let host = address.strip_prefix("http://").expect("an address");
    let backend = "type: openai_http\n    config: {base_url: 'http://${runtime.global.host:-127.0.0.1:9}/v1', model: m, extra_body: {upstream: 'ftp://me:${runtime.global.password:-}@h/${runtime.global.name:-n}'}}";
    write_suite(&workspace, backend, "");
    workspace.run(&["distill", "config/custom/words.yaml", "--builtin-name", "words"]).expect_code(0);
    workspace.run(&["init", "words"]).expect_code(0);
    let made = workspace.read(RUN_CONFIG);
    let (before, _) = made.split_once("  global:").expect("what the template takes");
    let with = |host: &str, name: &str| {
        let global = format!("  global: {{host: '{host}', password: 'p,w\"1', name: {name}}}\n");
        workspace.write(RUN_CONFIG, format!("{before}{global}"));
    };
    with(host, "one");
    workspace.run(&["lock", RUN_CONFIG]).expect_code(0);
    workspace.run(&["run", RUN_CONFIG, "--locked", "--run-id", "r"]).expect_code(0);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    let locked = workspace.read(LOCK);
    assert!(locked.contains(&format!("{address}/v1")), "{locked}");
    for file in ["config.yaml", "manifest.json", "gage.lock", "events.jsonl"] {
        let text = workspace.read(&format!("runs/r/{file}"));
        assert!(!text.contains("p,w") && !text.contains("${runtime.global.host"), "{file}: {text}");
    }
    for (host, name, field) in [
        (host, "two", "settings.backends.model.config.extra_body.upstream"),
        ("127.0.0.1:9", "one", "settings.backends.model.config.base_url"),
    ] {
        with(host, name);
        let other = workspace.run(&["run", RUN_CONFIG, "--locked"]).expect_code(3);
        assert!(other.stderr.contains(field), "{}", other.stderr);
    }
}

#[test]
fn run_config_parameters_can_be_set_by_a_flag() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let suite = workspace.read(SUITE).replace(
        "metrics: [exact_match, words]",
        "metrics: [exact_match, {regex_match: {pattern: '${runtime.global.pattern:-answer}'}}]",
    );
    workspace.write(SUITE, suite);
    workspace.run(&["distill", SUITE, "--builtin-name", "words"]).expect_code(0);
    workspace.run(&["init", "words"]).expect_code(0);
    workspace.run(&["lock", RUN_CONFIG]).expect_code(0);
    let set = ["--set", "runtime.global.pattern=nothing", "--set", "runtime.tasks.rows.max_samples=3"];
    workspace.run(&[&["run", RUN_CONFIG, "--run-id", "r"][..], &set].concat()).expect_code(0);
    assert!(workspace.read("runs/r/config.yaml").contains("pattern: nothing"));
    assert_eq!(workspace.samples("r").len(), 3);
    let locked = workspace.run(&[&["run", RUN_CONFIG, "--locked"][..], &set].concat()).expect_code(3);
    assert!(locked.stderr.contains("settings.metrics[1]"), "{}", locked.stderr);
    for (file, set, expected) in [
        (RUN_CONFIG, "runtime.global.patterns=x", "no placeholder ${runtime.global.patterns}"),
        (RUN_CONFIG, "runtime.tasks.other.max_samples=1", "the template has no `other` among its tasks"),
        (RUN_CONFIG, "runtime.tasks.rows.dataset_id=x", "the template defines it"),
        (RUN_CONFIG, "runtime.globals.pattern=x", "unknown key `globals` in `runtime`"),
        (SUITE, "runtime.global.pattern=x", "unknown key `runtime`"),
    ] {
        let refused = workspace.run(&["validate", file, "--set", set]).expect_code(2);
        assert!(refused.stderr.contains(expected), "{set}: {}", refused.stderr);
    }
}

#[test]
fn template_names_the_secret_defaults_that_it_drops() {
    let workspace = Workspace::new();
    let backend = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m, api_key: '${MY_OWN:-value-1}', headers: {X-Api-Key: '${OTHER:-value-2}'}}";
    write_suite(&workspace, backend, "");
    let made = workspace.run(&["distill", SUITE, "--builtin-name", "words"]).expect_code(0);
    for (key, variable) in [("api_key", "MY_OWN"), ("X-Api-Key", "OTHER")] {
        let message = format!("{key}: the secret is not in the template; set ${{{variable}}} where it runs");
        assert!(made.stderr.contains(&message), "{}", made.stderr);
    }
    let template = workspace.read("config/builtin_templates/words/v1.yaml");
    assert!(template.contains("${MY_OWN:-}") && !template.contains("value-"), "{template}");
}

#[test]
fn lock_update_accepts_changes_with_arguments_in_any_order() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let suite = workspace.read(SUITE);
    let with =
        suite.replace("prompt_id: ask}", "prompt_id: ask, prompt_params: {who: '${WHO_TOKEN}'}}").replace(
            "{{ sample.messages[0].content[0].text }}",
            "{{ params.who }} {{ sample.messages[0].content[0].text }}",
        );
    workspace.write(SUITE, with);
    let run = |who: &str, arguments: &[&str]| workspace.run_with_env([("WHO_TOKEN", who)], arguments);
    run("one", &["lock", SUITE]).expect_code(0);
    for (who, update) in [
        ("two", ["lock", "--update", SUITE].as_slice()),
        ("three", &["lock", SUITE, "--update"]),
        // This is the order of the help text.
        ("four", &["lock", SUITE, "--update", "settings"]),
    ] {
        let differing = run(who, &["lock", SUITE, "--check"]).expect_code(3);
        for field in
            ["prompts.dut.digest", "role_adapters.dut.prompt_params.who", "lock SUITE --update settings"]
        {
            assert!(differing.stdout.contains(field), "{field}: {}", differing.stdout);
        }
        let updated = run(who, update).expect_code(0);
        assert!(updated.stdout.contains("updated") && updated.stderr.is_empty(), "{}", updated.transcript());
        run(who, &["lock", SUITE, "--check"]).expect_code(0);
        run(who, &["run", SUITE, "--locked", "--run-id", who]).expect_code(0);
    }
    for (part, advice) in
        [("settings", "gage-host lock SUITE --update settings"), ("", "gage-host lock SUITE --update")]
    {
        let update = format!("--update={part}");
        let refused = run("four", &["lock", &update]).expect_code(2);
        assert!(
            refused.stderr.contains("no suite is given") && refused.stderr.contains(advice),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn rows_are_locked_and_checked() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let lock = "config/custom/words.gage.lock";
    workspace.run(&["lock", SUITE]).expect_code(0);
    assert!(workspace.read(lock).contains("rows: 40"));
    // A lock with another number of rows and a valid digest.
    let forged = workspace.read(lock).replace("rows: 40", "rows: 41");
    workspace.write(lock, lock_with_digest(&forged));
    let differing = workspace.run(&["lock", SUITE, "--check"]).expect_code(3);
    let row = differing.stdout.lines().find(|line| line.contains("datasets.rows.rows"));
    assert!(row.is_some_and(|row| row.contains("41") && row.contains("40")), "{}", differing.stdout);
    // The lock of an unlocked run holds no number of rows, and can be used.
    workspace.run(&["run", SUITE, "--run-id", "r"]).expect_code(0);
    assert!(!workspace.read("runs/r/gage.lock").contains("rows: 40"));
    workspace.run(&["lock", SUITE, "--check", "--lock", "runs/r/gage.lock"]).expect_code(0);
    workspace.run(&["run", SUITE, "--locked", "--lock", "runs/r/gage.lock"]).expect_code(0);
}

/// Returns a lock with the digest of its content.
fn lock_with_digest(lock: &str) -> String {
    let (body, _) = lock.rsplit_once("digest: ").expect("a digest");
    let mut value: serde_json::Value = serde_yaml::from_str(body).expect("YAML");
    for key in ["format", "format_version", "must-understand"] {
        value.as_object_mut().expect("a mapping").remove(key);
    }
    let digest = digest_of(canonical(&value).as_bytes());
    format!("{body}digest: \"{digest}\"\n")
}

#[test]
fn lock_names_a_field_alike_if_its_component_is_unusable() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let suite = workspace.read(SUITE);
    let by_file =
        suite.replace("metrics: [exact_match, words]", "metrics: [exact_match, '${config_dir}/words.wasm']");
    let entry = "plugins:\n  - {id: words, source: '${config_dir}/words.wasm'}\n";
    workspace.write(SUITE, by_file.replace(entry, ""));
    workspace.run(&["lock", SUITE]).expect_code(0);
    for component in [None, Some(gage_test_guests::SCRIPTED_BACKEND)] {
        match component {
            None => fs::remove_file(workspace.path("config/custom/words.wasm")).expect("removed"),
            Some(other) => drop(workspace.write("config/custom/words.wasm", other)),
        }
        let ended = workspace.run(&["lock", SUITE, "--check"]).expect_code(3);
        let message = ended.transcript();
        assert!(message.contains(r#"plugins["${config_dir}/words.wasm"].digest"#), "{message}");
    }
}

/// `--resume` and `--locked` accept the same changes.
#[test]
fn resume_accepts_every_change_that_a_lock_accepts() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    workspace.run(&["lock", SUITE]).expect_code(0);
    workspace.run(&["run", SUITE, "--run-id", "r"]).expect_code(0);
    let samples = workspace.read("runs/r/samples.jsonl");
    let backend = |entry: &str| format!("backends.model.config.{entry}");
    for accepted in [backend("timeout=7"), backend("max_concurrency=1"), "task_parallelism=2".to_owned()] {
        workspace.run(&["run", SUITE, "--resume", "r", "--set", &accepted]).expect_code(0);
        workspace.run(&["run", SUITE, "--locked", "--set", &accepted]).expect_code(0);
    }
    assert_eq!(workspace.read("runs/r/samples.jsonl"), samples);
    let model = backend("model=other");
    let refused = workspace.run(&["run", SUITE, "--resume", "r", "--set", &model]).expect_code(2);
    assert!(refused.stderr.contains("config.backends[0].config.model: "), "{}", refused.stderr);
    workspace.run(&["run", SUITE, "--locked", "--set", &model]).expect_code(3);
    workspace.run(&["verify", "r"]).expect_code(0);
}

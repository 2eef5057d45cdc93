//! Suites of strangers: with `--untrusted`, each way of reaching something is refused, and the flag that the refusal names
//! allows it.

use crate::hub_server::HubServer;
use crate::support::{Workspace, rows};
use serde_json::{Value, json};

/// A backend that needs no host.
const BACKEND: &str =
    "type: custom_script\n    config: {component: suite/scripted.wasm, config: {default: answer 0}}";
/// The refusals of a suite that may reach everything it names.
const NONE: [(String, String); 0] = [];
/// The value of the variable `ATTACK_SECRET`.
const SECRET: &str = "hunter2-hunter2";

/// Returns a suite in the folder `suite` that reaches nothing else.
fn suite() -> String {
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - dataset_id: rows
    loader: jsonl
    params: {{path: suite/rows.jsonl}}
backends:
  - backend_id: model
    {BACKEND}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
metrics: [exact_match]
custom:
  steps: [{{step: inference}}, {{step: auto_eval}}]
"
    )
}

/// Returns a workspace with the suite in one folder, and files that it may not read in another.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("suite/suite.yaml", suite());
    for folder in ["suite", "other"] {
        workspace.write(&format!("{folder}/rows.jsonl"), rows(3));
        workspace.write(&format!("{folder}/scripted.wasm"), gage_test_guests::SCRIPTED_BACKEND);
        workspace.write(&format!("{folder}/words.wasm"), gage_test_guests::BARE_WORD_RECALL);
    }
    workspace.write("other/labels.txt", "a\nb\nc\n");
    workspace.write("other/key.txt", SECRET);
    workspace.write("other/tokenizer_config.json", json!({"chat_template": "{{ messages }}"}).to_string());
    workspace
}

/// Returns the keys of the refusals of a command that prints problems as JSON, each with the flag that would allow it.
fn refusals(workspace: &Workspace, arguments: &[&str]) -> Vec<(String, String)> {
    let ended = workspace.run_with_env([("ATTACK_SECRET", SECRET)], arguments);
    assert!(!ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET), "{}", ended.stdout);
    let problems = ended.stdout_json()["problems"].as_array().expect("problems").clone();
    let flag = |problem: &Value| {
        let flag = problem["help"].as_str()?.strip_prefix("allow it with `")?.strip_suffix('`')?.to_owned();
        assert!(problem["line"].is_u64() && ended.code == Some(2), "{problem}");
        Some((problem["key"].as_str()?.to_owned(), flag))
    };
    problems.iter().filter_map(flag).collect()
}

/// A change of the suite by which it reaches something.
struct Attack {
    old: &'static str,
    new: String,
    /// The key of the refusal.
    key: &'static str,
    /// The flag that allows it. `OTHER` is the other folder.
    flag: String,
    /// Flags for what else the suite reaches.
    given: &'static [&'static str],
}

impl Attack {
    /// Checks that the attack is refused, and that it is allowed with the flag.
    fn check(&self, workspace: &Workspace) {
        let Attack { old, new, key, flag, given } = self;
        let other = workspace.path("other").canonicalize().expect("a folder").display().to_string();
        let (new, flag) = (new.replace("OTHER", &other), flag.replace("OTHER", &other));
        let text = suite();
        assert!(text.contains(old), "{old}");
        workspace.write("suite/suite.yaml", text.replace(old, &new));
        let validate = ["validate", "suite/suite.yaml", "--json"];
        let untrusted = [&validate[..], &["--untrusted"], given].concat();
        assert_eq!(refusals(workspace, &untrusted), [((*key).to_owned(), flag.clone())], "{new}");
        let allowed: Vec<&str> = untrusted.iter().copied().chain(flag.split(' ')).collect();
        assert_eq!(refusals(workspace, &allowed), NONE, "{new}");
        assert_eq!(refusals(workspace, &validate), NONE, "{new}");
    }
}

fn check_all(attacks: &[Attack]) {
    let workspace = workspace();
    #[cfg(unix)]
    std::os::unix::fs::symlink(workspace.path("other/rows.jsonl"), workspace.path("suite/link.jsonl"))
        .expect("linked");
    attacks.iter().for_each(|attack| attack.check(&workspace));
}

#[cfg(unix)]
#[test]
fn files_of_a_dataset_are_those_of_its_folder() {
    let attack = |old: &'static str, new: &str, key: &'static str| Attack {
        old,
        new: new.to_owned(),
        key,
        flag: "--allow-read OTHER".to_owned(),
        given: &[],
    };
    let (path, params) = ("suite/rows.jsonl", "{path: suite/rows.jsonl}");
    let with = |extra: &str| format!("{{path: suite/rows.jsonl, {extra}}}");
    check_all(&[
        attack(path, "other/rows.jsonl", "datasets[0].params.path"),
        attack(path, "OTHER/rows.jsonl", "datasets[0].params.path"),
        attack(path, "suite/../other/rows.jsonl", "datasets[0].params.path"),
        attack(path, "suite/link.jsonl", "datasets[0].params.path"),
        attack(path, "[suite/rows.jsonl, other/rows.jsonl]", "datasets[0].params.path"),
        attack(params, &with("labels_path: other/labels.txt"), "datasets[0].params.labels_path"),
        attack(
            params,
            &with("few_shot: {path: other/rows.jsonl, count: 1}"),
            "datasets[0].params.few_shot.path",
        ),
        attack(params, &with("content_root: other"), "datasets[0].params.content_root"),
        attack(params, &with("preprocess_kwargs: {content_root: other}"), "datasets[0].params.content_root"),
        attack(params, &with("media: {allowed_roots: [other]}"), "datasets[0].params.media.allowed_roots"),
        attack(
            params,
            &with("tokenizer_config: other/tokenizer_config.json"),
            "datasets[0].params.tokenizer_config",
        ),
        attack(params, &with("preprocess: other/words.wasm"), "datasets[0].params.preprocess"),
    ]);
}

#[cfg(unix)]
#[test]
fn files_of_backends_and_plugins_are_those_of_its_folder() {
    let attack = |old: &'static str, new: &str, key: &'static str, given: &'static [&'static str]| Attack {
        old,
        new: new.to_owned(),
        key,
        flag: "--allow-read OTHER".to_owned(),
        given,
    };
    let http = |extra: &str| {
        format!("type: openai_http\n    config: {{base_url: 'http://127.0.0.1:9/v1', model: m, {extra}}}")
    };
    let llama = |files: &str| format!("type: llama_cpp\n    config: {{{files}}}");
    let host: &[&str] = &["--allow-net", "127.0.0.1:9"];
    check_all(&[
        attack("component: suite", "component: other", "backends[0].config.component", &[]),
        attack("[exact_match]", "[other/words.wasm]", "metrics[0]", &[]),
        attack(
            "datasets:",
            "plugins: [{id: w, source: other/words.wasm}]\ndatasets:",
            "plugins[0].source",
            &[],
        ),
        attack("custom:", "cache: other/cache\ncustom:", "cache", &[]),
        attack("custom:", "cache: {path: other/cache}\ncustom:", "cache.path", &[]),
        attack(BACKEND, &http("api_key_file: other/key.txt"), "backends[0].config.api_key_file", host),
        attack(BACKEND, &http("ca_certificate: other/key.txt"), "backends[0].config.ca_certificate", host),
        attack(BACKEND, &llama("model_path: other/m.gguf"), "backends[0].config.model_path", &[]),
        attack(
            BACKEND,
            &llama("model_path: suite/m.gguf, mmproj: other/p.gguf"),
            "backends[0].config.mmproj",
            &[],
        ),
        attack(
            BACKEND,
            &llama("model_path: suite/m.gguf, lora: {path: other/l.gguf}"),
            "backends[0].config.lora.path",
            &[],
        ),
    ]);
}

#[cfg(unix)]
#[test]
fn variables_are_refused_wherever_a_suite_names_them() {
    let attack = |old: &'static str, new: &str, key: &'static str, given: &'static [&'static str]| Attack {
        old,
        new: new.to_owned(),
        key,
        flag: "--allow-env ATTACK_SECRET".to_owned(),
        given,
    };
    let default = "backends[0].config.config.default";
    let grants = "grants: {http: [{host: 127.0.0.1}], secrets: [ATTACK_SECRET]}";
    let plugin = format!("plugins: [{{id: s, source: suite/scripted.wasm, {grants}}}]\ndatasets:");
    let http = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9', model: m, api_key_env: ATTACK_SECRET}";
    check_all(&[
        attack("answer 0", "'is ${ATTACK_SECRET}'", default, &[]),
        attack("answer 0", "'${ATTACK_SECRET:-none}'", default, &[]),
        attack("answer 0", "'${UNSET:-${ATTACK_SECRET}}'", default, &["--allow-env", "UNSET"]),
        attack(
            "[exact_match]",
            "[exact_match: {case_sensitive: '${ATTACK_SECRET}'}]",
            "metrics[0].exact_match.case_sensitive",
            &[],
        ),
        attack(BACKEND, http, "backends[0].config.api_key_env", &["--allow-net", "127.0.0.1:9"]),
        attack("datasets:", &plugin, "plugins[0].grants.secrets[0]", &["--allow-net", "127.0.0.1"]),
    ]);
}

#[cfg(unix)]
#[test]
fn hosts_are_refused_wherever_a_suite_names_them() {
    let attack = |old: &'static str, new: &str, key: &'static str, host: &str| Attack {
        old,
        new: new.to_owned(),
        key,
        flag: format!("--allow-net {host}"),
        given: &[],
    };
    let http = |config: &str| format!("type: openai_http\n    config: {{model: m, {config}}}");
    let llama = |model: &str| format!("type: llama_cpp\n    config: {{model_path: '{model}'}}");
    let files = "loader: jsonl\n    params: {path: suite/rows.jsonl}";
    let hub = "loader: hf_hub\n    params: {hub_id: o/n, endpoint: 'http://127.0.0.1:9'}";
    let offline_hub = hub.replace("o/n,", "o/n, offline: true,");
    let grant = "plugins: [{id: s, source: suite/scripted.wasm, grants: {http: [{host: api.example.com}]}}]\ndatasets:";
    check_all(&[
        attack(
            BACKEND,
            &http("base_url: 'http://127.0.0.1:9/v1'"),
            "backends[0].config.base_url",
            "127.0.0.1:9",
        ),
        // The same address, as a number.
        attack(
            BACKEND,
            &http("base_url: 'http://2130706433:9'"),
            "backends[0].config.base_url",
            "127.0.0.1:9",
        ),
        attack(BACKEND, &http("base_url: 'http://[::1]:9'"), "backends[0].config.base_url", "[::1]:9"),
        attack(
            BACKEND,
            "type: anthropic_http\n    config: {model: m}",
            "backends[0].config.base_url",
            "api.anthropic.com",
        ),
        Attack {
            given: &["--allow-net", "api.example.com"],
            ..attack(
                BACKEND,
                &http("base_url: 'https://api.example.com', proxy: 'http://127.0.0.1:3128'"),
                "backends[0].config.proxy",
                "127.0.0.1:3128",
            )
        },
        attack(BACKEND, &llama("hub:o/n/m.gguf"), "backends[0].config.model_path", "huggingface.co"),
        attack(
            BACKEND,
            &llama("https://example.org/o/n/resolve/main/m.gguf"),
            "backends[0].config.model_path",
            "example.org",
        ),
        attack(files, hub, "datasets[0].params.endpoint", "127.0.0.1:9"),
        // The cache holds what the user fetched, so a suite that forbids the network itself needs the host too.
        attack(files, &offline_hub, "datasets[0].params.endpoint", "127.0.0.1:9"),
        attack("datasets:", grant, "plugins[0].grants.http[0].host", "api.example.com"),
    ]);
}

#[test]
fn only_the_users_own_offline_flag_replaces_a_permission() {
    let workspace = workspace();
    let hub = "loader: hf_hub\n    params: {hub_id: o/n, endpoint: 'http://127.0.0.1:9', offline: true}";
    let text = suite().replace("loader: jsonl\n    params: {path: suite/rows.jsonl}", hub);
    workspace.write("suite/suite.yaml", text);
    let refusal = "the suite may not connect to the host 127.0.0.1:9";
    for (flag, is_refused) in [("--quiet", true), ("--offline", false)] {
        let stats = ["data", "stats", "suite/suite.yaml", "--untrusted", flag];
        let ended = workspace.run(&stats).expect_code(2);
        assert_eq!(ended.stderr.contains(refusal), is_refused, "{flag}: {}", ended.stderr);
        // Without the refusal, the empty cache is the error.
        assert_eq!(ended.stderr.contains("fetch it once without offline mode"), !is_refused, "{flag}");
    }
}

#[test]
fn token_of_the_hub_is_sent_to_the_hub_if_it_is_allowed() {
    let workspace = workspace();
    let (hub, other) = (HubServer::start(), HubServer::start());
    let lock = |model: &str, flags: &[&str]| {
        let llama = format!("type: llama_cpp\n    config: {{model_path: '{model}'}}");
        workspace.write("suite/suite.yaml", suite().replace(BACKEND, &llama));
        let variables = [("HF_TOKEN", SECRET.to_owned()), ("HF_ENDPOINT", hub.endpoint())];
        let arguments = [&["lock", "suite/suite.yaml"], flags].concat();
        workspace.run_with_env(variables, &arguments).expect_code(2).stderr
    };
    let sent = |server: &HubServer| {
        let seen = server.seen();
        seen.last().expect("a request").headers.get("authorization").cloned()
    };
    let token = Some(format!("Bearer {SECRET}"));
    let host = hub.endpoint().replace("http://", "");
    let allowed = ["--untrusted", "--allow-net", host.as_str()];
    let refused = lock("hub:o/n/m.gguf", &allowed);
    assert!(refused.contains("allow it with `--allow-env HF_TOKEN`"), "{refused}");
    assert_eq!(sent(&hub), None);
    let shown = lock("hub:o/n/m.gguf", &[&allowed[..], &["--allow-env", "HF_TOKEN"]].concat());
    assert!(!shown.contains("--allow-env"), "{shown}");
    assert_eq!(sent(&hub), token);
    lock("hub:o/n/m.gguf", &["--trusted"]);
    assert_eq!(sent(&hub), token);
    lock(&format!("{}/o/n/resolve/main/m.gguf", other.endpoint()), &["--trusted"]);
    assert_eq!(sent(&other), None);
}

#[test]
fn all_refusals_come_at_once_with_their_places() {
    let workspace = workspace();
    let text = suite().replace("suite/rows.jsonl", "other/rows.jsonl").replace(
        BACKEND,
        "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9', model: '${MODEL_NAME}'}",
    );
    workspace.write("suite/suite.yaml", text);
    let ended = workspace.run(&["validate", "suite/suite.yaml", "--untrusted"]).expect_code(2);
    let other = workspace.path("other").canonicalize().expect("a folder");
    let other = other.display();
    for expected in [
        format!("the file {other}/rows.jsonl is outside the suite's folder").as_str(),
        format!("allow it with `--allow-read {other}`").as_str(),
        "the suite may not connect to the host 127.0.0.1:9",
        "the suite may not read the environment variable MODEL_NAME",
        "suite.yaml:6:",
        "3 errors",
    ] {
        assert!(ended.stderr.contains(expected), "{expected}\n{}", ended.stderr);
    }
}

#[test]
fn values_of_the_command_line_are_the_suites_too() {
    let workspace = workspace();
    let set = "backends.model.config.config.default=${ATTACK_SECRET}";
    let validate = ["validate", "suite/suite.yaml", "--json", "--untrusted", "--set", set];
    let refused = ("backends.model.config.config.default".to_owned(), "--allow-env ATTACK_SECRET".to_owned());
    assert_eq!(refusals(&workspace, &validate), [refused]);
    let allowed = [&validate[..], &["--allow-env", "ATTACK_SECRET"]].concat();
    assert_eq!(refusals(&workspace, &allowed), NONE);
}

#[test]
fn template_of_another_folder_is_refused() {
    let workspace = workspace();
    let distill = ["distill", "suite/suite.yaml", "--builtin-name", "t", "--templates", "other/templates"];
    workspace.run(&distill).expect_code(0);
    let init = ["init", "t", "--output", "suite/run.yaml", "--templates", "other/templates"];
    workspace.run(&init).expect_code(0);
    let validate = ["validate", "suite/run.yaml", "--json", "--untrusted"];
    let refused = refusals(&workspace, &validate);
    assert!(matches!(refused.as_slice(), [(key, _)] if key == "template_path"), "{refused:?}");
    let allowed = [&validate[..], &["--allow-read", "other"]].concat();
    workspace.run(&allowed).expect_code(0);
}

#[test]
fn template_whose_name_leads_elsewhere_is_refused() {
    let workspace = workspace();
    let distill = ["distill", "suite/suite.yaml", "--builtin-name", "t", "--templates", "other/templates"];
    workspace.run(&distill).expect_code(0);
    let template = workspace.read("other/templates/t/v1.yaml");
    workspace.write("other/templates/t/v1.yaml", template.replacen("name: t\n", "name: ../../t\n", 1));
    let ended = workspace.run(&["init", "t", "--templates", "other/templates"]).expect_code(2);
    for expected in ["the name '../../t' contains the character '/'", "v1.yaml:6:"] {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    assert!(!workspace.path("t_run_1.yaml").exists());
}

#[cfg(unix)]
#[test]
fn link_in_a_folder_of_the_suite_is_not_followed() {
    let workspace = workspace();
    let text = suite().replace("rows.jsonl}", "rows.jsonl, tokenizer_config: suite/tokenizer}");
    workspace.write("suite/suite.yaml", text);
    std::fs::create_dir(workspace.path("suite/tokenizer")).expect("made");
    let linked = workspace.path("suite/tokenizer/tokenizer_config.json");
    std::os::unix::fs::symlink(workspace.path("other/tokenizer_config.json"), linked).expect("linked");
    workspace.run(&["validate", "suite/suite.yaml"]).expect_code(0);
    let ended = workspace.run(&["validate", "suite/suite.yaml", "--untrusted"]).expect_code(2);
    assert!(ended.stderr.contains("tokenizer_config.json leads to "), "{}", ended.stderr);
    let allowed = ["validate", "suite/suite.yaml", "--untrusted", "--allow-read", "other"];
    workspace.run(&allowed).expect_code(0);
}

#[cfg(unix)]
#[test]
fn lock_of_another_folder_is_refused() {
    let workspace = workspace();
    workspace.run(&["lock", "suite/suite.yaml"]).expect_code(0);
    let (lock, elsewhere) =
        (workspace.path("suite/suite.gage.lock"), workspace.path("other/suite.gage.lock"));
    std::fs::rename(&lock, &elsewhere).expect("moved");
    std::os::unix::fs::symlink(&elsewhere, &lock).expect("linked");
    for command in [["run", "suite/suite.yaml", "--locked"], ["lock", "suite/suite.yaml", "--check"]] {
        let untrusted = [&command[..], &["--untrusted"]].concat();
        let ended = workspace.run(&untrusted).expect_code(2);
        assert!(ended.stderr.contains("suite.gage.lock leads to "), "{}", ended.stderr);
        let allowed = [&untrusted[..], &["--allow-read", "other"]].concat();
        workspace.run(&allowed).expect_code(0);
    }
}

#[cfg(unix)]
#[test]
fn links_in_the_cache_of_a_suite_are_not_written_through() {
    let workspace = workspace();
    workspace.write("suite/suite.yaml", suite().replace("custom:", "cache: suite/cache\ncustom:"));
    std::fs::create_dir_all(workspace.path("suite/cache/v1")).expect("made");
    for number in 0..256 {
        let link = workspace.path(&format!("suite/cache/v1/{number:02x}"));
        std::os::unix::fs::symlink(workspace.path("other"), link).expect("linked");
    }
    let count = || std::fs::read_dir(workspace.path("other")).expect("a folder").count();
    let before = count();
    let run = ["run", "suite/suite.yaml", "--run-id", "r", "--untrusted"];
    let ended = workspace.run(&run).expect_code(0);
    let expected = "is a symbolic link, which is not followed here; the run continues without caching";
    assert_eq!(ended.stderr.matches(expected).count(), 1, "{}", ended.stderr);
    assert_eq!(workspace.json("r", "timings.json")["backends"]["model"]["cache"]["unwritten"], 3);
    assert_eq!(count(), before);
}

#[test]
fn every_command_that_loads_a_suite_restricts_it() {
    let workspace = workspace();
    workspace.run(&["run", "suite/suite.yaml", "--run-id", "r"]).expect_code(0);
    workspace.write("gate.yaml", "gate: [{metric: '${ATTACK_SECRET}', margin: 0.1}]\n");
    let suite = "suite/hostile.yaml";
    workspace.write(suite, suite_with_secret());
    for command in [
        vec!["run", suite],
        vec!["run", suite, "--resume"],
        vec!["plan", suite],
        vec!["validate", suite],
        vec!["lock", suite],
        vec!["score", "r", "--config", suite],
        vec!["compare", "r", "r", "--gate", "gate.yaml"],
        vec!["distill", suite, "--builtin-name", "t"],
        vec!["data", "preview", suite],
        vec!["data", "preview", suite, "--rendered"],
        vec!["data", "validate", suite],
        vec!["data", "stats", suite],
        vec!["list", "--config", suite],
        vec!["metrics", "--config", suite],
        vec!["metrics", "exact_match", "--config", suite],
        vec!["plugin", "test", "suite/words.wasm", "--config", suite],
    ] {
        let arguments = [&command[..], &["--untrusted"]].concat();
        let ended = workspace.run_with_env([("ATTACK_SECRET", SECRET)], &arguments).expect_code(2);
        let expected = "the suite may not read the environment variable ATTACK_SECRET";
        assert!(ended.stderr.contains(expected), "{command:?}\n{}", ended.stderr);
        assert!(!ended.stderr.contains(SECRET) && !ended.stdout.contains(SECRET), "{command:?}");
    }
}

/// Returns a suite that names a variable in a text without effect.
fn suite_with_secret() -> String {
    suite().replace("datasets:", "metadata: {description: '${ATTACK_SECRET}'}\ndatasets:")
}

/// The suite of a recorded run names its components too.
#[test]
fn recorded_suite_reaches_only_its_run_folder() {
    let workspace = workspace();
    workspace.write("suite/suite.yaml", suite().replace("[exact_match]", "[exact_match, other/words.wasm]"));
    workspace.run(&["run", "suite/suite.yaml", "--run-id", "r"]).expect_code(0);
    for command in [vec!["score", "r", "--run-id", "again"], vec!["verify", "r"]] {
        let untrusted = [command.as_slice(), &["--untrusted"]].concat();
        let ended = workspace.run(&untrusted).expect_code(2);
        assert!(ended.stderr.contains("other/words.wasm is outside the suite's folder"), "{}", ended.stderr);
        let allowed = [untrusted.as_slice(), &["--allow-read", "other", "--allow-read", "suite"]].concat();
        workspace.run(&allowed).expect_code(0);
    }
    // A run is shown without requests if its suite may not use an entry of `plugins`. Metrics are not loaded for requests.
    let plugins = "plugins: [{id: words, source: ./other/words.wasm}]\ndatasets:";
    workspace.write("suite/suite.yaml", suite().replacen("datasets:", plugins, 1));
    workspace.run(&["run", "suite/suite.yaml", "--run-id", "s"]).expect_code(0);
    let expected = "other/words.wasm is outside the suite's folder; allow it with `--allow-read ";
    for (run_id, is_refused) in [("r", false), ("s", true)] {
        let shown = workspace.run(&["runs", "show", run_id, "--sample", "q0", "--untrusted"]).expect_code(0);
        assert_eq!(shown.stderr.contains(expected), is_refused, "{run_id}: {}", shown.stderr);
    }
    assert_eq!(
        workspace.json("again", "manifest.json")["permissions"]["allow_read"],
        json!(["other", "suite"])
    );
}

#[test]
fn manifest_records_permissions_and_no_run_compares_them() {
    let workspace = workspace();
    let run = |id: &str, flags: &[&str]| {
        workspace.run(&[&["run", "suite/suite.yaml", "--run-id", id], flags].concat()).expect_code(0);
        workspace.json(id, "manifest.json")["permissions"].clone()
    };
    assert_eq!(run("own", &[]), Value::Null);
    assert_eq!(run("alone", &["--untrusted"]), json!({"allow_env": [], "allow_read": [], "allow_net": []}));
    let flags = ["--untrusted", "--allow-env", "A,B", "--allow-read", "other", "--allow-net", "h:80"];
    let granted = json!({"allow_env": ["A", "B"], "allow_read": ["other"], "allow_net": ["h:80"]});
    assert_eq!(run("granted", &flags), granted);
    run("alone", &["--resume", "--untrusted", "--allow-env", "A"]);
    workspace.run(&["compare", "own", "granted"]).expect_code(0);
}

#[test]
fn policy_restricts_every_suite_and_flags_override_it() {
    let workspace = workspace();
    workspace.write("suite/suite.yaml", suite_with_secret());
    let validate = |flags: &[&str], code: i32| {
        let arguments = [&["validate", "suite/suite.yaml"], flags].concat();
        workspace.run_with_env([("ATTACK_SECRET", SECRET)], &arguments).expect_code(code)
    };
    let policy = ".config/gage-host/policy.yaml";
    validate(&[], 0);
    for flag in [["--allow-env", "ATTACK_SECRET"], ["--allow-read", "suite"], ["--allow-net", "h"]] {
        let ended = validate(&flag, 2);
        assert!(ended.stderr.contains(&format!("{} says what an untrusted suite may use", flag[0])));
    }
    workspace.write(policy, "untrusted: true\n");
    validate(&[], 2);
    validate(&["--allow-env", "ATTACK_SECRET"], 0);
    validate(&["--trusted"], 0);
    validate(&["--untrusted", "--allow-env", "ATTACK_SECRET"], 0);
    workspace.write(policy, "untrusted: true\nallow_env: [ATTACK_SECRET]\n");
    validate(&[], 0);
    validate(&["--untrusted", "--allow-env", "OTHER"], 2);
    workspace.write(policy, "allow_env: [ATTACK_SECRET]\n");
    validate(&["--untrusted"], 0);
    workspace.write(policy, "untrusted: perhaps\n");
    let ended = validate(&[], 2);
    assert!(ended.stderr.contains("policy.yaml:1:"), "{}", ended.stderr);
    let missing =
        workspace.run_with_env([("GAGE_HOST_POLICY", "none.yaml")], &["validate", "suite/suite.yaml"]);
    assert!(missing.expect_code(2).stderr.contains("cannot read the policy 'none.yaml'"));
}

#[test]
fn folder_that_is_allowed_must_exist() {
    let workspace = workspace();
    let arguments = ["validate", "suite/suite.yaml", "--untrusted", "--allow-read", "nowhere"];
    let ended = workspace.run(&arguments).expect_code(2);
    assert!(ended.stderr.contains("--allow-read: 'nowhere'"), "{}", ended.stderr);
}

#[test]
fn plan_lists_what_a_suite_uses() {
    let workspace = workspace();
    let shown = workspace.run(&["plan", "suite/suite.yaml"]).expect_code(0);
    let expected = "this suite uses\n  plugins    suite/scripted.wasm\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    let plugin =
        "plugins: [{id: w, source: other/words.wasm}]\nmetadata: {description: '${LANG:-}'}\ndatasets:";
    let http =
        "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9', model: m, api_key_env: A_KEY}";
    workspace.write("suite/suite.yaml", suite().replace("datasets:", plugin).replace(BACKEND, http));
    let ended = workspace.run(&["plan", "suite/suite.yaml", "--json"]).expect_code(0);
    assert_eq!(
        ended.stdout_json()["uses"],
        json!({
            "variables": ["A_KEY", "LANG"],
            "files": ["other/words.wasm"],
            "hosts": ["127.0.0.1:9"],
            "plugins": [{"id": "w", "source": "other/words.wasm", "grants": []}],
        })
    );
}

#[test]
fn help_shows_no_secret_of_a_variable() {
    let workspace = Workspace::new();
    let address = format!("http://me:{SECRET}@127.0.0.1:9");
    let variables = ["HF_ENDPOINT", "GAGE_HOST_OTLP_ENDPOINT", "GAGE_HOST_REPORT_HTTP_URL", "GAGE_HOST_SET"];
    for command in [vec!["run"], vec!["score"], vec!["lock"], vec!["model", "fetch"]] {
        let arguments = [command.as_slice(), &["--help"]].concat();
        let variables = variables.map(|name| (name, address.as_str()));
        let ended = workspace.run_with_env(variables, &arguments).expect_code(0);
        assert!(!ended.stdout.contains(SECRET), "{}", ended.stdout);
    }
}

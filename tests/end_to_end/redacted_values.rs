//! Redacted values that can change the results of a run: locks, resumes and checks notice another value.

use crate::server::Server;
use crate::support::Workspace;
use crate::words_suite::{LOCK, RUN_CONFIG, freeze, write_suite};

/// Creates a workspace with a suite whose backend has further keys.
fn workspace_with_keys(server: &Server, keys: &str) -> Workspace {
    let workspace = Workspace::new();
    let config = format!("config: {{base_url: '{}/v1', model: m, {keys}}}", server.server.uri());
    write_suite(&workspace, &format!("type: openai_http\n    {config}"), "");
    workspace
}

const SUITE: &str = "config/custom/words.yaml";
const RESUME: [&str; 4] = ["run", SUITE, "--resume", "r"];

#[test]
fn changed_redacted_value_fails_lock_and_resume() {
    let server = Server::answering();
    for (keys, place) in [
        ("extra_body: {style: '${STYLE_KEY}'}", "extra_body.style"),
        ("extra_body: {deep: [{signature: '${STYLE_KEY}'}]}", "extra_body.deep[0].signature"),
        ("extra_body: {friend_token: '${STYLE_KEY}'}", "extra_body.friend_token"),
        ("extra_body: {upstream: 'ftp://me:${STYLE_KEY}@h/a'}", "extra_body.upstream"),
    ] {
        let workspace = workspace_with_keys(&server, keys);
        let run = |style: &str, arguments: &[&str]| workspace.run_with_env([("STYLE_KEY", style)], arguments);
        run("short", &["lock", SUITE]).expect_code(0);
        run("short", &["lock", SUITE, "--check"]).expect_code(0);
        run("short", &["run", SUITE, "--locked", "--run-id", "r"]).expect_code(0);
        run("short", &RESUME).expect_code(0);
        let field = format!("settings.redacted[\"backends.model.config.{place}\"]");
        for command in [
            ["lock", SUITE, "--check"].as_slice(),
            &["run", SUITE, "--locked", "--run-id", "x"],
            &["lock", SUITE],
        ] {
            let ended = run("long", command).expect_code(3);
            let output = ended.transcript();
            assert!(
                output.contains(&field) && output.contains("set the variable of such a value"),
                "{keys}: {output}"
            );
            assert!(!workspace.path("runs/x").exists());
        }
        let resumed = run("long", &RESUME).expect_code(2);
        let expected = format!("redacted[\"backends.model.config.{place}\"]: \"sha256:");
        assert!(resumed.stderr.contains(&expected), "{keys}: {}", resumed.stderr);
        assert!(resumed.stderr.contains("set their variables"), "{}", resumed.stderr);
        // Scoring needs none of these values.
        workspace.run(&["verify", "r"]).expect_code(0);
        run("long", &["lock", SUITE, "--update", "settings"]).expect_code(0);
        run("long", &["lock", SUITE, "--check"]).expect_code(0);
    }
    // A literal value in the suite itself.
    let workspace = workspace_with_keys(&server, "extra_body: {friend_token: x}");
    workspace.run(&["lock", SUITE]).expect_code(0);
    let suite = workspace.read(SUITE).replace("friend_token: x", "friend_token: y");
    workspace.write(SUITE, suite);
    workspace.run(&["lock", SUITE, "--check"]).expect_code(3);
}

#[test]
fn credentials_are_no_part_of_a_lock() {
    let server = Server::answering();
    let keys = "api_key: '${THE_KEY}', headers: {Authorization: 'Bearer ${H_TOKEN}', X-Kind: plain}, \
                proxy: 'http://${PROXY_SECRET}'";
    let workspace = workspace_with_keys(&server, keys);
    let variables = |end: &str| {
        let address = server.server.uri().replace("http://127.0.0.1", "localhost");
        [
            ("THE_KEY", format!("sk-of-the-key-{end}")),
            ("H_TOKEN", format!("sk-of-a-header-{end}")),
            ("PROXY_SECRET", address),
        ]
    };
    let run = |end: &str, arguments: &[&str]| workspace.run_with_env(variables(end), arguments);
    run("1", &["lock", SUITE]).expect_code(0);
    run("2", &["lock", SUITE, "--check"]).expect_code(0);
    run("1", &["run", SUITE, "--locked", "--run-id", "r"]).expect_code(0);
    run("2", &RESUME).expect_code(0);
    workspace.run(&["verify", "r"]).expect_code(0);
    assert!(!workspace.read("config/custom/words.gage.lock").contains("redacted"));
}

#[test]
fn rescoring_needs_the_redacted_values_of_its_metrics() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let metric = "metrics: [exact_match, {regex_match: {pattern: '${STYLE_KEY}'}}, words]";
    let suite = workspace.read(SUITE).replace("metrics: [exact_match, words]", metric);
    workspace.write(SUITE, suite);
    let pattern = "^answer [0-7]$";
    let run = |style: Option<&str>, arguments: &[&str]| {
        workspace.run_with_env(style.map(|style| ("STYLE_KEY", style)), arguments)
    };
    run(Some(pattern), &["run", SUITE, "--run-id", "r"]).expect_code(0);
    let value = |run: &str| workspace.json(run, "summary.json")["metrics"][1]["value"].clone();
    assert_eq!(value("r"), 0.4);
    assert!(!workspace.read("runs/r/manifest.json").contains("answer [0-7]"));
    run(Some(pattern), &["verify", "r"]).expect_code(0);
    run(Some(pattern), &["score", "runs/r", "--run-id", "again"]).expect_code(0);
    assert_eq!(value("again"), 0.4);
    assert!(!workspace.read("runs/again/config.yaml").contains("answer [0-7]"));
    run(Some(pattern), &["verify", "again"]).expect_code(0);
    for (style, part) in [
        (
            None,
            "`metrics[1].regex_match.pattern` uses STYLE_KEY, which was not recorded because it is a secret, and is not set",
        ),
        (Some("^answer"), "`metrics[1].regex_match.pattern` uses STYLE_KEY, whose value differs"),
    ] {
        let verified = run(style, &["verify", "r"]).expect_code(3);
        assert!(
            verified.stdout.contains(part) && !verified.stdout.contains("NOT the same"),
            "{}",
            verified.stdout
        );
        let scored = run(style, &["score", "runs/r", "--run-id", "x"]).expect_code(2);
        assert!(scored.stderr.contains(part) && !workspace.path("runs/x").exists(), "{}", scored.stderr);
    }
    // Runs that were scored with different values cannot be compared.
    run(Some("^answer"), &["run", SUITE, "--run-id", "other-value"]).expect_code(0);
    let compared = run(None, &["compare", "r", "other-value"]).expect_code(3);
    assert!(compared.stdout.contains("redacted"), "{}", compared.stdout);
    // Other metrics do not need the value.
    let same_place = r#"{"regex_match": {"pattern": "^answer"}}"#;
    run(None, &["score", "runs/r", "--run-id", "given", "--metric", "exact_match", "--metric", same_place])
        .expect_code(0);
    assert_eq!(value("given"), 1.0);
    run(None, &["score", "runs/r", "--run-id", "set", "--set", "metrics=[contains]"]).expect_code(0);
    run(None, &["score", "runs/r", "--run-id", "other", "--metric", "contains"]).expect_code(0);
}

#[test]
fn address_from_a_secret_is_pinned_and_not_written() {
    let server = Server::answering();
    let workspace = Workspace::new();
    let backend =
        "type: openai_http\n    config: {base_url: '${SECRET_URL:-http://127.0.0.1:9/v1}', model: m}";
    write_suite(&workspace, backend, "");
    let address = format!("{}/v1", server.server.uri());
    let run =
        |address: &str, arguments: &[&str]| workspace.run_with_env([("SECRET_URL", address)], arguments);
    run(&address, &["lock", SUITE]).expect_code(0);
    run(&address, &["run", SUITE, "--locked", "--run-id", "r"]).expect_code(0);
    for file in
        ["config/custom/words.gage.lock", "runs/r/manifest.json", "runs/r/gage.lock", "runs/r/config.yaml"]
    {
        let text = workspace.read(file);
        assert!(!text.contains("127.0.0.1") && text.contains("${SECRET_URL:-}"), "{file}: {text}");
    }
    workspace.run(&["verify", "r"]).expect_code(0);
    let other = run("http://127.0.0.1:9/v1", &["lock", SUITE, "--check"]).expect_code(3);
    assert!(other.stdout.contains("backends.model.config.base_url"), "{}", other.stdout);
}

#[test]
fn keys_of_fewer_than_8_characters_are_not_searched_for() {
    let server = Server::answering();
    for key in ["answer", "words", "EMPTY"] {
        let workspace = workspace_with_keys(&server, &format!("api_key: {key}"));
        workspace.run(&["run", SUITE, "--run-id", "r"]).expect_code(0);
        let samples = workspace.read("runs/r/samples.jsonl");
        assert!(samples.contains("question 1") && samples.contains("answer 1"), "{key}: {samples}");
        let config = workspace.read("runs/r/config.yaml");
        assert!(config.contains("- exact_match") && config.contains("api_key: (secret)"), "{key}: {config}");
        workspace.run(&["verify", "r"]).expect_code(0);
    }
    // Longer keys are searched for everywhere, so they cannot be names as well.
    let workspace = workspace_with_keys(&server, "api_key: exact_match");
    let refused = workspace.run(&["run", SUITE, "--run-id", "r"]).expect_code(2);
    assert!(refused.stderr.contains("this name contains a secret"), "{}", refused.stderr);
}

#[test]
fn names_of_granted_secrets_are_not_redacted() {
    let server = Server::answering();
    let workspace = workspace_with_keys(&server, "extra_body: {secret: MY_API_KEY, token: other-literal-1}");
    let granted = "plugins:\n  - {id: granted, source: text, grants: {http: [{host: api.example.com}], secrets: [MY_API_KEY]}}\n";
    let suite = workspace.read(SUITE).replace("plugins:\n", granted);
    workspace.write(SUITE, suite);
    let run = |arguments: &[&str]| {
        workspace.run_with_env([("MY_API_KEY", "sk-of-the-plugin-1")], arguments).expect_code(0)
    };
    run(&["distill", SUITE, "--builtin-name", "words"]);
    run(&["init", "words"]);
    run(&["lock", RUN_CONFIG]);
    run(&["run", RUN_CONFIG, "--locked", "--run-id", "r"]);
    for file in ["config/builtin_templates/words/v1.yaml", LOCK, "runs/r/config.yaml"] {
        let text = workspace.read(file);
        assert!(text.contains("secret: MY_API_KEY") && text.contains("- MY_API_KEY"), "{file}: {text}");
        assert!(!text.contains("other-literal-1") && !text.contains("sk-of-the-plugin-1"), "{file}: {text}");
    }
}

#[test]
fn overriding_the_name_but_not_the_description_fails_a_lock() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    workspace.run(&["lock", SUITE]).expect_code(0);
    freeze(&workspace);
    for suite in [SUITE, RUN_CONFIG] {
        let run = ["run", suite, "--locked", "--run-id", "x", "--set"];
        let other = workspace.run(&[&run[..], &["metadata.name=mine"]].concat()).expect_code(3);
        assert!(other.stderr.contains("is of the suite `words`, but this is `mine`"), "{}", other.stderr);
        let checked =
            workspace.run(&["lock", suite, "--check", "--set", "metadata.name=mine"]).expect_code(3);
        assert!(checked.stdout.contains("suite.name"), "{}", checked.stdout);
        assert!(!workspace.path("runs/x").exists());
        let refused = workspace.run(&["lock", suite, "--set", "metadata.name=mine"]).expect_code(3);
        assert!(refused.stderr.contains("is of the suite"), "{}", refused.stderr);
        workspace.run(&["lock", suite, "--check", "--set", "metadata.description=mine"]).expect_code(0);
    }
}

#[test]
fn edited_manifest_is_not_trusted_by_any_command() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    for run in ["one", "two"] {
        workspace.run(&["run", SUITE, "--run-id", run]).expect_code(0);
    }
    workspace.run(&["compare", "one", "two"]).expect_code(0);
    let manifest = workspace.read("runs/two/manifest.json");
    workspace.write("runs/two/manifest.json", manifest.replace("\"model\": \"m\"", "\"model\": \"better\""));
    let reason = "it was edited: the digest at its end does not match";
    let scored = workspace.run(&["score", "runs/two", "--run-id", "x"]).expect_code(2);
    assert!(scored.stderr.contains(reason) && !workspace.path("runs/x").exists(), "{}", scored.stderr);
    for arguments in [
        ["compare", "one", "two"].as_slice(),
        &["compare", "one", "two", "--margin", "0.5"],
        &["compare", "two", "one"],
    ] {
        let compared = workspace.run(arguments).expect_code(3);
        let output = compared.stdout.replace('\n', " ").replace("  ", " ");
        assert!(output.contains("INVALID") && output.contains("cannot be trusted"), "{}", compared.stdout);
    }
    let reported = workspace.run(&["report", "two", "--output", "r.html"]).expect_code(0);
    assert!(
        reported.stderr.contains("warning: the manifest of two cannot be trusted"),
        "{}",
        reported.stderr
    );
    let fine = workspace.run(&["report", "one", "--output", "r.html"]).expect_code(0);
    assert!(fine.stderr.is_empty(), "{}", fine.stderr);
}

/// A template without a default that looked like a secret must not run as another suite.
#[test]
fn template_names_variables_whose_defaults_it_drops() {
    let server = Server::answering();
    let workspace = workspace_with_keys(&server, "extra_body: {style: '${STYLE_KEY:-short}'}");
    let output = workspace.run(&["distill", SUITE, "--builtin-name", "styled"]).expect_code(0);
    assert!(output.stderr.contains("set ${STYLE_KEY} where it runs"), "{}", output.stderr);
    workspace.run(&["init", "styled"]).expect_code(0);
    let run = |variables: &[(&str, &str)]| {
        workspace.run_with_env(variables.iter().copied(), &["run", "config/run_configs/styled_run_1.yaml"])
    };
    let refused = run(&[]).expect_code(2);
    assert!(refused.stderr.contains("STYLE_KEY"), "{}", refused.stderr);
    run(&[("STYLE_KEY", "short")]).expect_code(0);
}

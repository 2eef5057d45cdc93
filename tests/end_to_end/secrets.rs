//! Secrets of every form: none is written or shown, in any spelling that a server repeats; and a replay needs none.

use crate::files::texts_below;
use crate::server::{Server, completion, question_number};
use crate::support::Workspace;
use crate::words_suite::{RUN_CONFIG, write_suite};
use base64::Engine as _;
use serde_json::json;
use wiremock::ResponseTemplate;

/// Returns a text with all but plain characters as JSON escapes.
fn ascii_json(text: &str) -> String {
    let escaped = |unit: u16| match u8::try_from(unit).map(char::from) {
        Ok(one) if one.is_ascii_alphanumeric() || " :{}[],_.-".contains(one) => one.to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    text.encode_utf16().map(escaped).collect()
}

fn percent_encoded(text: &str) -> String {
    let escaped = |byte: u8| match char::from(byte) {
        one if one.is_ascii_alphanumeric() || "-_.~".contains(one) => one.to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}

/// Returns the spellings of a secret that must not occur anywhere.
fn spellings(secret: &str) -> Vec<String> {
    let in_json = json!(secret).to_string();
    vec![
        secret.to_owned(),
        in_json.trim_matches('"').to_owned(),
        ascii_json(secret),
        percent_encoded(secret),
        base64::engine::general_purpose::STANDARD.encode(secret).trim_end_matches('=').to_owned(),
    ]
}

/// Starts a server that repeats a secret in a different way for each question: in answers, errors and unknown fields.
fn secret_echo_server(secret: &str) -> Server {
    let secret = secret.to_owned();
    Server::start(move |request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let raw = |text: String| ResponseTemplate::new(200).set_body_raw(text, "application/json");
        let answered = |content: &str| {
            format!(
                "{{\"choices\": [{{\"index\": 0, \"finish_reason\": \"stop\", \"message\": {{\"role\": \"assistant\", \"content\": \"{content}\"}}}}]}}"
            )
        };
        match question_number(request) % 7 {
            0 => completion(&format!("{secret} was sent in {body}")),
            1 => raw(answered(&ascii_json(&secret))),
            2 => raw(answered(&percent_encoded(&secret))),
            3 => ResponseTemplate::new(400)
                .set_body_json(json!({"error": {"message": format!("{}{secret}", "x ".repeat(85))}})),
            4 => ResponseTemplate::new(400).set_body_string(format!("no: {}", ascii_json(&secret))),
            5 => {
                let encoded = base64::engine::general_purpose::STANDARD.encode(format!("me:{secret}"));
                completion(&format!("Basic {encoded}"))
            }
            _ => {
                let answer = answered("fine");
                raw(format!("{}, \"echo\": {body}}}", answer.strip_suffix('}').unwrap_or(&answer)))
            }
        }
    })
}

struct Case {
    name: &'static str,
    /// Keys of the backend.
    keys: &'static str,
    variable: Option<(&'static str, &'static str)>,
    /// The text that must not occur anywhere.
    secret: &'static str,
}

const CASES: [Case; 13] = [
    Case {
        name: "a comma and a quote",
        keys: "extra_body: {upstream: 'http://me:p,w\"x1-long@host/a'}",
        variable: None,
        secret: "p,w\"x1-long",
    },
    Case {
        name: "a parameter",
        keys: "extra_body: {upstream: 'http://host/a?api_key=sk-1\"2,3&b=c'}",
        variable: None,
        secret: "sk-1\"2,3",
    },
    Case {
        name: "quoted YAML",
        keys: "extra_body: {token: \"s\\u00e9cret\\x2Dvalue\"}",
        variable: None,
        secret: "sécret-value",
    },
    Case {
        name: "doubled quotes",
        keys: "extra_body: {token: 'it''s-my-key, 1'}",
        variable: None,
        secret: "it's-my-key, 1",
    },
    Case {
        name: "a number",
        keys: "extra_body: {password: 9080706050}",
        variable: None,
        secret: "9080706050",
    },
    Case {
        name: "an innocent key",
        keys: "extra_body: {user: '${X_TOKEN}'}",
        variable: Some(("X_TOKEN", "sé\"c,r/et 1")),
        secret: "sé\"c,r/et 1",
    },
    Case {
        name: "an innocent key with a default",
        keys: "extra_body: {user: 'a ${X_TOKEN:-sk-default-1}'}",
        variable: None,
        secret: "sk-default-1",
    },
    Case {
        name: "a short name",
        keys: "extra_body: {login: {user: me, pass: 'pw of, me\"1'}}",
        variable: None,
        secret: "pw of, me\"1",
    },
    Case {
        name: "a key",
        keys: "extra_body: {key: 'k/ey \"of me1'}",
        variable: None,
        secret: "k/ey \"of me1",
    },
    Case {
        name: "several tokens",
        keys: "extra_body: {tokens: ['t/ok \"en1', other-token-2]}",
        variable: None,
        secret: "t/ok \"en1",
    },
    Case {
        name: "a signature",
        keys: "extra_body: {from: 'https://h/a?se=2030&sig=aB%2Fc%3D12'}",
        variable: None,
        secret: "aB%2Fc%3D12",
    },
    Case {
        name: "a number",
        keys: "extra_body: {a: {token: 9181716151}}",
        variable: None,
        secret: "9181716151",
    },
    Case {
        name: "an innocent header",
        keys: "headers: {X-Kind: '${X_TOKEN}'}",
        variable: Some(("X_TOKEN", "sk-1/2,3")),
        secret: "sk-1/2,3",
    },
];

/// Runs every command that writes or prints something. Returns the outputs and all files but the suites of the test.
fn run_every_command(workspace: &Workspace, variable: Option<(&str, &str)>) -> Vec<(String, String)> {
    let mut outputs = Vec::new();
    for command in [
        "validate config/custom/words.yaml",
        "validate config/custom/bad.yaml",
        "validate config/custom/bad.yaml --json",
        "run config/custom/words.yaml --run-id r --record tape.zst --log debug --log-file log.txt",
        "distill config/custom/words.yaml --builtin-name words",
        "init words",
        "init words --mode pipeline-config",
        "lock config/custom/words.yaml",
        "run config/custom/words.yaml --locked --run-id locked --log debug --log-json",
        "lock config/run_configs/words_run_1.yaml",
        "verify r",
        "report r",
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let ended = workspace.run_with_env(variable, &arguments);
        assert!(!matches!(ended.code, Some(1 | 101) | None), "{command}: {}", ended.transcript());
        outputs.push((command.to_owned(), ended.transcript()));
    }
    for made in ["runs/r/samples.jsonl", "runs/locked/samples.jsonl", "tape.zst", RUN_CONFIG, "log.txt"] {
        assert!(workspace.path(made).exists(), "no {made}: {outputs:?}");
    }
    let is_output = |(path, _): &(String, String)| {
        !path.ends_with("custom/words.yaml") && !path.ends_with("custom/bad.yaml")
    };
    outputs.extend(texts_below(&workspace.path("")).into_iter().filter(is_output));
    outputs
}

#[test]
fn no_spelling_of_a_secret_is_written_or_shown() {
    for Case { name, keys, variable, secret } in CASES {
        let server = secret_echo_server(secret);
        let workspace = Workspace::new();
        let config = format!("config: {{base_url: '{}/v1', model: m, {keys}}}", server.server.uri());
        write_suite(&workspace, &format!("type: openai_http\n    {config}"), "");
        // The line with the secret has an error, so that it is shown.
        let suite = workspace.read("config/custom/words.yaml");
        let bad = config.replace("model: m", "model: m, max_retries: many");
        workspace.write("config/custom/bad.yaml", suite.replace(&config, &bad));
        let outputs = run_every_command(&workspace, variable);
        assert!(outputs[1].1.contains("max_retries"), "{}", outputs[1].1);
        for spelling in spellings(secret) {
            for (place, text) in &outputs {
                assert!(!text.contains(&spelling), "{name}: {spelling} in {place}:\n{text}");
            }
        }
    }
}

#[test]
fn lines_of_a_secret_block_are_hidden_in_errors() {
    let workspace = Workspace::new();
    for (keys, wrong) in [
        ("        private_key: |\n          line-one\n          line-two\n", "        private_key: again\n"),
        ("        token:\n          - line-one\n          - line-two\n", "        token: again\n"),
        ("        password: \"line-one\n          line-two\"\n", "        password: again\n"),
        ("        secret: >-\n          line-one\n          line-two\n", "\tnot: YAML\n"),
    ] {
        let backend = format!(
            "type: openai_http\n    config:\n      base_url: http://127.0.0.1:9/v1\n      model: m\n      extra_body:\n{keys}{wrong}"
        );
        workspace.write("rows.jsonl", crate::support::rows(2));
        workspace.write("suite.yaml", crate::support::suite(&backend, "[exact_match]"));
        for command in [["validate", "suite.yaml"].as_slice(), &["validate", "suite.yaml", "--json"]] {
            let shown = workspace.run(command).expect_code(2).transcript();
            assert!(!shown.contains("line-one") && !shown.contains("line-two"), "{shown}");
        }
    }
}

#[test]
fn recorded_run_is_replayed_without_any_key() {
    let server = Server::start(|request| {
        completion(&format!("answer {}, for {}", question_number(request), "sk-of-the-body-1"))
    });
    let workspace = Workspace::new();
    let keys = "api_key: '${THE_KEY}', headers: {X-Kind: '${K_TOKEN}', X-Auth: 'Bearer ${H_TOKEN}'}, \
                extra_body: {user: 'a/${X_TOKEN}', deep: {token: '${OTHER}', size: 3}}";
    let config = format!("config: {{base_url: '{}/v1', model: m, {keys}}}", server.server.uri());
    write_suite(&workspace, &format!("type: openai_http\n    {config}"), "");
    let variables = [
        ("THE_KEY", "sk-of-the-key-1"),
        ("K_TOKEN", "sk-of-a-header-1"),
        ("H_TOKEN", "sk-of-a-header-2"),
        ("X_TOKEN", "sk-of-the-body-1"),
        ("OTHER", "short"),
    ];
    let run = |arguments: &[&str], with_keys: bool| {
        workspace.run_with_env(variables.into_iter().filter(|_| with_keys), arguments)
    };
    run(&["distill", "config/custom/words.yaml", "--builtin-name", "words"], true).expect_code(0);
    run(&["init", "words"], true).expect_code(0);
    run(&["lock", RUN_CONFIG], true).expect_code(0);
    run(&["run", RUN_CONFIG, "--record", "tape.zst", "--run-id", "recorded"], true).expect_code(0);
    drop(server);
    let missing = run(&["run", RUN_CONFIG, "--run-id", "missing"], false).expect_code(2);
    assert!(missing.stderr.contains("variable THE_KEY is not set"), "{}", missing.stderr);
    run(&["run", RUN_CONFIG, "--replay", "tape.zst", "--locked", "--run-id", "played"], false).expect_code(0);
    let samples = |run: &str| workspace.read(&format!("runs/{run}/samples.jsonl"));
    assert_eq!(samples("recorded"), samples("played"));
    assert!(samples("played").contains("for (secret)"), "{}", samples("played"));
    // Variables that are not secrets are still needed.
    let suite = workspace.read("config/custom/words.yaml").replace("size: 3", "size: '${SIZE}'");
    workspace.write("config/custom/words.yaml", suite);
    let open = run(&["run", "config/custom/words.yaml", "--replay", "tape.zst"], false).expect_code(2);
    assert!(open.stderr.contains("variable SIZE is not set"), "{}", open.stderr);
}

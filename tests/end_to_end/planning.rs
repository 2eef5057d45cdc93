//! Checks before a run starts: errors in its tasks and roles, and its estimated cost.

use crate::scripted_backend::constant_backend;
use crate::server::Server;
use crate::support::{Workspace, rows, suite};
use crate::tasks::workspace;
use serde_json::{Value, json};

#[test]
fn image_for_a_text_only_backend_is_found_before_any_request() {
    let workspace = Workspace::new();
    let backend = constant_backend(&workspace, "x");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let image = "{\"id\":\"i\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://example.com/a.png\"}}]}]}\n";
    let text = "{\"id\":\"t\",\"messages\":[{\"role\":\"user\",\"content\":\"question\"}]}\n";
    workspace.write("rows.jsonl", image.to_owned() + text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(2);
    assert!(ended.stderr.contains("the first Sample of `rows` contains media"), "{}", ended.stderr);
    assert!(!workspace.path("runs/r").exists());
    // In a later row, it is an error of only that sample.
    workspace.write("rows.jsonl", text.to_owned() + image);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let samples = workspace.samples("r");
    assert_eq!(
        (&samples[0]["outcome"], &samples[1]["outcome"]),
        (&json!("missing_reference"), &json!("invalid_sample"))
    );
    assert_eq!(samples[1]["error"]["kind"], "media_unsupported");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one run, checked step by step")]
fn invalid_tasks_and_roles_are_refused_before_the_run() {
    let server = Server::answering();
    let backend = server.backend("");
    let one = "tasks: [{task_id: t, dataset_id: rows}]\n";
    let second = "  - {adapter_id: other, role_type: dut_model, backend_id: model}\nmetrics";
    let provider = "  - {adapter_id: finder, role_type: context_provider, backend_id: model}\nmetrics";
    let cases: Vec<(&str, &str, String, Vec<&str>)> = vec![
        ("", "", "tasks: [{task_id: t}]\n".to_owned(), vec!["the task `t` names no dataset", "suite.yaml:"]),
        (
            "",
            "",
            "tasks: [{task_id: t, dataset_id: rows, max_inflight: 0}]\n".to_owned(),
            vec!["`max_inflight` must be"],
        ),
        (
            "",
            "",
            "tasks: [{task_id: t, dataset_id: rows, mode: fast}]\n".to_owned(),
            vec!["expected one of: fire_and_forget, sequential"],
        ),
        (
            "",
            "",
            "tasks: [{task_id: t, dataset_id: rows, failure_policy: none}]\n".to_owned(),
            vec!["fail_fast, graceful, best_effort"],
        ),
        ("metrics", second, one.to_owned(), vec!["`inference` is ambiguous: 2", "dut, other"]),
        (
            "{step: inference}",
            "{step: inference, adapter_id: finder}",
            String::new(),
            vec!["there is no role adapter `finder`"],
        ),
        (
            "[{step: inference}, {step: auto_eval}]",
            "[{step: auto_eval}, {step: inference}]",
            String::new(),
            vec!["`inference` must come before `auto_eval`"],
        ),
        (
            "[{step: inference}, ",
            "[",
            String::new(),
            vec!["`auto_eval` needs an answer", "{step: inference}"],
        ),
        (
            "[{step: inference}, ",
            "[{step: support}, {step: inference}, ",
            String::new(),
            vec!["`support` needs a role adapter of the type `context_provider`"],
        ),
        (
            "[exact_match]",
            "[judge_score]",
            String::new(),
            vec!["reads `judge_output.", "has no step `judge`"],
        ),
        ("", "", "budget: {max_cost: 1}\n".to_owned(), vec!["`max_cost` needs a price", "backend_id: model"]),
        ("", "", "budget: {max_time: soon}\n".to_owned(), vec!["`soon` is not a time"]),
        (
            "",
            "",
            "pricing: [{backend_id: modle, prompt: 1, completion: 1}]\n".to_owned(),
            vec!["did you mean `model`?"],
        ),
        (
            "",
            "",
            "pricing: [{prompt: 1, completion: 1}]\n".to_owned(),
            vec!["a `backend_id` or for a `model`"],
        ),
        ("", "", "task_parallelism: 0\n".to_owned(), vec!["`task_parallelism` must be"]),
    ];
    for (old, new, extra, expected) in cases {
        let text = suite(&backend, "[exact_match]");
        let text = if old.is_empty() { text } else { text.replacen(old, new, 1) };
        let workspace = workspace(1, &(text + &extra));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        for expected in expected {
            assert!(ended.stderr.contains(expected), "{new}{extra}\n{}", ended.stderr);
        }
    }
    // A role of the wrong type, and both ways to name a backend at once.
    let named = suite(&backend, "[exact_match]")
        .replacen("metrics", provider, 1)
        .replace("{step: inference}", "{step: inference, adapter_id: finder}");
    let ended = workspace(1, &named).run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(
        ended.stderr.contains("`inference` cannot ask `finder`, which is of the type `context_provider`"),
        "{}",
        ended.stderr
    );
    let inline = format!(
        "backend_id: model, backend: {{type: openai_http, config: {{base_url: '{}/v1', model: m}}}}}}",
        server.server.uri()
    );
    let both = suite(&backend, "[exact_match]").replace("backend_id: model}", &inline);
    let ended = workspace(1, &both).run(&["validate", "suite.yaml"]).expect_code(0);
    assert!(ended.stderr.contains("`backend` is used"), "{}", ended.stderr);
    // Metrics without a step that scores.
    let unscored = suite(&backend, "[exact_match]").replace(", {step: auto_eval}", "");
    let ended = workspace(1, &unscored).run(&["validate", "suite.yaml"]).expect_code(0);
    assert!(ended.stderr.contains("no task has the step `auto_eval`"), "{}", ended.stderr);
}

/// Returns a suite with a judge and prices, whose server is never reached.
fn priced_suite() -> String {
    let nobody = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}";
    suite(nobody, "[exact_match]")
        .replace("metrics:", "  - {adapter_id: strict, role_type: judge_model, backend_id: model}\nmetrics:")
        .replace("{step: inference},", "{step: inference}, {step: judge},")
        + "pricing: [{model: m, prompt: 1, completion: 4}]\nbudget: {max_cost: 0.01, max_time: 1d}\n"
        + "tasks:\n  - {task_id: all, dataset_id: rows, sampling_params: {max_new_tokens: 100}}\n"
        + "  - {task_id: few, dataset_id: rows, max_samples: 10, repeat: 3, steps: [{step: inference}]}\n"
}

/// Removes the figures of plugins, which are measured and so vary, and sorts their lines.
fn without_plugin_costs(shown: &str) -> String {
    let is_measured = |line: &&str| line.contains(" µs ");
    let name = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = shown.lines().filter(is_measured).map(name).collect();
    names.sort();
    let mut names = names.into_iter();
    let line = |line: &str| match line {
        line if is_measured(&line) => names.next().unwrap_or_default(),
        line if line.starts_with("plugin ") => line.split_whitespace().collect::<Vec<_>>().join(" "),
        line => line.to_owned(),
    };
    shown.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn plan_estimates_a_run_and_sends_nothing() {
    let workspace = workspace(1_000, &priced_suite());
    let shown = workspace.run(&["plan", "suite.yaml", "--latency", "1..2"]).expect_code(0);
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    insta::assert_snapshot!("plan", without_plugin_costs(&shown.stdout));
    let json = workspace.run(&["plan", "suite.yaml", "--latency", "1..2", "--json"]).expect_code(0);
    let plan = json.stdout_json();
    let (all, few) = (&plan["tasks"][0], &plan["tasks"][1]);
    assert_eq!((&all["samples"], &few["samples"], &few["repeat"]), (&json!(1_000), &json!(10), &json!(3)));
    assert_eq!(all["requests"][1]["requests"], json!({"low": 1_000.0, "high": 3_000.0}));
    assert_eq!(few["requests"][0]["requests"]["high"], 30.0);
    // 1,000 requests, 16 at a time, of one second.
    assert_eq!(all["requests"][0]["seconds"], json!({"low": 63.0, "high": 126.0}));
    let difference = all["smallest_detectable_difference"].as_f64().unwrap_or_default();
    // (1.6449 + 0.8416) · √(0.5 / 1,000) by the normal approximation, and a little more by the exact test.
    let approximate = 2.4865 * (0.5_f64 / 1_000.0).sqrt();
    assert!((approximate..1.05 * approximate).contains(&difference), "{difference}");
    assert_eq!(plan["assumptions"]["changed"], 0.5);
    let members = |task: &Value| {
        let plugins = task["plugins"].as_array().expect("plugins");
        let mut members: Vec<String> = plugins.iter().map(|one| one["member"].to_string()).collect();
        assert!(plugins.iter().all(|one| one["fuel_per_sample"].as_u64() > Some(1_000)), "{plugins:?}");
        members.sort();
        members
    };
    // The second task has no step that scores.
    assert_eq!(
        (members(all), members(few)),
        (vec![r#""default""#.to_owned(), r#""exact_match""#.to_owned()], vec![r#""default""#.to_owned()])
    );
    assert!(!workspace.path("runs").exists());
}

/// The first task has 32 scoring batches, and the second one.
#[test]
fn plan_shows_the_work_and_the_budget_of_shards() {
    let workspace = workspace(1_000, &priced_suite());
    let plan = |shards: &str, further: &[&str]| {
        let plan = ["plan", "suite.yaml", "--latency", "1..2", "--shards", shards];
        workspace.run(&[&plan[..], further].concat())
    };
    let shown = plan("4", &[]).expect_code(0).stdout;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let cells = |name: &str| -> Vec<&str> {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().collect()
    };
    assert_eq!(cells("shard "), ["shard", "records", "requests", "tokens", "cost", "time"]);
    for (name, records, requests, time) in [
        ("largest", "286", "542–1054", "18s–1m40s"),
        ("smallest", "232", "464–928", "15s–1m28s"),
        ("all 4", "1030", "2030–4030", "18s–1m40s"),
    ] {
        let found = cells(name);
        let found = &found[name.split(' ').count()..];
        assert_eq!((found[0], found[1], found[4]), (records, requests, time), "{shown}");
    }
    for part in [
        "servers: 4 shards share the rate limits of an HTTP server",
        "warning: all models are on HTTP servers",
        "budget of each shard: max_cost 0.0025, max_time 86400 s",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json = plan("4", &["--json", "--max-tokens-total", "1002"]).expect_code(0).stdout_json();
    let shards = &json["shards"];
    assert_eq!((&shards["count"], &shards["batches"], &shards["empty"]), (&json!(4), &json!(33), &json!(0)));
    assert_eq!((&shards["largest"]["number"], &shards["largest"]["records"]), (&json!(3), &json!(286)));
    assert_eq!((&shards["smallest"]["number"], &shards["smallest"]["records"]), (&json!(4), &json!(232)));
    assert_eq!(shards["largest"]["seconds"], json!({"low": 18.0, "high": 100.0}));
    let budget =
        json!({"max_cost": 0.0025, "max_tokens_total": 250, "max_time_s": 86_400.0, "max_failures": null});
    assert_eq!(shards["budget"], budget);
    let many = plan("64", &[]).expect_code(0).stdout;
    let warning = "warning: 31 of 64 shards would be empty: the tasks have 33 batches";
    assert!(many.contains(warning), "{many}");
    for (shards, further, expected) in [
        ("0", &[][..], "0 is not in 1..=10000"),
        ("10001", &[], "10001 is not in 1..=10000"),
        ("4", &["--power"], "cannot be used with"),
    ] {
        let refused = plan(shards, further).expect_code(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

/// Two metrics may be the same member of a plugin with other parameters.
#[test]
fn plan_adds_up_the_metrics_of_a_member() {
    let fuel = |metrics: &str| -> u64 {
        let unreachable = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}";
        let workspace = workspace(10, &suite(unreachable, metrics));
        let plan = workspace.run(&["plan", "suite.yaml", "--json"]).expect_code(0).stdout_json();
        let plugins = plan["tasks"][0]["plugins"].as_array().expect("plugins").clone();
        let found = plugins.iter().find(|one| one["member"] == "exact_match").expect("the metric");
        found["fuel_per_sample"].as_u64().expect("a number")
    };
    let once = fuel("[exact_match]");
    let twice = fuel("[exact_match, {metric_id: again, implementation: exact_match}]");
    assert!((2 * once..2 * once + 2).contains(&twice), "{once} {twice}");
}

#[test]
fn plan_counts_tokens_with_the_available_tokenizer() {
    let workspace = workspace(
        10,
        &suite(
            "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}",
            "[exact_match]",
        ),
    );
    let words = json!({
        "version": "1.0",
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"question": 0, "[unknown]": 1}, "unk_token": "[unknown]"},
        "added_tokens": [],
    });
    workspace.write("tokenizer.json", words.to_string());
    let plan = |suite: &str, extra: &[&str]| -> Value {
        let ended = workspace.run(&[&["plan", suite, "--json"], extra].concat()).expect_code(0);
        let plan = ended.stdout_json();
        json!([plan["tasks"][0]["tokens_by"], plan["prompt_tokens"]["low"]])
    };
    // `question 0` has ten bytes, and two words.
    assert_eq!(plan("suite.yaml", &[]), json!(["bytes", 25.0]));
    assert_eq!(plan("suite.yaml", &["--tokenizer", "tokenizer.json"]), json!(["tokenizer", 20.0]));
    let ended = workspace.run(&["plan", "suite.yaml", "--tokenizer", "rows.jsonl"]).expect_code(2);
    assert!(ended.stderr.contains("rows.jsonl cannot be used: it is not a tokenizer"), "{}", ended.stderr);

    let template = json!({"chat_template": "{% for message in messages %}{{ message.content }}{% endfor %}"});
    workspace.write("tokenizer_config.json", template.to_string());
    let text = workspace.read("suite.yaml");
    let beside = text.replace(
        "params: {path: rows.jsonl}",
        "params: {path: rows.jsonl, tokenizer_config: tokenizer_config.json}",
    );
    workspace.write("beside.yaml", beside);
    assert_eq!(plan("beside.yaml", &[]), json!(["tokenizer", 20.0]));
}

#[test]
fn plan_says_which_data_is_not_downloaded_yet() {
    let hub = "  - {dataset_id: far, loader: hf_hub, params: {hub_id: somebody/data, endpoint: 'http://127.0.0.1:9'}}\nbackends:";
    let text = priced_suite().replace("backends:", hub) + "  - {task_id: far, dataset_id: far}\n";
    let workspace = workspace(1, &text);
    let shown = workspace.run(&["plan", "suite.yaml"]).expect_code(0);
    assert!(shown.stdout.contains("far: the data is not on this machine"), "{}", shown.stdout);
    let json = workspace.run(&["plan", "suite.yaml", "--json"]).expect_code(0);
    let plan = json.stdout_json();
    assert_eq!((&plan["tasks"][0]["samples"], &plan["tasks"][2]["samples"]), (&json!(1), &Value::Null));
    for (arguments, message) in [
        (vec!["--latency", "5..1"], "write seconds above 0"),
        (vec!["--max-time", "soon"], "`soon` is not a time"),
        (vec!["--max-cost=-1"], "a number of at least 0 is needed"),
        (vec!["--task-parallelism", "0"], "at least 1"),
    ] {
        let arguments = [&["plan", "suite.yaml"], arguments.as_slice()].concat();
        let ended = workspace.run(&arguments).expect_code(2);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
}

#[test]
fn power_of_gates_is_planned_with_clusters_and_repeats() {
    let workspace = Workspace::new();
    let row = |number: usize| {
        let message = json!({"role": "user", "content": [{"type": "text", "text": format!("q{number}")}]});
        json!({
            "schema_version": "v1", "id": format!("q{number}"), "messages": [message], "label": "1",
            "references": ["1"], "metadata": {"passage": number / 20},
        })
        .to_string()
            + "\n"
    };
    workspace.write("rows.jsonl", (0..1_000).map(row).collect::<String>());
    let gate = "gate:\n  - {metric: exact_match, margin: 0.05}\n";
    let text = |extra: &str| suite(&constant_backend(&workspace, "1"), "[exact_match]") + extra + gate;
    let power = |extra: &str, arguments: &[&str]| {
        workspace.write("suite.yaml", text(extra));
        let arguments =
            [&["plan", "suite.yaml", "--power", "--changed", "0.1", "--json"], arguments].concat();
        let found = workspace.run(&arguments).expect_code(0).stdout_json();
        let case = &found["gates"][0]["cases"][0];
        (
            case["assumptions"]["cluster_size"].as_f64().unwrap(),
            case["power"]["samples_needed"].as_u64().unwrap(),
        )
    };
    let (size, alone) = power("", &[]);
    assert_eq!(size, 1.0);
    let (size, clustered) = power("  cluster_by: metadata.passage\n", &[]);
    assert!(size == 20.0 && clustered > 2 * alone, "{clustered} {alone}");
    let (_, repeated) = power("  repeat: 4\n  sampling_params: {temperature: 1}\n", &[]);
    assert!(repeated < alone / 2, "{repeated} {alone}");
    let (_, wide) = power("", &["--margin", "0.1"]);
    assert!(wide < alone / 2, "{wide} {alone}");
    workspace.write("suite.yaml", text("  cluster_by: metadata.passage\n"));
    let shown = workspace.run(&["plan", "suite.yaml", "--power", "--comparisons", "20"]).expect_code(0);
    insta::assert_snapshot!("power", shown.stdout);
    workspace.write("suite.yaml", text("").replace(gate, ""));
    let ended = workspace.run(&["plan", "suite.yaml", "--power"]).expect_code(2);
    assert!(ended.stderr.contains("the suite has no gate"), "{}", ended.stderr);
}

#[test]
fn gates_that_no_run_can_pass_are_reported_before_the_run() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(20));
    let gate = "gate:\n  - {metric: exact_match, margin: 0.05}\n";
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "1"), "[exact_match]") + gate);
    for command in ["validate", "plan", "run"] {
        let ended = workspace.run(&[command, "suite.yaml"]).expect_code(0);
        let expected = "even without any change, 20 samples cannot rule out a loss of 0.05 at alpha 0.05";
        assert!(ended.stderr.contains(expected), "{command}\n{}", ended.stderr);
        assert!(ended.stderr.contains("use at least 67 samples (95 with"), "{command}\n{}", ended.stderr);
    }
}

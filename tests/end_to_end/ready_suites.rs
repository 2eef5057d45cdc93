//! Ready suites by their names: `eval`, and every other command that takes a suite.

use crate::hub_server::HubServer;
use crate::scripted_backend::constant_backend;
use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, rows, suite};
use serde_json::json;

const COMMIT: &str = "abcdef0123456789abcdef0123456789abcdef01";

/// Returns a hub with six rows of GSM8K in each split. The answer of all is 4.
fn hub() -> HubServer {
    let hub = HubServer::start();
    hub.commit("openai/gsm8k", "main", COMMIT);
    for split in ["train", "test"] {
        let row = |number: usize| {
            let question = format!("{split} {number}: 2 + 2?");
            format!("{}\n", json!({"question": question, "answer": "2 + 2 = 4\n#### 4"}))
        };
        let rows: String = (0..6).map(row).collect();
        hub.file("openai/gsm8k", &format!("main/{split}.jsonl"), rows);
    }
    hub
}

#[track_caller]
fn expect(ended: &CommandOutput, expected: &str) {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains(expected), "{expected:?} is not in {all}");
}

#[test]
fn every_command_takes_the_name_of_a_ready_suite() {
    let (hub, workspace) = (hub(), Workspace::new());
    let server = Server::start(|_| completion("2 + 2 = 4\n#### 4"));
    let model = format!("openai:m@{}/v1", server.server.uri());
    let cache = workspace.path("cache");
    let endpoint = format!("datasets.gsm8k.params.endpoint={}", hub.endpoint());
    let run = |words: &str, code: i32| {
        let words = words.split(' ').map(|word| if word == "M" { &*model } else { word });
        let words: Vec<&str> = words.chain(["--set", &*endpoint]).collect();
        workspace.run_with_env([("GAGE_CACHE_DIR", &cache)], &words).expect_code(code)
    };
    expect(&run("data preview gsm8k --max-samples 1", 0), "test 0: 2 + 2?");
    expect(&run("data validate gsm8k", 0), "gsm8k");
    expect(&run("validate gsm8k --model M", 0), "gsm8k: valid (1 task, 2 metrics)\n");
    expect(&run("plan gsm8k --model M --limit 2", 0), "gsm8k\n\ntask ");
    expect(&run("eval gsm8k --model M --locked", 2), "there is no lock gsm8k.gage.lock");
    // The lock is in the working folder, because the file of the suite is in the cache.
    expect(
        &run("lock gsm8k --model M", 0),
        "gsm8k.gage.lock: locked\nnext: gage-host run gsm8k --locked, with the same --set",
    );
    run("eval gsm8k --model M --locked --run-id evaluated", 0);
    run("run gsm8k --model M --frozen --run-id ran", 0);
    workspace.assert_equal_files("evaluated", "ran", &["samples.jsonl", "summary.json"]);
    expect(&run("lock gsm8k --model M --check", 0), "gsm8k.gage.lock: nothing differs");
    expect(&run("lock --update gsm8k --model M", 0), "gsm8k.gage.lock: as it was");
    let unpinned = format!(
        "data: openai/gsm8k at abcdef0 (not pinned; --set datasets.gsm8k.params.revision={COMMIT} pins it)\n"
    );
    expect(&run("run gsm8k --model M --limit 2 --run-id two", 0), &unpinned);
    let pinned =
        format!("run gsm8k --model M --limit 1 --set datasets.gsm8k.params.revision={COMMIT} --run-id one");
    assert!(!run(&pinned, 0).stderr.contains("not pinned"));
    assert_eq!(workspace.samples("two").len(), 2);
    // The command after an open run is one of `eval`.
    let spent = run("eval gsm8k --model M -j 1 --max-tokens-total 1 --run-id spent", 4);
    let next = spent.stderr.lines().last().unwrap_or_default();
    assert!(next.starts_with("next: gage-host eval gsm8k --model "), "{next}");
    assert!(next.ends_with(" --run-id spent --resume"), "{next}");
    run("eval gsm8k --model M --resume spent", 0);
    let script = run("launch slurm gsm8k --model M --shards 2", 0);
    expect(&script, "gage-host run gsm8k ");
    // A file wins over the name, except for `eval`.
    workspace.write("gsm8k", "metrics: [exact_match]\n");
    run("validate gsm8k --model M", 2);
    run("eval gsm8k --model M --limit 1", 0);
}

#[test]
fn wrong_names_of_suites_get_help() {
    let workspace = Workspace::new();
    workspace.write("rows.yaml", "datasets: rows.jsonl\n");
    for (words, expected) in [
        (
            "eval gsm8 --model openai:m",
            "there is no ready suite `gsm8`\n  help: did you mean `gsm8k`? expected one of: ",
        ),
        ("eval rows.yaml --model openai:m", "rows.yaml is a file, not the name of a ready suite"),
        ("eval gsm8k", "no model is given\n  help: add one: gage-host eval gsm8k --model openai:MODEL"),
        ("eval --resume one --model openai:m", "required arguments were not provided:\n  <NAME>"),
        ("run gsm8 --model openai:m", "did you mean the ready suite gsm8k?"),
        ("validate gsm8k", "the suite names no model"),
        ("plan no/such.yaml", "check the path, or name a ready suite that `gage-host suites list` prints"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = workspace.run(&words).expect_code(2);
        assert!(ended.stderr.contains(expected), "{words:?}\n{}", ended.stderr);
    }
}

#[test]
fn missing_key_is_reported_once_at_the_option() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("suite.yaml", "datasets: rows.jsonl\nmodel: ./none.gguf\nmetrics: [exact_match]\n");
    let ended = workspace.run(&["run", "suite.yaml", "--model", "openai:m"]).expect_code(2);
    assert!(ended.stderr.contains("--> --model:1:7\n"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("OPENAI_API_KEY is not set").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("error: the environment variable OPENAI_API_KEY"), "{}", ended.stderr);
    // The suite has no such key to leave out.
    assert!(!ended.stderr.contains("api_key_env"), "{}", ended.stderr);
}

/// The judges of OpenAI need a key, and those of another server do not.
#[test]
fn missing_key_of_a_judge_is_reported_first() {
    for suite in ["simpleqa", "mt_bench"] {
        for (judge, is_needed) in [("", true), ("http://127.0.0.1:9/v1", false)] {
            let (hub, workspace) = (hub(), Workspace::new());
            let cache = workspace.path("cache").display().to_string();
            let endpoint = format!("datasets.{suite}.params.endpoint={}", hub.endpoint());
            let words = ["eval", suite, "--model", "openai:m@http://127.0.0.1:9/v1", "--set", &*endpoint];
            let variables = [("GAGE_CACHE_DIR", &*cache), ("JUDGE_BASE_URL", judge)];
            let ended = workspace.run_with_env(variables, &words);
            let is_reported =
                ended.stderr.contains("error: the environment variable OPENAI_API_KEY is not set");
            assert_eq!(is_reported, is_needed, "{suite} {judge}: {}", ended.stderr);
            assert_eq!(hub.seen().is_empty(), is_needed, "{suite} {judge}: {:?}", hub.seen());
        }
    }
}

#[test]
fn flags_are_named_in_errors_as_they_were_typed() {
    let workspace = Workspace::new();
    for words in [
        "run a.yaml --limit 0",
        "run a.yaml --limit=0",
        "plan a.yaml --limit 0",
        "run a.yaml --max-samples 0",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = workspace.run(&words).expect_code(2);
        let flag = words[2].split('=').next().unwrap_or_default();
        let expected = format!("invalid value '0' for '{flag} <N>': expected a whole number of at least 1");
        assert!(ended.stderr.contains(&expected), "{words:?}\n{}", ended.stderr);
    }
}

#[test]
fn missing_key_is_reported_before_data_are_fetched() {
    let (hub, workspace) = (hub(), Workspace::new());
    let cache = workspace.path("cache");
    let endpoint = format!("datasets.gsm8k.params.endpoint={}", hub.endpoint());
    for (model, variable) in
        [("openai:m", "OPENAI_API_KEY"), ("anthropic:m", "ANTHROPIC_API_KEY"), ("gemini:m", "GEMINI_API_KEY")]
    {
        let words = ["eval", "gsm8k", "--model", model, "--set", &*endpoint];
        let ended = workspace.run_with_env([("GAGE_CACHE_DIR", &cache)], &words).expect_code(2);
        let expected = format!("error: the environment variable {variable} is not set");
        assert_eq!(ended.stderr.matches(&expected).count(), 1, "{}", ended.stderr);
        assert!(hub.seen().is_empty(), "{model}: {:?}", hub.seen());
    }
}

#[test]
fn limit_that_leaves_subjects_out_is_reported() {
    let workspace = Workspace::new();
    let row = |number: usize| {
        let subject = ["art", "law", "physics"][number / 3];
        let message = json!({"role": "user", "content": [{"type": "text", "text": format!("{number}?")}]});
        json!({
            "schema_version": "v1", "id": format!("q{number}"), "messages": [message], "label": "1",
            "references": ["1"], "metadata": {"subject": subject},
        })
    };
    let rows: String = (0..9).map(|number| format!("{}\n", row(number))).collect();
    workspace.write("rows.jsonl", rows);
    let text = suite(&constant_backend(&workspace, "1"), "[exact_match]");
    workspace.write("suite.yaml", text + "  slices: [metadata.subject]\n");
    let warning = "the limit of samples keeps the first rows of task `rows`, with";
    for (run_id, options, counts) in [
        ("one", "--limit 3", Some("1 of 3")),
        ("two", "--max-samples 4", Some("2 of 3")),
        ("all", "--limit 7", None),
        ("mixed", "--limit 3 --set datasets.rows.params.shuffle=true", None),
        ("suite", "--set custom.max_samples=3", None),
    ] {
        let run = format!("run suite.yaml --run-id {run_id}");
        for command in ["plan suite.yaml", &*run] {
            let words: Vec<&str> = command.split(' ').chain(options.split(' ')).collect();
            let ended = workspace.run(&words).expect_code(0);
            let expected = counts.map(|counts| format!("{warning} {counts} values of `metadata.subject`"));
            let is_found = expected.is_none_or(|expected| ended.stderr.contains(&expected));
            assert!(is_found, "{words:?}\n{}", ended.stderr);
            assert_eq!(ended.stderr.contains(warning), counts.is_some(), "{words:?}\n{}", ended.stderr);
        }
        let recorded = counts.map(|counts| {
            json!([format!("{warning} {counts} values of `metadata.subject`; the figures cover only these")])
        });
        assert_eq!(workspace.json(run_id, "manifest.json")["warnings"], json!(recorded), "{options}");
        let shown = workspace.run(&["runs", "show", run_id]).expect_code(0);
        let line = "\nwarning   the limit of samples keeps";
        assert_eq!(shown.stdout.contains(line), counts.is_some(), "{}", shown.stdout);
    }
    // Answers that are scored again are as limited as before. A resumed run has its own limit.
    workspace.run(&["score", "one", "--run-id", "again"]).expect_code(0);
    let warnings = |run_id: &str| workspace.json(run_id, "manifest.json")["warnings"].clone();
    assert_eq!(warnings("again"), warnings("one"));
    workspace.run(&["run", "suite.yaml", "--resume", "one", "--limit", "5"]).expect_code(0);
    assert!(warnings("one")[0].as_str().is_some_and(|text| text.contains("2 of 3")), "{}", warnings("one"));
    workspace.run(&["run", "suite.yaml", "--resume", "one"]).expect_code(0);
    assert_eq!(warnings("one"), json!(null));
}

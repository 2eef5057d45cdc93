//! The last line of a run's end, the samples that it points to, and what the terminal names on the way.

use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, Workspace, judged_suite, rows, suite};
use serde_json::json;

/// Returns a workspace with four rows and a suite. The server answers two rows as they should be, one wrongly and one not at
/// all.
fn workspace(server: &Server) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    workspace
}

fn server() -> Server {
    Server::start(|request| {
        let number = question_number(request);
        completion(&match number {
            0 | 1 => format!("answer {number}"),
            2 => "something else".to_owned(),
            _ => String::new(),
        })
    })
}

#[track_caller]
fn next_of(ended: &CommandOutput) -> &str {
    let last = ended.stderr.lines().last().unwrap_or_default();
    last.strip_prefix("next: gage-host ").unwrap_or_else(|| panic!("no command: {}", ended.stderr))
}

#[test]
fn every_end_of_a_run_prints_a_command() {
    let server = server();
    let workspace = workspace(&server);
    let run = |arguments: &[&str], code: i32| {
        workspace.run(&[&["run", "suite.yaml"], arguments].concat()).expect_code(code)
    };
    let whole = run(&["--run-id", "whole", "--max-samples", "2"], 0);
    assert_eq!(next_of(&whole), "report runs/whole");
    let failed = run(&["--run-id", "failed"], 4);
    assert_eq!(next_of(&failed), "samples runs/failed --failed");
    let spent = run(&["--run-id", "spent", "-j", "1", "--max-tokens-total", "1"], 4);
    let resume = next_of(&spent).to_owned();
    assert!(resume.starts_with("run suite.yaml -j 1 --max-tokens-total "), "{resume}");
    assert!(resume.ends_with(" --run-id spent --resume"), "{resume}");
    let words: Vec<&str> = resume.split(' ').collect();
    let again = workspace.run(&words);
    assert!(again.stderr.contains("next: gage-host "), "{}", again.stderr);
    // A finished run cannot be continued, for example with other answers.
    let taken = run(&["--run-id", "whole"], 2);
    assert!(taken.stderr.contains("it is finished: choose another --run-id"), "{}", taken.stderr);
    assert_eq!(next_of(&taken), "run suite.yaml");
    run(&["--run-id", "open", "-j", "1", "--max-tokens-total", "1"], 4);
    let taken = run(&["--run-id", "open"], 2);
    assert!(taken.stderr.contains("continue it with --resume"), "{}", taken.stderr);
    assert_eq!(next_of(&taken), "run suite.yaml --run-id open --resume");
    let scored = workspace.run(&["score", "whole"]).expect_code(0);
    assert!(next_of(&scored).starts_with("report "), "{}", scored.stderr);
    // The standard output stream has only the result.
    assert!(!whole.stdout.contains("next:"), "{}", whole.stdout);
}

#[test]
fn resuming_with_another_variable_names_it_and_the_same_command() {
    let server = server();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let url = server.server.uri();
    workspace.write(
        "suite.yaml",
        format!(
            "datasets: [rows.jsonl]\nmetrics: [exact_match]\n\
             model: {{name: 'openai:${{A_MODEL:-small}}', base_url: '{url}/v1'}}\n"
        ),
    );
    let run = ["run", "suite.yaml", "--run-id", "r"];
    workspace.run_with_env([("A_MODEL", "big")], &run).expect_code(0);
    let refused = workspace.run(&[&run[..], &["--resume"]].concat()).expect_code(2);
    let difference = "config.backends[0].config.model: \"big\" before, \"small\" now (from the variable `A_MODEL`; set \
                      it as it was)";
    assert!(refused.stderr.contains(difference), "{}", refused.stderr);
    assert_eq!(next_of(&refused), "run suite.yaml --run-id r --resume");
}

#[test]
fn open_runs_of_several_models_have_one_command() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    let url = server.server.uri();
    let models = format!("['openai:a@{url}/v1', 'openai:b@{url}/v1']");
    let suite = format!("datasets: [rows.jsonl]\nmodel: {models}\nmetrics: [exact_match]\n");
    workspace.write("suite.yaml", suite);
    let run = |arguments: &[&str], code: i32| {
        workspace.run(&[&["run", "suite.yaml"], arguments].concat()).expect_code(code)
    };
    let spent = run(&["--run-id", "m", "-j", "1", "--max-tokens-total", "1"], 4);
    let resume = next_of(&spent).to_owned();
    assert!(resume.starts_with("run suite.yaml -j 1 --max-tokens-total "), "{resume}");
    assert!(resume.ends_with(" --run-id m --resume"), "{resume}");
    assert_eq!(spent.stderr.matches("--resume").count(), 1, "{}", spent.stderr);
    for (run_id, part) in [
        ("m-a", "continue all of them with `gage-host run suite.yaml --run-id m --resume`"),
        ("other", "there is no run to resume whose id begins with 'other-'"),
    ] {
        let refused = run(&["--run-id", run_id, "--resume"], 2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let whole = run(&["--run-id", "m", "--resume"], 0);
    assert_eq!(next_of(&whole), "compare runs/m-a runs/m-b");
    assert_eq!(server.requests(), 8);
    let taken = run(&["--run-id", "m"], 2);
    assert_eq!(next_of(&taken), "run suite.yaml");
}

#[test]
fn a_model_that_fails_does_not_keep_others_from_running() {
    let server = Server::start(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        match body["model"] == "missing" {
            true => wiremock::ResponseTemplate::new(404).set_body_string("no such model"),
            false => completion(&format!("answer {}", question_number(request))),
        }
    });
    let workspace = Workspace::new();
    // So many refusals end a run.
    workspace.write("rows.jsonl", rows(200));
    workspace.write("suite.yaml", "datasets: [rows.jsonl]\nmetrics: [exact_match]\n");
    let [missing, good] = ["missing", "good"].map(|name| format!("openai:{name}@{}/v1", server.server.uri()));
    let run = ["run", "suite.yaml", "--run-id", "m", "--model", &missing, "--model", &good];
    let ended = workspace.run(&run).expect_code(2);
    assert_eq!(workspace.json("m-good", "summary.json")["samples"]["total"], 200);
    let failed = format!("ended early: {missing}: refused: ");
    assert!(ended.stderr.contains(&failed), "{}", ended.stderr);
    assert!(ended.stdout.contains(&missing) && ended.stdout.contains(&good), "{}", ended.stdout);
    assert!(next_of(&ended).ends_with(" --run-id m --resume"), "{}", ended.stderr);
}

#[test]
fn failed_samples_are_printed_with_questions_and_answers() {
    let server = server();
    let workspace = workspace(&server);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let shown = workspace.run(&["samples", "r", "--failed"]).expect_code(0);
    for part in ["question 2", "answer 2", "something else", "exact_match 0, not passed", "question 3"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("question 0"), "{}", shown.stdout);
    assert_eq!(shown.stderr, "2 of 4 samples failed\n");
    let one = workspace.run(&["samples", "runs/r", "--failed", "--limit", "1", "--json"]).expect_code(0);
    let value = one.stdout_json();
    assert_eq!((&value["chosen"], &value["all"]), (&json!(2), &json!(4)));
    // A sample without an answer comes before a wrong answer.
    assert_eq!(value["samples"][0]["question"], "question 3");
    assert_eq!(value["samples"][0]["outcome"], "empty_output");
    let place = |text: &str| shown.stdout.find(text);
    assert!(place("question 3") < place("question 2"), "{}", shown.stdout);
    assert!(one.stderr.contains("1 of them are not shown: --limit 2 shows all"), "{}", one.stderr);
    let all = workspace.run(&["samples", "r"]).expect_code(0);
    assert!(all.stdout.contains("question 0"), "{}", all.stdout);
    let unknown = workspace.run(&["samples", "r", "--task", "other"]).expect_code(2);
    assert!(unknown.stderr.contains("has no task `other`"), "{}", unknown.stderr);
}

#[test]
fn limits_that_hold_a_run_back_are_named_at_its_end() {
    let server = server();
    let workspace = workspace(&server);
    let held = "note: held at 1 by `mode: sequential` of the task";
    let run = ["run", "suite.yaml", "--set", "custom.mode=sequential"];
    // The user did not ask for more than the suite allows.
    let silent = workspace.run(&run);
    assert!(!silent.stderr.contains("held at"), "{}", silent.stderr);
    let ended = workspace.run(&[&run[..], &["--concurrency", "16"]].concat());
    assert!(ended.stderr.contains(held) && ended.stderr.contains("leave it out"), "{}", ended.stderr);

    let judging = Server::start(|_| completion("CORRECT: yes\nSCORE: 1"));
    let (model, judge) = (server.backend(""), judging.backend(", max_concurrency: 2"));
    let steps = "[{step: inference}, {step: judge, judge: verdict}, {step: auto_eval}]";
    workspace.write("judged.yaml", judged_suite(&model, &judge, "", "[judge_score]", steps, ""));
    let silent = workspace.run(&["run", "judged.yaml"]);
    assert!(!silent.stderr.contains("held at"), "{}", silent.stderr);
    let ended = workspace.run(&["run", "judged.yaml", "--concurrency", "16"]);
    let held = "note: judging is held at 2 by `max_concurrency` of the backend `judges`; raise it";
    assert!(ended.stderr.contains(held), "{}", ended.stderr);
}

#[test]
fn paths_of_metrics_are_checked_by_data_validate() {
    let server = server();
    let workspace = workspace(&server);
    let with = |path: &str| {
        let metric = format!("[{{exact_match: {{label_field: {path}}}}}]");
        workspace.write("suite.yaml", suite(&server.backend(""), &metric));
        workspace.run(&["data", "validate", "suite.yaml"])
    };
    let typo = with("sample.lable").expect_code(4);
    let message = "no Sample has a value at `sample.lable` (exact_match.label_field)";
    assert!(typo.stderr.contains(message), "{}", typo.stderr);
    assert!(typo.stdout.contains("not valid: a metric reads a path"), "{}", typo.stdout);
    with("sample.references.0.answer").expect_code(0);
    with("model_output.answer").expect_code(0);
}

#[test]
fn listing_compiles_nothing() {
    let workspace = Workspace::new();
    for arguments in [&["list"][..], &["metrics", "exact_match"]] {
        let cache = [("GAGE_CACHE_DIR", workspace.path("cache"))];
        workspace.run_with_env(cache, arguments).expect_code(0);
    }
    let compiled = std::fs::read_dir(workspace.path("cache/components")).map_or(0, Iterator::count);
    assert_eq!(compiled, 0, "record the descriptions of the bundled components");
}

//! Budgets of runs whose samples need several requests.

use crate::judged_runs;
use crate::server::{Server, completion};
use crate::support::RESULT_FILES;
use crate::support_steps::{self, endless_tool_calls};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Each turn takes 15 tokens.
#[test]
fn budget_ends_tool_loops_and_counts_their_usage_on_resume() {
    let server = Server::start(endless_tool_calls);
    let workspace = support_steps::workspace(2);
    let steps = "{step: inference, tools: {max_turns: 5}}";
    let extra =
        "  score_outcomes: [truncated]\npricing: [{backend_id: model, prompt: 1000, completion: 1000}]\n";
    workspace.write("suite.yaml", support_steps::suite(&server, "", steps, extra));
    for (id, flag, budget, larger, reason) in [
        ("tokens", "--max-tokens-total", "60", "1000", "max_tokens_total 60: 60 tokens are spent"),
        ("cost", "--max-cost", "0.055", "1", "max_cost 0.055: 0.060000 is spent"),
    ] {
        let before = server.requests();
        let run = ["run", "suite.yaml", "--run-id", id, "-j", "1", flag];
        let ended = workspace.run(&[&run[..], &[budget]].concat()).expect_code(4);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        assert_eq!(server.requests() - before, 4, "{id}");
        assert_eq!(workspace.samples(id), Vec::<Value>::new(), "none has come to its end");
        let manifest = workspace.json(id, "manifest.json");
        assert_eq!(manifest["ended_by"], format!("budget: {reason}"));
        let kept = json!({"model": {"prompt_tokens": 40, "completion_tokens": 20}});
        assert_eq!(manifest["unrecorded_usage"], kept);
        let cost = manifest["costs"]["model"].as_f64().expect("a cost");
        assert!((cost - 0.06).abs() < 1e-12, "{cost}");

        let again = workspace.run(&[&run[..], &[budget, "--resume"]].concat()).expect_code(4);
        assert!(again.stderr.contains(reason), "{}", again.stderr);
        assert_eq!(server.requests() - before, 4, "{id}: what was spent before counts");
        let whole = workspace.run(&[&run[..], &[larger, "--resume", "--json"]].concat()).expect_code(0);
        assert_eq!(server.requests() - before, 14, "{id}");
        let report = whole.stdout_json();
        assert_eq!(workspace.json(id, "manifest.json")["costs"]["model"], report["spent"]["cost"]);
        assert_eq!(
            (&report["spent"]["prompt_tokens"], &report["spent"]["completion_tokens"]),
            (&json!(140), &json!(70))
        );
        // Further turns are not retries.
        let timings = &report["timings"];
        assert_eq!((&timings["requests"], &timings["retries"]), (&json!(10), &json!(0)));
        assert_eq!(timings["tasks"][0]["retries"], 0);
    }
}

#[test]
fn time_budget_ends_tool_loops() {
    let server = Server::start(|request| endless_tool_calls(request).set_delay(Duration::from_millis(50)));
    let workspace = support_steps::workspace(2);
    let steps = "{step: inference, tools: {max_turns: 1000}}";
    workspace.write("suite.yaml", support_steps::suite(&server, "", steps, ""));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--max-time", "1"]).expect_code(4);
    assert!(ended.stderr.contains("max_time 1 s is over"), "{}", ended.stderr);
    assert!(ended.stderr.contains(" --max-time 2s --run-id r --resume\n"), "{}", ended.stderr);
    assert_eq!(workspace.samples("r"), Vec::<Value>::new());
}

/// Each answer and each reply takes five tokens.
#[test]
fn budget_ends_a_run_between_an_answer_and_its_judges() {
    let is_clear = Arc::new(AtomicBool::new(false));
    let speaks = Arc::clone(&is_clear);
    let judge = Server::start(move |_| match speaks.load(Ordering::SeqCst) {
        true => completion("Fine.\nCORRECT: yes\nSCORE: 1"),
        false => completion("Who knows?"),
    });
    let (model, workspace) = (judged_runs::model(), judged_runs::workspace(20));
    let step = "{step: judge, attempts: 10}";
    workspace.write("suite.yaml", judged_runs::suite(&model, &judge, step, ""));
    let run = ["run", "suite.yaml", "--run-id", "r", "-j", "1"];
    let ended = workspace.run(&[&run[..], &["--max-tokens-total", "42"]].concat()).expect_code(4);
    // The ninth answer or reply exhausts the budget; one more request of the other role may be in flight.
    let asked = model.requests() + judge.requests();
    assert!((9..=10).contains(&asked), "{asked} requests");
    let reason = format!("max_tokens_total 42: {} tokens are spent", asked * 5);
    assert!(ended.stderr.contains(&reason), "{}", ended.stderr);
    is_clear.store(true, Ordering::SeqCst);
    let before = model.requests();
    let larger = ["--resume", "--json", "--max-tokens-total", "100000"];
    let report = workspace.run(&[&run[..], &larger].concat()).expect_code(0);
    let report = report.stdout_json();
    assert_eq!(model.requests(), 20, "what was answered ({before}) is not asked again");
    let spent = report["spent"]["completion_tokens"].as_u64().expect("tokens");
    assert_eq!(spent, 2 * (model.requests() + judge.requests()) as u64);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
}

/// Each answer and each reply takes five tokens.
#[test]
fn a_cost_names_the_models_without_a_price() {
    let judge = Server::start(|_| completion("Fine.\nCORRECT: yes\nSCORE: 1"));
    let (model, workspace) = (judged_runs::model(), judged_runs::workspace(2));
    let price =
        |backend_id: &str| format!("  - {{backend_id: {backend_id}, prompt: 1000, completion: 1000}}\n");
    let pricing = format!("pricing:\n{}{}", price("model"), price("judges"));
    workspace.write("suite.yaml", judged_runs::suite(&model, &judge, "{step: judge}", &pricing));
    let whole = workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    assert!(whole.stderr.contains("cost: 0.0200 (12 tokens of prompts"), "{}", whole.stderr);

    // The price of a replaced model is not that of the other one.
    let other = format!("openai:other@{}/v1", model.server.uri());
    let run = ["run", "suite.yaml", "--run-id", "other", "--model", &other];
    let partial = workspace.run(&run).expect_code(0);
    let cost = "cost: 0.0100, judges only: no price for `other` (12 tokens of prompts";
    assert!(partial.stderr.contains(cost), "{}", partial.stderr);
    let manifest = workspace.json("other", "manifest.json");
    assert_eq!(manifest["unpriced"].as_array().map(Vec::len), Some(1), "{manifest}");
    assert_eq!(manifest["prices"], json!({"judges": {"prompt": 1000.0, "completion": 1000.0}}));
}

//! Judges and extractors in a run, with a real server on loopback as the judge.

use crate::server::{Server, completion};
use crate::support::{Workspace, judged_suite, rows};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns a suite whose model is a script and whose judge is a server.
pub(crate) fn suite(server: &Server, steps: &str, metrics: &str, extra: &str) -> String {
    let model =
        "type: custom_script\n    config: {component: ./scripted.wasm, config: {default: 'SCORE: 1.0'}}";
    judged_suite(model, &server.backend(""), "", metrics, steps, extra)
}

pub(crate) fn workspace(count: usize) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    workspace.write("rows.jsonl", rows(count));
    workspace
}

/// Returns the texts of all messages of a request.
pub(crate) fn prompt_of(request: &wiremock::Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().map(|message| message["content"].as_str().unwrap_or_default().to_owned() + "\n").collect()
}

/// Returns the number of the question in the prompt of a judge.
pub(crate) fn judged_question(text: &str) -> usize {
    let block = text.split("[BEGIN QUESTION").nth(1).and_then(|rest| rest.lines().nth(1)).unwrap_or_default();
    block.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

pub(crate) const STEPS: &str = "[{step: inference}, {step: judge, attempts: 2}, {step: auto_eval}]";

#[test]
fn unreadable_replies_do_not_enter_the_mean() {
    // One reply in ten is never readable, and one in ten only at the second attempt.
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let server = Server::start(move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        let text = prompt_of(request);
        let number = judged_question(&text);
        let again = text.contains("could not be read");
        match number % 10 {
            3 => completion("I would rather not say."),
            4 if !again => completion("Hm."),
            _ => completion(&format!(
                "Fine.\nCORRECT: yes\nSCORE: {}",
                if number.is_multiple_of(2) { 1.0 } else { 0.5 }
            )),
        }
    });
    let workspace = workspace(100);
    workspace.write(
        "suite.yaml",
        suite(&server, STEPS, "[judge_score, judge_threshold]", "  min_coverage: 0.9\n"),
    );
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let summary = workspace.json("r", "summary.json");
    let figure = &summary["metrics"][0];
    assert_eq!((&figure["n"], &figure["total"], &figure["coverage"]), (&json!(90), &json!(100), &json!(0.9)));
    assert_eq!(figure["outcomes"]["judge_unparseable"], 10);
    // 50 even questions give 1 and 40 odd ones 0.5; unreadable replies do not count.
    assert_eq!(figure["value"].as_f64(), Some(70.0 / 90.0));
    assert!(ended.stdout.contains("10 judge_unparseable"), "{}", ended.stdout);
    assert_eq!(calls.load(Ordering::SeqCst), 80 + 10 * 2 + 10 * 2);
    let samples = workspace.samples("r");
    assert_eq!(samples[4]["judge_output"]["attempts"], 2);
    assert_eq!(samples[3]["error"]["stage"], "judge");
    assert_eq!(samples[3]["judge_output"]["replies"][0], "I would rather not say.");
}

/// Each component writes its own prompt, and the server replies in the form that the prompt requests.
#[test]
fn every_judge_component_reads_replies_to_its_own_prompt() {
    let server = Server::start(|request| {
        let text = prompt_of(request);
        let reply = match () {
            // The model's answer, 'SCORE: 1.0', is the better one at either position.
            () if text.contains("WINNER") => {
                let (first, second) = (text.find("SCORE: 1.0"), text.find("the baseline"));
                format!("Clear.\nWINNER: {}", if first < second { "A" } else { "B" })
            }
            () if text.contains("POINT p1:") => "Checked.\nPOINT p1: MET\nPOINT short: NOT MET".to_owned(),
            () if text.contains("GRADE: <") => "Not so.\nGRADE: INCORRECT".to_owned(),
            () => "Close.\n{\"reason\": \"nearly\", \"verdict\": \"partially_correct\", \"score\": 3}"
                .to_owned(),
        };
        completion(&reply)
    });
    let workspace = workspace(1);
    workspace.write(
        "rows.jsonl",
        r#"{"id": "q", "question": "How many?", "answer": "7", "metadata": {"baseline": "the baseline"}}"#,
    );
    for (judge, score, extra) in [
        ("pairwise", 1.0, json!({"answer": "answer", "position_consistent": true})),
        (
            "{rubric: {points: [{text: Says how many}, {id: short, text: Is short, weight: 3}]}}",
            0.25,
            json!({"answer": "1/2", "sub_scores": {"p1": 1.0, "short": 0.0}}),
        ),
        ("grade", 0.0, json!({"label": "INCORRECT", "tags": ["INCORRECT"], "passes": false})),
        (
            "{json_verdict: {scale: [1, 5]}}",
            0.5,
            json!({"answer": "partially_correct", "explanation": "nearly"}),
        ),
    ] {
        let steps = format!("[{{step: inference}}, {{step: judge, judge: {judge}}}, {{step: auto_eval}}]");
        workspace.write("suite.yaml", suite(&server, &steps, "[judge_score]", ""));
        let id = judge.trim_start_matches('{').split([':', '(']).next().unwrap_or_default();
        workspace.run(&["run", "suite.yaml", "--run-id", id]).expect_code(0);
        assert_eq!(workspace.json(id, "summary.json")["metrics"][0]["value"], score, "{judge}");
        let output = &workspace.samples(id)[0]["judge_output"];
        for (name, expected) in extra.as_object().into_iter().flatten() {
            assert_eq!(&output[name], expected, "{judge}: {output}");
        }
    }
}

#[test]
fn scores_of_several_judges_are_combined() {
    let server = Server::start(|request| {
        let strict = prompt_of(request).contains("Be strict");
        completion(if strict { "CORRECT: no\nSCORE: 0" } else { "CORRECT: yes\nSCORE: 1" })
    });
    let workspace = workspace(3);
    let steps = "\n    - step: inference\n    - step: judge\n      judges:\n        - {judge_id: kind, adapter_id: judge}\n        \
        - {judge_id: strict, adapter_id: judge, judge: {verdict: {instructions: Be strict.}}}\n      combine: mean\n    - step: auto_eval";
    workspace.write("suite.yaml", suite(&server, steps, "[judge_score]", ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let figure = &workspace.json("r", "summary.json")["metrics"][0];
    assert_eq!(figure["value"], 0.5);
    let names: Vec<&str> = figure["sub_scores"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|sub| sub["name"].as_str())
        .collect();
    assert_eq!(names, ["judge_kind", "judge_strict"]);
}

#[test]
fn extracted_answer_is_scored_and_recorded() {
    let server = Server::start(|_| completion(""));
    let workspace = workspace(2);
    let written = "<think>maybe 3</think>Adding up, \\\\boxed{7} it is.";
    let steps = "[{step: inference}, {step: extract, extractors: [strip_thoughts, boxed, last_number]}, {step: auto_eval}]";
    let text = suite(&server, steps, "[exact_match]", "")
        .replace("'SCORE: 1.0'", &format!("\"{written}\""))
        .replace("  - {adapter_id: judge, role_type: judge_model, backend_id: judges}\n", "");
    workspace.write("rows.jsonl", "{\"id\":\"a\",\"question\":\"3+4?\",\"answer\":\"7\"}\n{\"id\":\"b\",\"question\":\"4+4?\",\"answer\":\"8\"}\n");
    workspace.write("suite.yaml", text.clone());
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 0.5);
    let output = &workspace.samples("r")[0]["model_output"];
    assert_eq!((&output["answer"], &output["parsed"]["value"]), (&json!("7"), &json!("7")));
    assert_eq!(output["extraction"]["extractor"], "boxed");
    assert!(output["written"].as_str().is_some_and(|text| text.contains("Adding up")), "{output}");

    // If nothing is extracted from any answer, there is no figure.
    workspace.write("none.yaml", text.replace(written, "no idea"));
    let ended = workspace.run(&["run", "none.yaml", "--run-id", "none"]).expect_code(4);
    assert!(
        ended.stderr.contains("`exact_match` found no prediction in any of 2 answers"),
        "{}",
        ended.stderr
    );
    let figure = workspace.json("none", "summary.json")["metrics"][0].clone();
    assert_eq!(
        (&figure["value"], &figure["error"]),
        (&Value::Null, &json!("no answer of 2 has a prediction for this metric"))
    );
    let sample = &workspace.samples("none")[0];
    assert_eq!(
        (&sample["model_output"]["answer"], &sample["model_output"]["written"]),
        (&Value::Null, &json!("no idea"))
    );
    assert_eq!(sample["metrics"][0]["card"]["error_tags"][0], "missing_prediction");
}

#[test]
fn invalid_steps_are_refused_before_the_run() {
    let server = Server::start(|_| completion(""));
    let workspace = workspace(1);
    for (steps, expected) in [
        ("[{step: inference}, {step: judge, adapter_id: juge}, {step: auto_eval}]", "did you mean `judge`?"),
        ("[{step: inference}, {step: judge, judge: verdct}, {step: auto_eval}]", "did you mean `verdict`?"),
        ("[{step: inference}, {step: judge, judge: verdict(scal=1)}, {step: auto_eval}]", "`scal`"),
        (
            "[{step: inference}, {step: auto_eval}, {step: judge}]",
            "the order is: support, inference, embed, judge, extract, auto_eval, report",
        ),
        ("[{step: inference}, {step: judge}, {step: judge}, {step: auto_eval}]", "under `judges`"),
        (
            "[{step: inference}, {step: extract, extractors: [boxd]}, {step: auto_eval}]",
            "did you mean `boxed`?",
        ),
        ("[{step: inference}, {step: extract}, {step: auto_eval}]", "extractors"),
        (
            "[{step: inference}, {step: extract, extractors: []}, {step: auto_eval}]",
            "the list of extractors is empty",
        ),
        ("[{step: inference}, {step: judge, judges: []}, {step: auto_eval}]", "the list of judges is empty"),
        (
            "[{step: inference}, {step: extract, extractors: [last_number(text_field=model_output.latency_ms)]}, {step: auto_eval}]",
            "an extractor cannot read a value that varies from run to run",
        ),
        (
            "[{step: inference}, {step: extract, extractors: [regex(pattern='(')]}, {step: auto_eval}]",
            "position",
        ),
    ] {
        workspace.write("suite.yaml", suite(&server, steps, "[judge_score]", ""));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{steps}\n{}", ended.stderr);
    }
}

#[test]
fn run_is_rescored_without_its_model() {
    let server = Server::start(|_| completion("CORRECT: yes\nSCORE: 1"));
    let workspace = workspace(70);
    // One row is invalid.
    workspace.write("rows.jsonl", rows(70) + "not JSON\n");
    let steps =
        "[{step: inference}, {step: judge}, {step: extract, extractors: [last_number]}, {step: auto_eval}]";
    let text = suite(&server, steps, "[exact_match, judge_score]", "");
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "first"]).expect_code(0);
    let asked = server.requests();
    drop(server);

    // The same scorers give the same bytes.
    workspace.run(&["score", "runs/first", "--run-id", "again"]).expect_code(0);
    assert_eq!(workspace.read("runs/again/samples.jsonl"), workspace.read("runs/first/samples.jsonl"));
    assert_eq!(workspace.read("runs/again/summary.json"), workspace.read("runs/first/summary.json"));
    assert_eq!(workspace.json("again", "manifest.json")["parent_run"], "first");
    assert_eq!(asked, 70);

    // Other scorers give other figures; the invalid row stays invalid.
    let scored = workspace
        .run(&[
            "score",
            "runs/first",
            "--metric",
            "contains",
            "--metric",
            r#"{"numeric_match": {"mode": "ge"}}"#,
            "--json",
        ])
        .expect_code(0);
    let report = scored.stdout_json();
    let metrics = report["summary"]["metrics"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = metrics.iter().filter_map(|metric| metric["metric_id"].as_str()).collect();
    assert_eq!(names, ["contains", "numeric_match"]);
    assert_eq!(report["summary"]["samples"]["outcomes"]["invalid_sample"], 1);

    for (arguments, expected) in [
        (vec!["score", "runs/first", "--set", "custom.repeat=2"], "the run asked with `repeat: 1`"),
        (
            vec!["score", "runs/first", "--set", "custom.max_samples=5"],
            "`--set` changes `custom.max_samples`, which has no effect on answers that were given already",
        ),
        (
            vec!["score", "runs/first", "--set", "custom.steps.judge.combine=vote"],
            "`--set` changes `custom.steps`",
        ),
        (vec!["score", "runs/first", "--metric", "exact_mach"], "did you mean `exact_match`?"),
        (vec!["score", "runs/first", "--run-id", "first"], "there is a run 'first' already"),
        (vec!["score", "runs/none"], "runs/none"),
        (vec!["score", "runs/first", "--set", "tasks.0.task_id=other"], "tasks"),
    ] {
        let ended = workspace.run(&arguments).expect_code(2);
        assert!(ended.stderr.contains(expected), "{arguments:?}\n{}", ended.stderr);
    }
}

#[test]
fn every_repeat_of_a_sample_is_recorded() {
    let workspace = workspace(3);
    let server = Server::start(|_| completion(""));
    let text = suite(&server, "[{step: inference}, {step: auto_eval}]", "[exact_match]", "  repeat: 4\n")
        .replace("  - {adapter_id: judge, role_type: judge_model, backend_id: judges}\n", "");
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    let ids: Vec<&str> = samples.iter().filter_map(|sample| sample["sample_id"].as_str()).collect();
    assert_eq!(ids.len(), 12);
    assert!(ids.chunks(4).all(|chunk| chunk.iter().all(|id| *id == chunk[0])), "{ids:?}");
}

/// The rows are answers with their references; the snapshot holds their results by metrics of several components.
#[test]
fn unusual_answers_have_defined_results() {
    let workspace = workspace(1);
    let server = Server::start(|_| completion(""));
    let exploding = "a".repeat(60) + "!";
    let long = "word ".repeat(200_000);
    let rows = [
        ("explodes", exploding.as_str(), "x"),
        ("empty", "", ""),
        ("open", "<think>never closed 5", "5"),
        ("infinite", "inf", "5"),
        ("huge", "1e400", "5"),
        ("nan", "NaN", "NaN"),
        ("long", long.as_str(), "word"),
        ("combined", "e\u{301}cole \u{65e5}\u{672c} \u{5d0}", "école 日本 א"),
    ];
    let answers: serde_json::Map<String, Value> =
        rows.iter().map(|(id, answer, _)| ((*id).to_owned(), json!(answer))).collect();
    let text: String = rows
        .iter()
        .map(|(id, _, reference)| json!({"id": id, "question": id, "answer": reference}).to_string() + "\n")
        .collect();
    workspace.write("rows.jsonl", text);
    let metrics = "[\"regex_match(pattern='(a|a)*\\\\1b')\", exact_match, numeric_match, reference_rouge, bleu, chrf, token_f1]";
    let suite = suite(
        &server,
        "[{step: inference}, {step: auto_eval}]",
        metrics,
        "  score_outcomes: [empty_output]\n  min_coverage: 0\n",
    )
    .replace("config: {default: 'SCORE: 1.0'}", &format!("config: {{answers: {}}}", json!(answers)))
    .replace("  - {adapter_id: judge, role_type: judge_model, backend_id: judges}\n", "");
    workspace.write("suite.yaml", suite);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    let shown: Vec<String> = samples
        .iter()
        .map(|sample| {
            let metrics = sample["metrics"].as_array().cloned().unwrap_or_default();
            let results: Vec<String> = metrics
                .iter()
                .map(|metric| {
                    let score = metric["card"]["primary_score"].as_f64().map(|score| format!("{score:.4}"));
                    let outcome = metric["outcome"].as_str().unwrap_or_default();
                    format!(
                        "{} {}",
                        metric["metric_id"].as_str().unwrap_or_default(),
                        score.unwrap_or(outcome.to_owned())
                    )
                })
                .collect();
            format!("{}: {}", sample["sample_id"].as_str().unwrap_or_default(), results.join(", "))
        })
        .collect();
    insta::assert_snapshot!("odd_answers", shown.join("\n"));
}

#[test]
fn eval_config_of_a_sample_changes_its_scoring() {
    let workspace = workspace(1);
    let server = Server::start(|request| {
        let is_strict = prompt_of(request).contains("Be strict");
        completion(if is_strict { "CORRECT: no\nSCORE: 0" } else { "CORRECT: yes\nSCORE: 1" })
    });
    let row = |id: &str, config: &Value| {
        let message = json!({"role": "user", "content": [{"type": "text", "text": "?"}]});
        json!({
            "schema_version": "v1", "id": id, "messages": [message], "label": "score: 1.0",
            "references": ["score: 1.0"], "eval_config": config,
        })
        .to_string()
            + "\n"
    };
    let rows = [
        row("usual", &json!({})),
        row("exact", &json!({"metrics": {"exact_match": {"case_sensitive": true}}})),
        row("without", &json!({"metrics": {"exact_match": false, "of_another_suite": {}}})),
        row("strict", &json!({"judge": {"judge": {"instructions": "Be strict."}}})),
        row("wrong", &json!({"metrics": {"exact_match": {"case": 1}}})),
    ];
    workspace.write("rows.jsonl", rows.concat());
    workspace
        .write("suite.yaml", suite(&server, STEPS, "[exact_match, judge_score]", "  min_coverage: 0.5\n"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let samples = workspace.samples("r");
    let score =
        |sample: usize, metric: usize| samples[sample]["metrics"][metric]["card"]["primary_score"].clone();
    assert_eq!((score(0, 0), score(1, 0), score(2, 0)), (json!(1.0), json!(0.0), Value::Null));
    assert_eq!(samples[2]["metrics"][0]["outcome"], "skipped");
    assert_eq!((score(0, 1), score(3, 1)), (json!(1.0), json!(0.0)));
    let message = samples[4]["metrics"][0]["error"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("eval_config.metrics.exact_match: /case: unknown parameter `case`"),
        "{message}"
    );
}

/// The other answer is that of a role which a step asks after the model.
#[test]
fn answers_are_compared_with_those_of_a_support_role() {
    let server = Server::start(|request| {
        let text = prompt_of(request);
        match (text.find("SCORE: 1.0"), text.find("words of a helper")) {
            (Some(own), Some(other)) => completion(if own < other { "WINNER: A" } else { "WINNER: B" }),
            _ => completion("words of a helper"),
        }
    });
    let workspace = workspace(2);
    let judge = "{pairwise: {baseline_field: support_output.helper.context}}";
    let steps = format!(
        "[{{step: inference}}, {{step: support, adapter_id: helper}}, {{step: judge, judge: {judge}}}, \
         {{step: auto_eval}}]"
    );
    let role = "  - {adapter_id: helper, role_type: helper_model, backend_id: judges, prompt_id: ask}\n\
                prompts: [{prompt_id: ask, template: '{{ question }}'}]\nmetrics:";
    let text = suite(&server, &steps, "[judge_score]", "").replacen("metrics:", role, 1);
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    for sample in workspace.samples("r") {
        assert_eq!(sample["support_output"]["helper"]["context"], "words of a helper");
        assert_eq!(sample["judge_output"]["winner"], "answer", "{sample}");
    }
}

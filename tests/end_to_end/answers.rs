//! Answers that were made elsewhere: scored without a model.

use crate::server::{Server, completion};
use crate::support::Workspace;
use serde_json::Value;

const ROWS: &str = "{\"id\": \"p\", \"question\": \"Capital of Peru?\", \"answer\": \"Lima\"}\n\
                    {\"id\": \"c\", \"question\": \"Capital of Chile?\", \"answer\": \"Santiago\"}\n";

const SUITE: &str = "datasets: rows.jsonl\nmodel: openai:m@http://127.0.0.1:9/v1\nmetrics: [exact_match]\n";

/// Answers that are all right, in the order of the ids and not of the rows.
const ANSWERS: &str =
    "{\"id\": \"c\", \"response\": \"Santiago\"}\n{\"id\": \"p\", \"response\": \"Lima\"}\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    workspace.write("suite.yaml", SUITE);
    workspace.write("answers.jsonl", ANSWERS);
    workspace
}

fn value_of(workspace: &Workspace, run: &str) -> Value {
    workspace.json(run, "summary.json")["tasks"][0]["metrics"][0]["value"].clone()
}

const RUN: [&str; 6] = ["run", "suite.yaml", "--answers", "answers.jsonl", "--run-id", "r"];

#[test]
fn answers_are_scored_without_a_model() {
    let workspace = workspace();
    workspace.run(&["validate", "suite.yaml", "--answers", "answers.jsonl"]).expect_code(0);
    workspace.run(&RUN).expect_code(0);
    assert_eq!(value_of(&workspace, "r"), 1.0);
    let manifest = workspace.json("r", "manifest.json");
    let backend = &manifest["identity"]["backends"]["answers"];
    assert_eq!((&backend["type"], &backend["details"]["answers"]), (&"answers".into(), &2.into()));
    workspace.run(&["verify", "r"]).expect_code(0);
    // Nothing was sent to a model, so the sample is shown with its question.
    let shown = workspace.run(&["runs", "show", "r", "--sample", "p"]).expect_code(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("question Capital of Peru? reply Lima"), "{shown}");
    assert!(!shown.contains("to answers") && !shown.contains("to dut"), "{shown}");
    let json = workspace.run(&["runs", "show", "r", "--sample", "p", "--json"]).expect_code(0).stdout_json();
    assert_eq!(json["requests"], serde_json::json!([]), "{json:#}");
    workspace.run(&["score", "r", "--metric", "exact_match", "--run-id", "again"]).expect_code(0);
    assert_eq!(value_of(&workspace, "again"), 1.0);
    // The answers of a run are a file of answers, too.
    let answers = "runs/r/samples.jsonl";
    workspace.run(&["run", "suite.yaml", "--answers", answers, "--run-id", "copy"]).expect_code(0);
    assert_eq!(value_of(&workspace, "copy"), 1.0);
}

#[test]
fn every_form_of_answers_gives_the_same_figure() {
    let workspace = workspace();
    let log = r#"{"samples": [{"id": "p", "output": {"choices": [{"message": {"content": "Lima"}}]}},
                             {"id": "c", "output": {"choices": [{"message": {"content": "Santiago"}}]}}]}"#;
    for (name, content) in [
        ("texts.jsonl", "\"Lima\"\n\"Santiago\"\n"),
        ("table.csv", "id,completion\nc,Santiago\np,Lima\n"),
        ("log.json", log),
        (
            "lm_eval.jsonl",
            "{\"doc_id\": 1, \"resps\": [[\"Santiago\"]]}\n{\"doc_id\": 0, \"resps\": [[\"Lima\"]]}\n",
        ),
    ] {
        workspace.write(name, content);
        workspace.run(&["run", "suite.yaml", "--answers", name, "--run-id", name]).expect_code(0);
        assert_eq!(value_of(&workspace, name), 1.0, "{name}");
    }
}

#[test]
fn missing_and_surplus_answers_are_counted() {
    let workspace = workspace();
    workspace.write(
        "answers.jsonl",
        "{\"id\": \"p\", \"answer\": \"Lima\"}\n{\"id\": \"x\", \"answer\": \"?\"}\n{\"id\": \"y\", \"answer\": null}\n",
    );
    let ended = workspace.run(&RUN).expect_code(4);
    assert!(ended.stderr.contains("entries without an answer: 1"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("1 of 2 answers belong to no sample, the first in line 2"),
        "{}",
        ended.stderr
    );
    let error = workspace.samples("r")[1]["error"].clone();
    assert_eq!(error["kind"], "no_given_answer");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("has no answer with the id 'c'; its first ids are: p, x"), "{message}");
}

#[test]
fn errors_in_the_place_of_answers_are_reasons() {
    let workspace = workspace();
    for (name, error) in [("text", "\"boom\""), ("object", "{\"message\": \"boom\", \"traceback\": \"…\"}")]
    {
        let failed = format!("{{\"id\": \"c\", \"answer\": null, \"error\": {error}}}\n");
        workspace.write("answers.jsonl", format!("{{\"id\": \"p\", \"answer\": \"Lima\"}}\n{failed}"));
        let run = ["run", "suite.yaml", "--answers", "answers.jsonl", "--run-id", name];
        workspace.run(&run).expect_code(4);
        let error = workspace.samples(name)[1]["error"].clone();
        assert_eq!(error["kind"], "no_given_answer", "{name}");
        let message = error["message"].as_str().unwrap_or_default();
        assert_eq!(message, "'answers.jsonl' has an error in the place of an answer: boom", "{name}");
    }
}

/// The advice was once that for a model: to raise `max_new_tokens`.
#[test]
fn advice_about_given_answers_fits_their_file() {
    let workspace = workspace();
    let cut_off = ANSWERS.replace("\"response\"", "\"finish_reason\": \"length\", \"response\"");
    for (name, content, part) in [
        ("cut.jsonl", cut_off.as_str(), "2 of 2 answers were cut off, as their `finish_reason` says"),
        ("empty.csv", "id,answer\np,\nc,\n", "2 of 2 answers are empty in their file"),
    ] {
        workspace.write(name, content);
        let ended = workspace.run(&["run", "suite.yaml", "--answers", name, "--run-id", name]).expect_code(4);
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
        assert!(!ended.stderr.contains("max_new_tokens"), "{}", ended.stderr);
    }
}

#[test]
fn suite_with_auto_eval_alone_needs_answers() {
    let workspace = workspace();
    let suite = "datasets: rows.jsonl\nmetrics: [exact_match]\ncustom: {steps: [{step: auto_eval}]}\n";
    workspace.write("suite.yaml", suite);
    let refused = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(2);
    assert!(refused.stderr.contains("score existing answers with --answers FILE"), "{}", refused.stderr);
    workspace.run(&RUN).expect_code(0);
    assert_eq!(value_of(&workspace, "r"), 1.0);
}

#[test]
fn unclear_answers_are_refused() {
    let workspace = workspace();
    let refused = workspace.run(&[&RUN[..], &["--model", "openai:m"]].concat()).expect_code(2);
    assert!(refused.stderr.contains("cannot be used with"), "{}", refused.stderr);
    for (content, part) in [
        (
            "{\"id\": \"p\", \"answer\": \"a\"}\n{\"id\": \"p\", \"answer\": \"b\"}\n",
            "the sample has 2 answers, the first in line 1",
        ),
        ("{\"id\": \"p\", \"answer\": \"a\"}\n\"b\"\n", "it has no id, and other answers have one"),
        (
            "{\"id\": \"p\", \"answer\": \"a\", \"output\": \"b\"}\n",
            "name the right one: `answers: {path: FILE, answer_field: FIELD}`",
        ),
        ("", "has no rows"),
    ] {
        workspace.write("answers.jsonl", content);
        let refused = workspace.run(&RUN).expect_code(2);
        assert!(refused.stderr.contains(part), "{content}\n{}", refused.stderr);
    }
    workspace.write("answers.jsonl", "\"Lima\"\n\"Santiago\"\n");
    let shuffled = [&RUN[..], &["--set", "datasets.rows.params.shuffle=true"]].concat();
    let refused = workspace.run(&shuffled).expect_code(2);
    assert!(refused.stderr.contains("shuffles its rows"), "{}", refused.stderr);
    std::fs::remove_file(workspace.path("answers.jsonl")).expect("removed");
    let refused = workspace.run(&["validate", "suite.yaml", "--answers", "answers.jsonl"]).expect_code(2);
    assert!(refused.stderr.contains("cannot be read"), "{}", refused.stderr);
}

/// The answers to later repeats were once given to earlier ones.
#[test]
fn missing_repeat_does_not_shift_the_later_ones() {
    let workspace = workspace();
    let suite = "datasets:\n- {dataset_id: rows, loader: jsonl, params: {path: rows.jsonl}}\n\
                 metrics: [exact_match]\ntasks: [{task_id: t, dataset_id: rows, repeat: 2}]\n";
    workspace.write("suite.yaml", suite);
    let by_id = [("p", "null"), ("p", "\"Lima\""), ("c", "\"Santiago\""), ("c", "\"Lima\"")];
    let line = |(id, answer): (&str, &str)| format!("{{\"id\": \"{id}\", \"answer\": {answer}}}\n");
    for (run, content) in [
        ("ids", by_id.map(line).concat()),
        ("order", by_id.map(|(_, answer)| format!("{{\"answer\": {answer}}}\n")).concat()),
    ] {
        workspace.write("answers.jsonl", content);
        let ended = workspace
            .run(&["run", "suite.yaml", "--answers", "answers.jsonl", "--run-id", run])
            .expect_code(4);
        assert!(ended.stderr.contains("entries without an answer: 1"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("belong to no sample"), "{}", ended.stderr);
        let samples = workspace.samples(run);
        let failed = samples.iter().find(|sample| sample["outcome"] == "backend_error").expect("a failure");
        let message = failed["error"]["message"].as_str().unwrap_or_default();
        let expected = "has 1 answer for the sample 'p', and none for repeat 1";
        assert!(message.contains(expected), "{run}: {message}");
    }
}

#[test]
fn answers_of_several_datasets_need_their_tasks() {
    let workspace = workspace();
    workspace.write("more.jsonl", ROWS.replace("Lima", "Cusco"));
    let suite = "datasets:\n\
                 - {dataset_id: a, loader: jsonl, params: {path: rows.jsonl}}\n\
                 - {dataset_id: b, loader: jsonl, params: {path: more.jsonl}}\n\
                 metrics: [exact_match]\n\
                 tasks: [{task_id: one, dataset_id: a}, {task_id: two, dataset_id: b}]\n";
    workspace.write("suite.yaml", suite);
    let refused = workspace.run(&RUN).expect_code(2);
    for part in [
        "line 1: the answer has no `task_id` beside a `sample_id`, and the datasets `a` and `b`",
        r#"{"task_id": "one", "sample_id": "c", "answer": "…"}"#,
    ] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    workspace.write("answers.jsonl", "\"Lima\"\n\"Santiago\"\n");
    let refused = workspace.run(&RUN).expect_code(2);
    for part in
        ["but 2 tasks take answers from it", r#"{"task_id": "one", "sample_id": "ID", "answer": "…"}"#]
    {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let lines =
        [("one", "p", "Lima"), ("one", "c", "Santiago"), ("two", "p", "Cusco"), ("two", "c", "Santiago")];
    let line = |(task, sample, answer): (&str, &str, &str)| {
        format!("{{\"task_id\": \"{task}\", \"sample_id\": \"{sample}\", \"answer\": \"{answer}\"}}\n")
    };
    workspace.write("answers.jsonl", lines.map(line).concat());
    workspace.run(&RUN).expect_code(0);
    for task in workspace.json("r", "summary.json")["tasks"].as_array().expect("tasks") {
        assert_eq!(task["metrics"][0]["value"], 1.0, "{task}");
    }
}

#[test]
fn answers_were_made_with_one_prompt() {
    let workspace = workspace();
    let suite = "datasets: rows.jsonl\nprompt: ['{{question}}', 'Q: {{question}}']\nmetrics: [exact_match]\n";
    workspace.write("suite.yaml", suite);
    let refused = workspace.run(&RUN).expect_code(2);
    assert!(refused.stderr.contains("several prompts"), "{}", refused.stderr);
    workspace.run(&[&RUN[..], &["--prompt", "prompt-1"]].concat()).expect_code(0);
    assert_eq!(value_of(&workspace, "r"), 1.0);
}

#[test]
fn run_of_answers_is_pinned_to_their_file() {
    let workspace = workspace();
    workspace.run(&["lock", "suite.yaml", "--answers", "answers.jsonl"]).expect_code(0);
    workspace.run(&[&RUN[..], &["--locked"]].concat()).expect_code(0);
    workspace.write("answers.jsonl", ANSWERS.replace("Lima", "Quito"));
    let other = ["run", "suite.yaml", "--answers", "answers.jsonl", "--run-id", "other", "--locked"];
    let refused = workspace.run(&other).expect_code(3);
    assert!(refused.stderr.contains("backends.answers.details.file_digest"), "{}", refused.stderr);
    let refused = workspace.run(&[&RUN[..], &["--resume"]].concat());
    assert!(refused.code != Some(0) && refused.stderr.contains("file_digest"), "{}", refused.stderr);
}

#[test]
fn judges_grade_given_answers() {
    let server = Server::start(|_| completion("CORRECT: yes\nSCORE: 1"));
    let workspace = workspace();
    let url = server.server.uri();
    workspace.write(
        "suite.yaml",
        format!(
            "datasets: rows.jsonl\nbackends: [{{backend_id: grader, type: openai_http, config: {{base_url: '{url}/v1', model: g}}}}]\n\
             role_adapters: [{{adapter_id: judge, role_type: judge_model, backend_id: grader}}]\n\
             metrics: [judge_score]\n"
        ),
    );
    let ended = workspace.run(&RUN);
    assert_eq!(server.requests(), 2, "{}", ended.stderr);
}

//! Reports of the `data` commands on a dataset besides its invalid rows, and reports of a run on the same dataset.

use crate::server::{Server, completion};
use crate::support::{Workspace, suite};
use serde_json::{Value, json};

#[test]
fn samples_without_a_usable_reference_are_reported() {
    let server = Server::start(|_| completion("x"));
    let workspace = Workspace::new();
    let rows = [
        json!({"id": "q0", "question": "q", "answer": "x"}),
        json!({"id": "q1", "question": "q", "Answer": "x"}),
        json!({"id": "q2", "question": "q", "choices": ["x", "y"], "answer": "Option B"}),
    ];
    workspace.write("rows.jsonl", rows.each_ref().map(|row| format!("{row}\n")).concat());
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let shown = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(0).stdout;
    for expected in ["there is no reference, as q1", "no reference names one of the options, as q2"] {
        assert!(shown.contains(expected), "{shown}");
    }
    let report = workspace.run(&["data", "validate", "rows.jsonl", "--json"]).expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["datasets"][0]["unanswered"][0]["first"], json!(["q1"]), "{report}");
    let shown = workspace.run(&["data", "stats", "rows.jsonl"]).expect_code(0).stdout;
    assert!(shown.contains("1 (there is no reference), as q1"), "{shown}");
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let warning = "1 sample has no reference for `exact_match`, and no score; `gage-host data validate suite.yaml` names the first";
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
    // There is no warning if all samples have a reference.
    workspace.write("rows.jsonl", format!("{}\n", rows[0]));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "s"]).expect_code(0);
    assert!(!ended.stderr.contains("no reference"), "{}", ended.stderr);
}

#[test]
fn an_empty_reference_has_no_score_unless_the_metric_says_so() {
    let server = Server::start(|_| completion("Lima"));
    let workspace = Workspace::new();
    workspace.write("cells.csv", "question,answer\nPeru?,Lima\nFrance?,\nJapan?,  \n");
    let rows = [("Peru?", json!("Lima")), ("France?", json!("")), ("Japan?", json!(["", " "]))];
    let rows =
        rows.map(|(question, answer)| format!("{}\n", json!({"question": question, "answer": answer})));
    workspace.write("rows.jsonl", rows.concat());
    let model = server.server.uri();
    for file in ["cells.csv", "rows.jsonl"] {
        for metric in ["exact_match", "contains", "token_f1", "rouge_l", "squad", "numeric_match"] {
            let suite = format!("datasets: {file}\nmodel: openai:m@{model}/v1\nmetrics: [{metric}]\n");
            workspace.write("suite.yaml", suite);
            let run = format!("{metric}-of-{file}");
            let ended = workspace.run(&["run", "suite.yaml", "--run-id", &run]).expect_code(4);
            let warning = format!("2 samples have no reference for `{metric}`, and no score");
            assert!(ended.stderr.contains(&warning), "{file}: {}", ended.stderr);
            let figure = workspace.json(&run, "summary.json")["tasks"][0]["metrics"][0].clone();
            assert_eq!(figure["outcomes"]["missing_reference"], 2, "{file} {metric}: {figure}");
        }
    }
    // The empty text is the right answer of two rows, and the model does not give it.
    let keeps = "{metric_id: exact_match, params: {on_missing_field: ignore}}";
    let suite = format!("datasets: cells.csv\nmodel: openai:m@{model}/v1\nmetrics: [{keeps}]\n");
    workspace.write("suite.yaml", suite);
    workspace.run(&["run", "suite.yaml", "--run-id", "kept"]).expect_code(0);
    let figure = workspace.json("kept", "summary.json")["tasks"][0]["metrics"][0].clone();
    assert_eq!(figure["outcomes"], json!({"scored": 3}), "{figure}");
}

#[test]
fn an_empty_question_is_an_invalid_row() {
    let server = Server::start(|_| completion("Lima"));
    let workspace = Workspace::new();
    workspace.write("rows.csv", "question,answer\nPeru?,Lima\n,Lima\n");
    let suite =
        format!("datasets: rows.csv\nmodel: openai:m@{}/v1\nmetrics: [exact_match]\n", server.server.uri());
    workspace.write("suite.yaml", suite);
    let checked = workspace.run(&["data", "validate", "rows.csv"]).expect_code(4);
    assert!(checked.stdout.contains("field 'question' is empty"), "{}", checked.stdout);
    let refused = workspace.run(&["run", "suite.yaml"]);
    assert!(refused.stderr.contains("field 'question' is empty"), "{}", refused.stderr);
    assert!(server.bodies().iter().all(|body| body["messages"][0]["content"] == "Peru?"));
}

#[test]
fn rows_without_any_answer_name_the_field_that_may_be_it() {
    let workspace = Workspace::new();
    for (file, rows, field) in [
        ("gold.jsonl", "{\"question\": \"q\", \"gold\": \"x\"}\n", "gold"),
        ("target.csv", "question,target\nq,x\nr,y\n", "target"),
        ("odd.csv", "question,what\nq,x\n", "FIELD"),
    ] {
        workspace.write(file, rows);
        let ended = workspace.run(&["data", "validate", file]).expect_code(0);
        let expected = format!(
            "no Sample has an answer, so a metric that needs one gives no score; name its field in `params` of the \
             dataset: `preprocess_kwargs: {{answer_field: {field}}}`"
        );
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
        let json = workspace.run(&["data", "validate", file, "--json"]).expect_code(0).stdout_json();
        assert_eq!(json["datasets"][0]["warnings"], json!([expected]), "{json}");
    }
    workspace.write("half.csv", "question,answer\nq,x\nr,\n");
    let ended = workspace.run(&["data", "validate", "half.csv"]).expect_code(0);
    assert!(!ended.stderr.contains("no Sample has an answer"), "{}", ended.stderr);
}

#[test]
fn data_commands_read_the_environment_of_a_run() {
    let workspace = Workspace::new();
    let rows: String =
        (0..9).map(|id| format!("{}\n", json!({"id": id, "question": "q", "answer": "a"}))).collect();
    workspace.write("rows.jsonl", rows);
    let ids = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["data", "preview", "rows.jsonl", "--json"], arguments].concat();
        let shown = workspace.run_with_env(variables.iter().copied(), &arguments).expect_code(0).stdout;
        let samples = shown.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        samples.map(|sample| sample["id"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let plain = ids(&[], &[]);
    assert_eq!(plain, ["0", "1", "2"]);
    let shuffled = ids(&[], &[("GAGE_EVAL_SHUFFLE", "true")]);
    assert_ne!(shuffled, plain);
    assert_eq!(ids(&[], &[("GAGE_EVAL_SHUFFLE", "true")]), shuffled);
    assert_eq!(ids(&["--set", "datasets.0.params.shuffle=true"], &[]), shuffled);
    assert_eq!(ids(&["--set", "datasets.0.params.shuffle=false"], &[("GAGE_EVAL_SHUFFLE", "true")]), plain);
}

#[test]
fn filter_value_of_another_type_gives_a_warning() {
    let workspace = Workspace::new();
    workspace.write("rows.csv", "question,answer,year\nq,a,2019\n");
    let set = ["--set", "datasets.0.params.exclude.year=2019"];
    let ended = workspace.run(&[&["data", "validate", "rows.csv"][..], &set].concat()).expect_code(0);
    let expected =
        "`exclude` looks for a number in the field `year`, but the one row that was read has a text in it";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

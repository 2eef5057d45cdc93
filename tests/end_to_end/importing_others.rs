//! `gage-host import lm-eval`, `import promptfoo` and `import inspect`.

use crate::server::{Server, completion};
use crate::support::{Workspace, repository};
use serde_json::{Value, json};

const TASK: &str = "\
include: base.yaml
task: sums
filter_list:
  - name: first
    filter: [{function: regex, regex_pattern: \"#### ([0-9]+)\"}, {function: take_first}]
";

const BASE: &str = "\
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: \"Q: {{question}}\\nA:\"
doc_to_target: answer
metric_list: [{metric: exact_match}]
";

/// Returns the figures of a run that printed JSON, sorted by metric.
fn figures(report: &Value) -> Vec<(String, Value)> {
    let metrics = report["summary"]["metrics"].as_array().expect("metrics");
    let figure = |metric: &Value| {
        (metric["metric_id"].as_str().unwrap_or_default().to_owned(), metric["value"].clone())
    };
    let mut figures: Vec<(String, Value)> = metrics.iter().map(figure).collect();
    figures.sort_by(|one, other| one.0.cmp(&other.0));
    figures
}

#[test]
fn lm_eval_task_with_include_runs_after_import() {
    let server = Server::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let question = body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        completion(if question == "Q: 2 + 2\nA:" { "So it is\n#### 4" } else { "#### 1 or #### 2" })
    });
    let workspace = Workspace::new();
    workspace.write(
        "rows.jsonl",
        "{\"question\": \"2 + 2\", \"answer\": \"4\"}\n{\"question\": \"1\", \"answer\": \"2\"}\n",
    );
    workspace.write("base.yaml", BASE);
    workspace.write("sums.yaml", TASK);
    let converted = workspace.run(&["import", "lm-eval", "sums.yaml", "-o", "new.yaml"]).expect_code(0);
    assert!(
        converted.stderr.ends_with("0 changed, 0 dropped, 0 to do\nnext: gage-host validate new.yaml\n"),
        "{}",
        converted.stderr
    );
    workspace.run(&["validate", "new.yaml"]).expect_code(0);
    let model = format!("openai:m@{}/v1", server.server.uri());
    let ended = workspace.run(&["run", "new.yaml", "--model", &model, "--run-id", "r", "--json"]);
    let report = ended.expect_code(0).stdout_json();
    assert_eq!(figures(&report), [("exact_match".to_owned(), json!(0.5))], "{report:#}");
}

#[test]
fn lm_eval_import_names_missing_files_and_work() {
    let workspace = Workspace::new();
    workspace.write("sums.yaml", TASK);
    let refused = workspace.run(&["import", "lm-eval", "sums.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("cannot read the included file `base.yaml`"), "{}", refused.stderr);
    workspace.write("base.yaml", BASE.replace("doc_to_text: ", "doc_to_text: !function utils.prompt #"));
    let work = workspace.run(&["import", "lm-eval", "sums.yaml", "--json"]).expect_code(2).stdout_json();
    assert_eq!(work["needs_work"], true);
    assert_eq!(work["notes"][0]["key"], "doc_to_text", "{work:#}");
}

#[test]
fn promptfoo_configuration_runs_after_import() {
    let server = Server::start(|_| completion("It is Lima."));
    let workspace = Workspace::new();
    workspace.write(
        "promptfooconfig.yaml",
        "prompts: ['Capital of {{country}}?']\n\
         defaultTest: {assert: [{type: not-contains, value: sorry}]}\n\
         tests:\n\
         - {vars: {country: Peru}, assert: [{type: icontains, value: lima}]}\n\
         - {vars: {country: Chile}, assert: [{type: icontains, value: santiago}]}\n",
    );
    workspace.run(&["import", "promptfoo", "promptfooconfig.yaml", "-o", "new.yaml"]).expect_code(0);
    assert_eq!(workspace.read("new.rows.jsonl").lines().count(), 2);
    let refused =
        workspace.run(&["import", "promptfoo", "promptfooconfig.yaml", "-o", "new.yaml"]).expect_code(2);
    let exists = refused.stderr.contains("'new.rows.jsonl'") && refused.stderr.contains("exists already");
    assert!(exists, "{}", refused.stderr);
    let model = format!("openai:m@{}/v1", server.server.uri());
    let ended = workspace.run(&["run", "new.yaml", "--model", &model, "--run-id", "r", "--json"]);
    let report = ended.expect_code(0).stdout_json();
    let expected = [("icontains".to_owned(), json!(0.5)), ("not-contains".to_owned(), json!(1.0))];
    assert_eq!(figures(&report), expected, "{report:#}");
}

#[test]
fn inspect_log_becomes_a_run_with_its_scores() {
    let workspace = Workspace::new();
    let log = repository().join("host/import/tests/inspect/sums.eval");
    let log = log.to_str().expect("a path");
    let arguments = ["import", "inspect", log, "-o", "sums", "--run-id", "recorded", "--json"];
    let report = workspace.run(&arguments).expect_code(0).stdout_json();
    let figures_of_log = figures(&report);
    let names: Vec<&str> = figures_of_log.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["includes", "match"]);
    for (name, value) in &figures_of_log {
        let value = value.as_f64().expect("a figure");
        assert!((value - 2.0 / 3.0).abs() < 1e-12, "{name} {value}");
    }
    let scored = ["run", "sums/suite.yaml", "--answers", "sums/answers.jsonl", "--run-id", "own", "--json"];
    let own = workspace.run(&scored).expect_code(0).stdout_json();
    assert_eq!(figures(&own), figures_of_log);
    let again = workspace.run(&arguments).expect_code(2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let compared = ["compare", "runs/recorded", "runs/own", "--allow", "settings", "--allow", "plugins"];
    workspace.run(&compared).expect_code(0);
}

#[test]
fn files_that_are_no_inspect_logs_are_refused() {
    let workspace = Workspace::new();
    workspace.write("other.json", "{\"a\": 1}");
    let refused = workspace.run(&["import", "inspect", "other.json", "-o", "out"]).expect_code(2);
    for part in ["cannot read 'other.json'", "this is not a log of Inspect"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let absent = workspace.run(&["import", "inspect", "absent.eval", "-o", "out"]).expect_code(2);
    assert!(absent.stderr.contains("cannot read 'absent.eval'"), "{}", absent.stderr);
    assert!(!workspace.path("out").exists());
}

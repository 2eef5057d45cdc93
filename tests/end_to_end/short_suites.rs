//! Suites in short form, `gage-host new`, several models in one command, and the file `.env`.

use crate::server::{Server, completion};
use crate::support::Workspace;
use serde_json::Value;
use wiremock::{Request, ResponseTemplate};

const ROWS: &str = "{\"text\": \"Capital of Peru?\", \"gold\": \"Lima\"}\n{\"text\": \"Capital of Chile?\", \"gold\": \"Santiago\"}\n";

/// A model called `good` knows one of the two capitals, any other model none.
fn respond(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    completion(if body["model"] == "good" { "Lima" } else { "Quito" })
}

fn value_of(workspace: &Workspace, run: &str) -> Value {
    workspace.json(run, "summary.json")["tasks"][0]["metrics"][0]["value"].clone()
}

#[test]
fn new_suite_runs_as_it_is_written() {
    let server = Server::start(respond);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    let model = format!("openai:good@{}/v1", server.server.uri());
    let new = ["new", "rows.jsonl", "--model", &model];
    let made = workspace.run(&new).expect_code(0);
    assert!(made.stdout.ends_with("next: gage-host run suite.yaml --max-samples 5\n"), "{}", made.stdout);
    let refused = workspace.run(&new).expect_code(2);
    assert!(refused.stderr.contains("suite.yaml already exists"), "{}", refused.stderr);
    workspace.run(&["validate", "suite.yaml"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(value_of(&workspace, "r"), 0.5);
    let sent = "Capital of Peru?\n\nAnswer in as few words as possible.";
    assert!(
        server.bodies().iter().any(|body| body["messages"][0]["content"] == sent),
        "{:?}",
        server.bodies()
    );
    workspace.run(&["verify", "r"]).expect_code(0);
    // The whole suite is in the lock and in a template, too.
    workspace.run(&["lock", "suite.yaml"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "locked", "--locked"]).expect_code(0);
    workspace.run(&["distill", "suite.yaml", "--builtin-name", "capitals"]).expect_code(0);
    workspace.run(&["init", "capitals"]).expect_code(0);
    workspace.run(&["run", "config/run_configs/capitals_run_1.yaml", "--run-id", "frozen"]).expect_code(0);
    assert_eq!(value_of(&workspace, "frozen"), 0.5);
}

#[test]
fn missing_answers_of_new_name_their_options() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    for (arguments, message) in [
        (&["new"][..], "the data file is missing"),
        (&["new", "rows.jsonl"], "give it by --model"),
        (&["new", "rows.jsonl", "--answer", "gould"], "did you mean `gold`?"),
        (&["new", "rows.txt"], "must end in .jsonl"),
        (&["new", "rows.jsonl", "--model", "gpt-4"], "`gpt-4` does not name a model"),
    ] {
        let refused = workspace.run(arguments).expect_code(2);
        assert!(refused.stderr.contains(message), "{arguments:?}\n{}", refused.stderr);
    }
    assert!(!workspace.path("suite.yaml").exists());
}

#[test]
fn several_models_and_prompts_are_compared_side_by_side() {
    let server = Server::start(respond);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    let url = server.server.uri();
    workspace.write(
        "suite.yaml",
        format!(
            "datasets: [{{params: {{path: rows.jsonl, preprocess_kwargs: {{answer_field: gold}}}}}}]\n\
             model: ['openai:good@{url}/v1', {{name: 'openai:bad@{url}/v1', max_new_tokens: 7}}]\n\
             prompts: [{{prompt_id: plain, template: '{{{{ text }}}}'}}]\n\
             prompt: [plain, {{prompt_id: brief, template: '{{{{ text }}}} Be brief.'}}]\n\
             metrics: [exact_match]\n"
        ),
    );
    workspace.run(&["validate", "suite.yaml"]).expect_code(0);
    let refused = workspace.run(&["plan", "suite.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("choose one with --model"), "{}", refused.stderr);
    let run = ["run", "suite.yaml", "--run-id", "m"];
    let ended = workspace.run(&run).expect_code(0);
    let shown = ended.stdout.replace(&url, "http://server");
    let (_, table) = shown.split_once("\n\n\n").expect("a table at the end");
    insta::assert_snapshot!(table.replace("  ", " ").replace("  ", " ").replace("──", "").trim());
    assert_eq!(
        (value_of(&workspace, "m-good-brief"), value_of(&workspace, "m-bad-plain")),
        (0.5.into(), 0.0.into())
    );
    assert_eq!(server.bodies().iter().filter(|body| body["max_tokens"] == 7).count(), 4);

    // Resuming begins the runs that do not exist.
    std::fs::remove_dir_all(workspace.path("runs/m-bad-plain")).expect("removed");
    let before = server.requests();
    workspace.run(&[&run[..], &["--resume"]].concat()).expect_code(0);
    assert_eq!(server.requests(), before + 2);
    let refused = workspace.run(&["run", "suite.yaml", "--resume"]).expect_code(2);
    assert!(refused.stderr.contains("add the --run-id"), "{}", refused.stderr);

    let one = ["run", "suite.yaml", "--run-id", "one", "--json", "--prompt", "brief", "--model"];
    let ended = workspace.run(&[&one[..], &[&format!("openai:bad@{url}/v1")]].concat()).expect_code(0);
    assert_eq!(ended.stdout_json()["run_id"], "one");
    let ended =
        workspace.run(&["run", "suite.yaml", "--run-id", "j", "--json", "--prompt", "brief"]).expect_code(0);
    assert_eq!(ended.stdout_json()["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn variables_of_a_file_are_for_suites_that_may_read_them() {
    let server = Server::start(respond);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS.replace("gold", "answer"));
    let url = server.server.uri();
    workspace.write(
        ".env",
        format!("# of this folder\nOPENAI_API_KEY='key of the file'\nOPENAI_BASE_URL={url}/v1\n"),
    );
    workspace.write("suite.yaml", "datasets: rows.jsonl\nmodel: openai:good\nmetrics: [exact_match]\n");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let keys = server.headers("authorization");
    assert_eq!(keys, ["Bearer key of the file"; 2]);
    let config = workspace.read("runs/r/config.yaml");
    assert!(config.contains("${OPENAI_API_KEY:-}") && !config.contains("key of the file"), "{config}");
    let refused = workspace.run(&["run", "suite.yaml", "--run-id", "u", "--untrusted"]).expect_code(2);
    assert!(refused.stderr.contains("--allow-env"), "{}", refused.stderr);
    assert_eq!(server.requests(), 2);

    workspace.write(".env", "OPENAI_API_KEY=several secret words\n");
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
    assert!(ended.stderr.contains("warning: .env has no effect: line 1"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}

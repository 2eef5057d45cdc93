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
    workspace.write("texts.jsonl", "[\"a\"]\n");
    let unreadable = "no row of texts.jsonl can be read: line 1 of texts.jsonl: the row is not a JSON object";
    workspace.write("headless.csv", "What is 2+2?,4\nWhat is 3+3?,6\n");
    for (arguments, message) in [
        (&["new", "texts.jsonl"][..], unreadable),
        (&["new", "texts.jsonl"], "`gage-host data validate texts.jsonl` reports every row"),
        (&["new"], "the data file is missing"),
        (&["new", "rows.jsonl"], "give it by --model"),
        (&["new", "rows.jsonl", "--answer", "gould"], "did you mean `gold`?"),
        (&["new", "rows.txt"], "must end in .jsonl"),
        (&["new", "rows.jsonl", "--model", "gpt-4"], "error: --model: `gpt-4` does not name a model"),
        (
            &["new", "rows.jsonl", "--model", "openai:m", "--metric", "exac"],
            "help: did you mean `exact_match`?",
        ),
        (&["new", "headless.csv", "--model", "openai:m"], "add a header line such as question,answer"),
    ] {
        let refused = workspace.run(arguments).expect_code(2);
        assert!(refused.stderr.contains(message), "{arguments:?}\n{}", refused.stderr);
    }
    assert!(!workspace.path("suite.yaml").exists());
}

#[test]
fn new_suite_asks_for_the_field_that_is_not_the_answer() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", "{\"term\": \"HTTP\", \"answer\": \"Hypertext Transfer Protocol\"}\n");
    let made = workspace.run(&["new", "rows.jsonl", "--model", "openai:m"]).expect_code(0);
    assert!(made.stdout.contains("the question is `term`, the answer is `answer`"), "{}", made.stdout);
}

#[test]
fn suite_without_metrics_measures_nothing_and_says_so() {
    let server = Server::start(respond);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    let model = format!("openai:good@{}/v1", server.server.uri());
    let start = "datasets: [rows.jsonl]\nprompt: '{{ text }}'\n";
    workspace.write("suite.yaml", format!("{start}model: '{model}'\n"));
    let ended = workspace.run(&["run", "suite.yaml"]).expect_code(0);
    let note = "note: the suite has no `metrics`, so only answers were recorded, and nothing was measured";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

#[test]
fn command_for_one_model_names_the_option_of_several() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    workspace.write("suite.yaml", "datasets: [rows.jsonl]\nmodel: ./c.gguf\n");
    let plan = ["plan", "suite.yaml", "--model", "openai:a", "--model", "openai:b"];
    let refused = workspace.run(&plan).expect_code(2);
    let expected = "error: `--model` gives 2 models, and this command needs one\n |\n = help: choose one with --model: openai:a, openai:b";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let run = ["run", "suite.yaml", "--model", "openai:a", "--model", "openai:a"];
    let refused = workspace.run(&run).expect_code(2);
    let expected = "error: `--model` names openai:a twice\n |\n = help: name it once";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let prompts = "prompt: [{prompt_id: a, template: 'A'}, {prompt_id: a, template: 'B'}, 'C']\n";
    workspace.write("suite.yaml", format!("datasets: [rows.jsonl]\nmodel: ./c.gguf\n{prompts}"));
    let refused = workspace.run(&["run", "suite.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("the suite lists the prompt a twice"), "{}", refused.stderr);
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

    std::fs::remove_file(workspace.path(".env")).expect("removed");
    std::fs::create_dir(workspace.path(".env")).expect("a folder");
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
    assert!(ended.stderr.contains("warning: .env has no effect: it is a folder"), "{}", ended.stderr);
}

#[test]
fn mistakes_in_a_short_suite_say_what_to_write() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", ROWS);
    let server = "model: openai:m@http://127.0.0.1:9/v1";
    let prompts = "prompts: [{prompt_id: plain, template: '{{ text }}'}]\nprompt: plain";
    let both = "prompt: [{prompt_id: plain, template: '{{ text }}'}, 'Q: {{ text }}']";
    for (lines, arguments, part) in [
        (prompts.to_owned() + "\n" + server, &["--prompt", "plian"][..], "there is no prompt `plian`"),
        (prompts.to_owned() + "\n" + server, &["--prompt", "plian"], "did you mean `plain`?"),
        (both.to_owned() + "\n" + server, &["--prompt", "plian"], "expected one of: plain, prompt-2"),
        (server.to_owned(), &["--prompt", "plain"], "neither a template nor the id of an entry of `prompts`"),
        (format!("{server}\nprompt: prompt.txt"), &[], "a prompt is not read from a file"),
        (format!("{server}\nprompt: my prompt.md"), &[], "a prompt is not read from a file"),
        (format!("{server}\nprompt: Hello"), &[], "write {template: Hello}"),
        ("model: openai:m@localhost:8101".to_owned(), &[], "write openai:m@http://localhost:8101/v1"),
        ("model: openai:m@localhost:8101".to_owned(), &[], "2 | model: openai:m@localhost:8101"),
        ("model: openai:m@a.example/api".to_owned(), &[], "write openai:m@http://a.example/api"),
        (String::new(), &["--model", "openai:m@10.0.0.1:80"], "write openai:m@http://10.0.0.1:80/v1"),
        (String::new(), &[], "the suite names no model"),
        (String::new(), &[], "write `model: openai:MODEL`"),
        (
            "model: {name: 'openai:m@http://127.0.0.1:9/v1', max_new_token: 64}".to_owned(),
            &[],
            "did you mean `max_new_tokens`?",
        ),
        (server.to_owned(), &["--set", "model.temprature=1"], "did you mean `temperature`?"),
    ] {
        workspace.write("suite.yaml", format!("datasets: rows.jsonl\n{lines}\nmetrics: exact_match\n"));
        let refused = workspace.run(&[&["validate", "suite.yaml"], arguments].concat()).expect_code(2);
        assert!(refused.stderr.contains(part), "{lines} {arguments:?}\n{}", refused.stderr);
        assert!(refused.stderr.trim_end().ends_with("\n1 error"), "{lines}\n{}", refused.stderr);
    }
    // A name with an `@`, and the id of a prompt, are neither of these mistakes.
    let prompted = format!("{prompts}\n{server}");
    for lines in ["model: openai:@cf/meta/llama-3.1", "model: openai:m@2024-06-20", prompted.as_str()] {
        workspace.write("suite.yaml", format!("datasets: rows.jsonl\n{lines}\nmetrics: exact_match\n"));
        workspace.run(&["data", "validate", "suite.yaml"]).expect_code(0);
    }
}

#[test]
fn each_dataset_without_a_task_is_one() {
    let server = Server::start(respond);
    let workspace = Workspace::new();
    let rows = ROWS.replace("gold", "answer");
    workspace.write("rows.jsonl", &rows);
    workspace.write("more/rows.jsonl", &rows);
    let suite = format!(
        "datasets: [rows.jsonl, more/rows.jsonl]\nmodel: openai:good@{}/v1\nmetrics: [exact_match]\n",
        server.server.uri()
    );
    workspace.write("suite.yaml", suite);
    let checked = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
    assert_eq!(checked.stdout, "suite.yaml: valid (2 tasks, 2 metrics)\n");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let summary = workspace.json("r", "summary.json");
    let tasks: Vec<&Value> = summary["tasks"].as_array().expect("tasks").iter().collect();
    let ids: Vec<&str> = tasks.iter().filter_map(|task| task["task_id"].as_str()).collect();
    assert_eq!(ids, ["rows", "more-rows-jsonl"]);
    assert!(tasks.iter().all(|task| task["metrics"][0]["value"] == 0.5), "{summary}");
    workspace.run(&["verify", "r"]).expect_code(0);
    let refused = workspace.run(&["distill", "suite.yaml", "--builtin-name", "both"]).expect_code(2);
    assert!(refused.stderr.contains("the suite has 2 tasks"), "{}", refused.stderr);
}

#[test]
fn a_command_without_a_suite_takes_the_one_of_the_folder() {
    let server = Server::start(respond);
    let workspace = Workspace::new();
    workspace.write("rows.csv", "question,answer\nPeru?,Lima\n");
    let refused = workspace.run(&["run"]).expect_code(2);
    assert!(refused.stderr.contains("required arguments were not provided"), "{}", refused.stderr);
    let model = format!("openai:good@{}/v1", server.server.uri());
    workspace.write("suite.yaml", format!("datasets: rows.csv\nmodel: {model}\nmetrics: exact_match\n"));
    for (command, code) in [(&["validate"][..], 0), (&["plan"], 0), (&["lock"], 0), (&["lock", "--check"], 0)]
    {
        workspace.run(command).expect_code(code);
    }
    workspace.run(&["run", "--run-id", "r"]).expect_code(0);
    assert_eq!(value_of(&workspace, "r"), 1.0);
    for (suite, part) in [
        ("rows.csv", "make a suite for it: gage-host new rows.csv"),
        ("siute.yaml", "did you mean suite.yaml?"),
        ("./suite", "did you mean ./suite.yaml?"),
    ] {
        for command in ["run", "validate"] {
            let refused = workspace.run(&[command, suite]).expect_code(2);
            assert!(refused.stderr.contains(part), "{command} {suite}\n{}", refused.stderr);
        }
    }
}

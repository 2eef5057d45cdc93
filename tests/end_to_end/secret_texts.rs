//! Secrets in prompts, in parameters of preprocessors and metrics, and in the path of a dataset: none of them is in a run folder,
//! and redaction does not change the results.

use crate::files::texts_below;
use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, Workspace};
use crate::words_suite::write_suite;
use std::fs;

const SUITE: &str = "config/custom/words.yaml";

/// The name of a variable, its use in the suite, and its value.
const SECRETS: [(&str, &str, &str); 5] = [
    ("FOLDER", "a folder of the dataset", "folder-of-me-1"),
    ("SYSTEM", "what a preprocessor puts into each Sample", "system-of-me-1"),
    ("PROMPT", "a prompt", "prompt-of-me-1"),
    ("WHO", "a parameter of a prompt", "parameter-of-me-1"),
    ("STYLE", "a parameter of a metric", "(style-of-me-1|answer [0-7]$)"),
];

/// Creates a workspace with a suite that reads each of [`SECRETS`] from a variable whose name has a suffix.
fn workspace(server: &Server, ending: &str) -> Workspace {
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let variable = |name: &str| format!("${{{name}{ending}}}");
    let suite = workspace.read(SUITE);
    let ask = "{{ sample.messages[1].content[0].text }}";
    let edited = suite
        .replace("/data/rows.jsonl", &format!("/data/{}/rows.jsonl", variable("FOLDER")))
        .replace(
            "    params:\n",
            &format!(
                "    params:\n      preprocess_kwargs: {{system_prompt: 'Be {}'}}\n",
                variable("SYSTEM")
            ),
        )
        .replace(
            "prompt_id: ask}",
            &format!("prompt_id: ask, prompt_params: {{who: '{}'}}}}", variable("WHO")),
        )
        .replace(
            "{{ sample.messages[0].content[0].text }}",
            &format!("{} {{{{ params.who }}}} {ask}", variable("PROMPT")),
        )
        .replace(
            "metrics: [exact_match, words]",
            &format!("metrics: [exact_match, {{regex_match: {{pattern: '{}'}}}}, words]", variable("STYLE")),
        );
    workspace.write(SUITE, edited);
    let folder = workspace.path("config/data/folder-of-me-1");
    fs::create_dir_all(&folder).expect("a folder");
    fs::rename(workspace.path("config/data/rows.jsonl"), folder.join("rows.jsonl")).expect("moved");
    workspace
}

fn run(workspace: &Workspace, ending: &str, arguments: &[&str]) -> CommandOutput {
    let variables = SECRETS.map(|(name, _, value)| (format!("{name}{ending}"), value));
    workspace.run_with_env(variables, arguments)
}

/// Starts a server that repeats the request in some of its answers.
fn echo_server() -> Server {
    Server::start(|request| match question_number(request) % 5 {
        0 => completion(&String::from_utf8_lossy(&request.body)),
        _ => completion(&format!("answer {}", question_number(request))),
    })
}

#[test]
fn secrets_that_samples_are_made_of_are_in_no_run_folder() {
    let server = echo_server();
    let workspace = workspace(&server, "_TOKEN");
    let with = |arguments: &[&str]| run(&workspace, "_TOKEN", arguments);
    with(&["lock", SUITE]).expect_code(0);
    with(&["run", SUITE, "--locked", "--run-id", "r", "--observability"]).expect_code(0);
    for format in ["inspect", "lm-eval", "every-eval-ever", "csv"] {
        with(&["export", "r", "--format", format]).expect_code(0);
    }
    with(&["report", "r"]).expect_code(0);
    with(&["score", "runs/r", "--run-id", "again"]).expect_code(0);
    let texts = texts_below(&workspace.path("runs"));
    assert!(texts.iter().any(|(path, _)| path.ends_with("samples.jsonl")));
    for (_, place, value) in SECRETS {
        for (path, text) in &texts {
            assert!(!text.contains(value), "{place} in {path}");
        }
    }
    let sample = &workspace.samples("r")[1]["sample"];
    assert_eq!(sample["messages"][0]["content"], "Be (secret)");
    let journal = workspace.read("runs/r/journal/000001.jsonl");
    assert!(journal.contains(r#"data/${FOLDER_TOKEN}/rows.jsonl","row":1}"#), "{journal}");
    // A check needs only the secrets that scoring uses.
    let style = ("STYLE_TOKEN", SECRETS[4].2);
    for id in ["r", "again"] {
        workspace.run_with_env([style], &["verify", id]).expect_code(0);
        with(&["verify", id]).expect_code(0);
    }
}

#[test]
fn redaction_changes_neither_figures_nor_resume() {
    let server = Server::answering();
    let (secret, open) = (workspace(&server, "_TOKEN"), workspace(&server, "_WORD"));
    run(&secret, "_TOKEN", &["run", SUITE, "--run-id", "r"]).expect_code(0);
    run(&open, "_WORD", &["run", SUITE, "--run-id", "r"]).expect_code(0);
    let figures = |workspace: &Workspace| {
        let metrics = workspace.json("r", "summary.json")["metrics"].clone();
        let metrics = metrics.as_array().expect("metrics").clone();
        metrics.iter().map(|metric| metric["value"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(figures(&secret), figures(&open));
    assert_eq!(figures(&secret)[1], 0.4);
    // Without secret variables nothing is redacted.
    assert!(open.read("runs/r/samples.jsonl").contains("system-of-me-1"));
    run(&secret, "_TOKEN", &["run", SUITE, "--run-id", "parts", "--max-samples", "7"]).expect_code(0);
    run(&secret, "_TOKEN", &["run", SUITE, "--resume", "parts"]).expect_code(0);
    for file in ["samples.jsonl", "summary.json"] {
        assert_eq!(secret.read(&format!("runs/parts/{file}")), secret.read(&format!("runs/r/{file}")));
    }
}

/// Such a value is sent; the recorded parameters hold its variable.
#[test]
fn sampling_params_from_a_secret_are_recorded_by_variable() {
    let server = Server::answering();
    for (from, to) in [
        ("  steps:", "  sampling_params: {stop: ['${END_KEY}']}\n  steps:"),
        ("model: m", "model: m, default_params: {stop: ['${END_KEY}']}"),
    ] {
        let workspace = Workspace::new();
        write_suite(&workspace, &server.backend(""), "");
        let suite = workspace.read(SUITE);
        assert!(suite.contains(from), "{suite}");
        workspace.write(SUITE, suite.replace(from, to));
        let end = [("END_KEY", "end-of-me-1")];
        workspace.run_with_env(end, &["run", SUITE, "--run-id", "r"]).expect_code(0);
        let texts = texts_below(&workspace.path("runs"));
        assert!(texts.iter().all(|(_, text)| !text.contains("end-of-me-1")));
        let stop = &workspace.json("r", "summary.json")["tasks"][0]["sampling_params"]["stop"];
        assert_eq!(stop, &serde_json::json!(["${END_KEY}"]));
        workspace.run(&["verify", "r"]).expect_code(0);
        workspace.run(&["score", "runs/r", "--run-id", "again"]).expect_code(0);
    }
}

#[test]
fn name_or_path_from_a_secret_is_refused() {
    let server = Server::answering();
    for (from, to, place) in [
        ("metadata: {name: words}", "metadata: {name: '${NAME_KEY}'}", "metadata.name"),
        ("metadata: {name: words}", "metadata: {name: 'a ${NAME_KEY:-b}'}", "metadata.name"),
        ("task_id: rows,", "task_id: '${NAME_KEY}',", "tasks[0].task_id"),
        (
            "task_id: rows,",
            "task_id: rows, slices: [metadata.a, 'metadata.${NAME_KEY}'],",
            "tasks[0].slices[1]",
        ),
        ("custom:", "custom:\n  cluster_by: 'metadata.${NAME_KEY}'", "custom.cluster_by"),
        (
            "task_id: rows,",
            "task_id: rows, metric_overrides: [{metric_id: '${NAME_KEY}', implementation: contains}],",
            "tasks[0].metric_overrides[0].metric_id",
        ),
        (
            "loader: jsonl\n    params:",
            "loader: jsonl\n    params:\n      label_field: '${NAME_KEY}'",
            "label_field",
        ),
        (
            "metrics: [exact_match, words]",
            "metrics: [{exact_match: {label_field: 'sample.${NAME_KEY}'}}, words]",
            "params.label_field",
        ),
        (
            "metrics: [exact_match, words]",
            "metrics: [exact_match, {metric_id: '${NAME_KEY}', implementation: contains}]",
            "metrics[1].metric_id",
        ),
    ] {
        let workspace = Workspace::new();
        write_suite(&workspace, &server.backend(""), "");
        let suite = workspace.read(SUITE);
        assert!(suite.contains(from), "{from}");
        workspace.write(SUITE, suite.replace(from, to));
        for command in [
            ["validate", SUITE].as_slice(),
            &["lock", SUITE],
            &["run", SUITE],
            &["distill", SUITE, "--builtin-name", "x"],
        ] {
            // Only a loaded metric knows which of its parameters are paths; `distill` loads none and keeps the variable.
            if (command[0], place) == ("distill", "params.label_field") {
                continue;
            }
            let refused = workspace.run_with_env([("NAME_KEY", "the-name-1")], command).expect_code(2);
            assert!(
                refused.stderr.contains(place)
                    && refused.stderr.contains("take it from a variable without KEY"),
                "{}",
                refused.stderr
            );
            assert!(!refused.stderr.contains("the-name-1"), "{}", refused.stderr);
        }
        assert!(
            !workspace.path("config/custom/words.gage.lock").exists() && !workspace.path("runs").exists()
        );
    }
}

//! Fields that a dataset adds to its rows: computed ones, and examples of other rows.

use crate::hub_server::HubServer;
use crate::server::{Server, completion};
use crate::support::{Workspace, rows, suite};
use serde_json::{Value, json};

/// Creates a workspace with three rows, five solved ones, and a suite with further parameters of its dataset. Its prompt
/// shows the fields `shots`, if there are any, and `asked`.
fn workspace(backend: &str, params: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(3));
    let solved =
        |number: u8| json!({"question": format!("solved {number}"), "answer": format!("s {number}")});
    let train: String = (0..5).map(|number| format!("{}\n", solved(number))).collect();
    workspace.write("train.jsonl", train);
    let template = "{% for shot in few_shot %}{{ shot.asked }} > {{ shot.answer }}, {% endfor %}{{ asked }}";
    let text = suite(backend, "[exact_match]")
        .replace("backend_id: model}", "backend_id: model, prompt_id: ask}")
        .replace("params: {path: rows.jsonl}", &format!("params:\n      path: rows.jsonl\n{params}"))
        .replace(
            "metrics:",
            &format!("prompts:\n  - prompt_id: ask\n    template: {}\nmetrics:", json!(template)),
        );
    workspace.write("suite.yaml", text);
    workspace
}

const PARAMS: &str = "      fields:
        words: question.split(' ')
        asked: words | map('upper') | join('-')
        nothing: none
      few_shot: {path: train.jsonl, count: 2, pick: random, seed: 1234}
";

/// Prompts with the examples that Python's `random.sample(range(5), 2)` draws for one row after the other.
const PROMPTS: [&str; 3] = [
    "SOLVED-3 > s 3, SOLVED-0 > s 0, QUESTION-0",
    "SOLVED-0 > s 0, SOLVED-4 > s 4, QUESTION-1",
    "SOLVED-4 > s 4, SOLVED-0 > s 0, QUESTION-2",
];

fn prompts(bodies: &[Value]) -> Vec<String> {
    let content = |body: &Value| body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
    let mut prompts: Vec<String> = bodies.iter().map(content).collect();
    prompts.sort_by_key(|prompt| prompt.chars().last());
    prompts
}

#[test]
fn prompts_see_computed_fields_and_examples() {
    let server = Server::start(|_| completion("answer 0"));
    let workspace = workspace(&server.backend(""), PARAMS);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(prompts(&server.bodies()), PROMPTS);
    // An export builds the prompts again.
    let exported = workspace.lm_eval_arguments("r");
    let prompts_of: Vec<&Value> = exported.iter().map(|line| &line["gen_args_0"]["arg_0"]).collect();
    assert_eq!(prompts_of, PROMPTS);
    let sample = &workspace.samples("r")[1]["sample"];
    assert_eq!(sample["_row"]["words"], json!(["question", "1"]), "{sample}");
    assert_eq!(sample["_row"].get("nothing"), Some(&Value::Null), "{sample}");
    let identity = &workspace.json("r", "manifest.json")["identity"]["datasets"]["rows"];
    assert!(identity["few_shot"]["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    // A finished run has nothing left to do.
    let asked = server.requests();
    workspace.run(&["run", "suite.yaml", "--resume", "r"]).expect_code(0);
    assert_eq!(server.requests(), asked);
    // The examples of a row do not depend on the rows that are taken.
    let set = ["--set", "datasets.rows.params.shuffle=true", "--set", "datasets.rows.params.limit=2"];
    let shuffled = [&["run", "suite.yaml", "--run-id", "s"], set.as_slice()].concat();
    workspace.run(&shuffled).expect_code(0);
    let later = prompts(&server.bodies()[asked..]);
    assert_eq!(later.len(), 2);
    assert!(later.iter().all(|prompt| PROMPTS.contains(&prompt.as_str())), "{later:?}");
}

#[test]
fn exports_count_the_examples_of_a_prompt() {
    let server = Server::start(|_| completion("answer 0"));
    let listed = "{prompt_id: ask, params: {examples: [a, b, c]}, template: '{{ params.examples | join }} {{ question }}'}";
    for (params, prompt, expected) in [
        (PARAMS, None, 2),
        ("", Some(listed), 3),
        ("", Some("{prompt_id: ask, template: '{{ question }}'}"), 0),
        // Examples that no prompt shows.
        (PARAMS, Some("{prompt_id: ask, template: '{{ question }}'}"), 0),
        (PARAMS, Some(listed), 3),
    ] {
        let workspace = workspace(&server.backend(""), params);
        if let Some(prompt) = prompt {
            let text = workspace.read("suite.yaml");
            let (before, rest) = text.split_once("prompts:").expect("prompts");
            let (_, after) = rest.split_once("metrics:").expect("metrics");
            workspace.write("suite.yaml", format!("{before}prompts: [{prompt}]\nmetrics:{after}"));
        }
        workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
        let words = ["export", "r", "--format", "lm-eval", "--json"];
        let exported = workspace.run(&words).expect_code(0).stdout_json();
        let files = exported["files"].as_array().expect("files");
        let results = workspace.read(files.last().and_then(Value::as_str).expect("the results"));
        let results: Value = serde_json::from_str(&results).expect("JSON");
        assert_eq!(results["n-shot"]["rows"], expected, "{prompt:?}");
        assert_eq!(results["configs"]["rows"]["num_fewshot"], expected, "{prompt:?}");
    }
}

#[test]
fn preview_prints_the_added_fields() {
    let server = Server::start(|_| completion("x"));
    let workspace = workspace(&server.backend(""), PARAMS);
    let shown = workspace.run(&["data", "preview", "suite.yaml", "--max-samples", "1"]).expect_code(0).stdout;
    for expected in [
        "  field      words = [\"question\",\"0\"]\n",
        "  field      asked = \"QUESTION-0\"\n",
        "  field      nothing = null\n",
        "  field      few_shot = [{\"question\":",
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn changed_examples_are_refused_by_lock_and_resume() {
    let server = Server::start(|_| completion("answer 0"));
    let workspace = workspace(&server.backend(""), PARAMS);
    workspace.run(&["lock", "suite.yaml"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--locked", "--run-id", "r"]).expect_code(0);
    let train = workspace.read("train.jsonl");
    workspace.write("train.jsonl", train.replace("s 3", "s 4"));
    for (command, code) in
        [(&["run", "suite.yaml", "--locked"][..], 3), (&["run", "suite.yaml", "--resume", "r"], 2)]
    {
        let ended = workspace.run(command).expect_code(code);
        assert!(ended.stderr.contains("datasets.rows.few_shot.digest"), "{command:?}: {}", ended.stderr);
    }
    let stated = PARAMS.replace("count: 2", &format!("count: 2, sha256: {}", "0".repeat(64)));
    let suite = workspace.read("suite.yaml").replace(PARAMS, &stated);
    workspace.write("stated.yaml", suite);
    let ended = workspace.run(&["run", "stated.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("sha256 mismatch for the examples of `few_shot`"), "{}", ended.stderr);
}

#[test]
fn rows_without_a_value_of_a_field_are_invalid() {
    let server = Server::start(|_| completion("x"));
    let workspace = workspace(&server.backend(""), PARAMS);
    let more = "{\"id\":\"q3\",\"prompt\":\"x\"}\n{\"id\":\"q4\",\"question\":null}\n";
    workspace.write("rows.jsonl", rows(3) + more);
    let shown = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(4).stdout;
    for expected in ["line 4 of rows.jsonl: the field `words`: ", "line 5 of rows.jsonl: the field `words`: "]
    {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    assert!(shown.contains("`question` is undefined"), "{shown}");
    // An example without a value makes the rows invalid that show it.
    workspace.write("rows.jsonl", rows(3));
    let train = workspace.read("train.jsonl").replace("\"question\":\"solved 3\"", "\"prompt\":\"solved 3\"");
    workspace.write("train.jsonl", train);
    let shown = workspace.run(&["data", "validate", "suite.yaml"]).expect_code(4).stdout;
    let expected = "line 1 of rows.jsonl: the example at line 4 of train.jsonl: the field `words`: ";
    assert!(shown.contains(expected), "{shown}");
    assert!(!shown.contains("line 2 of rows.jsonl"), "{shown}");
}

#[test]
fn invalid_expressions_are_found_before_any_request() {
    let server = Server::start(|_| completion("x"));
    let params = "      fields:\n        asked: question | uper\n        b: \"[1,\"\n        c: x is ood\n";
    let workspace = workspace(&server.backend(""), params);
    for command in
        [&["validate"][..], &["plan"], &["lock"], &["run"], &["data", "validate"], &["data", "preview"]]
    {
        let ended = workspace.run(&[command, &["suite.yaml"]].concat()).expect_code(2);
        let expected = "the expression is not valid: the field `b`: syntax error";
        assert!(ended.stderr.contains(expected), "{command:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("--> suite.yaml:10:"), "{command:?}: {}", ended.stderr);
    }
    // Names are looked up if all expressions can be read.
    let suite = workspace.read("suite.yaml").replace("[1,", "[1]");
    workspace.write("suite.yaml", suite);
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    for expected in [
        "the expression is not valid: the field `asked`: there is no filter `uper`; did you mean `upper`?",
        "the expression is not valid: the field `c`: there is no test `ood`; did you mean `odd`?",
    ] {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn invalid_keys_of_added_fields_are_errors() {
    let server = Server::start(|_| completion("x"));
    let of_files = "`few_shot` of a dataset of files needs `path`, and no `split`";
    for (params, expected) in [
        ("      few_shot: {count: 1}\n", of_files),
        ("      few_shot: {split: train, path: train.jsonl, count: 1}\n", of_files),
        ("      few_shot: {path: train.jsonl}\n", "needs the key `count`"),
        ("      few_shot: {path: train.jsonl, count: 0}\n", "`count` must be a whole number from 1 to 1000"),
        (
            "      few_shot: {path: train.jsonl, count: 1, pick: last}\n",
            "`last` is not a known value of `pick`",
        ),
        (
            "      fields: {kind: \"'x'\"}\n      few_shot: {path: train.jsonl, count: 1, by: kind}\n",
            "`by` names the computed field `kind`",
        ),
        ("      few_shot: {path: nowhere.jsonl, count: 1}\n", "cannot read 'nowhere.jsonl'"),
        ("      fields: {asked: ''}\n", "the field `asked` has no expression"),
        ("      fields: {asked: [question]}\n", "the field `asked` has no expression"),
    ] {
        let workspace = workspace(&server.backend(""), params);
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{params}: {}", ended.stderr);
    }
    let of_hub = "`few_shot` of a dataset on a hub needs `split`, without `path` and `data_files`";
    for (params, expected) in [
        ("few_shot: {count: 1}", of_hub),
        ("few_shot: {path: train.jsonl, split: train, count: 1}", of_hub),
        ("data_files: ['*.csv']\n      few_shot: {split: train, count: 1}", of_hub),
        ("subset: []", "`subset` is an empty list"),
        ("subset: [a, b, a]", "`subset` has `a` twice"),
    ] {
        let workspace = workspace(&server.backend(""), "");
        let text = workspace.read("suite.yaml").replace("loader: jsonl", "loader: hf_hub");
        let params = format!("hub_id: team/questions\n      {params}");
        workspace.write("suite.yaml", text.replace("path: rows.jsonl", &params));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{params}: {}", ended.stderr);
    }
}

#[test]
fn subsets_of_a_hub_show_their_own_examples_offline_too() {
    let hub = HubServer::start();
    hub.commit("team/questions", "main", "0123456789012345678901234567890123456789");
    for subset in ["one", "two"] {
        for split in ["train", "test"] {
            let row = json!({"id": subset, "question": format!("{subset} {split}"), "answer": "x"});
            hub.file("team/questions", &format!("{subset}/{split}.jsonl"), format!("{row}\n"));
        }
    }
    let server = Server::start(|_| completion("x"));
    let fields = "      fields: {asked: question ~ ' of ' ~ subset}\n";
    let workspace = workspace(&server.backend(""), fields);
    let params = format!(
        "hub_id: team/questions\n      endpoint: '{}'\n      subset: [two, one]\n      split: test\n      few_shot: {{split: train, count: 1}}",
        hub.endpoint()
    );
    let text = workspace.read("suite.yaml").replace("loader: jsonl", "loader: hf_hub");
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", &params));
    let run = |arguments: &[&str]| {
        workspace.run_with_env([("GAGE_CACHE_DIR", workspace.path("cache"))], arguments).expect_code(0)
    };
    run(&["run", "suite.yaml", "--run-id", "r"]);
    let asked = hub.seen().len();
    run(&["run", "suite.yaml", "--run-id", "s", "--offline"]);
    assert_eq!(hub.seen().len(), asked);
    let mut found = prompts(&server.bodies());
    found.sort();
    let expected = ["one train of one > x, one test of one", "two train of two > x, two test of two"]
        .map(|text| [text; 2]);
    assert_eq!(found, expected.concat());
    let subsets: Vec<Value> =
        workspace.samples("r").iter().map(|sample| sample["sample"]["_row"]["subset"].clone()).collect();
    assert_eq!(subsets, [json!("two"), json!("one")]);
}

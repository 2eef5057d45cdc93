//! Prompts: the variables that they see, the checks before a run, and the options of a question.

use crate::server::{Server, completion};
use crate::support::{Workspace, judged_suite, suite};
use serde_json::{Value, json};

/// Example of a multiple-choice Sample in the specification.
const MULTIPLE_CHOICE: &str = r#"{"schema_version": "v1", "id": "mc_0001", "task_type": "multiple-choice",
  "messages": [{"role": "user", "content": [{"type": "text", "text": "Which one is a mammal?"}]}],
  "options": [{"id": "A", "content": "Shark"}, {"id": "B", "content": "Dolphin"}],
  "references": [{"answer": [{"type": "text", "text": "B"}]}],
  "label": "B",
  "metadata": {"option_map": {"A": "Shark", "B": "Dolphin"}}}"#;

fn workspace(row: &str) -> Workspace {
    let workspace = Workspace::new();
    let row: Value = serde_json::from_str(row).expect("JSON");
    workspace.write("rows.jsonl", format!("{row}\n"));
    workspace
}

/// Returns a suite whose role has a prompt.
fn prompted(server: &Server, template: &str, metrics: &str, extra: &str) -> String {
    suite(&server.backend(""), metrics).replace("backend_id: model}", "backend_id: model, prompt_id: ask}")
        + &format!("prompts: [{{prompt_id: ask, template: {}{extra}}}]\n", json!(template))
}

fn sent(server: &Server) -> String {
    let bodies = server.bodies();
    let messages = bodies.last().and_then(|body| body["messages"].as_array().cloned()).unwrap_or_default();
    messages.iter().map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn options_of_a_standard_sample_are_sent() {
    let server = Server::start(|_| completion("B"));
    let question = "Which one is a mammal?\n\nA. Shark\nB. Dolphin\n\nAnswer with the letter of the correct option only.";
    for (preprocess, expected) in [
        ("", question),
        (", preprocess: multi_choice", question),
        (", preprocess: [default, multi_choice]", question),
        (", preprocess: multi_choice, preprocess_kwargs: {style: question_only}", "Which one is a mammal?"),
    ] {
        let workspace = workspace(MULTIPLE_CHOICE);
        let text = suite(&server.backend(""), "[multi_choice_accuracy]");
        let text = text.replace("path: rows.jsonl", &format!("path: rows.jsonl{preprocess}"));
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
        assert_eq!(sent(&server), expected, "{preprocess}");
        assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0, "{preprocess}");
        let is_warned = ended.stderr.contains("do not show the options");
        assert_eq!(is_warned, preprocess.contains("question_only"), "{preprocess}: {}", ended.stderr);
    }
    let workspace = workspace(MULTIPLE_CHOICE);
    let shown = workspace.run(&["data", "preview", "rows.jsonl"]).expect_code(0).stdout;
    assert!(shown.contains("A. Shark"), "{shown}");
}

#[test]
fn prompts_see_rows_and_parameters() {
    let row = r#"{"goal": "dry a dresser", "sol1": "a", "sol2": "b", "label": 1, "kind": "home"}"#;
    let server = Server::start(|_| completion("B"));
    for (template, expected) in [
        ("{{ row.goal }} {{ raw.sol1 }} {{ params.tone }}", "dry a dresser a brief"),
        ("{{ goal }} {{ tone }}", "dry a dresser brief"),
        ("{{ row.nothing|default('-') }}{% if row.kind is defined %}{{ kind }}{% endif %}", "-home"),
    ] {
        let workspace = workspace(row);
        let text = prompted(&server, template, "[multi_choice_accuracy]", ", params: {tone: brief}");
        let text = text.replace("path: rows.jsonl", "path: rows.jsonl, preprocess: piqa");
        workspace.write("suite.yaml", text);
        workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
        assert_eq!(sent(&server), expected, "{template}");
        assert_eq!(workspace.samples("r")[0]["sample"]["_row"]["goal"], "dry a dresser");
    }
}

#[test]
fn impossible_variables_are_errors_before_the_run() {
    let row = r#"{"question": "q", "answer": "a", "label": "x", "note": null}"#;
    let server = Server::start(|_| completion("a"));
    for (template, expected) in [
        ("{{ system_prompt }}", "there is no variable `system_prompt`; expected one of: "),
        (
            "{{ sample.question }}",
            "`sample.question` is undefined; write `row.question` for the field of the row",
        ),
        ("{{ row.qestion }}", "`row.qestion` is undefined; did you mean `row.question`?"),
        ("{{ params.tone }}", "`params.tone` is undefined; add it to the `params` of the prompt"),
        ("{{ payload.retriever }}", "`payload.retriever` is undefined; `payload` has: sample, support"),
        (
            "{{ label }}",
            "`label` is both a parameter and a field of the rows; write `params.label` or `row.label`",
        ),
        ("{{ row.note }}", "the value is null"),
        ("{{ sample.get('goal') }}", "the value is null"),
        ("{{ sample.metadata.a.b }}", "undefined"),
    ] {
        let workspace = workspace(row);
        let text = prompted(&server, template, "[exact_match]", ", params: {label: 1}");
        workspace.write("suite.yaml", text);
        for command in ["validate", "plan", "run"] {
            let ended = workspace.run(&[command, "suite.yaml"]).expect_code(2);
            assert!(ended.stderr.contains(expected), "{command} {template}\n{}", ended.stderr);
        }
        assert!(!workspace.path("runs").exists(), "{template}");
    }
    // A judge's prompt is checked as well, before the model is asked.
    let workspace = workspace(row);
    let steps = "[{step: inference}, {step: judge}, {step: auto_eval}]";
    let prompts =
        "prompts: [{prompt_id: grade, template: '{{ payload.model_output.answer }} {{ rubric }}'}]\n";
    let text = judged_suite(&server.backend(""), &server.backend(""), "", "[judge_score]", steps, prompts);
    let text = text.replace("role_type: judge_model,", "role_type: judge_model, prompt_id: grade,");
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&["run", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("there is no variable `rubric`"), "{}", ended.stderr);
    assert_eq!(server.requests(), 0);
}

#[test]
fn requests_are_shown_before_a_run() {
    let server = Server::start(|_| completion("B"));
    let workspace = workspace(MULTIPLE_CHOICE);
    workspace.write("suite.yaml", suite(&server.backend(""), "[multi_choice_accuracy]"));
    let shown = workspace.run(&["data", "preview", "suite.yaml", "--rendered"]).expect_code(0).stdout;
    for expected in ["rows · mc_0001", "Which one is a mammal?", "A. Shark", "Answer with the letter"] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let json = workspace
        .run(&["data", "preview", "suite.yaml", "--rendered", "--json"])
        .expect_code(0)
        .stdout_json();
    assert_eq!(json["request"]["messages"][0]["role"], "user", "{json}");
    let ended = workspace.run(&["data", "preview", "rows.jsonl", "--rendered"]).expect_code(2);
    assert!(ended.stderr.contains("rows.jsonl has no task that asks a model"), "{}", ended.stderr);
}

/// A model that calls a tool without an answer, in a task that answers no calls.
#[test]
fn unanswered_tool_call_is_no_wrong_answer() {
    let call = json!([{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": call});
    let body = json!({"choices": [{"finish_reason": "tool_calls", "message": message}]});
    let server = Server::start(move |_| wiremock::ResponseTemplate::new(200).set_body_json(&body));
    for (metrics, code, outcome) in
        [("[exact_match]", 4, "empty_output"), ("[trajectory_match]", 0, "scored")]
    {
        let row = r#"{"id": "q", "question": "?", "answer": "a",
            "golden_trajectories": [[{"role": "assistant", "tool_calls":
                [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]}]]}"#;
        let workspace = workspace(row);
        workspace.write("suite.yaml", suite(&server.backend(""), metrics));
        let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(code);
        let sample = workspace.samples("r")[0].clone();
        assert_eq!(sample["outcome"], outcome, "{metrics}: {}", ended.stderr);
        if outcome == "empty_output" {
            assert_eq!(sample["error"]["kind"], "unanswered_tool_call", "{sample}");
            assert!(ended.stderr.contains("called the tool `search`"), "{}", ended.stderr);
        }
    }
}

/// Slips in a Sample are errors of its row, each with the field.
#[test]
fn slips_in_a_sample_are_reported() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    for (fields, pointer, expected) in [
        (json!({"refrences": ["a"]}), "/refrences", "did you mean 'references'?"),
        (json!({"references": ["a"], "label": ["a"]}), "/label", "must be a string"),
        (json!({"tools": [tool("f"), tool("f")]}), "/tools/1/function/name", "is defined twice"),
        (
            json!({"tools": [{"type": "web_search", "function": {"name": "f"}}]}),
            "/tools/0/type",
            "allowed: function",
        ),
        (
            json!({"tools": [tool("f")], "tool_choice": {"type": "function", "function": {"name": "g"}}}),
            "/tool_choice",
            "there is no tool 'g'",
        ),
        (json!({"tool_choice": "required"}), "/tool_choice", "needs `tools`"),
        (json!({"sandbox": {"imagee": "x"}}), "/sandbox/imagee", "did you mean 'image'?"),
        (json!({"eval_config": {"metric": {}}}), "/eval_config/metric", "did you mean 'metrics'?"),
        (json!({"messages": null}), "/messages", "a Sample needs a list of messages"),
    ] {
        let mut row =
            json!({"schema_version": "v1", "id": "q", "messages": [{"role": "user", "content": "?"}]});
        for (name, value) in fields.as_object().expect("an object") {
            row[name] = value.clone();
        }
        let workspace = workspace(&row.to_string());
        let report = workspace.run(&["data", "validate", "rows.jsonl", "--json"]);
        let report = report.stdout + &report.stderr;
        assert!(report.contains(pointer) && report.contains(expected), "{row}\n{report}");
    }
}

#[test]
fn fields_that_change_nothing_are_reported() {
    let server = Server::start(|_| completion("x"));
    let workspace = Workspace::new();
    for (fields, steps, expected) in [
        (json!({"unconditioned_input": "Answer:"}), "{step: inference}", Some("`unconditioned_input`")),
        (json!({"sandbox": {"image": "python"}}), "{step: inference}", Some("`sandbox`")),
        (json!({"unconditioned_input": "Answer:"}), "{step: inference, request: loglikelihood}", None),
        (json!({}), "{step: inference}", None),
    ] {
        let mut row = json!({"id": "q", "question": "?", "options": {"A": "x", "B": "y"}, "label": "A"});
        row.as_object_mut().expect("an object").extend(fields.as_object().cloned().expect("an object"));
        workspace.write("rows.jsonl", format!("{row}\n"));
        let text = suite(&server.backend(", loglikelihood: echo"), "[exact_match]");
        workspace.write("suite.yaml", text.replace("{step: inference}", steps));
        let stderr = workspace.run(&["validate", "suite.yaml"]).expect_code(0).stderr;
        let named = expected.map(|field| format!("does not use the {field} of its Samples"));
        assert_eq!(stderr.contains("does not use the"), named.is_some(), "{row}: {stderr}");
        assert!(stderr.contains(named.as_deref().unwrap_or_default()), "{row}: {stderr}");
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn task_types_that_no_step_evaluates_are_named() {
    let server = Server::start(|_| completion("B"));
    for (task_type, expected) in [
        ("text-to-image", "no judge and no metric of the task sees the media of the answers"),
        ("text-to-video", "no judge and no metric of the task sees the media of the answers"),
        ("agent", "no step answers the model's tool calls"),
        ("code-generation", "no step runs code, so answers are compared as text"),
        ("short-answer", ""),
    ] {
        let workspace = workspace(&MULTIPLE_CHOICE.replace("multiple-choice", task_type));
        workspace.write("suite.yaml", suite(&server.backend(""), "[multi_choice_accuracy]"));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
        let is_named = ended.stderr.contains(&format!("have the type `{task_type}`, but {expected}"));
        assert_eq!(is_named, !expected.is_empty(), "{task_type}: {}", ended.stderr);
    }
}

//! Prompts: the variables that they see, the checks before a run, and the options of a question.

use crate::server::{Server, completion};
use crate::specification::PICTURE;
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
        ("{{ 'a' ~ row.note }}", "the value is null"),
        ("{{ [row.note]|join(', ') }}", "contains null"),
        ("{{ row }}", "contains null"),
        ("{{ sample.get('goal') }}", "`sample.goal` is undefined"),
        ("{{ label|default('z') }}", "`label` is both a parameter and a field of the rows"),
        (
            "{% if label is defined %}{{ label }}{% endif %}",
            "`label` is both a parameter and a field of the rows",
        ),
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
    assert_eq!(server.requests(), 0);
}

#[test]
fn prompts_of_judges_are_checked_before_the_run() {
    let row = r#"{"question": "q", "answer": "a", "note": null, "meta": {"level": 1}}"#;
    let server = Server::start(|_| completion("a"));
    for (template, expected) in [
        ("{{ rubric }}", "there is no variable `rubric`"),
        ("{{ payload.model_output.ansewr }}", "did you mean `payload.model_output.answer`?"),
        ("{{ payload.model_output.parsed.value }}", "`payload.model_output.parsed` is undefined"),
        ("{{ payload.support.x }}", "`payload.support.x` is undefined; `payload.support` is empty"),
        ("{{ row.meta.rubric }}", "`row.meta.rubric` is undefined; `row.meta` has: level"),
        ("{{ sample.get('goal') }}", "`sample.goal` is undefined"),
        ("{{ row.note }}", "the value is null"),
    ] {
        let workspace = workspace(row);
        let steps = "[{step: inference}, {step: judge}, {step: auto_eval}]";
        let template = format!("{{{{ payload.model_output.answer }}}} {template}");
        let prompts = format!("prompts: [{{prompt_id: grade, template: {}}}]\n", json!(template));
        let text =
            judged_suite(&server.backend(""), &server.backend(""), "", "[judge_score]", steps, &prompts);
        let text = text.replace("role_type: judge_model,", "role_type: judge_model, prompt_id: grade,");
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["run", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{template}\n{}", ended.stderr);
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn variables_under_conditions_may_be_missing() {
    let server = Server::start(|_| completion("a"));
    let workspace = Workspace::new();
    let rows =
        (0..9).map(|number| json!({"id": number.to_string(), "question": "q", "answer": "a", "kind": "t"}));
    let last = json!({"id": "z", "question": "q", "answer": "a", "kind": "i", "caption": "C"});
    let rows: String = rows.chain([last]).map(|row| format!("{row}\n")).collect();
    workspace.write("rows.jsonl", rows);
    for (template, warning) in [
        ("{% if row.kind == 'i' %}{{ row.caption }}{% endif %}x", Some("`row.caption` is undefined")),
        ("{% if row.hint %}{{ row.hint }}{% endif %}x", Some("`row.hint` is undefined")),
        ("{{ row.hint or 'x' }}", Some("`row.hint` is undefined")),
        ("{{ row.hint|default('x') }}", None),
    ] {
        workspace.write("suite.yaml", prompted(&server, template, "[exact_match]", ""));
        let stderr = workspace.run(&["validate", "suite.yaml"]).expect_code(0).stderr;
        assert_eq!(
            stderr.contains("a condition of the prompt guards"),
            warning.is_some(),
            "{template}: {stderr}"
        );
        assert!(stderr.contains(warning.unwrap_or_default()), "{template}: {stderr}");
    }
    let text =
        prompted(&server, "{% if row.kind == 'i' %}{{ row.caption }}{% endif %}x", "[exact_match]", "");
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert!(server.bodies().iter().any(|body| body["messages"][0]["content"] == "Cx"));
}

#[test]
fn a_prompt_without_a_field_is_warned_about() {
    let server = Server::start(|_| completion("a"));
    let row = json!({"question": "q", "answer": "a"});
    let picture = json!({"question": "q", "answer": "a", "image": PICTURE});
    for (template, rows, is_warned) in [
        ("Answer briefly.", vec![&row, &row], true),
        ("{{ params.tone }}, please.", vec![&row, &row], true),
        ("Answer briefly: {{ question }}", vec![&row, &row], false),
        ("{% if row.question %}Answer briefly.{% endif %}", vec![&row, &row], false),
        ("{{ sample.messages[-1].content[0].text }}", vec![&row, &row], false),
        ("Answer briefly.", vec![&row], false),
        ("Answer briefly.", vec![&picture, &picture], false),
    ] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows.iter().map(|row| format!("{row}\n")).collect::<String>());
        workspace
            .write("suite.yaml", prompted(&server, template, "[exact_match]", ", params: {tone: brief}"));
        let stderr = workspace.run(&["validate", "suite.yaml"]).expect_code(0).stderr;
        let warning =
            "the prompt `ask` has no field of the row, so every request of the task `rows` is the same";
        assert_eq!(stderr.contains(warning), is_warned, "{template}: {stderr}");
        assert_eq!(stderr.contains("suite.yaml:16:"), is_warned, "{template}: {stderr}");
    }
    let workspace = workspace(&row.to_string());
    workspace.write("rows.jsonl", format!("{row}\n{row}\n"));
    workspace.write("suite.yaml", prompted(&server, "Answer briefly.", "[exact_match]", ""));
    let stderr = workspace.run(&["run", "suite.yaml"]).expect_code(0).stderr;
    assert!(stderr.contains("every request of the task `rows` is the same"), "{stderr}");
}

#[test]
fn own_prompt_without_options_is_warned_about() {
    let server = Server::start(|_| completion("B"));
    let sample = |id: &str, question: &str, options: [&str; 2]| {
        json!({"schema_version": "v1", "id": id, "label": "B", "references": ["B"],
            "messages": [{"role": "user", "content": question}],
            "options": [{"id": "A", "content": options[0]}, {"id": "B", "content": options[1]}]})
    };
    let plain = sample("1", "Which is larger, 2 or 4?", ["2", "4"]);
    let listed = sample("2", "Which?\nA. Shark\nB. Dolphin", ["Shark", "Dolphin"]);
    let options = "{% for option in sample.options %}\n{{ option.id }}. {{ option.content }}{% endfor %}";
    for (rows, after, is_warned) in [
        (vec![&plain], "", true),
        (vec![&listed], "", false),
        (vec![&listed, &plain], "", true),
        (vec![&listed, &plain], options, false),
    ] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows.iter().map(|row| format!("{row}\n")).collect::<String>());
        let template = format!("{{{{ sample.messages[-1].content[0].text }}}}{after}");
        workspace.write("suite.yaml", prompted(&server, &template, "[multi_choice_accuracy]", ""));
        let stderr = workspace.run(&["validate", "suite.yaml"]).expect_code(0).stderr;
        assert_eq!(stderr.contains("do not show the options"), is_warned, "{template}: {stderr}");
    }
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
    assert_eq!(json["requests"][0]["messages"][0]["role"], "user", "{json}");
    let ended = workspace.run(&["data", "preview", "rows.jsonl", "--rendered"]).expect_code(2);
    assert!(ended.stderr.contains("rows.jsonl has no task that asks a model"), "{}", ended.stderr);
}

/// Blanks and line breaks of a prompt change figures.
#[test]
fn prompts_are_shown_to_the_last_blank() {
    let server = Server::start(|_| completion("B"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", json!({"question": "Why?"}).to_string());
    let long = "word ".repeat(60);
    let template = json!(format!("Q: {{{{ question }}}}\n{long}\n\nA: "));
    let backend = server.backend("");
    let text = format!(
        "datasets: [rows.jsonl]\nbackends:\n  - backend_id: model\n    {backend}\nrole_adapters:\n  \
         - {{adapter_id: dut, role_type: dut_model, backend_id: model}}\nprompt: {template}\nmetrics: [latency]\n"
    );
    workspace.write("suite.yaml", text);
    let shown = workspace.run(&["data", "preview", "suite.yaml", "--rendered"]).expect_code(0).stdout;
    let indent = " ".repeat(13);
    let expected = format!("  user       Q: Why?\n{indent}{long}\n{indent}\n{indent}A: \n");
    assert!(shown.contains(&expected), "{shown}");
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

/// A reply that waits for tools has no answer for metrics that read answers, even with a text beside the calls.
#[test]
fn metrics_of_answers_do_not_score_tool_calls() {
    let call = json!([{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]);
    let message = json!({"role": "assistant", "content": "Let me search.", "tool_calls": call});
    let body = json!({"choices": [{"finish_reason": "tool_calls", "message": message}]});
    let server = Server::start(move |_| wiremock::ResponseTemplate::new(200).set_body_json(&body));
    let row = json!({"id": "q", "question": "?", "answer": "a", "golden_trajectories":
        [[{"role": "assistant", "tool_calls": call.clone()}]]});
    for (metrics, expected) in [
        ("[exact_match]", ["empty_output", ""]),
        ("[trajectory_match, exact_match]", ["scored", "empty_output"]),
    ] {
        let workspace = workspace(&row.to_string());
        workspace.write("suite.yaml", suite(&server.backend(""), metrics));
        workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
        let sample = workspace.samples("r")[0].clone();
        assert_eq!(sample["outcome"], expected[0], "{metrics}: {sample:#}");
        let last = sample["metrics"].as_array().and_then(|metrics| metrics.last()).cloned();
        let outcome = last.map(|metric| metric["outcome"].clone()).unwrap_or_default();
        assert_eq!(outcome.as_str().unwrap_or_default(), expected[1], "{metrics}: {sample:#}");
    }
}

/// Metrics whose inputs no step makes are refused before the run.
#[test]
fn metrics_without_their_step_are_refused() {
    let server = Server::start(|_| completion("B"));
    let workspace = workspace(MULTIPLE_CHOICE);
    for (metric, expected) in [
        ("loglikelihood_accuracy", "request: loglikelihood"),
        ("reasoning_consistency", "extractors: [json_object]"),
    ] {
        workspace.write("suite.yaml", suite(&server.backend(""), &format!("[{metric}]")));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(metric) && ended.stderr.contains(expected), "{}", ended.stderr);
    }
    let gate = "gate: [{metric: numeric_error, margin: 0.05, sub_scores: {maee: 0.1}}]\n";
    workspace.write("suite.yaml", suite(&server.backend(""), "[numeric_error]") + gate);
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("has no sub-score `maee`"), "{}", ended.stderr);
    assert_eq!(server.requests(), 0);
}

/// Requests to judges are shown with placeholders for replies.
#[test]
fn judge_requests_are_shown_before_a_run() {
    let server = Server::start(|_| completion("B"));
    let workspace = workspace(MULTIPLE_CHOICE);
    let steps = "[{step: inference}, {step: judge}, {step: auto_eval}]";
    let text = judged_suite(&server.backend(""), &server.backend(""), "", "[judge_score]", steps, "");
    workspace.write("suite.yaml", text);
    let shown = workspace.run(&["data", "preview", "suite.yaml", "--rendered"]).expect_code(0).stdout;
    for expected in ["to dut", "to judge", "<reply of dut>"] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(server.requests(), 0);
}

/// An override of a metric that the task does not have gives a warning.
#[test]
fn unknown_overrides_of_samples_are_reported() {
    let server = Server::start(|_| completion("a"));
    let row = json!({"id": "q", "messages": [{"role": "user", "content": "?"}], "references": ["a"],
        "eval_config": {"metrics": {"nope": {}}}});
    let workspace = workspace(&row.to_string());
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(0);
    assert!(ended.stderr.contains("metrics.nope"), "{}", ended.stderr);
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

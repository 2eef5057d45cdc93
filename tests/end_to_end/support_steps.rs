//! Support steps and tools in a run: an agent that calls tools, with a real server on loopback as the model.

use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace};
use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

/// Returns the Sample of an agent that asks for the weather and sums it up.
fn agent_sample(number: usize) -> Value {
    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    json!({
        "schema_version": "v1",
        "id": format!("agent_{number:04}"),
        "task_type": "agent",
        "messages": [{"role": "user", "content": [{"type": "text", "text": format!("Weather in city {number}?")}]}],
        "tools": [tool("get_weather"), tool("sum_up")],
        "tool_choice": "required",
        "metadata": {"documents": [{"title": "Guide", "text": format!("City {number} lies south.")}]},
        "golden_trajectories": [[
            {"role": "assistant", "tool_calls": [call("g1", "get_weather", json!({"city": number}))]},
            {"role": "tool", "tool_call_id": "g1", "content": format!("Sunny, {number}C")},
            {"role": "assistant", "tool_calls": [call("g2", "sum_up", json!({"text": format!("Sunny, {number}C")}))]},
            {"role": "tool", "tool_call_id": "g2", "content": "sunny"},
            {"role": "assistant", "content": [{"type": "text", "text": "It is sunny."}]},
        ]],
        "references": [{"answer": [{"type": "text", "text": "It is sunny."}]}],
    })
}

fn json_body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

/// Returns the messages of a request with this role.
fn messages_of_role<'b>(body: &'b Value, role: &str) -> Vec<&'b Value> {
    let all = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter(|message| message["role"] == role).collect()
}

/// Returns the number of the city that a request is about.
fn city_of(body: &Value) -> usize {
    let question = messages_of_role(body, "user")
        .first()
        .map(|message| message["content"].to_string())
        .unwrap_or_default();
    let digits: String = question.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(usize::MAX)
}

fn tool_call_reply(id: &str, name: &str, arguments: &Value) -> ResponseTemplate {
    let call =
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    ResponseTemplate::new(200).set_body_json(json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": [call]}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }))
}

/// Replies as a model that calls two tools in turn, and then answers with the result of the second.
fn weather_agent(request: &Request) -> ResponseTemplate {
    let body = json_body(request);
    let city = city_of(&body);
    let results = messages_of_role(&body, "tool");
    match results.as_slice() {
        [] => tool_call_reply("c1", "get_weather", &json!({"city": city})),
        [weather] => tool_call_reply("c2", "sum_up", &json!({"text": weather["content"]})),
        [_, summary] => completion(&format!("It is {}.", summary["content"].as_str().unwrap_or("unknown"))),
        _ => ResponseTemplate::new(500),
    }
}

/// Returns a suite of agents, with the steps before scoring and with further roles.
pub(crate) fn suite(server: &Server, roles: &str, steps: &str, extra: &str) -> String {
    let backend = server.backend(", max_retries: 0");
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - {{dataset_id: agents, loader: jsonl, params: {{path: agents.jsonl}}}}
backends:
  - backend_id: model
    {backend}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
  - {{adapter_id: simulator, role_type: tool_provider, adapter: tool_table}}
{roles}metrics:
  - trajectory_match
  - {{exact_match: {{label_field: sample.references.0.answer.0.text}}}}
custom:
  steps: [{steps}, {{step: auto_eval}}]
{extra}"
    )
}

const RETRIEVER: &str =
    "  - {adapter_id: retriever, role_type: context_provider, adapter: context_from_field}\n";
const AGENT: &str =
    "{step: inference, tools: {adapter_id: simulator, max_turns: 4, max_tokens: 20000, max_time: 120}}";

pub(crate) fn workspace(count: usize) -> Workspace {
    let workspace = Workspace::new();
    let rows: String = (0..count).map(|number| agent_sample(number).to_string() + "\n").collect();
    workspace.write("agents.jsonl", rows);
    workspace
}

#[test]
fn agent_calls_tools_and_its_trajectory_is_scored() {
    let server = Server::start(weather_agent);
    let workspace = workspace(12);
    let steps = format!("{{step: support}}, {AGENT}");
    workspace.write("suite.yaml", suite(&server, RETRIEVER, &steps, ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "a", "--concurrency", "8"]).expect_code(0);
    assert_eq!(server.requests(), 36);
    let summary = workspace.json("a", "summary.json");
    for metric in [0, 1] {
        let figure = &summary["metrics"][metric];
        assert_eq!((&figure["value"], &figure["n"]), (&json!(1.0), &json!(12)), "{figure}");
    }
    let samples = workspace.samples("a");
    let sample = &samples[3];
    assert_eq!(sample["support_output"]["retriever"]["context"][0], "Guide\nCity 3 lies south.");
    let output = &sample["model_output"];
    assert_eq!((&output["answer"], &output["turns"]), (&json!("It is sunny."), &json!(3)));
    assert_eq!(output["usage"], json!({"prompt_tokens": 23, "completion_tokens": 12}));
    let roles: Vec<&str> = output["trajectory"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["assistant", "tool", "assistant", "tool", "assistant"]);
    assert_eq!(output["trajectory"][1]["content"][0]["text"], "Sunny, 3C");
    assert_eq!(sample["metrics"][0]["card"]["sub_scores"]["exact"], 1.0);
    let id = sample["sample_id"].as_str().expect("an id");
    let shown = workspace.run(&["runs", "show", "a", "--sample", id]).expect_code(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for turn in
        ["call get_weather {\"city\":3}", "result get_weather: Sunny, 3C", "call sum_up {", "result sum_up: "]
    {
        assert!(shown.contains(turn), "{turn}: {shown}");
    }
    assert_eq!(shown.matches("It is sunny.").count(), 1, "{shown}");

    // The context is in the instructions, and a tool call is forced once.
    let bodies = server.bodies();
    let of_three: Vec<&Value> = bodies.iter().filter(|body| city_of(body) == 3).collect();
    let choices: Vec<&Value> = of_three.iter().map(|body| &body["tool_choice"]).collect();
    assert_eq!(choices, [&json!("required"), &json!("auto"), &json!("auto")]);
    let instructions = messages_of_role(of_three[0], "system")[0]["content"].to_string();
    assert!(
        instructions.contains("Context:") && instructions.contains("City 3 lies south."),
        "{instructions}"
    );

    // The same answers give the same bytes, in another order and in a resumed run.
    workspace.run(&["run", "suite.yaml", "--run-id", "b", "--concurrency", "1"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "c", "--max-samples", "5"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "c", "--resume", "--max-samples", "12"]).expect_code(0);
    assert_eq!(server.requests(), 36 * 3);
    for file in ["samples.jsonl", "summary.json"] {
        let first = workspace.read(&format!("runs/a/{file}"));
        assert_eq!(first, workspace.read(&format!("runs/b/{file}")), "{file} of another run");
    }
    assert_eq!(workspace.read("runs/a/samples.jsonl"), workspace.read("runs/c/samples.jsonl"), "resumed");

    // Rescoring needs no server: the trajectories are in the journal.
    drop(server);
    workspace.run(&["score", "runs/a", "--run-id", "again"]).expect_code(0);
    let again = workspace.json("again", "summary.json");
    assert_eq!(again["metrics"][0]["value"], 1.0);
    let identity = &workspace.json("a", "manifest.json")["identity"]["plugins"];
    assert!(
        identity["tool_table"]["digest"].is_string() && identity["context_from_field"]["digest"].is_string()
    );
}

/// Replies as a model that calls a tool in every turn.
pub(crate) fn endless_tool_calls(request: &Request) -> ResponseTemplate {
    let results = messages_of_role(&json_body(request), "tool").len();
    tool_call_reply(&format!("c{results}"), "get_weather", &json!({"city": city_of(&json_body(request))}))
}

#[test]
fn tool_loop_is_bounded_in_turns_tokens_and_time() {
    let server = Server::start(endless_tool_calls);
    let workspace = workspace(2);
    for (id, bounds, turns, kind) in [
        ("turns", "max_turns: 3", 3, "max_turns"),
        ("once", "max_turns: 1", 1, "max_turns"),
        // Each turn takes 15 tokens.
        ("tokens", "max_turns: 100, max_tokens: 31", 3, "max_tokens"),
    ] {
        let steps = format!("{{step: inference, tools: {{{bounds}}}}}");
        workspace.write("suite.yaml", suite(&server, "", &steps, ""));
        let before = server.requests();
        workspace.run(&["run", "suite.yaml", "--run-id", id]).expect_code(4);
        assert_eq!(server.requests() - before, 2 * turns, "{id}");
        let sample = &workspace.samples(id)[0];
        assert_eq!((&sample["outcome"], &sample["error"]["kind"]), (&json!("truncated"), &json!(kind)));
        let output = &sample["model_output"];
        assert_eq!((&output["turns"], &output["stopped_by"]), (&json!(turns), &json!(kind)), "{id}");
        // Every call but the last has its result.
        assert_eq!(output["trajectory"].as_array().map(Vec::len), Some(2 * turns - 1), "{id}");
    }

    // A task may score truncated answers.
    let steps = "{step: inference, tools: {max_turns: 2}}";
    let extra = "  score_outcomes: [truncated]\n";
    workspace.write("suite.yaml", suite(&server, "", steps, extra));
    workspace.run(&["run", "suite.yaml", "--run-id", "scored"]).expect_code(0);
    let sample = &workspace.samples("scored")[0];
    assert_eq!((&sample["outcome"], &sample["error"]), (&json!("scored"), &Value::Null));
    assert_eq!(sample["metrics"][0]["card"]["sub_scores"]["recall"], json!(0.5));

    let slow = Server::start(|_| completion("late").set_delay(std::time::Duration::from_secs(3_600)));
    workspace.write("suite.yaml", suite(&slow, "", "{step: inference, tools: {max_time: 0.2}}", ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "time"]).expect_code(4);
    let sample = &workspace.samples("time")[0];
    assert_eq!((&sample["outcome"], &sample["error"]["kind"]), (&json!("truncated"), &json!("max_time")));
    assert_eq!(sample["model_output"]["trajectory"], json!([]));
}

#[test]
fn unknown_tool_call_is_answered_or_fails() {
    let server = Server::start(|request| {
        let body = json_body(request);
        match messages_of_role(&body, "tool").as_slice() {
            [] if city_of(&body) == 1 => tool_call_reply("", "", &json!({})),
            [] => tool_call_reply("c", "fly", &json!({})),
            [result] => {
                completion(&format!("I was told: {}", result["content"].as_str().unwrap_or_default()))
            }
            _ => ResponseTemplate::new(500),
        }
    });
    let workspace = workspace(2);
    workspace.write("suite.yaml", suite(&server, "", "{step: inference, tools: simulator}", ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "told"]).expect_code(0);
    let answers: Vec<Value> =
        workspace.samples("told").iter().map(|sample| sample["model_output"]["answer"].clone()).collect();
    assert!(answers[0].as_str().is_some_and(|text| text.contains("there is no tool 'fly'")), "{answers:?}");
    assert!(answers[1].as_str().is_some_and(|text| text.contains("names no function")), "{answers:?}");

    let strict = suite(&server, "", "{step: inference, tools: simulator}", "")
        .replace("adapter: tool_table", "adapter: {tool_table: {unknown: fail}}");
    workspace.write("suite.yaml", strict);
    workspace.run(&["run", "suite.yaml", "--run-id", "failed"]).expect_code(4);
    let samples = workspace.samples("failed");
    let sample = &samples[0];
    assert_eq!(
        (&sample["outcome"], &sample["error"]["stage"]),
        (&json!("plugin_error"), &json!("inference"))
    );
    let message = sample["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("simulator: ") && message.contains("'fly'"), "{message}");
    // The messages before the failure are kept.
    assert_eq!(sample["model_output"]["trajectory"].as_array().map(Vec::len), Some(1));
    assert_eq!(samples[1]["outcome"], "scored");
}

#[test]
fn support_output_is_read_by_prompts_steps_and_metrics() {
    let server = Server::start(|request| {
        let body = json_body(request);
        let question = messages_of_role(&body, "user")[0]["content"].as_str().unwrap_or_default().to_owned();
        let hint = question.strip_prefix("hint for ").map(|rest| format!("a hint for {rest}"));
        completion(&hint.unwrap_or(question))
    });
    let workspace = workspace(3);
    let roles = format!(
        "{RETRIEVER}  - {{adapter_id: hinter, role_type: helper_model, backend_id: model, prompt_id: hint}}
  - {{adapter_id: asker, role_type: helper_model, backend_id: model, prompt_id: ask}}
prompts:
  - {{prompt_id: hint, template: 'hint for {{{{ payload.retriever.count }}}} document'}}
  - {{prompt_id: ask, template: '{{{{ payload.hinter.context }}}}, {{{{ payload.support.retriever.context[0] }}}}'}}
"
    );
    let steps = "{step: support, adapter_id: retriever}, {step: support, adapter_id: hinter}, {step: inference, adapter_id: asker}";
    let text = suite(&server, &roles, steps, "").replace(
        "metrics:\n  - trajectory_match\n  - {exact_match: {label_field: sample.references.0.answer.0.text}}\n",
        "metrics:\n  - {contains: {label_field: support_output.hinter.context}}\n",
    );
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(server.requests(), 6);
    let sample = &workspace.samples("r")[2];
    let found = &sample["support_output"]["hinter"];
    assert_eq!(found["context"], "a hint for 1 document");
    assert_eq!(found["usage"], json!({"prompt_tokens": 3, "completion_tokens": 2}));
    assert_eq!(sample["model_output"]["answer"], "a hint for 1 document, Guide\nCity 2 lies south.");
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    let plan = workspace.run(&["plan", "suite.yaml", "--json"]).expect_code(0);
    let plan = plan.stdout_json();
    let steps: Vec<&Value> = plan["tasks"][0]["requests"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|request| &request["step"])
        .collect();
    assert_eq!(steps, [&json!("support"), &json!("inference")]);
}

#[test]
fn component_failure_ends_its_sample_alone() {
    let server = Server::start(weather_agent);
    let workspace = workspace(3);
    let mut lacking = agent_sample(1);
    lacking["metadata"] = json!({});
    workspace.write("agents.jsonl", format!("{}\n{lacking}\n{}\n", agent_sample(0), agent_sample(2)));
    workspace.write("suite.yaml", suite(&server, RETRIEVER, &format!("{{step: support}}, {AGENT}"), ""));
    let CommandOutput { stderr, .. } = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert!(stderr.contains("2 of 3 samples were scored"), "{stderr}");
    let sample = &workspace.samples("r")[1];
    assert_eq!((&sample["outcome"], &sample["error"]["stage"]), (&json!("plugin_error"), &json!("support")));
    assert_eq!(sample["error"]["kind"], "missing_field");
    // No request was sent for it.
    assert_eq!(server.requests(), 6);
}

#[test]
fn invalid_support_and_tool_steps_are_refused() {
    let server = Server::start(weather_agent);
    let workspace = workspace(1);
    let simulator = "{adapter_id: simulator, role_type: tool_provider, adapter: tool_table}";
    for (old, new, expected) in [
        (
            "tools: simulator",
            "tools: simulater",
            vec!["no role adapter `simulater`", "did you mean `simulator`"],
        ),
        ("tools: simulator", "tools: dut", vec!["`tools` cannot ask `dut`", "tool_provider, helper_model"]),
        ("tools: simulator", "tools: {max_turns: 0}", vec!["`max_turns` must be"]),
        ("tools: simulator", "tools: {max_time: 0}", vec!["`max_time` must be above 0"]),
        ("tools: simulator", "tools: {max_steps: 3}", vec!["max_steps", "max_turns"]),
        ("tools: simulator", "tools: simulator, request: loglikelihood", vec!["no tool is ever called"]),
        ("adapter: tool_table", "adapter: tool_tabel", vec!["did you mean `tool_table`"]),
        ("adapter: tool_table", "adapter: {tool_table: {unknwon: tell}}", vec!["unknwon", "suite.yaml:11"]),
        ("adapter: tool_table", "adapter: exact_match", vec!["exact_match"]),
        (", adapter: tool_table", "", vec!["needs a `backend_id`"]),
        (
            ", adapter: tool_table",
            ", backend_id: model",
            vec!["`tools` asks `simulator`, which has no `adapter`"],
        ),
        (
            "role_type: dut_model, ",
            "role_type: dut_model, adapter: tool_table, ",
            vec!["`dut_model` has no `adapter`"],
        ),
        (
            "{step: inference,",
            "{step: support}, {step: inference,",
            vec!["`support` needs a role adapter of the type `context_provider`"],
        ),
        (
            "{step: inference,",
            "{step: support, adapter_id: simulator}, {step: inference,",
            vec!["`support` cannot ask `simulator`"],
        ),
        (
            simulator,
            "{adapter_id: simulator, role_type: helper_model, adapter: tool_table}\n  - {adapter_id: other, role_type: tool_provider, adapter: context_from_field}",
            vec!["used by no step"],
        ),
    ] {
        let text = suite(&server, "", "{step: inference, tools: simulator}", "");
        assert!(text.contains(old), "{old}");
        workspace.write("suite.yaml", text.replace(old, new));
        let ended = workspace.run(&["validate", "suite.yaml"]);
        for text in expected {
            assert!(ended.transcript().contains(text), "{new}: {text}\n{}", ended.transcript());
        }
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn support_steps_name_their_roles_and_order() {
    let server = Server::start(weather_agent);
    let workspace = workspace(1);
    let two = format!(
        "{RETRIEVER}  - {{adapter_id: other, role_type: context_provider, adapter: context_from_field}}\n"
    );
    for (steps, expected) in [
        ("{step: support}, {step: inference}", "is ambiguous: 2"),
        (
            "{step: support, adapter_id: other}, {step: support, adapter_id: other}, {step: inference}",
            "`other` occurs twice",
        ),
        (
            "{step: support, adapter_id: other, sets_answer: true}, {step: inference}",
            "there is no answer yet",
        ),
    ] {
        workspace.write("suite.yaml", suite(&server, &two, steps, ""));
        let stderr = workspace.run(&["validate", "suite.yaml"]).expect_code(2).stderr;
        assert!(stderr.contains(expected), "{stderr}");
    }
    assert_eq!(server.requests(), 0);
}

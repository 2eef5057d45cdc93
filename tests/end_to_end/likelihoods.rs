//! Log-likelihoods from servers of the completions API, and prompts for base models.

use crate::support::{Workspace, rows};
use gage_load_server::{Answer, LoadServer, Reply, Request, completion};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The paths and the prompts of the requests to a server.
#[derive(Clone, Default)]
struct RequestLog(Arc<Mutex<Vec<[String; 2]>>>);

impl RequestLog {
    fn note(&self, request: &Request) -> String {
        let prompt = request.json()["prompt"].as_str().unwrap_or_default().to_owned();
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push([request.path.clone(), prompt.clone()]);
        prompt
    }

    /// Returns the requests since the last call, in the order of their texts.
    fn take(&self) -> Vec<[String; 2]> {
        let mut asked = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        asked.sort();
        asked
    }
}

/// Returns the log-probabilities of a text: each character is a token, and the first has none.
fn echo(text: &str, logprob: f64) -> Answer {
    let tokens: Vec<String> = text.chars().map(String::from).collect();
    let offsets: Vec<usize> = (0..tokens.len()).collect();
    let mut logprobs = vec![json!(logprob); tokens.len()];
    if let Some(first) = logprobs.first_mut() {
        *first = Value::Null;
    }
    let logprobs = json!({"tokens": tokens, "token_logprobs": logprobs, "text_offset": offsets});
    Reply::json(200, &json!({"choices": [{"index": 0, "text": text, "logprobs": logprobs}]})).into()
}

const GAPS: &str = r#"{"before": "Ann called Sue because ", "rest": "was late.", "number": 1, "names": ["Ann", "Sue"], "answer": "2"}
{"before": "Sue asked Ann, as ", "rest": "was curious.", "number": 2, "names": ["Sue", "Ann"], "answer": "1"}
"#;

/// Returns a suite about gaps for a model of the short form.
fn suite_of_gaps(model: &str, step: &str) -> String {
    let kwargs = "{question_field: before, choices_field: names, answer_field: answer, answer_index_base: 1, \
                  style: question_only}";
    format!(
        "datasets:
  - dataset_id: rows
    loader: jsonl
    params: {{path: rows.jsonl, max_invalid: 1, preprocess: multi_choice, preprocess_kwargs: {kwargs}}}
model: '{model}'
prompt: '{{{{ before }}}}'
metrics: [loglikelihood_accuracy]
custom:
  steps:
    - {{step: inference, request: loglikelihood, continuation_prefix: ' '{step}}}
    - {{step: auto_eval}}
"
    )
}

#[test]
fn options_end_the_prompts_and_the_target_is_scored() {
    let asked = RequestLog::default();
    let noted = asked.clone();
    let server = LoadServer::start(move |request| {
        let text = noted.note(request);
        echo(&text, if text.contains("Sue was") { -0.25 } else { -0.5 })
    });
    let server = server.expect("a server");
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", GAPS);
    let model = format!("openai:m@{}/v1", server.url());
    let step = ", continuation: target, target_field: metadata.rest";
    workspace.write("suite.yaml", suite_of_gaps(&model, step));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let texts: Vec<String> = asked.take().into_iter().map(|[_, text]| text).collect();
    let expected = [
        "Ann called Sue because Ann was late.",
        "Ann called Sue because Sue was late.",
        "Sue asked Ann, as Ann was curious.",
        "Sue asked Ann, as Sue was curious.",
    ];
    assert_eq!(texts, expected);
    let samples = workspace.samples("r");
    let answers: Vec<&Value> = samples.iter().map(|sample| &sample["model_output"]["answer"]).collect();
    assert_eq!(answers, ["B", "A"]);
    let scored: Vec<Value> = samples[0]["model_output"]["continuations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| json!([one["id"], one["logprob"], one["token_count"], one["byte_count"]]))
        .collect();
    assert_eq!(scored, [json!(["A", -5.0, 10, 9]), json!(["B", -2.5, 10, 9])]);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    let request = |prompt: &str, text: &str| json!({"arg_0": prompt, "arg_1": text});
    let first = json!({
        "gen_args_0": request("Ann called Sue because Ann", " was late."),
        "gen_args_1": request("Ann called Sue because Sue", " was late."),
    });
    assert_eq!(workspace.lm_eval_arguments("r")[0], first);
}

#[test]
fn targets_that_are_no_texts_are_reported() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", GAPS);
    for (step, expected) in [
        (", continuation: target", "`continuation: target` needs `target_field`"),
        (", target_field: metadata.rest", "`target_field` belongs to `continuation: target`"),
        (", continuation: target, target_field: label.", "`label.` is not a path into the Sample"),
    ] {
        workspace.write("suite.yaml", suite_of_gaps("openai:m@http://127.0.0.1:9/v1", step));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{step}: {}", ended.stderr);
    }
    let step = ", continuation: target, target_field: metadata.number";
    workspace.write("suite.yaml", suite_of_gaps("openai:m@http://127.0.0.1:9/v1", step));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]);
    for sample in workspace.samples("r") {
        let message = sample["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(sample["outcome"], "invalid_sample", "{message}");
        assert!(message.ends_with("`metadata.number` of the sample is a number"), "{message}");
    }
}

/// Without a key for log-likelihoods, the short form asks with `echo`. A server that cannot answer that is named.
#[test]
fn servers_without_log_probabilities_are_named() {
    for (reply, expected) in [
        (
            Reply::json(404, &json!({"error": {"message": "This is a chat model"}})),
            "This is a chat model; log-likelihood needs a server whose `completions` give the log-probabilities",
        ),
        (
            Reply::json(200, &json!({"choices": [{"index": 0, "text": "Sue"}]})),
            "try the other value of `loglikelihood` (`echo`, `prompt_logprobs`)",
        ),
    ] {
        let server = LoadServer::start(move |_| reply.clone().into()).expect("a server");
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", GAPS);
        workspace.write("suite.yaml", suite_of_gaps(&format!("openai:m@{}/v1", server.url()), ""));
        workspace.run(&["run", "suite.yaml", "--run-id", "r"]);
        let samples = workspace.samples("r");
        let message = samples[0]["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn prompts_for_base_models_have_no_template() {
    let asked = RequestLog::default();
    let noted = asked.clone();
    let server = LoadServer::start(move |request| {
        noted.note(request);
        match request.path.as_str() {
            "/v1/completions" => {
                let choice = json!({"index": 0, "text": "plain", "finish_reason": "stop"});
                Reply::json(200, &json!({"choices": [choice]})).into()
            }
            _ => completion("chat").into(),
        }
    });
    let server = server.expect("a server");
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let suite = |custom: &str| {
        let model = format!("model: 'openai:m@{}/v1'\n", server.url());
        format!(
            "datasets: [rows.jsonl]\n{model}prompt: \"Q: {{{{ question }}}}\\nA:\"\nmetrics: [latency]\n{custom}"
        )
    };
    let plain = ["/v1/completions", "Q: question 0\nA:"];
    let chat = ["/v1/chat/completions", ""];
    for (custom, set, expected, answer) in [
        ("", "", chat, "chat"),
        ("", "model.chat_template=none", plain, "plain"),
        ("custom: {chat_template: none}\n", "", plain, "plain"),
        ("custom: {chat_template: none}\n", "model.chat_template=model", chat, "chat"),
        ("", "custom.chat_template=none", plain, "plain"),
    ] {
        workspace.write("suite.yaml", suite(custom));
        let run_id = format!("r{}", server.requests());
        let mut arguments = vec!["run", "suite.yaml", "--run-id", &run_id];
        if !set.is_empty() {
            arguments.extend(["--set", set]);
        }
        workspace.run(&arguments).expect_code(0);
        assert_eq!(asked.take(), [expected.map(str::to_owned)], "{custom}{set}");
        assert_eq!(workspace.samples(&run_id)[0]["model_output"]["answer"], answer, "{custom}{set}");
    }
}

#[test]
fn whole_texts_are_scored_after_a_first_token() {
    let asked = RequestLog::default();
    let noted = asked.clone();
    let server = LoadServer::start(move |request| echo(&noted.note(request), -0.5)).expect("a server");
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", "{\"question\": \"ab c\"}\n");
    workspace.write(
        "suite.yaml",
        format!(
            "datasets: [rows.jsonl]\nmodel: 'openai:m@{}/v1'\nmetrics: [bits_per_byte]\n\
             custom: {{steps: [{{step: inference, request: rolling_loglikelihood}}, {{step: auto_eval}}]}}\n",
            server.url()
        ),
    );
    workspace.run(&["run", "suite.yaml", "--run-id", "without"]);
    let message = workspace.samples("without")[0]["error"]["message"].clone();
    assert!(message.as_str().is_some_and(|text| text.contains("no token precedes the text")), "{message}");
    asked.take();
    let set = ["--set", "model.text_start=<s>"];
    workspace.run(&[&["run", "suite.yaml", "--run-id", "r"], &set[..]].concat()).expect_code(0);
    assert_eq!(asked.take(), [["/v1/completions".to_owned(), "<s>ab c".to_owned()]]);
    let rolling = workspace.samples("r")[0]["model_output"]["rolling"].clone();
    let found = json!([rolling["loglikelihood"], rolling["token_count"], rolling["byte_count"]]);
    assert_eq!(found, json!([-2.0, 4, 4]));
}

#[test]
fn joined_messages_are_shown_and_exported_as_they_were_sent() {
    let asked = RequestLog::default();
    let noted = asked.clone();
    let server = LoadServer::start(move |request| {
        let text = noted.note(request);
        match request.json()["echo"] == true {
            true => echo(&text, -0.5),
            false => {
                let choice = json!({"index": 0, "text": "plain", "finish_reason": "stop"});
                Reply::json(200, &json!({"choices": [choice]})).into()
            }
        }
    });
    let server = server.expect("a server");
    let model = format!("openai:m@{}/v1", server.url());
    let prompt =
        "prompts: [{prompt_id: p, system_prompt: 'You know people.', template: '{{ before }}'}]\nprompt: p";
    let choices = suite_of_gaps(&model, "").replace("prompt: '{{ before }}'", prompt);
    let generated = format!(
        "datasets: [rows.jsonl]\nmodel: '{model}'\n{prompt}\nmetrics: [latency]\ncustom: {{chat_template: none}}\n"
    );
    for (run_id, suite) in [("choices", choices), ("generated", generated)] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", GAPS.replace("\"before\"", "\"question\": \"?\", \"before\""));
        workspace.write("suite.yaml", suite);
        workspace.run(&["run", "suite.yaml", "--run-id", run_id]).expect_code(0);
        let mut sent = Vec::new();
        let exported = workspace.lm_eval_arguments(run_id);
        for request in exported.iter().filter_map(Value::as_object).flat_map(|requests| requests.values()) {
            let prompt = request["arg_0"].as_str().expect("a text");
            assert!(prompt.starts_with("You know people.\n"), "{prompt}");
            // The settings of a generated text are no text.
            sent.push(prompt.to_owned() + request["arg_1"].as_str().unwrap_or_default());
        }
        sent.sort();
        let texts: Vec<String> = asked.take().into_iter().map(|[_, text]| text).collect();
        assert_eq!(sent, texts, "{run_id}");
        let id = workspace.samples(run_id)[0]["sample_id"].as_str().expect("an id").to_owned();
        let words = ["runs", "show", run_id, "--sample", &id, "--json"];
        let shown = workspace.run(&words).expect_code(0).stdout_json();
        assert_eq!(shown["requests"][0]["text"], exported[0]["gen_args_0"]["arg_0"], "{run_id}");
    }
}

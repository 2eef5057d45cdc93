//! `gage-host runs show --sample`: one sample of a run, with everything that was sent about it.

use crate::arguments::RunsShowArguments;
use crate::commands::compare::{open, unreadable};
use crate::commands::fields::{field, show_question, show_request};
use crate::commands::permissions::permissions;
use crate::commands::sent_requests::RunRequests;
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style};
use gage_core::{ModelOutput, Sample};
use gage_engine::SentRequest;
use gage_record::SampleRecord;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(super) fn show(arguments: &RunsShowArguments, id: &str) -> anyhow::Result<ExitCode> {
    let permissions = permissions(&arguments.permissions)?;
    let run = open(&arguments.named.run, &arguments.named.output_dir)?;
    let requests = RunRequests::of(&run, &arguments.plugin_folders, &permissions)?;
    let mut is_found = false;
    for record in run.records_so_far().map_err(|error| unreadable(error.into()))? {
        let (record, _) = record.map_err(|error| unreadable(error.into()))?;
        if record.sample_id != id {
            continue;
        }
        is_found = true;
        let requests = requests.of_record(&record);
        match arguments.json {
            true => terminal::print_json(format_args!("{:#}", to_json(&record, requests)))?,
            false => print(&record, requests)?,
        }
    }
    if is_found {
        return Ok(ExitCode::Done);
    }
    let message = format!("the run {} has no sample `{id}`", run.run_id());
    Ok(terminal::usage_error(&message, Some("samples.jsonl of the run has the ids, as `sample_id`")))
}

fn to_json(record: &SampleRecord, requests: Result<Vec<SentRequest>, String>) -> Value {
    let mut shown = serde_json::to_value(record).unwrap_or_default();
    match requests {
        Ok(requests) => shown["requests"] = requests.iter().map(SentRequest::to_json).collect(),
        Err(error) => shown["requests_error"] = json!(error),
    }
    shown
}

fn print(record: &SampleRecord, requests: Result<Vec<SentRequest>, String>) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let head = format!("{} · {} · {}", record.task_id, record.sample_id, record.outcome.name());
    terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
    let output = record.model_output.as_deref().cloned().unwrap_or_default();
    let judged = record.judge_output.clone().unwrap_or_default();
    let supported = record.support_output.clone().unwrap_or_default();
    match requests {
        Ok(requests) => {
            let is_to_model = |request: &SentRequest| {
                request.judge_id.is_none() && supported.get(&request.adapter_id).is_none()
            };
            if !requests.iter().any(is_to_model) {
                show_unasked(record, &output, &style)?;
            }
            for request in &requests {
                let name = request.judge_id.as_deref().unwrap_or(&request.adapter_id);
                terminal::print_line(style.bold(&gage_core::printable_line(&format!("to {name}"))))?;
                show_request(request, &style)?;
                let of_judge =
                    |id: &str| judged.get("judges").and_then(|judges| judges.get(id)).unwrap_or(&judged);
                match (&request.judge_id, supported.get(&request.adapter_id)) {
                    (None, None) => show_model_reply(&output, &style)?,
                    (None, Some(reply)) => {
                        show_reply(reply, reply.get("answer").or_else(|| reply.get("context")), &style)?
                    }
                    (Some(id), _) => show_reply(of_judge(id), of_judge(id).pointer("/replies/0"), &style)?,
                }
            }
        }
        Err(error) => field("error", &error, None, &style)?,
    }
    for metric in &record.metrics {
        let score = metric.card.as_ref().and_then(|card| card.primary_score);
        let shown = score.map_or_else(|| metric.outcome.name().to_owned(), |score| score.to_string());
        field("score", &format!("{} {shown}", metric.metric_id), None, &style)?;
    }
    if let Some(error) = &record.error {
        field("error", &error.message, None, &style)?;
    }
    terminal::print_line("")
}

/// Prints the question of a sample that no model was asked, and its answer if one was given.
fn show_unasked(record: &SampleRecord, output: &Value, style: &Style) -> anyhow::Result<()> {
    if let Ok(sample) = Sample::from_value(record.sample.clone().into_value()) {
        show_question(&sample.messages, style)?;
    }
    show_model_reply(output, style)
}

/// Prints the turns of the model and of its tools, and then the model's own reply: before extraction, and before a helper
/// replaced it.
fn show_model_reply(output: &Value, style: &Style) -> anyhow::Result<()> {
    let turns = turns_of(output);
    for (name, text) in &turns {
        field(name, text, None, style)?;
    }
    if let Some(bound) = output.get("stopped_by").and_then(Value::as_str) {
        field("stopped", &format!("by {bound}"), None, style)?;
    }
    let keys = ["original_answer", "written", "answer"];
    let reply = keys.iter().find_map(|key| output.get(*key));
    let media = output.get(ModelOutput::MEDIA_KEY).and_then(Value::as_array);
    for part in media.into_iter().flatten() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let url = part.pointer(&format!("/{kind}/url")).and_then(Value::as_str).unwrap_or_default();
        field("reply", &format!("[{} {url}]", kind.trim_end_matches("_url")), None, style)?;
    }
    let last = turns.last().filter(|(name, _)| *name == "reply").map(|(_, text)| text.as_str());
    let is_printed = |reply: &Value| last.is_some() && reply.as_str() == last;
    let is_new = |reply: &&Value| (media.is_none() || **reply != "") && !is_printed(reply);
    show_reply(output, reply.filter(is_new), style)
}

/// Returns the turns of a conversation with tools, each text with its name: replies, calls of tools and their results. Without
/// such a conversation, returns the calls of the reply.
fn turns_of(output: &Value) -> Vec<(&'static str, String)> {
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let call = |call: &Value| ("call", text_of_call(call));
    let turns = list(output, "trajectory");
    if turns.is_empty() {
        return list(output, "tool_calls").iter().map(call).collect();
    }
    let mut called: HashMap<String, String> = HashMap::new();
    let mut shown = Vec::new();
    for turn in &turns {
        let text = text_of_content(&turn["content"]);
        if turn["role"] == "tool" {
            let name = turn["name"].as_str().map(str::to_owned);
            let name = name.or_else(|| called.get(turn["tool_call_id"].as_str()?).cloned());
            shown.push(("result", name.map_or_else(|| text.clone(), |name| format!("{name}: {text}"))));
            continue;
        }
        if !text.is_empty() {
            shown.push(("reply", text));
        }
        for one in list(turn, "tool_calls") {
            if let (Some(id), Some(name)) = (one["id"].as_str(), one["function"]["name"].as_str()) {
                called.insert(id.to_owned(), name.to_owned());
            }
            shown.push(call(&one));
        }
    }
    shown
}

/// Formats a call of a tool: its name, and its arguments as they were sent.
fn text_of_call(call: &Value) -> String {
    let function = call.get("function").unwrap_or(call);
    match (function["name"].as_str(), &function["arguments"]) {
        (Some(name), Value::String(arguments)) => format!("{name} {arguments}"),
        (Some(name), Value::Null) => name.to_owned(),
        (Some(name), arguments) => format!("{name} {arguments}"),
        (None, _) => call.to_string(),
    }
}

/// Returns the text of a message's content: a text, or a list of parts. Other parts are named by their type.
fn text_of_content(content: &Value) -> String {
    let of_part = |part: &Value| match (part.as_str(), part["text"].as_str(), part["type"].as_str()) {
        (Some(text), ..) | (None, Some(text), _) => text.to_owned(),
        (None, None, Some(kind)) => format!("[{}]", kind.trim_end_matches("_url")),
        (None, None, None) => part.to_string(),
    };
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(of_part).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// Prints a reply, and the tokens that the backend counted.
fn show_reply(output: &Value, reply: Option<&Value>, style: &Style) -> anyhow::Result<()> {
    match reply {
        Some(Value::String(text)) => field("reply", text, None, style)?,
        Some(Value::Null) | None => {}
        Some(other) => field("reply", &other.to_string(), None, style)?,
    }
    let tokens = |key: &str| output.get("usage").and_then(|usage| usage.get(key)).and_then(Value::as_u64);
    match (tokens("prompt_tokens"), tokens("completion_tokens")) {
        (Some(prompt), Some(completion)) => {
            field("tokens", &format!("{prompt} in the prompt, {completion} in the reply"), None, style)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_replies_calls_and_results() {
        let call = |id: &str, arguments: Value| {
            let function = json!({"name": "look", "arguments": arguments});
            json!({"id": id, "function": function})
        };
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let cases = [
            (json!(null), vec![]),
            (json!({"answer": "a"}), vec![]),
            (json!({"tool_calls": [call("1", json!("{\"x\": 1}"))]}), vec![("call", "look {\"x\": 1}")]),
            (
                json!({"trajectory": [
                    {"role": "assistant", "content": [], "tool_calls": [call("1", json!({"x": 1})), {"odd": 2}]},
                    {"role": "tool", "tool_call_id": "1", "content": text("seen")},
                    {"role": "tool", "tool_call_id": "9", "content": [{"type": "image_url"}]},
                    {"role": "assistant", "content": text("It is.")},
                ]}),
                vec![
                    ("call", "look {\"x\":1}"),
                    ("call", "{\"odd\":2}"),
                    ("result", "look: seen"),
                    ("result", "[image]"),
                    ("reply", "It is."),
                ],
            ),
        ];
        for (output, expected) in cases {
            let turns = turns_of(&output);
            let turns: Vec<(&str, &str)> = turns.iter().map(|(name, text)| (*name, text.as_str())).collect();
            assert_eq!(turns, expected, "{output}");
        }
    }
}

//! `gage-host runs show --sample`: one sample of a run, with everything that was sent about it.

use crate::arguments::RunsShowArguments;
use crate::commands::compare::{open, unreadable};
use crate::commands::fields::{field, show_request};
use crate::commands::permissions::permissions;
use crate::commands::sent_requests::RunRequests;
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style};
use gage_core::ModelOutput;
use gage_engine::SentRequest;
use gage_record::SampleRecord;
use serde_json::{Value, json};

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

/// Prints the model's own reply: before extraction, and before a helper replaced it.
fn show_model_reply(output: &Value, style: &Style) -> anyhow::Result<()> {
    let keys = ["original_answer", "written", "answer"];
    let reply = keys.iter().find_map(|key| output.get(*key));
    let media = output.get(ModelOutput::MEDIA_KEY).and_then(Value::as_array);
    for part in media.into_iter().flatten() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let url = part.pointer(&format!("/{kind}/url")).and_then(Value::as_str).unwrap_or_default();
        field("reply", &format!("[{} {url}]", kind.trim_end_matches("_url")), None, style)?;
    }
    show_reply(output, reply.filter(|reply| media.is_none() || *reply != ""), style)
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

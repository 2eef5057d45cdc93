//! Exports one Inspect EvalLog (version 2, as JSON) per task.

use super::files::{ExportFile, Files, file_part, sha256};
use super::inspect_messages::{message, tool_call};
use super::run::{ExportedRun, belongs_to, split_params};
use super::{ExportError, ExportReport, text};
use gage_core::{MetricResult, Object, Outcome};
use gage_figures::{MetricFigure, TaskSummary};
use gage_record::{RunStatus, SampleRecord, rfc3339};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Version of the format.
const LOG_VERSION: u64 = 2;

pub(super) fn write(
    run: &ExportedRun<'_>,
    folder: &Path,
    files: &mut Files,
) -> Result<ExportReport, ExportError> {
    let mut exported = ExportReport::default();
    let mut records = run.records()?.peekable();
    for task in run.tasks() {
        let id = task_id(run, task);
        let name = format!("{}_{}_{id}.json", run.date_in_names(), file_part(&task.task_id));
        let mut file = files.create(&folder.join(name))?;
        write_head(run, task, &id, &mut file)?;
        let log =
            TaskLog { model: run.model(&task.task_id).name, repeat: run.source.repeat(&task.task_id), id };
        let mut separator = "\n";
        // The records of a task are contiguous.
        while let Some(record) = records.next_if(|record| belongs_to(record, task)) {
            file.text(separator)?;
            file.json(&log.sample(&record?), "")?;
            separator = ",\n";
            exported.samples += 1;
        }
        file.text("\n]}\n")?;
        file.finish()?;
    }
    // Reports an error after the last task's records.
    records.try_for_each(|record| record.map(drop))?;
    Ok(exported)
}

/// Returns an id of 22 characters that is stable for a task of a run.
fn task_id(run: &ExportedRun<'_>, task: &TaskSummary) -> String {
    let identity = json!([run.source.run_id(), run.source.manifest().created_at, task.task_id]);
    sha256(&identity.to_string()).chars().take(22).collect()
}

/// Writes everything that precedes the samples, so that readers of the header can skip them.
fn write_head(
    run: &ExportedRun<'_>,
    task: &TaskSummary,
    id: &str,
    file: &mut ExportFile,
) -> Result<(), ExportError> {
    let manifest = run.source.manifest();
    let (status, reason) = match manifest.status {
        RunStatus::Complete => ("success", None),
        RunStatus::Incomplete => {
            let usual = "incomplete: fewer samples were scored than the suite asks for";
            ("error", Some(manifest.ended_by.clone().unwrap_or_else(|| usual.to_owned())))
        }
        RunStatus::Interrupted => ("cancelled", None),
        RunStatus::Running => ("started", None),
    };
    let error = reason.map(|message| json!({"message": message, "traceback": "", "traceback_ansi": ""}));
    let parts = [
        ("version", json!(LOG_VERSION)),
        ("status", json!(status)),
        ("eval", specification(run, task, id)),
        (
            "plan",
            json!({"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": generation(task)}),
        ),
        ("results", results(run, task)),
        ("stats", statistics(run, task)),
        ("error", json!(error)),
    ];
    file.text("{")?;
    // Inspect does not accept null here.
    for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_null()) {
        file.text(&format!("\"{key}\": "))?;
        file.json(&value, ",\n")?;
    }
    file.text("\"samples\": [")
}

fn specification(run: &ExportedRun<'_>, task: &TaskSummary, id: &str) -> Value {
    let manifest = run.source.manifest();
    let repeat = run.source.repeat(&task.task_id);
    let model = run.model(&task.task_id);
    let figures = run.figures(&task.task_id);
    let scorers: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let metadata = json!({
                "implementation": figure.implementation, "schema_version": figure.schema_version,
                "scorer_version": figure.scorer_version, "prompt_version": figure.prompt_version,
            });
            json!({"name": figure.metric_id, "metadata": metadata})
        })
        .collect();
    json!({
        "eval_id": id,
        "run_id": run.source.run_id(),
        "created": with_offset(&manifest.created_at),
        "task": task.task_id,
        "task_id": id,
        "task_version": 0,
        "dataset": {
            "name": task.dataset_id,
            "location": run.dataset_source(&task.dataset_id),
            "samples": task.samples.total / repeat,
        },
        "model": model.name,
        "model_generate_config": generation(task),
        "config": {"epochs": repeat},
        "packages": {"gage-host": manifest.host_version},
        "scorers": scorers,
        "metadata": {
            "backend": {"type": model.backend, "details": model.details},
            "status": manifest.status,
            "coverage": task.samples.coverage,
            "total_is_least": task.samples.total_is_least,
            "outcomes": task.samples.outcomes,
            "dataset": manifest.identity.datasets.get(&task.dataset_id),
            "prompts": task.prompts,
        },
    })
}

/// Replaces `Z` with `+00:00`, as in Inspect.
fn with_offset(moment: &str) -> String {
    moment.replace('Z', "+00:00")
}

/// Returns the request parameters, with Inspect's names.
fn generation(task: &TaskSummary) -> Value {
    const NAMES: [(&str, &str); 8] = [
        ("max_new_tokens", "max_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("seed", "seed"),
        ("stop", "stop_seqs"),
        ("presence_penalty", "presence_penalty"),
        ("frequency_penalty", "frequency_penalty"),
    ];
    let (mut config, rest) = split_params(task, &NAMES);
    if !rest.is_empty() {
        config.insert("extra_body".to_owned(), Value::Object(rest));
    }
    Value::Object(config)
}

fn results(run: &ExportedRun<'_>, task: &TaskSummary) -> Value {
    let scored = task.samples.outcomes.get(&Outcome::Scored).copied().unwrap_or(0);
    let scores: Vec<Value> = run.figures(&task.task_id).iter().map(score_of_all).collect();
    json!({"total_samples": task.samples.total, "completed_samples": scored, "scores": scores})
}

fn score_of_all(figure: &MetricFigure) -> Value {
    let mut metrics = Object::new();
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            metrics.insert(name.to_owned(), json!({"name": name, "value": value, "params": {}}));
        }
    };
    add(&figure.aggregation.name(), figure.value);
    add("stderr", figure.stderr);
    add("interval_low", figure.interval.map(|interval| interval.low));
    add("interval_high", figure.interval.map(|interval| interval.high));
    for sub_score in &figure.sub_scores {
        add(&sub_score.name, sub_score.value);
    }
    json!({
        "name": figure.metric_id,
        "scorer": figure.metric_id,
        "scored_samples": figure.n,
        "unscored_samples": figure.total.saturating_sub(figure.n),
        "params": {},
        "metrics": metrics,
        "metadata": {
            "higher_is_better": figure.higher_is_better,
            "coverage": figure.coverage,
            "outcomes": figure.outcomes,
            "implementation": figure.implementation,
        },
    })
}

fn statistics(run: &ExportedRun<'_>, task: &TaskSummary) -> Value {
    let manifest = run.source.manifest();
    let ended = manifest.finished_at.as_deref().map(with_offset).unwrap_or_default();
    let model = run.model(&task.task_id).name;
    let usage = usage(task.usage.prompt_tokens, task.usage.completion_tokens);
    json!({
        "started_at": with_offset(&manifest.created_at),
        "completed_at": ended,
        "model_usage": {model: usage},
    })
}

fn usage(prompt: u64, completion: u64) -> Value {
    json!({"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt.saturating_add(completion)})
}

/// Data shared by all samples of a task.
struct TaskLog {
    id: String,
    model: String,
    repeat: u64,
}

impl TaskLog {
    fn sample(&self, record: &SampleRecord) -> Value {
        let sample = &record.sample;
        let asked: Vec<Value> = text::messages(sample).iter().map(message).collect();
        let input = match text::messages(sample) {
            [only]
                if only["role"] == "user" && asked.iter().all(|message| message["content"].is_string()) =>
            {
                asked.iter().map(|message| message["content"].clone()).next().unwrap_or_default()
            }
            [] => json!(text::prompt(sample)),
            _ => json!(asked),
        };
        let options: Vec<&str> = text::options(sample).into_iter().map(|(_, content)| content).collect();
        let mut references = text::references(sample);
        let target = if references.len() == 1 { json!(references.swap_remove(0)) } else { json!(references) };
        let output = self.output(record);
        let trajectory = text::output(record, "trajectory").as_array();
        let mut messages = asked;
        match trajectory {
            Some(turns) => messages.extend(turns.iter().map(message)),
            None => messages
                .extend(output["choices"].as_array().into_iter().flatten().map(|one| one["message"].clone())),
        }
        let scores: Object = text::results(record)
            .filter_map(|result| Some((result.metric_id.to_string(), score(result, record)?)))
            .collect();
        let mut made = json!({
            "id": record.sample_id,
            "epoch": record.index % self.repeat + 1,
            "input": input,
            "target": target,
            "messages": messages,
            "output": output,
            "scores": scores,
            "metadata": metadata(record),
            "model_usage": text::tokens(record).map_or_else(|| json!({}), |(prompt, completion)| json!({&self.model: usage(prompt, completion)})),
            "uuid": sha256(&format!("{} {}", self.id, record.index)).chars().take(22).collect::<String>(),
        });
        if !options.is_empty() {
            made["choices"] = json!(options);
        }
        if record.timing.finished_unix_ms > 0 {
            let seconds = (record.timing.latency_ms + record.timing.queue_ms) / 1000.0;
            let ended = UNIX_EPOCH + Duration::from_millis(record.timing.finished_unix_ms);
            made["completed_at"] = json!(with_offset(&rfc3339(ended)));
            made["total_time"] = json!(seconds);
            made["working_time"] = json!(record.timing.latency_ms / 1000.0);
        }
        if let Some(reason) = text::failure(record).filter(|_| record.outcome != Outcome::Scored) {
            let message = format!("{}: {reason}", record.outcome);
            made["error"] = json!({"message": message, "traceback": "", "traceback_ansi": ""});
        }
        made
    }

    fn output(&self, record: &SampleRecord) -> Value {
        let Some(written) = text::written(record) else { return json!({"model": self.model, "choices": []}) };
        let reason = match text::output(record, "finish_reason").as_str() {
            Some("stop" | "scored") => "stop",
            Some("length") => "max_tokens",
            Some("tool_calls") => "tool_calls",
            Some("content_filter") => "content_filter",
            _ => "unknown",
        };
        let reasoning = text::output(record, "reasoning").as_str();
        let content = match reasoning {
            Some(reasoning) => {
                json!([{"type": "reasoning", "reasoning": reasoning}, {"type": "text", "text": written}])
            }
            None => json!(written),
        };
        let mut said =
            json!({"role": "assistant", "content": content, "model": self.model, "source": "generate"});
        if let Some(calls) = text::output(record, "tool_calls").as_array().filter(|calls| !calls.is_empty()) {
            said["tool_calls"] = calls.iter().map(tool_call).collect();
        }
        let mut output = json!({
            "model": self.model,
            "choices": [{"message": said, "stop_reason": reason}],
            "completion": written,
        });
        if let Some((prompt, completion)) = text::tokens(record) {
            output["usage"] = usage(prompt, completion);
        }
        if record.timing.latency_ms > 0.0 {
            output["time"] = json!(record.timing.latency_ms / 1000.0);
        }
        output
    }
}

/// Returns a score, or `None` if the metric did not produce one.
fn score(result: &MetricResult, record: &SampleRecord) -> Option<Value> {
    let card = result.card.as_ref().filter(|_| result.outcome == Outcome::Scored)?;
    let value = match (card.primary_score, card.pass) {
        (Some(score), _) => json!(score),
        (None, Some(pass)) => json!(pass),
        (None, None) => return None,
    };
    let mut metadata = Object::new();
    if let (Some(pass), Some(_)) = (card.pass, card.primary_score) {
        metadata.insert("pass".to_owned(), pass.into());
    }
    if !card.sub_scores.is_empty() {
        metadata.insert("sub_scores".to_owned(), Value::Object(card.sub_scores.clone()));
    }
    if !card.detail.is_empty() {
        metadata.insert("detail".to_owned(), Value::clone(&card.detail));
    }
    if !card.error_tags.is_empty() {
        metadata.insert("error_tags".to_owned(), json!(card.error_tags));
    }
    let mut score = json!({"value": value, "answer": text::answer(record), "explanation": card.explain});
    if !metadata.is_empty() {
        score["metadata"] = Value::Object(metadata);
    }
    Some(score)
}

/// Returns the data for which Inspect has no field.
fn metadata(record: &SampleRecord) -> Value {
    let mut metadata = record.sample["metadata"].as_object().cloned().unwrap_or_default();
    let mut add = |key: &str, value: Value| {
        if !value.is_null() {
            metadata.insert(key.to_owned(), value);
        }
    };
    add("outcome", json!(record.outcome));
    add("data_tag", record.sample["data_tag"].clone());
    add("row", json!(record.row));
    add("judge_output", json!(record.judge_output));
    add("support_output", json!(record.support_output));
    for key in ["continuations", "answer_normalized", "extraction", "parsed"] {
        add(key, text::output(record, key).clone());
    }
    Value::Object(metadata)
}

//! Records of Every Eval Ever 0.3: one file of figures and one of samples per task, in the folders of its
//! datastore, `data/COLLECTION/DEVELOPER/MODEL/`.

use super::files::{Files, file_part, sha256};
use super::run::{ExportedRun, TaskModel, belongs_to, split_params};
use super::{ExportError, ExportReport, text};
use gage_core::MetricResult;
use gage_figures::{Aggregation, MetricFigure, TaskSummary};
use gage_record::SampleRecord;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Version of the schema.
const SCHEMA_VERSION: &str = "0.3.0";

/// Publisher of the figures, which the run does not record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The organization that evaluated the model.
    pub organization: String,
    /// The organization that developed the model; default the part of its name before `/`.
    pub developer: Option<String>,
    /// Relationship of the evaluator to the developer.
    pub relationship: Relationship,
}

/// Relationship of a model's evaluator to its developer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Relationship {
    /// The developer evaluates its own model.
    FirstParty,
    /// Another party evaluates the model.
    ThirdParty,
    /// Both together.
    Collaborative,
    /// Anything else.
    Other,
}

impl Default for Publisher {
    fn default() -> Publisher {
        Publisher { organization: "unknown".to_owned(), developer: None, relationship: Relationship::Other }
    }
}

/// A task that is being written.
struct TaskRecord {
    evaluation_id: String,
    model_id: String,
    developer: String,
    task_id: String,
    /// True for metrics whose scores so far are all 0 or 1.
    is_binary: HashMap<String, bool>,
    higher_is_better: HashMap<String, bool>,
    rows: u64,
    without_score: u64,
}

pub(super) fn write(
    run: &ExportedRun<'_>,
    publisher: &Publisher,
    folder: &Path,
    files: &mut Files,
) -> Result<ExportReport, ExportError> {
    let mut exported = ExportReport::default();
    let mut without_score = 0;
    let mut records = run.records()?.peekable();
    for task in run.tasks() {
        let mut made = TaskRecord::new(run, task, publisher);
        let uuid = uuid_of(run, task);
        // The datastore is organized by developer.
        let (developer, model) = made.model_id.split_once('/').unwrap_or(("unknown", &made.model_id));
        let place = ["data".to_owned(), path_part(&task.task_id), path_part(developer), path_part(model)];
        let place = place.join("/");
        let samples_path = format!("{place}/{uuid}_samples.jsonl");
        let mut file = files.create(&folder.join(&samples_path))?.with_digest();
        while let Some(record) = records.next_if(|record| belongs_to(record, task)) {
            exported.samples += 1;
            for line in made.lines(&record?) {
                file.json(&line, "\n")?;
            }
        }
        let checksum = file.finish()?;
        without_score += made.without_score;
        let detail = json!({
            "format": "jsonl", "file_path": samples_path, "hash_algorithm": "sha256", "checksum": checksum,
            "total_rows": made.rows,
        });
        let mut aggregate = made.aggregate(run, task, publisher);
        aggregate["detailed_evaluation_results"] = detail;
        files.create(&folder.join(format!("{place}/{uuid}.json")))?.pretty_json(&aggregate)?;
    }
    records.try_for_each(|record| record.map(drop))?;
    let is_nameless = |task: &TaskSummary| !run.model(&task.task_id).name.contains('/');
    if publisher.developer.is_none() && run.tasks().iter().any(is_nameless) {
        exported.notes.push(
            "the datastore of Every Eval Ever needs the model's developer, which its name does not \
             contain"
                .to_owned(),
        );
    }
    if without_score > 0 {
        exported.notes.push(format!(
            "left out: {without_score} scores of samples that were not scored, which the format cannot \
             represent; its figures say how many"
        ));
    }
    Ok(exported)
}

impl TaskRecord {
    fn new(run: &ExportedRun<'_>, task: &TaskSummary, publisher: &Publisher) -> TaskRecord {
        let model = run.model(&task.task_id);
        let developer = publisher.developer.clone();
        let of_name = || model.name.split_once('/').map(|(developer, _)| developer.to_owned());
        let developer = developer.or_else(of_name).unwrap_or_else(|| "unknown".to_owned());
        let model_id = match model.name.contains('/') {
            true => model.name.clone(),
            false => format!("{developer}/{}", model.name),
        };
        let figures = run.figures(&task.task_id);
        TaskRecord {
            evaluation_id: format!("{}/{model_id}/{}", task.task_id, run.ended()),
            model_id,
            developer,
            task_id: task.task_id.clone(),
            is_binary: HashMap::new(),
            higher_is_better: figures
                .into_iter()
                .map(|figure| (figure.metric_id, figure.higher_is_better))
                .collect(),
            rows: 0,
            without_score: 0,
        }
    }

    /// Returns one line per score of a record.
    fn lines(&mut self, record: &SampleRecord) -> Vec<Value> {
        let scored: Vec<(&MetricResult, f64)> = text::scores(record).collect();
        // A sample without any results counts as missing for every metric.
        let asked = text::results(record).count().max(self.higher_is_better.len());
        self.without_score += asked.saturating_sub(scored.len()) as u64;
        if scored.is_empty() {
            return Vec::new();
        }
        let prompt = text::prompt(&record.sample);
        let references = text::references(&record.sample);
        let options: Vec<&str> =
            text::options(&record.sample).into_iter().map(|(_, content)| content).collect();
        let turns = Turns::of(record);
        let mut shared = json!({
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.evaluation_id,
            "model_id": self.model_id,
            "evaluation_name": self.task_id,
            "sample_id": record.sample_id,
            "sample_hash": sha256(&format!("{prompt}{}", references.concat())),
            "interaction_type": turns.kind,
            "input": {"raw": prompt, "reference": references, "choices": (!options.is_empty()).then_some(options)},
            "output": turns.output,
            "messages": turns.messages,
            "answer_attribution": [{
                "turn_idx": turns.last,
                "source": if turns.kind == "single_turn" { "output.raw".to_owned() } else { format!("messages[{}].content", turns.last) },
                "extracted_value": text::answer(record).unwrap_or_default(),
                "extraction_method": text::output(record, "extraction")["extractor"].as_str().unwrap_or("none"),
                "is_terminal": true,
            }],
        });
        if let Some((prompt, completion)) = text::tokens(record) {
            let total = prompt.saturating_add(completion);
            shared["token_usage"] =
                json!({"input_tokens": prompt, "output_tokens": completion, "total_tokens": total});
        }
        if record.timing.latency_ms > 0.0 {
            let first = record.timing.first_token_ms;
            shared["performance"] =
                json!({"latency_ms": record.timing.latency_ms, "time_to_first_token_ms": first});
        }
        let mut lines = Vec::new();
        for (result, score) in scored {
            let is_binary = score == 0.0 || score == 1.0;
            *self.is_binary.entry(result.metric_id.to_string()).or_insert(true) &= is_binary;
            let card = result.card.as_ref();
            let best =
                if self.higher_is_better.get(result.metric_id.as_str()) == Some(&false) { 0.0 } else { 1.0 };
            let is_correct = card.and_then(|card| card.pass).unwrap_or(score == best);
            let mut line = shared.clone();
            line["evaluation_result_id"] = json!(result_id(&self.task_id, &result.metric_id));
            line["evaluation"] = json!({"score": score, "is_correct": is_correct});
            if turns.kind != "single_turn" {
                line["evaluation"]["num_turns"] = json!(turns.assistant.max(1));
                line["evaluation"]["tool_calls_count"] = json!(turns.calls);
            }
            line["metadata"] = details(json!({
                "task_id": self.task_id, "index": record.index, "metric_id": result.metric_id, "outcome": record.outcome,
                "explain": card.and_then(|card| card.explain.as_ref()), "error_tags": card.map(|card| &card.error_tags),
                "data_tag": record.sample["data_tag"],
            }));
            lines.push(line);
        }
        self.rows += lines.len() as u64;
        lines
    }

    fn aggregate(&self, run: &ExportedRun<'_>, task: &TaskSummary, publisher: &Publisher) -> Value {
        let manifest = run.source.manifest();
        let model = run.model(&task.task_id);
        let figures = run.figures(&task.task_id);
        let results: Vec<Value> =
            figures.iter().filter_map(|figure| Some(self.result(run, task, figure, figure.value?))).collect();
        json!({
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.evaluation_id,
            "evaluation_timestamp": run.began().to_string(),
            "retrieved_timestamp": run.ended().to_string(),
            "source_metadata": {
                "source_name": "gage-host",
                "source_type": "evaluation_run",
                "source_organization_name": publisher.organization,
                "evaluator_relationship": <&str>::from(publisher.relationship),
                "additional_details": details(json!({"run_id": run.source.run_id(), "status": manifest.status})),
            },
            "eval_library": {"name": "gage-host", "version": manifest.host_version},
            "model_info": model_info(&model, &self.model_id, &self.developer),
            "evaluation_results": results,
        })
    }

    fn result(&self, run: &ExportedRun<'_>, task: &TaskSummary, figure: &MetricFigure, value: f64) -> Value {
        let mut metric = json!({
            "metric_id": figure.metric_id,
            "metric_name": figure.metric_id,
            "lower_is_better": !figure.higher_is_better,
            "additional_details": details(json!({
                "aggregation": figure.aggregation, "implementation": figure.implementation,
                "schema_version": figure.schema_version, "scorer_version": figure.scorer_version,
                "prompt_version": figure.prompt_version,
            })),
        });
        // Other metrics have unknown bounds, so their kind is omitted.
        let is_share = matches!(figure.aggregation, Aggregation::Mean | Aggregation::PassRate);
        if is_share && self.is_binary.get(&figure.metric_id) == Some(&true) {
            metric["score_type"] = json!("binary");
            metric["min_score"] = json!(0.0);
            metric["max_score"] = json!(1.0);
        }
        let mut uncertainty = json!({"num_samples": figure.n});
        if let Some(stderr) = figure.stderr {
            uncertainty["standard_error"] = json!({"value": stderr});
        }
        if let Some(interval) = figure.interval {
            uncertainty["confidence_interval"] = json!({
                "lower": interval.low, "upper": interval.high, "confidence_level": interval.level, "method": interval.method,
            });
        }
        let mut result = json!({
            "evaluation_result_id": result_id(&self.task_id, &figure.metric_id),
            "evaluation_name": self.task_id,
            "source_data": {
                "dataset_name": task.dataset_id,
                "source_type": "other",
                "additional_details": details(json!({
                    "source": run.dataset_source(&task.dataset_id),
                    "content": run.source.manifest().identity.datasets.get(&task.dataset_id),
                })),
            },
            "evaluation_timestamp": run.began().to_string(),
            "metric_config": metric,
            "score_details": {
                "score": value,
                "uncertainty": uncertainty,
                "details": details(json!({
                    "scored": figure.n, "total": figure.total, "total_is_least": figure.total_is_least, "coverage": figure.coverage, "outcomes": figure.outcomes,
                })),
            },
        });
        if !task.sampling_params.is_empty() {
            result["generation_config"] = generation(task);
        }
        result
    }
}

/// Returns the request parameters: those in the schema, and the rest as text.
fn generation(task: &TaskSummary) -> Value {
    const NAMES: [(&str, &str); 4] = [
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("max_new_tokens", "max_tokens"),
    ];
    let (known, rest) = split_params(task, &NAMES);
    json!({"generation_args": known, "additional_details": details(Value::Object(rest))})
}

fn model_info(model: &TaskModel, model_id: &str, developer: &str) -> Value {
    let deployment = if model.is_local { "self_deployed" } else { "unknown" };
    let availability = if model.is_local { "open_weights" } else { "unknown" };
    let mut info = json!({
        "name": model.name,
        "id": model_id,
        "developer": developer,
        "additional_details": details(json!({
            "deployment_type": deployment, "model_availability": availability, "backend": model.backend,
            "details": model.details,
        })),
    });
    if model.is_local {
        info["inference_engine"] = json!({"name": "llama.cpp"});
    }
    info
}

fn result_id(task_id: &str, metric_id: &str) -> String {
    format!("{task_id}:{metric_id}")
}

/// Returns an object with only text values, as the schema requires. Null and empty values are omitted.
fn details(values: Value) -> Value {
    let kept = values.as_object().into_iter().flatten().filter_map(|(key, value)| {
        let text = match value {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            Value::Array(items) if items.is_empty() => return None,
            Value::Object(members) if members.is_empty() => return None,
            other => other.to_string(),
        };
        Some((key.clone(), Value::String(text)))
    });
    Value::Object(kept.collect())
}

/// Turns of a conversation.
struct Turns {
    kind: &'static str,
    output: Value,
    messages: Value,
    /// Index of the last message.
    last: usize,
    assistant: usize,
    calls: usize,
}

impl Turns {
    fn of(record: &SampleRecord) -> Turns {
        let asked = text::messages(&record.sample);
        let trajectory = text::output(record, "trajectory").as_array();
        let written = text::written(record).unwrap_or_default();
        let reasoning = text::output(record, "reasoning").as_str();
        let is_single = trajectory.is_none()
            && asked.iter().filter(|message| message["role"] == "user").count() <= 1
            && asked.iter().all(|message| message["role"] != "assistant");
        if is_single {
            let output = json!({"raw": [written], "reasoning_trace": reasoning.map(|text| [text])});
            return Turns {
                kind: "single_turn",
                output,
                messages: Value::Null,
                last: 0,
                assistant: 1,
                calls: 0,
            };
        }
        let answer = json!({"role": "assistant", "content": written});
        let rest = trajectory.map_or(std::slice::from_ref(&answer), Vec::as_slice);
        let messages: Vec<Value> =
            asked.iter().chain(rest).enumerate().map(|(turn, message)| turn_message(turn, message)).collect();
        let calls = |message: &Value| message["tool_calls"].as_array().map_or(0, Vec::len);
        Turns {
            kind: if trajectory.is_some() { "agentic" } else { "multi_turn" },
            output: Value::Null,
            last: messages.len().saturating_sub(1),
            assistant: messages.iter().filter(|message| message["role"] == "assistant").count(),
            calls: messages.iter().map(calls).sum(),
            messages: Value::Array(messages),
        }
    }
}

fn turn_message(turn: usize, message: &Value) -> Value {
    let content = text::plain(&message["content"]).unwrap_or_else(|| message["content"].to_string());
    let mut made =
        json!({"turn_idx": turn, "role": message["role"].as_str().unwrap_or("user"), "content": content});
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !calls.is_empty() {
        let call = |call: &Value| {
            let call = super::inspect_messages::tool_call(call);
            json!({"id": call["id"], "name": call["function"], "arguments": details(call["arguments"].clone())})
        };
        made["tool_calls"] = calls.iter().map(call).collect();
    }
    if let Some(id) = message["tool_call_id"].as_str() {
        made["tool_call_id"] = json!([id]);
    }
    made
}

/// Converts a name to a folder name for the datastore.
fn path_part(name: &str) -> String {
    let part = file_part(name);
    // The name `data` belongs to the datastore itself.
    if part == "data" { "data_".to_owned() } else { part }
}

/// Returns a version 4 UUID that is stable for a task of a run.
fn uuid_of(run: &ExportedRun<'_>, task: &TaskSummary) -> String {
    let identity = json!([run.source.run_id(), run.source.manifest().created_at, task.task_id]);
    let digits: Vec<char> = sha256(&identity.to_string()).chars().collect();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().iter().collect::<String>();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

//! Results folder of lm-evaluation-harness 0.4: one folder per model. It contains `results_DATE.json` and, for
//! each task, `samples_TASK_DATE.jsonl`.

use super::files::{ExportFile, Files, file_part, sha256};
use super::run::{ExportedRun, TaskModel};
use super::{ExportError, ExportReport, PromptsOf, SentPrompt, text};
use gage_config::RequestKind;
use gage_core::{MetricResult, Object, Outcome};
use gage_figures::{Aggregation, MetricFigure, TaskSummary};
use gage_record::SampleRecord;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Keys of a sample that are not metrics.
const SAMPLE_KEYS: [&str; 12] = [
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
    "repeat",
];

/// Name of the aggregator that computes a perplexity from log-likelihoods instead of scores.
const PERPLEXITY_AGGREGATION: &str = "corpus_perplexity";
/// Name of the sub-score with the log-likelihood of a continuation.
const LOGPROB: &str = "logprob";

/// A task's samples that are being written.
struct TaskFile {
    file: ExportFile,
    /// Incremental hash of the samples' hashes.
    hashes: sha2::Sha256,
    repeat: u64,
    settings: Value,
    /// The metrics whose figure is a perplexity.
    perplexities: Vec<String>,
    seen: SeenTask,
}

impl TaskFile {
    fn new(run: &ExportedRun<'_>, task: &TaskSummary, file: ExportFile) -> TaskFile {
        let perplexity = Aggregation::Custom(PERPLEXITY_AGGREGATION.to_owned());
        let perplexities = task.metrics.iter().filter(|figure| figure.aggregation == perplexity);
        TaskFile {
            file,
            hashes: sha2::Digest::new(),
            repeat: run.source.repeat(&task.task_id),
            settings: generation_settings(task),
            perplexities: perplexities.map(|figure| figure.metric_id.clone()).collect(),
            seen: SeenTask::of_suite(run, &task.task_id),
        }
    }
}

/// Facts about a task: those of the suite, and those that its samples reveal.
#[derive(Clone, Copy, Debug)]
struct SeenTask {
    /// Maximum number of few-shot examples before a question.
    shots: usize,
    /// Kind of the requests to the model.
    request: RequestKind,
}

impl SeenTask {
    /// Returns what the suite says about a task.
    fn of_suite(run: &ExportedRun<'_>, task_id: &str) -> SeenTask {
        SeenTask { shots: run.shots(task_id), request: run.request(task_id) }
    }

    /// Returns the harness's name of the kind of request.
    fn output_type(self) -> &'static str {
        match self.request {
            RequestKind::Generate => "generate_until",
            RequestKind::Loglikelihood => "multiple_choice",
            RequestKind::RollingLoglikelihood => "loglikelihood_rolling",
        }
    }
}

pub(super) fn write(
    run: &ExportedRun<'_>,
    prompts: &PromptsOf<'_>,
    folder: &Path,
    files: &mut Files,
) -> Result<ExportReport, ExportError> {
    let date = run.date_in_names();
    let mut exported = ExportReport::default();
    let first = run.tasks().first().map(|task| run.model(&task.task_id)).unwrap_or_default();
    let folder = folder.join(sanitized(&first.name));
    let mut tasks = HashMap::new();
    for (number, task) in run.tasks().iter().enumerate() {
        let name = file_part(&task.task_id);
        let is_taken = run.tasks().iter().take(number).any(|other| file_part(&other.task_id) == name);
        let name = if is_taken { format!("{name}.{number}") } else { name };
        let file = files.create(&folder.join(format!("samples_{name}_{date}.jsonl")))?;
        tasks.insert(task.task_id.as_str(), TaskFile::new(run, task, file));
        if run.model(&task.task_id).name != first.name {
            exported.notes.push(format!(
                "task {} did not ask {}, the model under whose name lm-evaluation-harness lists it",
                task.task_id, first.name
            ));
        }
    }
    let mut without_prompt = 0_u64;
    for record in run.records()? {
        let record = record?;
        if let Some(task) = tasks.get_mut(record.task_id.as_str()) {
            exported.samples += 1;
            let sent = prompts(&record).unwrap_or_default();
            without_prompt += u64::from(sent.is_empty() && record.outcome != Outcome::InvalidSample);
            let line = task.line(&record, &sent);
            task.file.json(&line, "\n")?;
        }
    }
    if without_prompt > 0 {
        exported.notes.push(format!(
            "the prompts of {without_prompt} of {} samples are unknown, so their `arguments` have only the question",
            exported.samples
        ));
    }
    let (mut hashes, mut seen) = (Object::new(), HashMap::new());
    for task in run.tasks() {
        if let Some(TaskFile { file, hashes: hasher, seen: of_task, .. }) =
            tasks.remove(task.task_id.as_str())
        {
            file.finish()?;
            seen.insert(task.task_id.as_str(), of_task);
            hashes.insert(task.task_id.clone(), super::files::hex(&sha2::Digest::finalize(hasher)).into());
        }
    }
    let of_unknown_length = run.tasks().iter().filter(|task| task.samples.total_is_least);
    exported.notes.extend(of_unknown_length.map(|task| {
        format!(
            "task {}: the run was stopped, and the number of remaining samples is unknown; \
             `n-samples.original` is only the {} that were reached, as `gage_host.tasks` says",
            task.task_id,
            task.samples.reached() / run.source.repeat(&task.task_id)
        )
    }));
    let results = results(run, &first, (hashes, seen), &mut exported.notes);
    files.create(&folder.join(format!("results_{date}.json")))?.pretty_json(&results)?;
    Ok(exported)
}

impl TaskFile {
    fn line(&mut self, record: &SampleRecord, sent: &[SentPrompt]) -> Value {
        let mut doc = match &*record.sample {
            Value::Null => json!({"row": record.row}),
            sample => sample.clone(),
        };
        let prompts: Vec<String> = sent.iter().map(SentPrompt::shown).collect();
        let prompt = prompts.first().cloned().unwrap_or_else(|| text::prompt(&record.sample));
        let target = text::target(&record.sample);
        let hashes = [sha256(&doc.to_string()), sha256(&prompt), sha256(&target)];
        for hash in &hashes {
            sha2::Digest::update(&mut self.hashes, hash);
        }
        let [doc_hash, prompt_hash, target_hash] = hashes;
        self.seen.shots =
            self.seen.shots.max(record.sample["few_shot_examples"].as_array().map_or(0, Vec::len));
        // All further keys of a line must be numbers, so other data is stored here.
        let error = text::failure(record).filter(|_| record.outcome != Outcome::Scored);
        doc["gage_host"] = json!({"sample_id": record.sample_id, "outcome": record.outcome, "error": error});
        let mut scored: Vec<(&str, &str)> = Vec::new();
        for (sent, prompt) in sent.iter().zip(&prompts) {
            scored.extend(sent.continuations.iter().map(|text| (prompt.as_str(), text.as_str())));
        }
        let (arguments, resps, filtered_resps) = self.requests(record, &prompt, &scored);
        let mut line = json!({
            "doc_id": record.index / self.repeat,
            "doc": doc,
            "target": target,
            "arguments": arguments,
            "resps": resps,
            "filtered_resps": filtered_resps,
            "filter": "none",
            "metrics": [],
            "doc_hash": doc_hash,
            "prompt_hash": prompt_hash,
            "target_hash": target_hash,
        });
        if self.repeat > 1 {
            line["repeat"] = json!(record.index % self.repeat);
        }
        let mut names = Vec::new();
        for (result, score) in text::scores(record) {
            let name = metric_name(&result.metric_id);
            line[&name] = json!(self.logprob(result).unwrap_or(score));
            names.push(name);
        }
        line["metrics"] = json!(names);
        line
    }

    /// Returns the log-likelihood that a perplexity is computed from, if it is not the one of the whole text. The harness
    /// gives it to the sample in place of a score.
    fn logprob(&self, result: &MetricResult) -> Option<f64> {
        let is_perplexity = self.perplexities.iter().any(|known| known.as_str() == result.metric_id.as_str());
        result.card.as_ref().filter(|_| is_perplexity)?.sub_scores.get(LOGPROB)?.as_f64()
    }

    /// Returns the requests and their responses: with log-likelihoods one request per option, otherwise one. `scored` are the
    /// prompts and the texts after them, in the order of the options; empty if they are unknown.
    fn requests(
        &mut self,
        record: &SampleRecord,
        prompt: &str,
        scored: &[(&str, &str)],
    ) -> (Value, Value, Value) {
        let continuations = text::output(record, "continuations").as_array().filter(|all| !all.is_empty());
        let rolling = &text::output(record, "rolling")["loglikelihood"];
        if rolling.is_number() {
            self.seen.request = RequestKind::RollingLoglikelihood;
        }
        if self.seen.request == RequestKind::RollingLoglikelihood {
            let arguments = json!({"gen_args_0": {"arg_0": prompt}});
            if !rolling.is_number() {
                return (arguments, json!([]), json!([]));
            }
            // A text, as the harness writes it.
            let likelihood = rolling.to_string();
            return (arguments, json!([[likelihood]]), json!([likelihood]));
        }
        let Some(continuations) = continuations else {
            let arguments = json!({"gen_args_0": {"arg_0": prompt, "arg_1": self.settings}});
            let Some(written) = text::written(record) else { return (arguments, json!([]), json!([])) };
            let answer = text::answer(record).unwrap_or_default();
            return (arguments, json!([[written]]), json!([answer]));
        };
        self.seen.request = RequestKind::Loglikelihood;
        let options = text::options(&record.sample);
        let (mut arguments, mut resps, mut filtered) = (Object::new(), Vec::new(), Vec::new());
        for (number, continuation) in continuations.iter().enumerate() {
            let id = continuation["id"].as_str().unwrap_or_default();
            let place = options.iter().position(|(known, _)| *known == id);
            let option = place.and_then(|place| options.get(place)).map_or(id, |(_, text)| *text);
            let sent = place.and_then(|place| scored.get(place)).copied();
            let (prompt, text) = sent.unwrap_or((prompt, option));
            arguments.insert(format!("gen_args_{number}"), json!({"arg_0": prompt, "arg_1": text}));
            // The harness's spelling, so that a column has one type.
            let greedy = if continuation["is_greedy"] == true { "True" } else { "False" };
            let pair = json!([continuation["logprob"].to_string(), greedy]);
            resps.push(json!([pair]));
            filtered.push(pair);
        }
        (Value::Object(arguments), Value::Array(resps), Value::Array(filtered))
    }
}

/// Renames a metric whose name conflicts with a key.
fn metric_name(metric_id: &str) -> String {
    if SAMPLE_KEYS.contains(&metric_id) { format!("metric_{metric_id}") } else { metric_id.to_owned() }
}

/// Returns the content of `results_*.json`.
fn results(
    run: &ExportedRun<'_>,
    model: &TaskModel,
    (task_hashes, seen): (Object, HashMap<&str, SeenTask>),
    notes: &mut Vec<String>,
) -> Value {
    let by_task = |value: &dyn Fn(&TaskSummary) -> Value| {
        Value::Object(run.tasks().iter().map(|task| (task.task_id.clone(), value(task))).collect())
    };
    note_omissions(run, notes);
    let manifest = run.source.manifest();
    let seen_of = |task: &TaskSummary| {
        seen.get(task.task_id.as_str()).copied().unwrap_or_else(|| SeenTask::of_suite(run, &task.task_id))
    };
    json!({
        "results": by_task(&|task| task_results(run, task)),
        "group_subtasks": by_task(&|_| json!([])),
        "configs": by_task(&|task| task_config(run, task, seen_of(task))),
        "versions": by_task(&|task| json!(version(run, task))),
        "n-shot": by_task(&|task| json!(seen_of(task).shots)),
        "higher_is_better": by_task(&|task| {
            let figures = run.figures(&task.task_id);
            let values = figures.iter().flat_map(values);
            Value::Object(values.map(|one| (one.name, one.higher_is_better.into())).collect())
        }),
        "n-samples": by_task(&|task| {
            let repeat = run.source.repeat(&task.task_id);
            json!({"original": task.samples.total / repeat, "effective": task.samples.reached() / repeat})
        }),
        "config": {
            "model": model.backend,
            "model_args": {"model": model.name},
            "limit": null,
            "gen_kwargs": run.tasks().first().map(generation_settings),
        },
        "date": run.began() as f64,
        "task_hashes": task_hashes,
        "model_source": model.backend,
        "model_name": model.name,
        "model_name_sanitized": sanitized(&model.name),
        "system_instruction": null,
        "system_instruction_sha": null,
        "fewshot_as_multiturn": null,
        "chat_template": null,
        "chat_template_sha": model.details["chat_template_digest"],
        "total_evaluation_time_seconds": (run.ended() - run.began().min(run.ended())).to_string(),
        // Not part of the harness: the origin of the results.
        "gage_host": {
            "version": manifest.host_version,
            "run_id": manifest.run_id,
            "status": manifest.status,
            "samples": run.summary.samples,
            "tasks": by_task(&|task| json!(task.samples)),
        },
    })
}

fn task_results(run: &ExportedRun<'_>, task: &TaskSummary) -> Value {
    let mut results = json!({
        "name": task.task_id,
        "alias": task.task_id,
        "sample_len": task.samples.reached() / run.source.repeat(&task.task_id),
    });
    let mut counts = Object::new();
    for NamedValue { name, value, stderr, n, .. } in run.figures(&task.task_id).iter().flat_map(values) {
        let Some(value) = value else { continue };
        results[format!("{name},none")] = json!(value);
        results[format!("{name}_stderr,none")] = stderr.map_or_else(|| json!("N/A"), |stderr| json!(stderr));
        counts.insert(format!("{name},none"), n.into());
    }
    results["sample_count"] = Value::Object(counts);
    results
}

/// A value of the results.
struct NamedValue {
    name: String,
    value: Option<f64>,
    stderr: Option<f64>,
    n: u64,
    higher_is_better: Option<bool>,
}

/// Returns the value of a figure, and those of its sub-scores and of the further figures of its component, as `METRIC.NAME`.
fn values(figure: &MetricFigure) -> Vec<NamedValue> {
    let metric = metric_name(&figure.metric_id);
    // A comma separates the name from that of the filter.
    let part = |name: &str| format!("{metric}.{}", name.replace(',', "_"));
    let mut values = vec![NamedValue {
        name: metric.clone(),
        value: figure.value,
        stderr: figure.stderr,
        n: figure.n,
        higher_is_better: Some(figure.higher_is_better),
    }];
    values.extend(figure.sub_scores.iter().map(|one| NamedValue {
        name: part(&one.name),
        value: one.value,
        stderr: None,
        n: one.n,
        higher_is_better: one.higher_is_better.or(Some(figure.higher_is_better)),
    }));
    // The first one is the metric's own value.
    values.extend(figure.figures.iter().skip(1).map(|one| NamedValue {
        name: part(&one.name),
        value: Some(one.value),
        stderr: one.stderr,
        n: one.n,
        higher_is_better: Some(figure.higher_is_better),
    }));
    values
}

/// Counts the figures for which the results have no place.
fn note_omissions(run: &ExportedRun<'_>, notes: &mut Vec<String>) {
    let (mut without_value, mut slices, mut categories) = (0, 0, 0);
    for figure in run.tasks().iter().flat_map(|task| run.figures(&task.task_id)) {
        without_value += usize::from(figure.value.is_none());
        slices += figure.slices.len() + figure.slice_means.len();
        categories += figure.categories.len();
    }
    if without_value > 0 {
        notes.push(format!("left out: {without_value} figures that have no value"));
    }
    for (count, parts) in [(slices, "slices"), (categories, "categories")] {
        if count > 0 {
            notes.push(format!("left out: {count} figures of {parts}, which `--format csv` has"));
        }
    }
}

/// Returns the applicable part of the harness's `TaskConfig` dump. As in the harness, unknown values are omitted, and
/// request parameters belong only to generative tasks.
fn task_config(run: &ExportedRun<'_>, task: &TaskSummary, seen: SeenTask) -> Value {
    let metrics: Vec<Value> = run
        .figures(&task.task_id)
        .iter()
        .map(|figure| {
            json!({
                "metric": metric_name(&figure.metric_id),
                "aggregation": figure.aggregation,
                "higher_is_better": figure.higher_is_better,
            })
        })
        .collect();
    let mut config = json!({
        "task": task.task_id,
        "dataset_name": task.dataset_id,
        "num_fewshot": seen.shots,
        "metric_list": metrics,
        "output_type": seen.output_type(),
        "repeats": run.source.repeat(&task.task_id),
        "should_decontaminate": false,
        "metadata": {"version": version(run, task), "dataset": run.source.manifest().identity.datasets.get(&task.dataset_id)},
    });
    if let Some(source) = run.dataset_source(&task.dataset_id) {
        config["dataset_path"] = source.into();
    }
    if seen.request == RequestKind::Generate {
        let mut settings = generation_settings(task);
        // Always a list, even if empty; otherwise the harness assumes its own default.
        let until = match settings["until"].take() {
            Value::Null => json!([]),
            Value::String(end) => json!([end]),
            ends => ends,
        };
        settings["until"] = until;
        config["generation_kwargs"] = settings;
    }
    config
}

/// Returns the versions of the scoring, which change with every change that may affect a score.
fn version(run: &ExportedRun<'_>, task: &TaskSummary) -> String {
    let figures = run.figures(&task.task_id);
    let versions = figures.iter().filter(|figure| !figure.scorer_version.is_empty());
    let versions: Vec<String> =
        versions.map(|figure| format!("{} {}", figure.metric_id, figure.scorer_version)).collect();
    versions.join(", ")
}

/// Returns the request parameters, with the harness's names.
fn generation_settings(task: &TaskSummary) -> Value {
    const NAMES: [(&str, &str); 2] = [("max_new_tokens", "max_gen_toks"), ("stop", "until")];
    let name = |key: &String| {
        let known = NAMES.iter().find(|(own, _)| own == key);
        known.map_or_else(|| key.clone(), |(_, other)| (*other).to_owned())
    };
    Value::Object(task.sampling_params.iter().map(|(key, value)| (name(key), value.clone())).collect())
}

/// Converts a model's name to a folder name as in the harness: `/` and similar characters become `__`.
fn sanitized(model: &str) -> String {
    let mut name = String::new();
    let mut is_replaced = false;
    for character in model.chars() {
        let is_bad = matches!(character, '"' | '<' | '>' | ':' | '/' | '|' | '\\' | '?' | '*' | '[' | ']');
        if !is_bad {
            name.push(character);
        } else if !is_replaced {
            name.push_str("__");
        }
        is_replaced = is_bad;
    }
    match name.as_str() {
        "" | "." | ".." => "_".to_owned(),
        _ => name,
    }
}

//! Head block of the page: data about whole runs.

use gage_compare::{Comparison, run_label};
use gage_core::shortened;
use gage_figures::{RecordedRun, Summary, TaskSummary, Timings, describe_served};
use gage_record::RunIdentity;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Format version of the page, which its script supports.
pub(super) const PAGE_VERSION: u32 = 1;

/// Maximum number of characters of a prompt's first line.
const MAX_PROMPT_CHARS: usize = 80;

/// Maximum size of a `samples.jsonl` that is read to find out whether it was changed, in bytes. Of a larger one, a page compares
/// only the size.
const MAX_CHECKED_SAMPLES_BYTES: u64 = 64 << 20;

/// The first block of the page.
#[derive(Serialize)]
pub(super) struct PageHead<'a> {
    format_version: u32,
    runs: Vec<RunHead<'a>>,
    /// Comparisons of each further run with the first.
    comparisons: Vec<Value>,
}

/// A run. Its folder is omitted, because reports are shared.
#[derive(Serialize)]
struct RunHead<'a> {
    run_id: &'a str,
    /// Label of a shard, or if another run of the page has the same id: the end of its folder's path, and the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    status: &'static str,
    ended_by: Option<&'a str>,
    /// Description of edits to the run, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<String>,
    created_at: &'a str,
    finished_at: Option<&'a str>,
    host_version: &'a str,
    parent_run: Option<&'a str>,
    /// Number of shards that it was merged from.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<usize>,
    suite: Option<String>,
    models: Vec<String>,
    /// Datasets of the tasks, with the names of their files.
    datasets: Vec<String>,
    /// Judges, with their models.
    judges: Vec<String>,
    /// Prompts of roles: each id, its role, and the first line of its text.
    prompts: Vec<String>,
    /// Plugins that did not come with the program: each id, with its source, its digest and its signer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plugins: Vec<String>,
    /// Cost of the tokens of each backend with a price.
    costs: &'a BTreeMap<String, f64>,
    /// Backends with a price that only judges ask.
    judge_backends: Vec<&'a str>,
    /// Description of what the cost leaves out: models without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_prices: Option<String>,
    /// Sentences without their full stop about what weakens the figures, such as a model that changed during the run.
    notices: Vec<String>,
    tasks: Vec<Value>,
    summary: Option<&'a Summary>,
    timings: Option<Timings>,
}

impl<'a> PageHead<'a> {
    pub(super) fn new(
        sources: &'a [RecordedRun],
        comparisons: &[Comparison],
    ) -> Result<PageHead<'a>, serde_json::Error> {
        let without_folder = |comparison: &Comparison| {
            let mut value = serde_json::to_value(comparison)?;
            for side in ["base", "new"] {
                value[side].as_object_mut().map(|run| run.shift_remove("folder"));
            }
            Ok(value)
        };
        Ok(PageHead {
            format_version: PAGE_VERSION,
            runs: sources.iter().map(|source| RunHead::new(source, sources)).collect(),
            comparisons: comparisons.iter().map(without_folder).collect::<Result<_, serde_json::Error>>()?,
        })
    }
}

impl PageHead<'_> {
    /// Returns the labels of the runs.
    pub(super) fn names(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.label.as_deref().unwrap_or(run.run_id)).collect()
    }
}

impl<'a> RunHead<'a> {
    fn new(source: &'a RecordedRun, all: &[RecordedRun]) -> RunHead<'a> {
        let manifest = source.manifest();
        let status = manifest.status.state(source.is_being_written());
        let task = |task_id: &str| {
            let price = price_of(source, task_id);
            json!({"task_id": task_id, "repeat": source.repeat(task_id), "price": price})
        };
        let is_of_judges = |backend_id: &&String| manifest.identity.only_judges_ask(backend_id);
        RunHead {
            run_id: &manifest.run_id,
            label: run_label(source, all).or_else(|| shard_label(source)),
            status,
            ended_by: manifest.ended_by.as_deref(),
            edited: source.edited().map(|edited| match all {
                [_] => edited.of("this run"),
                _ => edited.of(&format!("the run {}", source.run_id())),
            }),
            created_at: &manifest.created_at,
            finished_at: manifest.finished_at.as_deref(),
            host_version: &manifest.host_version,
            parent_run: manifest.parent_run.as_deref(),
            shards: Some(manifest.shards.len()).filter(|count| *count > 0),
            suite: source.suite_name(),
            models: source.models(),
            datasets: datasets_of(&manifest.identity),
            judges: judges_of(&manifest.identity),
            prompts: prompts_of(&manifest.identity),
            plugins: manifest.plugins.iter().map(ToString::to_string).collect(),
            costs: &manifest.costs,
            judge_backends: manifest.costs.keys().filter(is_of_judges).map(String::as_str).collect(),
            missing_prices: manifest.missing_prices(),
            notices: notices_of(source),
            tasks: source.task_ids().into_iter().map(task).collect(),
            summary: source.summary(),
            timings: source.timings(),
        }
    }
}

/// Returns the price of the model of a task: that of a million prompt tokens and of a million completion tokens.
fn price_of(source: &RecordedRun, task_id: &str) -> Option<[f64; 2]> {
    let config = source.config()?;
    let task = config.tasks.iter().find(|task| task.task_id == task_id)?;
    let price = source.manifest().prices.get(&config.inference_role_of(task)?.backend_id)?;
    Some([price.prompt, price.completion])
}

/// Returns the entries of a list of the configuration.
fn entries<'c>(identity: &'c RunIdentity, list: &str) -> impl Iterator<Item = &'c Value> + use<'c> {
    identity.config[list].as_array().into_iter().flatten()
}

/// Describes the datasets of the tasks: each id, and the name on a hub or of the file. Folders are omitted. A suite without
/// tasks uses all of its datasets.
fn datasets_of(identity: &RunIdentity) -> Vec<String> {
    let list = if entries(identity, "tasks").next().is_some() { "tasks" } else { "datasets" };
    let mut ids: Vec<&str> = Vec::new();
    for id in entries(identity, list).filter_map(|entry| entry["dataset_id"].as_str()) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let describe = |id: &str| {
        let entry = entries(identity, "datasets").find(|dataset| dataset["dataset_id"] == id);
        let path = entry.and_then(|dataset| dataset["params"]["path"].as_str());
        let of_hub = identity.datasets.get(id).and_then(|dataset| dataset.hub_id.clone());
        let file = || Some(Path::new(path?).file_name()?.to_string_lossy().into_owned());
        match of_hub.or_else(file) {
            Some(name) if name == id || Path::new(&name).file_stem() == Some(OsStr::new(id)) => name,
            Some(name) => format!("{id} ({name})"),
            None => id.to_owned(),
        }
    };
    ids.into_iter().map(describe).collect()
}

/// Describes the roles that judge: each id, and its model.
fn judges_of(identity: &RunIdentity) -> Vec<String> {
    let judges = entries(identity, "role_adapters").filter(|role| role["role_type"] == "judge_model");
    let describe = |role: &Value| {
        let judge = role["adapter_id"].as_str()?;
        let model = role["backend_id"].as_str().map(|backend| identity.model_of(backend));
        let named = model.filter(|model| *model != judge);
        Some(named.map_or_else(|| judge.to_owned(), |model| format!("{judge} ({model})")))
    };
    judges.filter_map(describe).collect()
}

/// Describes the prompts of roles: each id, its role, and the first line of its text.
fn prompts_of(identity: &RunIdentity) -> Vec<String> {
    let describe = |role: &Value| {
        let (prompt, adapter) = (role["prompt_id"].as_str()?, role["adapter_id"].as_str()?);
        let begin =
            entries(identity, "prompts").find(|entry| entry["prompt_id"] == prompt).and_then(first_line);
        let begin = begin.map(|line| format!(": {}", shortened(line, MAX_PROMPT_CHARS)));
        Some(format!("{prompt} ({adapter}){}", begin.unwrap_or_default()))
    };
    entries(identity, "role_adapters").filter_map(describe).collect()
}

/// Returns the first line of a prompt's template, or of its last message.
fn first_line(prompt: &Value) -> Option<&str> {
    let last = || prompt["messages"].as_array()?.last()?["content"].as_str();
    let text = prompt["template"].as_str().or_else(last)?;
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Returns the label of a shard: shards of many runs have the same id.
fn shard_label(source: &RecordedRun) -> Option<String> {
    let shard = source.manifest().shard.as_ref()?;
    Some(format!("{}, shard {} of {}", shard.run_id, shard.number, shard.count))
}

/// Warns if `samples.jsonl` was changed after the run.
fn changed_samples(source: &RecordedRun) -> Option<String> {
    let run_id = source.run_id();
    let warning = || {
        format!(
            "samples.jsonl of {run_id} is not the file that the run wrote; `gage-host verify {run_id}` says what was changed"
        )
    };
    source.has_changed_samples(MAX_CHECKED_SAMPLES_BYTES).then(warning)
}

/// Returns the sentences about what weakens the figures of a run.
fn notices_of(source: &RecordedRun) -> Vec<String> {
    let recorded = source.manifest().warnings.iter().map(|warning| with_capital(warning));
    recorded.chain(changed_models(source)).chain(changed_samples(source)).collect()
}

/// Returns a text that begins with a capital letter.
fn with_capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

/// Names the tasks whose server changed its model during the run.
fn changed_models(source: &RecordedRun) -> Vec<String> {
    let tasks = source.summary().into_iter().flat_map(|summary| &summary.tasks);
    let notice = |task: &TaskSummary| {
        format!(
            "The server of {} changed its model during the run: {}",
            task.task_id,
            describe_served(&task.served)
        )
    };
    tasks.filter(|task| task.served.len() > 1).map(notice).collect()
}

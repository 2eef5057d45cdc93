//! Checks whether two runs are comparable: the same data, prompts, plugins, judges and settings. Only the
//! model may differ.

use super::format::counted;
use gage_config::{BackendKind, OnLongPrompt, OutputConstraint, PipelineConfig, RoleAdapterSpec, TaskSpec};
use gage_core::{Object, SamplingParams};
use gage_figures::RecordedRun;
use gage_record::{DatasetIdentity, RunIdentity, differences};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use strum::IntoEnumIterator as _;

/// A part of what a run was made from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::EnumIter, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum IdentityPart {
    /// The rows, and what makes Samples of them.
    Datasets,
    /// The prompts of the model under test.
    Prompts,
    /// Components, and the versions of the scoring.
    Plugins,
    /// The judges: their models and prompts.
    Judges,
    /// Steps, sampling, repeats, parameters of metrics.
    Settings,
}

impl IdentityPart {
    /// Returns the name used on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A difference besides the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The part that differs.
    pub part: IdentityPart,
    /// Description of the difference, with the values of the baseline and of the new run.
    pub what: String,
    /// True if the difference is explicitly allowed.
    pub allowed: bool,
}

/// Keys of a task that affect neither the request nor the scoring, or are compared elsewhere.
const FREE_KEYS: [&str; 8] = [
    "task_id",
    "dataset_id",
    "metric_overrides",
    "max_samples",
    "max_inflight",
    "min_coverage",
    "slices",
    "cluster_by",
];

/// Key for the digests of redacted values.
const REDACTED: &str = "redacted";

/// Key for the settings that are copied verbatim into the body of every request.
const BODY: &str = "extra_body";

/// Keys of a dataset that set its location or how much of it is read.
const PLACE_KEYS: [&str; 7] =
    ["path", "paths", "sha256", "labels_path", "content_root", "streaming", "limit"];

/// A task of both runs.
pub(super) struct CommonTask<'t> {
    pub(super) id: &'t str,
    /// Number of samples with the same id but other content.
    pub(super) different_content: u64,
}

/// Returns the differences between two runs in their common tasks.
///
/// If both runs keep row digests, only rows with the same id count as data: rows without a partner are no difference.
pub(super) fn compare(
    base: &RecordedRun,
    new: &RecordedRun,
    tasks: &[CommonTask<'_>],
    allowed: &[IdentityPart],
) -> Vec<Difference> {
    let has_rows = base.has_row_digests() && new.has_row_digests();
    let (before, now) = (Identity::of(base, has_rows), Identity::of(new, has_rows));
    let mut found = Vec::new();
    let mut add = |part: IdentityPart, what: String| {
        found.push(Difference { part, what, allowed: allowed.contains(&part) });
    };
    match (&before.config, &now.config) {
        (Some(_), Some(_)) => {}
        (None, None) => return found,
        (before, _) => {
            let id = if before.is_none() { base } else { new }.run_id();
            let what = format!("the manifest of run '{id}' has no configuration that this program reads");
            add(IdentityPart::Settings, what);
            return found;
        }
    }
    for task in tasks {
        let task_id = task.id;
        // In equal files, such samples have changed media; they are counted as samples without a partner.
        if task.different_content > 0 && before.files_of(task_id) != now.files_of(task_id) {
            let samples = counted(task.different_content, "sample");
            let what = format!("task {task_id}: {samples} with the same id but other content");
            add(IdentityPart::Datasets, what);
        }
        for part in IdentityPart::iter() {
            let (before, now) = (before.part(part, task_id), now.part(part, task_id));
            let (before, now) = match part {
                IdentityPart::Plugins => shared(before, now),
                IdentityPart::Settings => {
                    let (before, now) = shared(before, now);
                    without_what_models_imply(before, now)
                }
                _ => (before, now),
            };
            for what in differences(&before, &now) {
                let what = match part {
                    // Plugins belong to the whole run.
                    IdentityPart::Plugins => what,
                    _ => format!("task {task_id}: {what}"),
                };
                add(part, what);
            }
        }
    }
    found.sort_by_key(|difference| difference.part);
    found.dedup();
    found
}

/// Identity and configuration from a run's manifest.
struct Identity<'r> {
    run: &'r RunIdentity,
    config: Option<&'r PipelineConfig>,
    /// True if the rows are compared pair by pair, not by the files that contain them.
    has_rows: bool,
}

impl<'r> Identity<'r> {
    fn of(source: &'r RecordedRun, has_rows: bool) -> Identity<'r> {
        Identity { run: &source.manifest().identity, config: source.config(), has_rows }
    }

    /// Returns the files of a task's dataset.
    fn files_of(&self, task_id: &str) -> Option<&'r DatasetIdentity> {
        let task = self.config?.tasks.iter().find(|task| task.task_id == task_id)?;
        self.run.datasets.get(&task.dataset_id)
    }

    fn part(&self, part: IdentityPart, task_id: &str) -> Value {
        let task = self.config.and_then(|config| config.tasks.iter().find(|task| task.task_id == task_id));
        let (Some(config), Some(task)) = (self.config, task) else { return Value::Null };
        match part {
            IdentityPart::Datasets => self.dataset(config, &task.dataset_id),
            IdentityPart::Prompts => self.prompts(config, task),
            IdentityPart::Plugins => json!(self.run.plugins),
            IdentityPart::Judges => self.judges(config, task),
            IdentityPart::Settings => {
                let mut settings = settings(config, task);
                if let Some(role) = config.inference_role_of(task) {
                    settings["model"] = json!(self.model(role));
                }
                settings[REDACTED] = Value::Object(self.redacted_values(config, task));
                settings
            }
        }
    }

    /// Returns the digests of redacted values that affect how the task is asked and scored.
    fn redacted_values(&self, config: &PipelineConfig, task: &TaskSpec) -> Object {
        let own = format!("tasks.{}.", task.task_id);
        let backend = config.inference_role_of(task).map(|role| format!("backends.{}.", role.backend_id));
        let is_meant = |place: &str| {
            ["metrics[", "custom.", "builtin."].iter().any(|section| place.starts_with(section))
                || place.starts_with(&own)
                || backend.as_ref().is_some_and(|backend| place.starts_with(backend))
        };
        let meant = self.run.redacted.iter().filter(|(place, _)| is_meant(place));
        meant.map(|(place, digest)| (place.clone(), digest.as_str().into())).collect()
    }

    fn dataset(&self, config: &PipelineConfig, dataset_id: &str) -> Value {
        let listed = config.document["datasets"].as_array();
        let entry = listed.and_then(|all| all.iter().find(|entry| entry["dataset_id"] == dataset_id));
        let mut params = entry.map_or(Value::Null, |entry| entry["params"].clone());
        remove(&mut params, &PLACE_KEYS);
        if let Some(few_shot) = params.get_mut("few_shot") {
            remove(few_shot, &PLACE_KEYS);
        }
        // The digest of a row covers its label, but not its examples.
        let content = self.run.datasets.get(dataset_id).map(|content| match self.has_rows {
            true => json!({"chat_template": content.chat_template, "few_shot": content.few_shot}),
            false => json!(content),
        });
        json!({"content": content, "params": params})
    }

    fn prompt_digest(&self, role: &RoleAdapterSpec) -> Value {
        json!(self.run.prompts.get(&role.adapter_id).map(|prompt| &prompt.digest))
    }

    /// Returns the name of a role's model.
    fn model(&self, role: &RoleAdapterSpec) -> Option<&str> {
        self.run.backends.get(&role.backend_id).map(|backend| backend.model.as_str())
    }

    /// Returns the detail that a role's backend reports under a key.
    fn detail(&self, role: &RoleAdapterSpec, key: &str) -> Option<&Value> {
        self.run.backends.get(&role.backend_id)?.details.get(key)
    }

    /// Returns the prompt digest of the model under test, and those of its supporting roles.
    fn prompts(&self, config: &PipelineConfig, task: &TaskSpec) -> Value {
        let digest = |role: &RoleAdapterSpec| self.prompt_digest(role);
        let support: Object = supporting_roles(config, task)
            .map(|role| (role.adapter_id.clone(), digest(role)))
            .filter(|(_, digest)| !digest.is_null())
            .collect();
        let model = config.inference_role_of(task).map_or(Value::Null, |role| digest(role));
        if support.is_empty() { model } else { json!({"model": model, "support": support}) }
    }

    /// Returns the model and prompt of each judge of a task, and the embedding model.
    fn judges(&self, config: &PipelineConfig, task: &TaskSpec) -> Value {
        let judges = task.steps.judge.iter().flat_map(|step| &step.judges);
        let described = judges.filter_map(|judge| {
            let role = config.judge_role_of(judge)?;
            let prompt = self.prompt_digest(role);
            let name = judge.judge_id.clone().unwrap_or_else(|| role.adapter_id.clone());
            Some((
                name,
                json!({
                    "model": self.model(role), "digest": self.detail(role, "digest"), "prompt": prompt,
                    "asked": asked(config, role, SamplingParams::default()),
                }),
            ))
        });
        let mut described: Object = described.collect();
        if let Some(role) = task.steps.embed.as_ref().and_then(|step| config.embed_role_of(step)) {
            let model = json!({
                "model": self.model(role), "digest": self.detail(role, "file_digest"),
                "asked": asked(config, role, SamplingParams::default()),
            });
            described.insert(format!("embed {}", role.adapter_id), model);
        }
        Value::Object(described)
    }
}

/// Returns the roles that support the model under test of a task, and those that run its tools.
fn supporting_roles<'c>(
    config: &'c PipelineConfig,
    task: &'c TaskSpec,
) -> impl Iterator<Item = &'c Arc<RoleAdapterSpec>> {
    let support = task.steps.support.iter().filter_map(|step| config.support_role_of(step));
    support.chain(task.steps.inference.tools.iter().filter_map(|tools| config.tool_role_of(tools)))
}

/// Returns the settings of a task, with its metrics by id.
fn settings(config: &PipelineConfig, task: &TaskSpec) -> Value {
    let document = &config.document;
    let template = document.get("custom").or_else(|| document.get("builtin"));
    let own =
        document["tasks"].as_array().and_then(|all| all.iter().find(|one| one["task_id"] == task.task_id));
    let mut merged = Object::new();
    for (key, value) in [template, own].into_iter().flatten().filter_map(Value::as_object).flatten() {
        merged.insert(key.clone(), value.clone());
    }
    let mut merged = Value::Object(merged);
    remove(&mut merged, &FREE_KEYS);
    for step in merged["steps"].as_array_mut().into_iter().flatten() {
        // The choice of role is part of the model.
        if step["step"] == "inference" {
            remove(step, &["adapter_id"]);
        }
    }
    // Compares the effective settings, regardless of where they were set.
    remove(&mut merged, &["sampling_params"]);
    if let Some(role) = config.inference_role_of(task) {
        merged["asked"] = asked(config, role, task.sampling_params.clone());
    }
    let others = supporting_roles(config, task)
        .map(|role| (role.adapter_id.clone(), asked(config, role, SamplingParams::default())));
    let others: Object = others.collect();
    if !others.is_empty() {
        merged["roles"] = Value::Object(others);
    }
    let metrics = task.metrics.iter().map(|metric| {
        let described =
            json!({"implementation": metric.implementation.to_string(), "params": metric.params.to_json()});
        (metric.metric_id.clone(), described)
    });
    merged["metrics"] = Value::Object(metrics.collect());
    merged
}

/// Returns the effective request settings of a role, regardless of where they were set.
///
/// These are the sampling parameters and the backend's output constraints. `over` takes precedence over the role's sampling
/// parameters, and these over the backend's defaults. The location and speed of the model do not count.
fn asked(config: &PipelineConfig, role: &RoleAdapterSpec, over: SamplingParams) -> Value {
    let params = over.over(&role.sampling_params);
    let Some(backend) = config.backend_of(role) else { return json!({"sampling_params": params}) };
    let mut asked = json!({"sampling_params": params.over(backend.default_params())});
    match &backend.kind {
        BackendKind::Http(http) => {
            if !http.extra_body.is_empty() {
                asked[BODY] = json!(http.extra_body);
            }
            if let Some(format) = &http.openai.response_format {
                asked["response_format"] = format.clone();
            }
        }
        BackendKind::LlamaCpp(llama) => {
            match &llama.constraint {
                Some(OutputConstraint::Grammar(text)) => asked["grammar"] = json!(text),
                Some(OutputConstraint::JsonSchema(schema)) => asked["json_schema"] = schema.clone(),
                Some(OutputConstraint::Choices(choices)) => asked["choices"] = json!(choices),
                None => {}
            }
            if llama.on_long_prompt == OnLongPrompt::TruncateLeft {
                asked["on_long_prompt"] = json!("truncate_left");
            }
        }
        BackendKind::CustomScript(_) | BackendKind::Answers(_) => {}
    }
    asked
}

/// Removes the name of the model under test and, if the models differ, the keys that are specific to their servers.
fn without_what_models_imply(mut before: Value, mut now: Value) -> (Value, Value) {
    let is_other = before["model"] != now["model"];
    for settings in [&mut before, &mut now] {
        remove(settings, &["model"]);
        if is_other && let Some(asked) = settings.get_mut("asked") {
            remove(asked, &[BODY]);
        }
        if is_other && let Some(Value::Object(redacted)) = settings.get_mut(REDACTED) {
            redacted.retain(|place, _| !place.starts_with("backends."));
        }
    }
    (before, now)
}

/// Keeps the members that two objects have in common: an additional metric or plugin does not affect the others.
fn shared(mut before: Value, mut now: Value) -> (Value, Value) {
    if before.get("metrics").is_some() && now.get("metrics").is_some() {
        for key in [REDACTED, "metrics"] {
            (before[key], now[key]) = shared(before[key].take(), now[key].take());
        }
        return (before, now);
    }
    if let (Value::Object(one), Value::Object(two)) = (&mut before, &mut now) {
        one.retain(|key, _| two.contains_key(key));
        two.retain(|key, _| one.contains_key(key));
    }
    (before, now)
}

fn remove(object: &mut Value, keys: &[&str]) {
    if let Value::Object(object) = object {
        object.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

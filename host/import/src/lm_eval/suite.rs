//! Puts converted tasks together to a suite, in the form that a person would write.

use super::draft::TaskDraft;
use super::filters::Pipeline;
use super::task::OutputType;
use crate::ids::id_of;
use crate::tree::{Mapping, Tree};

/// The model of a suite that names none.
const MODEL: &str = "openai:my-model@http://localhost:8000/v1";
/// The model of a suite that needs a file.
const MODEL_FILE: &str = "${GAGE_MODEL_PATH:-./model.gguf}";

/// Returns the suite of some tasks.
pub(super) fn document(title: &str, mut drafts: Vec<TaskDraft>) -> Mapping {
    let mut document = Mapping::default();
    let mut metadata = Mapping::default();
    metadata.set("name", Tree::text(title));
    document.set("metadata", Tree::Map(metadata));
    let datasets = drafts.iter().map(|draft| Tree::Map(draft.dataset.clone())).collect();
    document.set("datasets", Tree::List(datasets));
    set_model(&mut document, &drafts);
    let shares_prompt = drafts.windows(2).all(|pair| pair[0].prompt == pair[1].prompt);
    if shares_prompt {
        if let Some(prompt) = drafts.first().and_then(|draft| draft.prompt.clone()) {
            set_prompt(&mut document, prompt);
        }
    } else {
        set_prompts(&mut document, &drafts);
    }
    let has_one_reading = drafts.iter().all(|draft| draft.readings.len() == 1);
    let first = |draft: &TaskDraft| draft.readings.first().map(|(_, metrics)| metrics.clone());
    let shares_metrics = has_one_reading && drafts.windows(2).all(|pair| first(&pair[0]) == first(&pair[1]));
    if let Some(metrics) = drafts.first().and_then(first).filter(|_| shares_metrics) {
        document.set("metrics", Tree::List(metrics));
    }
    if let [only] = drafts.as_mut_slice()
        && let [(pipeline, _)] = only.readings.as_slice()
    {
        let mut custom = std::mem::take(&mut only.settings);
        let steps = steps(only, pipeline, None);
        custom.set("steps", steps);
        custom.comments_of("steps").extend(pipeline.comments.iter().cloned());
        document.set("custom", Tree::Map(custom));
        return document;
    }
    if !has_one_reading {
        document.set("cache", Tree::Scalar(true.into()));
        let comment =
            "The tasks of a dataset read the same answers in different ways; the cache asks the model once.";
        document.comments_of("cache").push(comment.to_owned());
    }
    set_tasks(&mut document, &drafts, shares_prompt, shares_metrics);
    document
}

fn set_model(document: &mut Mapping, drafts: &[TaskDraft]) {
    let has = |kind: OutputType| drafts.iter().any(|draft| draft.kind == kind);
    let mut model = Mapping::default();
    if has(OutputType::Rolling) {
        model.set("name", Tree::Variable(MODEL_FILE.to_owned()));
        model.set("chat_template", Tree::text("none"));
        let comment = "A GGUF file scores texts of any length. `--model` replaces it.";
        document.set("model", Tree::Map(model));
        document.comments_of("model").push(comment.to_owned());
        return;
    }
    if has(OutputType::MultipleChoice) || has(OutputType::Loglikelihood) {
        model.set("name", Tree::text(MODEL));
        model.set("loglikelihood", Tree::text("echo"));
        document.set("model", Tree::Map(model));
    } else {
        document.set("model", Tree::text(MODEL));
    }
    let comment = "The model to evaluate; `--model` replaces it. lm-eval sends prompts without a chat template unless \
                   `--apply_chat_template` is set: for a GGUF file, add `chat_template: none`.";
    document.comments_of("model").push(comment.to_owned());
}

/// Writes the prompt of all tasks; a template alone needs no mapping.
fn set_prompt(document: &mut Mapping, mut prompt: Mapping) {
    let comments = std::mem::take(&mut prompt.comments);
    match prompt.entries.as_slice() {
        [only] if only.key == "template" => document.set("prompt", only.value.clone()),
        _ => document.set("prompt", Tree::Map(prompt)),
    }
    document.comments_of("prompt").extend(comments);
}

/// Writes a prompt and a role for each task.
fn set_prompts(document: &mut Mapping, drafts: &[TaskDraft]) {
    let (mut prompts, mut roles) = (Vec::new(), Vec::new());
    for draft in drafts {
        let mut role = Mapping::default();
        role.set("adapter_id", Tree::text(draft.id.clone()));
        role.set("role_type", Tree::text("dut_model"));
        if let Some(prompt) = &draft.prompt {
            let mut prompt = prompt.clone();
            prompt.set_first("prompt_id", Tree::text(draft.id.clone()));
            prompts.push(Tree::Map(prompt));
            role.set("prompt_id", Tree::text(draft.id.clone()));
        }
        roles.push(Tree::Map(role));
    }
    document.set("prompts", Tree::List(prompts));
    document.set("role_adapters", Tree::List(roles));
}

fn set_tasks(document: &mut Mapping, drafts: &[TaskDraft], shares_prompt: bool, shares_metrics: bool) {
    let shares_settings = drafts.windows(2).all(|pair| pair[0].settings == pair[1].settings);
    if let Some(draft) = drafts.first().filter(|draft| shares_settings && !draft.settings.entries.is_empty())
    {
        document.set("custom", Tree::Map(draft.settings.clone()));
    }
    let mut tasks = Vec::new();
    for draft in drafts {
        let role = (!shares_prompt).then_some(draft.id.as_str());
        for (pipeline, metrics) in &draft.readings {
            let mut task = Mapping::default();
            let id = match &pipeline.name {
                Some(name) => id_of(&format!("{}-{name}", draft.id)),
                None => draft.id.clone(),
            };
            task.set("task_id", Tree::text(id));
            task.set("dataset_id", Tree::text(draft.id.clone()));
            task.comments.extend(pipeline.comments.iter().cloned());
            if !shares_settings {
                for entry in &draft.settings.entries {
                    task.set(&entry.key, entry.value.clone());
                }
            }
            task.set("steps", steps(draft, pipeline, role));
            if !shares_metrics {
                task.set("metric_overrides", Tree::List(metrics.clone()));
            }
            tasks.push(Tree::Map(task));
        }
    }
    document.set("tasks", Tree::List(tasks));
}

fn steps(draft: &TaskDraft, pipeline: &Pipeline, role: Option<&str>) -> Tree {
    let mut inference = draft.inference.clone();
    if let Some(role) = role {
        inference.set("adapter_id", Tree::text(role));
    }
    let mut steps = vec![Tree::Map(inference)];
    if !pipeline.extractors.is_empty() {
        let mut extract = Mapping::default();
        extract.set("step", Tree::text("extract"));
        extract.set("extractors", Tree::List(pipeline.extractors.clone()));
        steps.push(Tree::Map(extract));
    }
    let mut last = Mapping::default();
    last.set("step", Tree::text("auto_eval"));
    steps.push(Tree::Map(last));
    Tree::List(steps)
}

//! The parts of a new suite that come from one task.

use super::filters::{self, MetricTraits, Pipeline};
use super::rows::{self, Rows};
use super::target::{Choices, Target};
use super::task::{OutputType, Task};
use super::{dataset, engine_names, functions, metrics, prompt, sampling};
use crate::note::Notes;
use crate::python_name::plugin_command;
use crate::tree::{Mapping, Tree};

/// Keys of a task that the parts read, or that have no effect on figures.
const KNOWN_KEYS: &[&str] = &[
    "task",
    "task_alias",
    "tag",
    "group",
    "group_alias",
    "dataset_path",
    "dataset_name",
    "dataset_kwargs",
    "training_split",
    "validation_split",
    "test_split",
    "fewshot_split",
    "output_type",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "process_docs",
    "process_results",
    "custom_dataset",
    "class",
    "description",
    "fewshot_delimiter",
    "target_delimiter",
    "fewshot_config",
    "num_fewshot",
    "gen_prefix",
    "generation_kwargs",
    "filter_list",
    "metric_list",
    "repeats",
    "should_decontaminate",
    "doc_to_decontamination_query",
    "metadata",
    "unsafe_code",
    "doc_to_image",
    "doc_to_audio",
    "use_prompt",
    "aggregate_metric_list",
];

/// A converted task.
pub(super) struct TaskDraft {
    pub(super) id: String,
    pub(super) dataset: Mapping,
    pub(super) prompt: Option<Mapping>,
    /// The ways to read the answers, each with its metrics.
    pub(super) readings: Vec<(Pipeline, Vec<Tree>)>,
    /// The step `inference`.
    pub(super) inference: Mapping,
    /// Other settings of the task.
    pub(super) settings: Mapping,
    pub(super) kind: OutputType,
}

impl TaskDraft {
    /// Converts a task.
    pub(super) fn of(task: &Task, notes: &mut Notes) -> TaskDraft {
        let mut dataset = dataset::convert(task, notes);
        let kind = task.output_type();
        let choices = task.get("doc_to_choice").map(Choices::of);
        let choices = choices.filter(|_| kind == OutputType::MultipleChoice);
        let target = target_of(task);
        let rows = rows_of(task, choices.as_ref(), &target);
        let scores_letters = rows.scores_letters;
        add_rows(task, rows, &mut dataset, notes);
        add_functions(task, &mut dataset, notes);
        let mut prompt = prompt::convert(task, choices.as_ref(), &target, notes);
        engine_names::note_missing(task, &mut dataset, prompt.as_mut(), notes);
        if let (Some(shots), Some(params)) = (prompt::examples_of_split(task), dataset.section("params")) {
            dataset::add_examples(task, shots, params, notes);
        }
        let mut settings = Mapping::default();
        if kind == OutputType::GenerateUntil {
            settings.set("sampling_params", Tree::Map(sampling::convert(task, notes)));
            let outcomes = ["truncated", "empty_output"].map(Tree::text);
            settings.set("score_outcomes", Tree::List(outcomes.to_vec()));
        }
        if let Some(repeats) = task.count_of("repeats").filter(|repeats| *repeats > 1) {
            settings.set("repeat", Tree::Scalar(repeats.into()));
        }
        let readings = readings(task, notes);
        TaskDraft {
            id: task.id.clone(),
            dataset,
            prompt,
            readings,
            inference: inference(task, scores_letters),
            settings,
            kind,
        }
    }
}

/// Returns the ways to read the answers, each with its metrics. Those without an extractor are one.
fn readings(task: &Task, notes: &mut Notes) -> Vec<(Pipeline, Vec<Tree>)> {
    let mut readings: Vec<(Pipeline, Vec<Tree>)> = Vec::new();
    let traits =
        MetricTraits { find_patterns: metrics::find_patterns(task), ignore_case: metrics::ignore_case(task) };
    for pipeline in filters::convert(task, traits, notes) {
        let metrics = metrics::convert(task, &pipeline, notes);
        let shared = readings.iter_mut().find(|(known, _)| known.shares_task() && pipeline.shares_task());
        match shared {
            Some((known, known_metrics)) => {
                known.name = None;
                add_missing(&mut known.comments, pipeline.comments);
                add_missing(known_metrics, metrics);
            }
            None => readings.push((pipeline, metrics)),
        }
    }
    readings
}

/// Adds the items that a list does not have.
fn add_missing<T: PartialEq>(known: &mut Vec<T>, items: Vec<T>) {
    for item in items {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

/// Returns the right answer of a task. White space around it counts, unless it is the place of an option.
fn target_of(task: &Task) -> Target {
    let Some(value) = task.get("doc_to_target") else { return Target::Other(String::new()) };
    let text = value.plain_text();
    match task.output_type() {
        OutputType::MultipleChoice => Target::of(value),
        _ if text.trim() != text => Target::Other(text),
        _ => Target::of(value),
    }
}

fn rows_of(task: &Task, choices: Option<&Choices>, target: &Target) -> Rows {
    match (task.output_type(), choices) {
        (OutputType::MultipleChoice, Some(choices)) => rows::of_choices(task, choices, target),
        (OutputType::MultipleChoice, None) => {
            rows::of_choices(task, &Choices::Other("missing".to_owned()), target)
        }
        (OutputType::GenerateUntil, _) => rows::of_answer(task, target),
        (OutputType::Rolling, _) => rows::of_texts(task, target),
        (OutputType::Loglikelihood, _) => rows::of_continuation(task, target),
    }
}

fn inference(task: &Task, scores_letters: bool) -> Mapping {
    let mut step = Mapping::default();
    step.set("step", Tree::text("inference"));
    match task.output_type() {
        OutputType::GenerateUntil => {}
        OutputType::Rolling => step.set("request", Tree::text("rolling_loglikelihood")),
        OutputType::MultipleChoice | OutputType::Loglikelihood => {
            step.set("request", Tree::text("loglikelihood"));
            if scores_letters {
                step.set("continuation", Tree::text("id"));
            }
            let delimiter = prompt::delimiter_of_target(task);
            // Of a single text, lm-eval scores no delimiter.
            if !delimiter.is_empty() && task.output_type() == OutputType::MultipleChoice {
                step.set("continuation_prefix", Tree::text(delimiter));
            }
        }
    }
    step
}

/// Writes the preprocessor into the dataset.
fn add_rows(task: &Task, rows: Rows, dataset: &mut Mapping, notes: &mut Notes) {
    let Some(params) = dataset.section("params") else { return };
    if let Some(reason) = &rows.missing {
        let name = format!("{}-rows", task.id);
        let message = format!(
            "no built-in preprocessor makes these rows: {reason}. Write one that returns question, options and answer"
        );
        let help = plugin_command(&name, "preprocessor");
        let mut comments = Vec::new();
        let is_target = task.get("doc_to_choice").is_none() || reason.contains("doc_to_target");
        let key = task.key(if is_target { "doc_to_target" } else { "doc_to_choice" });
        notes.needs_work(key, message, &mut comments).help(help);
        params.set("preprocess", Tree::text(rows.preprocess));
        params.comments_of("preprocess").extend(comments);
        return;
    }
    if !rows.fields.entries.is_empty() {
        params.set("fields", Tree::Map(rows.fields));
    }
    let is_default = rows.preprocess == "default";
    if !is_default {
        params.set("preprocess", Tree::text(rows.preprocess));
    }
    if !rows.kwargs.entries.is_empty() {
        params.set("preprocess_kwargs", Tree::Map(rows.kwargs));
    }
}

/// Notes about functions of Python, and about keys without a counterpart.
fn add_functions(task: &Task, dataset: &mut Mapping, notes: &mut Notes) {
    for key in
        ["process_docs", "custom_dataset", "doc_to_target", "doc_to_choice", "process_results", "class"]
    {
        let Some(function) = task.function(key) else { continue };
        let is_reported =
            ["doc_to_target", "doc_to_choice"].contains(&key) && task.output_type() != OutputType::Rolling;
        let effect = functions::effect_of(&task.dataset(), &function);
        let effect = effect.map(|effect| format!(": {effect}")).unwrap_or_default();
        let message = format!("`{key}` is `{function}` of Python{effect}");
        let is_metric = key == "process_results";
        let kind = if is_metric { "metric" } else { "preprocessor" };
        if is_reported || is_metric && task.output_type() == OutputType::Rolling {
            notes.changed(task.key(key), message, &mut dataset.comments);
            continue;
        }
        let help = format!("write it as a plugin: {}", plugin_command(&function, kind));
        notes.needs_work(task.key(key), message, &mut dataset.comments).help(help);
    }
    if let Some(suite) = functions::ready_suite(&task.dataset()).filter(|_| task.has_functions()) {
        let message = format!(
            "the ready suite `{suite}` reads this dataset without Python: `gage-host suites show {suite}`"
        );
        notes.changed(task.key("dataset_path"), message, &mut dataset.comments);
    }
    for key in ["doc_to_image", "doc_to_audio", "use_prompt"] {
        if task.get(key).is_some() {
            let message = format!("`{key}: {}` has no counterpart", task.shown(key));
            let help = match key {
                "use_prompt" => {
                    "the prompt is one of PromptSource: write its text into `prompt`, and the fields of its answer into \
                     `preprocess_kwargs`"
                }
                _ => {
                    "`doc_to_visual` and `doc_to_audio` of the dataset name hooks; `gage-host list hooks` lists them"
                }
            };
            notes.needs_work(task.key(key), message, &mut dataset.comments).help(help);
        }
    }
    if task.output_type() == OutputType::Rolling && task.get("gen_prefix").is_some() {
        let message = "`gen_prefix` has no effect: lm-eval scores whole texts without it";
        notes.dropped(task.key("gen_prefix"), message.to_owned(), &mut dataset.comments);
    }
    for key in task.keys().into_iter().filter(|key| !KNOWN_KEYS.contains(&key.as_str())) {
        let message = format!("`{key}` is not a key of a task that has an effect here");
        notes.dropped(task.key(&key), message, &mut dataset.comments);
    }
}

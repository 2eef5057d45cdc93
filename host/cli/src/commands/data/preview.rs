//! `gage-host data preview`: prints the first Samples in readable form.

use crate::arguments::{DataArguments, PreviewArguments};
use crate::commands::fields::{field, show_message, show_request};
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style};
use gage_backend::{OpenOptions, Vocabulary};
use gage_config::{BackendKind, DatasetSpec, FEW_SHOT_FIELD, Problems, Purpose};
use gage_core::{OptionDisplay, Sample};
use gage_data::{Preparation, PreparedSample, Rejection, stream};
use gage_engine::{
    BackendFacts, LocatedDataset, Plan, PlannedTask, SentRequest, expected_requests, facts_before_run,
};
use gage_plugin::Registry;
use gage_suite::LoadedSuite;
use gage_template::ROW_KEY;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Number of Samples shown per dataset.
const DEFAULT_SAMPLES: u64 = 3;
/// Maximum number of lines shown of a text.
const MAX_PREVIEW_LINES: usize = 12;

pub(super) fn preview(arguments: &PreviewArguments) -> anyhow::Result<ExitCode> {
    match arguments.rendered {
        true => preview_requests(&arguments.data),
        false => preview_samples(&arguments.data),
    }
}

/// Prints the requests about the first Samples of each task.
fn preview_requests(arguments: &DataArguments) -> anyhow::Result<ExitCode> {
    let datasets = super::datasets(arguments, false)?;
    let permissions = super::permissions_of(arguments)?;
    let LoadedSuite { config, problems, .. } =
        setup::loaded(&super::file_of(arguments)?, &arguments.overrides, &permissions, Purpose::Run);
    if problems.resources.is_refused() {
        terminal::show_problems(&problems);
        return Ok(ExitCode::Configuration);
    }
    let Some(config) = config.filter(|config| !config.tasks.is_empty()) else {
        let message = format!("{} has no task that asks a model", arguments.source.display());
        return Ok(terminal::usage_error(&message, Some("name a suite, or leave out --rendered")));
    };
    let mut registry = setup::registry(&arguments.plugin_folders, arguments.print.quiet)?;
    let mut problems = Problems::default();
    let plan = Plan::requests(config, &mut registry, &mut problems);
    if problems.has_errors() {
        terminal::show_problems(&problems);
        return Ok(setup::code_of(&problems));
    }
    let shown = ShownModels::open(&plan, &registry)?;
    for task in &plan.tasks {
        let of_task = |dataset: &&LocatedDataset| dataset.planned.spec.dataset_id == task.spec.dataset_id;
        if let Some(dataset) = datasets.iter().find(of_task) {
            show_requests(task, dataset, &shown, arguments)?;
        }
    }
    Ok(ExitCode::Done)
}

/// The models of a plan, as far as they tell how requests reach them.
struct ShownModels {
    facts: BackendFacts,
    /// The vocabularies of local models, by backend.
    vocabularies: HashMap<String, Vocabulary>,
    /// The backends of roles.
    backends: HashMap<String, String>,
}

impl ShownModels {
    /// Loads the local models of a plan.
    fn open(plan: &Plan, registry: &Registry) -> anyhow::Result<ShownModels> {
        let runtime = gage_runner::start_runtime(0)?;
        let options = OpenOptions { model_program: setup::model_program(), ..OpenOptions::default() };
        let facts = runtime.block_on(facts_before_run(plan, registry, &options));
        let local = plan.config.backends.iter().filter_map(|backend| match &backend.kind {
            BackendKind::LlamaCpp(config) => {
                let vocabulary = Vocabulary::read(&config.model_path, &options.model_program).ok()?;
                Some((backend.backend_id.clone(), vocabulary))
            }
            _ => None,
        });
        let roles = plan.config.role_adapters.iter();
        let backends = roles.map(|role| (role.adapter_id.clone(), role.backend_id.clone())).collect();
        let facts = BackendFacts::new(&plan.config.backends, facts, registry);
        Ok(ShownModels { facts, vocabularies: local.collect(), backends })
    }

    /// Returns the number of tokens of a request as a local model reads it.
    fn tokens(&self, request: &SentRequest) -> Option<u64> {
        let text = request.rendered.as_ref().or(request.text.as_ref())?;
        self.vocabularies.get(self.backends.get(&request.adapter_id)?)?.count(text).ok()
    }
}

fn show_requests(
    task: &PlannedTask,
    dataset: &LocatedDataset,
    models: &ShownModels,
    arguments: &DataArguments,
) -> anyhow::Result<()> {
    let rows = dataset.open(Some(arguments.max_samples.unwrap_or(DEFAULT_SAMPLES)))?;
    let option_display = task.dataset.option_display;
    let preparation = Preparation { keeps_row: true, option_display, ..dataset.preparation() };
    let mut first = Vec::new();
    stream(rows, &preparation, 1, &|| false, |prepared| {
        first.push(prepared);
        ControlFlow::Continue(())
    });
    let style = Style::of_stdout();
    for prepared in first {
        let sample = match &prepared.result {
            Ok(sample) => sample,
            Err(rejection) if !arguments.print.json => {
                show_rejection(&task.spec.task_id, prepared.index, rejection, &style)?;
                continue;
            }
            Err(_) => {
                terminal::print_json(to_json(prepared))?;
                continue;
            }
        };
        let requests = expected_requests(task, sample, &models.facts);
        if arguments.print.json {
            let mut line = json!({"task_id": task.spec.task_id, "sample_id": sample.id});
            match requests {
                Ok(requests) => {
                    line["requests"] = requests.iter().map(|request| to_json_with(request, models)).collect();
                }
                Err(error) => line["error"] = error.into(),
            }
            terminal::print_json(line)?;
            continue;
        }
        let head = format!("{} · {}", task.spec.task_id, sample.id);
        terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
        match requests {
            Ok(requests) => {
                for request in requests {
                    let name = request.judge_id.as_deref().unwrap_or(&request.adapter_id);
                    terminal::print_line(style.bold(&gage_core::printable_line(&format!("to {name}"))))?;
                    show_request(&request, &style)?;
                    if let Some(tokens) = models.tokens(&request) {
                        field("tokens", &tokens.to_string(), None, &style)?;
                    }
                }
            }
            Err(error) => field("error", &error, None, &style)?,
        }
        terminal::print_line("")?;
    }
    Ok(())
}

fn to_json_with(request: &SentRequest, models: &ShownModels) -> Value {
    let mut shown = request.to_json();
    if let Some(tokens) = models.tokens(request) {
        shown["tokens"] = tokens.into();
    }
    shown
}

fn preview_samples(arguments: &DataArguments) -> anyhow::Result<ExitCode> {
    let datasets = super::datasets(arguments, false)?;
    for dataset in &datasets {
        let mut first = Vec::new();
        // The added fields are shown as they are in the row.
        let shows_row = !arguments.print.json && !added_fields(&dataset.planned.spec).is_empty();
        let preparation = dataset.preparation();
        let preparation = Preparation { keeps_row: preparation.keeps_row || shows_row, ..preparation };
        let read = super::read_with(
            dataset,
            &preparation,
            Some(arguments.max_samples.unwrap_or(DEFAULT_SAMPLES)),
            |sample| sample,
            |prepared| {
                first.push(prepared);
                ControlFlow::Continue(())
            },
        );
        for prepared in first {
            match arguments.print.json {
                true => terminal::print_json(to_json(prepared))?,
                false => show(dataset, &prepared)?,
            }
        }
        if let Some(error) = &read.failure {
            return Ok(super::refuse(dataset, error));
        }
    }
    Ok(ExitCode::Done)
}

/// Returns a line: the Sample, or the reason why there is none.
fn to_json(prepared: PreparedSample) -> Value {
    match prepared.result {
        Ok(sample) => sample.to_value(),
        Err(rejection) => json!({
            "rejected": {
                "outcome": rejection.outcome.name(),
                "kind": rejection.kind,
                "message": rejection.message,
                "pointer": rejection.pointer,
                "row": rejection.row,
            }
        }),
    }
}

fn show(dataset: &LocatedDataset, prepared: &PreparedSample) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let id = &dataset.planned.spec.dataset_id;
    match &prepared.result {
        Ok(sample) => {
            show_sample(id, sample, dataset.planned.option_display, &style)?;
            show_added_fields(&dataset.planned.spec, sample, &style)?;
            terminal::print_line("")
        }
        Err(rejection) => show_rejection(id, prepared.index, rejection, &style),
    }
}

fn show_rejection(dataset: &str, index: u64, rejection: &Rejection, style: &Style) -> anyhow::Result<()> {
    let head = format!("{dataset} · row {index} · {} ({})", rejection.outcome.name(), rejection.kind);
    terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
    field("why", &rejection.message, Some(MAX_PREVIEW_LINES), style)?;
    field("row", &rejection.row, Some(MAX_PREVIEW_LINES), style)?;
    terminal::print_line("")
}

fn show_sample(dataset: &str, sample: &Sample, display: OptionDisplay, style: &Style) -> anyhow::Result<()> {
    let kind = sample.task_type.as_ref().map(|kind| format!(" · {}", kind.name())).unwrap_or_default();
    let head = format!("{dataset} · {}{kind}", sample.id);
    terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
    for message in sample.conversation(display) {
        show_message(&message, Some(MAX_PREVIEW_LINES), style)?;
    }
    if let Some(prompt) = sample.rendered_prompt() {
        field("prompt", prompt, Some(MAX_PREVIEW_LINES), style)?;
    }
    for option in &sample.options {
        let mark = if sample.label.as_deref() == Some(option.id.as_str()) { " ✓" } else { "" };
        field("option", &format!("{}. {}{mark}", option.id, option.content), Some(MAX_PREVIEW_LINES), style)?;
    }
    for reference in &sample.references {
        field("reference", &reference.text(), Some(MAX_PREVIEW_LINES), style)?;
    }
    let further = [
        ("tools", sample.tools.len()),
        ("golden", sample.golden_trajectories.len()),
        ("few-shot", sample.few_shot_examples.len()),
    ];
    for (name, count) in further.into_iter().filter(|(_, count)| *count > 0) {
        field(name, &count.to_string(), Some(MAX_PREVIEW_LINES), style)?;
    }
    for (name, object) in
        [("data_tag", &*sample.data_tag), ("metadata", &sample.metadata), ("media", &*sample.media_meta)]
    {
        if !object.is_empty() {
            field(name, &Value::Object(object.clone()).to_string(), Some(MAX_PREVIEW_LINES), style)?;
        }
    }
    Ok(())
}

/// Returns the names of the fields that a dataset adds to its rows, except those of subsets.
fn added_fields(spec: &DatasetSpec) -> Vec<&str> {
    let examples = spec.few_shot.as_ref().map(|_| FEW_SHOT_FIELD);
    spec.fields.iter().map(|field| field.name.as_str()).chain(examples).collect()
}

/// Prints the added fields of a row, which its Sample holds.
fn show_added_fields(spec: &DatasetSpec, sample: &Sample, style: &Style) -> anyhow::Result<()> {
    let row = sample.extra.get(ROW_KEY);
    for name in added_fields(spec) {
        if let Some(value) = row.and_then(|row| row.get(name)) {
            field("field", &format!("{name} = {value}"), Some(MAX_PREVIEW_LINES), style)?;
        }
    }
    Ok(())
}

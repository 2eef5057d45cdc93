//! `gage-host score`: the answers of a run, scored once more.

mod overrides;

use super::aggregators::Aggregators;
use super::{observability, run, setup};
use crate::arguments::ScoreArguments;
use crate::exit_code::ExitCode;
use crate::terminal::{self, TerminalProgress};
use anyhow::Context as _;
use gage_config::{
    Environment, MissingVariable, PipelineConfig, RecordedConfig, load_recorded_to_score, shown_path,
    withheld_json, withheld_of_scoring,
};
use gage_engine::{CancelToken, Plan, RescoreContext, RescoreError, rescore};
use gage_record::{RecordError, RunFolder, RunReader, RunStatus};
use gage_report::Completeness;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

pub(crate) fn execute(arguments: &ScoreArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    if let Err(message) = observability::logs(&arguments.logs, None) {
        return Ok(terminal::usage_error(&message, Some("write a filter like info, or warn,plugin=debug")));
    }
    let parent = match RunReader::open(&arguments.run) {
        Ok(parent) => parent,
        Err(error) => return Ok(refuse(&error)),
    };
    let run_id = arguments.run_id.clone().unwrap_or_else(run::new_run_id);
    // As it is, so that `.` has a folder above it.
    let settled = arguments.run.canonicalize().unwrap_or_else(|_| arguments.run.clone());
    let written = arguments.run.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = written.or(settled.parent()).unwrap_or(Path::new("."));
    let root = arguments.output_dir.as_deref().unwrap_or(beside);
    if RunFolder::exists(root, &run_id) {
        let message = format!("there is a run '{run_id}' already in {}", root.display());
        return Ok(terminal::usage_error(&message, Some("choose another --run-id")));
    }
    if let Some(wrong) = parent.seal().wrong() {
        let message = format!("the manifest of {} cannot be trusted: {wrong}", shown_path(parent.path()));
        return Ok(terminal::usage_error(
            &message,
            Some("restore it from a copy; `gage-host verify` says what else was changed"),
        ));
    }
    if parent.journal().is_ok_and(|journal| journal.is_empty()) {
        let message = format!("{} has no sample whose answer could be scored", shown_path(parent.path()));
        return Ok(terminal::usage_error(&message, Some("run it: `gage-host run SUITE --resume RUN`")));
    }
    let RecordedConfig { config, mut problems, missing } =
        match suite(arguments, &arguments.overrides, &parent)? {
            Ok(loaded) => loaded,
            Err(code) => return Ok(code),
        };
    if !missing.is_empty() && !problems.has_errors() {
        return Ok(refuse_missing(&missing));
    }
    let mut registry = match setup::registry(&arguments.plugin_folders, arguments.quiet)? {
        Ok(registry) => registry,
        Err(error) => return Ok(terminal::usage_error(&error.to_string(), error.help().as_deref())),
    };
    let config = config.filter(|_| !problems.has_errors());
    if let Some(config) = config.as_ref().filter(|_| !arguments.overrides.is_empty())
        && let Ok(RecordedConfig { config: Some(unchanged), .. }) = suite(arguments, &[], &parent)?
        && let Some(key) = overrides::without_effect(&unchanged.document, &config.document)
    {
        let message =
            format!("`--set` changes `{key}`, which has no effect on answers that were given already");
        return Ok(terminal::usage_error(&message, Some(overrides::ALLOWED)));
    }
    let asked = load_expanded(&parent.manifest().identity["config"], &[], &parent).config;
    if let Some(message) = config.as_ref().and_then(|config| other_repeats(config, asked.as_ref()?)) {
        return Ok(terminal::usage_error(
            &message,
            Some("answers were asked for that often, and are averaged so"),
        ));
    }
    // Of a run that was scored again itself the suite need not be the one that asked.
    let asked = asked.filter(|_| parent.manifest().parent_run.is_none());
    let scoring = config.as_ref().and_then(|config| {
        Plan::scoring(config, parent.manifest(), asked.as_ref(), &mut registry, &mut problems)
    });
    terminal::show_problems(&problems);
    let (Some(config), Some(scoring)) = (config, scoring) else { return Ok(ExitCode::Configuration) };

    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let stop = CancelToken::default();
    runtime.spawn(run::stop_on_signal(stop.clone()));
    let progress = TerminalProgress::new(arguments.progress.progress, arguments.quiet);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let version = env!("CARGO_PKG_VERSION");
    let withheld = match arguments.config {
        Some(_) => withheld_json(&config.withheld),
        None => withheld_of_scoring(parent.manifest().identity.get("withheld"), &config.withheld),
    };
    let scored = rescore(&RescoreContext {
        parent: &parent,
        config: &config.document,
        withheld: &withheld,
        tasks: &scoring,
        root,
        run_id: &run_id,
        host_version: version,
        workers,
        progress: &progress,
        stop: &stop,
    });
    progress.finish();
    let report = match scored {
        Ok(report) => report,
        Err(RescoreError::Record(error)) => return Ok(refuse(&error)),
        Err(error @ RescoreError::UnknownTask { .. }) => {
            return Ok(terminal::usage_error(&error.to_string(), Some("give a suite with tasks of the run")));
        }
        Err(error) => return Err(error.into()),
    };
    let tasks: Vec<_> =
        config.tasks.iter().zip(&scoring).map(|(spec, scoring)| run::describe(spec, scoring)).collect();
    let aggregators = Aggregators::new(scoring.iter());
    let status = parent.manifest().status;
    let cut_off = match status {
        RunStatus::Complete | RunStatus::Incomplete => parent.manifest().ended_by.as_ref().map(|reason| {
            format!(
                "the run {} ended early ({reason}): only the answers that it has are scored",
                parent.manifest().run_id
            )
        }),
        RunStatus::Running | RunStatus::Interrupted => {
            let id = &parent.manifest().run_id;
            Some(format!("the run {id} is {}: only the answers that it has are scored", status.name()))
        }
    };
    let reaches = match status {
        RunStatus::Complete => Completeness::new(),
        _ => run::reaches_of_parent(&parent, &config),
    };
    let from = run::Origin::Answers { cut_off, reaches };
    run::finish(arguments.json, &config, tasks, &aggregators, &from, report, began)
}

/// The suite by which answers are scored: one that is given, or that of the run, with other metrics where
/// some are given. The inner error is the code of what was said already.
fn suite(
    arguments: &ScoreArguments,
    overrides: &[String],
    parent: &RunReader,
) -> anyhow::Result<Result<RecordedConfig, ExitCode>> {
    if let Some(path) = &arguments.config {
        let (config, problems) = setup::suite_at(path, overrides)?;
        return Ok(Ok(RecordedConfig { config, problems, missing: Vec::new() }));
    }
    let mut document = parent.manifest().identity["config"].clone();
    if !document.is_object() {
        let message = format!("the manifest of {} holds no configuration", parent.path().display());
        return Ok(Err(terminal::usage_error(&message, Some("give one with --config"))));
    }
    if !arguments.metrics.is_empty() {
        add_scoring(&mut document["custom"]);
        document["tasks"].as_array_mut().into_iter().flatten().for_each(add_scoring);
        document["metrics"] = arguments.metrics.iter().map(|metric| metric_of(metric)).collect();
        for task in document["tasks"].as_array_mut().into_iter().flatten() {
            if let Value::Object(task) = task {
                task.shift_remove("metric_overrides");
            }
        }
    }
    Ok(Ok(load_expanded(&document, overrides, parent)))
}

/// Reads a suite that was expanded when its run began.
fn load_expanded(document: &Value, overrides: &[String], parent: &RunReader) -> RecordedConfig {
    let name = format!("the suite of {}", parent.path().display());
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let withheld = parent.manifest().identity.get("withheld");
    load_recorded_to_score(&name, document, withheld, overrides, &environment)
}

/// Says which values of the run's suite were not recorded.
fn refuse_missing(missing: &[MissingVariable]) -> ExitCode {
    let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let message = format!("the answers cannot be scored as they were: {}", all.join("; "));
    terminal::usage_error(&message, Some("or give the whole suite with --config"))
}

/// Puts the step that scores behind the others, where there are steps without it.
fn add_scoring(of: &mut Value) {
    if let Some(steps) = of.get_mut("steps").and_then(Value::as_array_mut)
        && !steps.iter().any(|step| step["step"] == "auto_eval")
    {
        steps.push(json!({"step": "auto_eval"}));
    }
}

/// Says where a task would be read as repeated in another way than its run asked.
fn other_repeats(config: &PipelineConfig, asked: &PipelineConfig) -> Option<String> {
    config.tasks.iter().find_map(|task| {
        let before = asked.tasks.iter().find(|one| one.task_id == task.task_id)?;
        (before.repeat != task.repeat).then(|| {
            format!(
                "the task `{}` has `repeat: {}`, and the run asked with `repeat: {}`",
                task.task_id, task.repeat, before.repeat
            )
        })
    })
}

/// A metric of the command line: a name or a call, or an entry in JSON.
fn metric_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(entry @ Value::Object(_)) => entry,
        _ => json!(text),
    }
}

fn refuse(error: &RecordError) -> ExitCode {
    terminal::usage_error(&format!("{error:#}"), None)
}

//! Rescoring: scores the answers of a run with other metrics, or newer versions of them, and asks judges again.

mod overrides;

use crate::aggregators::Aggregators;
use crate::describe::{describe, describe_judges};
use crate::finish::{EndedRun, Origin, completeness_of_parent};
use crate::live_reports::LiveReports;
use crate::outcome::Shortfall;
use crate::progress::EngineEvents;
use crate::request::{RescoreRequest, RunRequest};
use crate::run::{new_run_id, rejudge};
use crate::shortage::watched;
use crate::suite_source::{SuiteSource, Variables};
use crate::{Context, HOST_VERSION, RunEvent, RunOutcome, RunnerError};
use gage_backend::HttpHosts;
use gage_config::{
    Environment, Permissions, PipelineConfig, Purpose, RecordedConfig, load_recorded_to_score,
    redacted_digests, redacted_of_scoring,
};
use gage_core::ShortageWatch;
use gage_engine::{
    Plan, RecordSink, RescoreContext, RunReport, Scoring, granted_permissions, recorded_plugins,
};
use gage_figures::{Completeness, TaskDescription};
use gage_plugin::Registry;
use gage_record::{JournalIndex, RecordedPlugin, RunFolder, RunReader, RunStatus};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Scores the answers of a run again, into a new run folder. Only judges are asked, if the request names some.
///
/// # Errors
/// Fails if the answers cannot be read or scored, or the new folder cannot be written.
pub fn rescore(request: &RescoreRequest) -> Result<RunOutcome, RunnerError> {
    watched(|shortages| score_again(request, shortages))
}

fn score_again(request: &RescoreRequest, shortages: ShortageWatch) -> Result<RunOutcome, RunnerError> {
    let began = Instant::now();
    let parent = RunReader::open(&request.run)?;
    let run_id = request.run_id.clone().unwrap_or_else(new_run_id);
    let root = root_of(request);
    // An unfinished scoring of the same answers is begun again.
    let parent_run = &parent.manifest().run_id;
    if RunFolder::exists(&root, &run_id) && !RunFolder::is_unfinished_scoring(&root.join(&run_id), parent_run)
    {
        return Err(RunnerError::run_exists(&root, &run_id));
    }
    check_parent(&parent)?;
    let journal = parent.journal()?;
    if journal.is_empty() {
        return Err(RunnerError::NothingToScore { path: parent.path().to_owned() });
    }
    if let Some(judges) = &request.judges {
        return judge_again(request, &parent, judges, root, run_id);
    }
    let (config, scoring, registry) = planned(request, &parent)?;
    let progress = &request.context.progress;
    progress.on_event(&RunEvent::Started { servers: &HttpHosts::default(), limits: &[] });
    let mut tasks: Vec<TaskDescription> =
        config.tasks.iter().zip(&scoring).map(|(spec, scoring)| describe(spec, scoring)).collect();
    describe_judges(&mut tasks, &config);
    let aggregators = Aggregators::new(scoring.iter());
    let custom = |task_id: &str, metric_id: &str| aggregators.fold(task_id, metric_id);
    let live_reports = LiveReports::new(tasks.clone(), &custom);
    let run = NewRun { journal: &journal, root: &root, run_id: &run_id, records: &live_reports, shortages };
    let scored = call_engine(request, &parent, &config, &scoring, &run);
    progress.on_event(&RunEvent::TasksEnded);
    let mut report = scored?;
    report.manifest.plugins = plugins_of(&parent, &registry);
    let ended = EndedRun {
        config: &config,
        tasks,
        aggregators: &aggregators,
        origin: Origin::Answers {
            parent: shortfall_of(&parent),
            completeness: match parent.manifest().status {
                RunStatus::Complete => Completeness::new(),
                _ => completeness_of_parent(&parent, &config),
            },
        },
        live_reports: Some(live_reports),
        report,
        plugins: registry.host().clone(),
        began,
        shortages,
        batch: None,
    };
    ended.finish()
}

/// Returns the plugins that score the answers now, and those that only the recorded run used.
fn plugins_of(parent: &RunReader, registry: &Registry) -> Vec<RecordedPlugin> {
    let mut plugins = recorded_plugins(&registry.used_origins());
    let is_new = |before: &&RecordedPlugin| !plugins.iter().any(|now| now.id == before.id);
    let before: Vec<RecordedPlugin> = parent.manifest().plugins.iter().filter(is_new).cloned().collect();
    plugins.extend(before);
    plugins.sort_by(|one, other| (&one.id, &one.source).cmp(&(&other.id, &other.source)));
    plugins
}

/// Asks judges again about the answers of a run.
fn judge_again(
    request: &RescoreRequest,
    parent: &RunReader,
    judges: &[String],
    root: PathBuf,
    run_id: String,
) -> Result<RunOutcome, RunnerError> {
    let mut suite = suite(request, &request.overrides, parent)?;
    // Judges are asked, about the rows of the datasets.
    if !suite.problems.check_resources(Purpose::Run) {
        return Err(RunnerError::problems(suite.problems));
    }
    if !suite.missing.is_empty() && !suite.problems.has_errors() {
        return Err(RunnerError::MissingVariables(suite.missing));
    }
    let source = SuiteSource {
        path: request.suite.clone().unwrap_or_else(|| request.run.clone()),
        overrides: request.overrides.clone(),
        plugin_folders: request.plugin_folders.clone(),
    };
    let run = RunRequest {
        context: request.context.clone(),
        output_folder: root,
        run_id: Some(run_id),
        concurrency: request.concurrency,
        is_offline: request.is_offline,
        ..RunRequest::new(source)
    };
    rejudge(&run, parent, judges, suite)
}

/// Returns the folder for the new run.
fn root_of(request: &RescoreRequest) -> PathBuf {
    if let Some(root) = &request.output_folder {
        return root.clone();
    }
    // Canonical, so that `.` has a parent folder.
    let canonical = request.run.canonicalize().unwrap_or_else(|_| request.run.clone());
    let written = request.run.parent().filter(|folder| !folder.as_os_str().is_empty());
    written.or(canonical.parent()).unwrap_or(Path::new(".")).to_owned()
}

/// Rejects a run with a damaged manifest.
fn check_parent(parent: &RunReader) -> Result<(), RunnerError> {
    let path = parent.path().to_owned();
    if let Some(reason) = parent.integrity().problem() {
        return Err(RunnerError::UntrustedManifest { path, reason: reason.to_owned() });
    }
    Ok(())
}

/// Returns the suite that scores the answers, with its metrics checked, and its plugins.
fn planned(
    request: &RescoreRequest,
    parent: &RunReader,
) -> Result<(PipelineConfig, Vec<Scoring>, Registry), RunnerError> {
    let RecordedConfig { config, mut problems, missing } = suite(request, &request.overrides, parent)?;
    if !missing.is_empty() && !problems.has_errors() {
        return Err(RunnerError::MissingVariables(missing));
    }
    let mut registry = request.context.registry(&request.plugin_folders)?;
    let Some(mut config) = config.filter(|_| !problems.has_errors()) else {
        return Err(RunnerError::problems(problems));
    };
    // Another suite may want what its tags are now.
    let pins = if request.suite.is_none() { parent.manifest().plugins.as_slice() } else { &[] };
    request.context.fetch_packages(&mut config, pins, request.is_offline, &mut problems)?;
    if !request.overrides.is_empty()
        && let Ok(RecordedConfig { config: Some(unchanged), .. }) = suite(request, &[], parent)
        && let Some(key) = overrides::without_effect(&unchanged.document, &config.document)
    {
        return Err(RunnerError::OverrideWithoutEffect { key });
    }
    let permissions = permissions_of(&request.context, parent);
    let asked = load_expanded(&parent.manifest().identity.config, &[], parent, &permissions).config;
    if let Some(asked) = &asked {
        check_repeats(&config, asked)?;
    }
    // If the run was itself rescored, its suite may differ from the one that produced the answers.
    let asked = asked.filter(|_| parent.manifest().parent_run.is_none());
    let scoring = Plan::scoring(&config, parent.manifest(), asked.as_ref(), &mut registry, &mut problems);
    let Some(scoring) = scoring else { return Err(RunnerError::problems(problems)) };
    request.context.progress.on_event(&RunEvent::Warnings(&problems));
    Ok((config, scoring, registry))
}

/// The run that is written, and the answers that it scores.
struct NewRun<'r> {
    /// The answers.
    journal: &'r JournalIndex,
    root: &'r Path,
    run_id: &'r str,
    records: &'r dyn RecordSink,
    shortages: ShortageWatch,
}

fn call_engine(
    request: &RescoreRequest,
    parent: &RunReader,
    config: &PipelineConfig,
    scoring: &[Scoring],
    run: &NewRun<'_>,
) -> Result<RunReport, RunnerError> {
    let redacted = match request.suite {
        Some(_) => redacted_digests(&config.redacted),
        None => redacted_of_scoring(&parent.manifest().identity.redacted, &config.redacted),
    };
    let permissions = granted_permissions(config);
    let context = &request.context;
    let events = EngineEvents { progress: Arc::clone(&context.progress), observability: None };
    let scored = gage_engine::rescore(&RescoreContext {
        parent,
        journal: run.journal,
        config: &config.document,
        redacted: &redacted,
        permissions: permissions.as_ref(),
        tasks: scoring,
        root: run.root,
        run_id: run.run_id,
        host_version: HOST_VERSION,
        keeps_journal: true,
        records: Some(run.records),
        progress: &events,
        stop: &context.stop,
        shortages: run.shortages,
    });
    scored.map_err(RunnerError::Rescore)
}

/// Returns the reason why a run lacks answers.
fn shortfall_of(parent: &RunReader) -> Option<Shortfall> {
    let manifest = parent.manifest();
    let run_id = manifest.run_id.clone();
    match manifest.status {
        RunStatus::Complete | RunStatus::Incomplete => {
            let reason = manifest.ended_by.clone()?;
            Some(Shortfall::ParentEndedEarly { run_id, reason })
        }
        status @ (RunStatus::Running | RunStatus::Interrupted) => {
            Some(Shortfall::ParentUnfinished { run_id, status })
        }
    }
}

/// Returns the suite that scores the answers: the given one, or else the run's. Given metrics replace its own.
fn suite(
    request: &RescoreRequest,
    overrides: &[String],
    parent: &RunReader,
) -> Result<RecordedConfig, RunnerError> {
    if let Some(path) = &request.suite {
        let loaded = request.context.load(path, overrides, &Variables::default(), Purpose::Plugins);
        return Ok(RecordedConfig { config: loaded.config, problems: loaded.problems, missing: Vec::new() });
    }
    let mut document = parent.manifest().identity.config.clone();
    if !document.is_object() {
        return Err(RunnerError::NoConfiguration { path: parent.path().to_owned() });
    }
    if !request.metrics.is_empty() {
        add_scoring(&mut document["custom"]);
        document["tasks"].as_array_mut().into_iter().flatten().for_each(add_scoring);
        document["metrics"] = request.metrics.iter().map(|metric| metric_of(metric)).collect();
        for task in document["tasks"].as_array_mut().into_iter().flatten() {
            if let Value::Object(task) = task {
                task.shift_remove("metric_overrides");
            }
        }
    }
    Ok(load_expanded(&document, overrides, parent, &permissions_of(&request.context, parent)))
}

/// Returns what the recorded suite of a run may reach. Its own folder is that of the run.
pub(crate) fn permissions_of(context: &Context, run: &RunReader) -> Permissions {
    context.permissions.with_folder(run.path())
}

/// Loads a suite that was expanded when its run began.
pub(crate) fn load_expanded(
    document: &Value,
    overrides: &[String],
    parent: &RunReader,
    permissions: &Permissions,
) -> RecordedConfig {
    let name = format!("the suite of {}", parent.path().display());
    let variables = Variables::default();
    let variable = |name: &str| variables.get(name, permissions);
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let redacted = &parent.manifest().identity.redacted;
    load_recorded_to_score(&name, document, redacted, overrides, &environment, permissions)
}

/// Adds the scoring step, if there are steps but no scoring step.
fn add_scoring(of: &mut Value) {
    if let Some(steps) = of.get_mut("steps").and_then(Value::as_array_mut)
        && !steps.iter().any(|step| step["step"] == "auto_eval")
    {
        steps.push(json!({"step": "auto_eval"}));
    }
}

/// Rejects a task whose repeats differ from those of its run.
fn check_repeats(config: &PipelineConfig, asked: &PipelineConfig) -> Result<(), RunnerError> {
    for task in &config.tasks {
        let before = asked.tasks.iter().find(|one| one.task_id == task.task_id);
        if let Some(before) = before.filter(|before| before.repeat != task.repeat) {
            return Err(RunnerError::OtherRepeats {
                task_id: task.task_id.clone(),
                repeat: task.repeat,
                asked: before.repeat,
            });
        }
    }
    Ok(())
}

/// Parses a metric of the request: a name, a call, or a JSON entry.
fn metric_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(entry @ Value::Object(_)) => entry,
        _ => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_names_or_entries() {
        assert_eq!(metric_of("exact_match"), json!("exact_match"));
        assert_eq!(metric_of("token_f1(field=\"a\")"), json!("token_f1(field=\"a\")"));
        assert_eq!(metric_of(r#"{"metric_id": "m"}"#), json!({"metric_id": "m"}));
        assert_eq!(metric_of("3"), json!("3"), "not an entry");
    }

    #[test]
    fn the_scoring_step_is_added_once() {
        let mut task = json!({"steps": [{"step": "inference"}]});
        for _ in 0..2 {
            add_scoring(&mut task);
            assert_eq!(task["steps"], json!([{"step": "inference"}, {"step": "auto_eval"}]));
        }
        let mut without = json!({"task_id": "t"});
        add_scoring(&mut without);
        assert_eq!(without, json!({"task_id": "t"}));
    }
}

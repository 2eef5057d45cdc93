//! `gage-host runs`: manages run folders.

mod baseline;
mod list;
mod repair;
mod sample;
mod trend;

use super::compare::refuse_run;
use super::{history, setup};
use crate::arguments::{RunsCommand, RunsGcArguments, RunsShowArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_figures::{MetricFigure, Timings, unit_of};
use gage_record::{RecordError, RunFolder, RunIdentity, RunReader, RunStatus};
use gage_suite::{FoundRuns, RunEntry, leftovers, list};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn execute(command: &RunsCommand) -> anyhow::Result<ExitCode> {
    match command {
        RunsCommand::List(arguments) => list::execute(arguments),
        RunsCommand::Show(arguments) => show(arguments),
        RunsCommand::Baseline(arguments) => baseline::execute(arguments),
        RunsCommand::Trend(arguments) => trend::execute(arguments),
        RunsCommand::Repair(arguments) => repair::execute(arguments),
        RunsCommand::Gc(arguments) => collect(arguments),
    }
}

fn found_runs(root: &Path) -> Result<FoundRuns, ExitCode> {
    match list(root) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(FoundRuns::default()),
        Err(error) => {
            let message = format!("cannot read the folder {}: {error}", gage_config::shown_path(root));
            Err(terminal::usage_error(&message, Some("name another with --output-dir")))
        }
    }
}

fn status(run: &RunEntry) -> &'static str {
    run.manifest.status.state(run.is_written)
}

fn to_json(run: &RunEntry) -> Value {
    json!({
        "run_id": run.manifest.run_id,
        "path": run.path.display().to_string(),
        "status": status(run),
        "format_version": run.manifest.format_version,
        "host_version": run.manifest.host_version,
        "created_at": run.manifest.created_at,
        "finished_at": run.manifest.finished_at,
        "parent_run": run.manifest.parent_run,
        "samples": run.samples,
        "headline": run.headline.as_ref().map(|first| json!({
            "task_id": first.task_id, "metric_id": first.metric_id, "value": first.value,
        })),
        "bytes": run.bytes,
    })
}

fn row(run: &RunEntry) -> [String; 6] {
    let headline = run.headline.as_ref().map_or_else(
        || "-".to_owned(),
        |first| {
            let more = if first.further == 0 { String::new() } else { format!(" (+{})", first.further) };
            format!("{} {} {:.4}{more}", first.task_id, first.metric_id, first.value)
        },
    );
    let cells = [
        run.manifest.run_id.clone(),
        status(run).to_owned(),
        run.manifest.created_at.clone(),
        run.samples.map_or_else(|| "-".to_owned(), |samples| samples.to_string()),
        headline,
        indicatif::HumanBytes(run.bytes).to_string(),
    ];
    cells.map(|cell| gage_core::printable_line(&cell).into_owned())
}

const HEADINGS: [&str; 6] = ["run", "status", "started", "samples", "first figure", "size"];

fn show(arguments: &RunsShowArguments) -> anyhow::Result<ExitCode> {
    if let Some(id) = &arguments.sample {
        return sample::show(arguments, id);
    }
    let folder = setup::run_folder(&arguments.named.run, &arguments.named.output_dir);
    let run = RunReader::open(&folder)
        .map_err(|error| refuse_run(error, &arguments.named.run, &arguments.named.output_dir))?;
    let manifest = run.manifest();
    if let Some(edited) = run.edited() {
        let warning =
            format!("warning: {}; `gage-host verify` says what was changed", edited.of(&manifest.run_id));
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
    if arguments.json {
        terminal::print_json(format_args!("{:#}", serde_json::to_value(manifest)?))?;
        return Ok(ExitCode::Done);
    }
    let summary = match run.summary::<Value>() {
        Err(error @ RecordError::Refused { .. }) => {
            return Ok(refuse_run(error, &arguments.named.run, &arguments.named.output_dir));
        }
        // A run that has not ended has none.
        summary => summary.ok().flatten().unwrap_or_default(),
    };
    let is_written = RunFolder::is_being_written(&folder);
    let status = match (manifest.status.state(is_written), &manifest.parent_run) {
        ("killed", Some(parent)) if !manifest.is_rejudged => {
            format!("killed; start it again with `gage-host score {parent} --run-id {}`", manifest.run_id)
        }
        ("killed", _) => "killed; continue it with --resume".to_owned(),
        (state, _) => state.to_owned(),
    };
    let mut lines = vec![format!("run       {}", manifest.run_id), format!("status    {status}")];
    lines.extend(manifest.ended_by.as_ref().map(|reason| format!("reason    {reason}")));
    lines.extend([
        format!("begun     {}", manifest.created_at),
        format!("ended     {}", manifest.finished_at.as_deref().unwrap_or("-")),
        format!(
            "program   gage-host {}, folder of version {}",
            manifest.host_version, manifest.format_version
        ),
    ]);
    lines.extend(manifest.parent_run.as_ref().map(|parent| format!("scored    the answers of {parent}")));
    lines.extend(identity_lines(&manifest.identity));
    for (name, file) in &manifest.files {
        lines.push(format!("file      {name} {} ({} bytes)", file.digest, file.bytes));
    }
    for figure in summary["metrics"].as_array().into_iter().flatten() {
        let text = |key: &str| figure[key].as_str().unwrap_or_default();
        lines.push(format!(
            "figure    {} {} {} ({} of {})",
            text("task_id"),
            text("metric_id"),
            figure["value"],
            figure["n"],
            figure["total"]
        ));
    }
    lines.extend(timing_lines(&run));
    let lines: Vec<_> = lines.iter().map(|line| gage_core::printable_line(line)).collect();
    terminal::print_line(terminal::wrapped(&lines.join("\n"), 10))?;
    Ok(ExitCode::Done)
}

fn collect(arguments: &RunsGcArguments) -> anyhow::Result<ExitCode> {
    let found = found_runs(&arguments.runs.output_dir)?;
    for (_, reason) in &found.unreadable {
        terminal::eprint_line(format_args!("warning: {}", gage_core::printable(reason)));
    }
    let baselines = history::baselines(&arguments.runs.output_dir)?;
    let is_baseline = |run: &RunEntry| baselines.iter().any(|baseline| baseline.path == run.path);
    let keep = arguments.keep.unwrap_or(0);
    let is_kept = |number: usize, run: &RunEntry| {
        let is_finished = matches!(run.manifest.status, RunStatus::Complete | RunStatus::Incomplete);
        number < keep || arguments.unfinished && is_finished || is_baseline(run)
    };
    let chosen = leftovers(&found.runs, is_kept);
    let (going, staying): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|one| one.kept_reason.is_none());
    let bytes: u64 = going.iter().map(|one| one.run.bytes).sum();
    let mut deleted = 0;
    let mut failures = Vec::new();
    if arguments.yes {
        for one in &going {
            match RunFolder::delete(&one.run.path) {
                Ok(()) => deleted += 1,
                Err(error) => failures.push(format!("{:#}", anyhow::Error::new(error))),
            }
        }
    }
    for one in &staying {
        let reason = one.kept_reason.as_deref().unwrap_or_default();
        terminal::eprint_line(format_args!("{} stays: {reason}", one.run.manifest.run_id));
    }
    if arguments.runs.json {
        let runs: Vec<Value> = going.iter().map(|one| to_json(&one.run)).collect();
        terminal::print_json(format_args!(
            "{:#}",
            json!({"runs": runs, "bytes": bytes, "deleted": deleted})
        ))?;
    } else {
        let rows: Vec<[String; 6]> = going.iter().map(|one| row(&one.run)).collect();
        if !rows.is_empty() {
            terminal::print_line(terminal::columns(HEADINGS, &rows))?;
        }
        let runs = terminal::count(going.len(), "run");
        let size = indicatif::HumanBytes(bytes);
        match (going.is_empty(), arguments.yes) {
            (true, _) => terminal::eprint_line("nothing to delete"),
            (false, true) => terminal::eprint_line(format_args!("deleted {deleted} of {runs}, {size}")),
            (false, false) => terminal::eprint_line(format_args!(
                "would delete {runs}, {size}; nothing was deleted: add --yes"
            )),
        }
    }
    for failure in &failures {
        terminal::usage_error(failure, None);
    }
    Ok(if failures.is_empty() { ExitCode::Done } else { ExitCode::Configuration })
}

/// Formats the figures of metrics that read a clock, with their units.
fn timing_lines(run: &RunReader) -> Vec<String> {
    let timings = run.timings::<Timings>().ok().flatten();
    let line = |figure: &MetricFigure| {
        let with_unit = |value: f64| format!("{value} {}", unit_of(figure));
        let value = figure.value.map_or_else(|| "null".to_owned(), with_unit);
        let MetricFigure { task_id, metric_id, n, total, .. } = figure;
        format!("figure    {task_id} {metric_id} {} ({n} of {total})", value.trim_end())
    };
    timings.iter().flat_map(|timings| &timings.timing_metrics).map(line).collect()
}

/// Formats the inputs of a run: each dataset, backend, plugin and prompt with its digest.
fn identity_lines(identity: &RunIdentity) -> Vec<String> {
    let line = |part: &str, name: &str, what: &str| format!("{part:<9} {name} {what}");
    let datasets = identity.datasets.iter();
    let mut lines: Vec<String> = datasets
        .map(|(name, dataset)| line("dataset", name, dataset.digest.as_deref().unwrap_or_default()))
        .collect();
    lines.extend(identity.backends.iter().map(|(name, backend)| {
        let digest = backend.details.get("digest").and_then(Value::as_str).or(backend.file_digest());
        line("backend", name, digest.unwrap_or(&backend.model))
    }));
    lines.extend(identity.plugins.iter().map(|(name, plugin)| line("plugin", name, &plugin.digest)));
    lines.extend(identity.prompts.iter().map(|(name, prompt)| line("prompt", name, &prompt.digest)));
    lines
}

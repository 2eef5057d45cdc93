//! `gage-host runs`: manages run folders.

mod baseline;
mod list;
mod repair;
mod sample;
mod show;
mod status;
mod trend;

use super::history;
use crate::arguments::{RunsCommand, RunsGcArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::{RunFolder, RunStatus};
use gage_suite::{FoundRuns, RunEntry, leftovers, list};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn execute(command: &RunsCommand) -> anyhow::Result<ExitCode> {
    match command {
        RunsCommand::List(arguments) => list::execute(arguments),
        RunsCommand::Show(arguments) => show::execute(arguments),
        RunsCommand::Status(arguments) => status::execute(arguments),
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

fn state_of(run: &RunEntry) -> &'static str {
    run.manifest.status.state(run.is_written)
}

/// Says how the run whose merge was killed is completed.
fn stopped_merge(folder: &Path) -> String {
    let folder = terminal::shell_word(folder.display());
    format!("the merge was stopped; merge again with `gage-host merge {folder}`")
}

fn to_json(run: &RunEntry) -> Value {
    json!({
        "run_id": run.manifest.run_id,
        "path": run.path.display().to_string(),
        "status": state_of(run),
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
        state_of(run).to_owned(),
        run.manifest.created_at.clone(),
        run.samples.map_or_else(|| "-".to_owned(), |samples| samples.to_string()),
        headline,
        indicatif::HumanBytes(run.bytes).to_string(),
    ];
    cells.map(|cell| gage_core::printable_line(&cell).into_owned())
}

const HEADINGS: [&str; 6] = ["run", "status", "started", "samples", "first figure", "size"];

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
    for (path, state) in &found.unmerged {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let text =
            format!("{name} stays: {state}, and they are not merged; delete its folder if it is not needed");
        terminal::eprint_line(gage_core::printable_line(&text));
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

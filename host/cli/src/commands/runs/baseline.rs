//! `gage-host runs baseline`: chooses the run that others of its suite are compared with.

use super::super::{history, setup};
use crate::arguments::RunsBaselineArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_history::{Baseline, BaselineState, History, HistoryError};
use serde_json::json;
use std::path::Path;

const HEADINGS: [&str; 4] = ["suite", "baseline", "chosen", "state"];

pub(super) fn execute(arguments: &RunsBaselineArguments) -> anyhow::Result<ExitCode> {
    match (&arguments.run, &arguments.remove) {
        (Some(run), _) => choose(run, arguments),
        (None, Some(suite)) => remove(suite, arguments),
        (None, None) => list(arguments),
    }
}

/// Chooses a run, which may be in another folder: the baseline is stored next to it.
fn choose(run: &Path, arguments: &RunsBaselineArguments) -> anyhow::Result<ExitCode> {
    let folder = setup::run_folder(run, &arguments.runs.output_dir);
    let (root, name) = match (folder.parent(), folder.file_name().and_then(|name| name.to_str())) {
        (Some(root), Some(name)) if root.as_os_str().is_empty() => (Path::new("."), name),
        (Some(root), Some(name)) => (root, name),
        _ => {
            let message = format!("{} does not name a run", gage_config::shown_path(run));
            return Ok(terminal::usage_error(&message, Some("name its folder, or its id")));
        }
    };
    let chosen = opened(root).and_then(|mut history| {
        let run = history.run(name)?;
        history.choose_baseline(&run)
    });
    let chosen = chosen.map_err(history::refuse)?;
    if arguments.runs.json {
        terminal::print_json(format_args!("{:#}", json!(chosen)))?;
    } else {
        let text = format!("{} is the baseline of the suite {}", chosen.label(), chosen.suite);
        terminal::print_line(gage_core::printable_line(&text))?;
    }
    Ok(ExitCode::Done)
}

fn remove(suite: &str, arguments: &RunsBaselineArguments) -> anyhow::Result<ExitCode> {
    let removed = opened(&arguments.runs.output_dir).and_then(|mut history| {
        // Reports mistyped names.
        let is_removed = history.remove_baseline(suite)?;
        if !is_removed {
            history.runs_of(suite)?;
        }
        Ok(is_removed)
    });
    let is_removed = removed.map_err(history::refuse)?;
    if arguments.runs.json {
        terminal::print_json(format_args!("{:#}", json!({"suite": suite, "removed": is_removed})))?;
    } else {
        let what = if is_removed { "no longer has a baseline" } else { "had no baseline" };
        terminal::print_line(gage_core::printable_line(&format!("the suite {suite} {what}")))?;
    }
    Ok(ExitCode::Done)
}

fn list(arguments: &RunsBaselineArguments) -> anyhow::Result<ExitCode> {
    let baselines = history::baselines(&arguments.runs.output_dir)?;
    if arguments.runs.json {
        terminal::print_json(format_args!("{:#}", json!({"baselines": baselines})))?;
    } else if baselines.is_empty() {
        terminal::eprint_line(format_args!("no baselines in {}", arguments.runs.output_dir.display()));
    } else {
        let rows: Vec<[String; 4]> = baselines.iter().map(row).collect();
        terminal::print_line(terminal::columns(HEADINGS, &rows))?;
    }
    Ok(ExitCode::Done)
}

fn row(baseline: &Baseline) -> [String; 4] {
    let state = match baseline.state {
        BaselineState::There => "there",
        BaselineState::Gone => "gone",
        BaselineState::Changed => "has other samples than when it was chosen",
        BaselineState::Edited => "was edited, and cannot be trusted",
    };
    let cells = [&baseline.suite, &baseline.label(), &baseline.chosen_at, state];
    cells.map(|cell| gage_core::printable_line(cell).into_owned())
}

fn opened(folder: &Path) -> Result<History, HistoryError> {
    let missing =
        || HistoryError::Folder { path: folder.to_owned(), source: std::io::ErrorKind::NotFound.into() };
    history::open(folder)?.ok_or_else(missing)
}

//! `gage-host runs list`: lists the runs and their results.

use super::super::history;
use super::stopped_merge;
use crate::arguments::RunsFolderArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_history::{Baseline, BaselineState, History, HistoryError, HistoryRun, UnreadableRun};
use gage_record::{RunStatus, ShardedRun, ShardedRunFollower, has_shards, unmerged_runs};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Maximum length of a model name in the table, in characters.
const MAX_MODEL_CHARS: usize = 24;

const TABLE: terminal::Table<9> = terminal::Table {
    headings: ["run", "suite", "model", "status", "started", "samples", "first figure", "value", "size"],
    flexible: &[0, 1, 2, 6],
    // The size, the time and the suite.
    spare: &[8, 4, 1],
};

/// Contents of a folder of runs.
#[derive(Default)]
struct ListedRuns {
    runs: Vec<HistoryRun>,
    unreadable: Vec<UnreadableRun>,
    baselines: Vec<Baseline>,
    /// Runs whose shards are not merged, with their folders.
    unmerged: Vec<(PathBuf, ShardedRun)>,
}

pub(super) fn execute(arguments: &RunsFolderArguments) -> anyhow::Result<ExitCode> {
    let history = history::open(&arguments.output_dir);
    let listed = history.and_then(|history| history.as_ref().map(ListedRuns::read).transpose());
    let mut listed = listed.map_err(history::refuse)?.unwrap_or_default();
    listed.add_unmerged(&arguments.output_dir);
    for UnreadableRun { reason, .. } in &listed.unreadable {
        terminal::eprint_line(format_args!("warning: {}", gage_core::printable(reason)));
    }
    if arguments.json {
        let unreadable = listed.unreadable.iter();
        let unreadable: Vec<Value> = unreadable
            .map(|run| json!({"path": run.path.display().to_string(), "reason": run.reason}))
            .collect();
        let runs: Vec<Value> = listed.runs.iter().map(|run| to_json(run, &listed)).collect();
        let unmerged: Vec<Value> = listed.unmerged.iter().map(unmerged_json).collect();
        let answer = json!({
            "runs": runs, "unmerged": unmerged, "unreadable": unreadable, "baselines": listed.baselines,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
        return Ok(ExitCode::Done);
    }
    let rows = listed.rows();
    match rows.is_empty() {
        true => terminal::eprint_line(format_args!("no runs in {}", arguments.output_dir.display())),
        false => terminal::print_line(TABLE.draw(&rows))?,
    }
    for run in &listed.runs {
        if let Some(reason) = &run.ended_by {
            let note = format!("note: {} is {}: {reason}", run.label(), run.state());
            terminal::eprint_line(gage_core::printable_line(&note));
        }
        // Such a run has been merged, and is not resumed.
        if run.status == RunStatus::Running && !run.is_written && has_shards(&run.path) {
            let note = format!("note: {} is killed: {}", run.label(), stopped_merge(&run.path));
            terminal::eprint_line(gage_core::printable_line(&note));
        }
        if let Some(edited) = &run.edited {
            let warning = format!("warning: {}: {edited}", run.label());
            terminal::eprint_line(gage_core::printable_line(&warning));
        }
    }
    if listed.runs.iter().any(|run| listed.has_baseline(run)) {
        terminal::eprint_line("* the baseline of its suite");
    }
    for Baseline { suite, run_id, state, .. } in &listed.baselines {
        let what = match state {
            BaselineState::Gone => "is gone",
            BaselineState::Changed => "has other samples than when it was chosen",
            // An edited run is in the list, and was already reported.
            BaselineState::There | BaselineState::Edited => continue,
        };
        let text = format!("the baseline of the suite '{suite}', run '{run_id}', {what}");
        terminal::eprint_line(format_args!("warning: {}", gage_core::printable(&text)));
    }
    Ok(ExitCode::Done)
}

impl ListedRuns {
    fn read(history: &History) -> Result<ListedRuns, HistoryError> {
        let (runs, unreadable) = (history.runs()?, history.unreadable()?);
        Ok(ListedRuns { runs, unreadable, baselines: history.baselines()?, unmerged: Vec::new() })
    }

    /// Adds the runs whose shards are not merged. They are not in the index, because each shard changes for itself.
    fn add_unmerged(&mut self, folder: &Path) {
        // A folder that cannot be read was reported.
        for path in unmerged_runs(folder).unwrap_or_default() {
            match ShardedRunFollower::of_states(&path).read() {
                Ok(run) => self.unmerged.push((path, run)),
                Err(error) => self.unreadable.push(UnreadableRun { path, reason: error.to_string() }),
            }
        }
    }

    /// Returns the rows of all runs, oldest first.
    fn rows(&self) -> Vec<[String; 9]> {
        let runs = self.runs.iter().map(|run| (run.created_at.as_str(), row(run, self)));
        let unmerged = self.unmerged.iter();
        let unmerged =
            unmerged.map(|(_, run)| (run.created_at.as_deref().unwrap_or_default(), unmerged_row(run)));
        let mut rows: Vec<(&str, [String; 9])> = runs.chain(unmerged).collect();
        rows.sort_by_key(|(created_at, _)| *created_at);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn has_baseline(&self, run: &HistoryRun) -> bool {
        let is_there = |baseline: &&Baseline| baseline.state != BaselineState::Gone;
        self.baselines.iter().filter(is_there).any(|baseline| baseline.path == run.path)
    }
}

fn to_json(run: &HistoryRun, listed: &ListedRuns) -> Value {
    let first = run.figures.iter().find(|figure| figure.value.is_some());
    json!({
        "run_id": run.run_id,
        "path": run.path.display().to_string(),
        "suite": run.suite,
        "model": run.model,
        "status": run.state(),
        "ended_by": run.ended_by,
        "is_baseline": listed.has_baseline(run),
        "format_version": run.format_version,
        "host_version": run.host_version,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "parent_run": run.parent_run,
        "samples": run.samples,
        "not_reached": run.not_reached,
        "total_is_least": run.total_is_least,
        "coverage": run.coverage,
        "headline": first.map(|first| json!({
            "task_id": first.task_id, "metric_id": first.metric_id, "value": first.value,
        })),
        "figures": run.figures,
        "lock_digest": run.lock_digest,
        "definition_digest": run.definition_digest,
        "bytes": run.bytes,
        "edited": run.edited,
    })
}

/// Formats the number of samples. For a partial run it includes the total, or `?` if that is unknown.
fn samples_of(samples: u64, run: &HistoryRun) -> String {
    match (run.total_is_least, run.not_reached) {
        (true, left) => format!("{} of ?", samples.saturating_sub(left)),
        (false, 0) => samples.to_string(),
        (false, left) => format!("{} of {samples}", samples.saturating_sub(left)),
    }
}

fn unmerged_json((path, run): &(PathBuf, ShardedRun)) -> Value {
    json!({
        "run_id": run.run_id,
        "path": path.display().to_string(),
        "suite": run.suite,
        "models": run.models,
        "status": run.state(),
        "created_at": run.created_at,
        "totals": run.totals(),
    })
}

fn unmerged_row(run: &ShardedRun) -> [String; 9] {
    let models = run.models.join(", ");
    printable_row([
        run.run_id.clone(),
        run.suite.clone().unwrap_or_default(),
        terminal::shortened(&models, MAX_MODEL_CHARS),
        run.state(),
        minutes_of(run.created_at.as_deref().unwrap_or_default()),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
    ])
}

/// Formats a time without its seconds.
fn minutes_of(time: &str) -> String {
    let begun: String = time.chars().take("2026-01-01T00:00".len()).collect();
    begun.replace('T', " ")
}

fn printable_row(cells: [String; 9]) -> [String; 9] {
    cells.map(
        |cell| if cell.is_empty() { "-".to_owned() } else { gage_core::printable_line(&cell).into_owned() },
    )
}

fn row(run: &HistoryRun, listed: &ListedRuns) -> [String; 9] {
    let first = run.figures.iter().find_map(|figure| Some((figure, figure.value?)));
    let (name, value) = first.map_or_else(Default::default, |(figure, value)| {
        let more = match run.figures.len() - 1 {
            0 => String::new(),
            more => format!(" (+{more})"),
        };
        (format!("{} {}", figure.task_id, figure.metric_id), format!("{value:.4}{more}"))
    });
    let mark = if listed.has_baseline(run) { " *" } else { "" };
    printable_row([
        format!("{}{mark}", run.label()),
        run.suite.clone().unwrap_or_default(),
        run.model.as_deref().map(|model| terminal::shortened(model, MAX_MODEL_CHARS)).unwrap_or_default(),
        run.state().to_owned(),
        minutes_of(&run.created_at),
        run.samples.map(|samples| samples_of(samples, run)).unwrap_or_default(),
        name,
        value,
        indicatif::HumanBytes(run.bytes).to_string(),
    ])
}

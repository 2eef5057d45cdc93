//! `gage-host runs list`: the runs, with what came of them.

use super::super::history;
use crate::arguments::RunsListArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_history::{Baseline, BaselineState, History, HistoryError, HistoryRun, UnreadableRun};
use serde_json::{Value, json};

/// Longest name of a model in the table, in characters.
const LONGEST_MODEL: usize = 24;

const TABLE: terminal::Table<8> = terminal::Table {
    headings: ["run", "suite", "model", "status", "begun", "samples", "first figure", "size"],
    flexible: &[0, 1, 2, 6],
    // The size, the time, the suite.
    spare: &[7, 4, 1],
};

/// What lies in a folder of runs.
struct Listed {
    runs: Vec<HistoryRun>,
    unreadable: Vec<UnreadableRun>,
    baselines: Vec<Baseline>,
}

pub(super) fn execute(arguments: &RunsListArguments) -> anyhow::Result<ExitCode> {
    let listed =
        match history::open(&arguments.output_dir).and_then(|found| found.as_ref().map(look).transpose()) {
            Ok(listed) => listed,
            Err(error) => return history::refuse(error),
        };
    let listed = listed.unwrap_or(Listed { runs: Vec::new(), unreadable: Vec::new(), baselines: Vec::new() });
    for UnreadableRun { reason, .. } in &listed.unreadable {
        terminal::say(format_args!("warning: {}", gage_core::printable(reason)));
    }
    if arguments.json {
        let unreadable = listed.unreadable.iter();
        let unreadable: Vec<Value> = unreadable
            .map(|run| json!({"path": run.path.display().to_string(), "reason": run.reason}))
            .collect();
        let runs: Vec<Value> = listed.runs.iter().map(|run| to_json(run, &listed)).collect();
        let answer = json!({"runs": runs, "unreadable": unreadable, "baselines": listed.baselines});
        terminal::answer(format_args!("{answer:#}"))?;
        return Ok(ExitCode::Done);
    }
    if listed.runs.is_empty() {
        terminal::say(format_args!("no runs in {}", arguments.output_dir.display()));
    } else {
        let rows: Vec<[String; 8]> = listed.runs.iter().map(|run| row(run, &listed)).collect();
        terminal::answer(TABLE.draw(&rows))?;
    }
    if listed.runs.iter().any(|run| listed.has_baseline(run)) {
        terminal::say("* the baseline of its suite");
    }
    for Baseline { suite, run_id, state, .. } in &listed.baselines {
        let what = match state {
            BaselineState::There => continue,
            BaselineState::Gone => "is gone",
            BaselineState::Changed => "holds other samples than when it was chosen",
        };
        let text = format!("the baseline of the suite '{suite}', run '{run_id}', {what}");
        terminal::say(format_args!("warning: {}", gage_core::printable(&text)));
    }
    Ok(ExitCode::Done)
}

fn look(history: &History) -> Result<Listed, HistoryError> {
    let (runs, unreadable) = (history.runs()?, history.unreadable()?);
    Ok(Listed { runs, unreadable, baselines: history.baselines()? })
}

impl Listed {
    fn has_baseline(&self, run: &HistoryRun) -> bool {
        let is_there = |baseline: &&Baseline| baseline.state != BaselineState::Gone;
        self.baselines.iter().filter(is_there).any(|baseline| baseline.path == run.path)
    }
}

fn to_json(run: &HistoryRun, listed: &Listed) -> Value {
    let first = run.figures.iter().find(|figure| figure.value.is_some());
    json!({
        "run_id": run.run_id,
        "path": run.path.display().to_string(),
        "suite": run.suite,
        "model": run.model,
        "status": run.state(),
        "is_baseline": listed.has_baseline(run),
        "format_version": run.format_version,
        "host_version": run.host_version,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "parent_run": run.parent_run,
        "samples": run.samples,
        "coverage": run.coverage,
        "headline": first.map(|first| json!({
            "task_id": first.task_id, "metric_id": first.metric_id, "value": first.value,
        })),
        "figures": run.figures,
        "lock_digest": run.lock_digest,
        "definition_digest": run.definition_digest,
        "bytes": run.bytes,
    })
}

fn row(run: &HistoryRun, listed: &Listed) -> [String; 8] {
    let first = run.figures.iter().find_map(|figure| Some((figure, figure.value?)));
    let headline = first.map(|(figure, value)| {
        let more = match run.figures.len() - 1 {
            0 => String::new(),
            more => format!(" (+{more})"),
        };
        format!("{} {} {value:.4}{more}", figure.task_id, figure.metric_id)
    });
    let nothing = || "-".to_owned();
    let mark = if listed.has_baseline(run) { " *" } else { "" };
    let cells = [
        format!("{}{mark}", run.run_id),
        run.suite.clone().unwrap_or_else(nothing),
        run.model.as_deref().map_or_else(nothing, |model| terminal::shortened(model, LONGEST_MODEL)),
        run.state().to_owned(),
        run.created_at.clone(),
        run.samples.map_or_else(nothing, |samples| samples.to_string()),
        headline.unwrap_or_else(nothing),
        indicatif::HumanBytes(run.bytes).to_string(),
    ];
    cells.map(|cell: String| gage_core::printable_line(&cell).into_owned())
}

//! Listing of the runs of the folder with their figures, and of the suites that they are of.

use crate::refusal::Refusal;
use crate::root::RunsRoot;
use gage_history::{Baseline, BaselineState, History, HistoryError, HistoryFigure, HistoryRun, Suite};
use gage_record::format::MANIFEST_FILE;
use gage_record::{Manifest, RunFolder, RunStatus};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// Most figures of one run in the list; its report has all.
const MAX_FIGURES: usize = 6;

/// What lies in the folder.
#[derive(Debug, Serialize)]
pub(crate) struct ListedRun {
    /// The newest first.
    runs: Vec<RunLine>,
    /// Folders that are not shown: by their names they cannot be asked for, or a link in them leads out of the
    /// folder.
    left_out: Vec<String>,
    /// Baselines that are gone: the suite, and the run that was chosen.
    baselines_gone: Vec<[String; 2]>,
    /// Why nobody knows which runs are baselines.
    baselines_problem: Option<String>,
}

/// A line of the list.
#[derive(Debug, Default, Serialize)]
struct RunLine {
    /// The name of its folder, by which it is asked for.
    name: String,
    run_id: String,
    /// What it is called: its id, with the name of its folder where that is another.
    label: String,
    suite: Option<String>,
    /// What it is as the baseline of its suite: `there`, `changed` where it holds other samples than when it was chosen, or
    /// `edited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<BaselineState>,
    model: Option<String>,
    /// `live` where it goes on, `killed` where it says so and nobody writes to it.
    status: &'static str,
    created_at: String,
    finished_at: Option<String>,
    parent_run: Option<String>,
    samples: Option<u64>,
    not_reached: u64,
    total_is_least: bool,
    coverage: Option<f64>,
    figures: Vec<HistoryFigure>,
    /// How many figures there are beyond those.
    further: usize,
    /// Why it cannot be read.
    problem: Option<String>,
    /// What of it cannot be trusted, where it was edited.
    edited: Option<String>,
}

/// Reads the index of the folder, which is brought up to date each time.
pub(crate) struct Listing {
    runs: Mutex<History>,
    /// Another, so that the list does not wait while samples are compared.
    suites: Mutex<History>,
}

impl Listing {
    pub(crate) fn open(root: &RunsRoot) -> Result<Listing, HistoryError> {
        let open = || History::open(root.path()).map(Mutex::new);
        Ok(Listing { runs: open()?, suites: open()? })
    }

    /// All runs.
    pub(crate) fn read(&self, root: &RunsRoot) -> Result<ListedRun, Refusal> {
        let mut history = self.runs.lock();
        let shown = |error: HistoryError| refused(&error, root);
        history.refresh().map_err(shown)?;
        let (runs, unreadable) = (history.runs().map_err(shown)?, history.unreadable().map_err(shown)?);
        // A file of baselines that cannot be read is no reason not to show the runs.
        let (baselines, baselines_problem) = match history.baselines() {
            Ok(baselines) => (baselines, None),
            Err(error) => (Vec::new(), Some(error_text(&error, root.path()))),
        };
        drop(history);
        let name_of = |path: &Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let mut lines: Vec<RunLine> = runs.into_iter().map(|run| RunLine::new(run, &baselines)).collect();
        lines.extend(unreadable.iter().map(|run| {
            let name = name_of(&run.path);
            let problem = Some(without_folder(&run.reason, &run.path));
            let (run_id, label) = (name.clone(), name.clone());
            RunLine { run_id, label, name, status: "unreadable", problem, ..RunLine::default() }
        }));
        // One that has lost its manifest is named, and cannot be opened.
        let has_no_manifest = |line: &RunLine| {
            line.problem.is_some() && !root.path().join(&line.name).join(MANIFEST_FILE).exists()
        };
        let (mut lines, left_out): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| root.run(&line.name).is_some() || has_no_manifest(line));
        lines.sort_by(|one, other| (&other.created_at, &other.name).cmp(&(&one.created_at, &one.name)));
        let is_gone = |baseline: &&Baseline| baseline.state == BaselineState::Gone;
        let gone = baselines.iter().filter(is_gone);
        Ok(ListedRun {
            runs: lines,
            left_out: left_out.into_iter().map(|line| line.name).collect(),
            baselines_gone: gone.map(|one| [one.suite.clone(), one.label()]).collect(),
            baselines_problem,
        })
    }

    /// The suites, and of one of them (by default that of which there are most runs) its figures over time. May
    /// read the samples of runs that are new.
    pub(crate) fn history(&self, root: &RunsRoot, wanted: Option<&str>) -> Result<Value, Refusal> {
        let mut history = self.suites.lock();
        let shown = |error: HistoryError| refused(&error, root);
        history.refresh().map_err(shown)?;
        let suites = history.suites().map_err(shown)?;
        let largest = || suites.iter().max_by_key(|suite| suite.runs).map(|suite| suite.name.as_str());
        let Some(name) = wanted.or_else(largest) else { return Ok(json!({"suites": [], "suite": null})) };
        let trends = history.trend(name, None).map_err(shown)?;
        // That samples cannot be compared is no reason not to show figures.
        let (flips, flips_problem) = match history.flip_rate(name) {
            Ok(flips) => (flips, None),
            Err(error) => (Vec::new(), Some(error_text(&error, root.path()))),
        };
        let baseline =
            suites.iter().find(|suite| suite.name == name).and_then(|suite| suite.baseline.as_ref());
        // No folder is named.
        let suite = |suite: &Suite| json!({"name": suite.name, "runs": suite.runs, "first": suite.first, "last": suite.last});
        let chosen = |baseline: &Baseline| json!({"run_id": baseline.run_id, "folder": baseline.folder_name(), "label": baseline.label(), "chosen_at": baseline.chosen_at, "state": baseline.state});
        Ok(json!({
            "suites": suites.iter().map(suite).collect::<Vec<_>>(),
            "suite": name,
            "trends": trends,
            "flips": flips,
            "flips_problem": flips_problem,
            "baseline": baseline.map(chosen),
        }))
    }
}

/// What a suite is not known by is the slip of whoever asks.
fn refused(error: &HistoryError, root: &RunsRoot) -> Refusal {
    let reason = error_text(error, root.path());
    match error {
        HistoryError::UnknownSuite { .. } => Refusal::Unknown(reason),
        _ => Refusal::Failed(reason),
    }
}

impl RunLine {
    fn new(run: HistoryRun, baselines: &[Baseline]) -> RunLine {
        let is_it = |one: &&Baseline| one.state != BaselineState::Gone && one.path == run.path;
        let baseline = baselines.iter().find(is_it).map(|one| one.state);
        let further = run.figures.len().saturating_sub(MAX_FIGURES);
        let status = if run.status == RunStatus::Running && run.is_written { "live" } else { run.state() };
        RunLine {
            name: run.folder_name().to_owned(),
            label: run.label(),
            baseline,
            status,
            figures: run.figures.into_iter().take(MAX_FIGURES).collect(),
            further,
            run_id: run.run_id,
            suite: run.suite,
            model: run.model,
            created_at: run.created_at,
            finished_at: run.finished_at,
            parent_run: run.parent_run,
            samples: run.samples,
            not_reached: run.not_reached,
            total_is_least: run.total_is_least,
            coverage: run.coverage,
            problem: None,
            edited: run.edited,
        }
    }
}

/// Returns whether a run goes on: it says so, and a process writes to it.
pub(crate) fn is_live(folder: &Path) -> bool {
    Manifest::read(folder).is_ok_and(|manifest| manifest.status == RunStatus::Running)
        && RunFolder::is_being_written(folder)
}

/// An error and all that caused it, without the place of the folder on this machine.
pub(crate) fn error_text(error: &dyn std::error::Error, folder: &Path) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    without_folder(&causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")), folder)
}

/// A message without the place of a folder on this machine.
pub(crate) fn without_folder(message: &str, folder: &Path) -> String {
    let path = folder.display().to_string();
    message.replace(&format!("{path}/"), "").replace(&path, "the folder")
}

/// What a page says of one run above what it shows.
pub(crate) fn describe(manifest: &Manifest) -> Value {
    json!({
        "run_id": manifest.run_id,
        "suite": manifest.identity.suite_name(),
        "models": manifest.identity.models(),
        "status": manifest.status.name(),
        "created_at": manifest.created_at,
        "host_version": manifest.host_version,
        "parent_run": manifest.parent_run,
    })
}

//! Listing of the folder's runs with their figures, and of their suites.

use crate::refusal::Refusal;
use crate::root::RunsRoot;
use gage_history::{Baseline, BaselineState, History, HistoryError, HistoryFigure, HistoryRun, Suite};
use gage_record::format::MANIFEST_FILE;
use gage_record::{
    Manifest, RunFolder, RunStatus, ShardState, ShardedRun, ShardedRunFollower, unmerged_runs,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Maximum number of figures per run in the list; its report has all.
const MAX_FIGURES: usize = 6;

/// Content of the folder.
#[derive(Debug, Serialize)]
pub(crate) struct ListedRun {
    /// Runs, the newest first.
    runs: Vec<RunLine>,
    /// Folders that are not shown: their names cannot be requested, or they contain a link that leads out of the
    /// folder.
    left_out: Vec<String>,
    /// Missing baselines: the suite, and the chosen run.
    baselines_gone: Vec<[String; 2]>,
    /// Reason why the baselines are unknown.
    baselines_problem: Option<String>,
}

/// A line of the list.
#[derive(Debug, Default, Serialize)]
struct RunLine {
    /// Name of its folder, used in requests.
    name: String,
    run_id: String,
    /// Label of the run: its ID, with the name of its folder if that differs.
    label: String,
    suite: Option<String>,
    /// State as the baseline of its suite: `there`, `changed` if its samples differ from those when it was chosen, or
    /// `edited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<BaselineState>,
    model: Option<String>,
    /// `live` if it is in progress, `killed` if it claims to be but no process writes to it, `sharded` if its shards are not
    /// merged.
    status: &'static str,
    /// How far its shards are, if they are not merged: `3 of 16 shards done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<String>,
    /// True if it has a page of its shards.
    has_shards: bool,
    /// Cause of an early end.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<String>,
    created_at: String,
    finished_at: Option<String>,
    parent_run: Option<String>,
    samples: Option<u64>,
    not_reached: u64,
    total_is_least: bool,
    coverage: Option<f64>,
    /// Cost of its tokens, if the suite has prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Description of what the cost leaves out: models without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_prices: Option<String>,
    figures: Vec<HistoryFigure>,
    /// Number of further figures.
    further: usize,
    /// Reason why it cannot be read.
    problem: Option<String>,
    /// Untrustworthy parts, if it was edited.
    edited: Option<String>,
}

/// Reads the index of the folder, which is updated each time.
pub(crate) struct Listing {
    runs: Mutex<History>,
    /// A separate instance, so that the list does not wait while samples are compared.
    suites: Mutex<History>,
    /// States of the shards that are not merged. They are not in the index, because each shard changes for itself.
    unmerged: Mutex<HashMap<PathBuf, ShardedRunFollower>>,
}

impl Listing {
    pub(crate) fn open(root: &RunsRoot) -> Result<Listing, HistoryError> {
        let open = || History::open(root.path()).map(Mutex::new);
        Ok(Listing { runs: open()?, suites: open()?, unmerged: Mutex::default() })
    }

    /// Returns all runs.
    pub(crate) fn read(&self, root: &RunsRoot) -> Result<ListedRun, Refusal> {
        let shown = |error: HistoryError| refused(&error, root);
        refresh(&self.runs).map_err(shown)?;
        let history = self.runs.lock();
        let (runs, unreadable) = (history.runs().map_err(shown)?, history.unreadable().map_err(shown)?);
        // An unreadable file of baselines must not prevent the listing of runs.
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
        lines.iter_mut().for_each(|line| line.has_shards = root.sharded_run(&line.name).is_some());
        lines.extend(self.unmerged(root));
        // A run without its manifest, or with one that is no regular file, is listed, and cannot be opened.
        let has_no_manifest = |line: &RunLine| {
            line.problem.is_some() && !root.path().join(&line.name).join(MANIFEST_FILE).is_file()
        };
        let (mut lines, left_out): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| {
            line.shards.is_some() || root.run(&line.name).is_some() || has_no_manifest(line)
        });
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

    /// Returns the runs whose shards are not merged.
    fn unmerged(&self, root: &RunsRoot) -> Vec<RunLine> {
        // A folder that cannot be read was reported by the index.
        let folders = unmerged_runs(root.path()).unwrap_or_default();
        let mut followers = self.unmerged.lock();
        followers.retain(|folder, _| folders.contains(folder));
        let line = |folder: PathBuf| {
            let name = folder.file_name()?.to_str()?.to_owned();
            let has_shards = root.sharded_run(&name).is_some();
            // Nothing outside of the folder is read.
            if !has_shards {
                return Some(RunLine { label: name.clone(), name, status: "sharded", ..RunLine::default() });
            }
            let begin = || ShardedRunFollower::of_states(&folder);
            let read = followers.entry(folder.clone()).or_insert_with(begin).read();
            Some(match read {
                Ok(run) => RunLine::of_shards(name, run),
                Err(error) => RunLine {
                    label: name.clone(),
                    run_id: name.clone(),
                    name,
                    has_shards,
                    status: "unreadable",
                    problem: Some(error_text(&error, &folder)),
                    ..RunLine::default()
                },
            })
        };
        folders.iter().cloned().filter_map(line).collect()
    }

    /// Returns the suites, and the figures of one of them over time (by default the one with the most runs). May read
    /// the samples of new runs.
    pub(crate) fn history(&self, root: &RunsRoot, wanted: Option<&str>) -> Result<Value, Refusal> {
        let shown = |error: HistoryError| refused(&error, root);
        refresh(&self.suites).map_err(shown)?;
        let history = self.suites.lock();
        let suites = history.suites().map_err(shown)?;
        let largest = || suites.iter().max_by_key(|suite| suite.runs).map(|suite| suite.name.as_str());
        let Some(name) = wanted.or_else(largest) else { return Ok(json!({"suites": [], "suite": null})) };
        let trends = history.trend(name, None).map_err(shown)?;
        let pairs = history.run_pairs(name);
        drop(history);
        let flips = pairs.and_then(|mut pairs| {
            pairs.count()?;
            self.suites.lock().flip_rate_of(&pairs)
        });
        // If samples cannot be compared, the figures are still shown.
        let (flips, flips_problem) = match flips {
            Ok(flips) => (flips, None),
            Err(error) => (Vec::new(), Some(error_text(&error, root.path()))),
        };
        let baseline =
            suites.iter().find(|suite| suite.name == name).and_then(|suite| suite.baseline.as_ref());
        // Paths of folders are not revealed.
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

/// Brings an index up to date. It is not locked while run folders are read: they may be from others, and slow to read.
fn refresh(history: &Mutex<History>) -> Result<(), HistoryError> {
    let changed = history.lock().changed_runs()?;
    let update = changed.read();
    history.lock().apply(&update).map(drop)
}

/// Converts an error. An unknown suite is the requester's mistake.
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
            shards: None,
            has_shards: false,
            ended_by: run.ended_by,
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
            cost: run.cost,
            missing_prices: run.missing_prices,
            problem: None,
            edited: run.edited,
        }
    }
}

impl RunLine {
    /// Describes a run whose shards are not merged.
    fn of_shards(name: String, run: ShardedRun) -> RunLine {
        let is_live = run.shards.iter().any(|shard| shard.state == ShardState::Running);
        RunLine {
            name,
            label: run.run_id.clone(),
            status: if is_live { "live" } else { "sharded" },
            shards: Some(run.state()),
            has_shards: true,
            run_id: run.run_id,
            suite: run.suite,
            model: (!run.models.is_empty()).then(|| run.models.join(", ")),
            created_at: run.created_at.unwrap_or_default(),
            ..RunLine::default()
        }
    }
}

/// Returns whether a run is in progress: it claims to be, and a process writes to it.
pub(crate) fn is_live(folder: &Path) -> bool {
    Manifest::read(folder).is_ok_and(|manifest| manifest.status == RunStatus::Running)
        && RunFolder::is_being_written(folder)
}

/// Returns an error and all its causes, without the folder's path on this machine.
pub(crate) fn error_text(error: &dyn std::error::Error, folder: &Path) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    without_folder(&causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")), folder)
}

/// Returns a message without a folder's path on this machine.
pub(crate) fn without_folder(message: &str, folder: &Path) -> String {
    let path = folder.display().to_string();
    message.replace(&format!("{path}/"), "").replace(&path, "the folder")
}

/// Returns the header of a run's page.
pub(crate) fn describe(manifest: &Manifest) -> Value {
    json!({
        "run_id": manifest.run_id,
        "suite": manifest.identity.suite_name(),
        "models": manifest.identity.models(),
        "status": manifest.status.name(),
        "created_at": manifest.created_at,
        "host_version": manifest.host_version,
        "parent_run": manifest.parent_run,
        "shard": manifest.shard.as_ref().map(|shard| json!({
            "run_id": shard.run_id, "number": shard.number, "count": shard.count,
        })),
    })
}

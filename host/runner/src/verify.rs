//! Verification: a run folder is compared with its digests, and its answers are scored again.

use crate::aggregators::Aggregators;
use crate::describe::{describe, describe_requests};
use crate::progress::{EngineEvents, NoProgress};
use crate::request::VerifyRequest;
use crate::rescore::load_expanded;
use crate::run::cores;
use crate::{HOST_VERSION, RunnerError};
use gage_config::{PipelineConfig, Problems, RecordedConfig};
use gage_engine::{Plan, RescoreContext, RunReport, Scoring};
use gage_figures::{Phases, Summary, TaskDescription, WrittenReports, write_reports};
use gage_record::format::{MANIFEST_FILE, SAMPLES_FILE};
use gage_record::{Difference, RunFolder, RunReader, RunStatus, compare};
use gage_suite::{CHECKSUMS, FileState, VerifyReport, check_run};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The outcome of a verification.
#[derive(Debug)]
#[non_exhaustive]
pub struct VerifyOutcome {
    /// The run, and the state of each of its files.
    pub checked: VerifyReport,
    /// What scoring the answers again gave.
    pub rescored: RescoreCheck,
}

impl VerifyOutcome {
    /// Returns whether every file is as it was written, and every figure came out again.
    pub fn is_verified(&self) -> bool {
        self.checked.is_intact()
            && matches!(self.rescored, RescoreCheck::Same { .. } | RescoreCheck::NotTried)
    }
}

/// What scoring the answers of a run again gave.
#[derive(Clone, Debug, PartialEq)]
pub enum RescoreCheck {
    /// It was not asked for, or the journal is damaged.
    NotTried,
    /// The suite or the plugins of the run cannot be had.
    Impossible {
        /// Why.
        reason: String,
    },
    /// Every figure and every sample came out again.
    Same {
        /// The number of figures.
        figures: usize,
        /// Plugins that have changed since.
        plugins: Vec<Difference>,
    },
    /// Some figures or samples did not come out again.
    Different {
        /// The figures.
        figures: Vec<Difference>,
        /// Whether samples differ.
        samples_differ: bool,
        /// Plugins that have changed since.
        plugins: Vec<Difference>,
    },
}

/// Verifies a run folder: its files against their digests, and its figures by scoring the answers again.
///
/// A folder that differs is an outcome and not an error.
///
/// # Errors
/// When the folder is not that of a run, when the run has no figures yet, and when the machine fails.
pub fn verify(request: &VerifyRequest) -> Result<VerifyOutcome, RunnerError> {
    let mut checked = check_run(&request.run)?;
    let manifest = checked.run.manifest();
    if is_without_figures(&checked) && checked.run.integrity().problem().is_some() {
        // Of the other files nothing is known.
        checked.files.retain(|file| file.name == MANIFEST_FILE);
    } else if is_without_figures(&checked) {
        return Err(RunnerError::NoFigures {
            run_id: manifest.run_id.clone(),
            status: manifest.status,
            is_being_written: RunFolder::is_being_written(checked.run.path()),
        });
    }
    let rescored = match request.files_only || !has_journal(&checked) {
        true => RescoreCheck::NotTried,
        false => RecordedRun::open(request, &checked.run)?,
    };
    Ok(VerifyOutcome { checked, rescored })
}

/// Returns whether a run goes on or was killed, so that it has written nothing but its journal for good. One that
/// was interrupted has
/// figures of what it came to.
fn is_without_figures(checked: &VerifyReport) -> bool {
    let manifest = checked.run.manifest();
    match manifest.status {
        RunStatus::Running => true,
        RunStatus::Interrupted => manifest.files.is_empty(),
        RunStatus::Complete | RunStatus::Incomplete => false,
    }
}

/// Returns whether there is a journal with the right checksums, without which nothing can be scored.
fn has_journal(checked: &VerifyReport) -> bool {
    checked.files.last().is_some_and(|file| file.name == CHECKSUMS && file.state == FileState::Intact)
}

/// A run with what scores its answers.
struct RecordedRun<'r> {
    request: &'r VerifyRequest,
    run: &'r RunReader,
    config: PipelineConfig,
    scoring: Vec<Scoring>,
}

impl RecordedRun<'_> {
    /// Finds the suite and the plugins of a run, and compares its figures if they are there.
    fn open(request: &VerifyRequest, run: &RunReader) -> Result<RescoreCheck, RunnerError> {
        let recorded = load_expanded(&run.manifest().identity.config, &[], run);
        let RecordedConfig { config, problems, missing } = recorded;
        let Some(config) = config.filter(|_| !problems.has_errors()) else {
            return Ok(impossible("the manifest holds no configuration that this program reads"));
        };
        if !missing.is_empty() {
            let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
            return Ok(impossible(all.join("; ")));
        }
        let mut registry = match request.context.registry(&request.plugin_folders) {
            Ok(registry) => registry,
            Err(RunnerError::Plugins(error)) => return Ok(impossible(error.to_string())),
            Err(error) => return Err(error),
        };
        let mut problems = Problems::default();
        let Some(scoring) = Plan::scoring(&config, run.manifest(), None, &mut registry, &mut problems) else {
            let first = problems.sorted().first().map(|problem| problem.message.clone());
            return Ok(impossible(first.unwrap_or_default()));
        };
        RecordedRun { request, run, config, scoring }.compare()
    }

    /// Scores the answers into a folder aside, and compares what comes out with what the run has written.
    fn compare(&self) -> Result<RescoreCheck, RunnerError> {
        let aside = tempfile::tempdir()
            .map_err(|error| RunnerError::io("cannot make a folder to score in", error))?;
        let identity = &self.run.manifest().identity;
        let scored = gage_engine::rescore(&RescoreContext {
            parent: self.run,
            config: &identity.config,
            redacted: &identity.redacted,
            tasks: &self.scoring,
            root: aside.path(),
            run_id: &self.run.manifest().run_id,
            host_version: HOST_VERSION,
            workers: cores(),
            progress: &EngineEvents { progress: Arc::new(NoProgress), observability: None },
            stop: &self.request.context.stop,
        });
        let scored = match scored {
            Ok(scored) => scored,
            Err(error) => return Ok(impossible(chain(&error))),
        };
        let before: Value = self.run.summary().unwrap_or_default();
        let written = self.write_reports(&scored, &before)?;
        let figures = compare("summary", &before, &json!(written.summary));
        let samples_differ = self.has_other_samples(&scored)?;
        let plugins = compare("plugins", &json!(identity.plugins), &json!(scored.manifest.identity.plugins));
        // Those that prepare samples and judge answers take no part in scoring.
        let plugins = plugins.into_iter().filter(|one| one.now.is_some()).collect();
        if figures.is_empty() && !samples_differ {
            return Ok(RescoreCheck::Same { figures: written.summary.metrics.len(), plugins });
        }
        Ok(RescoreCheck::Different { figures, samples_differ, plugins })
    }

    /// Writes the reports of the scores, with what only the recorded summary knows.
    fn write_reports(&self, scored: &RunReport, before: &Value) -> Result<WrittenReports, RunnerError> {
        let specs = &self.config.tasks;
        let mut tasks: Vec<TaskDescription> =
            specs.iter().zip(&self.scoring).map(|(spec, scoring)| describe(spec, scoring)).collect();
        describe_requests(&mut tasks, &self.config, self.run.manifest());
        // How many samples a run that was stopped left out cannot be found out from those that it has.
        let summary = Summary::from_value(before.clone()).ok();
        let tasks_before = summary.iter().flat_map(|summary| &summary.tasks);
        let completeness = tasks_before.map(|task| (task.task_id.clone(), task.completeness())).collect();
        let aggregators = Aggregators::new(self.scoring.iter());
        let custom = |task_id: &str, metric_id: &str| aggregators.fold(task_id, metric_id);
        write_reports(&scored.folder, &tasks, &completeness, &Phases::default(), &custom)
            .map_err(RunnerError::Report)
    }

    /// Returns whether other samples came out than the run has written.
    fn has_other_samples(&self, scored: &RunReport) -> Result<bool, RunnerError> {
        let [recorded, now] = [self.run.path().join(SAMPLES_FILE), scored.folder.path_of(SAMPLES_FILE)];
        Ok(digest_of(&recorded)? != digest_of(&now)?)
    }
}

fn impossible(reason: impl Into<String>) -> RescoreCheck {
    RescoreCheck::Impossible { reason: reason.into() }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The digest of a file; none if it is not there.
fn digest_of(path: &Path) -> Result<Option<gage_core::Digest>, RunnerError> {
    match std::fs::File::open(path).and_then(gage_core::Digest::of_reader) {
        Ok(digest) => Ok(Some(digest)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RunnerError::io(format!("cannot read {}", path.display()), error)),
    }
}

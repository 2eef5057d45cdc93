//! Verification: compares a run folder with its digests, and scores its answers again.

use crate::aggregators::Aggregators;
use crate::describe::{describe, describe_requests};
use crate::error::with_causes;
use crate::live_reports::LiveReports;
use crate::packages::pin_packages;
use crate::progress::{EngineEvents, NoProgress};
use crate::request::VerifyRequest;
use crate::rescore::{load_expanded, permissions_of};
use crate::shortage::watched;
use crate::{HOST_VERSION, RunnerError};
use gage_config::{PipelineConfig, Problems, RecordedConfig};
use gage_core::ShortageWatch;
use gage_core::foreign_file::FileRefusal;
use gage_engine::{Plan, RescoreContext, Scoring};
use gage_figures::{Completeness, Phases, Summary, TaskDescription, WrittenReports};
use gage_plugin::RegistryError;
use gage_record::format::{MANIFEST_FILE, SAMPLES_FILE};
use gage_record::{Difference, RunFolder, RunReader, RunStatus, compare, open_run_file};
use gage_suite::{CHECKSUMS, FileState, VerifyReport, check_run};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Outcome of a verification.
#[derive(Debug)]
#[non_exhaustive]
pub struct VerifyOutcome {
    /// The run, and the state of each of its files.
    pub checked: VerifyReport,
    /// Result of scoring the answers again.
    pub rescored: RescoreCheck,
}

impl VerifyOutcome {
    /// Returns true if every file is unchanged, and every figure was reproduced.
    pub fn is_verified(&self) -> bool {
        self.checked.is_intact()
            && matches!(self.rescored, RescoreCheck::Same { .. } | RescoreCheck::NotTried)
    }
}

/// Result of scoring the answers of a run again.
#[derive(Clone, Debug, PartialEq)]
pub enum RescoreCheck {
    /// Not requested, or the journal is damaged.
    NotTried,
    /// The suite or the plugins of the run are not available.
    Impossible {
        /// The reason.
        reason: String,
    },
    /// Every figure and every sample was reproduced.
    Same {
        /// Number of figures.
        figures: usize,
        /// Plugins that have changed since the run.
        plugins: Vec<Difference>,
    },
    /// Some figures or samples were not reproduced.
    Different {
        /// The differing figures.
        figures: Vec<Difference>,
        /// True if samples differ.
        samples_differ: bool,
        /// Plugins that have changed since the run.
        plugins: Vec<Difference>,
    },
}

/// Verifies a run folder: its files by their digests, and its figures by scoring the answers again.
///
/// A folder that differs is an outcome and not an error.
///
/// # Errors
/// Fails if it is not a run folder, if the run has no figures yet, or if the machine fails.
pub fn verify(request: &VerifyRequest) -> Result<VerifyOutcome, RunnerError> {
    watched(|shortages| check(request, shortages))
}

fn check(request: &VerifyRequest, shortages: ShortageWatch) -> Result<VerifyOutcome, RunnerError> {
    let mut checked = check_run(&request.run)?;
    let manifest = checked.run.manifest();
    if is_without_figures(&checked) && checked.run.integrity().problem().is_some() {
        // The state of the other files is unknown.
        checked.files.retain(|file| file.name == MANIFEST_FILE);
    } else if is_without_figures(&checked) {
        let is_being_written = RunFolder::is_being_written(checked.run.path());
        // Only a changed input ends a run with a reason and without figures.
        if let Some(reason) = manifest.ended_by.clone().filter(|_| !is_being_written) {
            return Err(RunnerError::ChangedInput { run_id: manifest.run_id.clone(), reason });
        }
        return Err(RunnerError::NoFigures {
            run_id: manifest.run_id.clone(),
            status: manifest.status,
            is_being_written,
        });
    }
    let rescored = match request.files_only || !has_journal(&checked) {
        true => RescoreCheck::NotTried,
        false => RecordedRun::open(request, &checked, shortages)?,
    };
    Ok(VerifyOutcome { checked, rescored })
}

/// Returns true if a run is in progress or was killed, so that only its journal is final. An interrupted run has
/// figures for the samples that it reached.
fn is_without_figures(checked: &VerifyReport) -> bool {
    let manifest = checked.run.manifest();
    match manifest.status {
        RunStatus::Running => true,
        RunStatus::Interrupted => manifest.files.is_empty(),
        RunStatus::Complete | RunStatus::Incomplete => false,
    }
}

/// Returns true if the journal exists and its checksums match. Without it, nothing can be scored.
fn has_journal(checked: &VerifyReport) -> bool {
    checked.files.last().is_some_and(|file| file.name == CHECKSUMS && file.state == FileState::Intact)
}

/// A run, with its suite and its scoring.
struct RecordedRun<'r> {
    request: &'r VerifyRequest,
    checked: &'r VerifyReport,
    run: &'r RunReader,
    config: PipelineConfig,
    scoring: Vec<Scoring>,
    shortages: ShortageWatch,
}

impl RecordedRun<'_> {
    /// Loads the suite and the plugins of a run, and compares its figures if they are available.
    fn open(
        request: &VerifyRequest,
        checked: &VerifyReport,
        shortages: ShortageWatch,
    ) -> Result<RescoreCheck, RunnerError> {
        let run = &checked.run;
        let permissions = permissions_of(&request.context, run);
        let recorded = load_expanded(&run.manifest().identity.config, &[], run, &permissions);
        let RecordedConfig { config, problems, missing } = recorded;
        if problems.resources.is_refused() {
            return Err(RunnerError::problems(problems));
        }
        let Some(mut config) = config.filter(|_| !problems.has_errors()) else {
            return Ok(impossible("the manifest has no configuration that this program reads"));
        };
        if !missing.is_empty() {
            let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
            return Ok(impossible(all.join("; ")));
        }
        let mut registry = match request.context.registry(&request.plugin_folders) {
            Ok(registry) => registry,
            Err(RunnerError::Plugins(error)) if !matches!(error, RegistryError::Untrusted(_)) => {
                return Ok(impossible(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        // Nothing is fetched: the cache must have what the run used.
        pin_packages(&mut config, &run.manifest().plugins);
        let mut problems = Problems::default();
        let Some(scoring) = Plan::scoring(&config, run.manifest(), None, &mut registry, &mut problems) else {
            if problems.has_untrusted_plugin() {
                return Err(RunnerError::problems(problems));
            }
            let first = problems.sorted().first().map(|problem| problem.message.clone());
            return Ok(impossible(first.unwrap_or_default()));
        };
        RecordedRun { request, checked, run, config, scoring, shortages }.compare()
    }

    /// Scores the answers into a temporary folder, and compares the results with the run.
    fn compare(&self) -> Result<RescoreCheck, RunnerError> {
        let aside = tempfile::tempdir()
            .map_err(|error| RunnerError::io("cannot make a folder to score in", error))?;
        let Some(journal) = &self.checked.journal else { return Ok(RescoreCheck::NotTried) };
        let identity = &self.run.manifest().identity;
        let before: Value = self.run.summary().ok().flatten().unwrap_or_default();
        let specs = &self.config.tasks;
        let mut tasks: Vec<TaskDescription> =
            specs.iter().zip(&self.scoring).map(|(spec, scoring)| describe(spec, scoring)).collect();
        describe_requests(&mut tasks, &self.config, self.run.manifest());
        let aggregators = Aggregators::new(self.scoring.iter());
        let custom = |task_id: &str, metric_id: &str| aggregators.fold(task_id, metric_id);
        let reports = LiveReports::without_samples(&tasks, &custom);
        let scored = gage_engine::rescore(&RescoreContext {
            parent: self.run,
            journal,
            config: &identity.config,
            redacted: &identity.redacted,
            permissions: None,
            tasks: &self.scoring,
            root: aside.path(),
            run_id: &self.run.manifest().run_id,
            host_version: HOST_VERSION,
            keeps_journal: false,
            records: Some(&reports),
            progress: &EngineEvents { progress: Arc::new(NoProgress), observability: None },
            stop: &self.request.context.stop,
            shortages: self.shortages,
        });
        let scored = match scored {
            Ok(scored) => scored,
            Err(error) => return Ok(impossible(with_causes(&error))),
        };
        let Some(begun) = reports.into_result()? else { return Ok(RescoreCheck::NotTried) };
        let written =
            begun.builder.finish(&scored.folder, &tasks, &completeness(&before), Phases::default)?;
        let figures = compare("summary", &without_plugins(before), &json!(written.summary));
        let samples_differ = self.has_other_samples(&written)?;
        let plugins = compare("plugins", &json!(identity.plugins), &json!(scored.manifest.identity.plugins));
        // Plugins that prepare samples or judge answers are not used for scoring.
        let plugins = plugins.into_iter().filter(|one| one.now.is_some()).collect();
        if figures.is_empty() && !samples_differ {
            return Ok(RescoreCheck::Same { figures: written.summary.metrics.len(), plugins });
        }
        Ok(RescoreCheck::Different { figures, samples_differ, plugins })
    }

    /// Returns true if the samples differ from the recorded ones.
    fn has_other_samples(&self, written: &WrittenReports) -> Result<bool, RunnerError> {
        let now = written.files.get(SAMPLES_FILE);
        let recorded = match self.checked.state_of(SAMPLES_FILE) {
            Some(FileState::Intact) => self.run.manifest().files.get(SAMPLES_FILE).map(|file| file.digest),
            _ => digest_of_samples(self.run.path(), now.map_or(0, |file| file.bytes))?,
        };
        Ok(recorded != now.map(|file| file.digest))
    }
}

/// Returns how many samples a run planned, which the samples of an interrupted run do not reveal.
fn completeness(before: &Value) -> Completeness {
    let summary = Summary::from_value(before.clone()).ok();
    let tasks = summary.iter().flat_map(|summary| &summary.tasks);
    tasks.map(|task| (task.task_id.clone(), task.completeness())).collect()
}

/// Returns a summary without the sources and signers of its plugins, which are facts of the run.
fn without_plugins(mut summary: Value) -> Value {
    if let Value::Object(keys) = &mut summary {
        keys.shift_remove("plugins");
    }
    summary
}

fn impossible(reason: impl Into<String>) -> RescoreCheck {
    RescoreCheck::Impossible { reason: reason.into() }
}

/// Returns the digest of the samples, or `None` if there is no regular file of this size.
fn digest_of_samples(run: &Path, bytes: u64) -> Result<Option<gage_core::Digest>, RunnerError> {
    let digest = open_run_file(run, SAMPLES_FILE).and_then(|file| match file.metadata()?.len() == bytes {
        true => gage_core::Digest::of_reader(file).map(Some),
        false => Ok(None),
    });
    match digest {
        Ok(digest) => Ok(digest),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // The file is reported as damaged.
        Err(error) if FileRefusal::find(&error).is_some() => Ok(None),
        Err(error) => {
            let path = run.join(SAMPLES_FILE);
            Err(RunnerError::io(format!("cannot read {}", path.display()), error))
        }
    }
}

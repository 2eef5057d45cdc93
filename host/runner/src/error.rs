//! Errors of the library: one enum, in which each variant has one category.

use crate::error_category::ErrorCategory;
use crate::merge_error::MergeError;
use crate::other_run::OtherRun;
use gage_backend::{AnswerCacheError, BatchError, RecordingError};
use gage_config::{MissingVariable, Problems, shown_path};
use gage_core::{ResourceShortage, Shard};
use gage_data::DataError;
use gage_engine::{RescoreError, RunError};
use gage_figures::FiguresError;
use gage_observe::{HttpRecorderError, TelemetryError};
use gage_plugin::RegistryError;
use gage_record::{Difference, Manifest, RecordError, RunStatus};
use gage_suite::{SuiteError, UnknownPart};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Error of a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// A run with this id already exists.
    #[error("there is a run '{run_id}' already in {}", .root.display())]
    RunExists {
        /// The id.
        run_id: String,
        /// Folder of all runs.
        root: PathBuf,
        /// True if the run has ended by itself, so that there is nothing to continue.
        is_finished: bool,
    },
    /// A run folder cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder of all runs cannot be read.
    #[error("cannot read the folder {}: {error}", .root.display())]
    UnreadableRuns {
        /// The folder.
        root: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The suite has no unfinished run.
    #[error(
        "{} has no run of this suite that can be resumed{}",
        .root.display(),
        .other.as_ref().map(ToString::to_string).unwrap_or_default()
    )]
    NothingToResume {
        /// Folder of all runs.
        root: PathBuf,
        /// The newest unfinished run with another configuration, if there is one.
        other: Option<OtherRun>,
    },
    /// The folder of all runs cannot be created.
    #[error("cannot write to the folder {}: {error}", shown_path(.path))]
    OutputFolder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The suite has errors.
    #[error("the suite has errors")]
    Problems(Box<Problems>),
    /// Packages of the suite cannot be fetched.
    #[error("packages of the suite cannot be fetched")]
    UnfetchedPackages {
        /// The errors.
        problems: Box<Problems>,
        /// The category of all errors together.
        category: ErrorCategory,
    },
    /// A lock, a template or another file of a frozen suite cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A folder of plugins cannot be used.
    #[error(transparent)]
    Plugins(#[from] RegistryError),
    /// The platform cannot run components.
    #[error("{0}")]
    PluginHost(String),
    /// Events cannot be posted to the address.
    #[error("events cannot be posted: {0}")]
    EventsUrl(HttpRecorderError),
    /// The trace collector cannot be used.
    #[error("traces cannot be sent: {0}")]
    TraceCollector(TelemetryError),
    /// The metrics cannot be served.
    #[error("cannot serve counters at {address}: {error}")]
    MetricsAddress {
        /// The address.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// The HTTP exchanges cannot be recorded or replayed.
    #[error(transparent)]
    HttpRecording(#[from] RecordingError),
    /// The HTTP exchanges of a run could not be recorded, which ended it.
    #[error(
        "the run was stopped, because its HTTP exchanges could not be recorded: {0}; what was recorded before is safe: \
         remove the cause, then continue with --resume and --record"
    )]
    UnwrittenRecording(RecordingError),
    /// The suite has requests that cannot be answered in bulk.
    #[error("the requests cannot be answered in bulk: {message}")]
    UnsuitedForBatch {
        /// The reason, and what is possible.
        message: String,
    },
    /// A file of requests or results cannot be used.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A shard is asked for without the id of its run.
    #[error("a shard needs the id of its run, which all shards share")]
    ShardWithoutRun,
    /// A shard was merged, and its folder is gone.
    #[error(
        "shard {shard} of {} was merged, and its folder is gone; the merged run has its records: restore the folder, or name another \
         run with --run-id",
        .run.display()
    )]
    ShardGone {
        /// The shard.
        shard: Shard,
        /// The folder of the run.
        run: PathBuf,
    },
    /// The run cannot be divided into shards.
    #[error("the run cannot be divided into shards: {message}")]
    UnsuitedForShards {
        /// The reason.
        message: String,
    },
    /// The shards of a run cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The answer cache conflicts with a recording.
    #[error("an answer cache cannot be used together with a recording or a replay")]
    CacheWithRecording,
    /// The answer cache has no folder, because the user has no cache folder.
    #[error("the answer cache has no folder: neither HOME nor XDG_CACHE_HOME is set")]
    NoCacheFolder,
    /// The answer cache cannot be used.
    #[error(transparent)]
    AnswerCache(#[from] AnswerCacheError),
    /// The suite differs from its lock.
    #[error("lock mismatch: the suite differs from {}", .path.display())]
    LockMismatch {
        /// The lock.
        path: PathBuf,
        /// The differences.
        differences: Vec<Difference>,
    },
    /// This machine cannot run the locked kernel variant.
    #[error(
        "the lock {} was made with the kernel variant `{variant}` of llama.cpp for the backend `{backend_id}`, which cannot run \
         here: {reason}", .path.display()
    )]
    LockedKernels {
        /// The lock.
        path: PathBuf,
        /// The backend.
        backend_id: String,
        /// The locked variant.
        variant: String,
        /// The reason why it cannot run.
        reason: String,
    },
    /// The lock is for another suite.
    #[error("the lock {} is of the suite `{locked}`, but this is `{found}`", .path.display())]
    LockOfAnotherSuite {
        /// The lock.
        path: PathBuf,
        /// The suite of the lock.
        locked: String,
        /// The suite in use.
        found: String,
    },
    /// The suite is unusable, and its parts differ from the lock.
    #[error("{reason}")]
    ChangedSinceLock {
        /// The error that makes the suite unusable.
        reason: Box<RunnerError>,
        /// The differences.
        differences: Vec<Difference>,
    },
    /// Locks do not have this part.
    #[error(transparent)]
    UnknownLockPart(#[from] UnknownPart),
    /// The rows of a dataset cannot be counted.
    #[error(transparent)]
    Rows(#[from] DataError),
    /// The run could not start, continue or finish.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The answers could not be scored again.
    #[error(transparent)]
    Rescore(#[from] RescoreError),
    /// The manifest of a run was modified after it was written.
    #[error("the manifest of {} cannot be trusted: {reason}", shown_path(.path))]
    UntrustedManifest {
        /// The run folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The run has no sample.
    #[error("{} has no sample whose answer could be scored", shown_path(.path))]
    NothingToScore {
        /// The run folder.
        path: PathBuf,
    },
    /// The manifest of a run holds no configuration.
    #[error("the manifest of {} has no configuration", .path.display())]
    NoConfiguration {
        /// The run folder.
        path: PathBuf,
    },
    /// The run's suite has values that were not recorded, and their variables do not supply them.
    #[error("the answers cannot be scored as they were: {}", listed(.0))]
    MissingVariables(Vec<MissingVariable>),
    /// An override has no effect on existing answers.
    #[error("`--set` changes `{key}`, which has no effect on answers that were given already")]
    OverrideWithoutEffect {
        /// The key.
        key: String,
    },
    /// No task has the judge that is to be asked again.
    #[error("{}", unknown_judge(.judge, .known))]
    UnknownJudge {
        /// The name; empty for all judges.
        judge: String,
        /// The judges of the suite.
        known: String,
    },
    /// The repeats of a task differ from those of its run.
    #[error("the task `{task_id}` has `repeat: {repeat}`, and the run asked with `repeat: {asked}`")]
    OtherRepeats {
        /// The task.
        task_id: String,
        /// The repeats of the suite.
        repeat: u64,
        /// The repeats of the run.
        asked: u64,
    },
    /// The run has not finished, so it has no figures.
    #[error("the run {run_id} has not ended (status `{}`): it has no figures yet", .status.name())]
    NoFigures {
        /// The run.
        run_id: String,
        /// The status.
        status: RunStatus,
        /// True if a process is writing to it.
        is_being_written: bool,
    },
    /// The run ended without figures, because an input changed.
    #[error("the run {run_id} has no figures: {reason}")]
    ChangedInput {
        /// The run.
        run_id: String,
        /// The reason, with the input.
        reason: String,
    },
    /// The reports cannot be written.
    #[error(transparent)]
    Report(#[from] FiguresError),
    /// The configuration cannot be written as YAML.
    #[error("cannot write the configuration as YAML")]
    Yaml(#[source] serde_yaml::Error),
    /// A signal came while the models were loaded.
    #[error("stopped while the models were loaded; no request was sent")]
    InterruptedLoad,
    /// The time of the run was over while the models were loaded.
    #[error("max_time {} s was over while the models were loaded; no request was sent", .max_time.as_secs_f64())]
    LoadTimeExceeded {
        /// The time limit of the run.
        max_time: Duration,
    },
    /// The machine has too little of a resource.
    #[error("{message}")]
    Shortage {
        /// What failed, what is short, and which limit is likely the reason.
        message: String,
        /// The run that can be resumed, if it has begun.
        run_id: Option<String>,
    },
    /// A file of the machine cannot be used.
    #[error("{action}")]
    Io {
        /// The attempted action.
        action: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn listed(missing: &[MissingVariable]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the message for a judge that does not exist.
fn unknown_judge(judge: &str, known: &str) -> String {
    match (judge, known) {
        (_, "") => "no answer can be judged: no task of the suite has the step `judge`".to_owned(),
        (judge, known) => format!("the suite has no judge `{judge}`; expected one of: {known}"),
    }
}

impl RunnerError {
    pub(crate) fn io(
        action: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> RunnerError {
        RunnerError::Io { action: action.into(), source: source.into() }
    }

    /// Creates the error for the id of a run that exists.
    pub(crate) fn run_exists(root: &Path, run_id: &str) -> RunnerError {
        let manifest = Manifest::read(&root.join(run_id));
        RunnerError::RunExists {
            run_id: run_id.to_owned(),
            root: root.to_owned(),
            is_finished: manifest.is_ok_and(|manifest| manifest.is_finished()),
        }
    }

    /// Creates the error for a file of the run folder that could not be written.
    pub(crate) fn unwritten(error: RecordError) -> RunnerError {
        RunnerError::Report(FiguresError::Record(error))
    }

    pub(crate) fn problems(problems: Problems) -> RunnerError {
        RunnerError::Problems(Box::new(problems))
    }

    /// Returns the shortage of the machine that the error is about.
    pub(crate) fn shortage(&self) -> Option<ResourceShortage> {
        match self {
            RunnerError::Run(
                RunError::Shortage(shortage) | RunError::Data(DataError::Shortage(shortage)),
            )
            | RunnerError::Rescore(RescoreError::Shortage(shortage))
            | RunnerError::Rows(DataError::Shortage(shortage)) => Some(shortage.clone()),
            other => ResourceShortage::find(other),
        }
    }

    /// Adds differences from a lock to the error, if there are any.
    pub(crate) fn with_changes(self, differences: Vec<Difference>) -> RunnerError {
        match differences.is_empty() {
            true => self,
            false => RunnerError::ChangedSinceLock { reason: Box::new(self), differences },
        }
    }

    /// Returns the category of the error.
    pub fn category(&self) -> ErrorCategory {
        match self {
            RunnerError::Problems(problems) if problems.has_untrusted_plugin() => ErrorCategory::LockMismatch,
            RunnerError::UnfetchedPackages { category, .. } => *category,
            RunnerError::LockMismatch { .. }
            | RunnerError::Plugins(RegistryError::Untrusted(_))
            | RunnerError::LockedKernels { .. }
            | RunnerError::LockOfAnotherSuite { .. }
            | RunnerError::ChangedSinceLock { .. }
            | RunnerError::ChangedInput { .. }
            | RunnerError::Run(RunError::Changed { .. } | RunError::OtherInputs { .. }) => {
                ErrorCategory::LockMismatch
            }
            RunnerError::Merge(MergeError::Incomplete { .. }) => ErrorCategory::Incomplete,
            RunnerError::Merge(MergeError::NoShards { .. }) => ErrorCategory::Configuration,
            RunnerError::Merge(_) => ErrorCategory::LockMismatch,
            RunnerError::PluginHost(_)
            | RunnerError::Yaml(_)
            | RunnerError::Shortage { .. }
            | RunnerError::UnwrittenRecording(_)
            | RunnerError::Io { .. } => ErrorCategory::Internal,
            RunnerError::Run(error) if !is_of_user(error) => ErrorCategory::Internal,
            RunnerError::Report(error) if !is_damaged_run(error) => ErrorCategory::Internal,
            RunnerError::Rescore(error)
                if !matches!(error, RescoreError::Record(_) | RescoreError::UnknownTask { .. }) =>
            {
                ErrorCategory::Internal
            }
            _ => ErrorCategory::Configuration,
        }
    }
}

/// Formats an error with its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Returns true if the suite, its data or its folder made a run fail, rather than the machine.
fn is_of_user(error: &RunError) -> bool {
    matches!(
        error,
        RunError::IdentityMismatch(_)
            | RunError::OtherAnswers(_)
            | RunError::Changed { .. }
            | RunError::Data(_)
            | RunError::FewerSamples { .. }
            | RunError::OtherShard { .. }
            | RunError::OtherInputs { .. }
            | RunError::IncompleteRecording { .. }
    ) || matches!(error, RunError::Record(error) if is_of_folder(error))
}

/// Returns true if a run folder, or its name, made a call fail, rather than the machine.
fn is_of_folder(error: &RecordError) -> bool {
    matches!(
        error,
        RecordError::RunExists { .. }
            | RecordError::Locked { .. }
            | RecordError::NoLocks { .. }
            | RecordError::RunMissing { .. }
            | RecordError::NotARunFolder { .. }
            | RecordError::Invalid { .. }
            | RecordError::Refused { .. }
            | RecordError::DamagedJournal { .. }
            | RecordError::ForeignJournal { .. }
            | RecordError::NewerFormat { .. }
            | RecordError::InvalidRunId(_)
    )
}

/// Returns true if the files of a run made its figures fail.
fn is_damaged_run(error: &FiguresError) -> bool {
    match error {
        FiguresError::Record(error) => is_of_folder(error),
        FiguresError::UnknownTask { .. }
        | FiguresError::UnknownMetric { .. }
        | FiguresError::NewerFormat { .. }
        | FiguresError::Read { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn damaged_runs_are_no_failures_of_the_program() {
        let path = || PathBuf::from("runs/one/journal");
        let invalid = || RecordError::Invalid { path: path(), reason: "a reason".to_owned() };
        let failed = || RecordError::Io { action: "write", path: path(), source: io::Error::other("full") };
        let unknown = FiguresError::UnknownTask { task_id: "t".to_owned(), known: "u".to_owned() };
        for (error, category) in [
            (RunnerError::Report(unknown), ErrorCategory::Configuration),
            (RunnerError::unwritten(invalid()), ErrorCategory::Configuration),
            (RunnerError::Run(RunError::Record(invalid())), ErrorCategory::Configuration),
            (RunnerError::unwritten(failed()), ErrorCategory::Internal),
            (RunnerError::Run(RunError::Record(failed())), ErrorCategory::Internal),
        ] {
            assert_eq!(error.category(), category, "{error}");
        }
    }
    #[test]
    fn failed_recording_is_a_failure_of_the_machine() {
        let source = io::Error::other("Input/output error");
        let error =
            RunnerError::UnwrittenRecording(RecordingError::File { path: "tape.zst".to_owned(), source });
        assert_eq!(error.category(), ErrorCategory::Internal);
        let message = error.recorded("run_folders");
        assert!(message.contains("could not be recorded: tape.zst: Input/output error"), "{message}");
    }
}

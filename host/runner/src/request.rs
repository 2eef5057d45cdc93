//! Requests to run, resume, rescore, verify or lock.

use crate::answer_cache::CacheOptions;
use crate::http_exchanges::HttpExchanges;
use crate::observe::ObserveOptions;
use crate::{Context, SuiteSource};
use gage_config::BudgetSpec;
use gage_core::{Outcome, Shard};
use gage_record::Manifest;
use std::path::PathBuf;

/// Default number of requests in flight.
pub const DEFAULT_CONCURRENCY: usize = 16;

/// A request to run a suite.
#[derive(Clone)]
pub struct RunRequest {
    /// The machine, the progress listener, and the cancellation token.
    pub context: Context,
    /// The suite.
    pub suite: SuiteSource,
    /// Folder of all runs; default `runs`.
    pub output_folder: PathBuf,
    /// Name of the run and of its folder; default created from the date and the time.
    pub run_id: Option<String>,
    /// The shard to start or to continue, below the folder of the run. It needs a `run_id`. `None` for the whole run.
    pub shard: Option<Shard>,
    /// The manifest of another shard of the run that is not in the output folder, such as one in object storage. Both shards
    /// need the same inputs.
    pub other_shard: Option<Box<Manifest>>,
    /// Maximum number of requests in flight; default [`DEFAULT_CONCURRENCY`]. Limits of the suite below it are only noted if
    /// it is given.
    pub concurrency: Option<usize>,
    /// Maximum number of samples per task.
    pub max_samples: Option<u64>,
    /// Number of scoring threads; default one per core.
    pub scoring_threads: Option<usize>,
    /// Number of tasks that run concurrently; default the suite's.
    pub task_parallelism: Option<usize>,
    /// Budget of the run; each value takes precedence over the suite's.
    pub budget: BudgetSpec,
    /// True to forbid downloads of datasets and model files.
    pub is_offline: bool,
    /// The lock that the suite must match.
    pub lock: Option<PathBuf>,
    /// Handling of HTTP exchanges with backends.
    pub exchanges: HttpExchanges,
    /// The answer cache.
    pub cache: CacheOptions,
    /// The recipients of events, counters and traces.
    pub observe: ObserveOptions,
}

impl RunRequest {
    /// Creates a request for a suite with all defaults.
    pub fn new(suite: impl Into<SuiteSource>) -> RunRequest {
        RunRequest {
            context: Context::default(),
            suite: suite.into(),
            output_folder: PathBuf::from("runs"),
            run_id: None,
            shard: None,
            other_shard: None,
            concurrency: None,
            max_samples: None,
            scoring_threads: None,
            task_parallelism: None,
            budget: BudgetSpec::default(),
            is_offline: false,
            lock: None,
            exchanges: HttpExchanges::Live,
            cache: CacheOptions::default(),
            observe: ObserveOptions::default(),
        }
    }
}

/// A request to resume an unfinished run.
#[derive(Clone)]
pub struct ResumeRequest {
    /// The run; without an id, the newest unfinished run of the suite.
    pub run: RunRequest,
    /// Outcomes whose samples are retried, besides backend failures.
    pub retry: Vec<Outcome>,
    /// Judges that are asked again about all recorded answers. An empty list means all judges. Judges and metrics may
    /// have changed. `None` if no judge is asked again.
    pub rejudge: Option<Vec<String>>,
}

/// A request to score the answers of a run again, without calls of the model under test.
#[derive(Clone, Default)]
pub struct RescoreRequest {
    /// The machine, the progress listener, and the cancellation token.
    pub context: Context,
    /// The run folder.
    pub run: PathBuf,
    /// Metrics that replace the suite's, in any form that a suite accepts.
    pub metrics: Vec<String>,
    /// A suite that replaces the run's.
    pub suite: Option<PathBuf>,
    /// Values that override the suite's.
    pub overrides: Vec<String>,
    /// Folders of components.
    pub plugin_folders: Vec<PathBuf>,
    /// Folder of the new run; default the one that contains the original run.
    pub output_folder: Option<PathBuf>,
    /// Name of the new run; default created from the date and the time.
    pub run_id: Option<String>,
    /// Judges that are asked again; all if it is empty. `None` to keep the recorded verdicts.
    pub judges: Option<Vec<String>>,
    /// Maximum number of requests to judges in flight; default [`DEFAULT_CONCURRENCY`].
    pub concurrency: Option<usize>,
    /// True to forbid downloads of plugins, datasets and model files.
    pub is_offline: bool,
}

impl RescoreRequest {
    /// Creates a request to score a run's answers with its own suite.
    pub fn new(run: impl Into<PathBuf>) -> RescoreRequest {
        RescoreRequest { run: run.into(), ..RescoreRequest::default() }
    }
}

/// A request to merge the shards of a run.
#[derive(Clone, Default)]
pub struct MergeRequest {
    /// The machine, the progress listener, and the cancellation token.
    pub context: Context,
    /// The folder of the run, which has the folder of its shards.
    pub run: PathBuf,
    /// Folders of components.
    pub plugin_folders: Vec<PathBuf>,
    /// True to write the run even if shards or records are missing.
    pub is_partial: bool,
    /// True to forbid downloads of plugins.
    pub is_offline: bool,
}

impl MergeRequest {
    /// Creates a request to merge the shards of a run, if they are complete.
    pub fn new(run: impl Into<PathBuf>) -> MergeRequest {
        MergeRequest { run: run.into(), ..MergeRequest::default() }
    }
}

/// A request to verify a run folder.
#[derive(Clone, Default)]
pub struct VerifyRequest {
    /// The machine, and the cancellation token.
    pub context: Context,
    /// The run folder.
    pub run: PathBuf,
    /// Folders of components.
    pub plugin_folders: Vec<PathBuf>,
    /// True to compare only digests and checksums, without scoring the answers again.
    pub files_only: bool,
}

impl VerifyRequest {
    /// Creates a request to verify a run folder and score its answers again.
    pub fn new(run: impl Into<PathBuf>) -> VerifyRequest {
        VerifyRequest { run: run.into(), ..VerifyRequest::default() }
    }
}

/// A request to create, compare or update the lock of a suite.
#[derive(Clone)]
pub struct LockRequest {
    /// The machine, and the progress listener.
    pub context: Context,
    /// The suite.
    pub suite: SuiteSource,
    /// The lock file; default next to the suite, with its name.
    pub path: Option<PathBuf>,
    /// True to forbid downloads of datasets and model files.
    pub is_offline: bool,
    /// The action.
    pub action: LockAction,
}

/// Action on a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAction {
    /// Creates the lock, or compares an existing one with the suite.
    Create,
    /// Compares the lock with the suite.
    Check,
    /// Updates everything that differs.
    Update,
    /// Updates only one part, such as `datasets.piqa`.
    UpdatePart(String),
}

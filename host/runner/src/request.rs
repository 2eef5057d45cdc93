//! The requests: what is run, resumed, scored again, verified or locked, and how.

use crate::answer_cache::CacheOptions;
use crate::http_exchanges::HttpExchanges;
use crate::observe::ObserveOptions;
use crate::{Context, SuiteSource};
use gage_config::BudgetSpec;
use gage_core::Outcome;
use std::path::PathBuf;

/// Requests in flight, if a request does not say.
pub const DEFAULT_CONCURRENCY: usize = 16;

/// A request to run a suite.
#[derive(Clone)]
pub struct RunRequest {
    /// The machine, the listener for progress, the token that stops the run.
    pub context: Context,
    /// The suite.
    pub suite: SuiteSource,
    /// The folder of all runs. Default: `runs`.
    pub output_folder: PathBuf,
    /// The name of the run and of its folder. Default: made from the date and the time.
    pub run_id: Option<String>,
    /// Requests in flight, at most.
    pub concurrency: usize,
    /// The most samples of each task.
    pub max_samples: Option<u64>,
    /// Threads that score. Default: one for each core.
    pub scoring_threads: Option<usize>,
    /// Tasks that run at the same time. Default: what the suite says.
    pub task_parallelism: Option<usize>,
    /// What the run may spend; each value goes before that of the suite.
    pub budget: BudgetSpec,
    /// Whether datasets and model files may not be downloaded.
    pub is_offline: bool,
    /// The lock that the suite must be equal to.
    pub lock: Option<PathBuf>,
    /// Where HTTP exchanges with backends are recorded, or replayed from.
    pub exchanges: HttpExchanges,
    /// The cache of answers.
    pub cache: CacheOptions,
    /// The recipients of events, counters and traces.
    pub observe: ObserveOptions,
}

impl RunRequest {
    /// A suite, with every default.
    pub fn new(suite: impl Into<SuiteSource>) -> RunRequest {
        RunRequest {
            context: Context::default(),
            suite: suite.into(),
            output_folder: PathBuf::from("runs"),
            run_id: None,
            concurrency: DEFAULT_CONCURRENCY,
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

/// A request to resume a run that has not come to its end.
#[derive(Clone)]
pub struct ResumeRequest {
    /// The run. Without an id it is the newest unfinished run of the suite.
    pub run: RunRequest,
    /// Samples that ended in one of these ways are tried again, besides those that failed in the backend.
    pub retry: Vec<Outcome>,
}

/// A request to score the answers of a run again. No model is asked.
#[derive(Clone, Default)]
pub struct RescoreRequest {
    /// The machine, the listener for progress, the token that stops the call.
    pub context: Context,
    /// The folder of the run.
    pub run: PathBuf,
    /// Metrics in place of those of the suite, in any form that a suite takes.
    pub metrics: Vec<String>,
    /// A suite in place of that of the run.
    pub suite: Option<PathBuf>,
    /// Values that replace those of the suite.
    pub overrides: Vec<String>,
    /// Folders of components.
    pub plugin_folders: Vec<PathBuf>,
    /// The folder that gets the new run folder. Default: the one that holds the run.
    pub output_folder: Option<PathBuf>,
    /// The name of the new run. Default: made from the date and the time.
    pub run_id: Option<String>,
}

impl RescoreRequest {
    /// The answers of a run, scored by its own suite.
    pub fn new(run: impl Into<PathBuf>) -> RescoreRequest {
        RescoreRequest { run: run.into(), ..RescoreRequest::default() }
    }
}

/// A request to verify a run folder.
#[derive(Clone, Default)]
pub struct VerifyRequest {
    /// The machine, and the token that stops the call.
    pub context: Context,
    /// The folder of the run.
    pub run: PathBuf,
    /// Folders of components.
    pub plugin_folders: Vec<PathBuf>,
    /// Whether only digests and checksums are compared, and the answers are not scored again.
    pub files_only: bool,
}

impl VerifyRequest {
    /// A run folder, with its answers scored again.
    pub fn new(run: impl Into<PathBuf>) -> VerifyRequest {
        VerifyRequest { run: run.into(), ..VerifyRequest::default() }
    }
}

/// A request to make, compare or update the lock of a suite.
#[derive(Clone)]
pub struct LockRequest {
    /// The machine, and the listener for progress.
    pub context: Context,
    /// The suite.
    pub suite: SuiteSource,
    /// The file of the lock. Default: beside the suite, under its name.
    pub path: Option<PathBuf>,
    /// Whether datasets and model files may not be downloaded.
    pub is_offline: bool,
    /// What is done.
    pub action: LockAction,
}

/// What is done with a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAction {
    /// It is made if there is none, and compared with the suite otherwise.
    Create,
    /// It is compared with the suite.
    Check,
    /// All that differs is taken over from the suite.
    Update,
    /// What differs in one part is taken over, such as `datasets.piqa`.
    UpdatePart(String),
}

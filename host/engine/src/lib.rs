//! Runs an evaluation. A configuration becomes a [`Plan`], which checks everything that can be known without a model. Its
//! [`Datasets`] are located, and fetched if they are remote. The plan becomes a [`Session`] with its models loaded. Then
//! [`run`] streams the samples of each task through the model and the scorers into the journal.
//!
//! ```text
//! reader thread ─▶ dispatcher (async)  ─▶ scorer threads ─▶ recorder thread ─▶ journal
//!   load, prepare    prompt, request        components        checksums, fsync
//! ```
//!
//! All queues between them are bounded, so memory does not grow with the number of samples.
//!
//! The modules are ordered. Each imports only from earlier ones:
//!
//! 1. `sample`, `progress`: the types of one sample, and the trait that reports the progress of a run.
//! 2. `plan`, `resume`: checks without a model; the work that earlier processes of a run left.
//! 3. `limits`, `request`, `session`: cancellation, budgets and permits; prompts; datasets and models.
//! 4. `identity`, `estimate`, `run_error`: the inputs of a run, its estimated cost, and the errors that end it.
//! 5. `pipeline`: one task, from the reader to the journal.
//! 6. `run`: all tasks, their shared threads, rescoring. `sent`: the requests about a recorded sample.
//!
//! The crate may import all lower crates in the workspace. It knows nothing of terminals or the display of results.

mod concurrency_limit;
mod estimate;
mod identity;
mod limits;
mod pipeline;
mod plan;
mod progress;
mod request;
mod resume;
mod run;
mod run_error;
mod sample;
mod sent;
mod session;

pub use concurrency_limit::{ConcurrencyLimit, LimitedRequests};
pub use estimate::{
    ClusterCounts, Estimate, EstimateOptions, PluginEstimate, Range, RequestEstimate, ShardEstimate,
    ShardedEstimate, SliceCoverage, TaskEstimate, TokensBy,
};
pub use identity::{
    SCORING_VERSION, facts_before_run, has_variable, identity, identity_without_models, name_variables,
    planned_identity, recorded_plugins, scoring_plugins,
};
pub use limits::cancel_token::{CancelToken, StopReason};
pub use limits::invalid_rows::TooManyInvalid;
pub use pipeline::record::ordered_records::RecordSink;
pub use pipeline::task_report::TaskReport;
pub use plan::{
    Plan, PlannedDataset, PlannedExtractor, PlannedJudge, PlannedJudges, PlannedMetric, PlannedTask, Scoring,
};
pub use progress::{FigureSoFar, FinishedSample, MeanMetric, Progress, RunUsage};
pub use run::context::{EarlierRecording, RunContext, RunOptions};
pub use run::report::RunReport;
pub use run::rescore::{RescoreContext, RescoreError, rescore};
pub use run::{granted_permissions, run};
pub use run_error::RunError;
pub use sent::{BackendFacts, SentRequest, expected_requests, recorded_model_requests, recorded_requests};
pub use session::Session;
pub use session::datasets::{Datasets, LocatedDataset};
pub use session::models::fetch_models;

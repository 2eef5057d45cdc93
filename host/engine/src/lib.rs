//! Runs an evaluation. A configuration becomes a [`Plan`], in which everything that can be
//! known without a model is checked; its [`Datasets`] are found, and fetched where they are elsewhere; a
//! plan becomes a [`Session`] with its models loaded; and
//! [`run`] streams the samples of each task through the model and the scorers into the journal.
//!
//! ```text
//! reader thread ─▶ sample loop (async) ─▶ scorer threads ─▶ recorder thread ─▶ journal
//!   load, prepare    prompt, request        components        checksums, fsync
//! ```
//!
//! All queues between them are bounded, so memory does not grow with the number of samples.
//! Imports everything below it; knows nothing of terminals or of how results are shown.

mod estimate;
mod identity;
mod limits;
mod pipeline;
mod plan;
mod progress;
mod request;
mod resume;
mod run;
mod sample;
mod session;

pub use estimate::{Estimate, EstimateOptions, Range, RequestEstimate, TaskEstimate, TokensBy};
pub use identity::{SCORING_VERSION, identity, identity_of_config, without_limits, without_notes};
pub use limits::budget::RunUsage;
pub use limits::cancel_token::{CancelToken, StopReason};
pub use limits::invalid_rows::TooManyInvalid;
pub use plan::{
    Plan, PlannedDataset, PlannedExtractor, PlannedJudge, PlannedJudges, PlannedMetric, PlannedTask, Scoring,
};
pub use progress::{FinishedSample, NoProgress, Progress};
pub use run::rescore::{RescoreContext, RescoreError, rescore};
pub use run::{RunContext, RunError, RunOptions, RunReport, TaskReport, run};
pub use session::Session;
pub use session::datasets::{Datasets, LocatedDataset};
pub use session::models::fetch_models;

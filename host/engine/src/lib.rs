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

mod active;
mod batches;
mod behind;
mod conversation;
mod datasets;
mod earlier;
mod embedding;
mod estimate;
mod eval_config;
mod events;
mod extraction;
mod gathering;
mod hand;
mod identity;
mod inference;
mod invalid;
mod judging;
mod media;
mod models;
mod place;
mod plan;
mod progress;
mod reader;
mod recorder;
mod request;
mod rescoring;
mod room;
mod run;
mod running;
mod sample_loop;
mod scoring;
mod session;
mod spending;
mod stop;
mod support;
mod task;
mod tool_calls;
mod usage;

pub use datasets::{Datasets, LocatedDataset};
pub use estimate::{Estimate, EstimateOptions, Range, RequestEstimate, TaskEstimate, TokensBy};
pub use identity::{SCORING_VERSION, identity, identity_of_config, without_limits, without_notes};
pub use invalid::TooManyInvalid;
pub use models::fetch_models;
pub use plan::{
    Plan, PlannedDataset, PlannedExtractor, PlannedJudge, PlannedJudges, PlannedMetric, PlannedTask, Scoring,
};
pub use progress::{FinishedSample, NoProgress, Progress};
pub use rescoring::{RescoreError, rescore};
pub use run::{RunError, RunOptions, RunReport, TaskReport, run};
pub use session::Session;
pub use spending::RunUsage;
pub use stop::{CancelToken, StopReason};

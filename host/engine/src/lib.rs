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

mod budget;
mod call_coalescer;
mod cancel_token;
mod datasets;
mod dispatcher;
mod drainable_semaphore;
mod embedding;
mod estimate;
mod eval_config;
mod events;
mod extraction;
mod identity;
mod inference;
mod invalid;
mod judging;
mod media;
mod models;
mod plan;
mod post_inference;
mod progress;
mod reader;
mod recorder;
mod request;
mod request_slots;
mod rescoring;
mod result_router;
mod resume;
mod run;
mod scoring;
mod scoring_batches;
mod session;
mod support_role;
mod task_pipeline;
mod task_scheduler;
mod task_state;
mod tool_calls;
mod tool_loop;
mod usage;

pub use budget::RunUsage;
pub use cancel_token::{CancelToken, StopReason};
pub use datasets::{Datasets, LocatedDataset};
pub use estimate::{Estimate, EstimateOptions, Range, RequestEstimate, TaskEstimate, TokensBy};
pub use identity::{SCORING_VERSION, identity, identity_of_config, without_limits, without_notes};
pub use invalid::TooManyInvalid;
pub use models::fetch_models;
pub use plan::{
    Plan, PlannedDataset, PlannedExtractor, PlannedJudge, PlannedJudges, PlannedMetric, PlannedTask, Scoring,
};
pub use progress::{FinishedSample, NoProgress, Progress};
pub use rescoring::{RescoreContext, RescoreError, rescore};
pub use run::{RunContext, RunError, RunOptions, RunReport, TaskReport, run};
pub use session::Session;

//! Runs evaluation suites from Rust.
//!
//! [`run`] and [`resume`] create run folders, and [`rescore`] scores the answers of a run again. [`merge`] makes a run
//! from its shards. [`verify`] compares a run folder with its digests, and [`lock`] pins everything that a suite consists of. Each takes a
//! request and returns a typed outcome.
//!
//! A [`RunProgress`] receives progress as [`RunEvent`]s. The library prints nothing, installs no signal handler, and
//! does not define exit codes.
//!
//! ```no_run
#![doc = include_str!("../examples/run_suite.rs")]
//! ```
//!
//! The first-party components are included, so a suite can name them. May import every crate of the workspace except
//! `gage-view` and the program.

mod aggregators;
mod answer_cache;
mod async_runtime;
mod batch;
mod context;
mod describe;
mod error;
mod error_category;
mod finish;
mod finished_shard;
mod gate_power;
mod http_exchanges;
mod limited_slices;
mod live_reports;
mod lock;
mod merge;
mod merge_error;
mod missing_records;
mod observe;
mod other_run;
mod outcome;
mod output_folder;
mod packages;
mod progress;
mod recorded_gpu_layers;
mod request;
mod rescore;
mod run;
mod shortage;
mod suite_defaults;
mod suite_source;
mod verify;

pub use answer_cache::{CacheChoice, CacheOptions};
pub use async_runtime::start_runtime;
pub use context::{Context, HostSettings, hub_token, user_cache_folder};
pub use error::RunnerError;
pub use error_category::ErrorCategory;
pub use gage_backend::{BatchReport, TakenResults};
pub use gage_engine::{
    CancelToken, ConcurrencyLimit, LimitedRequests, MeanMetric, RunUsage, StopReason, TaskReport,
};
pub use gage_record::RunStatus;
pub use gate_power::{GatedScore, check_gates, gated_scores};
pub use http_exchanges::HttpExchanges;
pub use limited_slices::check_limited_slices;
pub use lock::{LockChange, LockOutcome, default_lock_path, lock};
pub use merge::{MergeOutcome, merge};
pub use merge_error::MergeError;
pub use missing_records::{MissingRecords, ShardProgress};
pub use observe::{EventsHttp, ObserveOptions};
pub use other_run::OtherRun;
pub use outcome::{CoverageShortfall, Ending, RunOutcome, Shortfall};
pub use packages::pin_packages;
pub use progress::{NoProgress, RunEvent, RunProgress};
pub use request::{
    DEFAULT_CONCURRENCY, LockAction, LockRequest, MergeRequest, RescoreRequest, ResumeRequest, RunRequest,
    VerifyRequest,
};
pub use rescore::rescore;
pub use run::{new_run_id, resume, run};
pub use suite_defaults::SuiteDefaults;
pub use suite_source::{SuiteSource, Variables};
pub use verify::{RescoreCheck, VerifyOutcome, verify};

/// Version of the host, as recorded in manifests.
pub const HOST_VERSION: &str = env!("CARGO_PKG_VERSION");

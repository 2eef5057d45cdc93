//! The parts of a run, and its settings.

use crate::limits::cancel_token::CancelToken;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::session::Session;
use crate::session::datasets::Datasets;
use gage_core::Outcome;
use gage_observe::Observability;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Settings of a run that do not change what comes of it.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Requests in flight.
    pub concurrency: usize,
    /// Run at most this many samples of each task.
    pub max_samples: Option<u64>,
    /// Threads that score.
    pub workers: usize,
    /// Tasks that run at the same time; where it is missing what the suite says.
    pub task_parallelism: Option<usize>,
    /// Go on with the run of this id, rather than begin it.
    pub resume: bool,
    /// Of a run that goes on, samples that ended in one of these ways are tried again, besides those that failed in
    /// the backend.
    pub retry: Vec<Outcome>,
    /// The version of the program, for the manifest.
    pub host_version: &'static str,
    /// Who is told of what happens.
    pub observability: Observability,
}

/// The parts of a run.
#[derive(Clone, Copy)]
pub struct RunContext<'r> {
    /// What is run.
    pub plan: &'r Plan,
    /// The datasets of the plan.
    pub datasets: &'r Datasets,
    /// The models of the plan, loaded.
    pub session: &'r Session,
    /// The folder of all runs.
    pub root: &'r Path,
    /// The name of the run, and of its folder.
    pub run_id: &'r str,
    /// Settings that do not change what comes of the run.
    pub options: &'r RunOptions,
    /// Who shows how the run goes on.
    pub progress: &'r Arc<dyn Progress>,
    /// Ends the run.
    pub stop: &'r CancelToken,
    /// The runtime that requests run on.
    pub runtime: &'r Handle,
}

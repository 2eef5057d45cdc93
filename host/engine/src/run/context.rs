//! The inputs of a run, and its settings.

use crate::limits::cancel_token::CancelToken;
use crate::pipeline::record::ordered_records::RecordSink;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::session::Session;
use crate::session::datasets::Datasets;
use gage_core::{Outcome, Shard, ShortageWatch};
use gage_observe::Observability;
use gage_record::{Manifest, RunReader, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Settings of a run that do not change its results.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of requests in flight.
    pub concurrency: usize,
    /// Maximum number of samples per task.
    pub max_samples: Option<u64>,
    /// Number of scorer threads.
    pub workers: usize,
    /// Number of tasks that run at the same time. `None` for the suite's value.
    pub task_parallelism: Option<usize>,
    /// The shard of a run to be written, and the id of that run. `None` for the whole run.
    pub shard: Option<(Shard, String)>,
    /// The manifest of another shard of that run, which is not in a folder beside this one. Both need the same inputs.
    pub other_shard: Option<Box<Manifest>>,
    /// True to resume the run with this id, rather than start a new one.
    pub resume: bool,
    /// Outcomes of samples to retry in a resumed run, in addition to samples that failed in the backend.
    pub retry: Vec<Outcome>,
    /// Judges to ask again about the recorded answers of a resumed run; all if it is empty. `None` for none.
    pub rejudge: Option<Vec<String>>,
    /// The version of the program, for the manifest.
    pub host_version: &'static str,
    /// Warnings about the figures, for the manifest.
    pub warnings: Vec<String>,
    /// The observers of the run.
    pub observability: Observability,
    /// Time that loading the models took. It counts towards `max_time`.
    pub loading: Duration,
    /// The file in which the run records its HTTP exchanges (`--record`), as it was before. `None` if nothing is recorded.
    pub recording: Option<EarlierRecording>,
    /// True if each sender waits until the other threads have processed its item, for simulations with virtual time.
    pub is_lockstep: bool,
    /// Storage of the journal, which a simulation may let fail; `None` for that of the system.
    pub storage: Option<Arc<dyn Storage>>,
}

/// A recording of HTTP exchanges, before a process of a run adds its own.
#[derive(Clone, Debug)]
pub struct EarlierRecording {
    /// The file.
    pub path: PathBuf,
    /// Number of exchanges in it.
    pub exchanges: u64,
}

/// The inputs of a run.
#[derive(Clone, Copy)]
pub struct RunContext<'r> {
    /// The plan to run.
    pub plan: &'r Plan,
    /// The datasets of the plan.
    pub datasets: &'r Datasets,
    /// The loaded models of the plan.
    pub session: &'r Session,
    /// The folder of all runs.
    pub root: &'r Path,
    /// The name of the run, and of its folder.
    pub run_id: &'r str,
    /// A run whose answers a new run takes, without asking the model. `rejudge` names the judges to ask again.
    pub answers_of: Option<&'r RunReader>,
    /// Settings that do not change the results of the run.
    pub options: &'r RunOptions,
    /// The observer of the run's progress.
    pub progress: &'r Arc<dyn Progress>,
    /// Receives the records of a new run in order; `None` if they are only read from the journal.
    pub records: Option<&'r dyn RecordSink>,
    /// Ends the run.
    pub stop: &'r CancelToken,
    /// The runtime that requests run on.
    pub runtime: &'r Handle,
    /// Notices shortages of the machine. After one, only answers that it has not changed are recorded.
    pub shortages: ShortageWatch,
}

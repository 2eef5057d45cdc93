//! The report of a run: what this process did for each task.

use crate::limits::cancel_token::StopReason;
use crate::pipeline::task_report::TaskReport;
use crate::progress::RunUsage;
use gage_record::{Manifest, RunFolder};

/// Result of a run in this process.
pub struct RunReport {
    /// The run's folder, still locked.
    pub folder: RunFolder,
    /// The manifest, in which the run is still marked as running.
    pub manifest: Manifest,
    /// All tasks, in order.
    pub tasks: Vec<TaskReport>,
    /// The reason that the run ended early, if it was stopped.
    pub stopped: Option<StopReason>,
    /// The manifest as it was, if the run was complete and this process recorded nothing: its reports still hold.
    pub unchanged: Option<Manifest>,
    /// Usage of all processes of the run.
    pub spent: RunUsage,
}

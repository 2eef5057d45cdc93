//! The report of a run: what this process did of each task.

use crate::limits::budget::RunUsage;
use crate::limits::cancel_token::StopReason;
use crate::pipeline::task_report::TaskReport;
use gage_record::{Manifest, RunFolder};

/// What came of a run in this process.
pub struct RunReport {
    /// The run's folder, still locked.
    pub folder: RunFolder,
    /// The manifest, in which it still runs.
    pub manifest: Manifest,
    /// All tasks, in their order.
    pub tasks: Vec<TaskReport>,
    /// Why the run ended before its end, where somebody stopped it.
    pub stopped: Option<StopReason>,
    /// What all processes of the run have spent.
    pub spent: RunUsage,
}

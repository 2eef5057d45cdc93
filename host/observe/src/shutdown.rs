//! The timeouts of observers at the end of a run.

use std::time::Duration;

/// How long the end of a run waits for the servers that receive its events, traces and metrics.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for a run that a failure has ended.
pub const SHUTDOWN_TIMEOUT_AFTER_FAILURE: Duration = Duration::from_secs(1);

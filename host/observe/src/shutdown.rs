//! Timeouts of observers at the end of a run.

use std::time::Duration;

/// Maximum wait at the end of a run for the servers that receive its events, traces and metrics.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum wait after a run ended by a failure.
pub const SHUTDOWN_TIMEOUT_AFTER_FAILURE: Duration = Duration::from_secs(1);

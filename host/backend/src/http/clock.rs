//! The clock of the requests.

use std::time::Instant;

/// Returns the time of the runtime's clock, which tests can pause.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

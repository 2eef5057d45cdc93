//! Retries and cancellable waits.
//!
//! Cancellation is a closure instead of a `CancellationToken` of `tokio-util`. Callers of this crate are synchronous,
//! and some derive it from a signal and state of their own.

use super::error::HubError;
use super::source::HubTimings;
use std::future::Future;
use std::time::Duration;

/// Interval at which a wait checks for cancellation.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time limits and cancellation of a fetch.
#[derive(Clone, Copy)]
pub(super) struct RetryPolicy<'a> {
    pub(super) timings: HubTimings,
    pub(super) cancelled: &'a dyn Fn() -> bool,
}

impl RetryPolicy<'_> {
    /// Checks for cancellation.
    ///
    /// # Errors
    /// When it was cancelled.
    pub(super) fn check(&self) -> Result<(), HubError> {
        match (self.cancelled)() {
            true => Err(HubError::Cancelled),
            false => Ok(()),
        }
    }

    /// Waits for a future. `None` after the time limit.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = T>,
    ) -> Result<Option<T>, HubError> {
        let cancelled = async {
            while !(self.cancelled)() {
                tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            () = cancelled => Err(HubError::Cancelled),
            done = tokio::time::timeout(limit, future) => Ok(done.ok()),
        }
    }

    pub(super) async fn sleep(&self, time: Duration) -> Result<(), HubError> {
        self.within(time, std::future::pending::<()>()).await.map(drop)
    }
}

/// A failure that a retry may resolve.
#[derive(Debug)]
pub(super) struct RetryableError {
    /// Requested URL, without its query.
    pub(super) url: String,
    /// Description of the failure.
    pub(super) reason: String,
    /// Wait that the server asks for.
    pub(super) retry_after: Option<Duration>,
}

/// Counts the failures since the last progress.
pub(super) struct Attempts<'a> {
    retry: RetryPolicy<'a>,
    failed: u32,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(retry: RetryPolicy<'a>) -> Attempts<'a> {
        Attempts { retry, failed: 0 }
    }

    /// Resets the count after progress.
    pub(super) fn progress(&mut self) {
        self.failed = 0;
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// When the attempts are used up, the server asks for a wait longer than the limit, or it was cancelled.
    pub(super) async fn failed(&mut self, failure: RetryableError) -> Result<(), HubError> {
        let timings = self.retry.timings;
        self.failed += 1;
        // An earlier request would get the same answer.
        if let Some(asked) = failure.retry_after.filter(|asked| *asked > timings.longest_wait) {
            let RetryableError { url, reason, .. } = failure;
            return Err(HubError::Busy { url, reason, asked, longest: timings.longest_wait });
        }
        if self.failed >= timings.attempts {
            let RetryableError { url, reason, .. } = failure;
            return Err(HubError::Unreachable { url, reason, attempts: self.failed });
        }
        let doubled = timings.first_wait.saturating_mul(1 << (self.failed - 1).min(16));
        let wait = failure.retry_after.unwrap_or(doubled).min(timings.longest_wait);
        tracing::debug!(url = failure.url, wait = ?wait, "{}; it is tried again", failure.reason);
        self.retry.sleep(wait).await
    }
}

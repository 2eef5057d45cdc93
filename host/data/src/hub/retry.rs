//! Retries, and waits that can be cancelled.
//!
//! Cancellation is a closure, not a `CancellationToken` of `tokio-util`: callers of this crate are synchronous, and some of them
//! derive it from a signal and a state of their own.

use super::error::HubError;
use super::source::HubTimings;
use std::future::Future;
use std::time::Duration;

/// How often a wait checks for cancellation.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long to wait, and whether to go on at all.
#[derive(Clone, Copy)]
pub(super) struct RetryPolicy<'a> {
    pub(super) timings: HubTimings,
    pub(super) cancelled: &'a dyn Fn() -> bool,
}

impl RetryPolicy<'_> {
    /// # Errors
    /// When it was cancelled.
    pub(super) fn check(&self) -> Result<(), HubError> {
        match (self.cancelled)() {
            true => Err(HubError::Cancelled),
            false => Ok(()),
        }
    }

    /// Waits for something; `None` when the time is over.
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

/// A failure that may pass.
#[derive(Debug)]
pub(super) struct RetryableError {
    /// What was asked for, without its query.
    pub(super) url: String,
    /// What happened.
    pub(super) reason: String,
    /// How long the server asks to wait.
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

    /// Something was gained.
    pub(super) fn progress(&mut self) {
        self.failed = 0;
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// When there were enough attempts, the server asks for a longer wait than the longest, or it was cancelled.
    pub(super) async fn failed(&mut self, failure: RetryableError) -> Result<(), HubError> {
        let timings = self.retry.timings;
        self.failed += 1;
        // Asked sooner, it would say the same again.
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

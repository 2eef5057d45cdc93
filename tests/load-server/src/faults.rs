//! Random faults: some share of the requests is refused, fails, is reset, gets garbage or hangs. The fault of a request depends
//! on its body and on the number of its attempts, so that it is the same each time.

use crate::{Answer, Reply, Request};
use bytes::Bytes;
use serde_json::json;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

/// The percentages of requests with each fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultShares {
    /// 429 with `Retry-After`.
    pub refused: f64,
    /// 500.
    pub failed: f64,
    /// A reset connection.
    pub reset: f64,
    /// Bytes that are not an answer.
    pub garbage: f64,
    /// No answer at all.
    pub hangs: f64,
}

impl FaultShares {
    /// 20 % refused, 5 % failed, 2 % reset, 1 % garbage, 1 % hangs.
    pub const DEFAULT: FaultShares =
        FaultShares { refused: 20.0, failed: 5.0, reset: 2.0, garbage: 1.0, hangs: 1.0 };
}

/// Decides which requests meet a fault.
pub struct FaultInjector {
    shares: FaultShares,
    seed: u64,
    /// The `Retry-After-Ms` of a refusal.
    retry_after_ms: u64,
    attempts: Mutex<HashMap<u64, u64>>,
}

impl FaultInjector {
    /// Faults in these shares.
    pub fn new(shares: FaultShares, seed: u64, retry_after_ms: u64) -> FaultInjector {
        FaultInjector { shares, seed, retry_after_ms, attempts: Mutex::default() }
    }

    /// Returns the number of distinct requests received.
    pub fn distinct_requests(&self) -> usize {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the fault that a request meets, if any.
    pub fn fault(&self, request: &Request) -> Option<Answer> {
        let mut hasher = DefaultHasher::new();
        (self.seed, &request.body).hash(&mut hasher);
        let digest = hasher.finish();
        let times = {
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            let times = attempts.entry(digest).or_insert(0);
            *times += 1;
            *times
        };
        (digest, times).hash(&mut hasher);
        let mut at = (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64 * 100.0;
        let mut falls_into = |share: f64| {
            at -= share;
            at < 0.0
        };
        let shares = self.shares;
        if falls_into(shares.refused) {
            let body = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}});
            let reply = Reply::json(429, &body).with("retry-after-ms", self.retry_after_ms.to_string());
            return Some(reply.into());
        }
        if falls_into(shares.failed) {
            return Some(Reply::new(500, "text/plain", "boom").into());
        }
        if falls_into(shares.reset) {
            return Some(Answer::Reset);
        }
        if falls_into(shares.garbage) {
            return Some(Reply::new(200, "application/json", Bytes::from_static(b"\xff\xfe<garbage")).into());
        }
        falls_into(shares.hangs).then_some(Answer::Hang)
    }
}

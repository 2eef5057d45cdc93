//! Faults at random: some share of requests is refused, fails, is reset, is garbage or hangs. What happens
//! to a request depends on its body and on how often it came, so a storm is the same each time.

use crate::{Answer, Reply, Request};
use bytes::Bytes;
use serde_json::json;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

/// How many of a hundred requests end in which way.
#[derive(Clone, Copy, Debug)]
pub struct StormShares {
    /// 429 with `Retry-After`.
    pub refused: f64,
    /// 500.
    pub failed: f64,
    /// A reset connection.
    pub reset: f64,
    /// Bytes that are no answer.
    pub garbage: f64,
    /// No answer at all.
    pub hangs: f64,
}

impl StormShares {
    /// 20 % refused, 5 % failed, 2 % reset, 1 % garbage, 1 % hangs.
    pub const DEFAULT_SHARES: StormShares =
        StormShares { refused: 20.0, failed: 5.0, reset: 2.0, garbage: 1.0, hangs: 1.0 };
}

/// Decides about requests.
pub struct Storm {
    shares: StormShares,
    seed: u64,
    /// What a refusal says in `Retry-After-Ms`.
    retry_after_ms: u64,
    came: Mutex<HashMap<u64, u64>>,
}

impl Storm {
    /// A storm of these shares.
    pub fn new(shares: StormShares, seed: u64, retry_after_ms: u64) -> Storm {
        Storm { shares, seed, retry_after_ms, came: Mutex::default() }
    }

    /// How many different requests came.
    pub fn different(&self) -> usize {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The fault that a request meets, if any.
    pub fn fault(&self, request: &Request) -> Option<Answer> {
        let mut hasher = DefaultHasher::new();
        (self.seed, &request.body).hash(&mut hasher);
        let digest = hasher.finish();
        let times = {
            let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
            let times = came.entry(digest).or_insert(0);
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

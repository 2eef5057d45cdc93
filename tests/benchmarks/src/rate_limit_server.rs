//! A server that answers a number of requests per window of time, and refuses the others without naming a time to wait.

use crate::lab::ANSWER;
use gage_load_server::{LoadServer, Reply, completion};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Latency of an answer. A refusal has none.
const LATENCY: Duration = Duration::from_millis(10);

/// A rate limit. The first window begins with the first request, and each other one with the end of the window before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimit {
    /// Number of requests that are answered in a window.
    pub(crate) requests: usize,
    /// Length of a window, above 0.
    pub(crate) window: Duration,
}

/// Gives every request the same answer within its rate limit, and 429 above it.
pub(crate) struct RateLimitServer {
    server: LoadServer,
    log: Arc<Mutex<RateLimitLog>>,
}

#[derive(Default)]
struct RateLimitLog {
    requests: usize,
    /// Time of the first request.
    began: Option<Instant>,
    /// Number of the window of the last request, from 0.
    window: u128,
    /// Number of answers in this window.
    used: usize,
    /// Times of all answers.
    answers: Vec<Instant>,
}

impl RateLimitServer {
    pub(crate) fn start(limit: RateLimit) -> anyhow::Result<RateLimitServer> {
        let log: Arc<Mutex<RateLimitLog>> = Arc::default();
        let answer = completion(ANSWER).after(LATENCY).prepared();
        let body = json!({"error": {"message": "too many requests", "code": "rate_limit_exceeded"}});
        let refusal = Reply::json(429, &body).prepared();
        let server = LoadServer::start({
            let log = Arc::clone(&log);
            move |_| match open(&log).is_within(limit) {
                true => answer.clone(),
                false => refusal.clone(),
            }
        })?;
        Ok(RateLimitServer { server, log })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the number of requests received.
    pub(crate) fn requests(&self) -> usize {
        open(&self.log).requests
    }

    /// Returns the times of all answers, in order.
    pub(crate) fn answers(&self) -> Vec<Instant> {
        open(&self.log).answers.clone()
    }

    /// Returns the time from the first request to the last answer.
    pub(crate) fn lasted(&self) -> Duration {
        let log = open(&self.log);
        match (log.began, log.answers.last()) {
            (Some(began), Some(last)) => last.saturating_duration_since(began),
            _ => Duration::ZERO,
        }
    }
}

impl RateLimitLog {
    /// Records a request that arrives now. Returns true if it is answered.
    fn is_within(&mut self, limit: RateLimit) -> bool {
        let now = Instant::now();
        self.requests += 1;
        let began = *self.began.get_or_insert(now);
        let window = now.saturating_duration_since(began).as_nanos() / limit.window.as_nanos();
        if window != self.window {
            self.window = window;
            self.used = 0;
        }
        if self.used >= limit.requests {
            return false;
        }
        self.used += 1;
        self.answers.push(now + LATENCY);
        true
    }
}

fn open(log: &Mutex<RateLimitLog>) -> MutexGuard<'_, RateLimitLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

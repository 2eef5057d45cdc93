//! A server with a latency that records the arrival of requests.

use crate::lab::ANSWER;
use bytes::Bytes;
use gage_load_server::{Answer, LoadServer, Request, completion};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Gives every request the same answer after a delay.
pub(crate) struct TimedServer {
    server: LoadServer,
    latency: Duration,
    noted: Arc<Mutex<RequestLog>>,
}

#[derive(Default)]
struct RequestLog {
    moments: Vec<Instant>,
    bodies: Option<Vec<Bytes>>,
}

impl TimedServer {
    /// Starts a server with this latency. `fault` may give a different answer.
    pub(crate) fn start(
        latency: Duration,
        fault: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> anyhow::Result<TimedServer> {
        let noted: Arc<Mutex<RequestLog>> = Arc::default();
        let answer = completion(ANSWER).after(latency).prepared();
        let server = LoadServer::start({
            let noted = Arc::clone(&noted);
            move |request| {
                let now = Instant::now();
                let mut noted = open(&noted);
                noted.moments.push(now);
                if let Some(bodies) = &mut noted.bodies {
                    bodies.push(request.body.clone());
                }
                drop(noted);
                fault(request).unwrap_or_else(|| answer.clone())
            }
        })?;
        Ok(TimedServer { server, latency, noted })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Keeps the bodies of requests from now on.
    pub(crate) fn keep_bodies(&self) {
        open(&self.noted).bodies = Some(Vec::new());
    }

    /// Returns the kept bodies and stops keeping more.
    pub(crate) fn bodies(&self) -> Vec<Bytes> {
        open(&self.noted).bodies.take().unwrap_or_default()
    }

    /// Returns the arrivals of requests since the last call.
    pub(crate) fn arrivals(&self) -> Arrivals {
        let moments = std::mem::take(&mut open(&self.noted).moments);
        Arrivals { moments, latency: self.latency }
    }
}

fn open(noted: &Mutex<RequestLog>) -> MutexGuard<'_, RequestLog> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Arrival times of requests, in order, and the duration of each.
pub(crate) struct Arrivals {
    moments: Vec<Instant>,
    latency: Duration,
}

impl Arrivals {
    pub(crate) fn count(&self) -> usize {
        self.moments.len()
    }

    pub(crate) fn first(&self) -> Option<Instant> {
        self.moments.first().copied()
    }

    /// Returns the time from the first request to the last answer.
    pub(crate) fn lasted(&self) -> Duration {
        match (self.moments.first(), self.moments.last()) {
            (Some(first), Some(last)) => *last - *first + self.latency,
            _ => Duration::ZERO,
        }
    }

    /// Returns the requests per second, from the first request to the last answer.
    pub(crate) fn rate(&self) -> f64 {
        self.moments.len() as f64 / self.lasted().as_secs_f64().max(1e-9)
    }

    /// Returns the average share of busy slots, from `after` the first request to the last.
    pub(crate) fn occupancy(&self, slots: usize, after: Duration) -> f64 {
        let (Some(first), Some(last)) = (self.moments.first(), self.moments.last()) else { return 0.0 };
        let from = *first + after;
        let within = |came: &Instant| {
            let (begin, end) = ((*came).max(from), (*came + self.latency).min(*last));
            end.saturating_duration_since(begin).as_secs_f64()
        };
        let busy: f64 = self.moments.iter().map(within).sum();
        busy / last.saturating_duration_since(from).as_secs_f64().max(1e-9) / slots as f64
    }

    /// Returns the time until as many requests as `slots` were in flight at once.
    pub(crate) fn full_after(&self, slots: usize) -> Option<Duration> {
        let first = self.moments.first()?;
        let full = self.moments.windows(slots).find_map(|window| match window {
            [oldest, .., newest] if *newest - *oldest < self.latency => Some(*newest),
            _ => None,
        })?;
        Some(full - *first)
    }
}

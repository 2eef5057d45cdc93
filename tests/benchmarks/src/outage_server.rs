//! A server that goes away for some time and comes back on the same port.

use crate::lab::ANSWER;
use anyhow::Context as _;
use gage_load_server::{LoadServer, Reply, completion};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Latency of an answer. An error has none.
const LATENCY: Duration = Duration::from_millis(10);

/// Reaction of a server that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageFault {
    /// Its listener and all its connections are closed.
    Refused,
    /// Every request gets this status.
    Status(u16),
}

impl fmt::Display for OutageFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutageFault::Refused => formatter.write_str("refused"),
            OutageFault::Status(status) => write!(formatter, "{status}"),
        }
    }
}

/// Gives every request the same answer, except while it is away.
pub(crate) struct OutageServer {
    /// `None` while connections are refused.
    server: Option<LoadServer>,
    port: u16,
    log: Arc<Mutex<OutageLog>>,
}

#[derive(Default)]
struct OutageLog {
    requests: usize,
    /// Number of requests with an answer.
    answered: usize,
    /// Status of every request now; `None` if they are answered.
    status: Option<u16>,
    /// Time when the server came back.
    returned: Option<Instant>,
    /// Time of the first request after that.
    first_request: Option<Instant>,
}

impl OutageServer {
    pub(crate) fn start() -> anyhow::Result<OutageServer> {
        let log: Arc<Mutex<OutageLog>> = Arc::default();
        let server = serve(0, &log)?;
        Ok(OutageServer { port: server.port(), server: Some(server), log })
    }

    /// Returns the address, which stays the same while the server is away.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn go_away(&mut self, fault: OutageFault) {
        match fault {
            OutageFault::Refused => self.server = None,
            OutageFault::Status(status) => open(&self.log).status = Some(status),
        }
    }

    /// Answers requests again.
    ///
    /// # Errors
    /// If another program has taken the port.
    pub(crate) fn come_back(&mut self) -> anyhow::Result<()> {
        let mut log = open(&self.log);
        log.status = None;
        log.returned = Some(Instant::now());
        drop(log);
        if self.server.is_none() {
            self.server = Some(serve(self.port, &self.log)?);
        }
        Ok(())
    }

    /// Returns the number of requests received.
    pub(crate) fn requests(&self) -> usize {
        open(&self.log).requests
    }

    /// Returns the number of requests that got an answer.
    pub(crate) fn answered(&self) -> usize {
        open(&self.log).answered
    }

    /// Returns the time from the server's return to the next request; `None` if no request came.
    pub(crate) fn return_delay(&self) -> Option<Duration> {
        let log = open(&self.log);
        Some(log.first_request?.saturating_duration_since(log.returned?))
    }
}

/// Starts to listen on a port; 0 is any free one.
fn serve(port: u16, log: &Arc<Mutex<OutageLog>>) -> anyhow::Result<LoadServer> {
    let answer = completion(ANSWER).after(LATENCY).prepared();
    let log = Arc::clone(log);
    let server = LoadServer::start_on(port, move |_| {
        let mut log = open(&log);
        log.requests += 1;
        if log.returned.is_some() && log.first_request.is_none() {
            log.first_request = Some(Instant::now());
        }
        if let Some(status) = log.status {
            return Reply::new(status, "text/plain", "the server is away").into();
        }
        log.answered += 1;
        answer.clone()
    });
    server.with_context(|| format!("the server cannot listen on port {port}"))
}

fn open(log: &Mutex<OutageLog>) -> MutexGuard<'_, OutageLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A server with a limit that several processes share. It tells them apart by the path of their requests.

use crate::lab::ANSWER;
use gage_load_server::{Answer, LoadServer, Reply, completion};
use serde_json::json;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time that the server works on an answer. A refusal takes none.
const LATENCY: Duration = Duration::from_millis(50);
/// Answers per second of a server that works on one request at a time.
const ANSWERS_PER_SLOT: usize = 20;
/// Time whose requests a server with a limit per second answers at once after a pause.
const BURST: Duration = Duration::from_millis(100);

/// Limit of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerLimit {
    /// It answers up to this many requests per second, and a tenth of them at once after a pause.
    Rate(usize),
    /// It works on up to this many requests at once, and refuses the others.
    Slots(usize),
    /// It works on up to this many requests at once. The others wait.
    Queue(usize),
}

impl ServerLimit {
    /// Returns the number of answers per second that the limit allows.
    pub(crate) fn answers_per_second(self) -> usize {
        match self {
            ServerLimit::Rate(rate) => rate,
            ServerLimit::Slots(slots) | ServerLimit::Queue(slots) => slots * ANSWERS_PER_SLOT,
        }
    }
}

/// Limit of a server, and its refusals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitedService {
    pub(crate) limit: ServerLimit,
    /// Status of a refusal.
    pub(crate) status: u16,
    /// True if refusals ask to wait for a second.
    pub(crate) has_retry_after: bool,
}

impl fmt::Display for LimitedService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            ServerLimit::Rate(rate) => write!(formatter, "{rate} a second, {}", self.status)?,
            ServerLimit::Slots(slots) => write!(formatter, "{slots} at once, {}", self.status)?,
            ServerLimit::Queue(slots) => return write!(formatter, "{slots} at once, others wait"),
        }
        formatter.write_str(if self.has_retry_after { ", `Retry-After: 1`" } else { "" })
    }
}

/// Requests of one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessLog {
    /// Time of the first request.
    pub(crate) began: Option<Instant>,
    /// Times of all answers.
    pub(crate) answers: Vec<Instant>,
}

/// Gives every request within its limit the same answer.
pub(crate) struct LimitedServer {
    server: LoadServer,
    state: Arc<Mutex<ServerState>>,
}

struct ServerState {
    /// Time until which each slot is busy. A limit per second has one slot.
    busy_until: Vec<Instant>,
    processes: Vec<ProcessLog>,
}

impl LimitedServer {
    /// Starts a server for a number of processes.
    pub(crate) fn start(service: LimitedService, processes: usize) -> anyhow::Result<LimitedServer> {
        let slots = match service.limit {
            ServerLimit::Rate(_) => 1,
            ServerLimit::Slots(slots) | ServerLimit::Queue(slots) => slots,
        };
        let state = Arc::new(Mutex::new(ServerState {
            busy_until: vec![Instant::now(); slots],
            processes: vec![ProcessLog::default(); processes],
        }));
        let answer = completion(ANSWER);
        let body = json!({"error": {"message": "too many requests"}});
        let refusal = Reply::json(service.status, &body);
        let refusal = if service.has_retry_after { refusal.with("retry-after", "1") } else { refusal };
        let refusal = refusal.prepared();
        let server = LoadServer::start({
            let state = Arc::clone(&state);
            move |request| match open(&state).accept(service.limit, &request.path) {
                Some(delay) => Answer::from(answer.clone().after(delay)),
                None => refusal.clone(),
            }
        })?;
        Ok(LimitedServer { server, state })
    }

    /// Returns the address for a process.
    pub(crate) fn url(&self, process: usize) -> String {
        format!("{}/{process}", self.server.url())
    }

    /// Returns what each process did so far.
    pub(crate) fn processes(&self) -> Vec<ProcessLog> {
        open(&self.state).processes.clone()
    }
}

impl ServerState {
    /// Records a request that arrives now. Returns the time until its answer; `None` if it is refused.
    fn accept(&mut self, limit: ServerLimit, path: &str) -> Option<Duration> {
        let now = Instant::now();
        let process = path.split('/').nth(1).and_then(|number| number.parse::<usize>().ok())?;
        let log = self.processes.get_mut(process)?;
        log.began.get_or_insert(now);
        let slot = self.busy_until.iter_mut().min()?;
        let begin = (*slot).max(now);
        match limit {
            ServerLimit::Rate(_) if begin > now + BURST => return None,
            ServerLimit::Slots(_) if begin > now => return None,
            _ => {}
        }
        let end = match limit {
            ServerLimit::Rate(rate) => {
                *slot = begin + Duration::from_secs_f64(1.0 / rate as f64);
                now + LATENCY
            }
            ServerLimit::Slots(_) | ServerLimit::Queue(_) => {
                *slot = begin + LATENCY;
                *slot
            }
        };
        log.answers.push(end);
        Some(end.saturating_duration_since(now))
    }
}

fn open(state: &Mutex<ServerState>) -> MutexGuard<'_, ServerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

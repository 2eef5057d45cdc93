//! A simulated server: connections, answers and faults in virtual time.

use crate::faults::{Fault, FaultCounts, FaultPlan, Random};
use async_trait::async_trait;
use bytes::Bytes;
use gage_backend::{
    ConnectionKey, Transport, TransportBody, TransportError, TransportErrorKind, TransportReply,
    TransportRequest,
};
use parking_lot::Mutex;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Timeout of a request, as in the suite.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// A server that keeps its state over the processes of a run.
pub(crate) struct SimulatedServer {
    plan: FaultPlan,
    state: Mutex<ServerState>,
}

struct ServerState {
    random: Random,
    /// Start of this process, and the virtual time of the earlier ones.
    process: Option<(Instant, Duration)>,
    /// Notified by each request of this process.
    requested: Arc<Notify>,
    idle: Vec<Connection>,
    /// Connections of an earlier generation are not used again.
    generation: u64,
    connections: u16,
    answers: u64,
    window: (u64, u64),
    requests: u64,
    /// Time of the last request.
    last_request: Duration,
    has_ended: bool,
    requests_after_end: u64,
    counts: FaultCounts,
}

/// A connection, and the answers that are still on their way.
struct Connection {
    port: u16,
    generation: u64,
    queue: VecDeque<Answer>,
}

/// An answer on its way.
#[derive(Clone, Default)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl SimulatedServer {
    pub(crate) fn new(plan: FaultPlan, random: Random) -> SimulatedServer {
        let state = ServerState {
            random,
            process: None,
            requested: Arc::default(),
            idle: Vec::new(),
            generation: 0,
            connections: 0,
            answers: 0,
            window: (0, 0),
            requests: 0,
            last_request: Duration::ZERO,
            has_ended: false,
            requests_after_end: 0,
            counts: FaultCounts::default(),
        };
        SimulatedServer { plan, state: Mutex::new(state) }
    }

    /// Begins a process at a virtual time. Called inside its runtime. Returns what its requests notify.
    pub(crate) fn begin_process(&self, before: Duration) -> Arc<Notify> {
        let mut state = self.state.lock();
        state.requested = Arc::default();
        state.process = Some((Instant::now(), before));
        state.idle.clear();
        state.generation += 1;
        state.has_ended = false;
        Arc::clone(&state.requested)
    }

    /// Ends a process. Later requests of it are counted.
    pub(crate) fn end_process(&self) {
        self.state.lock().has_ended = true;
    }

    pub(crate) fn requests_after_end(&self) -> u64 {
        self.state.lock().requests_after_end
    }

    pub(crate) fn counts(&self) -> FaultCounts {
        self.state.lock().counts.clone()
    }

    /// Returns the time of the last request, since the start of the first process.
    pub(crate) fn last_request(&self) -> Duration {
        self.state.lock().last_request
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state.lock().requests
    }

    /// Decides on a request as it arrives.
    fn decide(&self) -> (Option<Fault>, Option<u64>, Duration, Connection) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.requests += 1;
        state.requested.notify_one();
        state.requests_after_end += u64::from(state.has_ended);
        let now = state.process.map_or(Duration::ZERO, |(start, before)| before + start.elapsed());
        state.last_request = now;
        let connection = state.idle.pop().unwrap_or_else(|| {
            state.connections = state.connections.wrapping_add(1);
            Connection { port: state.connections, generation: state.generation, queue: VecDeque::new() }
        });
        let noise = state.random.percent(self.plan.noise).then(|| state.random.pick(&self.plan.noises));
        let outage = self.plan.outage_at(now);
        let throttled = self.plan.limit.filter(|_| outage.is_none()).and_then(|limit| {
            let window = u64::try_from(now.as_millis() / limit.window.as_millis()).unwrap_or(u64::MAX);
            if state.window.0 != window {
                state.window = (window, 0);
            }
            state.window.1 += 1;
            let rest = limit.window.as_secs() - now.as_secs() % limit.window.as_secs();
            (state.window.1 > limit.requests).then_some(if limit.has_hint { rest } else { 0 })
        });
        let fault = outage.or(noise.filter(|_| throttled.is_none()));
        if let Some(fault) = fault {
            state.counts.add(&format!("{fault:?}").to_lowercase(), 1);
        }
        state.counts.add("throttled", u64::from(throttled.is_some()));
        (fault, throttled, self.plan.latency, connection)
    }

    /// Returns the answer to a question; one with a status of success has a new id.
    fn answer_to(&self, question: &str, fault: Option<Fault>, throttled: Option<u64>) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = throttled.filter(|wait| *wait > 0) {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait));
        }
        let is_rejected = self.plan.rejected.is_some_and(|digit| question.ends_with(&digit.to_string()));
        let (status, body) = match (throttled, fault) {
            (Some(_), _) => (429, Bytes::from_static(b"slow down")),
            (None, Some(Fault::Status(status))) => (status, Bytes::from_static(b"boom")),
            (None, _) if is_rejected => (400, Bytes::from_static(b"not this one")),
            (None, _) => (200, self.completion(question)),
        };
        Answer { status, headers, body }
    }

    fn completion(&self, question: &str) -> Bytes {
        let mut state = self.state.lock();
        state.answers += 1;
        let id = if self.plan.has_ids { json!(format!("answer-{}", state.answers)) } else { Value::Null };
        let text = question.replace("question", "answer");
        json!({
            "id": id,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        })
        .to_string()
        .into()
    }
}

/// The transport of a process of the run.
pub(crate) struct SimulatedTransport(pub(crate) Arc<SimulatedServer>);

#[async_trait]
impl Transport for SimulatedTransport {
    async fn send(&self, request: TransportRequest<'_>) -> Result<TransportReply, TransportError> {
        let server = &self.0;
        let (fault, throttled, latency, mut connection) = server.decide();
        let question = question_of(&request.body);
        match fault {
            Some(Fault::Refused) => {
                let kind = TransportErrorKind::Unreachable { is_late: false };
                return Err(failed(kind, "cannot connect: connection refused"));
            }
            Some(Fault::Hang) => {
                sleep(TIMEOUT).await;
                return Err(failed(TransportErrorKind::TimedOut, "no answer in time"));
            }
            Some(Fault::Late) => sleep(latency * 3 + Duration::from_millis(700)).await,
            _ => sleep(latency).await,
        }
        if fault == Some(Fault::Reset) {
            return Err(failed(TransportErrorKind::Broken, "the request failed: connection reset"));
        }
        let answer = server.answer_to(&question, fault, throttled);
        // A surplus answer shifts everything after it by one request.
        connection.queue.push_back(answer.clone());
        if fault == Some(Fault::Surplus) && answer.status == 200 {
            connection.queue.push_back(answer);
        }
        let Answer { status, headers, body } = connection.queue.pop_front().unwrap_or_default();
        let port = connection.port;
        let is_torn = fault == Some(Fault::Torn);
        let body = SimulatedBody {
            server: Arc::clone(server),
            connection: Some(connection).filter(|_| !request.closes_connection && !is_torn),
            rest: Some(body),
            breaks_off: is_torn,
        };
        Ok(TransportReply {
            status,
            headers,
            connection: Some(ConnectionKey(SocketAddr::from(([127, 0, 0, 1], port)))),
            body: Box::new(body),
        })
    }

    fn retire_connections(&self) {
        let mut state = self.0.state.lock();
        state.generation += 1;
        state.idle.clear();
    }
}

fn failed(kind: TransportErrorKind, message: &str) -> TransportError {
    TransportError { kind, message: message.to_owned() }
}

fn question_of(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["messages"][0]["content"].as_str().unwrap_or_default().to_owned()
}

struct SimulatedBody {
    server: Arc<SimulatedServer>,
    connection: Option<Connection>,
    rest: Option<Bytes>,
    breaks_off: bool,
}

#[async_trait]
impl TransportBody for SimulatedBody {
    async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        match self.rest.take() {
            // In two pieces, so that a piece is not always the whole.
            Some(mut whole) if whole.len() > 40 => {
                let first = whole.split_to(20);
                self.rest = Some(whole);
                Ok(Some(first))
            }
            Some(_) if self.breaks_off => {
                Err(failed(TransportErrorKind::Broken, "the answer broke off: connection reset"))
            }
            Some(last) => Ok(Some(last)),
            None => {
                if let Some(connection) = self.connection.take() {
                    let mut state = self.server.state.lock();
                    if connection.generation == state.generation {
                        state.idle.push(connection);
                    }
                }
                Ok(None)
            }
        }
    }
}

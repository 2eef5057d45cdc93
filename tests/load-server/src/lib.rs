//! An HTTP/1.1 server on loopback with scripted answers and faults: for testing the robustness of a client, and for
//! measuring its cost.
//!
//! It writes to sockets itself, so that it can misbehave like no proper server: reset a connection, promise more than
//! it sends, never end. It stops when it is dropped.

mod answers;
mod connection;
mod faults;

pub use answers::{completion, events, last_message};
pub use faults::{FaultInjector, FaultShares};

use bytes::Bytes;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A request as received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The path, with the query.
    pub path: String,
    /// The request line and the headers, which are parsed on demand.
    pub(crate) head: Bytes,
    /// The whole body.
    pub body: Bytes,
}

impl Request {
    /// Returns the value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        connection::header_of(&self.head, name)
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Reaction of the server to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A proper answer.
    Reply(Reply),
    /// A proper answer that is sent once more when the next request has arrived on the connection.
    Twice(Reply),
    /// A proper answer after a delay, as bytes that [`Reply::prepared`] made once for many requests.
    Prepared(Bytes, Duration),
    /// Any bytes, followed by the end of the connection.
    Raw(Bytes),
    /// A head that promises a body, less of it than promised, and the end of the connection.
    Truncated(Reply),
    /// A chunked body; without its last chunk if it breaks off.
    Chunks {
        /// The `content-type`.
        content_type: &'static str,
        /// The pieces, each a chunk.
        pieces: Vec<Bytes>,
        /// True if the connection ends before the body does.
        breaks_off: bool,
    },
    /// The connection is reset.
    Reset,
    /// No answer until the client disconnects.
    Hang,
    /// A body that never ends.
    Endless,
}

/// A proper answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status, such as 200 or 429.
    pub status: u16,
    /// The headers except `content-length`.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: Bytes,
    /// Delay before the server answers.
    pub delay: Duration,
}

impl Reply {
    /// Creates a JSON reply with a status.
    pub fn json(status: u16, body: &serde_json::Value) -> Reply {
        Reply::new(status, "application/json", body.to_string())
    }

    /// Creates a reply with a body of a type.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
        let headers = vec![("content-type", content_type.into())];
        Reply { status, headers, body: body.into(), delay: Duration::ZERO }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns the reply as bytes that are made once, for servers that must cost little per request.
    pub fn prepared(&self) -> Answer {
        Answer::Prepared(connection::bytes_of(self, self.body.len()).into(), self.delay)
    }

    /// Sets the delay.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Reply {
        self.delay = delay;
        self
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Answer {
        Answer::Reply(reply)
    }
}

/// Counters of a server.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
    connections: AtomicU64,
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// A server on a loopback port, with its own runtime.
pub struct LoadServer {
    address: SocketAddr,
    counters: Arc<Counters>,
    /// Runs the server for as long as it lives.
    runtime: Option<tokio::runtime::Runtime>,
}

impl LoadServer {
    /// Starts a server that takes its answers from a function.
    ///
    /// # Errors
    /// If there is no free port or no thread can be started.
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> std::io::Result<LoadServer> {
        LoadServer::start_on(0, answer)
    }

    /// Starts a server on a port; 0 is any free one. When a server is dropped, its port can be used again.
    ///
    /// # Errors
    /// If the port is in use or no thread can be started.
    pub fn start_on(
        port: u16,
        answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> std::io::Result<LoadServer> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        // Async tests must not block on another runtime.
        let listener = std::net::TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let counters = Arc::new(Counters::default());
        runtime.spawn(connection::accept(listener, Arc::new(answer), Arc::clone(&counters)));
        Ok(LoadServer { address, counters, runtime: Some(runtime) })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the number of requests received.
    pub fn requests(&self) -> u64 {
        self.counters.requests.load(Ordering::SeqCst)
    }

    /// Returns the maximum number of requests in flight at the same time.
    pub fn max_in_flight(&self) -> u64 {
        self.counters.max_in_flight.load(Ordering::SeqCst)
    }

    /// Returns the number of connections accepted.
    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Ordering::SeqCst)
    }
}

impl Drop for LoadServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Hanging clients are not awaited, and a test may itself be async.
            runtime.shutdown_background();
        }
    }
}

//! An HTTP/1.1 server on loopback that answers as it is told, and breaks as it is told: for tests of what a
//! client survives, and for measurements of what a client costs.
//!
//! It speaks to sockets itself, so that it can do what no proper server does: reset a connection, promise
//! more than it sends, never end. It stops when it is dropped.

mod answers;
mod connection;
mod storm;

pub use answers::{completion, events, messages_question};
pub use storm::{Storm, StormShares};

use bytes::Bytes;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// With the query.
    pub path: String,
    /// The line of the request and its headers, which are read when somebody asks.
    pub(crate) head: Bytes,
    /// The whole body.
    pub body: Bytes,
}

impl Request {
    /// The value of a header, where it is a text.
    pub fn header(&self, name: &str) -> Option<&str> {
        connection::header_of(&self.head, name)
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What to do about a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A proper answer.
    Reply(Reply),
    /// The same, as bytes that [`Reply::prepared`] made once for many requests, after a while.
    Prepared(Bytes, Duration),
    /// These bytes, whatever they are, and then the end of the connection.
    Raw(Bytes),
    /// A head that promises a body, less of it than promised, and the end of the connection.
    Truncated(Reply),
    /// A chunked body of these pieces; without its last chunk where it breaks off.
    Chunks {
        /// The `content-type`.
        content_type: &'static str,
        /// The pieces, each a chunk.
        pieces: Vec<Bytes>,
        /// Whether the connection ends before the body does.
        breaks_off: bool,
    },
    /// The connection is reset.
    Reset,
    /// Nothing, until the client goes away.
    Hang,
    /// A body that never ends.
    Endless,
}

/// A proper answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// 200, 429, …
    pub status: u16,
    /// Besides `content-length`.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: Bytes,
    /// How long the server thinks about it.
    pub delay: Duration,
}

impl Reply {
    /// JSON with a status.
    pub fn json(status: u16, body: &serde_json::Value) -> Reply {
        Reply::new(status, "application/json", body.to_string())
    }

    /// A body of a type.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
        let headers = vec![("content-type", content_type.into())];
        Reply { status, headers, body: body.into(), delay: Duration::ZERO }
    }

    /// The same with a further header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    /// The same for servers that are to cost little: its bytes are made here, and not for each request.
    pub fn prepared(&self) -> Answer {
        Answer::Prepared(connection::bytes_of(self, self.body.len()).into(), self.delay)
    }

    /// The same after a while.
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

/// What a server saw.
#[derive(Debug, Default)]
pub(crate) struct SeenRequest {
    requests: AtomicU64,
    in_flight: AtomicU64,
    most_in_flight: AtomicU64,
    connections: AtomicU64,
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// A server on a free port of loopback, with a runtime of its own.
pub struct LoadServer {
    address: SocketAddr,
    seen: Arc<SeenRequest>,
    /// Runs the server for as long as it lives.
    runtime: Option<tokio::runtime::Runtime>,
}

impl LoadServer {
    /// Starts a server that answers with a function.
    ///
    /// # Errors
    /// When there is no port or no thread to be had.
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> std::io::Result<LoadServer> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        // Tests may be async themselves, and must not wait for another runtime.
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let seen = Arc::new(SeenRequest::default());
        runtime.spawn(connection::accept(listener, Arc::new(answer), Arc::clone(&seen)));
        Ok(LoadServer { address, seen, runtime: Some(runtime) })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests came.
    pub fn requests(&self) -> u64 {
        self.seen.requests.load(Ordering::SeqCst)
    }

    /// How many requests were there at the same time, at most.
    pub fn most_in_flight(&self) -> u64 {
        self.seen.most_in_flight.load(Ordering::SeqCst)
    }

    /// How many connections were made.
    pub fn connections(&self) -> u64 {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

impl Drop for LoadServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Clients that hang are not waited for; and a test may be async itself.
            runtime.shutdown_background();
        }
    }
}

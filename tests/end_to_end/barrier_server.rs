//! A server that answers once a given number of requests is in flight, or after a minute.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Maximum time that a request waits for the others.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server on loopback that stops when it is dropped.
pub(crate) struct BarrierServer {
    _runtime: tokio::runtime::Runtime,
    pub(crate) address: SocketAddr,
    max_in_flight: Arc<AtomicUsize>,
}

struct RequestBarrier {
    expected: usize,
    in_flight: AtomicUsize,
    max_in_flight: Arc<AtomicUsize>,
    complete: Notify,
}

impl BarrierServer {
    /// Starts a server that answers no request before it has received `expected` ones.
    pub(crate) fn start(expected: usize) -> BarrierServer {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let max_in_flight = Arc::new(AtomicUsize::new(0));
        let barrier = RequestBarrier {
            expected,
            in_flight: AtomicUsize::new(0),
            max_in_flight: Arc::clone(&max_in_flight),
            complete: Notify::new(),
        };
        let barrier = Arc::new(barrier);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&barrier)));
            }
        });
        BarrierServer { _runtime: runtime, address, max_in_flight }
    }

    /// Returns the maximum number of requests in flight at the same time.
    pub(crate) fn max_in_flight(&self) -> usize {
        self.max_in_flight.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, barrier: Arc<RequestBarrier>) {
    while read_request(&mut stream).await.is_some() {
        barrier.wait().await;
        let body = r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}"#;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
        let reply = format!("{head}{}\r\n\r\n{body}", body.len());
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads one request to its end. Returns `None` if the client has closed the connection.
async fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if length
            .and_then(|length| length.trim().parse().ok())
            .is_some_and(|length: usize| body.len() >= length)
        {
            return Some(());
        }
    }
}

impl RequestBarrier {
    async fn wait(&self) {
        let complete = self.complete.notified();
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        // Once all requests have arrived, none waits any longer.
        if self.max_in_flight.load(Ordering::SeqCst) >= self.expected {
            self.complete.notify_waiters();
        } else {
            // If too few requests arrive before the timeout, the test fails.
            let _ = tokio::time::timeout(TIMEOUT, complete).await;
        }
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

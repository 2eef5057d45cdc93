//! A server that answers when so many requests are there at the same time, or when a minute has passed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How long it waits for the others.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on loopback that ends with this.
pub(crate) struct Crowd {
    _runtime: tokio::runtime::Runtime,
    pub(crate) address: SocketAddr,
    most: Arc<AtomicUsize>,
}

struct Hall {
    wanted: usize,
    inside: AtomicUsize,
    most: Arc<AtomicUsize>,
    complete: Notify,
}

impl Crowd {
    /// Waits for so many requests before it answers any.
    pub(crate) fn start(wanted: usize) -> Crowd {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let most = Arc::new(AtomicUsize::new(0));
        let hall =
            Hall { wanted, inside: AtomicUsize::new(0), most: Arc::clone(&most), complete: Notify::new() };
        let hall = Arc::new(hall);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&hall)));
            }
        });
        Crowd { _runtime: runtime, address, most }
    }

    /// How many requests were there at the same time.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, hall: Arc<Hall>) {
    while read_request(&mut stream).await.is_some() {
        hall.wait().await;
        let body = r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}"#;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
        let reply = format!("{head}{}\r\n\r\n{body}", body.len());
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads one request to its end; nothing where the client has gone.
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

impl Hall {
    async fn wait(&self) {
        let complete = self.complete.notified();
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        // Once all have been there nobody waits any more.
        if self.most.load(Ordering::SeqCst) >= self.wanted {
            self.complete.notify_waiters();
        } else {
            // Whoever gives up has seen too few, which the test says.
            let _ = tokio::time::timeout(PATIENCE, complete).await;
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

//! HTTP server that runs until it is stopped. Its connections are limited in number and in time.

use crate::dns_rebinding_guard::{AllowedHosts, guard};
use crate::handlers::{AppState, router};
use crate::reporting::{Reporter, RequestFinder};
use crate::write_timeout::WriteTimeout;
use crate::{RunsRoot, ViewError};
use gage_config::Permissions;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Time limit for pending answers when the server is stopped.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of open connections; further ones wait. A browser opens up to six.
const MAX_CONNECTIONS: usize = 64;

/// Time limit for the headers of a request, and for the next request on an idle connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which a reader may take nothing of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after a connection could not be accepted, for example because the process has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Options of the viewer.
#[derive(Clone, Debug)]
pub struct ViewerOptions {
    /// Address to listen at; port 0 chooses a free one.
    pub address: SocketAddr,
    /// Accepted names of the machine, besides `localhost` and its addresses.
    pub allowed_hosts: Vec<String>,
    /// Finds the sent requests that reports show.
    pub requests: RequestFinder,
    /// What the suites of the runs may reach besides their own folders.
    pub permissions: Permissions,
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Viewer {
    listener: TcpListener,
    address: SocketAddr,
    root: RunsRoot,
    allowed: AllowedHosts,
    reporter: Reporter,
}

impl Viewer {
    /// Starts to listen.
    ///
    /// # Errors
    /// When it cannot listen at the address.
    pub async fn bind(root: RunsRoot, options: &ViewerOptions) -> Result<Viewer, ViewError> {
        let failed = |source| ViewError::Listen { address: options.address, source };
        let listener = TcpListener::bind(options.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let allowed = AllowedHosts::new(&options.allowed_hosts);
        let reporter = Reporter::new(options.requests, options.permissions.clone());
        Ok(Viewer { listener, address, root, allowed, reporter })
    }

    /// Returns the address it listens at, with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` completes; pending answers then have a second.
    ///
    /// # Errors
    /// When a network operation fails, or the index of the folder cannot be used.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ViewError> {
        let (root, reporter) = (self.root, self.reporter);
        let opened = tokio::task::spawn_blocking(move || AppState::open(root, reporter)).await;
        let shared = opened.map_err(|error| ViewError::Serve(io::Error::other(error)))??;
        let app = router(shared).layer(axum::middleware::from_fn_with_state(self.allowed, guard));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let connections = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (stream, permit) = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&self.listener, &permits) => accepted?,
            };
            let stream = TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT));
            let connection = http.serve_connection(stream, TowerToHyperService::new(app.clone()));
            let connection = connections.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended early");
                }
                drop(permit);
            });
        }
        // Answers that are still pending after that are given up.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connections.shutdown()).await;
        Ok(())
    }
}

/// Accepts the next connection as soon as there is room for it.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Result<(TcpStream, OwnedSemaphorePermit), ViewError> {
    let permit = Arc::clone(permits).acquire_owned().await;
    let permit = permit.map_err(|error| ViewError::Serve(io::Error::other(error)))?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Ok((stream, permit)),
            // The client is gone already.
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(error) => {
                tracing::debug!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::Instant;

    fn any_port() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[tokio::test(start_paused = true)]
    async fn connections_with_unfinished_headers_are_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = ViewerOptions {
            address: any_port(),
            allowed_hosts: Vec::new(),
            requests: |_, _| Box::new(|_, _| None),
            permissions: Permissions::default(),
        };
        let root = RunsRoot::open(folder.path()).expect("a folder");
        let viewer = Viewer::bind(root, &options).await.expect("a port");
        let address = viewer.address();
        tokio::spawn(viewer.serve(std::future::pending()));
        for begin in ["", "GET /data/runs HTTP/1.1\r\nHost: loc"] {
            let began = Instant::now();
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(begin.as_bytes()).await.expect("sent");
            let mut answer = Vec::new();
            let read = tokio::time::timeout(10 * HEADER_TIMEOUT, stream.read_to_end(&mut answer)).await;
            // A connection that is closed with unread bytes ends with a reset.
            drop(read.expect("the connection was closed"));
            assert!(!answer.starts_with(b"HTTP/1.1 200"), "{begin}");
            assert!(began.elapsed() >= HEADER_TIMEOUT, "{:?}", began.elapsed());
        }
    }

    #[tokio::test]
    async fn connections_beyond_the_limit_wait_for_room() {
        let listener = TcpListener::bind(any_port()).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let permits = Arc::new(Semaphore::new(1));
        let _clients = [
            TcpStream::connect(address).await.expect("a connection"),
            TcpStream::connect(address).await.expect("a connection"),
        ];
        let first = accept(&listener, &permits).await.expect("a connection");
        let mut second = std::pin::pin!(accept(&listener, &permits));
        assert!(futures::poll!(second.as_mut()).is_pending());
        drop(first);
        assert!(second.await.is_ok());
    }
}

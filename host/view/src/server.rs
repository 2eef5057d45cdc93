//! HTTP server that runs until it is stopped.

use crate::dns_rebinding_guard::{AllowedHosts, guard};
use crate::handlers::{AppState, router};
use crate::reporting::{Reporter, RequestFinder};
use crate::{RunsRoot, ViewError};
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Time limit for pending answers when the server is stopped.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of the viewer.
#[derive(Clone, Debug)]
pub struct ViewerOptions {
    /// Address to listen at; port 0 chooses a free one.
    pub address: SocketAddr,
    /// Accepted names of the machine, besides `localhost` and its addresses.
    pub allowed_hosts: Vec<String>,
    /// Finds the sent requests that reports show.
    pub requests: RequestFinder,
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
        Ok(Viewer { listener, address, root, allowed, reporter: Reporter::new(options.requests) })
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
        let shared = opened.map_err(|error| ViewError::Serve(std::io::Error::other(error)))??;
        let app = router(shared).layer(axum::middleware::from_fn_with_state(self.allowed, guard));
        let (stopped, stops) = oneshot::channel::<()>();
        let until = async move {
            stop.await;
            // The receiver is gone if the server stopped unexpectedly.
            let _ = stopped.send(());
        };
        let serving = axum::serve(self.listener, app).with_graceful_shutdown(until);
        let late = async {
            if stops.await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
        };
        tokio::select! {
            served = serving.into_future() => served.map_err(ViewError::Serve),
            () = late => Ok(()),
        }
    }
}

//! Server that listens, and answers until it is told to stop.

use crate::dns_rebinding_guard::{AllowedHosts, guard};
use crate::handlers::{AppState, router};
use crate::{RunsRoot, ViewError};
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How long answers that were begun may take when the server is told to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How runs are shown.
#[derive(Clone, Debug)]
pub struct ViewerOptions {
    /// Where to listen; port 0 takes one that is free.
    pub address: SocketAddr,
    /// Names by which the machine may be asked, besides `localhost` and its addresses.
    pub allowed_hosts: Vec<String>,
}

/// A server that listens, and has not answered yet.
#[derive(Debug)]
pub struct Viewer {
    listener: TcpListener,
    address: SocketAddr,
    root: RunsRoot,
    allowed: AllowedHosts,
}

impl Viewer {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub async fn bind(root: RunsRoot, options: &ViewerOptions) -> Result<Viewer, ViewError> {
        let failed = |source| ViewError::Listen { address: options.address, source };
        let listener = TcpListener::bind(options.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Viewer { listener, address, root, allowed: AllowedHosts::new(&options.allowed_hosts) })
    }

    /// Where it listens, with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` ends; answers that were begun then have a second.
    ///
    /// # Errors
    /// Those of the network, and when the index of the folder cannot be used.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ViewError> {
        let root = self.root;
        let opened = tokio::task::spawn_blocking(move || AppState::open(root)).await;
        let shared = opened.map_err(|error| ViewError::Serve(std::io::Error::other(error)))??;
        let app = router(shared).layer(axum::middleware::from_fn_with_state(self.allowed, guard));
        let (stopped, stops) = oneshot::channel::<()>();
        let until = async move {
            stop.await;
            // The other end is gone where the server has ended by itself.
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

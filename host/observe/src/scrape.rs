//! HTTP endpoint where Prometheus reads the counters of a run.

use crate::Meters;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Content type of [`Meters::encode`].
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Time limit for a client to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 32;

/// Listens at an address for the lifetime of the current runtime: `GET /metrics` returns the counters. Returns the
/// address with its real port.
///
/// # Errors
/// When it cannot listen at the address.
pub async fn serve_metrics(address: SocketAddr, meters: Meters) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener, meters));
    Ok(address)
}

async fn accept(listener: TcpListener, meters: Meters) {
    let readers = std::sync::Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(reader) = std::sync::Arc::clone(&readers).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let meters = meters.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(request, meters.clone()));
                    let mut server = hyper::server::conn::http1::Builder::new();
                    server.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIMEOUT);
                    // A reader that disconnects needs no answer.
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    drop(reader);
                });
            }
            // For example, when no file can be opened any more, which is temporary.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(request: Request<Incoming>, meters: Meters) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, OPEN_METRICS, meters.encode()),
        (_, "/metrics") => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET is answered\n".to_owned())
        }
        _ => (StatusCode::NOT_FOUND, "text/plain", "the counters are at /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

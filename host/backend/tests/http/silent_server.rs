//! A server that accepts requests and never answers.

use super::{ask, backend};
use async_trait::async_trait;
use futures::future::join_all;
use gage_backend::{
    HttpHosts, OpenOptions, Transport, TransportError, TransportErrorKind, TransportReply, TransportRequest,
    cancellable,
};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// Time limit of an attempt. It is longer than the interval between two probes, so a probe is due when another ends.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A transport whose requests all end by their time limit. Holds the times when they were sent.
#[derive(Default)]
struct SilentTransport(Mutex<Vec<Instant>>);

#[async_trait]
impl Transport for SilentTransport {
    async fn send(&self, _: TransportRequest<'_>) -> Result<TransportReply, TransportError> {
        self.0.lock().expect("a lock").push(Instant::now());
        sleep(TIMEOUT).await;
        let message = "no answer in time".to_owned();
        Err(TransportError { kind: TransportErrorKind::TimedOut, message })
    }

    fn retire_connections(&self) {}
}

#[tokio::test(start_paused = true)]
async fn stop_ends_requests_to_a_silent_server() {
    let transport = Arc::new(SilentTransport::default());
    let hosts = HttpHosts::simulated(Arc::clone(&transport) as Arc<dyn Transport>, 1);
    let options = OpenOptions { hosts, ..OpenOptions::default() };
    let backend = backend("openai_http", "http://server.test", ", model: m", &options).await;
    // The first attempts have ended by then, and a probe is in flight.
    let stop = Instant::now() + Duration::from_secs(12);
    let requests = ["a", "b", "c"]
        .map(|question| cancellable(ask(backend.as_ref(), question), sleep_until(stop), pending()));
    let ends = join_all(requests).await;
    assert!(ends.iter().all(Option::is_none), "{ends:?}");
    let sent = transport.0.lock().expect("a lock");
    assert!(sent.len() > 3 && sent.iter().all(|time| *time <= stop), "{sent:?}, stopped at {stop:?}");
}

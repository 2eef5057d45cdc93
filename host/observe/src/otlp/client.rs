//! HTTP client of the exporters. Uses the client of this crate, on a separate runtime.

use crate::http::without_secrets;
use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SpanData;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Maximum size of a collector's response.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Sends requests, and remembers the last error.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: reqwest::Client,
    runtime: tokio::runtime::Handle,
    last_error: Arc<Mutex<Option<String>>>,
}

impl Transport {
    pub(super) fn new(client: reqwest::Client, runtime: tokio::runtime::Handle) -> Transport {
        Transport { client, runtime, last_error: Arc::default() }
    }

    pub(super) fn last_error(&self) -> Option<String> {
        self.last_error.lock().clone()
    }

    fn remember(&self, reason: &str) {
        *self.last_error.lock() = Some(reason.to_owned());
    }
}

#[async_trait]
impl HttpClient for Transport {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        // The exporters run on plain threads, which cannot drive a connection.
        let sent = self.runtime.spawn(async move { send(&client, request).await }).await;
        let answer = sent.unwrap_or_else(|error| Err(error.to_string()));
        match answer {
            Ok(response) => {
                if !response.status().is_success() {
                    self.remember(&format!("the collector answered {}", response.status()));
                }
                Ok(response)
            }
            Err(reason) => {
                self.remember(&reason);
                Err(reason.into())
            }
        }
    }
}

async fn send(client: &reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
    let request = reqwest::Request::try_from(request).map_err(without_secrets)?;
    let mut response = client.execute(request).await.map_err(without_secrets)?;
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(without_secrets)? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(format!("the collector's answer is longer than {MAX_RESPONSE_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    let mut answer = Response::new(Bytes::from(body));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

/// Counts the spans that arrived.
#[derive(Debug)]
pub(super) struct CountedSpans {
    exporter: SpanExporter,
    arrived: Arc<AtomicU64>,
}

impl CountedSpans {
    pub(super) fn new(exporter: SpanExporter, arrived: Arc<AtomicU64>) -> CountedSpans {
        CountedSpans { exporter, arrived }
    }
}

impl opentelemetry_sdk::trace::SpanExporter for CountedSpans {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len() as u64;
        self.exporter.export(batch).await?;
        self.arrived.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

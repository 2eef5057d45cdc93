//! Client of one backend: connections, headers and counters.

use super::answer_ids::AnswerIds;
use super::batch::HttpBatch;
use super::failure::Backoff;
use super::first_answers::FirstAnswers;
use super::host_limiter::HostLimiter;
use super::hosts::HttpHosts;
use super::recording::HttpRecording;
use super::statistics::Counters;
use super::transport::{NetworkTransport, Transport};
use crate::api::{BackendError, BackendErrorKind};
use crate::open_error::OpenError;
use gage_config::{HttpBackendConfig, Proxy};
use gage_secrets::SecretString;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;

/// A header that a protocol adds, and whether its value is secret.
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) is_secret: bool,
}

/// Returns the header that carries a key as a bearer token.
pub(crate) fn bearer(key: Option<&SecretString>) -> Vec<Header> {
    let value = key.map(|key| format!("Bearer {}", key.reveal()));
    value.map(|value| Header { name: "authorization", value, is_secret: true }).into_iter().collect()
}

/// Client of one backend.
pub(crate) struct HttpClient {
    pub(super) config: HttpBackendConfig,
    pub(super) backend_id: String,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) answer_ids: AnswerIds,
    pub(super) host_name: String,
    /// Note about the proxy, for messages about failed connections; empty if there is none.
    pub(super) proxy_hint: String,
    pub(super) host: Arc<HostLimiter>,
    pub(super) permits: Semaphore,
    pub(super) recording: Option<Arc<HttpRecording>>,
    pub(super) batch: Option<Arc<HttpBatch>>,
    /// Why there is no key, if only requests of the batch can do without it.
    pub(super) missing_key: Option<String>,
    pub(super) counters: Counters,
    pub(super) first_answers: FirstAnswers,
    pub(super) backoff: Backoff,
    /// True once the model has answered a request without the default temperature, after it refused the one with it.
    pub(super) omits_temperature: AtomicBool,
}

impl HttpClient {
    /// Creates the client; sends nothing. `headers` creates the headers of the protocol from the key.
    pub(crate) fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        hosts: &HttpHosts,
        recording: Option<Arc<HttpRecording>>,
        batch: Option<Arc<HttpBatch>>,
        headers: impl FnOnce(Option<&SecretString>) -> Vec<Header>,
    ) -> Result<HttpClient, OpenError> {
        let error = |message: String| OpenError { span: config.span, message, help: None };
        // Recorded requests were sent with a key, but a replay needs none. Neither do requests of a batch.
        let is_replay = recording.as_ref().is_some_and(|recording| recording.is_replay());
        let is_in_bulk = batch.as_ref().is_some_and(|batch| batch.is_of(backend_id));
        let mut missing_key = None;
        let key = match config.key.value() {
            Ok(key) => key,
            Err(_) if is_replay => None,
            Err(wrong) if is_in_bulk => {
                missing_key = Some(format!("{}; {}", wrong.message, wrong.help));
                None
            }
            Err(wrong) => {
                return Err(OpenError { span: wrong.span, message: wrong.message, help: Some(wrong.help) });
            }
        };
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let own = headers(key.as_ref()).into_iter();
        let own = own.map(|header| (header.name.to_owned(), header.value, header.is_secret));
        let further = config.headers.iter();
        let further = further.map(|header| (header.name.clone(), header.value.reveal().to_owned(), true));
        for (name, text, is_secret) in own.chain(further) {
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| error(format!("the header `{name}` cannot hold its value")))?;
            value.set_sensitive(is_secret);
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| error(format!("`{name}` is not the name of a header")))?;
            map.insert(name, value);
        }
        let url = reqwest::Url::parse(&config.base_url)
            .map_err(|wrong| error(format!("`{}` is not an address: {wrong}", config.base_url)))?;
        hosts.permissions().check_url(&url).map_err(|refusal| OpenError {
            span: config.span,
            message: refusal.message,
            help: Some(refusal.help),
        })?;
        let host_name = url.origin().ascii_serialization();
        let transport = match hosts.transport() {
            Some(transport) => transport,
            None => {
                let network = NetworkTransport::new(&config, map, hosts.permissions().clone());
                Arc::new(network.map_err(|(span, message)| OpenError { span, message, help: None })?)
            }
        };
        Ok(HttpClient {
            host: hosts.host(&host_name, &config.limits, &config.retry),
            permits: Semaphore::new(config.limits.most_requests()),
            backend_id: backend_id.to_owned(),
            counters: Counters::default(),
            first_answers: FirstAnswers::new(hosts.has_answered_before()),
            backoff: Backoff {
                base: config.retry.first_wait,
                limit: config.retry.max_wait,
                seed: hosts.jitter_seed(),
            },
            proxy_hint: proxy_hint(&config.connection.proxy, &|name| std::env::var(name).ok()),
            transport,
            answer_ids: AnswerIds::default(),
            omits_temperature: AtomicBool::new(false),
            host_name,
            recording,
            batch,
            missing_key,
            config,
        })
    }

    /// Checks that a request that is sent has its key.
    pub(super) fn check_key(&self) -> Result<(), BackendError> {
        let Some(why) = &self.missing_key else { return Ok(()) };
        Err(BackendError { kind: BackendErrorKind::Unauthorized, message: why.clone(), attempts: 0 })
    }

    /// Returns its configuration.
    pub(crate) fn config(&self) -> &HttpBackendConfig {
        &self.config
    }

    /// Returns a URL below the API's base URL.
    pub(crate) fn url(&self, path: &str) -> Result<reqwest::Url, OpenError> {
        let text = format!("{}{path}", self.config.base_url);
        reqwest::Url::parse(&text).map_err(|error| OpenError {
            span: self.config.span,
            message: format!("`{text}` is not an address: {error}"),
            help: None,
        })
    }

    /// Returns counters, and what was learned about the host.
    pub(crate) fn statistics(&self) -> gage_core::Object {
        let mut statistics = self.counters.statistics();
        statistics.insert("host".to_owned(), self.host_name.as_str().into());
        statistics.extend(self.host.statistics());
        if self.omits_temperature.load(Ordering::Relaxed) {
            statistics.insert("omitted_params".to_owned(), serde_json::json!(["temperature"]));
        }
        statistics
    }

    /// Leaves the default temperature out from now on, because the model answers only without it.
    pub(super) fn omit_temperature(&self) {
        if !self.omits_temperature.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                backend = %self.backend_id,
                "the model refuses the default temperature, 0: requests are sent without it, and equal ones may get \
                 different answers; set `omit_params: [temperature]` to leave it out from the first request on"
            );
        }
    }
}

/// Returns the note about the proxy that requests go through.
///
/// For a proxy from an environment variable, only the variable is named: its value may contain a password, and
/// `NO_PROXY` may exclude the host.
fn proxy_hint(proxy: &Proxy, variable: &dyn Fn(&str) -> Option<String>) -> String {
    const VARIABLES: [&str; 6] =
        ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    match proxy {
        Proxy::Direct => String::new(),
        Proxy::Address(address) => format!("; it goes through the proxy {address} (`proxy`)"),
        Proxy::Environment => {
            let is_set = |name: &&str| variable(name).is_some_and(|value| !value.trim().is_empty());
            match VARIABLES.into_iter().find(is_set) {
                Some(name) => format!(
                    "; it may go through the proxy that {name} names: `proxy: none` or NO_PROXY bypasses it"
                ),
                None => String::new(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_fails_names_its_proxy_and_no_password() {
        let cases = [
            (Proxy::Direct, ""),
            (Proxy::Address("http://proxy.test:3128".to_owned()), "proxy http://proxy.test:3128 (`proxy`)"),
            (Proxy::Environment, "the proxy that ALL_PROXY names"),
        ];
        let variable = |name: &str| match name {
            "HTTP_PROXY" => Some(" ".to_owned()),
            "ALL_PROXY" => Some("http://me:pass-of-mine@proxy.test".to_owned()),
            _ => None,
        };
        for (proxy, expected) in cases {
            let said = proxy_hint(&proxy, &variable);
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
            assert!(!said.contains("pass-of-mine"), "{said}");
        }
        assert_eq!(proxy_hint(&Proxy::Environment, &|_| None), "");
    }
}

//! Client of one backend: connections, headers and counters.

use super::failure::HttpFailure;
use super::host_limiter::{HostLimiter, HttpHosts};
use super::recording::HttpRecording;
use super::statistics::Counters;
use crate::api::BackendErrorKind;
use crate::open_error::OpenError;
use gage_config::{HttpBackendConfig, HttpConnection, Proxy, shown_path};
use gage_secrets::SecretString;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::error::Error as _;
use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;
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
    pub(super) client: reqwest::Client,
    pub(super) host_name: String,
    /// Note about the proxy, for messages about failed connections; empty if there is none.
    pub(super) proxy_hint: String,
    pub(super) host: Arc<HostLimiter>,
    pub(super) permits: Semaphore,
    pub(super) recording: Option<Arc<HttpRecording>>,
    pub(super) counters: Counters,
}

impl HttpClient {
    /// Creates the client; sends nothing. `headers` creates the headers of the protocol from the key.
    pub(crate) fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        hosts: &HttpHosts,
        recording: Option<Arc<HttpRecording>>,
        headers: impl FnOnce(Option<&SecretString>) -> Vec<Header>,
    ) -> Result<HttpClient, OpenError> {
        let error = |message: String| OpenError { span: config.span, message, help: None };
        // Recorded requests were sent with a key, but a replay needs none.
        let is_replay = recording.as_ref().is_some_and(|recording| recording.is_replay());
        let key = match config.key.value() {
            Ok(key) => key,
            Err(_) if is_replay => None,
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
        let host_name = url.origin().ascii_serialization();
        let client =
            build(&config, map).map_err(|(span, message)| OpenError { span, message, help: None })?;
        Ok(HttpClient {
            host: hosts.host(&host_name, &config.limits, &config.retry),
            permits: Semaphore::new(config.limits.max_concurrency),
            backend_id: backend_id.to_owned(),
            counters: Counters::default(),
            proxy_hint: proxy_hint(&config.connection.proxy, &|name| std::env::var(name).ok()),
            client,
            host_name,
            recording,
            config,
        })
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
        statistics
    }
}

/// Time limit for connecting, before a request is sent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

fn build(
    config: &HttpBackendConfig,
    headers: HeaderMap,
) -> Result<reqwest::Client, (gage_config::Span, String)> {
    // Fails only if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let HttpConnection { read_timeout, timeout, proxy, .. } = &config.connection;
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(*timeout)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(config.limits.max_concurrency)
        // A redirect would send the conversation, and perhaps the key, elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        // Retries are decided in one place. With none here, reqwest does not copy requests for them.
        .retry(reqwest::retry::never().max_retries_per_request(0))
        .default_headers(headers)
        .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")));
    if let Some(read_timeout) = read_timeout {
        builder = builder.read_timeout(*read_timeout);
    }
    builder = match proxy {
        Proxy::Environment => builder,
        Proxy::Direct => builder.no_proxy(),
        Proxy::Address(address) => {
            let proxy = reqwest::Proxy::all(address)
                .map_err(|error| (config.span, format!("the proxy `{address}`: {}", describe(&error))))?;
            builder.proxy(proxy)
        }
    };
    let certificates = certificates_of(&config.connection)?;
    if !certificates.is_empty() {
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| (config.span, format!("HTTP client: {}", describe(&error))))
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

/// Reads the configured custom CA certificates; empty if no file is configured.
pub(crate) fn certificates_of(
    connection: &HttpConnection,
) -> Result<Vec<reqwest::Certificate>, (gage_config::Span, String)> {
    let Some((path, span)) = &connection.ca_certificate else { return Ok(Vec::new()) };
    let wrong = |error: String| (*span, format!("the certificate {}: {error}", shown_path(path)));
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let certificates =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(describe(&error)))?;
    if certificates.is_empty() {
        return Err(wrong("it contains no certificate; PEM is expected".to_owned()));
    }
    Ok(certificates)
}

/// Classifies a connection failure. Also returns true if the connection itself failed.
pub(super) fn transport(error: &reqwest::Error) -> (HttpFailure, bool) {
    // A request that cannot even be built will fail next time too.
    if error.is_builder() {
        return (HttpFailure::lasting(BackendErrorKind::Internal, describe(error)), false);
    }
    if has_unknown_certificate(error) {
        let message = format!(
            "{}; if an authority of your own signed the server's certificate, name that authority's \
             certificate in `ca_certificate`",
            describe(error)
        );
        return (HttpFailure::lasting(BackendErrorKind::Connection, message), true);
    }
    let kind = if error.is_timeout() { BackendErrorKind::Timeout } else { BackendErrorKind::Connection };
    (HttpFailure::passing(kind, describe(error)), !error.is_timeout() || error.is_connect())
}

/// Returns true if the server's certificate is not trusted, which a retry will not change.
fn has_unknown_certificate(error: &reqwest::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(rustls::Error::InvalidCertificate(_)) = cause.downcast_ref() {
            return true;
        }
        source = match cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            // For its source, an I/O error returns the source of its inner error and skips the inner error itself.
            Some(held) => Some(held),
            None => cause.source(),
        };
    }
    false
}

/// Returns the message of the system, without its number, as in `Connection refused (os error 111)`.
fn without_code(text: &str) -> String {
    let text = text.split(" (os error ").next().unwrap_or(text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Formats the whole chain of an error, without the address, which the caller adds.
fn describe(error: &reqwest::Error) -> String {
    let what = if error.is_timeout() {
        "no answer in time"
    } else if error.is_body() || error.is_decode() {
        "the answer broke off"
    } else {
        "the request failed"
    };
    let causes: Vec<&dyn std::error::Error> = successors(error.source(), |&cause| cause.source()).collect();
    if error.is_connect() {
        // The causes before the last one only name the layers of the client.
        let last =
            causes.last().map_or_else(String::new, |cause| format!(": {}", without_code(&cause.to_string())));
        return format!("cannot connect{last}");
    }
    causes.iter().fold(what.to_owned(), |text, cause| format!("{text}: {cause}"))
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

//! Requests over the network, by `reqwest`.

use super::{
    ConnectionKey, Transport, TransportBody, TransportError, TransportErrorKind, TransportReply,
    TransportRequest,
};
use async_trait::async_trait;
use bytes::Bytes;
use gage_config::{HttpBackendConfig, HttpConnection, Permissions, Proxy, shown_path};
use gage_core::foreign_file::{self, FileLimit};
use hyper_util::client::legacy::connect::HttpInfo;
use parking_lot::RwLock;
use reqwest::Version;
use reqwest::header::{CONNECTION, HeaderMap, HeaderValue};
use std::error::Error as _;
use std::iter::successors;
use std::time::Duration;

/// Maximum size of a file of certificates. The bundle of a system has about 250 KiB.
const MAX_CERTIFICATES_SIZE: FileLimit = FileLimit::new("certificates", 16 << 20);

/// Requests over the network.
pub(crate) struct NetworkTransport {
    client: RwLock<reqwest::Client>,
    /// For a client with fresh connections.
    config: HttpBackendConfig,
    certificates: Vec<reqwest::Certificate>,
    headers: HeaderMap,
    /// The hosts that may be connected to.
    permissions: Permissions,
}

impl NetworkTransport {
    /// Creates the client; sends nothing.
    pub(crate) fn new(
        config: &HttpBackendConfig,
        headers: HeaderMap,
        permissions: Permissions,
    ) -> Result<NetworkTransport, (gage_config::Span, String)> {
        let certificates = certificates_of(&config.connection)?;
        let client = RwLock::new(build(config, certificates.clone(), headers.clone())?);
        Ok(NetworkTransport { client, config: config.clone(), certificates, headers, permissions })
    }
}

#[async_trait]
impl Transport for NetworkTransport {
    async fn send(&self, request: TransportRequest<'_>) -> Result<TransportReply, TransportError> {
        let TransportRequest { url, body, closes_connection } = request;
        self.permissions.check_url(url).map_err(|refusal| TransportError {
            kind: TransportErrorKind::InvalidRequest,
            message: refusal.to_string(),
        })?;
        let mut post = self.client.read().post(url.clone()).body(body);
        if closes_connection {
            post = post.header(CONNECTION, HeaderValue::from_static("close"));
        }
        let mut response = post.send().await.map_err(|error| classify(&error))?;
        // HTTP/2 numbers the answers of a connection itself.
        let is_sequential = response.version() <= Version::HTTP_11;
        let info = response.extensions().get::<HttpInfo>().filter(|_| is_sequential);
        Ok(TransportReply {
            status: response.status().as_u16(),
            connection: info.map(|info| ConnectionKey(info.local_addr())),
            headers: std::mem::take(response.headers_mut()),
            body: Box::new(NetworkBody(response)),
        })
    }

    fn retire_connections(&self) {
        // The same configuration was accepted before. Requests in flight keep the earlier client until they end.
        if let Ok(client) = build(&self.config, self.certificates.clone(), self.headers.clone()) {
            *self.client.write() = client;
        }
    }
}

struct NetworkBody(reqwest::Response);

#[async_trait]
impl TransportBody for NetworkBody {
    async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        self.0.chunk().await.map_err(|error| classify(&error))
    }
}

/// Minimum time limit for connecting, before a request is sent.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum time limit for connecting.
const MAX_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the time limit for connecting, with the TLS handshake.
///
/// An outage ends with a last probe, which must not make it much longer than `outage_limit`.
fn connect_timeout(outage_limit: Duration) -> Duration {
    (outage_limit / 3).clamp(MIN_CONNECT_TIMEOUT, MAX_CONNECT_TIMEOUT)
}

fn build(
    config: &HttpBackendConfig,
    certificates: Vec<reqwest::Certificate>,
    headers: HeaderMap,
) -> Result<reqwest::Client, (gage_config::Span, String)> {
    // Fails only if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let HttpConnection { read_timeout, timeout, proxy, .. } = &config.connection;
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect_timeout(config.retry.outage_limit))
        .timeout(*timeout)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(config.limits.most_requests())
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
    if !certificates.is_empty() {
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| (config.span, format!("HTTP client: {}", describe(&error))))
}

/// Reads the configured custom CA certificates; empty if no file is configured.
pub(crate) fn certificates_of(
    connection: &HttpConnection,
) -> Result<Vec<reqwest::Certificate>, (gage_config::Span, String)> {
    let Some((path, span)) = &connection.ca_certificate else { return Ok(Vec::new()) };
    let wrong = |error: String| (*span, format!("the certificate {}: {error}", shown_path(path)));
    let pem =
        foreign_file::read_named(path, MAX_CERTIFICATES_SIZE).map_err(|error| wrong(error.to_string()))?;
    let certificates =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(describe(&error)))?;
    if certificates.is_empty() {
        return Err(wrong("it contains no certificate; PEM is expected".to_owned()));
    }
    Ok(certificates)
}

/// Classifies a failure.
fn classify(error: &reqwest::Error) -> TransportError {
    // A machine without descriptors says nothing about the server, and ends the run.
    if let Some(shortage) = gage_core::ResourceShortage::report_in(error) {
        return TransportError { kind: TransportErrorKind::InvalidRequest, message: shortage.to_string() };
    }
    let described = describe(error);
    let (kind, message) = if error.is_builder() {
        (TransportErrorKind::InvalidRequest, described)
    } else if let Some(advice) = tls_error(error).and_then(tls_advice) {
        (TransportErrorKind::Tls, format!("{described}; {advice}"))
    } else if error.is_connect() {
        (TransportErrorKind::Unreachable { is_late: error.is_timeout() }, described)
    } else if error.is_timeout() {
        (TransportErrorKind::TimedOut, described)
    } else if is_not_http(error) {
        let message = format!(
            "the server does not speak HTTP; check the scheme and the port of `base_url`: {described}"
        );
        (TransportErrorKind::Broken, message)
    } else {
        (TransportErrorKind::Broken, described)
    };
    TransportError { kind, message }
}

/// Returns true if the bytes that arrived are not an answer in HTTP.
fn is_not_http(error: &reqwest::Error) -> bool {
    successors(error.source(), |&cause| cause.source())
        .filter_map(|cause| cause.downcast_ref::<hyper::Error>())
        .any(|error| error.is_parse() && !error.is_parse_too_large())
}

/// Returns how to correct a failure of TLS that a retry will not change.
fn tls_advice(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(_) => Some(
            "if an authority of your own signed the server's certificate, name that authority's certificate in \
             `ca_certificate`",
        ),
        rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            Some("the server does not speak TLS on this port; is `http://` meant?")
        }
        _ => None,
    }
}

/// Returns the failure of TLS among the causes of an error.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(found) = cause.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        source = match cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            // For its source, an I/O error returns the source of its inner error and skips the inner error itself.
            Some(held) => Some(held),
            None => cause.source(),
        };
    }
    None
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
    fn connecting_takes_a_part_of_the_outage_limit() {
        for (outage_limit, seconds) in [(0.001, 1), (6.0, 2), (60.0, 10), (3600.0, 10)] {
            let timeout = connect_timeout(Duration::from_secs_f64(outage_limit));
            assert_eq!(timeout, Duration::from_secs(seconds), "{outage_limit}");
        }
    }
}

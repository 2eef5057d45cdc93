//! HTTP requests of plugins to granted hosts.

use super::address::is_public;
use super::{denied, exceeded, refuse};
use crate::bindings::http::{Header, HeaderValue, Request, Response};
use crate::bindings::types::{ErrorKind, PluginError};
use futures::future::join_all;
use gage_config::{Grants, HttpGrant, SecretGrant};
use gage_core::{ResourceShortage, ensure_threads};
use gage_secrets::{MIN_SECRET_CHARS, SecretScanner, SecretString, redact, redact_bytes};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{self, HeaderMap, HeaderName};
use reqwest::{Client, Method, Url};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Maximum size of a request's body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 16 << 20;
/// Maximum number of headers per request, and maximum size of a header in bytes.
pub(crate) const MAX_HEADERS: usize = 64;
pub(crate) const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum number of requests in one `send-all`.
pub(crate) const MAX_REQUESTS_PER_CALL: usize = 1024;
/// Maximum total size of the responses to one `send-all`, in bytes.
const MAX_TOTAL_RESPONSE_BYTES: usize = 64 << 20;

/// Time that an idle thread of the runtime is kept: longer than any run.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Headers reserved for the client.
const OWN_HEADERS: [HeaderName; 9] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::EXPECT,
    // A secret in a compressed response could not be recognized.
    header::ACCEPT_ENCODING,
];

/// The hosts, methods and secrets of one plugin.
pub(crate) struct HttpAccess {
    client: Client,
    hosts: Vec<HttpGrant>,
    /// Permits for concurrent requests, one semaphore per grant, shared by all calls of the plugin.
    permits: Vec<Semaphore>,
    secrets: HashMap<String, (SecretGrant, SecretString)>,
    /// Finds the plugin's secrets, each with its name.
    scanner: SecretScanner,
}

/// Returns the runtime that drives plugin requests. Calls block on it from threads that may block.
fn runtime() -> Result<&'static Runtime, PluginError> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME.get_or_init(start_runtime).as_ref().map_err(|error| refuse(ErrorKind::Internal, error.clone()))
}

fn start_runtime() -> Result<Runtime, String> {
    // The runtime panics or hangs without its threads: one for requests, one that looks up names.
    ensure_threads(2).map_err(|shortage| shortage.report().to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("plugin-http")
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .enable_all()
        .build()
        .map_err(|error| {
            ResourceShortage::report_in(&error);
            error.to_string()
        })?;
    drop(runtime.spawn_blocking(|| {}));
    Ok(runtime)
}

impl HttpAccess {
    pub(crate) fn new(
        grants: &Grants,
        secret: &dyn Fn(&str) -> Option<String>,
    ) -> Result<HttpAccess, String> {
        // Fails only if a provider is already installed, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut secrets = HashMap::new();
        for grant in &grants.secrets {
            let value = secret(&grant.name).filter(|value| !value.is_empty()).ok_or_else(|| {
                format!("the secret `{}` is granted, but the variable is not set or empty", grant.name)
            })?;
            if value.chars().count() < MIN_SECRET_CHARS {
                return Err(format!(
                    "the secret `{}` has fewer than {MIN_SECRET_CHARS} characters: it could not be redacted \
                     from answers of servers",
                    grant.name
                ));
            }
            secrets.insert(grant.name.clone(), (grant.clone(), SecretString::new(&grant.name, &value)));
        }
        let private =
            grants.http.iter().filter(|grant| may_be_private(grant)).map(|grant| grant.host.clone());
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(GuardedResolver { private: private.collect() }))
            .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("HTTP client: {error}"))?;
        let marked: Vec<(String, &SecretString)> =
            secrets.iter().map(|(name, (_, value))| (format!("[secret {name}]"), value)).collect();
        let scanner = SecretScanner::new(marked.iter().map(|(mark, value)| (mark.as_str(), value.reveal())));
        let permits = grants.http.iter().map(|grant| Semaphore::new(grant.max_concurrency)).collect();
        Ok(HttpAccess { client, hosts: grants.http.clone(), permits, secrets, scanner })
    }

    /// Sends requests concurrently, as far as the grants allow. Returns one result per request, in order. A
    /// request without a response within `time` gives an error.
    pub(crate) fn send(&self, requests: Vec<Request>, time: Duration) -> Vec<Result<Response, PluginError>> {
        if requests.len() > MAX_REQUESTS_PER_CALL {
            let error = exceeded(format!(
                "{} requests at once; at most {MAX_REQUESTS_PER_CALL} are allowed",
                requests.len()
            ));
            return requests.iter().map(|_| Err(error.clone())).collect();
        }
        let left = AtomicUsize::new(MAX_TOTAL_RESPONSE_BYTES);
        let left = &left;
        match runtime() {
            Ok(runtime) => {
                let late = || {
                    let seconds = time.as_secs_f64();
                    let message = format!(
                        "no answer within the {seconds:.1} s that the plugin has left to wait (wait_time)"
                    );
                    exceeded(message)
                };
                let exchange = |request| async move {
                    tokio::time::timeout(time, self.exchange(request, left))
                        .await
                        .unwrap_or_else(|_| Err(late()))
                };
                runtime.block_on(async { join_all(requests.into_iter().map(exchange)).await })
            }
            Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn exchange(&self, request: Request, left: &AtomicUsize) -> Result<Response, PluginError> {
        let answer = self.try_exchange(request, left).await;
        answer.map_err(|error| PluginError { message: self.without_secrets(&error.message), ..error })
    }

    async fn try_exchange(&self, request: Request, left: &AtomicUsize) -> Result<Response, PluginError> {
        let (url, place) = self.check_target(&request)?;
        let grant = &self.hosts[place];
        let (headers, has_secret) = self.headers(&request.headers, &url)?;
        if request.body.len() > MAX_BODY_BYTES {
            let size = request.body.len();
            return Err(exceeded(format!(
                "the request has {size} bytes; at most {MAX_BODY_BYTES} are allowed"
            )));
        }
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| refuse(ErrorKind::InvalidInput, "the method is not valid"))?;
        let asked = Duration::from_millis(u64::from(request.timeout_ms));
        let timeout = if asked.is_zero() { grant.timeout } else { asked.min(grant.timeout) };
        // A semaphore is never closed.
        let _permit = self.permits[place].acquire().await;
        let sent = self.client.request(method, url).headers(headers).body(request.body).timeout(timeout);
        let response = sent.send().await.map_err(|error| upstream(&error))?;
        self.read(response, grant, has_secret, left).await
    }

    /// Returns the grant that covers a request.
    fn check_target(&self, request: &Request) -> Result<(Url, usize), PluginError> {
        let shown: String = request.url.chars().take(200).collect();
        let url = Url::parse(&request.url)
            .map_err(|error| refuse(ErrorKind::InvalidInput, format!("'{shown}' is not a URL: {error}")))?;
        let default = match url.scheme() {
            "https" => 443,
            "http" => 80,
            other => {
                return Err(denied(format!(
                    "'{shown}': the scheme '{other}' is never granted; http and https can be"
                )));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(denied("a URL with a user name or a password is never sent"));
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port().unwrap_or(default));
        let of_host = self.hosts.iter().enumerate().filter(|(_, grant)| {
            grant.host == host && grant.port.map_or(port == default, |granted| granted == port)
        });
        let mut of_host = of_host.peekable();
        if of_host.peek().is_none() {
            let granted: Vec<String> = self.hosts.iter().map(shown_host).collect();
            return Err(denied(format!(
                "the host '{host}' (port {port}) is not granted; granted are: {}. A host is added in the suite, \
                     under `plugins`, `grants`, `http`",
                granted.join(", ")
            )));
        }
        let method = request.method.to_ascii_uppercase();
        match of_host.clone().find(|(_, grant)| grant.methods.contains(&method)) {
            Some((place, _)) => Ok((url, place)),
            None => {
                let granted: Vec<&str> =
                    of_host.flat_map(|(_, grant)| &grant.methods).map(String::as_str).collect();
                let method: String = method.chars().take(20).collect();
                Err(denied(format!(
                    "the method {method} is not granted for '{host}'; granted are: {}",
                    granted.join(", ")
                )))
            }
        }
    }

    fn headers(&self, headers: &[Header], url: &Url) -> Result<(HeaderMap, bool), PluginError> {
        let invalid = |message: String| refuse(ErrorKind::InvalidInput, message);
        if headers.len() > MAX_HEADERS {
            return Err(exceeded(format!("more than {MAX_HEADERS} headers")));
        }
        let mut map = HeaderMap::new();
        let mut has_secret = false;
        for header in headers {
            let shown: String = header.name.chars().take(80).collect();
            let name = HeaderName::from_bytes(header.name.as_bytes())
                .map_err(|_| invalid(format!("'{shown}' is not the name of a header")))?;
            if OWN_HEADERS.contains(&name) || name.as_str().starts_with("proxy-") {
                return Err(denied(format!("only the host sets the header '{name}'")));
            }
            let value = match &header.value {
                HeaderValue::Plain(text) => text.clone(),
                HeaderValue::Secret(secret) => self.secret(secret, url)?.to_owned(),
                HeaderValue::Bearer(secret) => format!("Bearer {}", self.secret(secret, url)?),
            };
            if value.len() > MAX_HEADER_BYTES {
                return Err(exceeded(format!("the header '{name}' has more than {MAX_HEADER_BYTES} bytes")));
            }
            let mut value = header::HeaderValue::from_str(&value).map_err(|_| {
                invalid(format!("the value of the header '{name}' has characters that cannot be sent"))
            })?;
            if !matches!(header.value, HeaderValue::Plain(_)) {
                has_secret = true;
                value.set_sensitive(true);
            }
            map.append(name, value);
        }
        // A server that echoes could otherwise return a secret in pieces.
        if has_secret && (map.contains_key(header::RANGE) || map.contains_key(header::IF_RANGE)) {
            return Err(denied("a request with a secret must not ask for a range"));
        }
        map.insert(header::ACCEPT_ENCODING, header::HeaderValue::from_static("identity"));
        Ok((map, has_secret))
    }

    /// Returns the value of a secret, if it may be sent to this URL.
    fn secret(&self, name: &str, url: &Url) -> Result<&str, PluginError> {
        let Some((grant, value)) = self.secrets.get(name) else {
            let granted: Vec<&str> = self.secrets.keys().map(String::as_str).collect();
            let granted = if granted.is_empty() { "there are none".to_owned() } else { granted.join(", ") };
            let shown: String = name.chars().take(80).collect();
            return Err(denied(format!("the secret '{shown}' is not granted; granted are: {granted}")));
        };
        let host = url.host_str().unwrap_or_default();
        if grant.hosts.as_ref().is_some_and(|hosts| !hosts.iter().any(|one| one == host)) {
            return Err(denied(format!("the secret '{name}' must not be sent to '{host}'")));
        }
        let is_near = self.hosts.iter().any(|grant| grant.host == host && may_be_private(grant));
        if url.scheme() != "https" && !is_near {
            return Err(denied(format!(
                "the secret '{name}' is sent only over https, or to a private address that is granted"
            )));
        }
        Ok(value.reveal())
    }

    /// Redacts a text for the plugin: its own secrets become their names, and secrets of others are removed.
    fn without_secrets(&self, text: &str) -> String {
        redact(&self.scanner.redact(text)).into_owned()
    }

    async fn read(
        &self,
        response: reqwest::Response,
        grant: &HttpGrant,
        has_secret: bool,
        left: &AtomicUsize,
    ) -> Result<Response, PluginError> {
        let status = response.status().as_u16();
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        if has_secret && encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(refuse(
                ErrorKind::Upstream,
                "the server compressed its answer to a request with a secret, which it was asked not to",
            ));
        }
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (self.without_secrets(name.as_str()), self.without_secrets(&value))
            })
            .collect();
        let mut body = Vec::new();
        let mut response = response;
        while let Some(chunk) = response.chunk().await.map_err(|error| upstream(&error))? {
            if body.len() + chunk.len() > grant.response_bytes {
                return Err(exceeded(format!("the response has more than {} bytes", grant.response_bytes)));
            }
            let take = |left: usize| left.checked_sub(chunk.len());
            if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                return Err(exceeded(format!(
                    "the responses of one call have more than {MAX_TOTAL_RESPONSE_BYTES} bytes together"
                )));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { status, headers, body: redact_bytes(self.scanner.redact_bytes(body)) })
    }
}

fn shown_host(grant: &HttpGrant) -> String {
    match grant.port {
        Some(port) => format!("{}:{port}", grant.host),
        None => grant.host.clone(),
    }
}

/// Returns whether a grant names a private address or this machine, or allows its name to resolve to one.
fn may_be_private(grant: &HttpGrant) -> bool {
    let host = grant.host.trim_start_matches('[').trim_end_matches(']');
    grant.private || host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| !is_public(address))
}

fn upstream(error: &reqwest::Error) -> PluginError {
    ResourceShortage::report_in(error);
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = inner.source();
    }
    let is_denied = message.contains(NOT_PUBLIC);
    let kind = if is_denied { ErrorKind::Denied } else { ErrorKind::Upstream };
    PluginError { retryable: !is_denied, ..refuse(kind, message) }
}

const NOT_PUBLIC: &str = "resolves to an address that is not public";

/// Resolves names, and drops addresses that are not public unless the grant allows them for this name. The
/// client connects to the remaining addresses, so a second lookup cannot differ.
struct GuardedResolver {
    private: Vec<String>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_ascii_lowercase();
        let may_be_private = self.private.contains(&host);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let allowed: Vec<_> =
                found.iter().copied().filter(|address| may_be_private || is_public(address.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(format!(
                    "the name '{host}' {NOT_PUBLIC}; if that is intended, its grant needs `private: true`"
                )
                .into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_private_addresses_need_a_grant() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let resolve = |private: &[&str]| {
            let resolver =
                GuardedResolver { private: private.iter().map(|name| (*name).to_owned()).collect() };
            let name: Name = "localhost".parse().expect("a name");
            runtime.block_on(resolver.resolve(name)).map(Iterator::count).map_err(|error| error.to_string())
        };
        assert!(resolve(&["localhost"]).is_ok_and(|count| count > 0));
        let error = resolve(&["other"]).expect_err("refused");
        assert!(error.contains("the name 'localhost' resolves to an address that is not public"), "{error}");
    }

    #[test]
    fn only_addresses_and_this_machine_are_private_by_name() {
        let grant = |host: &str, private: bool| HttpGrant {
            host: host.to_owned(),
            port: None,
            methods: Vec::new(),
            private,
            timeout: Duration::from_secs(1),
            response_bytes: 1,
            max_concurrency: 1,
        };
        for host in ["127.0.0.1", "10.0.0.1", "[::1]", "localhost"] {
            assert!(may_be_private(&grant(host, false)), "{host}");
        }
        assert!(!may_be_private(&grant("api.example.com", false)));
        assert!(!may_be_private(&grant("8.8.8.8", false)));
        assert!(may_be_private(&grant("llm.internal", true)));
    }
}

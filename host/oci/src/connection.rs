//! Requests to a registry: who receives credentials, which redirects are followed, and how much of an answer
//! is read.

use crate::credentials::DockerCredentials;
use crate::settings::OciSettings;
use crate::target::{Target, is_direct, shown};
use crate::{OciError, OciErrorKind};
use bytes::Bytes;
use gage_core::{printable_line, shortened};
use parking_lot::Mutex;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
    RETRY_AFTER,
};
use reqwest::{ClientBuilder, Method, Response, StatusCode};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

const MAX_REDIRECTS: usize = 5;

/// Maximum size of the text of an error.
const MAX_ERROR_BYTES: usize = 64 << 10;

const MAX_ERROR_CHARS: usize = 300;

/// A registry that sends or takes fewer bytes per second on average is not waited for. With
/// [`OciSettings::slow_start`], the largest component, 64 MiB, takes at most 18 minutes.
const MIN_BYTES_PER_SECOND: u64 = 64 << 10;

/// Number of times that a request is sent again to a busy registry.
const MAX_RETRIES: usize = 2;

/// A registry that asks for a longer wait is not asked again.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(10);

/// A request, which may be sent more than once.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    pub(crate) fn new(method: Method, url: Url) -> Request {
        // A compressed body would have another size and other digests.
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        Request { method, url, headers, body: Bytes::new() }
    }

    pub(crate) fn get(url: Url) -> Request {
        Request::new(Method::GET, url)
    }

    pub(crate) fn accept(self, media_types: &'static str) -> Request {
        self.header(ACCEPT, HeaderValue::from_static(media_types))
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Request {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn body(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Request {
        self.body = body.into();
        self.header(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }
}

/// Connections to registries, and the authorizations that they gave.
pub(crate) struct Connection {
    /// Client that uses the proxy of the environment, if there is one.
    proxied: reqwest::Client,
    /// Client that uses no proxy.
    direct: reqwest::Client,
    pub(crate) settings: OciSettings,
    pub(crate) credentials: DockerCredentials,
    /// Authorizations by registry and scope.
    granted: Mutex<HashMap<(String, String), HeaderValue>>,
}

impl Connection {
    pub(crate) fn new(settings: OciSettings) -> Result<Connection, OciError> {
        // Fails only if a provider is already installed, which works just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let proxied = build(ClientBuilder::new(), &settings)?;
        let direct = build(ClientBuilder::new().no_proxy(), &settings)?;
        let credentials = match &settings.docker_config {
            Some(path) => DockerCredentials::read(path)?,
            None => DockerCredentials::default(),
        };
        Ok(Connection { proxied, direct, settings, credentials, granted: Mutex::default() })
    }

    /// Sends a request to a registry, and authorizes it when the registry asks for that. The answer has one
    /// of the statuses that are expected; any other is an error.
    pub(crate) async fn send(
        &self,
        target: &Target<'_>,
        request: &Request,
        expected: &[StatusCode],
    ) -> Result<Response, OciError> {
        let key = (target.reference.registry().to_owned(), target.scope());
        let known = self.granted.lock().get(&key).cloned();
        let mut response = self.follow(target, request, known.as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED && target.is_own(response.url()) {
            let granted = self.authorize(target, response).await?;
            response = self.follow(target, request, Some(&granted)).await?;
            if response.status() != StatusCode::UNAUTHORIZED {
                self.granted.lock().insert(key, granted);
            }
        }
        match expected.contains(&response.status()) {
            true => Ok(response),
            false => Err(self.refusal(target, response).await),
        }
    }

    /// Sends a request and follows redirects. Only the registry receives the authorization.
    async fn follow(
        &self,
        target: &Target<'_>,
        request: &Request,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response, OciError> {
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let authorization = authorization.filter(|_| target.is_own(&url));
            let response = self.send_with_retries(target, request, &url, authorization).await?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            if !matches!(request.method, Method::GET | Method::HEAD) {
                let reason = "the registry redirects a request that writes, which is not followed";
                return Err(target.error(OciErrorKind::Refused, reason));
            }
            url = redirected(target, &url, response.headers())?;
        }
        let reason = format!("more than {MAX_REDIRECTS} redirects");
        Err(target.error(OciErrorKind::Refused, reason))
    }

    /// Sends a request, and sends it again while the server is busy. Requests that write are sent once.
    async fn send_with_retries(
        &self,
        target: &Target<'_>,
        request: &Request,
        url: &Url,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response, OciError> {
        let mut wait = self.settings.first_retry_wait;
        for _ in 0..MAX_RETRIES {
            let response = self.send_once(target, request, url, authorization).await?;
            let Some(wanted) = retry_wait(request, &response, wait) else { return Ok(response) };
            drop(response);
            sleep(wanted).await;
            wait = wait.saturating_mul(2);
        }
        self.send_once(target, request, url, authorization).await
    }

    /// Sends one request.
    pub(crate) async fn send_once(
        &self,
        target: &Target<'_>,
        request: &Request,
        url: &Url,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response, OciError> {
        self.settings.permissions.check_url(url).map_err(|refusal| {
            target.error(OciErrorKind::Refused, refusal.message).with_help(refusal.help)
        })?;
        let client = if is_direct(url) { &self.direct } else { &self.proxied };
        let mut sent = client.request(request.method.clone(), url.clone()).headers(request.headers.clone());
        if request.method != Method::GET && request.method != Method::HEAD {
            sent = sent.body(request.body.clone());
        }
        if let Some(authorization) = authorization {
            sent = sent.header(AUTHORIZATION, authorization.clone());
        }
        let OciSettings { connect, stall, .. } = self.settings;
        let limit = connect.saturating_add(stall).saturating_add(time_for(request.body.len() as u64));
        match timeout(limit, sent.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_timeout() => {
                let reason = format!("{}: no connection within {connect:.1?}", shown(url));
                Err(target.error(OciErrorKind::Timeout, reason).with_help(TRY_AGAIN))
            }
            Ok(Err(error)) => {
                let reason = format!("{}: {}", shown(url), describe(error));
                Err(target.error(OciErrorKind::Unreachable, reason).with_help(TRY_AGAIN))
            }
            Err(_) => {
                let reason = format!("{}: no answer within {limit:.1?}", shown(url));
                Err(target.error(OciErrorKind::Timeout, reason).with_help(TRY_AGAIN))
            }
        }
    }

    /// Reads an answer of at most `max_bytes`. `noun` names it in messages.
    pub(crate) async fn read(
        &self,
        target: &Target<'_>,
        mut response: Response,
        max_bytes: usize,
        noun: &str,
    ) -> Result<Vec<u8>, OciError> {
        let too_large = || {
            let reason = format!("the {noun} has more than {max_bytes} bytes; reading it was stopped");
            target.error(OciErrorKind::TooLarge, reason)
        };
        let length = response.content_length().unwrap_or(0);
        if length > max_bytes as u64 {
            return Err(too_large());
        }
        let OciSettings { stall, slow_start, .. } = self.settings;
        let end = Instant::now() + slow_start.saturating_add(time_for(max_bytes as u64));
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        loop {
            let limit = end.min(Instant::now() + stall);
            let chunk = match timeout_at(limit, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(bytes),
                Ok(Err(error)) => {
                    let reason = format!("the {noun} ends early: {}", describe(error));
                    return Err(target.error(OciErrorKind::Unreachable, reason).with_help(TRY_AGAIN));
                }
                Err(_) if limit == end => {
                    let reason = format!(
                        "the {noun} arrives too slowly: after {slow_start:.1?}, under \
                         {MIN_BYTES_PER_SECOND} bytes per second on average"
                    );
                    return Err(target.error(OciErrorKind::Timeout, reason).with_help(TRY_AGAIN));
                }
                Err(_) => {
                    let reason = format!("the {noun} stalls: no bytes for {stall:.1?}");
                    return Err(target.error(OciErrorKind::Timeout, reason).with_help(TRY_AGAIN));
                }
            };
            if chunk.len() > max_bytes.saturating_sub(bytes.len()) {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
    }

    /// Returns the error of an answer with an unexpected status.
    pub(crate) async fn refusal(&self, target: &Target<'_>, response: Response) -> OciError {
        let (status, url) = (response.status(), response.url().clone());
        let registry = target.reference.registry();
        let body = self.read(target, response, MAX_ERROR_BYTES, "error").await.unwrap_or_default();
        let said = error_text(&body);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if target.is_own(&url) => {
                let action = if target.is_push { "write to" } else { "read" };
                let reason =
                    format!("the registry does not let you {action} this repository ({status}){said}");
                target.error(OciErrorKind::Unauthorized, reason).with_help(self.login_help(registry))
            }
            StatusCode::NOT_FOUND => target
                .error(OciErrorKind::NotFound, format!("the registry does not have it ({status}){said}"))
                .with_help("check the name and the tag, and whether it needs a login"),
            StatusCode::TOO_MANY_REQUESTS => {
                let reason = format!("the registry gets too many requests ({status}){said}");
                let help = "try again later, or log in for a higher limit";
                target.error(OciErrorKind::Unavailable, reason).with_help(help)
            }
            _ => {
                let reason = format!("{} answers {status}{said}", shown(&url));
                match is_unavailable(status) {
                    true => target.error(OciErrorKind::Unavailable, reason).with_help(TRY_LATER),
                    false => target.error(OciErrorKind::Refused, reason),
                }
            }
        }
    }

    /// Returns how a user can log in to a registry.
    pub(crate) fn login_help(&self, registry: &str) -> String {
        match self.credentials.helper(registry) {
            Some(helper) => format!(
                "docker keeps the credentials in the helper '{}', which is not supported; store them in \
                 docker's config.json: remove the helper there, and run `docker login {registry}`",
                gage_core::shown_name(helper)
            ),
            None => format!("log in with an account that may do so: docker login {registry}"),
        }
    }
}

const TRY_AGAIN: &str = "try again, or check the network and the name of the registry";

/// What a user can do about a server that cannot answer now.
pub(crate) const TRY_LATER: &str = "try again later: the server cannot answer now";

/// Builds a client with the settings that all requests have.
fn build(builder: ClientBuilder, settings: &OciSettings) -> Result<reqwest::Client, OciError> {
    let builder = builder
        .connect_timeout(settings.connect)
        // Redirects are followed above, which controls the hosts that see credentials.
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")));
    builder.build().map_err(|error| {
        OciError::new(OciErrorKind::Unreachable, format!("HTTP client: {}", describe(error)))
    })
}

/// Returns whether a status means that the same request may succeed later.
pub(crate) fn is_unavailable(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

/// Returns how long to wait before a request is sent again: `wait`, or what the server asks for. `None` if it
/// is not sent again.
fn retry_wait(request: &Request, response: &Response, wait: Duration) -> Option<Duration> {
    let is_busy = matches!(response.status().as_u16(), 429 | 502 | 503 | 504);
    if !is_busy || !matches!(request.method, Method::GET | Method::HEAD) {
        return None;
    }
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds: Option<u64> = asked.and_then(|seconds| seconds.trim().parse().ok());
    Some(seconds.map_or(wait, Duration::from_secs)).filter(|wanted| *wanted <= MAX_RETRY_WAIT)
}

/// Returns how long some bytes may take.
fn time_for(bytes: u64) -> Duration {
    Duration::from_secs(bytes / MIN_BYTES_PER_SECOND)
}

/// Returns the target of a redirect, which may not leave HTTPS.
fn redirected(target: &Target<'_>, from: &Url, headers: &HeaderMap) -> Result<Url, OciError> {
    let to = location(from, headers).ok_or_else(|| {
        target.error(OciErrorKind::Invalid, format!("{}: a redirect without a valid target", shown(from)))
    })?;
    match from.scheme() == "https" && to.scheme() == "http" {
        true => {
            let reason = format!("a redirect from https to http is not followed: {}", shown(&to));
            Err(target.error(OciErrorKind::Refused, reason))
        }
        false => Ok(to),
    }
}

/// Returns the address in the header `Location`.
pub(crate) fn location(from: &Url, headers: &HeaderMap) -> Option<Url> {
    let text = headers.get(LOCATION)?.to_str().ok()?;
    from.join(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Returns what the registry says about an error, after a semicolon.
fn error_text(body: &[u8]) -> String {
    let document: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let error = document.as_ref().and_then(|document| document.pointer("/errors/0"));
    let field = |name: &str| error.and_then(|error| error.get(name)?.as_str()).unwrap_or_default();
    let text = match (field("code"), field("message")) {
        ("", "") => return String::new(),
        (code, "") => code.to_owned(),
        ("", message) => message.to_owned(),
        (code, message) => format!("{code}: {message}"),
    };
    format!(
        "; the registry says: {}",
        printable_line(&shortened(&gage_secrets::redact(&text), MAX_ERROR_CHARS))
    )
}

/// Describes an error with its causes, without the URL, which may hold a signature.
fn describe(error: reqwest::Error) -> String {
    use std::error::Error as _;
    gage_core::ResourceShortage::report_in(&error);
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

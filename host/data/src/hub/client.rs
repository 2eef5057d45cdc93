//! Requests to the hub: which hosts receive the token, which redirects are followed, and what the answers mean.

mod answer;

use super::error::{HubError, shown};
use super::retry::{Attempts, RetryPolicy, RetryableError};
use super::source::{HubKind, HubTimings};
use answer::final_error;
use gage_config::Permissions;
use gage_secrets::SecretString;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use std::time::Duration;
use url::Url;

const MAX_REDIRECTS: usize = 10;

/// Target of a request, as messages name it.
#[derive(Clone, Copy)]
pub(super) struct RequestTarget<'a> {
    /// Kind of the repository.
    pub(super) kind: HubKind,
    pub(super) name: &'a str,
    pub(super) revision: &'a str,
    /// File, or `None` for the revision itself.
    pub(super) path: Option<&'a str>,
}

/// Failure of one request.
pub(super) enum RequestError {
    /// A failure that a retry may resolve.
    Passing(RetryableError),
    /// A failure that a retry cannot resolve.
    Final(HubError),
}

impl From<HubError> for RequestError {
    fn from(error: HubError) -> RequestError {
        RequestError::Final(error)
    }
}

/// Sets up the HTTP client without opening connections.
pub(super) fn connect(timings: HubTimings) -> Result<reqwest::Client, HubError> {
    // Fails only if a provider is already installed, which works just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(timings.connect)
        // Redirects are followed below, which controls the hosts that see the token.
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| HubError::Invalid(format!("HTTP client: {}", describe(error))))
}

/// Client of one hub.
pub(super) struct Client<'a> {
    http: reqwest::Client,
    endpoint: &'a Url,
    authorization: Option<HeaderValue>,
    permissions: &'a Permissions,
    retry: RetryPolicy<'a>,
}

impl<'a> Client<'a> {
    /// Creates a client over existing connections; sends nothing.
    pub(super) fn new(
        http: reqwest::Client,
        endpoint: &'a Url,
        token: Option<&SecretString>,
        permissions: &'a Permissions,
        retry: RetryPolicy<'a>,
    ) -> Result<Client<'a>, HubError> {
        if !matches!(endpoint.scheme(), "http" | "https") || !endpoint.has_host() {
            return Err(HubError::Invalid(format!(
                "'{}' cannot be the endpoint of a hub; write an address like 'https://huggingface.co'",
                shown(endpoint)
            )));
        }
        let authorization = token
            .map(|token| token.reveal().trim())
            .filter(|token| !token.is_empty())
            .map(|token| {
                let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                    HubError::Invalid("the hub token contains invalid characters; check HF_TOKEN".to_owned())
                })?;
                value.set_sensitive(true);
                Ok::<_, HubError>(value)
            })
            .transpose()?;
        Ok(Client { http, endpoint, authorization, permissions, retry })
    }

    pub(super) fn endpoint(&self) -> &Url {
        self.endpoint
    }

    pub(super) fn retry(&self) -> RetryPolicy<'a> {
        self.retry
    }

    /// Sends one request and follows redirects. The status of the answer is 200, 206 or 416.
    pub(super) async fn get(
        &self,
        url: &Url,
        headers: &HeaderMap,
        asked: RequestTarget<'_>,
    ) -> Result<Response, RequestError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url, headers).await?;
            let status = response.status();
            match status {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                    return Ok(response);
                }
                status if status.is_redirection() => url = redirected(&url, response.headers())?,
                _ => return Err(self.problem(&url, &response, asked)),
            }
        }
        Err(HubError::answer(&url, format!("more than {MAX_REDIRECTS} redirects")).into())
    }

    async fn send(&self, url: &Url, headers: &HeaderMap) -> Result<Response, RequestError> {
        self.permissions.check_url(url).map_err(HubError::Refused)?;
        let mut request = self.http.get(url.clone()).headers(headers.clone()).header(
            ACCEPT_ENCODING,
            // A compressed body would have another size and other digests.
            HeaderValue::from_static("identity"),
        );
        if let Some(authorization) = self.authorization.as_ref().filter(|_| self.is_own(url)) {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let timings = self.retry.timings;
        let passing =
            |reason| RequestError::Passing(RetryableError { url: shown(url), reason, retry_after: None });
        match self.retry.within(timings.connect.saturating_add(timings.read), request.send()).await? {
            Some(Ok(response)) => Ok(response),
            Some(Err(error)) => Err(passing(describe(error))),
            None => Err(passing(format!("no answer within {:.0?}", timings.read))),
        }
    }

    /// Returns whether a URL has the endpoint's scheme, host and port.
    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.endpoint.origin()
    }

    fn problem(&self, url: &Url, response: &Response, asked: RequestTarget<'_>) -> RequestError {
        let status = response.status();
        let is_expired = !self.is_own(url) && status == StatusCode::FORBIDDEN;
        let may_pass = status.is_server_error()
            || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        if may_pass || is_expired {
            let retry_after = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.trim().parse().ok())
                .map(Duration::from_secs);
            let reason = format!("the server answers {status}");
            return RequestError::Passing(RetryableError { url: shown(url), reason, retry_after });
        }
        let has_token = self.authorization.is_some();
        RequestError::Final(final_error(
            url,
            status,
            response.headers(),
            asked,
            has_token && self.is_own(url),
        ))
    }

    /// Returns the next bytes of a body. `None` at its end.
    pub(super) async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, RequestError> {
        let limit = self.retry.timings.read;
        let url = shown(response.url());
        match self.retry.within(limit, response.chunk()).await? {
            Some(Ok(chunk)) => Ok(chunk),
            Some(Err(error)) => {
                Err(RequestError::Passing(RetryableError { url, reason: describe(error), retry_after: None }))
            }
            None => {
                let reason = format!("no bytes for {limit:.0?}");
                Err(RequestError::Passing(RetryableError { url, reason, retry_after: None }))
            }
        }
    }

    /// Returns a whole answer of at most `most` bytes, and its headers. Retries transient failures.
    pub(super) async fn whole(
        &self,
        url: &Url,
        most: usize,
        asked: RequestTarget<'_>,
    ) -> Result<(HeaderMap, Vec<u8>), HubError> {
        let mut attempts = Attempts::new(self.retry);
        loop {
            match self.whole_once(url, most, asked).await {
                Ok(whole) => return Ok(whole),
                Err(RequestError::Passing(failure)) => attempts.failed(failure).await?,
                Err(RequestError::Final(error)) => return Err(error),
            }
        }
    }

    async fn whole_once(
        &self,
        url: &Url,
        most: usize,
        asked: RequestTarget<'_>,
    ) -> Result<(HeaderMap, Vec<u8>), RequestError> {
        let mut response = self.get(url, &HeaderMap::new(), asked).await?;
        if response.status() != StatusCode::OK {
            return Err(HubError::answer(url, format!("the server answers {}", response.status())).into());
        }
        let headers = response.headers().clone();
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            bytes.extend_from_slice(chunk.as_ref());
            if bytes.len() > most {
                return Err(HubError::answer(url, format!("the answer is longer than {most} bytes")).into());
            }
        }
        Ok((headers, bytes))
    }
}

/// Returns the target of a redirect, which may not leave HTTPS.
fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, HubError> {
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location
        .and_then(|location| from.join(location).ok())
        .filter(|target| matches!(target.scheme(), "http" | "https") && target.has_host())
        .ok_or_else(|| HubError::answer(from, "a redirect without a valid target"))?;
    if from.scheme() == "https" && target.scheme() == "http" {
        let reason = format!("a redirect from https to http is not followed: {}", shown(&target));
        return Err(HubError::answer(from, reason));
    }
    Ok(target)
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

#[cfg(test)]
mod tests;

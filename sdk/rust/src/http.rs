//! HTTP requests to granted hosts; needs the grant `http`, and only backends may use it.
//!
//! Only works in a component: in unit tests there is no host, and sending panics.

use crate::PluginError;
use crate::bindings::http;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

pub use http::{Header, HeaderValue, Request, Response};

impl Request {
    /// Creates a request without headers and body, with the timeout of the grant.
    pub fn new(method: &str, url: &str) -> Request {
        Request {
            method: method.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: 0,
        }
    }

    /// Creates a `GET` request.
    pub fn get(url: &str) -> Request {
        Request::new("GET", url)
    }

    /// Creates a `POST` request with a JSON body.
    pub fn post_json(url: &str, body: &Value) -> Request {
        let request = Request::new("POST", url).header("content-type", "application/json");
        Request { body: body.to_string().into_bytes(), ..request }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Request {
        self.add(name, HeaderValue::Plain(value.to_owned()))
    }

    /// Adds a header whose value is a granted secret, given by name. The value never enters the plugin.
    #[must_use]
    pub fn secret(self, name: &str, secret: &str) -> Request {
        self.add(name, HeaderValue::Secret(secret.to_owned()))
    }

    /// Adds the header `authorization: Bearer …` with a granted secret, given by name.
    #[must_use]
    pub fn bearer(self, secret: &str) -> Request {
        self.add("authorization", HeaderValue::Bearer(secret.to_owned()))
    }

    fn add(mut self, name: &str, value: HeaderValue) -> Request {
        self.headers.push(Header { name: name.to_owned(), value });
        self
    }

    /// Limits the time of the whole exchange, to the millisecond; the limit of the grant applies too.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Request {
        // 0 would mean the limit of the grant.
        self.timeout_ms = timeout.as_millis().clamp(1, u32::MAX.into()) as u32;
        self
    }

    /// Sends the request. A response with any status is a success.
    ///
    /// # Errors
    /// Errors of the host: no grant, an exhausted budget, no connection, or a timeout.
    pub fn send(&self) -> Result<Response, PluginError> {
        http::send(self)
    }
}

/// Sends requests concurrently, as far as the grant allows. Returns one result per request, in order.
pub fn send_all(requests: &[Request]) -> Vec<Result<Response, PluginError>> {
    http::send_all(requests)
}

impl Response {
    /// Returns the response itself if its status is 200 to 299.
    ///
    /// # Errors
    /// `upstream` with the status and the beginning of the body; retryable for 408, 429 and 500 or more.
    pub fn success(self) -> Result<Response, PluginError> {
        /// Maximum length of the body in the message, in characters.
        const SHOWN: usize = 200;
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let body: String = self.text().chars().take(SHOWN).collect();
        let message = format!("the server answered with status {}: {body}", self.status);
        Err(PluginError::upstream(message).retryable(matches!(self.status, 408 | 429 | 500..)))
    }

    /// Returns the first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// Returns the body as text; invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Parses the body as JSON.
    ///
    /// # Errors
    /// `upstream` if the body is not JSON.
    pub fn json(&self) -> Result<Value, PluginError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| PluginError::upstream(format!("the server's answer is not JSON: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn response(status: u16) -> Response {
        let headers = vec![("retry-after".to_owned(), "3".to_owned())];
        Response { status, headers, body: br#"{"a":1}"#.to_vec() }
    }

    #[test]
    fn requests() {
        let request = Request::post_json("https://a.example/", &json!({}))
            .bearer("key")
            .timeout(Duration::from_micros(1));
        assert_eq!(request.timeout_ms, 1);
        assert_eq!(request.body, b"{}");
        let names: Vec<&str> = request.headers.iter().map(|header| header.name.as_str()).collect();
        assert_eq!(names, ["content-type", "authorization"]);
    }

    #[test]
    fn responses() {
        assert_eq!(response(204).success().unwrap().json(), Ok(json!({ "a": 1 })));
        assert_eq!(response(200).header("Retry-After"), Some("3"));
        for (status, retryable) in [(302, false), (404, false), (429, true), (503, true)] {
            let error = response(status).success().unwrap_err();
            assert_eq!(error.retryable, retryable, "{status}");
            assert_eq!(error.message, format!("the server answered with status {status}: {{\"a\":1}}"));
        }
    }
}

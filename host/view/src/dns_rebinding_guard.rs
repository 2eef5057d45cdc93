//! Guard against DNS rebinding: checks every request, and restricts the use of every answer.

use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Accepted names of this machine, besides `localhost` and its addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedHosts(Arc<[String]>);

impl AllowedHosts {
    pub(crate) fn new(names: &[String]) -> AllowedHosts {
        AllowedHosts(names.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Returns whether a request was meant for this machine. A foreign page can point its own domain name at this
    /// machine, but neither an IP address nor `localhost`. Therefore only these and the configured names are safe.
    fn allows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&host);
        host == "localhost" || literal.parse::<IpAddr>().is_ok() || self.0.contains(&host)
    }
}

/// Refuses requests for other hosts, and adds security headers to each answer.
pub(crate) async fn guard(State(allowed): State<AllowedHosts>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&allowed, &request) {
        Some(response) => response,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    // Pages state their own policy.
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns whether an authority is only a host and perhaps a port. A browser sends no user in front of the host.
fn has_no_user(authority: &Authority) -> bool {
    let rest = authority.as_str().strip_prefix(authority.host());
    rest.is_some_and(|rest| {
        let port = rest.strip_prefix(':').unwrap_or(rest);
        port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn refusal(allowed: &AllowedHosts, request: &Request) -> Option<Response> {
    let mut headers = request.headers().get_all(HOST).iter();
    let of_header = match (headers.next(), headers.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        // Without a header, or with several, it is not certain which host was meant.
        _ => None,
    };
    // If the address of a request names a host too, both must be this machine.
    let of_address = request.uri().authority();
    let is_ours = |authority: &Authority| has_no_user(authority) && allowed.allows(authority.host());
    if !of_header.as_ref().is_some_and(is_ours) || !of_address.is_none_or(is_ours) {
        let message = "this server answers only requests for the addresses of its machine and for localhost; \
            allow another name with --allow-host\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, message).into_response());
    }
    // Notes are the only thing that a page sends.
    let is_note = *request.method() == Method::POST && request.uri().path().ends_with("/notes");
    if !is_note && !matches!(*request.method(), Method::GET | Method::HEAD) {
        let allow = [(ALLOW, HeaderValue::from_static("GET, HEAD"))];
        return Some((StatusCode::METHOD_NOT_ALLOWED, allow, "only GET is answered\n").into_response());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_named_hosts_are_this_machine() {
        let allowed = AllowedHosts::new(&["Box.lan".to_owned()]);
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "192.168.1.7", "box.lan", "BOX.LAN"] {
            assert!(allowed.allows(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost."] {
            assert!(!allowed.allows(host), "{host}");
        }
    }

    #[test]
    fn users_in_front_of_a_host_are_found() {
        for (text, expected) in [
            ("localhost", true),
            ("localhost:80", true),
            ("[::1]:80", true),
            ("user@localhost", false),
            ("user:80@localhost:80", false),
            ("localhost@localhost", false),
            ("localhost:80@localhost", false),
        ] {
            let authority: Authority = text.parse().expect("an authority");
            assert_eq!(has_no_user(&authority), expected, "{text}");
        }
    }
}

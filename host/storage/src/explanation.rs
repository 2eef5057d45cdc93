//! Failures of requests in words, with advice.

use gage_core::shown_name;
use gage_secrets::redact;
use object_store::client::{HttpError, HttpErrorKind};
use std::error::Error as StdError;
use std::iter::successors;

/// Address of the machine's own service for credentials, which is asked if no variable holds any.
const CREDENTIALS_HOST: &str = "169.254.169.254";

const CHECK_CREDENTIALS: &str = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and that they \
                                 may list, read and write there";
const SET_CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
const CHECK_BUCKET: &str = "create the bucket, or correct its name";
const CHECK_REGION: &str = "set AWS_REGION to the region of the bucket";
const ALLOW_HTTP: &str = "set AWS_ALLOW_HTTP=true to allow an address without TLS";
const CHECK_NETWORK: &str = "check AWS_ENDPOINT_URL, AWS_REGION and the network, and run the command again";
const TRY_LATER: &str = "run the command again later";

/// The failure of a request, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// The answer of the server, or the reason why there is none.
    pub(crate) answer: String,
    /// Advice for the user.
    pub(crate) remedy: Option<&'static str>,
    /// True if the same request may succeed later.
    pub(crate) is_temporary: bool,
}

impl Explanation {
    /// Explains the failure of a request. Secrets are removed.
    pub(crate) fn new(error: &object_store::Error) -> Explanation {
        let text = error.to_string();
        let status = status_in(&text);
        let code = between(&text, "<Code>", "</Code>");
        let answer = match (code, between(&text, "<Message>", "</Message>"), status) {
            (Some(code), Some(message), _) => format!("{code}: {message}"),
            (Some(code), None, _) => code.to_owned(),
            (None, _, Some(status)) => format!("the server answered {status}"),
            (None, _, None) => innermost(error),
        };
        let kind = transport_failure(error);
        let is_busy = status.is_some_and(|status| status.starts_with('5') || status.starts_with("429"));
        Explanation {
            answer: shown_name(redact(&answer).trim()),
            remedy: remedy(&format!("{text}: {}", innermost(error)), code, status, kind, is_busy),
            is_temporary: is_busy || kind.is_some_and(is_of_network),
        }
    }
}

/// Returns whether a bucket does not exist, rather than an object.
pub(crate) fn is_missing_bucket(error: &object_store::Error) -> bool {
    between(&error.to_string(), "<Code>", "</Code>") == Some("NoSuchBucket")
}

fn remedy(
    text: &str,
    code: Option<&str>,
    status: Option<&str>,
    kind: Option<HttpErrorKind>,
    is_busy: bool,
) -> Option<&'static str> {
    let is_refused = |status: &str| status.starts_with("401") || status.starts_with("403");
    match code {
        Some("NoSuchBucket") => Some(CHECK_BUCKET),
        Some("PermanentRedirect" | "AuthorizationHeaderMalformed") => Some(CHECK_REGION),
        _ if text.contains("scheme is not allowed") => Some(ALLOW_HTTP),
        _ if text.contains(CREDENTIALS_HOST) => Some(SET_CREDENTIALS),
        _ if status.is_some_and(is_refused) => Some(CHECK_CREDENTIALS),
        // A redirect without an address.
        _ if text.contains("incorrectly configured region") => Some(CHECK_REGION),
        _ if is_busy => Some(TRY_LATER),
        _ if kind.is_some_and(is_of_network) => Some(CHECK_NETWORK),
        _ => None,
    }
}

fn is_of_network(kind: HttpErrorKind) -> bool {
    matches!(
        kind,
        HttpErrorKind::Connect | HttpErrorKind::Request | HttpErrorKind::Timeout | HttpErrorKind::Interrupted
    )
}

/// Returns the reason why a request got no answer.
fn transport_failure(error: &object_store::Error) -> Option<HttpErrorKind> {
    causes(error).find_map(|cause| cause.downcast_ref::<HttpError>()).map(HttpError::kind)
}

fn innermost(error: &object_store::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn causes<'e>(error: &'e object_store::Error) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    let first: &'e (dyn StdError + 'static) = error;
    successors(Some(first), |cause: &&'e (dyn StdError + 'static)| (*cause).source())
}

/// Returns the status of an answer, such as `403 Forbidden`.
fn status_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.split(':').next().map(str::trim)
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

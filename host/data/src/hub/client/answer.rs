//! Meaning of a hub's HTTP statuses.

use super::RequestTarget;
use crate::hub::error::HubError;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use url::Url;

const MAX_MESSAGE_CHARS: usize = 300;

/// Returns the error of a permanent status.
pub(super) fn final_error(
    url: &Url,
    status: StatusCode,
    headers: &HeaderMap,
    asked: RequestTarget<'_>,
    has_token: bool,
) -> HubError {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let said: String = header("x-error-message").chars().take(MAX_MESSAGE_CHARS).collect();
    let said = match said.is_empty() {
        true => String::new(),
        false => format!("; the server says: {}", gage_core::printable_line(&said)),
    };
    let RequestTarget { kind, name, revision, path } = asked;
    let (noun, token) = (kind.noun(), kind.token());
    let code = header("x-error-code");
    match (status, code) {
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, "GatedRepo") => HubError::Denied(format!(
            "{noun} '{name}' is gated ({status}): ask for access on its page, and give a token of that account ({token}){said}"
        )),
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) if has_token => HubError::Denied(format!(
            "{noun} '{name}': the server refuses the token ({status}), or there is no such {noun}; check the name, and that the token ({token}) is valid and may read it{said}"
        )),
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => HubError::Denied(format!(
            "{noun} '{name}' does not exist, or it is private or gated and needs a token ({status}); check the name, or give a token that may read it ({token}){said}"
        )),
        (StatusCode::NOT_FOUND, "RepoNotFound") => {
            HubError::NotFound(format!("there is no {noun} '{name}' on the hub, or it is private{said}"))
        }
        (StatusCode::NOT_FOUND, "RevisionNotFound") => {
            HubError::Revision(format!("{noun} '{name}' has no revision '{revision}'{said}"))
        }
        (StatusCode::NOT_FOUND, code) => HubError::NotFound(match path {
            Some(path) => {
                let path = gage_core::printable_line(path);
                format!("{noun} '{name}' has no file '{path}' in revision '{revision}'{said}")
            }
            None if code == "EntryNotFound" => {
                format!("{noun} '{name}' has no files in revision '{revision}'{said}")
            }
            None => {
                format!("there is no {noun} '{name}' on the hub, or it has no revision '{revision}'{said}")
            }
        }),
        _ => HubError::answer(url, format!("the server answers {status}{said}")),
    }
}

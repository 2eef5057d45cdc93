//! Authorizations: a password, or a token from the server that a registry names.

use crate::challenge::Challenge;
use crate::connection::{Connection, Request, TRY_LATER, is_unavailable};
use crate::credentials::Credentials;
use crate::target::{Target, is_loopback, shown};
use crate::{OciError, OciErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_secrets::SecretString;
use reqwest::header::HeaderValue;
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use url::{Url, form_urlencoded};

/// Maximum size of the answer of a server of tokens.
const MAX_TOKEN_BYTES: usize = 64 << 10;

const FORM_MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// Name of this program for a server of tokens.
const CLIENT: &str = "gage-host";

/// The answer of a server of tokens. Some name the token one way, some the other.
#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Connection {
    /// Returns the authorization that a registry asks for in an answer with the status 401.
    pub(crate) async fn authorize(
        &self,
        target: &Target<'_>,
        response: Response,
    ) -> Result<HeaderValue, OciError> {
        let registry = target.reference.registry();
        let credentials = self.credentials.of(registry)?;
        match (Challenge::of(response.headers()), credentials) {
            (Some(Challenge::Bearer { realm, service }), credentials) => {
                self.token(target, &realm, service.as_deref(), credentials).await
            }
            (Some(Challenge::Basic), Some(Credentials::Basic { user, password })) => {
                basic(target, &user, &password)
            }
            _ => Err(self.refusal(target, response).await),
        }
    }

    /// Asks a server for a token.
    async fn token(
        &self,
        target: &Target<'_>,
        realm: &str,
        service: Option<&str>,
        credentials: Option<Credentials>,
    ) -> Result<HeaderValue, OciError> {
        let url = check_realm(target, realm)?;
        let scope = target.scope();
        let mut fields = vec![("scope", scope.as_str())];
        fields.extend(service.map(|service| ("service", service)));
        let (request, authorization) = match &credentials {
            Some(Credentials::Identity(token)) => {
                fields.extend([
                    ("grant_type", "refresh_token"),
                    ("client_id", CLIENT),
                    ("refresh_token", token.reveal()),
                ]);
                let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
                (Request::new(Method::POST, url).body(FORM_MEDIA_TYPE, form), None)
            }
            Some(Credentials::Basic { user, password }) => {
                (Request::get(with_query(url, &fields)), Some(basic(target, user, password)?))
            }
            None => (Request::get(with_query(url, &fields)), None),
        };
        // A redirect is not followed: it would take the credentials to another server.
        let response = self.send_once(target, &request, &request.url, authorization.as_ref()).await?;
        let status = response.status();
        if status != StatusCode::OK {
            let reason = format!("{} gives no token ({status})", shown(&request.url));
            let registry = target.reference.registry();
            return Err(match status.is_client_error() {
                _ if is_unavailable(status) => {
                    target.error(OciErrorKind::Unavailable, reason).with_help(TRY_LATER)
                }
                true => target.error(OciErrorKind::Unauthorized, reason).with_help(self.login_help(registry)),
                false => target.error(OciErrorKind::Refused, reason),
            });
        }
        let body = self.read(target, response, MAX_TOKEN_BYTES, "token").await?;
        let answer: Option<TokenAnswer> = serde_json::from_slice(&body).ok();
        let token = answer.and_then(|answer| answer.token.or(answer.access_token));
        let token = token.map(|token| SecretString::new("token of a registry", &token));
        token.and_then(|token| header(&format!("Bearer {}", token.reveal()))).ok_or_else(|| {
            let reason = format!("{} gives no valid token", shown(&request.url));
            target.error(OciErrorKind::Invalid, reason)
        })
    }
}

/// Checks the address of a server of tokens, which receives the credentials. Without TLS, it must be on this
/// machine, like the registry.
fn check_realm(target: &Target<'_>, realm: &str) -> Result<Url, OciError> {
    let url = Url::parse(realm).ok();
    let is_allowed = url.as_ref().is_some_and(|url| match url.scheme() {
        "https" => true,
        "http" => target.reference.is_loopback() && is_loopback(url),
        _ => false,
    });
    url.filter(|_| is_allowed).ok_or_else(|| {
        let shown = gage_core::shown_name(realm);
        let reason =
            format!("the registry names '{shown}' as its server of tokens, and only https is allowed");
        target.error(OciErrorKind::Refused, reason)
    })
}

fn with_query(mut url: Url, fields: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(fields);
    url
}

fn basic(target: &Target<'_>, user: &str, password: &SecretString) -> Result<HeaderValue, OciError> {
    let encoded = STANDARD.encode(format!("{user}:{}", password.reveal()));
    header(&format!("Basic {encoded}"))
        .ok_or_else(|| target.error(OciErrorKind::Unauthorized, "its credentials cannot be sent"))
}

/// Returns a header that is not shown. `None` if the text has characters that a header cannot have.
fn header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

//! The client that posts what a run says about itself.

use std::error::Error as _;
use std::iter::successors;
use std::time::Duration;

/// Why nothing can be posted to an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It is none, or not of a server. The address is not shown, for it may hold a password.
    #[error("the address is not valid: {0}; write it like https://collector.example/events")]
    Address(String),
    /// No client can be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

/// A client for one address. It follows no redirect: what a run says is for that server alone.
pub(crate) fn client(
    address: &str,
    timeout: Duration,
) -> Result<(reqwest::Url, reqwest::Client), ClientError> {
    let url = reqwest::Url::parse(address.trim()).map_err(|error| ClientError::Address(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ClientError::Address(format!(
            "it begins with {}:, not with http: or https:",
            url.scheme()
        )));
    }
    // Fails where a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .timeout(timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ClientError::Client(without_secrets(error)))?;
    Ok((url, client))
}

/// What went wrong, with all causes and without the address.
pub(crate) fn without_secrets(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

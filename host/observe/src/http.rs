//! HTTP client that posts the events and telemetry of a run.

use std::error::Error as _;
use std::iter::successors;
use std::time::Duration;

/// Failure to set up a client for an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The address is invalid, or is not that of a server. It is not shown, because it may contain a password.
    #[error("the address is not valid: {0}; write it like https://collector.example/events")]
    Address(String),
    /// The client cannot be created.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

/// Creates a client for one address. It follows no redirects, because the data is meant for that server alone.
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
    // Fails if a provider is already installed, which works just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .timeout(timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ClientError::Client(without_secrets(error)))?;
    Ok((url, client))
}

/// Describes an error with all its causes and without the address.
pub(crate) fn without_secrets(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

//! The repository that a request is about.

use crate::{OciError, OciErrorKind};
use gage_core::OciReference;
use url::{Host, Url};

/// Docker Hub, and the host that serves it.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// The repository that a request is about, and what the request does.
pub(crate) struct Target<'r> {
    pub(crate) reference: &'r OciReference,
    /// True for requests that write.
    pub(crate) is_push: bool,
    /// Address of the repository, which ends with a slash.
    base: Url,
}

impl<'r> Target<'r> {
    pub(crate) fn pull(reference: &'r OciReference) -> Result<Target<'r>, OciError> {
        Target::new(reference, false)
    }

    pub(crate) fn push(reference: &'r OciReference) -> Result<Target<'r>, OciError> {
        Target::new(reference, true)
    }

    fn new(reference: &'r OciReference, is_push: bool) -> Result<Target<'r>, OciError> {
        let registry = reference.registry();
        let (hub, server) = DOCKER_HUB;
        let host = if registry == hub { server } else { registry };
        let scheme = if reference.is_loopback() { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/v2/{}/", reference.repository()));
        let base =
            base.map_err(|error| OciError::new(OciErrorKind::Refused, format!("{reference}: {error}")))?;
        Ok(Target { reference, is_push, base })
    }

    /// Returns an address below the repository.
    pub(crate) fn url(&self, path: &str) -> Result<Url, OciError> {
        self.base.join(path).map_err(|error| {
            OciError::new(OciErrorKind::Refused, format!("{}: '{path}': {error}", self.reference))
        })
    }

    /// Returns whether an address is that of the registry: it has the same scheme, host and port.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Returns what a token must allow.
    pub(crate) fn scope(&self) -> String {
        let actions = if self.is_push { "pull,push" } else { "pull" };
        format!("repository:{}:{actions}", self.reference.repository())
    }

    /// Returns an error about this repository.
    pub(crate) fn error(&self, kind: OciErrorKind, reason: impl AsRef<str>) -> OciError {
        OciError::new(kind, format!("{}: {}", self.reference, reason.as_ref()))
    }
}

/// Returns whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns whether an address is asked without a proxy. A proxy cannot reach this machine, and would see what
/// is sent without TLS.
pub(crate) fn is_direct(url: &Url) -> bool {
    url.scheme() == "http" || is_loopback(url)
}

/// Returns an address without its possible secrets: query, fragment, user and password.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    gage_core::shown_name(url.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tls_to_other_machines_goes_through_a_proxy() {
        for (url, expected) in [
            ("http://127.0.0.1:5000/v2/", true),
            ("http://r.example/v2/", true),
            ("https://localhost/v2/", true),
            ("https://127.0.0.2/v2/", true),
            ("https://[::1]:5000/v2/", true),
            ("https://r.example/v2/", false),
            ("https://localhost.example/v2/", false),
        ] {
            assert_eq!(is_direct(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}

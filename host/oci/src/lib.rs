//! A client of OCI registries, for plugins: it pulls and pushes components with their signatures.
//!
//! A registry may be hostile. Every answer has a maximum size, which is checked while it arrives. Every blob
//! must have its digest. A registry that sends nothing, or too slowly, is not waited for. Credentials are
//! sent to the registry that they belong to and to the server that it names for tokens, never to the target
//! of a redirect.
//!
//! The requests are made here rather than by a library for registries. Those known read manifests, errors and
//! tokens of any size, and follow redirects without asking.

mod attach;
mod authorization;
mod challenge;
mod connection;
mod credentials;
mod description;
mod error;
mod pull;
mod push;
mod settings;
mod signatures;
mod tags;
mod target;

pub use description::PackageDescription;
pub use error::{OciError, OciErrorKind};
pub use pull::Resolved;
pub use push::Pushed;
pub use settings::OciSettings;
pub use tags::MAX_TAGS;

use connection::Connection;

/// A client of OCI registries.
pub struct OciClient {
    connection: Connection,
}

impl OciClient {
    /// Sets up a client without opening connections. Credentials are read from docker's configuration, if
    /// there is one.
    ///
    /// # Errors
    /// If docker's configuration cannot be read.
    pub fn new(settings: OciSettings) -> Result<OciClient, OciError> {
        Ok(OciClient { connection: Connection::new(settings)? })
    }
}

//! Credentials of docker's configuration.

use crate::{OciError, OciErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::foreign_file::{self, FileLimit};
use gage_secrets::SecretString;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

const MAX_CONFIG_SIZE: FileLimit = FileLimit::new("docker's configuration", 1 << 20);

/// Key of Docker Hub in docker's configuration, after `https://` and the version.
const DOCKER_HUB_KEY: &str = "index.docker.io";

/// Credentials for one registry.
#[derive(Clone, Debug)]
pub(crate) enum Credentials {
    /// A user and a password.
    Basic { user: String, password: SecretString },
    /// A token, for which the server of tokens gives others.
    Identity(SecretString),
}

/// The credentials that docker's configuration holds.
#[derive(Debug, Default)]
pub(crate) struct DockerCredentials {
    entries: BTreeMap<String, Entry>,
    /// Helper of all registries.
    store: Option<String>,
    /// Helpers of some registries.
    helpers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    auths: Option<BTreeMap<String, Entry>>,
    creds_store: Option<String>,
    cred_helpers: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Entry(…)")
    }
}

impl DockerCredentials {
    /// Reads docker's configuration. If there is none, there are no credentials.
    pub(crate) fn read(path: &Path) -> Result<DockerCredentials, OciError> {
        let refuse = |reason: String| {
            let message = format!("docker's configuration {} cannot be read: {reason}", path.display());
            OciError::new(OciErrorKind::Refused, message)
                .with_help("correct it, or name another folder in DOCKER_CONFIG")
        };
        let bytes = match foreign_file::read_named(path, MAX_CONFIG_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(DockerCredentials::default());
            }
            Err(error) => return Err(refuse(error.to_string())),
        };
        // The text of the error could show a value.
        let document: Document = serde_json::from_slice(&bytes).map_err(|error| {
            refuse(format!("it is not valid in line {}, column {}", error.line(), error.column()))
        })?;
        let host_of = |key: String| {
            let key = key.to_ascii_lowercase();
            let host = ["https://", "http://"].iter().find_map(|scheme| key.strip_prefix(scheme));
            let host = host.unwrap_or(&key).trim_end_matches('/');
            let host = ["/v1", "/v2"].iter().find_map(|version| host.strip_suffix(version)).unwrap_or(host);
            host.to_owned()
        };
        let entries = document.auths.unwrap_or_default();
        let helpers = document.cred_helpers.unwrap_or_default();
        Ok(DockerCredentials {
            entries: entries.into_iter().map(|(key, entry)| (host_of(key), entry)).collect(),
            store: document.creds_store.filter(|store| !store.is_empty()),
            helpers: helpers.into_iter().map(|(key, helper)| (host_of(key), helper)).collect(),
        })
    }

    /// Returns the credentials of exactly this registry.
    pub(crate) fn of(&self, registry: &str) -> Result<Option<Credentials>, OciError> {
        let Some(entry) = self.entries.get(key_of(registry)) else { return Ok(None) };
        let secret = |text: &str| SecretString::new("credentials of a registry", text);
        if let Some(token) = entry.identitytoken.as_deref().filter(|token| !token.is_empty()) {
            return Ok(Some(Credentials::Identity(secret(token))));
        }
        if let (Some(user), Some(password)) = (&entry.username, &entry.password) {
            return Ok(Some(Credentials::Basic { user: user.clone(), password: secret(password) }));
        }
        let Some(auth) = entry.auth.as_deref().filter(|auth| !auth.is_empty()) else { return Ok(None) };
        let decoded = STANDARD.decode(auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        // Docker pads the password with zeros.
        let pair = decoded.as_deref().and_then(|text| text.trim_end_matches('\0').split_once(':'));
        let Some((user, password)) = pair else {
            let message = format!("docker's configuration has credentials of {registry} that cannot be read");
            return Err(OciError::new(OciErrorKind::Unauthorized, message)
                .with_help(format!("store them again: docker login {registry}")));
        };
        secret(auth);
        Ok(Some(Credentials::Basic { user: user.to_owned(), password: secret(password) }))
    }

    /// Returns the program that keeps the credentials of a registry.
    pub(crate) fn helper(&self, registry: &str) -> Option<&str> {
        self.helpers.get(key_of(registry)).or(self.store.as_ref()).map(String::as_str)
    }
}

/// Returns the key of a registry in docker's configuration.
fn key_of(registry: &str) -> &str {
    if registry == "docker.io" { DOCKER_HUB_KEY } else { registry }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    fn credentials(config: &str) -> DockerCredentials {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, config).unwrap();
        DockerCredentials::read(&path).unwrap()
    }

    #[test]
    fn credentials_belong_to_exactly_one_registry() {
        let auth = STANDARD.encode("user:pass-word-1\0\0");
        let found = credentials(&format!(
            r#"{{"auths": {{
                "r.example": {{"auth": "{auth}"}},
                "https://R2.example/v1/": {{"username": "user", "password": "pass-word-1"}},
                "r.example:5000": {{"identitytoken": "token-of-identity"}},
                "https://index.docker.io/v1/": {{"auth": "{auth}"}},
                "empty.example": {{}}
            }}}}"#
        ));
        for (registry, expected) in [
            ("r.example", Some(("user", "pass-word-1"))),
            ("r2.example", Some(("user", "pass-word-1"))),
            ("r.example:5000", Some(("", "token-of-identity"))),
            ("docker.io", Some(("user", "pass-word-1"))),
            ("r.example:5001", None),
            ("sub.r.example", None),
            ("example", None),
            ("empty.example", None),
        ] {
            let credentials = found.of(registry).unwrap();
            let pair = credentials.as_ref().map(|credentials| match credentials {
                Credentials::Basic { user, password } => (user.as_str(), password.reveal()),
                Credentials::Identity(token) => ("", token.reveal()),
            });
            assert_eq!(pair, expected, "{registry}");
            assert!(!format!("{credentials:?}{found:?}").contains("pass-word-1"));
        }
        assert_eq!(gage_secrets::redact("is token-of-identity"), "is (secret)");
    }

    #[test]
    fn helpers_are_known_and_not_used() {
        let found = credentials(r#"{"credsStore": "desktop", "credHelpers": {"r.example": "ecr-login"}}"#);
        assert_eq!(found.helper("r.example"), Some("ecr-login"));
        assert_eq!(found.helper("other.example"), Some("desktop"));
        assert_eq!(credentials("{}").helper("r.example"), None);
    }

    #[test]
    fn a_configuration_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        assert!(DockerCredentials::read(&path).unwrap().of("r.example").unwrap().is_none());
        std::fs::write(&path, r#"{"auths": {"r.example": "hidden-value"}}"#).unwrap();
        let message = DockerCredentials::read(&path).unwrap_err().recorded("plugins");
        assert!(message.contains("it is not valid in line 1"), "{message}");
        assert!(message.contains("DOCKER_CONFIG") && !message.contains("hidden"), "{message}");
        for auth in ["hidden-value", "aGlkZGVu"] {
            let found = credentials(&format!(r#"{{"auths": {{"r.example": {{"auth": "{auth}"}}}}}}"#));
            let message = found.of("r.example").unwrap_err().recorded("plugins");
            assert!(message.contains("docker login r.example") && !message.contains("hidden"), "{message}");
        }
    }
}

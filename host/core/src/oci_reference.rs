//! Names of packages in an OCI registry.

use crate::{Digest, shown_name};
use std::fmt;
use std::str::FromStr;

const SCHEME: &str = "oci://";

/// Maximum length of `registry/repository`, as registries have it.
const MAX_NAME_BYTES: usize = 255;

/// Maximum length of a tag, as registries have it.
const MAX_TAG_BYTES: usize = 128;

/// A package in an OCI registry: `oci://registry.example/metrics/word-recall:0.1.0`. It has a tag, the digest
/// of the manifest (`@sha256:…`), or both. The name of the host is in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OciReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A text that is not an [`OciReference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciReferenceError {
    text: String,
    reason: String,
}

impl OciReference {
    /// Returns the host of the registry, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the name in the registry: `metrics/word-recall`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the last segment of the repository: `word-recall`.
    pub fn last_segment(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the tag.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest of the manifest.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the registry and the repository: `registry.example/metrics/word-recall`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// Returns whether the registry is on this machine, where connections need no TLS.
    pub fn is_loopback(&self) -> bool {
        let is_port = |rest: &str| rest.is_empty() || rest.starts_with(':');
        ["127.0.0.1", "localhost", "[::1]"]
            .iter()
            .any(|host| self.registry.strip_prefix(host).is_some_and(is_port))
    }

    /// Returns the reference with another tag and without a digest. The tag must be valid
    /// ([`OciReference::is_tag`]).
    #[must_use]
    pub fn with_tag(&self, tag: &str) -> OciReference {
        OciReference { tag: Some(tag.to_owned()), digest: None, ..self.clone() }
    }

    /// Returns the reference with the digest of its manifest. The tag stays.
    #[must_use]
    pub fn with_digest(&self, digest: Digest) -> OciReference {
        OciReference { digest: Some(digest), ..self.clone() }
    }

    /// Returns whether a text is meant as a reference, rather than as a path.
    pub fn is_reference(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Returns whether a text is a valid tag.
    pub fn is_tag(text: &str) -> bool {
        let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        text.len() <= MAX_TAG_BYTES
            && text.bytes().next().is_some_and(is_first)
            && text.bytes().all(|byte| is_first(byte) || matches!(byte, b'.' | b'-'))
    }
}

impl FromStr for OciReference {
    type Err = OciReferenceError;

    fn from_str(text: &str) -> Result<OciReference, OciReferenceError> {
        parse(text).map_err(|reason| {
            // What is before '@' in the host could be a password.
            let has_credentials = text.split('/').nth(2).is_some_and(|host| host.contains('@'));
            let text = if has_credentials { format!("{SCHEME}…") } else { shown_name(text) };
            OciReferenceError { text, reason }
        })
    }
}

fn parse(text: &str) -> Result<OciReference, String> {
    let rest = text.strip_prefix(SCHEME).ok_or_else(|| format!("it does not begin with '{SCHEME}'"))?;
    let (registry, rest) = rest.split_once('/').ok_or("it has no repository after the host")?;
    check_registry(registry)?;
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(parse_digest(digest)?)),
        None => (rest, None),
    };
    let (repository, tag) = match rest.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (rest, None),
    };
    check_repository(repository)?;
    if registry.len() + 1 + repository.len() > MAX_NAME_BYTES {
        return Err(format!("its host and repository have more than {MAX_NAME_BYTES} characters"));
    }
    if let Some(tag) = tag.filter(|tag| !OciReference::is_tag(tag)) {
        return Err(format!(
            "the tag '{}' is not valid: up to {MAX_TAG_BYTES} letters, digits, '_', '.' and '-', beginning with a \
             letter, a digit or '_'",
            shown_name(tag)
        ));
    }
    if tag.is_none() && digest.is_none() {
        return Err("it has no tag and no digest".to_owned());
    }
    Ok(OciReference {
        registry: registry.to_ascii_lowercase(),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest,
    })
}

fn check_registry(registry: &str) -> Result<(), String> {
    let refuse = || format!("'{}' is not a host with an optional port", shown_name(registry));
    if registry.contains('@') {
        return Err("its host has credentials; use `docker login` instead".to_owned());
    }
    let (host, port) = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            address.parse::<std::net::Ipv6Addr>().map_err(|_| refuse())?;
            (None, (!rest.is_empty()).then_some(rest).map(|rest| rest.strip_prefix(':').unwrap_or("")))
        }
        None => match registry.split_once(':') {
            Some((host, port)) => (Some(host), Some(port)),
            None => (Some(registry), None),
        },
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    let is_host = host.is_none_or(|host| host.split('.').all(is_label));
    if is_host && port.is_none_or(is_port) { Ok(()) } else { Err(refuse()) }
}

/// Checks the parts of a repository: lower-case letters and digits, with `.`, `_`, `__` or hyphens between
/// them.
fn check_repository(repository: &str) -> Result<(), String> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let separators = part.split(|letter: char| letter.is_ascii() && is_inner(letter as u8));
        let is_separator =
            |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
        part.bytes().next().is_some_and(is_inner)
            && part.bytes().last().is_some_and(is_inner)
            && separators.into_iter().all(is_separator)
    };
    match repository.split('/').all(is_part) {
        true => Ok(()),
        false => Err(format!(
            "the repository '{}' is not valid: parts of lower-case letters and digits, with '.', '_' or '-' between \
             them",
            shown_name(repository)
        )),
    }
}

fn parse_digest(text: &str) -> Result<Digest, String> {
    let refuse = || format!("'{}' is not a digest: 'sha256:' and 64 hexadecimal digits", shown_name(text));
    match text.starts_with("sha256:") {
        true => text.parse().map_err(|_| refuse()),
        false => Err(refuse()),
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(formatter, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(formatter, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OciReferenceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OciReferenceError { text, reason } = self;
        write!(
            formatter,
            "'{text}' does not name a package: {reason}; write it as oci://registry.example/metrics/word-recall:0.1.0"
        )
    }
}

impl std::error::Error for OciReferenceError {}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn parsed(text: &str) -> OciReference {
        text.parse().unwrap()
    }

    #[test]
    fn references_have_a_host_a_repository_and_a_version() {
        for (text, registry, repository, tag, has_digest) in [
            ("oci://registry.example/metrics/x:0.1.0", "registry.example", "metrics/x", Some("0.1.0"), false),
            ("oci://127.0.0.1:5055/x:_1.a-B", "127.0.0.1:5055", "x", Some("_1.a-B"), false),
            ("oci://[::1]:5000/a/b/c:1", "[::1]:5000", "a/b/c", Some("1"), false),
            ("oci://localhost/a__b/c-d--e.f_g:1", "localhost", "a__b/c-d--e.f_g", Some("1"), false),
            (&format!("oci://r.example/x@{DIGEST}"), "r.example", "x", None, true),
            (&format!("oci://r.example/x:2@{DIGEST}"), "r.example", "x", Some("2"), true),
        ] {
            let reference = parsed(text);
            assert_eq!((reference.registry(), reference.repository()), (registry, repository), "{text}");
            assert_eq!((reference.tag(), reference.digest().is_some()), (tag, has_digest), "{text}");
            assert_eq!(reference.to_string(), text);
            assert_eq!(reference.name(), format!("{registry}/{repository}"));
        }
        assert_eq!(parsed("oci://Registry.Example/x:A").to_string(), "oci://registry.example/x:A");
    }

    #[test]
    fn other_texts_are_refused_with_the_allowed_form() {
        let long_tag = format!("oci://r.example/x:{}", "a".repeat(129));
        let long_name = format!("oci://r.example/{}:1", "a".repeat(250));
        for (text, reason) in [
            ("registry.example/x:1", "it does not begin with 'oci://'"),
            ("OCI://r.example/x:1", "it does not begin with 'oci://'"),
            ("oci://r.example", "it has no repository"),
            ("oci://r.example/x", "it has no tag and no digest"),
            ("oci:///x:1", "'' is not a host"),
            ("oci://-r.example/x:1", "'-r.example' is not a host"),
            ("oci://r..example/x:1", "'r..example' is not a host"),
            ("oci://r.example:/x:1", "is not a host"),
            ("oci://r.example:65536/x:1", "is not a host"),
            ("oci://r.example:+80/x:1", "is not a host"),
            ("oci://[::1/x:1", "is not a host"),
            ("oci://[::1]5000/x:1", "is not a host"),
            ("oci://[one]:5000/x:1", "is not a host"),
            ("oci://r.example/X:1", "the repository 'X' is not valid"),
            ("oci://r.example/a/../b:1", "the repository 'a/../b' is not valid"),
            ("oci://r.example/a//b:1", "the repository 'a//b' is not valid"),
            ("oci://r.example/a___b:1", "the repository 'a___b' is not valid"),
            ("oci://r.example/a.-b:1", "the repository 'a.-b' is not valid"),
            ("oci://r.example/é:1", "the repository 'é' is not valid"),
            ("oci://r.example/x?y:1", "the repository 'x?y' is not valid"),
            ("oci://r.example/x:", "the tag '' is not valid"),
            ("oci://r.example/x:-1", "the tag '-1' is not valid"),
            ("oci://r.example/x:a/b", "the tag 'a/b' is not valid"),
            ("oci://r.example/x@sha256:12", "'sha256:12' is not a digest"),
            ("oci://r.example/x@sha512:12", "'sha512:12' is not a digest"),
            (&long_tag, "is not valid"),
            (&long_name, "more than 255 characters"),
        ] {
            let message = text.parse::<OciReference>().unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
            assert!(message.ends_with("write it as oci://registry.example/metrics/word-recall:0.1.0"));
        }
    }

    #[test]
    fn credentials_of_a_host_are_not_shown() {
        let message = "oci://user:hidden@r.example/x:1".parse::<OciReference>().unwrap_err().to_string();
        assert!(message.contains("docker login") && !message.contains("hidden"), "{message}");
    }

    #[test]
    fn only_registries_of_this_machine_are_loopback() {
        for (text, expected) in [
            ("oci://127.0.0.1:5055/x:1", true),
            ("oci://localhost/x:1", true),
            ("oci://LOCALHOST:80/x:1", true),
            ("oci://[::1]:1/x:1", true),
            ("oci://127.0.0.1.example/x:1", false),
            ("oci://localhost.example:80/x:1", false),
            ("oci://127.0.0.2/x:1", false),
        ] {
            assert_eq!(parsed(text).is_loopback(), expected, "{text}");
        }
    }

    #[test]
    fn another_tag_drops_the_digest() {
        let reference = parsed("oci://r.example/x:1");
        let pinned = reference.with_digest(DIGEST.parse().unwrap());
        assert_eq!(pinned.to_string(), format!("oci://r.example/x:1@{DIGEST}"));
        assert_eq!(pinned.with_tag("2").to_string(), "oci://r.example/x:2");
        assert!(OciReference::is_reference("oci://x") && !OciReference::is_reference("./x.wasm"));
    }
}

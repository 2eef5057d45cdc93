//! Where a plugin of a run came from, and who signed it.

use serde::{Deserialize, Serialize};

/// Source and signer of a plugin that did not come with the program. These are facts for people: nothing compares them, and
/// [`crate::ComponentIdentity`] has the digest that determines the scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlugin {
    /// The id in the suite, or the name of the file.
    pub id: String,
    /// The address of a package, or the name of a file. Folders of the machine are left out.
    pub source: String,
    /// Digest of the component.
    pub digest: String,
    /// Digest of the manifest of a package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// The signer, if the policy of the machine has a key for the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<PluginSigner>,
}

/// The key that signed a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginSigner {
    /// The name of the key's file.
    pub key: String,
    /// Digest of the public key.
    pub fingerprint: String,
}

impl RecordedPlugin {
    /// Returns whether it is the package with this address.
    pub fn is_package(&self, address: &str) -> bool {
        self.manifest.is_some() && self.source == address
    }
}

/// Formats it for people: ``words: oci://registry.example/words:1 sha256:… signed with team.pub (9b3e1a…)``.
impl std::fmt::Display for RecordedPlugin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RecordedPlugin { id, source, digest, signer, .. } = self;
        if id != source {
            write!(formatter, "{id}: ")?;
        }
        write!(formatter, "{source} {digest}")?;
        match signer {
            Some(signer) => write!(formatter, " {signer}"),
            None => Ok(()),
        }
    }
}

/// Formats it for people: `signed with team.pub (9b3e1a…)`.
impl std::fmt::Display for PluginSigner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// Number of hexadecimal digits of a fingerprint that are shown.
        const MAX_SHOWN_DIGITS: usize = 16;
        let digits = self.fingerprint.strip_prefix("sha256:").unwrap_or(&self.fingerprint);
        let shown: String = digits.chars().take(MAX_SHOWN_DIGITS).collect();
        write!(formatter, "signed with {} ({shown})", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_digest_and_signer_are_shown() {
        let package = "oci://registry.example/words:1";
        let file = RecordedPlugin {
            id: "words.wasm".to_owned(),
            source: "words.wasm".to_owned(),
            digest: "sha256:01".to_owned(),
            manifest: None,
            signer: None,
        };
        let signer =
            PluginSigner { key: "team.pub".to_owned(), fingerprint: format!("sha256:{}", "9b".repeat(32)) };
        let signed = RecordedPlugin {
            id: "words".to_owned(),
            source: package.to_owned(),
            manifest: Some("sha256:02".to_owned()),
            signer: Some(signer),
            ..file.clone()
        };
        for (plugin, shown, is_package) in [
            (file, "words.wasm sha256:01".to_owned(), false),
            (signed, format!("words: {package} sha256:01 signed with team.pub ({})", "9b".repeat(8)), true),
        ] {
            assert_eq!((plugin.to_string(), plugin.is_package(package)), (shown, is_package));
            let json = serde_json::to_value(&plugin).expect("JSON");
            assert_eq!(serde_json::from_value::<RecordedPlugin>(json).expect("a plugin"), plugin);
        }
    }
}

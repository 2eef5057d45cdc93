//! Errors of the trust in plugins.

use gage_core::Digest;
use gage_signature::SignatureError;
use std::path::PathBuf;

/// Reason why a plugin may not score, or why the policy cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// A key of the policy cannot be used.
    #[error(
        "the key '{}' of the entry `{entry}` in `trust` cannot be used: {problem}; correct the policy file",
        .path.display()
    )]
    Key {
        /// The file of the key.
        path: PathBuf,
        /// Name of the entry.
        entry: String,
        /// The problem.
        problem: String,
    },
    /// No entry of the policy names the registry.
    #[error(
        "the plugin {plugin} is not trusted: no entry of `trust` in the policy names its registry; add an entry such as \
         `{registry}: {{keys: [KEY.pub], require: signature}}` to the policy file, or take the plugin from another registry"
    )]
    Unlisted {
        /// The source of the plugin.
        plugin: String,
        /// The registry.
        registry: String,
    },
    /// The plugin lacks a required signature.
    #[error(
        "the plugin {plugin} is not trusted: the entry `{entry}` of `trust` in the policy requires a signature with {keys}, and \
         {reason}; ask the owner of the key for a signature (`gage-host plugin sign`), or add the key of the signer to the entry"
    )]
    Unsigned {
        /// The source of the plugin.
        plugin: String,
        /// True if it is a package of a registry.
        is_package: bool,
        /// Name of the entry.
        entry: String,
        /// Names of the keys of the entry.
        keys: String,
        /// Why no signature is accepted.
        reason: SignatureError,
    },
    /// The plugin lacks a required digest.
    #[error(
        "the plugin {plugin} is not trusted: the entry `{entry}` of `trust` in the policy requires a digest; {}",
        pin_advice(.component, *.is_package)
    )]
    NotPinned {
        /// The source of the plugin.
        plugin: String,
        /// True if it is a package of a registry.
        is_package: bool,
        /// Name of the entry.
        entry: String,
        /// Digest of the component.
        component: Digest,
    },
}

impl TrustError {
    /// Returns advice for a component that was read from the cache, if there is any beyond the message.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            TrustError::Unsigned { is_package: true, .. } => Some(
                "`gage-host plugin pull` fetches signatures that were made after the package was fetched",
            ),
            _ => None,
        }
    }
}

/// Says how to pin a component. A lock pins packages only.
fn pin_advice(component: &Digest, is_package: bool) -> String {
    let pin = format!("write `sha256: {}` next to its `source` in `plugins` of the suite", component.hex());
    match is_package {
        true => format!("{pin}, or lock the suite with `gage-host lock` and run it with `--locked`"),
        false => pin,
    }
}

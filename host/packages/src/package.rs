//! Packages: a component with its manifest and its signatures.

use crate::manifest::PackageManifest;
use crate::{MAX_CONFIG_BYTES, StoreError};
use gage_core::{Digest, OciReference};
use gage_signature::{MAX_SIGNATURE_BYTES, MAX_SIGNATURES, Signature};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A package that was fetched or built, and is not in the cache yet.
#[derive(Clone, Debug)]
pub struct NewPackage {
    /// Name of the package.
    pub reference: OciReference,
    /// The manifest, byte for byte as the registry has it.
    pub manifest: Vec<u8>,
    /// The configuration; advice only.
    pub config: Vec<u8>,
    /// The component.
    pub component: Vec<u8>,
    /// Signatures of the component or the manifest. They are not verified yet.
    pub signatures: Vec<Signature>,
}

/// A package in the cache.
#[derive(Clone, Debug)]
pub struct StoredPackage {
    /// Name of the package.
    pub reference: OciReference,
    /// File of the component.
    pub file: PathBuf,
    /// Digest of the component.
    pub component: Digest,
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Annotations of the manifest; advice only.
    pub annotations: BTreeMap<String, String>,
    /// Signatures of the component or the manifest. They are not verified yet.
    pub signatures: Vec<Signature>,
}

/// The facts about a package in the cache that are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageSummary {
    /// Name of the package.
    pub reference: OciReference,
    /// Digest of the component.
    pub component: Digest,
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Number of signatures. They are not verified yet.
    pub signatures: usize,
}

impl From<&StoredPackage> for PackageSummary {
    fn from(package: &StoredPackage) -> PackageSummary {
        PackageSummary {
            reference: package.reference.clone(),
            component: package.component,
            manifest: package.manifest,
            signatures: package.signatures.len(),
        }
    }
}

impl NewPackage {
    /// Checks that the parts of the package belong together. Returns its manifest.
    ///
    /// # Errors
    /// If a digest or a size differs, if the manifest is not valid, or if there are too many signatures.
    pub fn check(&self) -> Result<PackageManifest, StoreError> {
        let refuse = |reason: String| StoreError::package(&self.reference, reason);
        let manifest = PackageManifest::parse(&self.manifest).map_err(|error| refuse(error.to_string()))?;
        let digest = Digest::of_bytes(&self.manifest);
        if let Some(expected) = self.reference.digest().filter(|expected| *expected != digest) {
            return Err(refuse(format!("the digest of its manifest is {digest}, not {expected}")));
        }
        if self.config.len() > MAX_CONFIG_BYTES {
            return Err(refuse(format!("its configuration has more than {MAX_CONFIG_BYTES} bytes")));
        }
        for (noun, bytes, described) in [
            ("configuration", &self.config, &manifest.config),
            ("component", &self.component, &manifest.component),
        ] {
            let found = Digest::of_bytes(bytes);
            if found != described.digest || bytes.len() as u64 != described.size {
                return Err(refuse(format!(
                    "its {noun} differs from what the manifest says: expected {} bytes with {}, found {} bytes with {found}",
                    described.size,
                    described.digest,
                    bytes.len()
                )));
            }
        }
        if self.signatures.len() > MAX_SIGNATURES {
            return Err(refuse(format!("it has more than {MAX_SIGNATURES} signatures")));
        }
        let has_long = self.signatures.iter().any(|signature| match signature {
            Signature::Bundle(bundle) => bundle.len() > MAX_SIGNATURE_BYTES,
            Signature::Simple { payload, signature } => {
                payload.len().saturating_add(signature.len()) > MAX_SIGNATURE_BYTES
            }
        });
        match has_long {
            true => Err(refuse(format!("one of its signatures has more than {MAX_SIGNATURE_BYTES} bytes"))),
            false => Ok(manifest),
        }
    }
}

//! Plugins as packages: their OCI manifests, the cache of what was fetched from registries, and packages in a
//! file.
//!
//! No network. Everything that is read may be hostile: sizes are bounded, and every blob is checked against
//! its digest.

mod beside;
mod error;
mod layout;
mod manifest;
mod package;
mod signature_manifest;
mod store;
mod trust;
mod trust_error;

pub use beside::{signature_file, signatures_beside};
pub use error::StoreError;
pub use manifest::{
    COMPONENT_MEDIA_TYPE, CONFIG_MEDIA_TYPE, DOCKER_INDEX_MEDIA_TYPE, DOCKER_MANIFEST_MEDIA_TYPE, Descriptor,
    INDEX_MEDIA_TYPE, ImageIndex, ImageManifest, MANIFEST_MEDIA_TYPE, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES,
    ManifestError, PackageManifest, package_manifest,
};
pub use package::{NewPackage, PackageSummary, StoredPackage};
pub use signature_manifest::{
    EMPTY_CONFIG, EMPTY_CONFIG_MEDIA_TYPE, bundle_manifest, bundles_tag, holds_signatures, signature_text,
    signatures_tag, simple_layer, simple_manifest,
};
pub use store::PackageStore;
pub use trust::{PackageOrigin, Signer, Trust, TrustedKey};
pub use trust_error::TrustError;

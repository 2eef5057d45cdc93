//! Stored signatures, and what they must be about.

use gage_core::Digest;

/// Media type of a Sigstore bundle of version 0.3.
pub const BUNDLE_MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Media type of the payload of cosign's simple signing.
pub const SIMPLE_SIGNING_MEDIA_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Annotation of a layer in which cosign stores the signature of a payload, in Base64.
pub const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// Maximum size of a bundle or a payload, in bytes.
pub const MAX_SIGNATURE_BYTES: usize = 1 << 20;
/// Maximum number of signatures of a component that are checked.
pub const MAX_SIGNATURES: usize = 64;

/// A signature as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// A Sigstore bundle of version 0.3, as JSON.
    Bundle(Vec<u8>),
    /// A payload of cosign's simple signing with its signature.
    Simple {
        /// The payload, as JSON.
        payload: Vec<u8>,
        /// The signature of the payload, in Base64.
        signature: String,
    },
}

/// What a signature must be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Digest of the component.
    pub component: Digest,
    /// Digest of the OCI manifest whose only layer is the component, if it is known.
    pub manifest: Option<Digest>,
    /// Name of the component in new signatures: that of its file or repository. It is not compared.
    pub name: String,
}

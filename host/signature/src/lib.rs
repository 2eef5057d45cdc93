//! Signatures of components, made and checked with keys of ECDSA P-256 and Ed25519. Two stored forms are known:
//!
//! - a **Sigstore bundle** of version 0.3: a DSSE envelope with an in-toto statement about the component, or about the OCI
//!   manifest whose only layer is the component;
//! - cosign's **simple signing**: a payload that names the manifest, and its signature.
//!
//! A signature says that the owner of a key approved these bytes. It says nothing about the name under which a registry offers
//! them: an older component with a signature stays signed. A digest in the suite pins the version.
//!
//! - **All input is hostile.** Sizes, nesting, and the numbers of signatures and subjects are limited.
//! - **A payload is parsed after its signature was verified.**
//! - **Identities are not checked.** A signature that was made with a certificate (keyless signing) is never accepted.
//!
//! No network and no files.

mod bundle;
mod json;
mod key;
mod key_error;
mod pem;
mod rejection;
mod sign;
mod signature;
mod signing_key;
mod simple_signing;
mod statement;
mod verify;

#[cfg(test)]
mod test_keys;

pub use bundle::claimed_subjects;
pub use key::VerifyingKey;
pub use key_error::{KeyError, MAX_KEY_BYTES};
pub use sign::{sign_bundle, sign_simple};
pub use signature::{
    BUNDLE_MEDIA_TYPE, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, SIGNATURE_ANNOTATION, SIMPLE_SIGNING_MEDIA_TYPE,
    Signature, Subject,
};
pub use signing_key::SigningKey;
pub use verify::{SignatureError, verify};

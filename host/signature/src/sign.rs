//! New signatures.

use crate::bundle::{self, signed_bytes};
use crate::key_error::KeyError;
use crate::signature::{Signature, Subject};
use crate::signing_key::SigningKey;
use crate::{simple_signing, statement};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::{Digest, OciReference};

/// Signs a component. Returns a Sigstore bundle, as JSON.
///
/// # Errors
/// If the system gives no random numbers.
pub fn sign_bundle(key: &SigningKey, subject: &Subject) -> Result<Vec<u8>, KeyError> {
    let statement = statement::encode(subject);
    let signature = key.sign(&signed_bytes(statement.as_bytes()))?;
    Ok(bundle::encode(&key.verifying_key(), &statement, &signature).into_bytes())
}

/// Signs the manifest of a component in a registry, in the form of `cosign sign` 2.
///
/// # Errors
/// If the system gives no random numbers.
pub fn sign_simple(
    key: &SigningKey,
    reference: &OciReference,
    manifest: Digest,
) -> Result<Signature, KeyError> {
    let payload = simple_signing::encode(&reference.name(), manifest).into_bytes();
    let signature = STANDARD.encode(key.sign(&payload)?);
    Ok(Signature::Simple { payload, signature })
}

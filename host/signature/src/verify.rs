//! Checks signatures against keys.

use crate::bundle::{self, decode_base64, signed_bytes};
use crate::key::VerifyingKey;
use crate::rejection::Rejection;
use crate::signature::{MAX_SIGNATURE_BYTES, MAX_SIGNATURES, Signature, Subject};
use crate::{simple_signing, statement};
use gage_core::{Digest, name_list};

/// Maximum number of reasons in an error.
const MAX_REASONS: usize = 8;
/// Maximum number of keys in a message.
const MAX_SHOWN_KEYS: usize = 3;
/// Maximum length of a signature in Base64.
const MAX_ENCODED_BYTES: usize = 1024;

/// Reason why a component counts as not signed. Its text follows the name of the component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// There is no key.
    #[error("there is no key to check its signatures with")]
    NoKeys,
    /// There is no signature.
    #[error("it has no signature")]
    Unsigned,
    /// No signature is accepted.
    #[error("{}", rejection_text(.reasons, *.total))]
    Rejected {
        /// The reasons, one for each signature; at most 8.
        reasons: Vec<String>,
        /// Number of all signatures.
        total: usize,
    },
}

fn rejection_text(reasons: &[String], total: usize) -> String {
    if let ([reason], 1) = (reasons, total) {
        return format!("its signature is not accepted: {reason}");
    }
    let numbered: Vec<String> =
        reasons.iter().enumerate().map(|(index, reason)| format!("{}. {reason}", index + 1)).collect();
    let mut text = format!("none of its {total} signatures is accepted: {}", numbered.join("; "));
    if total > MAX_SIGNATURES {
        text.push_str(&format!("; only {MAX_SIGNATURES} signatures are checked"));
    } else if total > reasons.len() {
        text.push_str(&format!("; and {} more", total - reasons.len()));
    }
    text
}

/// Returns the first key that made one of the signatures about a component. At most [`MAX_SIGNATURES`] are checked.
///
/// # Errors
/// If no key made a signature about the component. The error says why each signature was not accepted.
pub fn verify<'k>(
    signatures: &[Signature],
    subject: &Subject,
    keys: &'k [VerifyingKey],
) -> Result<&'k VerifyingKey, SignatureError> {
    if keys.is_empty() {
        return Err(SignatureError::NoKeys);
    }
    if signatures.is_empty() {
        return Err(SignatureError::Unsigned);
    }
    let mut reasons = Vec::new();
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        match check(signature, subject, keys) {
            Ok(key) => return Ok(key),
            Err(rejection) if reasons.len() < MAX_REASONS => reasons.push(rejection.to_string()),
            Err(_) => {}
        }
    }
    Err(SignatureError::Rejected { reasons, total: signatures.len() })
}

fn check<'k>(
    signature: &Signature,
    subject: &Subject,
    keys: &'k [VerifyingKey],
) -> Result<&'k VerifyingKey, Rejection> {
    match signature {
        Signature::Bundle(json) => {
            check_size(json.len(), MAX_SIGNATURE_BYTES)?;
            let signed = bundle::decode(json)?;
            let key = find_key(keys, &signed_bytes(&signed.payload), &signed.signature, signed.named_key)?;
            statement::check(&signed.payload, subject)?;
            Ok(key)
        }
        Signature::Simple { payload, signature } => {
            check_size(payload.len(), MAX_SIGNATURE_BYTES)?;
            check_size(signature.len(), MAX_ENCODED_BYTES)?;
            let key = find_key(keys, payload, &decode_base64(signature, "signature")?, None)?;
            simple_signing::check(payload, subject)?;
            Ok(key)
        }
    }
}

fn check_size(bytes: usize, max_bytes: usize) -> Result<(), Rejection> {
    match bytes > max_bytes {
        true => Err(Rejection::TooLarge { bytes, max_bytes }),
        false => Ok(()),
    }
}

/// Finds the key that made a signature. The key that the signature names only helps to explain a failure.
fn find_key<'k>(
    keys: &'k [VerifyingKey],
    message: &[u8],
    signature: &[u8],
    named: Option<Digest>,
) -> Result<&'k VerifyingKey, Rejection> {
    if let Some(key) = keys.iter().find(|key| key.has_signed(message, signature)) {
        return Ok(key);
    }
    let fingerprints: Vec<Digest> = keys.iter().map(VerifyingKey::fingerprint).collect();
    let accepted = || name_list(fingerprints.iter().map(Digest::to_string), MAX_SHOWN_KEYS, ", ");
    Err(match named {
        None => Rejection::OtherKey { accepted: accepted() },
        Some(named) if fingerprints.contains(&named) => Rejection::Changed { named },
        Some(named) => Rejection::NamedKey { named, accepted: accepted() },
    })
}

#[cfg(test)]
mod tests;

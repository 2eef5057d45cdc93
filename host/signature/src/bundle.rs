//! Sigstore bundles of version 0.3 with a DSSE envelope.

use crate::json::{check_type, read};
use crate::key::VerifyingKey;
use crate::rejection::Rejection;
use crate::signature::BUNDLE_MEDIA_TYPE;
use crate::statement::{self, PAYLOAD_TYPE, PREDICATE_TYPE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    verification_material: VerificationMaterial,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerificationMaterial {
    public_key: Option<KeyHint>,
    certificate: Option<IgnoredAny>,
    x509_certificate_chain: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct KeyHint {
    #[serde(default)]
    hint: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

/// A statement with its signature, before either was checked.
pub(crate) struct SignedPayload {
    /// The statement, as JSON.
    pub(crate) payload: Vec<u8>,
    /// The signature of [`signed_bytes`].
    pub(crate) signature: Vec<u8>,
    /// Fingerprint of the key that the bundle names. Anybody can write it.
    pub(crate) named_key: Option<Digest>,
}

/// Reads a bundle.
pub(crate) fn decode(json: &[u8]) -> Result<SignedPayload, Rejection> {
    let bundle: Bundle = read(json, "JSON", "a Sigstore bundle")?;
    check_type("media type", &bundle.media_type, BUNDLE_MEDIA_TYPE)?;
    let material = bundle.verification_material;
    if material.certificate.is_some() || material.x509_certificate_chain.is_some() {
        return Err(Rejection::Keyless);
    }
    if bundle.message_signature.is_some() {
        return Err(Rejection::MessageSignature { expected: PREDICATE_TYPE });
    }
    let key = material.public_key.ok_or_else(|| missing("verificationMaterial.publicKey"))?;
    let envelope = bundle.dsse_envelope.ok_or_else(|| missing("dsseEnvelope"))?;
    check_type("payload type", &envelope.payload_type, PAYLOAD_TYPE)?;
    let [signature] = envelope.signatures.as_slice() else {
        return Err(Rejection::SignatureCount { count: envelope.signatures.len() });
    };
    Ok(SignedPayload {
        payload: decode_base64(&envelope.payload, "payload")?,
        signature: decode_base64(&signature.sig, "signature")?,
        named_key: named_key(&key.hint),
    })
}

/// Returns the SHA-256 digests that a bundle says it is about, whoever made it. `None` if they cannot be read. Nothing is
/// verified.
pub fn claimed_subjects(json: &[u8]) -> Option<Vec<Digest>> {
    let bundle: Bundle = read(json, "JSON", "a Sigstore bundle").ok()?;
    let envelope = bundle.dsse_envelope.filter(|envelope| envelope.payload_type == PAYLOAD_TYPE)?;
    statement::subjects(&decode_base64(&envelope.payload, "payload").ok()?)
}

fn missing(member: &str) -> Rejection {
    Rejection::Form { part: "JSON", format: "a Sigstore bundle", problem: format!("it has no `{member}`") }
}

/// Decodes a part of a signature.
pub(crate) fn decode_base64(text: &str, part: &'static str) -> Result<Vec<u8>, Rejection> {
    STANDARD.decode(text).map_err(|_| Rejection::Base64 { part })
}

/// Returns the fingerprint in a hint. Programs other than cosign may write anything.
fn named_key(hint: &str) -> Option<Digest> {
    let bytes = STANDARD.decode(hint).ok()?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.parse().ok()
}

/// Returns the bundle of a statement, as JSON.
pub(crate) fn encode(key: &VerifyingKey, statement: &str, signature: &[u8]) -> String {
    let fingerprint = key.fingerprint_bytes();
    let bundle = json!({
        "mediaType": BUNDLE_MEDIA_TYPE,
        "verificationMaterial": {"publicKey": {"hint": STANDARD.encode(fingerprint)}},
        "dsseEnvelope": {
            "payload": STANDARD.encode(statement),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": STANDARD.encode(signature)}],
        },
    });
    bundle.to_string()
}

/// Returns what the signature of an envelope is computed from (DSSE, pre-authentication encoding).
pub(crate) fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let header = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [header.as_bytes(), payload].concat()
}

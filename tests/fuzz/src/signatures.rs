//! Signatures of components, and public keys.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::Digest;
use gage_signature::{Signature, SigningKey, Subject, VerifyingKey, sign_bundle, verify};
use proptest::strategy::BoxedStrategy;
use serde_json::Value;

/// Sigstore bundles.
pub const BUNDLES: Target =
    Target { name: "signatures", cases: 500, seeds: bundles, inputs: bundle_inputs, check: check_bundle };
/// Public keys in PEM.
pub const KEYS: Target =
    Target { name: "public_keys", cases: 500, seeds: keys, inputs: key_inputs, check: check_key };

const P256_BUNDLE: &str = include_str!("../../../host/signature/tests/fixtures/cosign-p256.sigstore.json");
const ED25519_BUNDLE: &str =
    include_str!("../../../host/signature/tests/fixtures/cosign-ed25519.sigstore.json");
const P256_KEY: &str = include_str!("../../../host/signature/tests/fixtures/cosign-p256.pub");
const ED25519_KEY: &str = include_str!("../../../host/signature/tests/fixtures/ed25519.pub");
const SIGNING_KEY: &str = include_str!("../../../host/signature/tests/fixtures/ed25519.pem");

/// The component that the bundles are about.
const COMPONENT: &[u8] = b"\0asm\r\0\x01\0";
/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 4_000;

const NAMES: &[&str] = &[
    "mediaType",
    "verificationMaterial",
    "publicKey",
    "hint",
    "certificate",
    "x509CertificateChain",
    "tlogEntries",
    "dsseEnvelope",
    "messageSignature",
    "payload",
    "payloadType",
    "signatures",
    "sig",
    "keyid",
];

const PEM_TOKENS: &[&str] = &[
    "-----BEGIN PUBLIC KEY-----",
    "-----END PUBLIC KEY-----",
    "-----BEGIN PRIVATE KEY-----",
    "-----",
    "\n",
    "\r\n",
    "=",
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
    "MCowBQYDK2VwAyEA",
];

fn subject_of(component: &[u8]) -> Subject {
    Subject { component: Digest::of_bytes(component), manifest: None, name: "x.wasm".to_owned() }
}

fn bundles() -> Vec<Vec<u8>> {
    let mut bundles = vec![P256_BUNDLE.as_bytes().to_owned(), ED25519_BUNDLE.as_bytes().to_owned()];
    // A signature of Ed25519 is the same each time.
    let key = SigningKey::from_pem(SIGNING_KEY).ok();
    bundles.extend(key.and_then(|key| sign_bundle(&key, &subject_of(COMPONENT)).ok()));
    bundles
}

fn bundle_inputs() -> BoxedStrategy<FuzzInput> {
    mutation::json_inputs(bundles(), NAMES)
}

/// Checks that only what was signed is accepted, and only for its component.
fn check_bundle(input: &[u8]) -> Result<Verdict, String> {
    let keys = [P256_KEY, ED25519_KEY].map(VerifyingKey::from_pem);
    let keys: Vec<VerifyingKey> =
        keys.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let signatures = [Signature::Bundle(input.to_owned())];
    if let Err(error) = verify(&signatures, &subject_of(COMPONENT), &keys) {
        let message = error.to_string();
        return match message.len() > MAX_MESSAGE_BYTES || message.chars().any(char::is_control) {
            true => Err(format!("the message is not bounded: {message:?}")),
            false => Ok(Verdict::Refused),
        };
    }
    if verify(&signatures, &subject_of(b"another"), &keys).is_ok() {
        return Err("a signature is accepted for another component".to_owned());
    }
    let payload = payload_of(input);
    match payload.is_none() || bundles().iter().any(|bundle| payload_of(bundle) == payload) {
        true => Ok(Verdict::Accepted),
        false => Err(format!("the payload {payload:?} was never signed")),
    }
}

/// Reads the payload of a bundle with another reader, which refuses more: numbers and texts in members that mean nothing.
fn payload_of(bundle: &[u8]) -> Option<Vec<u8>> {
    let bundle: Value = serde_json::from_slice(bundle).ok()?;
    STANDARD.decode(bundle.pointer("/dsseEnvelope/payload")?.as_str()?).ok()
}

fn keys() -> Vec<Vec<u8>> {
    [P256_KEY, ED25519_KEY].map(|key| key.as_bytes().to_owned()).to_vec()
}

fn key_inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(keys(), PEM_TOKENS)
}

/// Checks that a key is read again as it was written.
fn check_key(input: &[u8]) -> Result<Verdict, String> {
    let text = String::from_utf8_lossy(input);
    // The reader of private keys must not panic either.
    let _ = SigningKey::from_pem(&text);
    let Ok(key) = VerifyingKey::from_pem(&text) else { return Ok(Verdict::Refused) };
    match VerifyingKey::from_pem(&key.to_pem()) {
        Ok(again) if again == key && again.fingerprint() == key.fingerprint() => Ok(Verdict::Accepted),
        again => Err(format!("{} is read again as {again:?}", key.to_pem())),
    }
}

//! Signatures that cosign 2.5 made, with its own key of ECDSA and a key of Ed25519 that it imported.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_core::Digest;
use gage_signature::{Signature, Subject, VerifyingKey, verify};
use std::slice;

/// The eight bytes of a component without content.
const COMPONENT: &[u8] = b"\0asm\r\0\x01\0";
/// The manifest that was pushed to a registry with this component.
const MANIFEST: &str = "sha256:a2b0ebf04dda60c2049ff8edb9023b9670e42c58c8658315552f697e93fbd85b";
const P256_KEY: &str = include_str!("fixtures/cosign-p256.pub");
const ED25519_KEY: &str = include_str!("fixtures/ed25519.pub");

fn subject() -> Subject {
    let manifest = MANIFEST.parse().expect("a digest");
    Subject { component: Digest::of_bytes(COMPONENT), manifest: Some(manifest), name: "x.wasm".to_owned() }
}

fn bundle(json: &str) -> Signature {
    Signature::Bundle(json.as_bytes().to_owned())
}

fn simple(signature: &str) -> Signature {
    let payload = include_bytes!("fixtures/cosign-simple.json").to_vec();
    Signature::Simple { payload, signature: signature.to_owned() }
}

fn key(pem: &str) -> VerifyingKey {
    VerifyingKey::from_pem(pem).expect("a key")
}

#[test]
fn signatures_of_cosign_are_accepted() {
    let keys = [key(P256_KEY), key(ED25519_KEY)];
    for (signature, pem) in [
        (bundle(include_str!("fixtures/cosign-p256.sigstore.json")), P256_KEY),
        (bundle(include_str!("fixtures/cosign-ed25519.sigstore.json")), ED25519_KEY),
        (simple(include_str!("fixtures/cosign-simple-p256.sig")), P256_KEY),
        (simple(include_str!("fixtures/cosign-simple-ed25519.sig")), ED25519_KEY),
    ] {
        assert_eq!(verify(slice::from_ref(&signature), &subject(), &keys), Ok(&key(pem)), "{signature:?}");
        let others: Vec<VerifyingKey> = keys.iter().filter(|other| **other != key(pem)).cloned().collect();
        assert!(verify(slice::from_ref(&signature), &subject(), &others).is_err(), "{signature:?}");
        let other = Subject { component: Digest::of_bytes(b"x"), manifest: None, ..subject() };
        assert!(verify(slice::from_ref(&signature), &other, &keys).is_err(), "{signature:?}");
    }
}

#[test]
fn other_statements_of_cosign_are_rejected() {
    for (signature, expected) in [
        (
            bundle(include_str!("fixtures/cosign-other-predicate.sigstore.json")),
            "its predicate type is `https://example.org/other/v1`; expected is `https://sigstore.dev/cosign/sign/v1`",
        ),
        (
            bundle(include_str!("fixtures/cosign-blob.sigstore.json")),
            "sign with `gage-host plugin sign`, or with `cosign attest-blob --type https://sigstore.dev/cosign/sign/v1`",
        ),
    ] {
        let error =
            verify(&[signature], &subject(), &[key(P256_KEY)]).expect_err("not a signature").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

//! Keys of tests, made with `openssl`. They protect nothing.

use crate::key::VerifyingKey;
use crate::signing_key::SigningKey;

pub(crate) const P256: &str = include_str!("../tests/fixtures/p256.pem");
pub(crate) const P256_PUBLIC: &str = include_str!("../tests/fixtures/p256.pub");
pub(crate) const ED25519: &str = include_str!("../tests/fixtures/ed25519.pem");
pub(crate) const ED25519_PUBLIC: &str = include_str!("../tests/fixtures/ed25519.pub");

/// Returns the keys of both algorithms, each with its public key as `openssl` wrote it.
pub(crate) fn key_pairs() -> [(SigningKey, VerifyingKey); 2] {
    [(P256, P256_PUBLIC), (ED25519, ED25519_PUBLIC)].map(|(private, public)| {
        let key = SigningKey::from_pem(private).expect("a private key");
        (key, VerifyingKey::from_pem(public).expect("a public key"))
    })
}

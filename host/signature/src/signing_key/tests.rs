use super::SigningKey;
use crate::key_error::KeyError;
use crate::test_keys::{ED25519, P256, P256_PUBLIC, key_pairs};
use gage_recorded_messages::RecordedError as _;

#[test]
fn private_keys_of_openssl_have_its_public_keys() {
    for (key, public) in key_pairs() {
        assert_eq!(key.verifying_key(), public);
        let signature = key.sign(b"message").expect("a signature");
        assert!(public.has_signed(b"message", &signature));
        assert!(!public.has_signed(b"Message", &signature));
    }
}

#[test]
fn private_key_is_not_shown() {
    for (key, public) in key_pairs() {
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", public.fingerprint()));
    }
}

#[test]
fn other_texts_are_no_private_keys() {
    let certificate = P256.replace("PRIVATE KEY", "CERTIFICATE");
    let with_parameters =
        format!("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n{P256}");
    let damaged = P256.replacen("MIGH", "MIGG", 1);
    let damaged_ed25519 = ED25519.replacen("MC4C", "MC8C", 1);
    for (text, expected) in [
        (
            include_str!("../../tests/fixtures/p256-sec1.pem"),
            "`openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW`",
        ),
        (with_parameters.as_str(), "it has the older form `EC PRIVATE KEY`"),
        (
            include_str!("../../tests/fixtures/p256-encrypted.pem"),
            "it is encrypted; `openssl pkey -in KEY -out NEW`",
        ),
        (include_str!("../../tests/fixtures/cosign-p256.key"), "it is an encrypted key of cosign"),
        (P256_PUBLIC, "it is a public key; a signature needs the private key"),
        (certificate.as_str(), "it holds a block `CERTIFICATE`; expected is `PRIVATE KEY`"),
        (include_str!("../../tests/fixtures/p384.pem"), "its algorithm is ECDSA P-384; supported are"),
        (include_str!("../../tests/fixtures/p256-no-public.pem"), "or lacks the public key"),
        (damaged.as_str(), "it is not a valid key of ECDSA P-256: it is damaged"),
        (damaged_ed25519.as_str(), "it is not a valid key of Ed25519: it is damaged"),
    ] {
        let error = SigningKey::from_pem(text).expect_err(expected).recorded("plugins");
        assert!(error.contains(expected), "{expected}\n{error}");
    }
    let error = KeyError::Randomness.recorded("plugins");
    assert_eq!(error, "nothing can be signed, because the system gives no random numbers");
}

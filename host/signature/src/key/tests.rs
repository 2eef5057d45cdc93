use super::VerifyingKey;
use crate::test_keys::{ED25519, ED25519_PUBLIC, P256, P256_PUBLIC};
use gage_recorded_messages::RecordedError as _;

#[test]
fn public_keys_are_read_and_written_as_openssl_does() {
    // `openssl pkey -pubin -in KEY -outform DER | sha256sum`
    for (pem, fingerprint) in [
        (P256_PUBLIC, "sha256:a0c0daf3cfa533d2736543badfbd2e2930f69ef57ef0a9498a5a9d958c51cbfd"),
        (ED25519_PUBLIC, "sha256:36e7cce0f462b38de1d3f0016e6813c25a1d4aa27b9233818d4cf522c5665125"),
    ] {
        let key = VerifyingKey::from_pem(pem).expect("a key");
        assert_eq!(key.to_pem(), pem);
        assert_eq!(key.fingerprint().to_string(), fingerprint);
        let with_other_line_ends = format!("\r\n{}\r\n", pem.replace('\n', "\r\n"));
        assert_eq!(VerifyingKey::from_pem(&with_other_line_ends), Ok(key));
    }
}

#[test]
fn other_texts_are_no_public_keys() {
    let damaged_length = P256_PUBLIC.replace("MFkw", "MFow");
    let twice = P256_PUBLIC.repeat(2);
    let truncated: String = P256_PUBLIC.lines().take(2).map(|line| format!("{line}\n")).collect();
    let other_end = P256_PUBLIC.replace("END PUBLIC", "END SECRET");
    let short = ED25519_PUBLIC.replace("P4AE=", "P4A==");
    let damaged_base64 = ED25519_PUBLIC.replace("P4AE=", "P4AE");
    let huge = "-".repeat(100_000);
    let certificate = P256_PUBLIC.replace("PUBLIC KEY", "CERTIFICATE");
    let other_label = P256_PUBLIC.replace("PUBLIC KEY", &"X".repeat(1000));
    for (text, expected) in [
        ("", "it does not begin with a line `-----BEGIN …-----`"),
        ("ssh-ed25519 AAAA me\n", "it does not begin with a line `-----BEGIN …-----`"),
        (truncated.as_str(), "the matching line `-----END …-----` is missing"),
        (other_end.as_str(), "the matching line `-----END …-----` is missing"),
        (twice.as_str(), "there is more than one key or text in it"),
        (damaged_base64.as_str(), "its Base64 is damaged"),
        (short.as_str(), "it is not a valid key of Ed25519: it is damaged"),
        (huge.as_str(), "it has 100000 bytes; a key has at most 65536"),
        (P256, "it is a private key; name its public key, which `openssl pkey -in KEY -pubout -out KEY.pub`"),
        (ED25519, "it is a private key"),
        (certificate.as_str(), "it holds a block `CERTIFICATE`; expected is `PUBLIC KEY`"),
        (other_label.as_str(), "…`; expected is `PUBLIC KEY`"),
        (
            include_str!("../../tests/fixtures/rsa.pub"),
            "its algorithm is RSA; supported are ECDSA P-256 and Ed25519",
        ),
        (include_str!("../../tests/fixtures/p384.pub"), "its algorithm is ECDSA P-384; supported are"),
        (
            include_str!("../../tests/fixtures/p256-compressed.pub"),
            "or its point is compressed; `openssl pkey",
        ),
        (damaged_length.as_str(), "it is not a valid key of ECDSA P-256: it is damaged"),
        ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "its algorithm is another one"),
    ] {
        let error = VerifyingKey::from_pem(text).expect_err(expected).recorded("plugins");
        assert!(error.contains(expected), "{expected}\n{error}");
        assert!(error.len() < 500, "{error}");
    }
}

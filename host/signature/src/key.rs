//! Public keys, and the algorithms of keys.

use crate::key_error::KeyError;
use crate::pem::{self, PemBlock};
use gage_core::Digest;
use ring::digest::{SHA256, digest};
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey};

/// Label of a public key in PEM.
const PUBLIC_KEY_LABEL: &str = "PUBLIC KEY";
/// Length of the beginning of a key in DER that holds its algorithm, in bytes.
const MAX_ALGORITHM_OFFSET_BYTES: usize = 32;
/// First byte of a point that is not compressed.
const UNCOMPRESSED_POINT: u8 = 4;

/// Object identifiers in DER of algorithms that are not supported.
const OTHER_ALGORITHMS: [(&[u8], &str); 4] = [
    (&[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01], "RSA"),
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA P-384"),
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA P-521"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x71], "Ed448"),
];

/// Algorithm of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAlgorithm {
    /// ECDSA with the curve P-256 and SHA-256.
    EcdsaP256,
    /// Ed25519.
    Ed25519,
}

impl KeyAlgorithm {
    const ALL: [KeyAlgorithm; 2] = [KeyAlgorithm::EcdsaP256, KeyAlgorithm::Ed25519];

    /// Returns the name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            KeyAlgorithm::EcdsaP256 => "ECDSA P-256",
            KeyAlgorithm::Ed25519 => "Ed25519",
        }
    }

    /// Returns the beginning of a public key in DER (SubjectPublicKeyInfo, RFC 5280): everything before the bytes of the key.
    fn public_key_prefix(self) -> &'static [u8] {
        match self {
            KeyAlgorithm::EcdsaP256 => &[
                0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
                0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
            ],
            KeyAlgorithm::Ed25519 => {
                &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
            }
        }
    }

    /// Returns the algorithm identifier in DER.
    fn identifier(self) -> &'static [u8] {
        match self {
            KeyAlgorithm::EcdsaP256 => &[
                0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
                0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
            ],
            KeyAlgorithm::Ed25519 => &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70],
        }
    }

    /// Returns whether bytes have the form of a public key of this algorithm.
    fn has_form(self, key: &[u8]) -> bool {
        match self {
            KeyAlgorithm::EcdsaP256 => key.len() == 65 && key.first() == Some(&UNCOMPRESSED_POINT),
            KeyAlgorithm::Ed25519 => key.len() == 32,
        }
    }

    /// Returns the algorithm that a key in DER names.
    pub(crate) fn of_der(der: &[u8]) -> Result<KeyAlgorithm, KeyError> {
        let head = der.get(..MAX_ALGORITHM_OFFSET_BYTES).unwrap_or(der);
        let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
        if let Some(algorithm) = KeyAlgorithm::ALL.into_iter().find(|algorithm| has(algorithm.identifier())) {
            return Ok(algorithm);
        }
        let other = OTHER_ALGORITHMS.iter().find(|(identifier, _)| has(identifier));
        Err(KeyError::Algorithm { found: other.map_or("another one", |(_, name)| *name) })
    }
}

/// A public key of ECDSA P-256 or Ed25519.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    algorithm: KeyAlgorithm,
    /// The point of ECDSA, not compressed, or the key of Ed25519.
    key: Vec<u8>,
}

impl VerifyingKey {
    /// Reads a public key in PEM, as `openssl pkey -pubout` and cosign write it.
    ///
    /// # Errors
    /// If the text is not one public key of a supported algorithm.
    pub fn from_pem(text: &str) -> Result<VerifyingKey, KeyError> {
        let block = PemBlock::open(text)?;
        match block.label {
            PUBLIC_KEY_LABEL => {}
            label if label.ends_with("PRIVATE KEY") => return Err(KeyError::PrivateKey),
            _ => return Err(block.unexpected(PUBLIC_KEY_LABEL)),
        }
        let der = block.decode()?;
        let algorithm = KeyAlgorithm::of_der(&der)?;
        let key = der.strip_prefix(algorithm.public_key_prefix()).unwrap_or_default();
        if algorithm.has_form(key) {
            return Ok(VerifyingKey::new(algorithm, key));
        }
        let problem = match algorithm {
            KeyAlgorithm::EcdsaP256 => {
                "it is damaged, or its point is compressed; `openssl pkey -pubin -in KEY -pubout -ec_conv_form \
                 uncompressed -out NEW` writes the usual form"
            }
            KeyAlgorithm::Ed25519 => "it is damaged",
        };
        Err(KeyError::Invalid { algorithm: algorithm.name(), problem })
    }

    /// Creates a key from its bytes, which must have the form of the algorithm.
    pub(crate) fn new(algorithm: KeyAlgorithm, key: &[u8]) -> VerifyingKey {
        VerifyingKey { algorithm, key: key.to_owned() }
    }

    /// Returns the key in PEM.
    pub fn to_pem(&self) -> String {
        pem::encode(PUBLIC_KEY_LABEL, &self.to_der())
    }

    /// Returns the SHA-256 of the key in DER (SubjectPublicKeyInfo).
    pub fn fingerprint(&self) -> Digest {
        Digest::of_bytes(&self.to_der())
    }

    /// Returns the bytes of the fingerprint.
    pub(crate) fn fingerprint_bytes(&self) -> Vec<u8> {
        digest(&SHA256, &self.to_der()).as_ref().to_owned()
    }

    fn to_der(&self) -> Vec<u8> {
        [self.algorithm.public_key_prefix(), &self.key].concat()
    }

    /// Returns whether this key made a signature of a message.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self.algorithm {
            KeyAlgorithm::EcdsaP256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.key).verify(message, signature)
            }
            KeyAlgorithm::Ed25519 => UnparsedPublicKey::new(&ED25519, &self.key).verify(message, signature),
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests;

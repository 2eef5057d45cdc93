//! Private keys.

use crate::key::{KeyAlgorithm, VerifyingKey};
use crate::key_error::KeyError;
use crate::pem::PemBlock;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use std::fmt;

/// Label of a private key in PEM that is not encrypted.
const PRIVATE_KEY_LABEL: &str = "PRIVATE KEY";

/// A private key of ECDSA P-256 or Ed25519.
pub struct SigningKey {
    pair: KeyPair,
    verifying_key: VerifyingKey,
}

enum KeyPair {
    EcdsaP256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Reads a private key in PKCS#8 and PEM, as `openssl genpkey` writes it.
    ///
    /// # Errors
    /// If the text is not one private key of a supported algorithm, or is encrypted.
    pub fn from_pem(text: &str) -> Result<SigningKey, KeyError> {
        let block = PemBlock::open(text)?;
        match block.label {
            PRIVATE_KEY_LABEL => {}
            "EC PRIVATE KEY" | "EC PARAMETERS" => return Err(KeyError::Sec1),
            "ENCRYPTED PRIVATE KEY" => return Err(KeyError::Encrypted),
            "ENCRYPTED SIGSTORE PRIVATE KEY" | "ENCRYPTED COSIGN PRIVATE KEY" => {
                return Err(KeyError::CosignKey);
            }
            "PUBLIC KEY" => return Err(KeyError::PublicKey),
            _ => return Err(block.unexpected(PRIVATE_KEY_LABEL)),
        }
        let der = block.decode()?;
        let algorithm = KeyAlgorithm::of_der(&der)?;
        let invalid = |problem| KeyError::Invalid { algorithm: algorithm.name(), problem };
        let (pair, public) = match algorithm {
            KeyAlgorithm::EcdsaP256 => {
                let random = SystemRandom::new();
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random).map_err(
                    |_| invalid("it is damaged, or lacks the public key that `openssl genpkey` adds"),
                )?;
                let public = pair.public_key().as_ref().to_owned();
                (KeyPair::EcdsaP256(pair), public)
            }
            KeyAlgorithm::Ed25519 => {
                // Version 1 of PKCS#8, which OpenSSL writes, has no public key to check.
                let pair =
                    Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| invalid("it is damaged"))?;
                let public = pair.public_key().as_ref().to_owned();
                (KeyPair::Ed25519(pair), public)
            }
        };
        Ok(SigningKey { pair, verifying_key: VerifyingKey::new(algorithm, &public) })
    }

    /// Returns the public key.
    pub fn verifying_key(&self) -> VerifyingKey {
        self.verifying_key.clone()
    }

    /// Signs a message. The signature of ECDSA is in DER.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = match &self.pair {
            KeyPair::EcdsaP256(pair) => {
                pair.sign(&SystemRandom::new(), message).map_err(|_| KeyError::Randomness)?
            }
            KeyPair::Ed25519(pair) => pair.sign(message),
        };
        Ok(signature.as_ref().to_owned())
    }
}

impl fmt::Debug for SigningKey {
    /// Shows the public key only.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SigningKey").field(&self.verifying_key.fingerprint()).finish()
    }
}

#[cfg(test)]
mod tests;

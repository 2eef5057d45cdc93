//! Errors of keys.

/// Maximum size of a key file, in bytes.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// Reason why a key cannot be used. Its text follows the name of the key's file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is too long.
    #[error("it has {bytes} bytes; a key has at most {}", MAX_KEY_BYTES)]
    TooLarge {
        /// Length of the text.
        bytes: usize,
    },
    /// The text is not one block of PEM.
    #[error("it is not a key in PEM, as `openssl` writes it: {problem}")]
    Pem {
        /// The problem.
        problem: &'static str,
    },
    /// A public key is needed.
    #[error(
        "it is a private key; name its public key, which `openssl pkey -in KEY -pubout -out KEY.pub` writes"
    )]
    PrivateKey,
    /// A private key is needed.
    #[error("it is a public key; a signature needs the private key")]
    PublicKey,
    /// The private key has the form of SEC 1.
    #[error(
        "it has the older form `EC PRIVATE KEY`; `openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW` converts it to PKCS#8"
    )]
    Sec1,
    /// The private key is encrypted.
    #[error(
        "it is encrypted; `openssl pkey -in KEY -out NEW` asks for the password and writes it in plain form"
    )]
    Encrypted,
    /// The private key has the encrypted form of cosign.
    #[error(
        "it is an encrypted key of cosign, which no other program reads; sign with cosign, or create a key with `openssl \
         genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out KEY`"
    )]
    CosignKey,
    /// The block of PEM holds something else.
    #[error("it holds a block `{label}`; expected is `{expected}`")]
    Label {
        /// Label of the block.
        label: String,
        /// Label of a key that can be used.
        expected: &'static str,
    },
    /// The algorithm is not supported.
    #[error("its algorithm is {found}; supported are ECDSA P-256 and Ed25519")]
    Algorithm {
        /// Name of the algorithm.
        found: &'static str,
    },
    /// The content is not a valid key of its algorithm.
    #[error("it is not a valid key of {algorithm}: {problem}")]
    Invalid {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// The problem, and what to do.
        problem: &'static str,
    },
    /// The system gave no random numbers.
    #[error("nothing can be signed, because the system gives no random numbers")]
    Randomness,
}

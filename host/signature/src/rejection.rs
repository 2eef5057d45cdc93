//! Reasons why a signature is not accepted.

use gage_core::Digest;

/// Reason why one signature is not accepted. Its text follows the number of the signature.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Rejection {
    /// It is too large.
    #[error("it has {bytes} bytes; at most {max_bytes} are read")]
    TooLarge {
        /// Size of the signature.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// Its JSON is nested too deep.
    #[error("its {part} is nested deeper than {max_depth} levels")]
    Nested {
        /// The part of the signature.
        part: &'static str,
        /// The limit.
        max_depth: usize,
    },
    /// A part is not JSON, or lacks a member.
    #[error("its {part} is not that of {format}: {problem}")]
    Form {
        /// The part of the signature.
        part: &'static str,
        /// Name of the expected format.
        format: &'static str,
        /// The problem.
        problem: String,
    },
    /// A part has another type.
    #[error("its {part} is `{found}`; expected is `{expected}`")]
    Type {
        /// The part of the signature.
        part: &'static str,
        /// The type that it has.
        found: String,
        /// The type of signatures that can be accepted.
        expected: &'static str,
    },
    /// A part is not Base64.
    #[error("its {part} is not Base64")]
    Base64 {
        /// The part of the signature.
        part: &'static str,
    },
    /// It was made with a certificate.
    #[error(
        "it was made with a certificate (keyless signing), and identities are not checked here; check it with cosign, or ask \
         for a signature with a key"
    )]
    Keyless,
    /// It signs bytes, and has no statement.
    #[error(
        "it signs the bytes of a file without a statement about them, as `cosign sign-blob` does; sign with `gage-host plugin \
         sign`, or with `cosign attest-blob --type {expected}`"
    )]
    MessageSignature {
        /// The type of predicate that is expected.
        expected: &'static str,
    },
    /// Its envelope has no signature, or several.
    #[error("its envelope has {count} signatures; exactly one is allowed")]
    SignatureCount {
        /// The number of signatures.
        count: usize,
    },
    /// No accepted key made it.
    #[error("it was made with none of the accepted keys ({accepted})")]
    OtherKey {
        /// Fingerprints of the accepted keys.
        accepted: String,
    },
    /// It names a key that is not accepted.
    #[error("it was made with the key {named}, which is none of the accepted keys ({accepted})")]
    NamedKey {
        /// Fingerprint of the key that the signature names.
        named: Digest,
        /// Fingerprints of the accepted keys.
        accepted: String,
    },
    /// It names an accepted key, which did not make it.
    #[error("it does not match the key {named}, which it names: its content or its signature was changed")]
    Changed {
        /// Fingerprint of the key that the signature names.
        named: Digest,
    },
    /// Its statement is about too many things.
    #[error("its statement has {count} subjects; at most {max_count} are read")]
    SubjectCount {
        /// The number of subjects.
        count: usize,
        /// The limit.
        max_count: usize,
    },
    /// It is about something else.
    #[error("it is about {found}, and not about {expected}")]
    OtherSubject {
        /// What the signature is about.
        found: String,
        /// What it must be about.
        expected: String,
    },
}

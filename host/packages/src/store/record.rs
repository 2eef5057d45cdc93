//! Records of the packages in the cache.

use gage_core::{Digest, OciReference};
use gage_signature::Signature;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io;

/// Version of a record. Version 1 is the first.
const FORMAT: u32 = 1;

/// A package that was saved, and the digests of its blobs.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) reference: OciReference,
    pub(crate) component: Digest,
    pub(crate) manifest: Digest,
    /// Grows with each package of the repository that is saved.
    pub(crate) sequence: u64,
    pub(crate) signatures: Vec<RecordedSignature>,
}

/// A signature, whose bytes are in a blob. The order does not depend on the registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedSignature {
    /// A Sigstore bundle.
    Bundle(Digest),
    /// A signature in cosign's simple form.
    Simple { payload: Digest, signature: String },
}

/// A record, as it is written.
#[derive(Deserialize)]
struct Document {
    format: u32,
    reference: String,
    component: Digest,
    manifest: Digest,
    sequence: u64,
    signatures: Vec<RecordedSignature>,
}

impl Record {
    pub(super) fn parse(bytes: &[u8]) -> io::Result<Record> {
        let document: Document = serde_json::from_slice(bytes)?;
        let Document { format, reference, component, manifest, sequence, signatures } = document;
        if format != FORMAT {
            return Err(io::Error::other(format!("its format is {format}, and {FORMAT} is expected")));
        }
        let reference = reference.parse::<OciReference>().map_err(io::Error::other)?;
        Ok(Record { reference, component, manifest, sequence, signatures })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        json!({
            "format": FORMAT,
            "reference": self.reference.to_string(),
            "component": self.component,
            "manifest": self.manifest,
            "sequence": self.sequence,
            "signatures": self.signatures,
        })
        .to_string()
        .into_bytes()
    }

    /// Returns the name of the file. There is one for each reference and component.
    pub(super) fn file_name(&self) -> String {
        let key = format!("{} {}", self.reference, self.component);
        format!("{}.json", Digest::of_bytes(key.as_bytes()).hex())
    }

    /// Returns whether the package is one that a reference names. A digest names it under any tag of the
    /// repository.
    pub(super) fn matches(&self, wanted: &OciReference, sha256: Option<Digest>) -> bool {
        let has_digest = wanted.digest().is_some() || sha256.is_some();
        self.reference.name() == wanted.name()
            && wanted.digest().is_none_or(|digest| digest == self.manifest)
            && sha256.is_none_or(|digest| digest == self.component)
            && (has_digest || wanted.tag() == self.reference.tag())
    }
}

impl RecordedSignature {
    pub(super) fn of(signature: &Signature) -> RecordedSignature {
        match signature {
            Signature::Bundle(bytes) => RecordedSignature::Bundle(Digest::of_bytes(bytes)),
            Signature::Simple { payload, signature } => {
                RecordedSignature::Simple { payload: Digest::of_bytes(payload), signature: signature.clone() }
            }
        }
    }

    /// Returns the digest of its bytes.
    pub(super) fn blob(&self) -> Digest {
        match self {
            RecordedSignature::Bundle(digest) => *digest,
            RecordedSignature::Simple { payload, .. } => *payload,
        }
    }

    /// Returns the signature with its bytes.
    pub(super) fn with(self, bytes: Vec<u8>) -> Signature {
        match self {
            RecordedSignature::Bundle(_) => Signature::Bundle(bytes),
            RecordedSignature::Simple { signature, .. } => Signature::Simple { payload: bytes, signature },
        }
    }
}

/// Returns signatures without repetitions, in an order that does not depend on the registry.
pub(super) fn sorted(signatures: &[Signature]) -> Vec<Signature> {
    let mut sorted = signatures.to_vec();
    sorted.sort_by_cached_key(RecordedSignature::of);
    sorted.dedup();
    sorted
}

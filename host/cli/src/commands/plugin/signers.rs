//! Signers of a component: whose keys accept its signatures, and what the policy says of it.

use crate::terminal;
use gage_core::Digest;
use gage_packages::{PackageOrigin, Signer, Trust};
use gage_signature::{Signature, Subject};
use serde_json::{Value, json};
use std::slice;

/// Signatures of a component, as the keys of the policy see them.
pub(super) struct SignerFacts {
    /// Number of signatures, of anyone.
    pub(super) signatures: usize,
    /// Keys of the policy that made one of them, each once.
    pub(super) signers: Vec<Signer>,
    /// Reason for which the policy refuses the component, if it does.
    pub(super) refusal: Option<String>,
}

impl SignerFacts {
    /// Checks signatures with every key of the policy, and asks the policy about the component. The component counts as
    /// pinned: the caller has its digest.
    pub(super) fn of(
        trust: &Trust,
        origin: PackageOrigin<'_>,
        subject: &Subject,
        signatures: &[Signature],
    ) -> SignerFacts {
        let checked = trust.check(origin, subject, true, &|| signatures.to_vec());
        SignerFacts {
            signatures: signatures.len(),
            signers: signers_of(trust, subject, signatures),
            refusal: checked.err().map(|error| error.to_string()),
        }
    }

    /// Describes the signers in a line.
    pub(super) fn shown(&self) -> String {
        if self.signatures == 0 {
            return "not signed".to_owned();
        }
        if self.signers.is_empty() {
            let signatures = terminal::count(self.signatures, "signature");
            return format!("{signatures}, none by a key of the policy");
        }
        let shown = self.signers.iter().map(|signer| shown_key(&signer.key, signer.fingerprint));
        format!("signed by {}", shown.collect::<Vec<_>>().join(", "))
    }

    /// Returns the facts as members of an object.
    pub(super) fn to_json(&self) -> Value {
        let signers = self.signers.iter();
        let signers: Vec<Value> =
            signers.map(|signer| json!({"key": signer.key, "fingerprint": signer.fingerprint})).collect();
        json!({"signatures": self.signatures, "signers": signers, "refusal": self.refusal})
    }
}

/// Formats a key: its file name and its fingerprint.
pub(super) fn shown_key(name: &str, fingerprint: Digest) -> String {
    format!("{} ({fingerprint})", gage_core::shown_name(name))
}

/// Returns the keys of the policy that made one of the signatures.
pub(super) fn signers_of(trust: &Trust, subject: &Subject, signatures: &[Signature]) -> Vec<Signer> {
    let mut signers: Vec<Signer> = Vec::new();
    for trusted in trust.keys() {
        let fingerprint = trusted.key.fingerprint();
        let is_known = signers.iter().any(|signer| signer.fingerprint == fingerprint);
        if !is_known && gage_signature::verify(signatures, subject, slice::from_ref(&trusted.key)).is_ok() {
            signers.push(Signer { key: trusted.name.clone(), fingerprint });
        }
    }
    signers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_are_named_by_key_and_fingerprint() {
        let signer =
            |key: &str| Signer { key: key.to_owned(), fingerprint: Digest::of_bytes(key.as_bytes()) };
        let facts = |signatures, signers| SignerFacts { signatures, signers, refusal: None };
        let of_team = Digest::of_bytes(b"team.pub");
        for (facts, expected) in [
            (facts(0, vec![]), "not signed".to_owned()),
            (facts(1, vec![]), "1 signature, none by a key of the policy".to_owned()),
            (facts(2, vec![]), "2 signatures, none by a key of the policy".to_owned()),
            (facts(1, vec![signer("team.pub")]), format!("signed by team.pub ({of_team})")),
            (
                facts(3, vec![signer("team.pub"), signer("a\nb")]),
                format!("signed by team.pub ({of_team}), a\\nb ({})", Digest::of_bytes(b"a\nb")),
            ),
        ] {
            assert_eq!(facts.shown(), expected);
        }
    }
}

//! cosign's simple signing: a payload about the OCI manifest of a component.

use crate::json::{check_type, read};
use crate::rejection::Rejection;
use crate::signature::Subject;
use crate::statement::expected;
use gage_core::{Digest, shown_name};
use serde::Deserialize;
use serde_json::json;

/// Type of a payload.
const CLAIM_TYPE: &str = "cosign container image signature";

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    claim_type: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    manifest: String,
}

/// Returns the payload of a new signature, as JSON. `name` is the registry and the repository.
pub(crate) fn encode(name: &str, manifest: Digest) -> String {
    let payload = json!({
        "critical": {
            "identity": {"docker-reference": name},
            "image": {"docker-manifest-digest": manifest.to_string()},
            "type": CLAIM_TYPE,
        },
        "optional": null,
    });
    payload.to_string()
}

/// Checks that a verified payload is about the manifest of a component. The name of its repository is not compared, so that
/// components can be copied between registries with their signatures.
pub(crate) fn check(payload: &[u8], subject: &Subject) -> Result<(), Rejection> {
    let Payload { critical } = read(payload, "payload", "cosign's simple signing")?;
    check_type("payload type", &critical.claim_type, CLAIM_TYPE)?;
    match subject.manifest {
        Some(manifest) if critical.image.manifest == manifest.to_string() => Ok(()),
        _ => Err(Rejection::OtherSubject {
            found: format!("the manifest {}", shown_name(&critical.image.manifest)),
            expected: expected(subject),
        }),
    }
}

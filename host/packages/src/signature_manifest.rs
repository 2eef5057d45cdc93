//! OCI manifests that hold signatures of a package, in the two forms that cosign reads.

use crate::manifest::{Descriptor, MANIFEST_MEDIA_TYPE};
use gage_core::Digest;
use gage_signature::{BUNDLE_MEDIA_TYPE, SIGNATURE_ANNOTATION, SIMPLE_SIGNING_MEDIA_TYPE};
use serde_json::json;

/// Configuration of a manifest that needs none.
pub const EMPTY_CONFIG: &[u8] = b"{}";

/// Media type of [`EMPTY_CONFIG`].
pub const EMPTY_CONFIG_MEDIA_TYPE: &str = "application/vnd.oci.empty.v1+json";
const IMAGE_CONFIG_MEDIA_TYPE: &str = "application/vnd.oci.image.config.v1+json";

/// Returns the tag that lists what refers to a manifest, in registries that have no list of their own.
pub fn bundles_tag(manifest: Digest) -> String {
    format!("sha256-{}", manifest.hex())
}

/// Returns the tag of cosign's signatures of a manifest.
pub fn signatures_tag(manifest: Digest) -> String {
    format!("sha256-{}.sig", manifest.hex())
}

/// Returns the manifest whose signatures of cosign a tag names. The opposite of [`signatures_tag`].
pub(crate) fn signed_manifest(tag: &str) -> Option<Digest> {
    let digits = tag.strip_prefix("sha256-")?.strip_suffix(".sig")?;
    digits.parse::<Digest>().ok().filter(|digest| signatures_tag(*digest) == tag)
}

/// Returns whether a tag names signatures or similar documents about another manifest, rather than a package.
pub fn holds_signatures(tag: &str) -> bool {
    let digits = tag.strip_prefix("sha256-").unwrap_or_default();
    let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
    end == 64 && matches!(digits.as_bytes().get(end), None | Some(b'.'))
}

/// Writes the manifest of a Sigstore bundle about a manifest.
pub fn bundle_manifest(bundle: &[u8], subject: &Descriptor) -> Vec<u8> {
    let config = Descriptor::of_bytes(EMPTY_CONFIG_MEDIA_TYPE, EMPTY_CONFIG);
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_MEDIA_TYPE,
        "artifactType": BUNDLE_MEDIA_TYPE,
        "config": config,
        "layers": [Descriptor::of_bytes(BUNDLE_MEDIA_TYPE, bundle)],
        "subject": {"mediaType": subject.media_type, "digest": subject.digest, "size": subject.size},
    })
    .to_string()
    .into_bytes()
}

/// Describes a signature in cosign's simple form, which is a layer of a manifest.
pub fn simple_layer(payload: &[u8], signature: &str) -> Descriptor {
    let mut layer = Descriptor::of_bytes(SIMPLE_SIGNING_MEDIA_TYPE, payload);
    layer.annotations.insert(SIGNATURE_ANNOTATION.to_owned(), signature.to_owned());
    layer
}

/// Returns the signature that a layer holds in an annotation. `None` if it is a layer of another kind.
pub fn signature_text(layer: &Descriptor) -> Option<&str> {
    let signature = layer.annotations.get(SIGNATURE_ANNOTATION)?;
    (layer.media_type == SIMPLE_SIGNING_MEDIA_TYPE).then_some(signature)
}

/// Writes the manifest of cosign's simple signatures. Returns its configuration and the manifest.
pub fn simple_manifest(layers: &[Descriptor]) -> (Vec<u8>, Vec<u8>) {
    let digests: Vec<Digest> = layers.iter().map(|layer| layer.digest).collect();
    let config = json!({
        "architecture": "",
        "os": "",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": digests},
    })
    .to_string()
    .into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_MEDIA_TYPE,
        "config": Descriptor::of_bytes(IMAGE_CONFIG_MEDIA_TYPE, &config),
        "layers": layers,
    });
    (config, manifest.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::ImageManifest;

    #[test]
    fn manifests_of_signatures_come_back() {
        let subject = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, b"manifest");
        let bundle = ImageManifest::parse(&bundle_manifest(b"bundle", &subject)).unwrap();
        assert_eq!(bundle.subject, Some(subject));
        assert_eq!(bundle.artifact_type.as_deref(), Some(BUNDLE_MEDIA_TYPE));
        assert_eq!(bundle.layers[0].digest, Digest::of_bytes(b"bundle"));

        let (config, manifest) = simple_manifest(&[simple_layer(b"payload", "c2ln")]);
        let simple = ImageManifest::parse(&manifest).unwrap();
        assert_eq!(simple.config.digest, Digest::of_bytes(&config));
        assert_eq!(signature_text(&simple.layers[0]), Some("c2ln"));
        assert_eq!(signature_text(&bundle.layers[0]), None);
    }

    #[test]
    fn tags_of_signatures_are_known() {
        let digest = Digest::of_bytes(b"x");
        for (tag, expected) in [
            (bundles_tag(digest), true),
            (signatures_tag(digest), true),
            (format!("sha256-{}.att", digest.hex()), true),
            (format!("sha256-{}a", digest.hex()), false),
            ("sha256-12".to_owned(), false),
            ("0.1.0".to_owned(), false),
        ] {
            assert_eq!(holds_signatures(&tag), expected, "{tag}");
            let is_of_cosign = tag == signatures_tag(digest);
            assert_eq!(signed_manifest(&tag), is_of_cosign.then_some(digest), "{tag}");
        }
    }
}

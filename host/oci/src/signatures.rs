//! Pulls the signatures of a package.

use crate::connection::Request;
use crate::tags::next_page;
use crate::target::Target;
use crate::{OciClient, OciError, OciErrorKind};
use gage_core::Digest;
use gage_packages::{
    Descriptor, EMPTY_CONFIG_MEDIA_TYPE, ImageIndex, ImageManifest, MAX_MANIFEST_BYTES, bundles_tag,
    signature_text, signatures_tag,
};
use gage_signature::{BUNDLE_MEDIA_TYPE, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, Signature};
use reqwest::StatusCode;

const INDEX_MEDIA_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// Maximum number of referrers of a manifest that are read to find its signatures.
const MAX_REFERRERS: usize = 4 * MAX_SIGNATURES;

/// Maximum number of pages of a list of referrers.
const MAX_PAGES: usize = 16;

impl OciClient {
    /// Pulls the signatures of a manifest in both forms. One that cannot be used is left out with a warning:
    /// it cannot make the package trusted, and must not keep others from using the package.
    pub(crate) async fn signatures(
        &self,
        target: &Target<'_>,
        manifest: Digest,
    ) -> Result<Vec<Signature>, OciError> {
        let mut found = Vec::new();
        let mut referrers = self.referrers(target, manifest).await?;
        referrers.retain(may_be_bundle);
        if referrers.len() > MAX_REFERRERS {
            tracing::warn!(
                "{} has more than {MAX_REFERRERS} referrers; signatures among the others are not read",
                target.reference
            );
            referrers.truncate(MAX_REFERRERS);
        }
        for referrer in referrers {
            if is_full(target, &found) {
                return Ok(found);
            }
            found.extend(unless_unusable(self.bundle(target, &referrer).await)?.flatten());
        }
        let simple = self.manifest_of_tag(target, &signatures_tag(manifest)).await;
        let Some(Some(simple)) = unless_unusable(simple)? else { return Ok(found) };
        let Some(simple) = unless_unusable(parse(target, &simple))? else { return Ok(found) };
        for layer in &simple.layers {
            let Some(signature) = signature_text(layer) else { continue };
            if is_full(target, &found) {
                break;
            }
            let payload = self.blob(target, layer, MAX_SIGNATURE_BYTES, "signature").await;
            if let Some(payload) = unless_unusable(payload)? {
                found.push(Signature::Simple { payload, signature: signature.to_owned() });
            }
        }
        Ok(found)
    }

    /// Lists the manifests that are about a manifest: from the registry's list, or else from the tag that
    /// replaces it.
    async fn referrers(&self, target: &Target<'_>, manifest: Digest) -> Result<Vec<Descriptor>, OciError> {
        let mut url = target.url(&format!("referrers/{manifest}"))?;
        url.query_pairs_mut().append_pair("artifactType", BUNDLE_MEDIA_TYPE);
        let mut referrers = Vec::new();
        for _ in 0..MAX_PAGES {
            let request = Request::get(url.clone()).accept(INDEX_MEDIA_TYPE);
            let expected = [StatusCode::OK, StatusCode::NOT_FOUND];
            let response = self.connection.send(target, &request, &expected).await?;
            if response.status() == StatusCode::NOT_FOUND {
                break;
            }
            let next = next_page(target, response.url(), response.headers())?;
            let body =
                self.connection.read(target, response, MAX_MANIFEST_BYTES, "list of signatures").await?;
            referrers.extend(parse_index(target, &body)?.manifests);
            match next {
                Some(next) => url = next,
                None => return Ok(referrers),
            }
        }
        if !referrers.is_empty() {
            return Ok(referrers);
        }
        let tagged = unless_unusable(self.tagged_referrers(target, manifest).await)?;
        Ok(tagged.unwrap_or_default().manifests)
    }

    /// Reads the list of referrers in a tag. It is empty if there is no such tag.
    pub(crate) async fn tagged_referrers(
        &self,
        target: &Target<'_>,
        manifest: Digest,
    ) -> Result<ImageIndex, OciError> {
        match self.manifest_of_tag(target, &bundles_tag(manifest)).await? {
            Some(index) => parse_index(target, &index),
            None => Ok(ImageIndex::default()),
        }
    }

    /// Pulls the bundle of a referrer. Returns `None` if the referrer is something else.
    async fn bundle(
        &self,
        target: &Target<'_>,
        referrer: &Descriptor,
    ) -> Result<Option<Signature>, OciError> {
        let manifest = self.manifest_of_digest(target, referrer.digest).await?;
        let manifest = parse(target, &manifest)?;
        let Some(layer) = manifest.layers.iter().find(|layer| layer.media_type == BUNDLE_MEDIA_TYPE) else {
            return Ok(None);
        };
        Ok(Some(Signature::Bundle(self.blob(target, layer, MAX_SIGNATURE_BYTES, "signature").await?)))
    }
}

/// Returns whether a referrer may be a bundle. cosign 2 copies the type of the (empty) config into the list,
/// so only the manifest shows what such a referrer is.
fn may_be_bundle(referrer: &Descriptor) -> bool {
    matches!(referrer.artifact_type.as_deref(), None | Some(BUNDLE_MEDIA_TYPE | EMPTY_CONFIG_MEDIA_TYPE))
}

/// Returns whether there are as many signatures as allowed.
fn is_full(target: &Target<'_>, found: &[Signature]) -> bool {
    let is_full = found.len() >= MAX_SIGNATURES;
    if is_full {
        tracing::warn!(
            "{} has more than {MAX_SIGNATURES} signatures; the others are not read",
            target.reference
        );
    }
    is_full
}

/// Returns a signature, or `None` with a warning if the registry has one that cannot be used. Other errors
/// stay errors.
fn unless_unusable<T>(read: Result<T, OciError>) -> Result<Option<T>, OciError> {
    use OciErrorKind::{Digest, Invalid, NotFound, TooLarge};
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind, Digest | Invalid | NotFound | TooLarge) => {
            tracing::warn!("a signature is left out: {}", error.message);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn parse(target: &Target<'_>, manifest: &[u8]) -> Result<ImageManifest, OciError> {
    ImageManifest::parse(manifest)
        .map_err(|error| target.error(OciErrorKind::Invalid, format!("a signature: {error}")))
}

fn parse_index(target: &Target<'_>, index: &[u8]) -> Result<ImageIndex, OciError> {
    ImageIndex::parse(index)
        .map_err(|error| target.error(OciErrorKind::Invalid, format!("the list of signatures: {error}")))
}

//! Pulls the signatures of a package.

use crate::connection::Request;
use crate::tags::next_page;
use crate::target::Target;
use crate::{OciClient, OciError, OciErrorKind};
use gage_core::{Digest, OciReference};
use gage_packages::{
    Descriptor, EMPTY_CONFIG_MEDIA_TYPE, INDEX_MEDIA_TYPE, ImageIndex, ImageManifest, MAX_MANIFEST_BYTES,
    bundles_tag, signature_text, signatures_tag,
};
use gage_signature::{BUNDLE_MEDIA_TYPE, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, Signature};
use reqwest::StatusCode;
use tokio::time::timeout;

/// Maximum number of referrers of a manifest that are read to find its signatures.
const MAX_REFERRERS: usize = 4 * MAX_SIGNATURES;

/// Maximum number of pages of a list of referrers.
const MAX_PAGES: usize = 16;

/// Maximum number of signatures that are left out with a warning of their own.
const MAX_WARNINGS: usize = 3;

/// The signatures of a package that were read, and the number of those that were not.
struct FoundSignatures<'r> {
    reference: &'r OciReference,
    signatures: Vec<Signature>,
    left_out: usize,
}

impl FoundSignatures<'_> {
    /// Returns what was read, or `None` with a warning if it cannot be used.
    fn usable<T>(&mut self, read: Result<T, OciError>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                self.left_out += 1;
                if self.left_out <= MAX_WARNINGS {
                    tracing::warn!("a signature is left out: {}", error.message);
                }
                None
            }
        }
    }

    /// Returns whether there are as many signatures as allowed.
    fn is_full(&self) -> bool {
        let is_full = self.signatures.len() >= MAX_SIGNATURES;
        if is_full {
            tracing::warn!(
                "{} has more than {MAX_SIGNATURES} signatures; the others are not read",
                self.reference
            );
        }
        is_full
    }

    /// Returns the signatures. Those that were left out without a warning of their own are counted.
    fn finish(self) -> Vec<Signature> {
        let others = self.left_out.saturating_sub(MAX_WARNINGS);
        if others > 0 {
            tracing::warn!("{others} other signatures of {} are left out", self.reference);
        }
        self.signatures
    }
}

impl OciClient {
    /// Pulls the signatures of a manifest in both forms. One that cannot be used is left out with a warning:
    /// it cannot make the package trusted, and must not keep others from using the package. All of them
    /// together may take twice as long as the next bytes of a download.
    pub(crate) async fn signatures(&self, target: &Target<'_>, manifest: Digest) -> Vec<Signature> {
        let reference = target.reference;
        let mut found = FoundSignatures { reference, signatures: Vec::new(), left_out: 0 };
        let limit = self.connection.settings.stall.saturating_mul(2);
        if timeout(limit, self.read_signatures(target, manifest, &mut found)).await.is_err() {
            tracing::warn!(
                "{reference}: not all signatures were read within {limit:.1?}; the others are left out"
            );
        }
        found.finish()
    }

    async fn read_signatures(&self, target: &Target<'_>, manifest: Digest, found: &mut FoundSignatures<'_>) {
        let mut referrers = self.referrers(target, manifest, found).await;
        referrers.retain(may_be_bundle);
        if referrers.len() > MAX_REFERRERS {
            tracing::warn!(
                "{} has more than {MAX_REFERRERS} referrers; signatures among the others are not read",
                target.reference
            );
            referrers.truncate(MAX_REFERRERS);
        }
        for referrer in referrers {
            if found.is_full() {
                return;
            }
            let bundle = self.bundle(target, &referrer).await;
            let bundle = found.usable(bundle).flatten();
            found.signatures.extend(bundle);
        }
        let simple = self.manifest_of_tag(target, &signatures_tag(manifest)).await;
        let Some(simple) = found.usable(simple).flatten() else { return };
        let Some(simple) = found.usable(parse(target, &simple)) else { return };
        for layer in &simple.layers {
            let Some(signature) = signature_text(layer) else { continue };
            if found.is_full() {
                break;
            }
            let payload = self.blob(target, layer, MAX_SIGNATURE_BYTES, "signature").await;
            if let Some(payload) = found.usable(payload) {
                found.signatures.push(Signature::Simple { payload, signature: signature.to_owned() });
            }
        }
    }

    /// Lists the manifests that are about a manifest: from the registry's list, or else from the tag that
    /// replaces it.
    async fn referrers(
        &self,
        target: &Target<'_>,
        manifest: Digest,
        found: &mut FoundSignatures<'_>,
    ) -> Vec<Descriptor> {
        let mut referrers = Vec::new();
        match self.list_referrers(target, manifest, &mut referrers).await {
            Ok(true) => return referrers,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!("the registry's list of signatures cannot be read: {}", error.message);
            }
        }
        if !referrers.is_empty() {
            return referrers;
        }
        let tagged = self.tagged_referrers(target, manifest).await;
        found.usable(tagged).unwrap_or_default().manifests
    }

    /// Adds the manifests that the registry lists as about a manifest. Returns false if the registry has no
    /// list, or one with more pages than are read.
    async fn list_referrers(
        &self,
        target: &Target<'_>,
        manifest: Digest,
        referrers: &mut Vec<Descriptor>,
    ) -> Result<bool, OciError> {
        let mut url = target.url(&format!("referrers/{manifest}"))?;
        url.query_pairs_mut().append_pair("artifactType", BUNDLE_MEDIA_TYPE);
        for _ in 0..MAX_PAGES {
            let request = Request::get(url).accept(INDEX_MEDIA_TYPE);
            let expected = [StatusCode::OK, StatusCode::NOT_FOUND];
            let response = self.connection.send(target, &request, &expected).await?;
            if response.status() == StatusCode::NOT_FOUND {
                return Ok(false);
            }
            let next = next_page(target, response.url(), response.headers())?;
            let body =
                self.connection.read(target, response, MAX_MANIFEST_BYTES, "list of signatures").await?;
            referrers.extend(parse_index(target, &body)?.manifests);
            match next {
                Some(next) => url = next,
                None => return Ok(true),
            }
        }
        Ok(false)
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

pub(crate) fn parse(target: &Target<'_>, manifest: &[u8]) -> Result<ImageManifest, OciError> {
    ImageManifest::parse(manifest)
        .map_err(|error| target.error(OciErrorKind::Invalid, format!("a signature: {error}")))
}

fn parse_index(target: &Target<'_>, index: &[u8]) -> Result<ImageIndex, OciError> {
    ImageIndex::parse(index)
        .map_err(|error| target.error(OciErrorKind::Invalid, format!("the list of signatures: {error}")))
}

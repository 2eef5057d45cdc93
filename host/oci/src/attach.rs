//! Attaches signatures to packages.

use crate::signatures::parse;
use crate::target::Target;
use crate::{OciClient, OciError, OciErrorKind};
use gage_core::{Digest, OciReference};
use gage_packages::{
    Descriptor, EMPTY_CONFIG, INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE, bundle_manifest, bundles_tag,
    signatures_tag, simple_layer, simple_manifest,
};
use gage_signature::{BUNDLE_MEDIA_TYPE, MAX_SIGNATURES, Signature};

/// Header of a registry that lists what refers to a manifest.
const SUBJECT_HEADER: &str = "oci-subject";

impl OciClient {
    /// Attaches a signature to a manifest of the repository. A bundle becomes a referrer of the manifest: the
    /// registry lists it, or else a tag does. A signature in cosign's simple form is added to those of
    /// cosign's tag. Both tags are read and written again, so of two signatures that are attached at the same
    /// moment one may be lost.
    ///
    /// # Errors
    /// If the registry does not have the manifest, or refuses a part, or the manifest has too many
    /// signatures.
    pub async fn attach(
        &self,
        reference: &OciReference,
        manifest: Digest,
        signature: &Signature,
    ) -> Result<(), OciError> {
        let target = Target::push(reference)?;
        match signature {
            Signature::Bundle(bundle) => self.attach_bundle(&target, manifest, bundle).await,
            Signature::Simple { payload, signature } => {
                self.attach_simple(&target, manifest, payload, signature).await
            }
        }
    }

    async fn attach_bundle(
        &self,
        target: &Target<'_>,
        manifest: Digest,
        bundle: &[u8],
    ) -> Result<(), OciError> {
        let subject = self.manifest_of_digest(target, manifest).await?;
        let subject = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &subject);
        let referrer = bundle_manifest(bundle, &subject);
        let mut entry = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &referrer);
        entry.artifact_type = Some(BUNDLE_MEDIA_TYPE.to_owned());
        self.push_blob(target, EMPTY_CONFIG.to_vec()).await?;
        self.push_blob(target, bundle.to_vec()).await?;
        let name = entry.digest.to_string();
        let answer = self.push_manifest(target, &name, MANIFEST_MEDIA_TYPE, referrer).await?;
        if answer.contains_key(SUBJECT_HEADER) {
            return Ok(());
        }
        tracing::debug!("{}: the registry has no list of referrers; a tag is used", target.reference);
        let mut index = self.tagged_referrers(target, manifest).await?;
        if index.manifests.iter().any(|known| known.digest == entry.digest) {
            return Ok(());
        }
        check_room(target, index.manifests.len())?;
        index.manifests.push(entry);
        let tag = bundles_tag(manifest);
        self.push_manifest(target, &tag, INDEX_MEDIA_TYPE, index.to_bytes()).await.map(drop)
    }

    async fn attach_simple(
        &self,
        target: &Target<'_>,
        manifest: Digest,
        payload: &[u8],
        signature: &str,
    ) -> Result<(), OciError> {
        let tag = signatures_tag(manifest);
        let mut layers = match self.manifest_of_tag(target, &tag).await? {
            Some(known) => parse(target, &known)?.layers,
            None => Vec::new(),
        };
        let layer = simple_layer(payload, signature);
        if layers.contains(&layer) {
            return Ok(());
        }
        check_room(target, layers.len())?;
        layers.push(layer);
        let (config, manifest) = simple_manifest(&layers);
        self.push_blob(target, payload.to_vec()).await?;
        self.push_blob(target, config).await?;
        self.push_manifest(target, &tag, MANIFEST_MEDIA_TYPE, manifest).await.map(drop)
    }
}

fn check_room(target: &Target<'_>, signatures: usize) -> Result<(), OciError> {
    match signatures < MAX_SIGNATURES {
        true => Ok(()),
        false => {
            let reason = format!("it has {MAX_SIGNATURES} signatures, and more are not allowed");
            Err(target.error(OciErrorKind::TooLarge, reason).with_help("remove those that are not needed"))
        }
    }
}

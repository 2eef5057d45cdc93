//! The packages and the signatures that an archive lists.

use super::archive::LayoutArchive;
use super::{MAX_COMPONENT_SIZE, NAME_ANNOTATION, TAG_ANNOTATION};
use crate::StoreError;
use crate::manifest::{
    Descriptor, ImageIndex, ImageManifest, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES, PackageManifest,
};
use crate::signature_manifest::{holds_signatures, signature_text, signatures_tag};
use gage_core::foreign_file::FileLimit;
use gage_core::{Digest, OciReference, shown_name};
use gage_signature::{BUNDLE_MEDIA_TYPE, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, Signature};
use std::collections::{BTreeMap, BTreeSet};

const MANIFEST_LIMIT: FileLimit = FileLimit::new("a manifest", MAX_MANIFEST_BYTES as u64);
const CONFIG_LIMIT: FileLimit = FileLimit::new("a configuration", MAX_CONFIG_BYTES as u64);
const SIGNATURE_LIMIT: FileLimit = FileLimit::new("a signature", MAX_SIGNATURE_BYTES as u64);

/// Maximum number of manifests of an archive.
const MAX_MANIFESTS: usize = 10_000;

/// A package of an archive, whose component was checked but not kept.
pub(super) struct ListedPackage {
    pub(super) reference: OciReference,
    pub(super) manifest: Vec<u8>,
    pub(super) parts: PackageManifest,
    pub(super) config: Vec<u8>,
    pub(super) signatures: Vec<Signature>,
}

/// The manifests of an archive.
pub(super) struct LayoutContents {
    /// Packages by name, with the text of their manifests.
    packages: Vec<(OciReference, Vec<u8>)>,
    /// Manifests of bundles, by the manifest that they are about.
    bundles: BTreeMap<Digest, Vec<ImageManifest>>,
    /// Manifests of cosign's simple signatures, by their tags.
    simple: BTreeMap<String, Vec<ImageManifest>>,
}

impl LayoutContents {
    /// Reads all manifests of the index.
    pub(super) fn read(archive: &mut LayoutArchive) -> Result<LayoutContents, StoreError> {
        let index = archive.document("index.json", MANIFEST_LIMIT)?;
        let index =
            ImageIndex::parse(&index).map_err(|error| archive.refuse(format!("'index.json': {error}")))?;
        if index.manifests.len() > MAX_MANIFESTS {
            return Err(archive.refuse(format!("it has more than {MAX_MANIFESTS} manifests")));
        }
        let mut contents =
            LayoutContents { packages: Vec::new(), bundles: BTreeMap::new(), simple: BTreeMap::new() };
        for entry in &index.manifests {
            let bytes = archive.blob(entry, MANIFEST_LIMIT)?;
            contents.add(archive, entry, bytes)?;
        }
        match contents.packages.is_empty() {
            true => Err(archive.refuse("it has no package")),
            false => Ok(contents),
        }
    }

    fn add(&mut self, archive: &LayoutArchive, entry: &Descriptor, bytes: Vec<u8>) -> Result<(), StoreError> {
        let digest = entry.digest;
        let manifest = ImageManifest::parse(&bytes)
            .map_err(|error| archive.refuse(format!("the manifest {digest}: {error}")))?;
        if let Some(subject) = manifest.subject.as_ref().map(|subject| subject.digest) {
            // Other documents may be about a package, such as lists of materials.
            if manifest.artifact_type.as_deref() == Some(BUNDLE_MEDIA_TYPE) {
                self.bundles.entry(subject).or_default().push(manifest);
            }
            return Ok(());
        }
        if let Some(tag) = entry.annotations.get(TAG_ANNOTATION).filter(|tag| holds_signatures(tag)) {
            self.simple.entry(tag.clone()).or_default().push(manifest);
            return Ok(());
        }
        let name = entry.annotations.get(NAME_ANNOTATION).ok_or_else(|| {
            archive.refuse(format!("the manifest {digest} has no name in the annotation '{NAME_ANNOTATION}'"))
        })?;
        let reference = format!("oci://{name}").parse::<OciReference>().map_err(|_| {
            archive.refuse(format!("the name '{}' of a manifest is not valid", shown_name(name)))
        })?;
        self.packages.push((reference, bytes));
        Ok(())
    }

    /// Checks all parts of the packages. The components are checked one after the other, and not kept.
    pub(super) fn packages(self, archive: &mut LayoutArchive) -> Result<Vec<ListedPackage>, StoreError> {
        let LayoutContents { packages, bundles, simple } = self;
        let mut checked = BTreeSet::new();
        let mut listed = Vec::with_capacity(packages.len());
        for (reference, manifest) in packages {
            let digest = Digest::of_bytes(&manifest);
            if reference.digest().is_some_and(|expected| expected != digest) {
                return Err(archive.refuse(format!("the manifest {digest} is not that of '{reference}'")));
            }
            let parts = PackageManifest::parse(&manifest)
                .map_err(|error| archive.refuse(format!("the package {reference}: {error}")))?;
            let config = archive.blob(&parts.config, CONFIG_LIMIT)?;
            if checked.insert((parts.component.digest, parts.component.size)) {
                archive.blob(&parts.component, MAX_COMPONENT_SIZE)?;
            }
            let mut signatures = Vec::new();
            for manifest in bundles.get(&digest).into_iter().flatten() {
                for layer in manifest.layers.iter().filter(|layer| layer.media_type == BUNDLE_MEDIA_TYPE) {
                    check_number(archive, &reference, &signatures)?;
                    signatures.push(Signature::Bundle(archive.blob(layer, SIGNATURE_LIMIT)?));
                }
            }
            for manifest in simple.get(&signatures_tag(digest)).into_iter().flatten() {
                for layer in &manifest.layers {
                    let Some(signature) = signature_text(layer) else { continue };
                    check_number(archive, &reference, &signatures)?;
                    let payload = archive.blob(layer, SIGNATURE_LIMIT)?;
                    signatures.push(Signature::Simple { payload, signature: signature.to_owned() });
                }
            }
            listed.push(ListedPackage { reference, manifest, parts, config, signatures });
        }
        Ok(listed)
    }
}

fn check_number(
    archive: &LayoutArchive,
    reference: &OciReference,
    signatures: &[Signature],
) -> Result<(), StoreError> {
    match signatures.len() < MAX_SIGNATURES {
        true => Ok(()),
        false => {
            Err(archive.refuse(format!("the package {reference} has more than {MAX_SIGNATURES} signatures")))
        }
    }
}

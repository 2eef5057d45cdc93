//! The packages and the signatures that an archive lists.
//!
//! Each manifest is read once, however many names it has, and not kept. What is kept is bounded: names,
//! digests, and the texts of simple signatures.

use super::archive::{Blob, LayoutArchive};
use super::{LAYOUT_FILE, LAYOUT_VERSION, MAX_COMPONENT_SIZE, NAME_ANNOTATION, TAG_ANNOTATION};
use crate::StoreError;
use crate::manifest::{
    Descriptor, ImageIndex, ImageManifest, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES, ManifestError,
    PackageManifest,
};
use crate::package::PackageSummary;
use crate::signature_manifest::{holds_signatures, signature_text, signed_manifest};
use crate::store::{Record, RecordedSignature};
use gage_core::foreign_file::FileLimit;
use gage_core::{Digest, OciReference, shown_name};
use gage_signature::{BUNDLE_MEDIA_TYPE, MAX_SIGNATURE_BYTES, MAX_SIGNATURES};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const VERSION_LIMIT: FileLimit = FileLimit::new("a layout version", 4 << 10);
const MANIFEST_LIMIT: FileLimit = FileLimit::new("a manifest", MAX_MANIFEST_BYTES as u64);
const CONFIG_LIMIT: FileLimit = FileLimit::new("a configuration", MAX_CONFIG_BYTES as u64);
const SIGNATURE_LIMIT: FileLimit = FileLimit::new("a signature", MAX_SIGNATURE_BYTES as u64);

/// Maximum number of manifests in the index of an archive.
const MAX_MANIFESTS: usize = 10_000;

/// Maximum number of packages of an archive. A manifest with several names counts as several packages.
pub(crate) const MAX_PACKAGES: usize = 256;

/// Maximum size of the records of all packages of an archive.
const MAX_RECORDS_MIB: u64 = 16;

/// Size of a signature in a record, without its text: a digest and the names of keys.
const SIGNATURE_OVERHEAD_BYTES: u64 = 128;

/// Signatures, with the blobs of their bytes.
type Signatures = BTreeMap<RecordedSignature, Blob>;

/// The file `oci-layout`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutVersion {
    image_layout_version: String,
}

/// A package of an archive, by its blobs.
pub(super) struct ListedPackage {
    pub(super) reference: OciReference,
    manifest: Blob,
    config: Blob,
    component: Blob,
}

/// The packages of an archive, and the signatures of manifests.
#[derive(Default)]
pub(super) struct LayoutContents {
    /// Packages by their places in the index. The last one of a name counts.
    packages: BTreeMap<usize, ListedPackage>,
    /// Signatures, by the manifest that they are about.
    signatures: BTreeMap<Digest, Signatures>,
    /// Size of the signatures that are held, and of those in the records to be written.
    pub(super) record_bytes: u64,
}

impl LayoutContents {
    /// Reads the version of the layout, the index, and each of its manifests.
    pub(super) fn read(archive: &mut LayoutArchive) -> Result<LayoutContents, StoreError> {
        check_version(archive)?;
        let mut contents = LayoutContents::default();
        for (blob, entries) in read_index(archive)? {
            contents.add_manifest(archive, blob, entries)?;
        }
        if contents.packages.is_empty() {
            return Err(archive.refuse("it has no package"));
        }
        let of_packages = contents.packages.values().map(|package| {
            let signatures = contents.signatures_of(package);
            signatures.map(|(signature, _)| size_in_record(signature)).fold(0, u64::saturating_add)
        });
        let of_packages = of_packages.fold(0, u64::saturating_add);
        contents.record_bytes = contents.record_bytes.saturating_add(of_packages);
        contents.check_record_bytes(archive)?;
        Ok(contents)
    }

    /// Adds a manifest that the index has at some places.
    fn add_manifest(
        &mut self,
        archive: &mut LayoutArchive,
        blob: Blob,
        entries: Vec<(usize, Descriptor)>,
    ) -> Result<(), StoreError> {
        let bytes = archive.blob(blob, MANIFEST_LIMIT)?;
        let manifest = ImageManifest::parse(&bytes)
            .map_err(|error| archive.refuse(format!("the manifest {}: {error}", blob.digest)))?;
        if let Some(subject) = &manifest.subject {
            // Other documents may be about a package, such as lists of materials.
            return match manifest.artifact_type.as_deref() {
                Some(BUNDLE_MEDIA_TYPE) => {
                    self.add_signatures(archive, subject.digest, &bundles_in(&manifest))
                }
                _ => Ok(()),
            };
        }
        let signatures = simple_signatures_in(&manifest);
        let parts = PackageManifest::try_from(manifest);
        for (place, entry) in entries {
            if let Some(tag) = entry.annotations.get(TAG_ANNOTATION).filter(|tag| holds_signatures(tag)) {
                if let Some(subject) = signed_manifest(tag) {
                    self.add_signatures(archive, subject, &signatures)?;
                }
                continue;
            }
            let package = ListedPackage::new(archive, &entry, &parts)?;
            self.packages.insert(place, package);
            if self.packages.len() > MAX_PACKAGES {
                return Err(archive.refuse(format!("it has more than {MAX_PACKAGES} packages")));
            }
        }
        Ok(())
    }

    fn add_signatures(
        &mut self,
        archive: &LayoutArchive,
        subject: Digest,
        signatures: &Signatures,
    ) -> Result<(), StoreError> {
        let known = self.signatures.entry(subject).or_default();
        for (signature, blob) in signatures {
            if known.contains_key(signature) {
                continue;
            }
            if known.len() >= MAX_SIGNATURES {
                return Err(archive
                    .refuse(format!("the manifest {subject} has more than {MAX_SIGNATURES} signatures")));
            }
            self.record_bytes = self.record_bytes.saturating_add(size_in_record(signature));
            known.insert(signature.clone(), *blob);
        }
        self.check_record_bytes(archive)
    }

    fn check_record_bytes(&self, archive: &LayoutArchive) -> Result<(), StoreError> {
        match self.record_bytes > MAX_RECORDS_MIB << 20 {
            true => Err(archive
                .refuse(format!("the signatures of its packages take more than {MAX_RECORDS_MIB} MiB"))),
            false => Ok(()),
        }
    }

    /// Checks all parts of the packages. They are read piece by piece, and not kept.
    pub(super) fn check(&self, archive: &mut LayoutArchive) -> Result<(), StoreError> {
        for package in self.packages.values() {
            archive.check(package.config, CONFIG_LIMIT)?;
            archive.check(package.component, MAX_COMPONENT_SIZE)?;
            for (signature, blob) in self.signatures_of(package) {
                archive.check(*blob, SIGNATURE_LIMIT)?;
                if blob.size.saturating_add(text_bytes(signature)) > MAX_SIGNATURE_BYTES as u64 {
                    return Err(archive.refuse(format!(
                        "a signature of the package {} has more than {MAX_SIGNATURE_BYTES} bytes",
                        package.reference
                    )));
                }
            }
        }
        Ok(())
    }

    /// Returns the packages, in the order of the index.
    pub(super) fn packages(&self) -> impl Iterator<Item = &ListedPackage> {
        self.packages.values()
    }

    /// Returns the blobs of all packages, each once.
    pub(super) fn blobs(&self) -> BTreeSet<Blob> {
        let of_package = |package: &ListedPackage| [package.manifest, package.config, package.component];
        let of_signatures = |package| self.signatures_of(package).map(|(_, blob)| *blob);
        let signatures = self.packages.values().flat_map(of_signatures);
        self.packages.values().flat_map(of_package).chain(signatures).collect()
    }

    /// Returns the record of a package.
    pub(super) fn record(&self, package: &ListedPackage, sequence: u64) -> Record {
        Record {
            reference: package.reference.clone(),
            component: package.component.digest,
            manifest: package.manifest.digest,
            sequence,
            signatures: self.signatures_of(package).map(|(signature, _)| signature.clone()).collect(),
        }
    }

    /// Describes a package for people.
    pub(super) fn summary(&self, package: &ListedPackage) -> PackageSummary {
        PackageSummary {
            reference: package.reference.clone(),
            component: package.component.digest,
            manifest: package.manifest.digest,
            signatures: self.signatures_of(package).count(),
        }
    }

    fn signatures_of<'c>(
        &'c self,
        package: &ListedPackage,
    ) -> impl Iterator<Item = (&'c RecordedSignature, &'c Blob)> + use<'c> {
        self.signatures.get(&package.manifest.digest).into_iter().flatten()
    }
}

impl ListedPackage {
    /// Returns the package that an entry of the index names. `parts` are those of its manifest.
    fn new(
        archive: &LayoutArchive,
        entry: &Descriptor,
        parts: &Result<PackageManifest, ManifestError>,
    ) -> Result<ListedPackage, StoreError> {
        let digest = entry.digest;
        let name = entry.annotations.get(NAME_ANNOTATION).ok_or_else(|| {
            archive.refuse(format!("the manifest {digest} has no name in the annotation '{NAME_ANNOTATION}'"))
        })?;
        let reference = format!("oci://{name}").parse::<OciReference>().map_err(|_| {
            archive.refuse(format!("the name '{}' of a manifest is not valid", shown_name(name)))
        })?;
        if reference.digest().is_some_and(|expected| expected != digest) {
            return Err(archive.refuse(format!("the manifest {digest} is not that of '{reference}'")));
        }
        match parts {
            Ok(parts) => Ok(ListedPackage {
                reference,
                manifest: Blob::of(entry),
                config: Blob::of(&parts.config),
                component: Blob::of(&parts.component),
            }),
            Err(error) => Err(archive.refuse(format!("the package {reference}: {error}"))),
        }
    }
}

/// Checks the version of the layout.
fn check_version(archive: &mut LayoutArchive) -> Result<(), StoreError> {
    let bytes = archive.document(LAYOUT_FILE, VERSION_LIMIT)?;
    let found: LayoutVersion = serde_json::from_slice(&bytes).map_err(|error| {
        archive.refuse(format!("'oci-layout' cannot be read: {}", shown_name(&error.to_string())))
    })?;
    match found.image_layout_version.as_str() {
        LAYOUT_VERSION => Ok(()),
        other => Err(archive.refuse(format!(
            "'oci-layout': its imageLayoutVersion is '{}', and '{LAYOUT_VERSION}' is expected",
            shown_name(other)
        ))),
    }
}

/// Reads the index: the places and the entries of each manifest.
fn read_index(archive: &mut LayoutArchive) -> Result<BTreeMap<Blob, Vec<(usize, Descriptor)>>, StoreError> {
    let bytes = archive.document("index.json", MANIFEST_LIMIT)?;
    let index = ImageIndex::parse(&bytes).map_err(|error| match error {
        ManifestError::Syntax(reason) => archive.refuse(format!("'index.json' cannot be read: {reason}")),
        error => archive.refuse(format!("'index.json': {error}")),
    })?;
    if index.manifests.len() > MAX_MANIFESTS {
        return Err(archive.refuse(format!("it has more than {MAX_MANIFESTS} manifests")));
    }
    let mut manifests: BTreeMap<Blob, Vec<(usize, Descriptor)>> = BTreeMap::new();
    for (place, entry) in index.manifests.into_iter().enumerate() {
        manifests.entry(Blob::of(&entry)).or_default().push((place, entry));
    }
    Ok(manifests)
}

/// Returns the bundles that a manifest holds.
fn bundles_in(manifest: &ImageManifest) -> Signatures {
    let layers = manifest.layers.iter().filter(|layer| layer.media_type == BUNDLE_MEDIA_TYPE);
    layers.map(|layer| (RecordedSignature::Bundle(layer.digest), Blob::of(layer))).collect()
}

/// Returns the simple signatures that a manifest holds.
fn simple_signatures_in(manifest: &ImageManifest) -> Signatures {
    let signed = |layer: &Descriptor| {
        let signature = signature_text(layer)?.to_owned();
        Some((RecordedSignature::Simple { payload: layer.digest, signature }, Blob::of(layer)))
    };
    manifest.layers.iter().filter_map(signed).collect()
}

fn size_in_record(signature: &RecordedSignature) -> u64 {
    SIGNATURE_OVERHEAD_BYTES.saturating_add(text_bytes(signature))
}

fn text_bytes(signature: &RecordedSignature) -> u64 {
    match signature {
        RecordedSignature::Bundle(_) => 0,
        RecordedSignature::Simple { signature, .. } => signature.len() as u64,
    }
}

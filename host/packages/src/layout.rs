//! Packages in one file: an OCI image layout in a tar archive, for machines without a network.
//!
//! ```text
//! oci-layout                 version of the layout
//! index.json                 the manifests of packages and of signatures, with their names
//! blobs/sha256/<digest>      manifests, configurations, components, signatures
//! ```
//!
//! The same packages give the same bytes.

mod archive;
mod contents;

#[cfg(test)]
mod tests;

use crate::manifest::{Descriptor, ImageIndex, MANIFEST_MEDIA_TYPE};
use crate::package::{PackageSummary, StoredPackage};
use crate::signature_manifest::{
    EMPTY_CONFIG, bundle_manifest, signatures_tag, simple_layer, simple_manifest,
};
use crate::{PackageStore, StoreError};
use archive::LayoutArchive;
use contents::LayoutContents;
pub(crate) use contents::MAX_PACKAGES;
use gage_core::foreign_file::FileLimit;
use gage_core::{Digest, OciReference};
use gage_signature::{BUNDLE_MEDIA_TYPE, Signature};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Annotation of a manifest in an index: its full name, without a scheme.
const NAME_ANNOTATION: &str = "io.containerd.image.name";

/// Annotation of a manifest in an index: its tag.
const TAG_ANNOTATION: &str = "org.opencontainers.image.ref.name";

/// Maximum size of a component, which is the most that a suite can allow.
const MAX_COMPONENT_SIZE: FileLimit = FileLimit::new("a component", 1 << 30);

/// File with the version of the layout.
const LAYOUT_FILE: &str = "oci-layout";

/// Version of the layout.
const LAYOUT_VERSION: &str = "1.0.0";

/// What is written into an archive.
#[derive(Default)]
struct Export {
    index: Vec<Descriptor>,
    /// Blobs by digest. Those without bytes are read from the cache when they are written.
    blobs: BTreeMap<Digest, Option<Vec<u8>>>,
}

impl PackageStore {
    /// Returns whether a file is an archive of packages.
    ///
    /// # Errors
    /// If the file does not exist or cannot be found.
    pub fn is_archive(path: &Path) -> io::Result<bool> {
        std::fs::symlink_metadata(path)?;
        Ok(LayoutArchive::open(path).is_ok_and(|archive| archive.has_file(LAYOUT_FILE)))
    }

    /// Writes packages with their signatures into an archive. An existing file is replaced.
    ///
    /// # Errors
    /// If there are more packages than an archive may have, if one is not in the cache, or is damaged, or the
    /// file cannot be written.
    pub fn export(&self, packages: &[StoredPackage], target: &Path) -> Result<(), StoreError> {
        let names: BTreeSet<_> =
            packages.iter().map(|package| (&package.reference, package.manifest)).collect();
        if names.len() > MAX_PACKAGES {
            return Err(StoreError::TooManyPackages { count: names.len(), max: MAX_PACKAGES });
        }
        let mut export = Export::default();
        for package in packages {
            let documents = self.documents(package)?;
            let (manifest, config) = documents.ok_or_else(|| StoreError::missing(&package.reference))?;
            export.add(package, manifest, config);
        }
        // Two packages may have the same signatures.
        export.index.sort_by_cached_key(|entry| (entry.digest, entry.annotations.clone()));
        export.index.dedup();
        let fail = StoreError::file("write", target);
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // The usual permissions of new files; the system applies the user's umask.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = match builder.prefix(".gage-").suffix(".tmp").tempfile_in(folder) {
            Ok(file) => file,
            Err(error) => return Err(fail(error)),
        };
        self.write(export, packages, &file, target)?;
        let written = file.as_file().sync_all();
        written.and_then(|()| file.persist(target).map(drop).map_err(|error| error.error)).map_err(fail)
    }

    fn write(
        &self,
        export: Export,
        packages: &[StoredPackage],
        file: &tempfile::NamedTempFile,
        target: &Path,
    ) -> Result<(), StoreError> {
        let fail = || StoreError::file("write", target);
        let mut archive = tar::Builder::new(BufWriter::new(file.as_file()));
        let version = serde_json::json!({"imageLayoutVersion": LAYOUT_VERSION}).to_string();
        append(&mut archive, LAYOUT_FILE, version.as_bytes()).map_err(fail())?;
        let index = ImageIndex { manifests: export.index }.to_bytes();
        append(&mut archive, "index.json", &index).map_err(fail())?;
        for (digest, bytes) in export.blobs {
            let bytes = match bytes {
                Some(bytes) => bytes,
                None => self.read_blob(digest, MAX_COMPONENT_SIZE)?.ok_or_else(|| {
                    let of_package = packages.iter().find(|package| package.component == digest);
                    match of_package {
                        Some(package) => StoreError::missing(&package.reference),
                        None => fail()(io::Error::from(io::ErrorKind::NotFound)),
                    }
                })?,
            };
            append(&mut archive, &format!("blobs/sha256/{}", digest.hex()), &bytes).map_err(fail())?;
        }
        archive.into_inner().and_then(|mut buffered| buffered.flush()).map_err(fail())
    }

    /// Reads the packages of an archive into the cache. Everything is checked before the first blob is saved,
    /// and a blob that several packages share is read once.
    ///
    /// # Errors
    /// If the file is not such an archive, if a part of a package is missing, damaged or too large, if there
    /// are too many packages or signatures, or if the cache cannot be written.
    pub fn import(&self, source: &Path) -> Result<Vec<PackageSummary>, StoreError> {
        let mut archive = LayoutArchive::open(source)?;
        let contents = LayoutContents::read(&mut archive)?;
        contents.check(&mut archive)?;
        for blob in contents.blobs() {
            self.copy_blob(blob.digest, archive.content(&blob.name(), FileLimit::NONE)?)?;
        }
        let mut sequences: BTreeMap<String, u64> = BTreeMap::new();
        for package in contents.packages() {
            let repository = package.reference.name();
            let sequence = match sequences.get(&repository) {
                Some(last) => last.saturating_add(1),
                None => self.next_sequence(&package.reference)?,
            };
            self.write_record(&contents.record(package, sequence))?;
            sequences.insert(repository, sequence);
        }
        tracing::debug!(bytes = archive.read_bytes, "imported packages");
        Ok(contents.packages().map(|package| contents.summary(package)).collect())
    }
}

impl Export {
    fn add(&mut self, package: &StoredPackage, manifest: Vec<u8>, config: Vec<u8>) {
        let described = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &manifest);
        for signature in &package.signatures {
            if let Signature::Bundle(bundle) = signature {
                let referrer = bundle_manifest(bundle, &described);
                let mut entry = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &referrer);
                entry.artifact_type = Some(BUNDLE_MEDIA_TYPE.to_owned());
                self.index.push(entry);
                [referrer, bundle.clone(), EMPTY_CONFIG.to_vec()]
                    .into_iter()
                    .for_each(|blob| self.add_blob(blob));
            }
        }
        let simple = package.signatures.iter().filter_map(|signature| match signature {
            Signature::Simple { payload, signature } => Some((payload, signature)),
            Signature::Bundle(_) => None,
        });
        let layers: Vec<Descriptor> = simple
            .map(|(payload, signature)| {
                self.add_blob(payload.clone());
                simple_layer(payload, signature)
            })
            .collect();
        if !layers.is_empty() {
            let (config, signatures) = simple_manifest(&layers);
            let tag = signatures_tag(described.digest);
            self.add_named(&signatures, &package.reference.with_tag(&tag));
            self.add_blob(config);
            self.add_blob(signatures);
        }
        self.blobs.insert(package.component, None);
        self.add_named(&manifest, &package.reference);
        self.add_blob(config);
        self.add_blob(manifest);
    }

    fn add_named(&mut self, manifest: &[u8], reference: &OciReference) {
        let mut entry = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, manifest);
        let name = reference.to_string();
        let name = name.strip_prefix("oci://").unwrap_or(&name).to_owned();
        entry.annotations.insert(NAME_ANNOTATION.to_owned(), name);
        if let Some(tag) = reference.tag() {
            entry.annotations.insert(TAG_ANNOTATION.to_owned(), tag.to_owned());
        }
        self.index.push(entry);
    }

    fn add_blob(&mut self, bytes: Vec<u8>) {
        self.blobs.insert(Digest::of_bytes(&bytes), Some(bytes));
    }
}

/// Appends a file whose header depends on nothing but its name and its size.
fn append(archive: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    archive.append_data(&mut header, name, bytes)
}

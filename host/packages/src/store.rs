//! The cache of packages.
//!
//! ```text
//! <cache>/plugins/blobs/sha256/<digest>                 components, manifests, configurations and signatures
//! <cache>/plugins/references/<repository>/<record>.json  a package of a repository, and the digests of its blobs
//! ```
//!
//! The names in `references` are digests. Each file is written whole, and a record after its blobs, so
//! several processes may save the same packages. A blob is checked whenever it is read: a damaged one counts
//! as missing, and is fetched again. The folders are accessible only to the current user.

mod files;
mod record;

#[cfg(test)]
mod tests;

use crate::StoreError;
use crate::manifest::{MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES, PackageManifest};
use crate::package::{NewPackage, StoredPackage};
use files::{copy_whole, make_folder, write_whole};
use gage_core::foreign_file::{self, FileLimit, FileRefusal};
use gage_core::{Digest, OciReference};
use gage_signature::{MAX_SIGNATURE_BYTES, Signature};
pub(crate) use record::{Record, RecordedSignature};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Maximum size of a record, whose signatures are bounded.
const MAX_RECORD_SIZE: FileLimit = FileLimit::new("a record of a package", 128 << 20);

const MANIFEST_LIMIT: FileLimit = FileLimit::new("a manifest", MAX_MANIFEST_BYTES as u64);
const CONFIG_LIMIT: FileLimit = FileLimit::new("a configuration", MAX_CONFIG_BYTES as u64);
const SIGNATURE_LIMIT: FileLimit = FileLimit::new("a signature", MAX_SIGNATURE_BYTES as u64);

/// Packages of registries in the cache folder.
#[derive(Clone, Debug)]
pub struct PackageStore {
    folder: PathBuf,
}

impl PackageStore {
    /// Names the folder of the packages, `<cache>/plugins`, without creating it.
    pub fn new(folder: PathBuf) -> PackageStore {
        PackageStore { folder }
    }

    /// Returns the stored package of a reference. With `sha256`, it is the one with that component, whatever
    /// its tag was. Otherwise it is the one that was saved last under the tag. The bytes of all its parts are
    /// checked.
    ///
    /// # Errors
    /// If the cache cannot be read. A missing or damaged package is `None`.
    pub fn find(
        &self,
        reference: &OciReference,
        sha256: Option<Digest>,
    ) -> Result<Option<StoredPackage>, StoreError> {
        let all = self.records(reference)?;
        let mut records: Vec<Record> =
            all.iter().filter(|record| record.matches(reference, sha256)).cloned().collect();
        records.sort_by_key(|record| (record.reference.tag() == reference.tag(), record.sequence));
        for mut record in records.into_iter().rev() {
            // Signatures belong to the manifest, by whichever name it was fetched with them.
            let of_manifest = all.iter().filter(|other| other.manifest == record.manifest);
            record.signatures = of_manifest.flat_map(|other| other.signatures.clone()).collect();
            record.signatures.sort();
            record.signatures.dedup();
            if let Some(package) = self.load(reference, record)? {
                return Ok(Some(package));
            }
        }
        Ok(None)
    }

    /// Saves a package. Nothing is saved if its parts do not belong together.
    ///
    /// # Errors
    /// If the package is not valid, or the cache cannot be written.
    pub fn save(&self, package: &NewPackage) -> Result<StoredPackage, StoreError> {
        let manifest = package.check()?;
        let signatures = record::sorted(&package.signatures);
        for bytes in [&package.manifest, &package.config, &package.component] {
            self.write_blob(bytes)?;
        }
        for signature in &signatures {
            match signature {
                Signature::Bundle(bytes) | Signature::Simple { payload: bytes, .. } => {
                    self.write_blob(bytes)?
                }
            }
        }
        let manifest_digest = Digest::of_bytes(&package.manifest);
        let record = Record {
            reference: package.reference.clone(),
            component: manifest.component.digest,
            manifest: manifest_digest,
            sequence: self.next_sequence(&package.reference)?,
            signatures: signatures.iter().map(RecordedSignature::of).collect(),
        };
        self.write_record(&record)?;
        Ok(StoredPackage {
            reference: package.reference.clone(),
            file: self.blob_path(manifest.component.digest),
            component: manifest.component.digest,
            manifest: manifest_digest,
            annotations: manifest.annotations,
            signatures,
        })
    }

    /// Returns the sequence of the next package of a repository.
    pub(crate) fn next_sequence(&self, reference: &OciReference) -> Result<u64, StoreError> {
        let known = self.records(reference)?;
        Ok(known.iter().map(|record| record.sequence).max().unwrap_or(0).saturating_add(1))
    }

    /// Writes the record of a package whose blobs are in the store.
    pub(crate) fn write_record(&self, record: &Record) -> Result<(), StoreError> {
        let folder = self.records_folder(&record.reference);
        self.make_folders(&folder)?;
        let path = folder.join(record.file_name());
        write_whole(&path, &record.to_bytes()).map_err(StoreError::file("write", &path))
    }

    /// Writes a blob that is read piece by piece, unless the store has it.
    pub(crate) fn copy_blob(&self, digest: Digest, content: impl Read) -> Result<(), StoreError> {
        self.add_blob(digest, |path| copy_whole(path, content, digest))
    }

    /// Returns the manifest and the configuration of a stored package. `None` if one is missing or damaged.
    pub(crate) fn documents(
        &self,
        package: &StoredPackage,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreError> {
        let Some(manifest) = self.read_blob(package.manifest, MANIFEST_LIMIT)? else { return Ok(None) };
        let Ok(parsed) = PackageManifest::parse(&manifest) else { return Ok(None) };
        let config = self.read_blob(parsed.config.digest, CONFIG_LIMIT)?;
        Ok(config.map(|config| (manifest, config)))
    }

    /// Reads a blob. `None` if it is missing or damaged.
    pub(crate) fn read_blob(&self, digest: Digest, limit: FileLimit) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = foreign_file::read_below(&self.folder, blob_name(digest), limit);
        let bytes = self.unless_damaged(digest, bytes)?;
        Ok(bytes.filter(|bytes| self.is_intact(digest, Digest::of_bytes(bytes))))
    }

    fn load(&self, wanted: &OciReference, record: Record) -> Result<Option<StoredPackage>, StoreError> {
        let Some(manifest) = self.read_blob(record.manifest, MANIFEST_LIMIT)? else { return Ok(None) };
        let Ok(manifest) = PackageManifest::parse(&manifest) else { return Ok(None) };
        let found = self.found_digest(record.component)?;
        let is_whole = found.is_some_and(|found| self.is_intact(record.component, found));
        if manifest.component.digest != record.component || !is_whole {
            return Ok(None);
        }
        let mut signatures = Vec::with_capacity(record.signatures.len());
        for signature in record.signatures {
            let Some(bytes) = self.read_blob(signature.blob(), SIGNATURE_LIMIT)? else { return Ok(None) };
            signatures.push(signature.with(bytes));
        }
        Ok(Some(StoredPackage {
            reference: wanted.clone(),
            file: self.blob_path(record.component),
            component: record.component,
            manifest: record.manifest,
            annotations: manifest.annotations,
            signatures,
        }))
    }

    /// Returns the digest that the file of a blob has. `None` if it is missing.
    fn found_digest(&self, digest: Digest) -> Result<Option<Digest>, StoreError> {
        let found = foreign_file::open_below(&self.folder, blob_name(digest), FileLimit::NONE)
            .and_then(Digest::of_reader);
        self.unless_damaged(digest, found)
    }

    fn is_intact(&self, expected: Digest, found: Digest) -> bool {
        if found != expected {
            let path = self.blob_path(expected);
            tracing::warn!(
                "{} is damaged: its digest is {found}; its package counts as not in the cache",
                path.display()
            );
        }
        found == expected
    }

    /// Returns what was read of a blob. `None` if it is missing, or is not a file of an allowed size.
    fn unless_damaged<T>(&self, digest: Digest, read: io::Result<T>) -> Result<Option<T>, StoreError> {
        let path = self.blob_path(digest);
        match read {
            Err(error) if FileRefusal::find(&error).is_some() => {
                tracing::warn!(
                    "{} is damaged: {error}; its package counts as not in the cache",
                    path.display()
                );
                Ok(None)
            }
            read => absent_is_none(read).map_err(StoreError::file("read", &path)),
        }
    }

    fn write_blob(&self, bytes: &[u8]) -> Result<(), StoreError> {
        self.add_blob(Digest::of_bytes(bytes), |path| write_whole(path, bytes))
    }

    fn add_blob(
        &self,
        digest: Digest,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let folder = self.folder.join("blobs").join("sha256");
        self.make_folders(&folder)?;
        if self.found_digest(digest)? == Some(digest) {
            return Ok(());
        }
        let path = self.blob_path(digest);
        write(&path).map_err(StoreError::file("write", &path))
    }

    /// Creates the folder of the store, and the folders below it on the way to another one.
    fn make_folders(&self, folder: &Path) -> Result<(), StoreError> {
        make_folder(&self.folder).map_err(StoreError::file("create", &self.folder))?;
        let mut path = self.folder.clone();
        for part in folder.strip_prefix(&self.folder).unwrap_or(folder) {
            path.push(part);
            make_folder(&path).map_err(StoreError::file("create", &path))?;
        }
        Ok(())
    }

    /// Reads the records of a repository. Damaged ones are left out.
    fn records(&self, reference: &OciReference) -> Result<Vec<Record>, StoreError> {
        let folder = self.records_folder(reference);
        let entries =
            absent_is_none(std::fs::read_dir(&folder)).map_err(StoreError::file("read", &folder))?;
        let mut records = Vec::new();
        for entry in entries.into_iter().flatten() {
            let name = entry.map_err(StoreError::file("read", &folder))?.file_name();
            let name = Path::new(&name);
            // A file that another process is writing has another ending.
            if name.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let relative = records_name(reference).join(name);
            let read = foreign_file::read_below(&self.folder, &relative, MAX_RECORD_SIZE);
            match read.and_then(|bytes| Record::parse(&bytes)) {
                Ok(record) => records.push(record),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    let path = self.folder.join(&relative);
                    tracing::warn!(
                        "{} is not used: {error}; its package counts as not in the cache",
                        path.display()
                    );
                }
            }
        }
        Ok(records)
    }

    fn records_folder(&self, reference: &OciReference) -> PathBuf {
        self.folder.join(records_name(reference))
    }

    fn blob_path(&self, digest: Digest) -> PathBuf {
        self.folder.join(blob_name(digest))
    }
}

fn records_name(reference: &OciReference) -> PathBuf {
    Path::new("references").join(Digest::of_bytes(reference.name().as_bytes()).hex())
}

fn blob_name(digest: Digest) -> PathBuf {
    Path::new("blobs").join("sha256").join(digest.hex())
}

fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

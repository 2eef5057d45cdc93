//! The manifest of a shard, and the files that it names.

use crate::StorageError;
use crate::layout::check_file_name;
use gage_core::Digest;
use gage_record::format::{MANIFEST_FILE, MEDIA_FOLDER};
use gage_record::{FileDigest, Manifest, RunStatus, read_run_file};
use std::path::Path;

/// A file of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShardFile {
    /// Path in the run folder.
    pub(crate) name: String,
    /// Digest and size.
    pub(crate) content: FileDigest,
}

/// The manifest of a shard.
#[derive(Debug)]
pub(crate) struct ShardManifest {
    /// Text of the file.
    pub(crate) bytes: Vec<u8>,
    /// Digest of the text.
    pub(crate) digest: Digest,
    manifest: Manifest,
}

impl ShardManifest {
    /// Reads the manifest of a folder.
    ///
    /// # Errors
    /// If it is missing, is not a manifest, or was edited.
    pub(crate) fn read(folder: &Path) -> Result<ShardManifest, StorageError> {
        let bytes = ShardManifest::read_bytes(folder)?;
        let manifest = Manifest::read(folder)?;
        if let Some(problem) = Manifest::integrity(folder)?.problem() {
            return Err(StorageError::EditedManifest {
                path: folder.to_owned(),
                problem: problem.to_owned(),
            });
        }
        Ok(ShardManifest { digest: Digest::of_bytes(&bytes), bytes, manifest })
    }

    /// Reads the text of the manifest of a folder.
    ///
    /// # Errors
    /// If it is missing or too large.
    pub(crate) fn read_bytes(folder: &Path) -> Result<Vec<u8>, StorageError> {
        read_run_file(folder, MANIFEST_FILE).map_err(StorageError::io("read", &folder.join(MANIFEST_FILE)))
    }

    /// Returns whether the text of another manifest is that of a shard with the same records. If the command of a finished shard
    /// is run again, its manifest has another text.
    pub(crate) fn has_records_of(&self, other: &[u8]) -> bool {
        self.bytes == other
            || Manifest::parse(other)
                .is_some_and(|other| other.shard_digest() == self.manifest.shard_digest())
    }

    /// Checks that every row of the shard has a record.
    ///
    /// # Errors
    /// If the shard was stopped.
    pub(crate) fn check_finished(&self, folder: &Path) -> Result<(), StorageError> {
        match self.manifest.status == RunStatus::Complete {
            true => Ok(()),
            false => Err(StorageError::Unfinished { path: folder.to_owned(), status: self.manifest.status }),
        }
    }

    /// Returns the files that the manifest names, without media.
    ///
    /// # Errors
    /// If a name leads out of the folder.
    pub(crate) fn files(&self, folder: &Path) -> Result<Vec<ShardFile>, StorageError> {
        let named = self.manifest.files.iter().filter(|(name, _)| *name != MEDIA_FOLDER);
        let files = named.map(|(name, content)| {
            let checked = check_file_name(name).map(|()| ShardFile { name: name.clone(), content: *content });
            checked.map_err(|problem| StorageError::FileName { path: folder.to_owned(), problem })
        });
        files.collect()
    }

    /// Returns the common digest of all media and their size, or `None` if the shard has none.
    pub(crate) fn media(&self) -> Option<FileDigest> {
        self.manifest.files.get(MEDIA_FOLDER).copied()
    }
}

/// Returns a file of the media folder, or `None` if its name is not the digest of a content.
pub(crate) fn media_file(name: &str, bytes: u64) -> Option<ShardFile> {
    gage_core::check_name(name).ok()?;
    let (hex, _) = name.split_once('.')?;
    let digest: Digest = hex.parse().ok()?;
    (digest.hex() == hex)
        .then(|| ShardFile { name: format!("{MEDIA_FOLDER}/{name}"), content: FileDigest { digest, bytes } })
}

//! A file that is not whole yet, and what is known of it.
//!
//! It lies beside a small JSON file that says what it will be; one that was begun for another
//! content is thrown away.

use super::cache::{CommitFolder, hash_all, make_folder, sync_folder, write_whole};
use super::content_digest::{ContentHashes, ObjectId};
use super::error::HubError;
use super::listing::HubEntry;
use super::retry::RetryPolicy;
use gage_core::Digest;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A file that is being downloaded.
pub(super) struct PartialDownload<'a> {
    entry: &'a HubEntry,
    file: File,
    path: PathBuf,
    about_path: PathBuf,
    about: PartialMetadata,
    length: u64,
    hashes: ContentHashes,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct PartialMetadata {
    path: String,
    bytes: u64,
    oid: ObjectId,
    /// The strong entity tag of the server that the bytes came from.
    etag: Option<String>,
}

impl<'a> PartialDownload<'a> {
    /// Goes on with what an interrupted download left, or begins anew.
    pub(super) fn open(
        folder: &CommitFolder,
        entry: &'a HubEntry,
        retry: RetryPolicy<'_>,
    ) -> Result<PartialDownload<'a>, HubError> {
        let folder = folder.partial()?;
        let name = Digest::of_bytes(entry.path.as_bytes()).hex();
        let path = folder.join(&name);
        let about_path = folder.join(format!("{name}.json"));
        let fresh = PartialMetadata {
            path: entry.path.clone(),
            bytes: entry.bytes,
            oid: entry.oid.clone(),
            etag: None,
        };
        let known = fs::read(&about_path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<PartialMetadata>(&bytes).ok());
        let known = known.filter(|known| PartialMetadata { etag: None, ..known.clone() } == fresh);
        if known.is_none() {
            // What it was begun for is written before its first byte.
            remove(&path)?;
            write_about(&about_path, &fresh)?;
        }
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(HubError::cache("open", &path))?;
        let hashes = ContentHashes::new(entry.bytes);
        let about = known.unwrap_or(fresh);
        let mut partial = PartialDownload { entry, file, path, about_path, about, length: 0, hashes };
        partial.length = hash_all(&mut partial.file, &mut partial.hashes, &partial.path, retry)?;
        if partial.length > entry.bytes {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// How many bytes are there.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether no byte is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.length == self.entry.bytes
    }

    /// The entity tag that the bytes so far had.
    pub(super) fn etag(&self) -> Option<&str> {
        self.about.etag.as_deref()
    }

    /// Notes the entity tag of the bytes that follow.
    pub(super) fn set_etag(&mut self, etag: Option<&str>) -> Result<(), HubError> {
        if self.about.etag.as_deref() == etag {
            return Ok(());
        }
        self.about.etag = etag.map(str::to_owned);
        write_about(&self.about_path, &self.about)
    }

    /// Throws away what is there.
    pub(super) fn restart(&mut self) -> Result<(), HubError> {
        self.length = 0;
        self.hashes = ContentHashes::new(self.entry.bytes);
        let restarted = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        restarted.map(drop).map_err(HubError::cache("empty", &self.path))?;
        self.set_etag(None)
    }

    /// Adds bytes. The answer is `false`, and nothing is written, when they are too many.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<bool, HubError> {
        let length = self.length.saturating_add(bytes.len() as u64);
        if length > self.entry.bytes {
            return Ok(false);
        }
        self.file.write_all(bytes).map_err(HubError::cache("write", &self.path))?;
        self.hashes.update(bytes);
        self.length = length;
        Ok(true)
    }

    /// What the whole content is, where it is not what is expected. Digests begin anew.
    pub(super) fn wrong(&mut self) -> Result<Option<ObjectId>, HubError> {
        let taken = self.hashes.take(&self.entry.oid).map_err(io::Error::other);
        let (_, found) = taken.map_err(HubError::cache("take the digest of", &self.path))?;
        Ok((found != self.entry.oid).then_some(found))
    }

    /// Puts the file, which was checked, in its place.
    pub(super) fn finish(self, target: &Path) -> Result<(), HubError> {
        let folder = target.parent().unwrap_or(target);
        make_folder(folder)?;
        let put = || {
            self.file.sync_all()?;
            fs::rename(&self.path, target)?;
            sync_folder(folder)
        };
        put().map_err(HubError::cache("put in place", target))?;
        remove(&self.about_path)
    }

    /// Deletes it.
    pub(super) fn discard(self) -> Result<(), HubError> {
        drop(self.file);
        remove(&self.path)?;
        remove(&self.about_path)
    }
}

fn write_about(path: &Path, about: &PartialMetadata) -> Result<(), HubError> {
    let bytes =
        serde_json::to_vec(about).map_err(|error| HubError::cache("write", path)(io::Error::from(error)))?;
    write_whole(path, &bytes)
}

fn remove(path: &Path) -> Result<(), HubError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HubError::cache("remove", path)(error)),
        _ => Ok(()),
    }
}

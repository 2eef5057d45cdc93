//! A file being downloaded, and its metadata.
//!
//! A small JSON file next to it describes the expected content. A partial file of another content is discarded.

use super::cache::{hash_file, make_folder, read_json, sync_folder, write_json};
use super::content_digest::ObjectId;
use super::error::HubError;
use super::listing::HubEntry;
use super::retry::RetryPolicy;
use gage_core::foreign_file;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A file being downloaded.
pub(super) struct PartialFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    about_path: PathBuf,
    about: PartialMetadata,
    length: u64,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct PartialMetadata {
    /// Content that a hub announces. `None` for a server without digests.
    entry: Option<HubEntry>,
    /// Size of the whole file. `None` if unknown.
    total: Option<u64>,
    /// Validator for `If-Range`: a strong entity tag of the server that sent the bytes, or else the modification
    /// time.
    validator: Option<String>,
}

impl PartialFile {
    /// Opens the remains of an interrupted download, or starts a new one. `entry` is the content expected.
    pub(super) fn open(folder: &Path, name: &str, entry: Option<&HubEntry>) -> Result<PartialFile, HubError> {
        let (path, about_path) = (folder.join(name), folder.join(format!("{name}.json")));
        let known = read_json::<PartialMetadata>(&about_path).filter(|known| known.entry.as_ref() == entry);
        let about = match known {
            Some(known) => known,
            None => {
                // The expected content is recorded before the first byte.
                remove(&path)?;
                let total = entry.map(|entry| entry.bytes);
                let about = PartialMetadata { entry: entry.cloned(), total, validator: None };
                write_json(&about_path, &about)?;
                about
            }
        };
        let opened = foreign_file::open_to_write(
            &path,
            File::options().create(true).truncate(false).read(true).write(true),
        );
        let mut file = opened.map_err(HubError::cache("open", &path))?;
        let length = file.seek(SeekFrom::End(0)).map_err(HubError::cache("read", &path))?;
        let mut partial = PartialFile { file, path, about_path, about, length };
        if partial.total().is_some_and(|total| length > total) {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Returns the number of bytes present.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the size of the whole file. `None` if unknown.
    pub(super) fn total(&self) -> Option<u64> {
        self.about.total
    }

    /// Returns the expected content.
    pub(super) fn entry(&self) -> Option<&HubEntry> {
        self.about.entry.as_ref()
    }

    /// Returns the validator of the bytes so far.
    pub(super) fn validator(&self) -> Option<&str> {
        self.about.validator.as_deref()
    }

    /// Records the size of the whole file and the validator of the following bytes.
    pub(super) fn set_origin(
        &mut self,
        total: Option<u64>,
        validator: Option<String>,
    ) -> Result<(), HubError> {
        let about = PartialMetadata { total, validator, entry: self.about.entry.clone() };
        if about != self.about {
            write_json(&self.about_path, &about)?;
            self.about = about;
        }
        Ok(())
    }

    /// Discards the bytes present.
    pub(super) fn restart(&mut self) -> Result<(), HubError> {
        self.length = 0;
        let restarted = self.file.set_len(0).and_then(|()| self.file.rewind());
        restarted.map_err(HubError::cache("empty", &self.path))?;
        self.set_origin(self.entry().map(|entry| entry.bytes), None)
    }

    /// Adds bytes. Returns `false`, and writes nothing, if they exceed the size.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<bool, HubError> {
        let length = self.length.saturating_add(bytes.len() as u64);
        if self.total().is_some_and(|total| length > total) {
            return Ok(false);
        }
        self.file.write_all(bytes).map_err(HubError::cache("write", &self.path))?;
        self.length = length;
        Ok(true)
    }

    /// Returns the ID of the whole content.
    pub(super) fn content(&mut self, entry: &HubEntry, retry: RetryPolicy<'_>) -> Result<ObjectId, HubError> {
        self.file.rewind().map_err(HubError::cache("read", &self.path))?;
        hash_file(&mut self.file, entry, &self.path, retry).map(|(_, found)| found)
    }

    /// Moves the checked file to its place.
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

    /// Deletes the file.
    pub(super) fn discard(self) -> Result<(), HubError> {
        drop(self.file);
        remove(&self.path)?;
        remove(&self.about_path)
    }
}

fn remove(path: &Path) -> Result<(), HubError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HubError::cache("remove", path)(error)),
        _ => Ok(()),
    }
}

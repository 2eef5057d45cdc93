//! A file whose download is under way, and what is known of it.
//!
//! A small JSON file beside it says what it will be; one that was begun for another content is thrown away.

use super::cache::{hash_file, make_folder, read_json, sync_folder, write_json};
use super::content_digest::ObjectId;
use super::error::HubError;
use super::listing::HubEntry;
use super::retry::RetryPolicy;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A file that is being downloaded.
pub(super) struct PartialFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    about_path: PathBuf,
    about: PartialMetadata,
    length: u64,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct PartialMetadata {
    /// The content that a hub names; none of a server that names no digests.
    entry: Option<HubEntry>,
    /// The size of the whole file, where it is known.
    total: Option<u64>,
    /// A strong entity tag of the server that the bytes came from, or else the time of the last change: what `If-Range`
    /// takes.
    validator: Option<String>,
}

impl PartialFile {
    /// Opens what an interrupted download left, or begins a new one. `entry` is the content that it must become.
    pub(super) fn open(folder: &Path, name: &str, entry: Option<&HubEntry>) -> Result<PartialFile, HubError> {
        let (path, about_path) = (folder.join(name), folder.join(format!("{name}.json")));
        let known = read_json::<PartialMetadata>(&about_path).filter(|known| known.entry.as_ref() == entry);
        let about = match known {
            Some(known) => known,
            None => {
                // What it was begun for is written before its first byte.
                remove(&path)?;
                let total = entry.map(|entry| entry.bytes);
                let about = PartialMetadata { entry: entry.cloned(), total, validator: None };
                write_json(&about_path, &about)?;
                about
            }
        };
        let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = opened.map_err(HubError::cache("open", &path))?;
        let length = file.seek(SeekFrom::End(0)).map_err(HubError::cache("read", &path))?;
        let mut partial = PartialFile { file, path, about_path, about, length };
        if partial.total().is_some_and(|total| length > total) {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Returns how many bytes are there.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns how many bytes the whole file has, where that is known.
    pub(super) fn total(&self) -> Option<u64> {
        self.about.total
    }

    /// The content that it must become.
    pub(super) fn entry(&self) -> Option<&HubEntry> {
        self.about.entry.as_ref()
    }

    /// The validator of the bytes so far.
    pub(super) fn validator(&self) -> Option<&str> {
        self.about.validator.as_deref()
    }

    /// Records the size of the whole file and the validator of the bytes that follow.
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

    /// Throws away what is there.
    pub(super) fn restart(&mut self) -> Result<(), HubError> {
        self.length = 0;
        let restarted = self.file.set_len(0).and_then(|()| self.file.rewind());
        restarted.map_err(HubError::cache("empty", &self.path))?;
        self.set_origin(self.entry().map(|entry| entry.bytes), None)
    }

    /// Adds bytes. The answer is `false`, and nothing is written, when they are too many.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<bool, HubError> {
        let length = self.length.saturating_add(bytes.len() as u64);
        if self.total().is_some_and(|total| length > total) {
            return Ok(false);
        }
        self.file.write_all(bytes).map_err(HubError::cache("write", &self.path))?;
        self.length = length;
        Ok(true)
    }

    /// What the whole content is.
    pub(super) fn content(&mut self, entry: &HubEntry, retry: RetryPolicy<'_>) -> Result<ObjectId, HubError> {
        self.file.rewind().map_err(HubError::cache("read", &self.path))?;
        hash_file(&mut self.file, entry, &self.path, retry).map(|(_, found)| found)
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

fn remove(path: &Path) -> Result<(), HubError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HubError::cache("remove", path)(error)),
        _ => Ok(()),
    }
}

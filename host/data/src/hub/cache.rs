//! The cache of hub datasets.
//!
//! ```text
//! <cache>/datasets/<owner>--<name>/refs/<revision>        the commit it last resolved to; `models` for models
//! <cache>/datasets/<owner>--<name>/<commit>/dataset.json  files of the commit, and the checked ones
//! <cache>/datasets/<owner>--<name>/<commit>/files/<path>  whole files, by their paths
//! <cache>/datasets/<owner>--<name>/<commit>/partial/      remains of interrupted downloads
//! <cache>/datasets/<owner>--<name>/<commit>/lock          held by the downloading process
//! ```
//!
//! The folders are accessible only to the current user.

use super::content_digest::{ContentHashes, ObjectId};
use super::error::HubError;
use super::listing::{HubEntry, Listing};
use super::paths::{RepositoryName, check_path, is_commit, revision_file};
use super::retry::RetryPolicy;
use super::source::{HubFile, HubKind};
use crate::private_folder;
use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use url::Url;

/// Version of `dataset.json`. Version 1 is the first.
const FORMAT: u32 = 1;

/// Maximum size of the file that holds the commit of a revision.
const MAX_REFERENCE_SIZE: FileLimit = FileLimit::new("a reference to a commit", 1 << 10);

/// Maximum size of a JSON document. That of a commit lists all its files.
const MAX_DOCUMENT_SIZE: FileLimit = FileLimit::new("a document of the cache", 256 << 20);

/// Folder of one dataset.
pub(super) struct DatasetFolder(PathBuf);

/// Folder of one commit.
pub(super) struct CommitFolder(PathBuf);

/// Content of `dataset.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    name: String,
    commit: String,
    pub(super) listing: Listing,
    /// Checked files, by path.
    pub(super) files: BTreeMap<String, CacheStamp>,
}

/// State of a file when it was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheStamp {
    bytes: u64,
    digest: Digest,
    oid: ObjectId,
    /// Modification time, in seconds and nanoseconds since 1970.
    modified: (u64, u32),
}

/// Result of checking a file's place in the cache.
pub(super) enum CachedFile {
    /// The expected file.
    Good(HubFile, CacheStamp),
    /// No file.
    Missing,
    /// Something else.
    Wrong(String),
}

impl DatasetFolder {
    /// Names the folder without creating it. Each hub has its own, because the same name may refer to other data
    /// elsewhere.
    pub(super) fn of(cache: &Path, endpoint: &Url, kind: HubKind, name: &RepositoryName) -> DatasetFolder {
        let host = endpoint.host_str().unwrap_or("hub").replace([':', '[', ']'], "_");
        let hub = match endpoint.port() {
            Some(port) => format!("{host}_{port}"),
            None => host,
        };
        DatasetFolder(cache.join(kind.folder()).join(hub).join(name.folder()))
    }

    /// Returns the commit that a revision last resolved to.
    pub(super) fn commit_of(&self, revision: &str) -> Result<Option<String>, HubError> {
        let path = self.reference(revision);
        let text = foreign_file::read_named_text(&path, MAX_REFERENCE_SIZE);
        let text = absent_is_none(text).map_err(HubError::cache("read", &path))?;
        Ok(text.map(|text| text.trim().to_owned()).filter(|text| is_commit(text)))
    }

    pub(super) fn remember(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        let path = self.reference(revision);
        make_folder(&self.0.join("refs"))?;
        write_whole(&path, commit.as_bytes())
    }

    fn reference(&self, revision: &str) -> PathBuf {
        self.0.join("refs").join(revision_file(revision))
    }

    /// Returns the folder of a commit, which must be a commit ID.
    pub(super) fn commit(&self, commit: &str) -> CommitFolder {
        CommitFolder(self.0.join(commit))
    }
}

impl CommitFolder {
    /// Creates the folder, and waits until no other process downloads into it.
    pub(super) async fn lock(&self, retry: RetryPolicy<'_>) -> Result<File, HubError> {
        lock(&self.0, retry).await
    }

    /// Returns the record of the commit. `None` if no download has started, or if another version of the program
    /// wrote it.
    pub(super) fn record(&self, name: &RepositoryName, commit: &str) -> Result<Option<Record>, HubError> {
        let path = self.0.join("dataset.json");
        let bytes = absent_is_none(foreign_file::read_named(&path, MAX_DOCUMENT_SIZE));
        let Some(bytes) = bytes.map_err(HubError::cache("read", &path))? else { return Ok(None) };
        let record: Option<Record> = serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!("{}: {error}; it is created again", path.display()))
            .ok();
        Ok(record.filter(|record| {
            record.format == FORMAT && record.commit == commit && record.name == name.to_string()
        }))
    }

    pub(super) fn write_record(&self, record: &Record) -> Result<(), HubError> {
        let path = self.0.join("dataset.json");
        write_json(&path, record)
    }

    /// Returns the path of a file, which must stay within the folder.
    pub(super) fn file(&self, path: &str) -> Result<PathBuf, HubError> {
        check_path(path)
            .map_err(|reason| HubError::Path { path: path.chars().take(200).collect(), reason })?;
        Ok(path.split('/').fold(self.0.join("files"), |folder, part| folder.join(part)))
    }

    /// Returns the folder of incomplete files, creating it if needed.
    pub(super) fn partial(&self) -> Result<PathBuf, HubError> {
        let path = self.0.join("partial");
        make_folder(&path)?;
        Ok(path)
    }

    /// Checks whether a file matches the hub's entry. Reads its bytes unless size and time match those of a stamp.
    pub(super) fn check(
        &self,
        entry: &HubEntry,
        stamp: Option<&CacheStamp>,
        retry: RetryPolicy<'_>,
    ) -> Result<CachedFile, HubError> {
        let path = self.file(&entry.path)?;
        let failed = || HubError::cache("read", &path);
        let Some(metadata) = absent_is_none(fs::symlink_metadata(&path)).map_err(failed())? else {
            return Ok(CachedFile::Missing);
        };
        if !metadata.is_file() {
            return Ok(CachedFile::Wrong("it is not a regular file".to_owned()));
        }
        if metadata.len() != entry.bytes {
            return Ok(CachedFile::Wrong(format!(
                "expected {} bytes, found {}",
                entry.bytes,
                metadata.len()
            )));
        }
        let modified = metadata.modified().map_err(failed())?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = (modified.as_secs(), modified.subsec_nanos());
        let is_known = |stamp: &&CacheStamp| {
            stamp.bytes == entry.bytes && stamp.modified == modified && stamp.oid == entry.oid
        };
        let digest = match stamp.filter(is_known) {
            Some(stamp) => stamp.digest,
            None => {
                let mut file = foreign_file::open_named(&path, FileLimit::NONE).map_err(failed())?;
                let (digest, found) = hash_file(&mut file, entry, &path, retry)?;
                if found != entry.oid {
                    return Ok(CachedFile::Wrong(format!("expected {}, found {found}", entry.oid)));
                }
                digest
            }
        };
        let stamp = CacheStamp { bytes: entry.bytes, digest, oid: entry.oid.clone(), modified };
        let file = HubFile { path: entry.path.clone(), local: path, bytes: entry.bytes, digest };
        Ok(CachedFile::Good(file, stamp))
    }
}

impl Record {
    pub(super) fn new(name: &RepositoryName, commit: &str, listing: Listing) -> Record {
        Record {
            format: FORMAT,
            name: name.to_string(),
            commit: commit.to_owned(),
            listing,
            files: BTreeMap::new(),
        }
    }
}

/// Creates a folder, and waits until no other process downloads into it.
pub(super) async fn lock(folder: &Path, retry: RetryPolicy<'_>) -> Result<File, HubError> {
    make_folder(folder)?;
    let path = folder.join("lock");
    let opened = foreign_file::open_to_write(&path, File::options().create(true).truncate(false).write(true));
    let file = opened.map_err(HubError::cache("open", &path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => retry.sleep(Duration::from_millis(100)).await?,
            Err(TryLockError::Error(error)) => return Err(HubError::cache("lock", &path)(error)),
        }
    }
}

/// Reads a file to its end. Returns its SHA-256, and its ID of the same kind as that of the expected entry.
pub(super) fn hash_file(
    file: &mut File,
    entry: &HubEntry,
    path: &Path,
    retry: RetryPolicy<'_>,
) -> Result<(Digest, ObjectId), HubError> {
    let mut hashes = ContentHashes::new(entry.bytes);
    let mut buffer = vec![0_u8; 1 << 18];
    loop {
        retry.check()?;
        let count = file.read(&mut buffer).map_err(HubError::cache("read", path))?;
        if count == 0 {
            let hashes = hashes.finish(&entry.oid).map_err(io::Error::other);
            return hashes.map_err(HubError::cache("take the digest of", path));
        }
        hashes.update(buffer.get(..count).unwrap_or_default());
    }
}

/// Reads a JSON document of a cache. `None` if it is missing or damaged.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&foreign_file::read_named(path, MAX_DOCUMENT_SIZE).ok()?).ok()
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), HubError> {
    let bytes =
        serde_json::to_vec(value).map_err(|error| HubError::cache("write", path)(io::Error::from(error)))?;
    write_whole(path, &bytes)
}

/// Creates a folder and its parents, closed to other users.
pub(super) fn make_folder(path: &Path) -> Result<(), HubError> {
    private_folder::make(path).map_err(HubError::cache("make", path))
}

/// Writes a file atomically: it is whole or absent.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), HubError> {
    let folder = path.parent().unwrap_or(path);
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        sync_folder(folder)
    };
    write().map_err(HubError::cache("write", path))
}

/// Makes a rename in a folder durable.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing: folders cannot be opened here, and the system keeps the order itself.
#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

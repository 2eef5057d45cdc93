//! Fetch of the shards of a run.

use crate::bucket::Bucket;
use crate::download::download;
use crate::layout::{ShardObjects, is_shard_name, object_in, shards_of};
use crate::shard_manifest::{ShardFile, ShardManifest, media_file};
use crate::transfer::{MAX_PARALLEL_FILES, TransferCount, TransferCounter, TransferObserver, run};
use crate::{ObjectUrl, StorageError};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use gage_record::format::{JOURNAL_FOLDER, MANIFEST_FILE, MEDIA_FOLDER, SHARDS_FOLDER};
use gage_record::{FileDigest, MediaFolder};
use object_store::path::Path as ObjectPath;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Maximum number of media of a shard.
const MAX_MEDIA: usize = 1_000_000;

/// Shards of a run that were fetched, or could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Names of the shards that were downloaded.
    pub downloaded: Vec<String>,
    /// Names of the shards that were in the folder already, with the same records.
    pub present: Vec<String>,
    /// Names of the shards without a manifest in object storage: their push did not end.
    pub incomplete: Vec<String>,
    /// Number of files and bytes that were downloaded.
    pub count: TransferCount,
}

/// Downloads the shards of a run to the folder `shards` in `into`. A shard that is there already, with the same records, is
/// not downloaded again.
///
/// # Errors
/// If the run has no shards, or the server refuses a request. If a file differs from its manifest, or a folder of another
/// shard is in the way. Shards that were downloaded before the error stay.
pub fn fetch_run(
    run_url: &ObjectUrl,
    into: &Path,
    observer: &dyn TransferObserver,
) -> Result<Fetched, StorageError> {
    let bucket = Bucket::open(run_url)?;
    run(observer, fetch(&bucket, run_url, into, &TransferCounter::new(observer)))
}

pub(crate) async fn fetch(
    bucket: &Bucket,
    run_url: &ObjectUrl,
    into: &Path,
    counter: &TransferCounter<'_>,
) -> Result<Fetched, StorageError> {
    let names = shard_names(bucket, &shards_of(run_url.prefix())).await?;
    if names.is_empty() {
        return Err(StorageError::NoShards { url: run_url.to_string() });
    }
    let shards = into.join(SHARDS_FOLDER);
    fs::create_dir_all(&shards).map_err(StorageError::io("create", &shards))?;
    let _lock = lock(&shards)?;
    let mut fetched = Fetched::default();
    for name in names {
        let objects = ShardObjects::new(run_url.prefix(), &name)?;
        let Some(manifest) = bucket.read_manifest(&objects.manifest()).await? else {
            fetched.incomplete.push(name);
            continue;
        };
        let shard = shards.join(&name);
        if !is_in_place(&shard)? {
            download_shard(bucket, &objects, &manifest, &shard, counter).await?;
            fetched.downloaded.push(name);
        } else if ShardManifest::read(&shard).is_ok_and(|present| present.has_records_of(&manifest)) {
            fetched.present.push(name);
        } else {
            return Err(StorageError::OtherShard { path: shard, object: bucket.shown(&objects.manifest()) });
        }
    }
    fetched.count = counter.count();
    Ok(fetched)
}

/// Downloads a shard that was pushed before, if its folder in `into` does not exist: the disk may be a new one. Returns whether
/// it did.
///
/// # Errors
/// If the name is not the one of a shard, the server refuses a request, or a file differs from its manifest.
pub fn fetch_shard(
    run_url: &ObjectUrl,
    name: &str,
    into: &Path,
    observer: &dyn TransferObserver,
) -> Result<bool, StorageError> {
    let bucket = Bucket::open(run_url)?;
    run(observer, restore(&bucket, run_url, name, into, &TransferCounter::new(observer)))
}

pub(crate) async fn restore(
    bucket: &Bucket,
    run_url: &ObjectUrl,
    name: &str,
    into: &Path,
    counter: &TransferCounter<'_>,
) -> Result<bool, StorageError> {
    let objects = ShardObjects::new(run_url.prefix(), name)?;
    let shards = into.join(SHARDS_FOLDER);
    let shard = shards.join(name);
    if is_in_place(&shard)? {
        return Ok(false);
    }
    let Some(manifest) = bucket.read_manifest(&objects.manifest()).await? else { return Ok(false) };
    fs::create_dir_all(&shards).map_err(StorageError::io("create", &shards))?;
    let _lock = lock(&shards)?;
    download_shard(bucket, &objects, &manifest, &shard, counter).await?;
    Ok(true)
}

/// Lists the shards of a run, and skips folders with other names.
pub(crate) async fn shard_names(bucket: &Bucket, folder: &ObjectPath) -> Result<Vec<String>, StorageError> {
    let listed = bucket.store().list_with_delimiter(Some(folder)).await;
    let listed = listed.map_err(|error| bucket.failure("list", folder, &error))?;
    let names = listed.common_prefixes.iter().filter_map(ObjectPath::filename);
    let mut names: Vec<String> = names.filter(|name| is_shard_name(name)).map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}

/// Takes the lock of all processes that fetch to a folder. It is released when the file is closed.
fn lock(shards: &Path) -> Result<File, StorageError> {
    let folder = File::open(shards).map_err(StorageError::io("open", shards))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(StorageError::Locked { path: shards.to_owned() }),
        Err(TryLockError::Error(source)) => Err(StorageError::io("lock", shards)(source)),
    }
}

fn is_in_place(path: &Path) -> Result<bool, StorageError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => found.map(|_| true).map_err(StorageError::io("read", path)),
    }
}

/// Downloads a shard beside its place, and moves it there once it is whole.
async fn download_shard(
    bucket: &Bucket,
    objects: &ShardObjects,
    manifest: &[u8],
    shard: &Path,
    counter: &TransferCounter<'_>,
) -> Result<(), StorageError> {
    let name = shard.file_name().unwrap_or_default().to_string_lossy();
    let staging = shard.with_file_name(format!(".{name}.fetch"));
    // A process that was killed left it.
    if is_in_place(&staging)? {
        fs::remove_dir_all(&staging).map_err(StorageError::io("delete", &staging))?;
    }
    let fetched = fill(bucket, objects, manifest, &staging, counter).await;
    let placed = fetched.and_then(|()| {
        fs::rename(&staging, shard).map_err(StorageError::io("put in place", shard))?;
        sync(shard.parent().unwrap_or(shard))
    });
    if placed.is_err() {
        // The first failure is the one to report, and the next fetch deletes what is left.
        let _ = fs::remove_dir_all(&staging);
    }
    placed
}

/// Downloads the files of a shard to a new folder.
async fn fill(
    bucket: &Bucket,
    objects: &ShardObjects,
    text: &[u8],
    folder: &Path,
    counter: &TransferCounter<'_>,
) -> Result<(), StorageError> {
    fs::create_dir(folder).map_err(StorageError::io("create", folder))?;
    write_manifest(folder, text).map_err(StorageError::io("write", &folder.join(MANIFEST_FILE)))?;
    let unusable = |error: StorageError| bucket.unusable(&objects.manifest(), error.to_string());
    let manifest = ShardManifest::read(folder).map_err(unusable)?;
    let source = objects.files(&manifest.digest);
    let mut files = manifest.files(folder).map_err(unusable)?;
    if let Some(media) = manifest.media() {
        files.extend(media_of(bucket, &source, &media).await?);
    }
    create_folders(folder, &files)?;
    let wanted = stream::iter(files.iter().map(Ok::<&ShardFile, StorageError>));
    let downloads = wanted
        .try_for_each_concurrent(MAX_PARALLEL_FILES, |file| download(bucket, &source, folder, file, counter));
    downloads.await?;
    if MediaFolder::digest(folder)? != manifest.media() {
        let reason = "these are not the files of its manifest";
        return Err(bucket.unusable(&object_in(&source, MEDIA_FOLDER), reason));
    }
    for synced in [folder.join(JOURNAL_FOLDER), folder.join(MEDIA_FOLDER), folder.to_owned()] {
        if is_in_place(&synced)? {
            sync(&synced)?;
        }
    }
    Ok(())
}

fn write_manifest(folder: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(folder.join(MANIFEST_FILE))?;
    file.write_all(text)?;
    file.sync_all()
}

/// Lists the media of a shard. Their manifest has one digest for all of them.
async fn media_of(
    bucket: &Bucket,
    source: &ObjectPath,
    expected: &FileDigest,
) -> Result<Vec<ShardFile>, StorageError> {
    let folder = object_in(source, MEDIA_FOLDER);
    let mut listed = bucket.store().list(Some(&folder));
    let mut files = Vec::new();
    let mut bytes = 0_u64;
    while let Some(object) = listed.next().await {
        let object = object.map_err(|error| bucket.failure("list", &folder, &error))?;
        let name = object.location.filename().unwrap_or_default();
        let file =
            media_file(name, object.size).filter(|file| object_in(source, &file.name) == object.location);
        let Some(file) = file else {
            return Err(bucket.unusable(&object.location, "it is not named after the digest of a medium"));
        };
        bytes = bytes.saturating_add(object.size);
        files.push(file);
        if bytes > expected.bytes || files.len() > MAX_MEDIA {
            return Err(bucket.unusable(&folder, "it has more files than its manifest"));
        }
    }
    Ok(files)
}

/// Creates the folders of files.
fn create_folders(folder: &Path, files: &[ShardFile]) -> Result<(), StorageError> {
    for file in files {
        if let Some((parent, _)) = file.name.rsplit_once('/') {
            let path = folder.join(parent);
            fs::create_dir_all(&path).map_err(StorageError::io("create", &path))?;
        }
    }
    Ok(())
}

/// Syncs a folder's entries to disk, if the system supports that.
fn sync(folder: &Path) -> Result<(), StorageError> {
    if cfg!(unix) {
        let synced = File::open(folder).and_then(|opened| opened.sync_all());
        synced.map_err(StorageError::io("sync", folder))?;
    }
    Ok(())
}

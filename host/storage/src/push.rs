//! Push of a finished shard.

use crate::bucket::Bucket;
use crate::layout::ShardObjects;
use crate::shard_manifest::{ShardFile, ShardManifest, media_file};
use crate::transfer::{MAX_PARALLEL_FILES, TransferCount, TransferCounter, TransferObserver, run};
use crate::upload::upload;
use crate::{ObjectUrl, StorageError};
use futures::stream::{self, TryStreamExt as _};
use gage_record::format::{MANIFEST_FILE, MEDIA_FOLDER};
use gage_record::{MediaFolder, RecordError};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Number of attempts to create a manifest that another process creates at the same moment, and the pause between them.
const MAX_ATTEMPTS: usize = 5;
const ATTEMPT_INTERVAL: Duration = Duration::from_secs(1);

/// Result of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// The shard is in object storage now.
    Pushed(TransferCount),
    /// An earlier push of the same folder was complete.
    AlreadyThere,
    /// Another machine has pushed this shard before. Its files count, and these are not read by anybody.
    Superseded,
}

/// Uploads the folder of a finished shard to the run's folder in `target`. Only the files that its manifest names are
/// uploaded.
///
/// # Errors
/// If the shard has rows without a record, a file differs from the manifest, or the server refuses a request.
pub fn push_shard(
    target: &ObjectUrl,
    run_id: &str,
    shard_name: &str,
    folder: &Path,
    observer: &dyn TransferObserver,
) -> Result<Push, StorageError> {
    gage_core::check_name(run_id).map_err(RecordError::InvalidRunId)?;
    let bucket = Bucket::open(target)?;
    let objects = ShardObjects::new(target.join(run_id).prefix(), shard_name)?;
    run(observer, push(&bucket, &objects, folder, &TransferCounter::new(observer)))
}

pub(crate) async fn push(
    bucket: &Bucket,
    objects: &ShardObjects,
    folder: &Path,
    counter: &TransferCounter<'_>,
) -> Result<Push, StorageError> {
    let manifest = ShardManifest::read(folder)?;
    manifest.check_finished(folder)?;
    let mark = objects.manifest();
    if let Some(present) = bucket.read_manifest(&mark).await? {
        return Ok(if manifest.has_records_of(&present) { Push::AlreadyThere } else { Push::Superseded });
    }
    let mut files = manifest.files(folder)?;
    files.extend(media_of(&manifest, folder)?);
    let target = objects.files(&manifest.digest);
    let files = stream::iter(files.iter().map(Ok::<&ShardFile, StorageError>));
    let uploads = files
        .try_for_each_concurrent(MAX_PARALLEL_FILES, |file| upload(bucket, &target, folder, file, counter));
    uploads.await?;
    if ShardManifest::read_bytes(folder)? != manifest.bytes {
        return Err(StorageError::ChangedFile { path: folder.join(MANIFEST_FILE) });
    }
    for _ in 0..MAX_ATTEMPTS {
        if bucket.create(&mark, manifest.bytes.clone()).await? {
            return Ok(Push::Pushed(counter.count()));
        }
        // Either another machine was faster, or the answer to an earlier attempt of this request was lost.
        if let Some(present) = bucket.read_manifest(&mark).await? {
            return Ok(match present == manifest.bytes {
                true => Push::Pushed(counter.count()),
                false => Push::Superseded,
            });
        }
        tokio::time::sleep(ATTEMPT_INTERVAL).await;
    }
    Err(bucket.unusable(&mark, "it can be neither created nor read; run the command again"))
}

/// Returns the media of a folder, which the manifest describes with one digest.
fn media_of(manifest: &ShardManifest, folder: &Path) -> Result<Vec<ShardFile>, StorageError> {
    let path = folder.join(MEDIA_FOLDER);
    let changed = || StorageError::ChangedFile { path: path.clone() };
    if MediaFolder::digest(folder)? != manifest.media() {
        return Err(changed());
    }
    if manifest.media().is_none() {
        return Ok(Vec::new());
    }
    let unreadable = StorageError::io("read", &path);
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).map_err(&unreadable)? {
        let entry = entry.map_err(&unreadable)?;
        let bytes = entry.metadata().map_err(&unreadable)?.len();
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push(media_file(&name, bytes).ok_or_else(changed)?);
    }
    Ok(files)
}

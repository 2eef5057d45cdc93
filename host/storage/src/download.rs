//! Download of one file, which must be the one that its manifest describes.

use crate::StorageError;
use crate::bucket::Bucket;
use crate::explanation::is_missing_bucket;
use crate::layout::object_in;
use crate::shard_manifest::ShardFile;
use crate::transfer::TransferCounter;
use futures::StreamExt as _;
use gage_core::Digest;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStoreExt as _};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Downloads a file to a folder in which it does not exist. Only a chunk of it is in memory.
pub(crate) async fn download(
    bucket: &Bucket,
    files: &ObjectPath,
    folder: &Path,
    file: &ShardFile,
    counter: &TransferCounter<'_>,
) -> Result<(), StorageError> {
    let object = object_in(files, &file.name);
    let failed = |error: Error| bucket.failure("read", &object, &error);
    let expected = file.content.bytes;
    let found = bucket.store().get(&object).await.map_err(|error| match error {
        Error::NotFound { .. } if !is_missing_bucket(&error) => {
            let reason = "it is gone, and the manifest of its shard names it: it was deleted, or the manifest was replaced";
            bucket.unusable(&object, reason)
        }
        error => failed(error),
    })?;
    if found.meta.size != expected {
        let reason = format!("it has {} bytes, and {expected} according to its manifest", found.meta.size);
        return Err(bucket.unusable(&object, reason));
    }
    let path = folder.join(&file.name);
    let unwritten = StorageError::io("write", &path);
    let mut local = File::create_new(&path).map_err(&unwritten)?;
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut stream = found.into_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(failed)?;
        bytes += chunk.len() as u64;
        if bytes > expected {
            break;
        }
        hasher.update(&chunk);
        local.write_all(&chunk).map_err(&unwritten)?;
    }
    if bytes != expected || Digest::of_hasher(hasher) != file.content.digest {
        return Err(bucket.unusable(&object, "its digest is not the one of its manifest"));
    }
    local.sync_all().map_err(&unwritten)?;
    counter.add(bytes);
    Ok(())
}

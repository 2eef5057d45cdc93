//! Upload of one file.

use crate::StorageError;
use crate::bucket::Bucket;
use crate::layout::object_in;
use crate::shard_manifest::ShardFile;
use crate::transfer::TransferCounter;
use gage_core::Digest;
use gage_record::open_run_file;
use object_store::path::Path as ObjectPath;
use object_store::{Error, MultipartUpload, ObjectStoreExt as _, PutPayload};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Maximum number of parts of an object. S3 has a limit of 10,000.
const MAX_PARTS: u64 = 9_000;

/// Uploads a file to the folder of its shard's files, and checks that it is the one that the manifest describes. An object of
/// an earlier attempt is kept: its name holds the digest of the manifest.
pub(crate) async fn upload(
    bucket: &Bucket,
    files: &ObjectPath,
    folder: &Path,
    file: &ShardFile,
    counter: &TransferCounter<'_>,
) -> Result<(), StorageError> {
    let object = object_in(files, &file.name);
    let path = folder.join(&file.name);
    let unreadable = StorageError::io("read", &path);
    let opened = open_run_file(folder, &file.name).map_err(&unreadable)?;
    let bytes = file.content.bytes;
    if opened.metadata().map_err(&unreadable)?.len() != bytes {
        return Err(StorageError::ChangedFile { path: path.clone() });
    }
    let local = LocalFile { opened, path: &path };
    let is_created = match bytes <= bucket.part_bytes() as u64 {
        true => upload_whole(bucket, &object, local, &file.content.digest).await?,
        false => match bucket.size(&object).await? {
            Some(_) => false,
            None => upload_parts(bucket, &object, local, file).await.map(|()| true)?,
        },
    };
    if !is_created {
        let present = bucket.size(&object).await?;
        if present != Some(bytes) {
            let reason = format!("it does not have the {bytes} bytes of {}; delete it", path.display());
            return Err(bucket.unusable(&object, reason));
        }
    }
    counter.add(bytes);
    Ok(())
}

/// An open file of the run folder.
struct LocalFile<'p> {
    opened: File,
    path: &'p Path,
}

impl LocalFile<'_> {
    /// Reads the next bytes: fewer only at the end of the file.
    fn read(&mut self, bytes: usize) -> Result<Vec<u8>, StorageError> {
        let mut content = Vec::with_capacity(bytes);
        let read = self.opened.by_ref().take(bytes as u64).read_to_end(&mut content);
        read.map_err(StorageError::io("read", self.path))?;
        Ok(content)
    }

    fn changed(&self) -> StorageError {
        StorageError::ChangedFile { path: self.path.to_owned() }
    }
}

/// Uploads a small file. Returns false if the object exists.
async fn upload_whole(
    bucket: &Bucket,
    object: &ObjectPath,
    mut file: LocalFile<'_>,
    digest: &Digest,
) -> Result<bool, StorageError> {
    let content = file.read(bucket.part_bytes())?;
    match Digest::of_bytes(&content) == *digest {
        true => bucket.create(object, content).await,
        false => Err(file.changed()),
    }
}

/// Uploads a large file in parts. The object exists once all of them are there. Parts are never created only: two uploads to
/// the same name have the same content.
async fn upload_parts(
    bucket: &Bucket,
    object: &ObjectPath,
    mut file: LocalFile<'_>,
    described: &ShardFile,
) -> Result<(), StorageError> {
    let failed = |error: Error| bucket.failure("write", object, &error);
    let mut upload = bucket.store().put_multipart(object).await.map_err(failed)?;
    let part_bytes = described.content.bytes.div_ceil(MAX_PARTS).max(bucket.part_bytes() as u64);
    let part_bytes = usize::try_from(part_bytes).unwrap_or(usize::MAX);
    let failure = match send_parts(bucket, object, &mut *upload, &mut file, part_bytes).await {
        Ok(digest) if digest == described.content.digest => {
            return upload.complete().await.map(drop).map_err(failed);
        }
        Ok(_) => file.changed(),
        Err(error) => error,
    };
    // The parts would be charged for. If this fails too, the first failure is the one to report.
    let _ = upload.abort().await;
    Err(failure)
}

/// Sends the parts of a file, and returns the digest of what was sent.
async fn send_parts(
    bucket: &Bucket,
    object: &ObjectPath,
    upload: &mut dyn MultipartUpload,
    file: &mut LocalFile<'_>,
    part_bytes: usize,
) -> Result<Digest, StorageError> {
    let mut hasher = Sha256::new();
    loop {
        let content = file.read(part_bytes)?;
        if content.is_empty() {
            return Ok(Digest::of_hasher(hasher));
        }
        hasher.update(&content);
        let sent = upload.put_part(PutPayload::from(content)).await;
        sent.map_err(|error| bucket.failure("write", object, &error))?;
    }
}

//! A look at the other shards of a run, before one is begun.

use crate::bucket::Bucket;
use crate::fetch::shard_names;
use crate::layout::{ShardObjects, shards_of};
use crate::transfer::{TransferObserver, run};
use crate::{ObjectUrl, StorageError};
use gage_core::Shard;
use gage_record::Manifest;

/// Returns the manifest of another shard of a run that was pushed, with whose inputs a new one must agree. `None` if there is
/// none. Each shard was compared with another one when it began, so one is enough.
///
/// # Errors
/// If the run has shards of another division, or the server refuses a request.
pub fn other_shard(
    run_url: &ObjectUrl,
    shard: Shard,
    observer: &dyn TransferObserver,
) -> Result<Option<Manifest>, StorageError> {
    let bucket = Bucket::open(run_url)?;
    run(observer, find(&bucket, run_url, shard))
}

pub(crate) async fn find(
    bucket: &Bucket,
    run_url: &ObjectUrl,
    shard: Shard,
) -> Result<Option<Manifest>, StorageError> {
    let names = shard_names(bucket, &shards_of(run_url.prefix())).await?;
    let others: Vec<Shard> = names.iter().filter_map(|name| Shard::of_folder_name(name)).collect();
    if let Some(other) = others.iter().find(|other| other.count() != shard.count()) {
        return Err(StorageError::OtherDivision { url: run_url.to_string(), count: other.count(), shard });
    }
    for other in others.into_iter().filter(|other| *other != shard) {
        let objects = ShardObjects::new(run_url.prefix(), &other.folder_name())?;
        // The push of a shard without a manifest did not end. What cannot be read is refused by the merge.
        let text = bucket.read_manifest(&objects.manifest()).await?;
        if let Some(manifest) = text.and_then(|text| Manifest::parse(&text)) {
            return Ok(Some(manifest));
        }
    }
    Ok(None)
}

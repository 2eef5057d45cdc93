//! Shards of runs in object storage (S3, and other servers with its protocol). A finished shard is pushed, and the shards of
//! a run are fetched to be merged. An unfinished run cannot be there: nothing can be appended to an object.
//!
//! The objects of a shard:
//!
//! ```text
//! PREFIX/RUN/shards/03-of-16/manifest.json                  written last: the shard is complete
//! PREFIX/RUN/shards/03-of-16/<digest>/journal/000001.jsonl  the other files
//! ```
//!
//! - **Files of two machines never mix.** `<digest>` is the beginning of the SHA-256 of `manifest.json`, which holds the
//!   digest of every other file. A repeated push writes the same objects, and another machine writes others.
//! - **The first one counts.** `manifest.json` is created and never replaced. A shard without it does not exist.
//! - **Only files that the manifest names are read and written**, and each must have its size and digest.
//!
//! Functions block their thread, and start an async runtime of their own.

mod bucket;
mod download;
mod error;
mod explanation;
mod fetch;
mod layout;
mod object_url;
mod other_shard;
mod push;
mod shard_manifest;
mod transfer;
mod upload;

#[cfg(test)]
mod tests;

pub use error::StorageError;
pub use fetch::{Fetched, fetch_run, fetch_shard};
pub use object_url::ObjectUrl;
pub use other_shard::other_shard;
pub use push::{Push, push_shard};
pub use transfer::{TransferCount, TransferObserver};

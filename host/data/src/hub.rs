//! The `hf_hub` source: fetches a dataset or a model of the Hugging Face Hub into checked files of a local cache.
//!
//! The revision resolves to a commit, the files of a subset and a split are chosen from that commit, and each is
//! downloaded. **A file gets its final name only after its size and its digest match those of the hub.** The remains
//! of an interrupted download are kept apart and resumed.
//!
//! The crate `hf-hub` (1.0) is not used for the transport. It restarts an interrupted download from its first byte,
//! renames a file without comparing its digest, and cannot be built without the `hf-xet` client.

mod cache;
mod card;
mod client;
mod content_digest;
mod download;
mod error;
mod fetch;
mod lazy_files;
mod listing;
mod model;
mod partial;
mod paths;
mod pattern;
mod repository;
mod retry;
mod select;
mod source;
mod split_inference;
mod transfer;
mod url_download;

pub use error::HubError;
pub use fetch::fetch;
pub use lazy_files::LazyHubFiles;
pub use model::{FetchedModel, ModelHub, ModelReference};
pub use source::{HubDataset, HubFile, HubFormat, HubKind, HubProgress, HubSource, HubTimings, NoProgress};
pub use url_download::{FetchedFile, UrlFetchOptions, WebModel};

//! The `hf_hub` source: a dataset or a model of the Hugging Face Hub becomes checked files in a local cache.
//!
//! The revision becomes a commit, the files of a subset and a split are chosen from those of the
//! commit, and each is downloaded. **A file takes its final name only after its size and its
//! digest were those that the hub names**; what an interruption leaves is kept apart and resumed.

mod beside;
mod cache;
mod card;
mod client;
mod download;
mod error;
mod fetch;
mod listing;
mod model;
mod naming;
mod object;
mod partial;
mod paths;
mod pattern;
mod repository;
mod select;
mod source;
mod wait;
mod web;

pub use beside::LazyHubFiles;
pub use error::HubError;
pub use fetch::fetch;
pub use model::{FetchedModel, ModelHub, ModelReference};
pub use source::{
    HubDataset, HubFile, HubFormat, HubKind, HubProgress, HubSource, HubTimings, HubToken, NoProgress,
};
pub use web::{FetchedFile, WebModel};

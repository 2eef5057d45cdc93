//! The listing of a commit.

use super::content_digest::ObjectId;
use serde::{Deserialize, Serialize};

/// The files of a commit and the head of its card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Listing {
    /// All files, by path.
    pub(super) files: Vec<HubEntry>,
    /// The YAML at the beginning of the dataset card.
    pub(super) card: Option<String>,
}

/// One file of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HubEntry {
    /// The path, as the server gives it: nothing about it is checked.
    pub(super) path: String,
    /// The size.
    pub(super) bytes: u64,
    /// What its content is.
    pub(super) oid: ObjectId,
}

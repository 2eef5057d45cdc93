//! Listing of a commit.

use super::content_digest::ObjectId;
use serde::{Deserialize, Serialize};

/// Files of a commit and the head of its card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Listing {
    /// All files, by path.
    pub(super) files: Vec<HubEntry>,
    /// YAML at the beginning of the dataset card.
    pub(super) card: Option<String>,
}

/// One file of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HubEntry {
    /// Path, unchecked, as the server sent it.
    pub(super) path: String,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// ID of the content.
    pub(super) oid: ObjectId,
}

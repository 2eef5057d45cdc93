//! Errors of the hub source.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a dataset could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// What is asked for cannot be.
    #[error("{0}")]
    Invalid(String),
    /// The server lets nobody in without a token, or not with this one.
    #[error("{0}")]
    Denied(String),
    /// The server does not know the dataset, the revision or the file.
    #[error("{0}")]
    NotFound(String),
    /// The revision is none, or the server does not know it.
    #[error("{0}")]
    Revision(String),
    /// The server asks to wait for longer than is waited.
    #[error(
        "{url}: {reason} and asks to be left alone for {} s, and at most {} s are waited for; try again after that time",
        asked.as_secs(), longest.as_secs()
    )]
    Busy {
        /// What was asked for, without its query.
        url: String,
        /// What the server answers.
        reason: String,
        /// How long it asks to wait.
        asked: Duration,
        /// How long is waited at most.
        longest: Duration,
    },
    /// The server cannot be reached, or breaks off.
    #[error("{url}: {reason}; given up after {attempts} attempts without progress")]
    Unreachable {
        /// What was asked for, without its query.
        url: String,
        /// What happened last.
        reason: String,
        /// How often it was asked for.
        attempts: u32,
    },
    /// The server answers, but not in a way that can be used.
    #[error("{url}: {reason}")]
    Answer {
        /// What was asked for, without its query.
        url: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// No file, or not one set of files, is what was asked for.
    #[error("{message}")]
    Choice {
        /// The key of the suite that chooses: `subset`, `split`, `data_files`, or `hub_id`.
        key: &'static str,
        /// What is wrong with the choice, and what there is.
        message: String,
    },
    /// A path in the repository could leave the cache, or cannot be a file name everywhere.
    #[error("the repository has a file {path:?}, which is not kept: {reason}")]
    Path {
        /// The path, as the server gave it.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What was downloaded is, for the second time, not what the hub says that it is.
    #[error(
        "'{path}' of '{name}' is not what the hub says that it is: expected {expected}, found {found}; it was downloaded twice and deleted"
    )]
    Content {
        /// The dataset.
        name: String,
        /// The path in the repository.
        path: String,
        /// The digest or size that the hub names.
        expected: String,
        /// That of what came.
        found: String,
    },
    /// Something is missing in the cache, and the network may not be used.
    #[error("offline: {missing}; fetch it once without offline mode")]
    Offline {
        /// What is missing.
        missing: String,
    },
    /// The cache cannot be read or written.
    #[error("cache of the hub: cannot {action} {}", path.display())]
    Cache {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it did not go.
        source: io::Error,
    },
    /// It was cancelled; a further call goes on where this one ended.
    #[error("the download was cancelled")]
    Cancelled,
}

impl HubError {
    /// The key of the suite that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            HubError::Choice { key, .. } => key,
            HubError::Revision(_) => "revision",
            _ => "hub_id",
        }
    }

    pub(super) fn cache(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HubError {
        let path = path.to_owned();
        move |source| HubError::Cache { action, path, source }
    }

    pub(super) fn answer(url: &url::Url, reason: impl Into<String>) -> HubError {
        HubError::Answer { url: shown(url), reason: reason.into() }
    }
}

/// A URL without what may be a secret in it: its query, its fragment, a user and a password.
pub(super) fn shown(url: &url::Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

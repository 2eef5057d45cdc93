//! Errors of the hub source.

use gage_config::Refusal;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Error of fetching a dataset or a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The suite may not connect to a host: that of the hub, or one that the hub redirects to.
    #[error("{0}")]
    Refused(Refusal),
    /// The server requires a token, or refuses this one.
    #[error("{0}")]
    Denied(String),
    /// The server does not know the dataset, the revision or the file.
    #[error("{0}")]
    NotFound(String),
    /// The revision is invalid, or the server does not know it.
    #[error("{0}")]
    Revision(String),
    /// The server asks for a longer wait than the limit.
    #[error(
        "{url}: {reason} and asks to wait {} s, longer than the limit of {} s; try again after that time",
        asked.as_secs(), longest.as_secs()
    )]
    Busy {
        /// Requested URL, without its query.
        url: String,
        /// The server's answer.
        reason: String,
        /// Wait that the server asks for.
        asked: Duration,
        /// Longest wait allowed.
        longest: Duration,
    },
    /// The server cannot be reached, or closes the connection early.
    #[error("{url}: {reason}; given up after {attempts} attempts without progress")]
    Unreachable {
        /// Requested URL, without its query.
        url: String,
        /// Last failure.
        reason: String,
        /// Number of requests made.
        attempts: u32,
    },
    /// The server's answer cannot be used.
    #[error("{url}: {reason}")]
    Answer {
        /// Requested URL, without its query.
        url: String,
        /// Problem with the answer.
        reason: String,
    },
    /// The request matches no file, or no unique set of files.
    #[error("{message}")]
    Choice {
        /// Key of the suite that makes the choice: `subset`, `split`, `data_files`, or `hub_id`.
        key: &'static str,
        /// Problem with the choice, and the available options.
        message: String,
    },
    /// A path in the repository could leave the cache, or is not a valid file name on every system.
    #[error("the repository has a file {path:?}, which cannot be stored: {reason}")]
    Path {
        /// Path, as the server sent it.
        path: String,
        /// Problem with the path.
        reason: String,
    },
    /// The download differs, for the second time, from what the hub announces.
    #[error(
        "'{path}' of '{name}' differs from what the hub says: expected {expected}, found {found}; it was \
         downloaded twice and deleted"
    )]
    Content {
        /// Name of the dataset.
        name: String,
        /// Path in the repository.
        path: String,
        /// Digest or size that the hub announces.
        expected: String,
        /// Digest or size of the download.
        found: String,
    },
    /// Something is missing in the cache, and the network may not be used.
    #[error("offline: {missing}; fetch it once without offline mode")]
    Offline {
        /// Missing item.
        missing: String,
    },
    /// The cache cannot be read or written.
    #[error("cache of the hub: cannot {action} {}", path.display())]
    Cache {
        /// Action that failed.
        action: &'static str,
        /// File of the action.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The fetch was cancelled; the next call resumes it.
    #[error("the download was cancelled")]
    Cancelled,
}

impl HubError {
    /// Returns the key of the suite that the error is about.
    pub fn key(&self) -> &'static str {
        match self {
            HubError::Choice { key, .. } => key,
            HubError::Revision(_) => "revision",
            HubError::Refused(_) => "endpoint",
            _ => "hub_id",
        }
    }

    pub(super) fn cache(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HubError {
        let path = path.to_owned();
        move |source| {
            gage_core::ResourceShortage::report_in(&source);
            HubError::Cache { action, path, source }
        }
    }

    pub(super) fn answer(url: &url::Url, reason: impl Into<String>) -> HubError {
        HubError::Answer { url: shown(url), reason: reason.into() }
    }
}

/// Returns a URL without its possible secrets: query, fragment, user and password.
pub(super) fn shown(url: &url::Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

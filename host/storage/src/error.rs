//! Errors of object storage.

use gage_core::Shard;
use gage_record::{RecordError, RunStatus};
use std::io;
use std::path::{Path, PathBuf};

/// Error of pushing or fetching a shard.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The address is not one of object storage.
    #[error("'{url}' is not an address in object storage: {reason}")]
    Url {
        /// The address, without credentials.
        url: String,
        /// The problem, and what is allowed.
        reason: String,
    },
    /// The variables of the environment do not describe a server.
    #[error("object storage cannot be used: {reason}; check the variables that begin with AWS_")]
    Configuration {
        /// The problem.
        reason: String,
    },
    /// The machine has no thread for transfers, or the caller is asynchronous.
    #[error("cannot start transfers: {0}")]
    Runtime(io::Error),
    /// The name is not the one of a shard.
    #[error("'{name}' is not the name of a shard; names are like 03-of-16")]
    ShardName {
        /// The name.
        name: String,
    },
    /// The shard has rows without a record.
    #[error("{} is not finished (status `{}`), and only finished shards are pushed", .path.display(), .status.name())]
    Unfinished {
        /// The folder of the shard.
        path: PathBuf,
        /// Status of the shard.
        status: RunStatus,
    },
    /// The manifest was edited.
    #[error("the manifest of {} cannot be trusted: {problem}", .path.display())]
    EditedManifest {
        /// The folder of the shard.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The manifest names a file that a run cannot have.
    #[error("the manifest of {} names a file that a run cannot have: {problem}", .path.display())]
    FileName {
        /// The folder of the shard.
        path: PathBuf,
        /// The name, and the problem.
        problem: String,
    },
    /// A file changed after the end of the shard.
    #[error(
        "{} differs from what the manifest says, so the shard was not pushed; check the folder with `gage-host verify`",
        .path.display()
    )]
    ChangedFile {
        /// The file.
        path: PathBuf,
    },
    /// The server refused a request, or does not answer.
    #[error("cannot {action} {object}: {answer}{}", .remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default())]
    Request {
        /// Verb: `list`, `read` or `write`.
        action: &'static str,
        /// Address of the object.
        object: String,
        /// Answer of the server, or the reason why there is none.
        answer: String,
        /// Advice for the user, if there is any.
        remedy: Option<&'static str>,
        /// True if the same request may succeed later.
        is_temporary: bool,
    },
    /// The content of an object cannot be used.
    #[error("{object} cannot be used: {reason}")]
    Object {
        /// Address of the object.
        object: String,
        /// The problem.
        reason: String,
    },
    /// A folder is in the place of a shard that is to be fetched.
    #[error("{} differs from {object}; move the folder away to fetch the shard", .path.display())]
    OtherShard {
        /// The folder.
        path: PathBuf,
        /// Address of the shard's manifest.
        object: String,
    },
    /// The run has shards of another division in object storage.
    #[error(
        "{url} belongs to a run of {count} shards, and this is shard {shard}; a run is divided once: use --shard K/{count}, or \
         name another run with --run-id"
    )]
    OtherDivision {
        /// Address of the run.
        url: String,
        /// The number of shards of that run.
        count: u64,
        /// The shard that was to be begun.
        shard: Shard,
    },
    /// The run has no shards in object storage.
    #[error("{url} has no shards; `gage-host run --shard K/N --push` writes them")]
    NoShards {
        /// Address of the run.
        url: String,
    },
    /// Another process fetches shards to the same folder.
    #[error("another process is fetching shards to {}; wait until it ends", .path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A file or a folder of this machine cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The observer cancelled the transfer. The next one continues it.
    #[error("the transfer was stopped; run the command again to continue it")]
    Cancelled,
}

impl StorageError {
    /// Returns whether the same call may succeed later: the server was away or busy.
    pub fn is_temporary(&self) -> bool {
        matches!(self, StorageError::Request { is_temporary: true, .. } | StorageError::Locked { .. })
    }

    /// Returns whether something is not what it was: a file, an object, or a folder in the place of a shard.
    pub fn is_mismatch(&self) -> bool {
        matches!(
            self,
            StorageError::EditedManifest { .. }
                | StorageError::FileName { .. }
                | StorageError::ChangedFile { .. }
                | StorageError::Object { .. }
                | StorageError::OtherShard { .. }
        )
    }

    /// Creates the error of a failed file system operation. The action is a verb: `open`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> StorageError {
        move |source| StorageError::Record(RecordError::io(action, path, source))
    }
}

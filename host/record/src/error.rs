//! Errors of a run folder, each with advice.

use crate::JournalId;
use crate::format::MANIFEST_FILE;
use crate::missing_manifest::MissingManifest;
use gage_core::foreign_file::FileRefusal;
use gage_core::shown_name;
use std::io;
use std::path::{Path, PathBuf};
use strum::Display;
use thiserror::Error;

/// Advice for a damaged journal.
pub(crate) const JOURNAL_REMEDY: &str =
    "repair it with `gage-host runs repair RUN`, or restore it from a copy";

/// Change of a run folder during a run, as text that follows the name of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum FolderChange {
    /// The folder was deleted.
    #[strum(to_string = "was deleted")]
    Deleted,
    /// Another folder is in its place.
    #[strum(to_string = "was replaced by another folder")]
    Replaced,
    /// The folder was moved, with its journal.
    #[strum(to_string = "was moved")]
    Moved,
    /// The current file of its journal was deleted.
    #[strum(to_string = "lost its journal (a file of it was deleted)")]
    JournalDeleted,
    /// The current file of its journal was moved, and the folder was not.
    #[strum(to_string = "lost its journal (a file of it was moved away)")]
    JournalMoved,
    /// Another file is in the place of the current file of its journal.
    #[strum(to_string = "has another journal (a file of it was replaced)")]
    JournalReplaced,
    /// The current file of its journal lost records.
    #[strum(to_string = "has a damaged journal (a file of it was shortened)")]
    JournalShortened,
    /// The file with the number of records was deleted, moved or replaced.
    #[strum(to_string = "lost its file journal/recorded, which counts the records")]
    CountLost,
}

impl FolderChange {
    /// Returns what follows from the change, with advice.
    fn consequence(self) -> &'static str {
        match self {
            FolderChange::Deleted | FolderChange::Replaced => {
                "so the run was stopped; restore the folder and continue with --resume, or start again with another \
                 --run-id"
            }
            FolderChange::Moved => {
                "so its results cannot be written; every answer is recorded: move the folder back and continue with \
                 --resume"
            }
            FolderChange::JournalDeleted
            | FolderChange::JournalMoved
            | FolderChange::JournalReplaced
            | FolderChange::JournalShortened
            | FolderChange::CountLost => {
                "so the run was stopped; restore the journal, or repair the run with `gage-host runs repair RUN`, and \
                 continue with --resume"
            }
        }
    }
}

/// Error from reading or writing a run folder.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The run id is not a valid folder name.
    #[error("run id {0}")]
    InvalidRunId(String),

    /// A new run was requested with an id that is already taken.
    #[error("{}", exists(run_id, .path))]
    RunExists {
        /// The requested id.
        run_id: String,
        /// The existing run's folder.
        path: PathBuf,
    },

    /// The run to resume does not exist.
    #[error("{}", missing(run_id, .path))]
    RunMissing {
        /// The requested id.
        run_id: String,
        /// Path at which it was expected.
        path: PathBuf,
    },

    /// The folder does not hold a run.
    #[error("{}", lacking(.path))]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
    },

    /// Another process is writing to the run.
    #[error(
        "another process is writing to {}; wait until it ends, or name another run with --run-id",
        .path.display()
    )]
    Locked {
        /// The run folder.
        path: PathBuf,
    },

    /// The file system cannot lock files, so it could not keep two processes from writing to one run.
    #[error(
        "the file system of {} cannot lock files ({source}), so two processes could write to one run; mount it with locks (NFS \
         without `nolock`, Lustre with `flock`), or name a folder of another one with --output-dir",
        .path.display()
    )]
    NoLocks {
        /// The run folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// A write was attempted in a folder that was opened for reading.
    #[error("{} was opened for reading only", .path.display())]
    ReadOnly {
        /// The run folder.
        path: PathBuf,
    },

    /// The run folder was deleted, replaced or moved, or its journal was.
    #[error("the run folder {} {change} while the run was going on, {}", .path.display(), .change.consequence())]
    FolderChanged {
        /// The run folder.
        path: PathBuf,
        /// The change.
        change: FolderChange,
    },

    /// The file was written by a newer version of the program.
    #[error(
        "{} has format version {found}, and this program reads up to {supported}; use a newer gage-host",
        .path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: u64,
        /// Newest supported version.
        supported: u32,
    },

    /// The content of a file is invalid.
    #[error("{} cannot be used: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },

    /// A file is not read: it is a link or no regular file, or it is too large.
    #[error("{} cannot be used: {refusal}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reason.
        refusal: FileRefusal,
    },

    /// A line of the journal is damaged, and it is not the last one.
    #[error(
        "{}, line {line}: {reason}; the file was changed or the disk fails: repair it with \
         `gage-host runs repair RUN`, or restore it from a copy",
        .path.display()
    )]
    DamagedJournal {
        /// The journal file.
        path: PathBuf,
        /// Line number, counted from 1.
        line: u64,
        /// The problem.
        reason: String,
    },

    /// A file of the journal belongs to another journal than that of the run.
    #[error(
        "{} belongs to another journal: it has the journal id {found}, and the manifest of the run names {expected}; restore \
         the run's own journal from a copy, or set the foreign lines aside with `gage-host runs repair RUN`",
        .path.display()
    )]
    ForeignJournal {
        /// The file.
        path: PathBuf,
        /// The id in the file.
        found: JournalId,
        /// The id in the manifest.
        expected: JournalId,
    },

    /// A batch of records could not be stored.
    #[error(
        "failed to append to {}; what was recorded before is safe: remove the cause, then continue with --resume",
        .path.display()
    )]
    Append {
        /// The journal file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// A file system operation failed.
    #[error("failed to {action} {}", .path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Describes a folder that holds no manifest, with advice.
fn lacking(path: &Path) -> String {
    let folder = path.display();
    match MissingManifest::of(path) {
        MissingManifest::Nothing => format!("there is no run folder {folder}"),
        MissingManifest::NeverStarted => format!("{folder} is not a run folder: it has no manifest.json"),
        MissingManifest::Foreign => format!("{folder} is not a run folder: it has no manifest.json"),
        MissingManifest::Sharded => format!(
            "the shards of {folder} are not merged; see how far they are with `gage-host runs status {folder}`, and merge them \
             with `gage-host merge {folder}`"
        ),
        MissingManifest::Lost => format!(
            "the run folder {folder} has lost its manifest.json, and nothing else says what the run was made from; {}",
            manifest_remedy(path)
        ),
    }
}

/// Returns the advice for a run folder whose manifest is damaged or gone. No other file can replace it.
pub(crate) fn manifest_remedy(folder: &Path) -> String {
    format!("restore it from a copy; if there is none, delete {}, and run the suite again", folder.display())
}

fn missing(run_id: &str, path: &Path) -> String {
    match MissingManifest::of(path) {
        MissingManifest::Nothing | MissingManifest::NeverStarted => format!(
            "there is no run '{run_id}' to resume: {} has no manifest.json; start it without --resume",
            path.display()
        ),
        MissingManifest::Foreign => {
            format!("there is no run '{run_id}' to resume: {}; name another", lacking(path))
        }
        MissingManifest::Sharded => format!(
            "the run '{run_id}' is divided into shards, and is not resumed as a whole; continue each shard with the command that \
             started it, and merge them with `gage-host merge {}`",
            path.display()
        ),
        MissingManifest::Lost => format!("the run '{run_id}' cannot be resumed: {}", lacking(path)),
    }
}

fn exists(run_id: &str, path: &Path) -> String {
    if path.join(MANIFEST_FILE).exists() {
        let folder = path.display();
        return format!(
            "run '{run_id}' already exists in {folder}; continue it with --resume, or name another with --run-id"
        );
    }
    match MissingManifest::of(path) {
        MissingManifest::Sharded => format!(
            "run '{run_id}' already exists in {}, divided into shards; run one of them with --shard, or name another run with \
             --run-id",
            path.display()
        ),
        MissingManifest::Lost => format!("run '{run_id}' cannot begin: {}", lacking(path)),
        _ => format!(
            "run '{run_id}' cannot begin in {}, which has files that belong to no run; name another with --run-id",
            path.display()
        ),
    }
}

impl RecordError {
    /// Creates an error from a failed file system operation, or from the refusal of a file. The action is a verb: `open`.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> RecordError {
        let path = path.to_owned();
        match FileRefusal::find(&source) {
            Some(refusal) => RecordError::Refused { path, refusal: refusal.clone() },
            None => RecordError::Io { action, path, source },
        }
    }

    /// Creates the error of a journal file that cannot be read, or whose compressed content is damaged.
    pub(crate) fn unreadable_journal(path: &Path, source: io::Error) -> RecordError {
        match source.kind() {
            io::ErrorKind::InvalidData => RecordError::invalid(path, format!("{source}; {JOURNAL_REMEDY}")),
            _ => RecordError::io("read", path, source),
        }
    }

    pub(crate) fn invalid(path: &Path, reason: impl Into<String>) -> RecordError {
        RecordError::Invalid { path: path.to_owned(), reason: reason.into() }
    }

    /// Creates the error of a file that is not the expected JSON.
    pub(crate) fn not_json(path: &Path, error: &serde_json::Error) -> RecordError {
        let (line, column) = (error.line(), error.column());
        let problem = match error.is_eof() {
            true => format!("it is cut off at line {line}, column {column}"),
            false => error.to_string(),
        };
        let remedy = match path.parent().filter(|_| path.ends_with(MANIFEST_FILE)) {
            Some(folder) => manifest_remedy(folder),
            None => "restore it from a copy, or write it again with --resume".to_owned(),
        };
        RecordError::invalid(path, format!("{problem}; {remedy}"))
    }

    /// Creates the error of a sample whose text in the journal is not JSON, although its line matches its checksum. The texts
    /// of a sample are not parsed before they are used.
    pub fn damaged_sample(
        journal: &Path,
        task_id: &str,
        sample_id: &str,
        error: &serde_json::Error,
    ) -> RecordError {
        let (sample, task) = (shown_name(sample_id), shown_name(task_id));
        let reason = format!("sample '{sample}' of task '{task}': {error}; restore the journal from a copy");
        RecordError::invalid(journal, reason)
    }

    pub(crate) fn damaged(path: &Path, line: u64, reason: impl Into<String>) -> RecordError {
        RecordError::DamagedJournal { path: path.to_owned(), line, reason: reason.into() }
    }
}

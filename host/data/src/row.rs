//! A row of a dataset, before conversion.

use crate::source::DataFile;
use crate::source::files_of;
use gage_config::{DataSource, DatasetSpec, FilesSpec, PoolSource};
use gage_core::{ChangedFile, Digest, ResourceShortage};
use serde::{Deserialize, Serialize};

/// Number of characters of a broken row that are kept.
const MAX_SHOWN_CHARACTERS: usize = 2_000;

/// Position of a row in its file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowPosition {
    /// Line where the row begins.
    Line(u64),
    /// Number of the row, if the file has no lines or lines are not rows.
    Row(u64),
}

impl std::fmt::Display for RowPosition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RowPosition::Line(line) => write!(formatter, "line {line}"),
            RowPosition::Row(row) => write!(formatter, "row {row}"),
        }
    }
}

/// A row as read from the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Position in the run, counted from 0, after filter and shuffle.
    pub index: u64,
    /// Position in the dataset over all files, counted from 0, before filter and shuffle.
    pub number: u64,
    /// Index of its file, counted from 0.
    pub file: usize,
    /// Position in that file.
    pub place: RowPosition,
    /// Text of a JSON object, or the problem of the row.
    pub body: Result<String, RowProblem>,
    /// Indices of its examples in the pool.
    pub examples: Vec<u32>,
}

impl Row {
    /// Returns a short digest of its bytes (of its JSON text, if the file contains none), which reveals a changed
    /// file. It is recomputed on each call.
    pub fn digest(&self) -> String {
        match &self.body {
            Ok(body) => digest_of(body.as_bytes()),
            Err(problem) => problem.digest.clone(),
        }
    }
}

/// Returns the short digest of a row's bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).short()
}

/// A row that is not a JSON object and cannot be converted into one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowProblem {
    /// Description of the problem, with its place.
    pub message: String,
    /// Beginning of the row.
    pub text: String,
    /// Short digest of all of its bytes.
    pub digest: String,
}

impl RowProblem {
    pub(crate) fn new(message: String, bytes: &[u8]) -> RowProblem {
        // A character has at most four bytes.
        let most = bytes.len().min(MAX_SHOWN_CHARACTERS * 4);
        let shown = String::from_utf8_lossy(bytes.get(..most).unwrap_or(bytes));
        let text = shown.chars().take(MAX_SHOWN_CHARACTERS).collect();
        RowProblem { message, text, digest: digest_of(bytes) }
    }
}

/// Error of reading a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file cannot be read.
    #[error("cannot read {file}: {}", gage_core::system_message(source))]
    Unreadable {
        /// Path as written, and in full.
        file: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// A file is truncated or damaged: rows are missing.
    #[error("{file} is damaged after row {rows}: {message}")]
    Damaged {
        /// Path as written, and in full.
        file: String,
        /// Number of rows of this file returned before.
        rows: u64,
        /// Description of the damage.
        message: String,
    },
    /// A file cannot be read by its loader.
    #[error("cannot load {file}: {message}")]
    Unsuited {
        /// Path as written, and in full.
        file: String,
        /// Actual kind of the file, and advice.
        message: String,
    },
    /// A file changed since its digest was computed.
    #[error("{file} changed while the run was reading it: {message}")]
    Changed {
        /// Path as written, and in full.
        file: String,
        /// Description of the difference.
        message: String,
    },
    /// The files contain no row.
    #[error("{files} has no rows")]
    Empty {
        /// Paths as written, and in full.
        files: String,
    },
    /// The labels file has more lines than there are rows, or fewer.
    #[error("the labels file {file} has {lines} lines, but the dataset has {rows} rows")]
    OtherLabels {
        /// Path as written, and in full.
        file: String,
        /// Number of lines.
        lines: u64,
        /// Number of rows, before filter and limit.
        rows: u64,
    },
    /// A row has no line in the labels file.
    #[error("the labels file {file} has {lines} lines, but the dataset has more rows")]
    MissingLabels {
        /// Path as written, and in full.
        file: String,
        /// Number of lines.
        lines: u64,
    },
    /// The examples of `few_shot` cannot be used.
    #[error("the examples of `few_shot` in {files} cannot be used: {message}")]
    Examples {
        /// Paths as written, and in full.
        files: String,
        /// Description of the problem, and advice.
        message: String,
    },
    /// The temporary file of a shuffle cannot be written or read.
    #[error("cannot keep rows in a temporary file in '{folder}' to shuffle them: {source}")]
    Spool {
        /// Folder of the file.
        folder: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// The machine has too little of a resource to read the dataset.
    #[error(transparent)]
    Shortage(#[from] ResourceShortage),
}

impl DataError {
    /// Returns the shortage of the machine that is the reason, with the text of the error.
    pub fn shortage(&self) -> Option<ResourceShortage> {
        match self {
            DataError::Shortage(shortage) => Some(shortage.clone()),
            other => ResourceShortage::find(other).map(|shortage| shortage.while_doing(other.to_string())),
        }
    }

    /// Returns whether the reason is that a file does not exist.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, DataError::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }

    /// Returns the error of an unreadable file: it changed, or the system cannot read it. A shortage of the machine is
    /// reported.
    pub(crate) fn unreadable(file: &DataFile, source: std::io::Error) -> DataError {
        let changed = source.get_ref().and_then(|inner| inner.downcast_ref::<ChangedFile>());
        let message = file.change().or_else(|| changed.map(ToString::to_string));
        match message {
            Some(message) => DataError::Changed { file: file.named(), message },
            None => {
                let error = DataError::Unreadable { file: file.named(), source };
                if let Some(shortage) = error.shortage() {
                    shortage.report();
                }
                error
            }
        }
    }

    /// Returns the error of a file from which other content was read than it was pinned to, whatever that content
    /// caused.
    pub(crate) fn of_change(file: &DataFile) -> Option<DataError> {
        file.change().map(|message| DataError::Changed { file: file.named(), message })
    }

    /// Returns the key of the dataset that the error is about.
    pub fn key(&self, spec: &DatasetSpec) -> &'static str {
        let of_rows = match &spec.source {
            DataSource::Files(_) => "path",
            DataSource::Hub(_) => "hub_id",
        };
        match self {
            DataError::OtherLabels { .. } | DataError::MissingLabels { .. } => "labels_path",
            DataError::Examples { .. } => "few_shot",
            DataError::Unreadable { file, .. }
            | DataError::Damaged { file, .. }
            | DataError::Changed { file, .. }
            | DataError::Unsuited { file, .. } => match file {
                file if is_of_labels(file, spec) => "labels_path",
                file if is_of_examples(file, spec) => "few_shot",
                _ => of_rows,
            },
            DataError::Empty { .. } | DataError::Spool { .. } | DataError::Shortage(_) => of_rows,
        }
    }
}

/// Returns whether a file, as errors name it, is that of the labels.
fn is_of_labels(file: &str, spec: &DatasetSpec) -> bool {
    spec.labels_path.as_ref().is_some_and(|labels| DataFile::new(labels).named() == *file)
}

/// Returns whether a file, as errors name it, has examples and no rows.
fn is_of_examples(file: &str, spec: &DatasetSpec) -> bool {
    let is_one_of = |files: &FilesSpec| files_of(files).iter().any(|one| one.named() == *file);
    let pool = spec.few_shot.as_ref().map(|few_shot| &few_shot.pool);
    let is_example = matches!(pool, Some(PoolSource::Files(files)) if is_one_of(files));
    is_example && !matches!(&spec.source, DataSource::Files(files) if is_one_of(files))
}

//! A row of a dataset, before anything is made of it.

use crate::source::{ChangedFile, DataFile};
use gage_core::Digest;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How much of a broken row is kept, in characters.
const MAX_SHOWN_CHARACTERS: usize = 2_000;

/// Where a row stands in its file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowPosition {
    /// The line that it begins in.
    Line(u64),
    /// The row, where the file has no lines or lines are no rows.
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

/// A row as it lies in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The place in the run, counted from 0, after filter and shuffle.
    pub index: u64,
    /// The place in the dataset over all files, counted from 0, before filter and shuffle.
    pub number: u64,
    /// Which of the files it lies in, counted from 0.
    pub file: usize,
    /// Where it stands in that file.
    pub place: RowPosition,
    /// The text of a JSON object, or what is wrong with the row.
    pub body: Result<String, RowProblem>,
}

impl Row {
    /// A short digest of its bytes (of its JSON text, where the file holds none), by which a changed
    /// file is noticed. It is made again each time.
    pub fn digest(&self) -> String {
        match &self.body {
            Ok(body) => digest_of(body.as_bytes()),
            Err(problem) => problem.digest.clone(),
        }
    }
}

/// The short digest of the bytes of a row.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).short()
}

/// A row that is no JSON object, or that cannot be made one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowProblem {
    /// What is wrong, and where.
    pub message: String,
    /// The beginning of the row.
    pub text: String,
    /// The short digest of all of its bytes.
    pub digest: String,
}

impl RowProblem {
    pub(crate) fn new(message: String, bytes: &[u8]) -> RowProblem {
        // No character is longer than four bytes.
        let most = bytes.len().min(MAX_SHOWN_CHARACTERS * 4);
        let shown = String::from_utf8_lossy(bytes.get(..most).unwrap_or(bytes));
        let text = shown.chars().take(MAX_SHOWN_CHARACTERS).collect();
        RowProblem { message, text, digest: digest_of(bytes) }
    }
}

/// A dataset that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file cannot be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The path as it was written, and in full.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file is cut off or damaged: rows are missing.
    #[error("{file} is damaged after row {rows}: {message}")]
    Damaged {
        /// The path as it was written, and in full.
        file: String,
        /// How many rows of this file were given before.
        rows: u64,
        /// What is wrong with it.
        message: String,
    },
    /// A file is not what its loader reads.
    #[error("cannot load {file}: {message}")]
    Unsuited {
        /// The path as it was written, and in full.
        file: String,
        /// What it is instead, and what to do.
        message: String,
    },
    /// A file is not what it was when its digest was computed.
    #[error("{file} changed while the run was reading it: {message}")]
    Changed {
        /// The path as it was written, and in full.
        file: String,
        /// What differs.
        message: String,
    },
    /// The files hold no row.
    #[error("{files} holds no row")]
    Empty {
        /// The paths as they were written, and in full.
        files: String,
    },
    /// The labels file is for more rows than there are, or for fewer.
    #[error("the labels file {file} has {lines} lines, but the dataset has {rows} rows")]
    OtherLabels {
        /// The path as it was written, and in full.
        file: String,
        /// How many lines it has.
        lines: u64,
        /// How many rows there are, before filter and limit.
        rows: u64,
    },
    /// A row has no line in the labels file.
    #[error("the labels file {file} has {lines} lines, but the dataset has more rows")]
    MissingLabels {
        /// The path as it was written, and in full.
        file: String,
        /// How many lines it has.
        lines: u64,
    },
    /// The temporary file that a shuffle needs cannot be written or read.
    #[error("cannot keep rows in a temporary file in '{folder}' to shuffle them: {source}")]
    Spool {
        /// The folder.
        folder: String,
        /// Why.
        source: std::io::Error,
    },
}

impl DataError {
    /// Why a file cannot be read: it changed, or the system does not give it.
    pub(crate) fn unreadable(file: &DataFile, source: std::io::Error) -> DataError {
        let changed = source.get_ref().and_then(|inner| inner.downcast_ref::<ChangedFile>());
        match changed {
            Some(changed) => DataError::Changed { file: file.named(), message: changed.to_string() },
            None => DataError::Unreadable { file: file.named(), source },
        }
    }

    /// Returns whether it is about the file of labels, where a dataset has one.
    pub fn is_of_labels(&self, labels: Option<&Path>) -> bool {
        match self {
            DataError::OtherLabels { .. } | DataError::MissingLabels { .. } => true,
            DataError::Unreadable { file, .. }
            | DataError::Damaged { file, .. }
            | DataError::Changed { file, .. }
            | DataError::Unsuited { file, .. } => {
                labels.is_some_and(|labels| DataFile::new(labels).named() == *file)
            }
            DataError::Empty { .. } | DataError::Spool { .. } => false,
        }
    }
}

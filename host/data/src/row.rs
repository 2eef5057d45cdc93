//! A row of a dataset, before anything is made of it.

use crate::jsonl::JsonlRows;
use gage_config::{DatasetSpec, LoaderKind, shown_path};
use gage_core::Digest;
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A row as it lies in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its place in the run, counted from 0, after shuffling.
    pub index: u64,
    /// Its place in the file, counted from 0.
    pub number: u64,
    /// The line that it stands in, counted from 1.
    pub line: u64,
    /// A short digest of its bytes, by which a changed file is noticed.
    pub digest: String,
    /// The text of a JSON object, or what is wrong with the row.
    pub body: Result<String, RowProblem>,
}

/// A row that is no JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct RowProblem {
    /// What is wrong.
    pub message: String,
    /// The beginning of the row.
    pub text: String,
}

/// A dataset that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", shown_path(path))]
    Unreadable {
        /// The path as it was written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds no row.
    #[error("{} holds no row", shown_path(path))]
    Empty {
        /// The path as it was written.
        path: PathBuf,
    },
}

impl DataError {
    pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> DataError {
        DataError::Unreadable { path: path.to_owned(), source }
    }
}

/// What a record of a run says about the files of a dataset: their digests and sizes.
///
/// # Errors
/// When a file cannot be read.
pub fn digests(spec: &DatasetSpec) -> Result<Value, DataError> {
    let digest = |path: &Path| {
        let fail = |error| DataError::unreadable(path, error);
        let file = File::open(path).map_err(fail)?;
        let bytes = file.metadata().map_err(fail)?.len();
        let digest = Digest::of_reader(file).map_err(fail)?;
        Ok::<_, DataError>(json!({"digest": digest, "bytes": bytes}))
    };
    let mut value = digest(&spec.path)?;
    if let Some(labels) = &spec.labels_path {
        value["labels"] = digest(labels)?;
    }
    Ok(value)
}

/// Opens a dataset; at most `most` rows of it are given, and no more than its own limit.
///
/// # Errors
/// When a file cannot be read or holds no row.
pub fn open(spec: &DatasetSpec, most: Option<u64>) -> Result<JsonlRows, DataError> {
    let LoaderKind::Jsonl = spec.loader;
    let most = most.unwrap_or(u64::MAX).min(spec.limit.unwrap_or(u64::MAX));
    JsonlRows::open(spec, most)
}

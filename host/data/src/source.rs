//! Source of rows: files, their format, and the selection of rows.

use crate::checked_file::{CheckedFile, FilePin};
use crate::filter::Filter;
use gage_config::{ExamplePick, FileFormat, FilesSpec};
use gage_core::{Digest, FileUse};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One file of a dataset.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// Location of the file.
    pub path: PathBuf,
    /// Path as written, for messages.
    pub shown: String,
    /// Required content; `None` if any content will do.
    pin: Option<Arc<FilePin>>,
}

/// Returns the files of a specification.
pub(crate) fn files_of(files: &FilesSpec) -> Vec<DataFile> {
    let both = files.paths.iter().zip(&files.shown);
    both.map(|(path, shown)| DataFile::shown_as(path.clone(), shown.clone())).collect()
}

impl DataFile {
    /// Creates a file that is shown as its path.
    pub fn new(path: impl Into<PathBuf>) -> DataFile {
        let path = path.into();
        let shown = path.display().to_string();
        DataFile::shown_as(path, shown)
    }

    /// Creates a file with a separate name for messages.
    pub(crate) fn shown_as(path: PathBuf, shown: String) -> DataFile {
        DataFile { path, shown, pin: None }
    }

    /// Computes the digest of the content and pins the file to it. Returns the digest and the size in bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn pin(&mut self) -> io::Result<(Digest, u64)> {
        let pin = self.pin.insert(Arc::new(FilePin::read(&self.path)?));
        Ok((pin.digest(), pin.bytes()))
    }

    /// Opens the file for reading. Content that differs from the pinned one is an error then, too.
    ///
    /// # Errors
    /// When it cannot be opened, or its content differs from the pinned one.
    pub(crate) fn open(&self) -> io::Result<CheckedFile> {
        if let Some(pin) = &self.pin {
            pin.check(FileUse::Reload)?;
        }
        CheckedFile::open(&self.path, self.pin.clone())
    }

    /// Checks after reading that the file was not modified in the meantime. Deleting or replacing it does not affect
    /// the open file, and passes.
    ///
    /// # Errors
    /// When the content differs from the pinned one.
    pub(crate) fn check_unchanged(&self) -> io::Result<()> {
        self.pin.as_ref().map_or(Ok(()), |pin| pin.check(FileUse::Open))
    }

    /// Describes the change, if content was read that differs from the pinned one.
    pub(crate) fn change(&self) -> Option<String> {
        self.pin.as_ref().and_then(|pin| pin.change())
    }

    /// Returns its name in errors: as written and, if that differs, in full.
    pub(crate) fn named(&self) -> String {
        match std::path::absolute(&self.path) {
            Ok(whole) if whole != Path::new(&self.shown) => {
                format!("'{}' ({})", self.shown, whole.display())
            }
            _ => format!("'{}'", self.shown),
        }
    }
}

/// A file of labels, one per line: the first line belongs to the first row of the dataset.
#[derive(Clone, Debug)]
pub struct LabelsFile {
    /// File with the labels, possibly compressed.
    pub file: DataFile,
    /// Field of the row that receives the label.
    pub field: String,
}

/// A subset of a dataset that has a list of them.
#[derive(Clone, Debug)]
pub struct SubsetFiles {
    /// Name, which its rows get as a field.
    pub name: String,
    /// Number of its files. They follow those of the subsets before it.
    pub files: usize,
}

/// Files of rows that examples are picked from.
#[derive(Clone, Debug)]
pub struct PoolFiles {
    /// Files, all of one format.
    pub files: Vec<DataFile>,
    /// Format of the files.
    pub format: FileFormat,
    /// True if these are also the files of the rows that get the examples.
    pub is_of_rows: bool,
}

/// Examples that each row gets.
#[derive(Clone, Debug)]
pub struct FewShotSource {
    /// The pool of each subset; a single one without a list of subsets.
    pub pools: Vec<PoolFiles>,
    /// Number of examples of a row.
    pub count: usize,
    /// Path of the field whose value the examples share with their row.
    pub by: Option<String>,
    /// The examples that are picked.
    pub pick: ExamplePick,
    /// Seed of a random draw.
    pub seed: u64,
}

/// Options of a loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatOptions {
    /// `csv` and `tsv`: the column names, for files without a header line.
    pub columns: Option<Vec<String>>,
    /// `json`: the path of the array within the top-level object, as names separated by dots. Default: the file is
    /// the array.
    pub records: Option<String>,
}

/// A dataset. Its files count as one, in their order.
#[derive(Clone, Debug)]
pub struct RowSource {
    /// Files, all of one format.
    pub files: Vec<DataFile>,
    /// Format of the files.
    pub format: FileFormat,
    /// Options of the loader.
    pub options: FormatOptions,
    /// Labels in a separate file.
    pub labels: Option<LabelsFile>,
    /// Subsets whose names rows get; empty without a list of subsets.
    pub subsets: Vec<SubsetFiles>,
    /// Examples that each row gets.
    pub few_shot: Option<FewShotSource>,
    /// Filter of the rows; default all.
    pub filter: Filter,
    /// Seed of a shuffle, which is applied after the filter; default file order.
    pub shuffle: Option<u64>,
    /// Maximum number of rows, after filter and shuffle; default all.
    pub limit: Option<u64>,
    /// Folder for the temporary file that a shuffle needs unless the source is one plain JSONL file; default the
    /// system's temporary folder.
    pub spool_folder: Option<PathBuf>,
}

impl RowSource {
    /// Creates a source of all rows of some files, in their order.
    pub fn new(format: FileFormat, files: Vec<DataFile>) -> RowSource {
        RowSource {
            files,
            format,
            options: FormatOptions::default(),
            labels: None,
            subsets: Vec::new(),
            few_shot: None,
            filter: Filter::default(),
            shuffle: None,
            limit: None,
            spool_folder: None,
        }
    }

    /// Returns the files that are read beside those of the rows: the labels and the examples.
    pub(crate) fn files_beside(&self) -> impl Iterator<Item = &DataFile> {
        let labels = self.labels.iter().map(|labels| &labels.file);
        labels.chain(self.pools().flat_map(|pool| &pool.files))
    }

    /// Returns the pools of examples.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &PoolFiles> {
        self.few_shot.iter().flat_map(|few_shot| &few_shot.pools)
    }

    /// Returns the names of all files in errors.
    pub(crate) fn named(&self) -> String {
        match self.files.as_slice() {
            [] => "the dataset names no file and".to_owned(),
            [one] => one.named(),
            [first, rest @ ..] => format!("{} and {} more", first.named(), rest.len()),
        }
    }
}

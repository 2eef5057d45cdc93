//! Source of rows: files, their format, and the selection of rows.

use crate::filter::Filter;
use gage_config::FileFormat;
use gage_core::{Digest, FileFingerprint};
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// One file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Location of the file.
    pub path: PathBuf,
    /// Path as written, for messages.
    pub shown: String,
    /// Required content; `None` if any content will do.
    pub(crate) pin: Option<FilePin>,
}

/// Content of a file when its digest was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePin {
    pub(crate) fingerprint: FileFingerprint,
    pub(crate) digest: Digest,
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
        let opened = File::open(&self.path)?;
        let metadata = opened.metadata()?;
        let digest = Digest::of_reader(opened)?;
        self.pin = Some(FilePin { fingerprint: FileFingerprint::of(&metadata), digest });
        Ok((digest, metadata.len()))
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    /// When it cannot be opened. The error is [`ChangedFile`] if the content differs from the pinned one.
    pub(crate) fn open(&self) -> io::Result<File> {
        let mut file = File::open(&self.path)?;
        if let Some(pin) = self.pin
            && FileFingerprint::of(&file.metadata()?) != pin.fingerprint
        {
            pin.check(&mut file)?;
        }
        Ok(file)
    }

    /// Checks after reading that the file was not modified in the meantime. Deleting or replacing it does not affect
    /// the open file, and passes.
    ///
    /// # Errors
    /// When the content differs from the pinned one, or cannot be read.
    pub(crate) fn check_unchanged(&self) -> io::Result<()> {
        let Some(pin) = self.pin else { return Ok(()) };
        let Ok(metadata) = fs::metadata(&self.path) else { return Ok(()) };
        let now = FileFingerprint::of(&metadata);
        if now == pin.fingerprint || !now.is_same_file(&pin.fingerprint) {
            return Ok(());
        }
        pin.check(&mut File::open(&self.path)?)
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

impl FilePin {
    /// Computes the digest of a file again, and rewinds it.
    fn check(&self, file: &mut File) -> io::Result<()> {
        let found = Digest::of_reader(&mut *file)?;
        file.seek(SeekFrom::Start(0))?;
        match found == self.digest {
            true => Ok(()),
            false => Err(io::Error::other(ChangedFile { pinned: self.digest, found })),
        }
    }
}

/// The content of a pinned file changed.
#[derive(Debug, thiserror::Error)]
#[error("its digest is {found}, and was {pinned} when the run read it first")]
pub(crate) struct ChangedFile {
    pinned: Digest,
    found: Digest,
}

/// A file of labels, one per line: the first line belongs to the first row of the dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelsFile {
    /// File with the labels, possibly compressed.
    pub file: DataFile,
    /// Field of the row that receives the label.
    pub field: String,
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
            filter: Filter::default(),
            shuffle: None,
            limit: None,
            spool_folder: None,
        }
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

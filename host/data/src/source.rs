//! The source of rows: files, their format, and the selection of rows.

use crate::filter::Filter;
use gage_config::FileFormat;
use gage_core::{Digest, FileFingerprint};
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The path as it was written, for messages.
    pub shown: String,
    /// The content that it must have; none if any content will do.
    pub(crate) pin: Option<FilePin>,
}

/// The content that a file had when its digest was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePin {
    pub(crate) fingerprint: FileFingerprint,
    pub(crate) digest: Digest,
}

impl DataFile {
    /// A file that is shown as its path.
    pub fn new(path: impl Into<PathBuf>) -> DataFile {
        let path = path.into();
        let shown = path.display().to_string();
        DataFile::shown_as(path, shown)
    }

    /// A file with the name that messages give it.
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

    /// Checks after reading that nobody wrote to the file in the meantime. Deleting or replacing it changes nothing in what
    /// was read from the open file, and passes.
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

    /// Returns how an error names it: as it was written and, where that is another text, in full.
    pub(crate) fn named(&self) -> String {
        match std::path::absolute(&self.path) {
            Ok(whole) if whole != Path::new(&self.shown) => {
                format!("'{}' (that is {})", self.shown, whole.display())
            }
            _ => format!("'{}'", self.shown),
        }
    }
}

impl FilePin {
    /// Digests a file again, and sets it back to its start.
    fn check(&self, file: &mut File) -> io::Result<()> {
        let found = Digest::of_reader(&mut *file)?;
        file.seek(SeekFrom::Start(0))?;
        match found == self.digest {
            true => Ok(()),
            false => Err(io::Error::other(ChangedFile { pinned: self.digest, found })),
        }
    }
}

/// A pinned file has other content now.
#[derive(Debug, thiserror::Error)]
#[error("its digest is {found}, and was {pinned} when the run read it first")]
pub(crate) struct ChangedFile {
    pinned: Digest,
    found: Digest,
}

/// A file of labels, one a line: the first line belongs to the first row of the dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelsFile {
    /// The file; it may be compressed.
    pub file: DataFile,
    /// The field of the row that the label becomes.
    pub field: String,
}

/// What a loader has to be told, beyond the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatOptions {
    /// `csv` and `tsv`: the names of the columns, for files without a header line.
    pub columns: Option<Vec<String>>,
    /// `json`: where the array lies in an object at the top, names between dots. Default: the
    /// file is the array.
    pub records: Option<String>,
}

/// A dataset: its files count as one, in their order.
#[derive(Clone, Debug)]
pub struct RowSource {
    /// The files, all of one format.
    pub files: Vec<DataFile>,
    /// How rows lie in them.
    pub format: FileFormat,
    /// What the loader has to be told.
    pub options: FormatOptions,
    /// Labels in a file of their own.
    pub labels: Option<LabelsFile>,
    /// Which rows are kept; default all.
    pub filter: Filter,
    /// The seed of a shuffle, which comes after the filter; default the order of the files.
    pub shuffle: Option<u64>,
    /// How many rows are given at most, after filter and shuffle; default all.
    pub limit: Option<u64>,
    /// Where a temporary file may lie, which a shuffle needs for all but one plain JSONL file;
    /// default the system's folder for such files.
    pub spool_folder: Option<PathBuf>,
}

impl RowSource {
    /// All rows of some files, in their order.
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

    /// Returns how an error names the files together.
    pub(crate) fn named(&self) -> String {
        match self.files.as_slice() {
            [] => "the dataset names no file and".to_owned(),
            [one] => one.named(),
            [first, rest @ ..] => format!("{} and {} more", first.named(), rest.len()),
        }
    }
}

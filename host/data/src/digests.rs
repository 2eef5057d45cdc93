//! Identity of a dataset: digests and sizes of its files.

use crate::row::DataError;
use crate::source::{DataFile, RowSource};
use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit};
use gage_record::{DatasetFile, DatasetIdentity, FileDigest};

/// Pins the files to their present content. Returns their digests and sizes, in the form of [`of_files`], and those
/// of the labels and the examples, if any.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn pin(source: &mut RowSource) -> Result<DatasetIdentity, DataError> {
    let mut measured = Vec::with_capacity(source.files.len());
    for file in &mut source.files {
        let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (digest, bytes) = file.pin().map_err(|error| DataError::unreadable(file, error))?;
        measured.push((name.unwrap_or_default(), digest, bytes));
    }
    let mut identity =
        of_files(measured.iter().map(|(name, digest, bytes)| (name.as_str(), *digest, *bytes)));
    if let Some(labels) = &mut source.labels {
        identity.labels = Some(pin_file(&mut labels.file)?);
    }
    if let Some(few_shot) = &mut source.few_shot {
        let files = few_shot.pools.iter_mut().flat_map(|pool| pool.files.iter_mut());
        identity.few_shot = Some(joint_digest(files.map(pin_file).collect::<Result<Vec<_>, DataError>>()?));
    }
    Ok(identity)
}

/// Returns the size of all files together, without digests. Also checks that they can be opened.
///
/// # Errors
/// When a file cannot be opened.
pub(crate) fn sizes(source: &RowSource) -> Result<DatasetIdentity, DataError> {
    let beside = source.files_beside().map(|file| (file, false));
    let mut sum = 0;
    for (file, counts) in source.files.iter().map(|file| (file, true)).chain(beside) {
        let opened = foreign_file::open_named(&file.path, FileLimit::NONE);
        let metadata = opened.and_then(|opened| opened.metadata());
        let bytes = metadata.map_err(|error| DataError::unreadable(file, error))?.len();
        sum += if counts { bytes } else { 0 };
    }
    Ok(DatasetIdentity { bytes: sum, ..DatasetIdentity::default() })
}

/// Returns the digest and size of the only file. For several files, returns each digest, the digest of the lines
/// `<sha256>  <name>`, as printed by `sha256sum`, and the sum of the bytes.
pub(crate) fn of_files<'f>(files: impl ExactSizeIterator<Item = (&'f str, Digest, u64)>) -> DatasetIdentity {
    let is_single = files.len() == 1;
    let (mut list, mut lines, mut sum) = (Vec::with_capacity(files.len()), String::new(), 0);
    for (name, digest, bytes) in files {
        if is_single {
            return DatasetIdentity { digest: Some(digest.to_string()), bytes, ..DatasetIdentity::default() };
        }
        lines.push_str(&format!("{}  {name}\n", digest.hex()));
        sum += bytes;
        list.push(DatasetFile { name: name.to_owned(), digest: digest.to_string(), bytes });
    }
    let digest = Digest::of_bytes(lines.as_bytes()).to_string();
    DatasetIdentity { files: list, digest: Some(digest), bytes: sum, ..DatasetIdentity::default() }
}

/// Returns the digest and size of the only file. For several files, returns the digest of the lines of their digests, and
/// the sum of the bytes.
pub(crate) fn joint_digest(files: Vec<FileDigest>) -> FileDigest {
    match files.as_slice() {
        [only] => *only,
        _ => {
            let lines: String = files.iter().map(|file| format!("{}\n", file.digest.hex())).collect();
            let bytes = files.iter().map(|file| file.bytes).sum();
            FileDigest { digest: Digest::of_bytes(lines.as_bytes()), bytes }
        }
    }
}

/// Pins one file to its present content. Returns its digest and size.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn pin_file(file: &mut DataFile) -> Result<FileDigest, DataError> {
    let (digest, bytes) = file.pin().map_err(|error| DataError::unreadable(file, error))?;
    Ok(FileDigest { digest, bytes })
}

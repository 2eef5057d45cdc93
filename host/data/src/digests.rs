//! What a record of a run says about the files of a dataset.

use crate::row::DataError;
use crate::source::{DataFile, RowSource};
use gage_core::Digest;
use serde_json::{Value, json};
use std::fs::File;

/// Pins the files to their present content. Returns their digests and sizes, as [`of_files`] puts them, and those of the
/// `labels` beside them, if there are any.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn pin(source: &mut RowSource) -> Result<Value, DataError> {
    let mut measured = Vec::with_capacity(source.files.len());
    for file in &mut source.files {
        let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (digest, bytes) = file.pin().map_err(|error| DataError::unreadable(file, error))?;
        measured.push((name.unwrap_or_default(), digest, bytes));
    }
    let mut value = of_files(measured.iter().map(|(name, digest, bytes)| (name.as_str(), *digest, *bytes)));
    if let Some(labels) = &mut source.labels {
        value["labels"] = pin_file(&mut labels.file)?;
    }
    Ok(value)
}

/// The size of all files together, as `{"bytes"}`, and that they can be opened.
///
/// # Errors
/// When one cannot be.
pub(crate) fn sizes(source: &RowSource) -> Result<Value, DataError> {
    let labels = source.labels.as_ref().map(|labels| &labels.file);
    let mut sum = 0;
    for (file, counts) in source.files.iter().map(|file| (file, true)).chain(labels.map(|file| (file, false)))
    {
        let metadata = File::open(&file.path).and_then(|opened| opened.metadata());
        let bytes = metadata.map_err(|error| DataError::unreadable(file, error))?.len();
        sum += if counts { bytes } else { 0 };
    }
    Ok(json!({"bytes": sum}))
}

/// One file is `{"digest", "bytes"}`; several are `{"files": [{"name", "digest", "bytes"}, …],
/// "digest", "bytes"}`, with the digest of the lines `<sha256>  <name>`, as `sha256sum` prints them,
/// and the sum of the bytes.
pub(crate) fn of_files<'f>(files: impl ExactSizeIterator<Item = (&'f str, Digest, u64)>) -> Value {
    let is_single = files.len() == 1;
    let (mut list, mut lines, mut sum) = (Vec::with_capacity(files.len()), String::new(), 0);
    for (name, digest, bytes) in files {
        if is_single {
            return json!({"digest": digest, "bytes": bytes});
        }
        lines.push_str(&format!("{}  {name}\n", digest.hex()));
        sum += bytes;
        list.push(json!({"name": name, "digest": digest, "bytes": bytes}));
    }
    json!({"files": list, "digest": Digest::of_bytes(lines.as_bytes()), "bytes": sum})
}

/// Pins one file to its present content. Returns its digest and size.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn pin_file(file: &mut DataFile) -> Result<Value, DataError> {
    let (digest, bytes) = file.pin().map_err(|error| DataError::unreadable(file, error))?;
    Ok(json!({"digest": digest, "bytes": bytes}))
}

//! The names of journal files.

use std::path::{Path, PathBuf};

/// Ending of a sealed file, after the name that it had before.
const SEALED_EXTENSION: &str = "zst";

/// Returns the name of a journal file, given its number from 1.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:06}.jsonl")
}

/// Returns the number of a journal file, or `None` if the file has another name.
pub(crate) fn segment_number(path: &Path) -> Option<u64> {
    let name = unsealed_name(path);
    let number = name.strip_suffix(".jsonl")?.parse::<u64>().ok()?;
    (number > 0 && segment_name(number) == name).then_some(number)
}

/// Returns the path of a segment after it is sealed.
pub(super) fn sealed_path(path: &Path) -> PathBuf {
    path.with_added_extension(SEALED_EXTENSION)
}

/// Returns the name that a segment has while it is not sealed.
pub(super) fn unsealed_name(path: &Path) -> String {
    let unsealed = if is_sealed(path) { path.with_extension("") } else { path.to_owned() };
    file_name(&unsealed)
}

/// Returns the name of a file without its folder.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns whether a path is the one of a sealed segment.
pub(super) fn is_sealed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == SEALED_EXTENSION)
}

//! The files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the paths of all files below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

/// Returns the texts of all files below a folder, with their paths. Compressed files are decompressed.
pub(crate) fn texts_below(folder: &Path) -> Vec<(String, String)> {
    let text = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file");
        let bytes = zstd::decode_all(bytes.as_slice()).unwrap_or(bytes);
        (path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())
    };
    files_below(folder).into_iter().map(text).collect()
}

/// Copies a folder with all files below it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    for file in files_below(from) {
        let copy = to.join(file.strip_prefix(from).expect("a file of the folder"));
        fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
        fs::copy(&file, &copy).expect("copied");
    }
}

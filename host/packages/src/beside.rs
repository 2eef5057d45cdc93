//! Signatures that are files.

use gage_core::foreign_file::{FileLimit, read_named};
use gage_signature::{MAX_SIGNATURE_BYTES, Signature};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What follows the name of a component in the name of its signature.
const BUNDLE_SUFFIX: &str = ".sigstore.json";

/// Returns the file with the signature of a component file: `FILE.sigstore.json`.
pub fn signature_file(component: &Path) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(BUNDLE_SUFFIX);
    PathBuf::from(name)
}

/// Reads the signatures of a component that is a file: the bundle in its [`signature_file`], if there is one.
///
/// # Errors
/// If the bundle cannot be read, is not a regular file, or is too large.
pub fn signatures_beside(file: &Path) -> io::Result<Vec<Signature>> {
    match read_named(&signature_file(file), FileLimit::new("a signature", MAX_SIGNATURE_BYTES as u64)) {
        Ok(bundle) => Ok(vec![Signature::Bundle(bundle)]),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use std::fs;

    #[test]
    fn bundle_has_the_whole_name_of_its_component() {
        assert_eq!(signature_file(Path::new("a.b/recall")), Path::new("a.b/recall.sigstore.json"));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("word_recall.wasm");
        assert!(signatures_beside(&file).expect("no bundle").is_empty());
        fs::write(folder.path().join("word_recall.sigstore.json"), "{}").expect("written");
        assert!(signatures_beside(&file).expect("no bundle").is_empty());
        fs::write(folder.path().join("word_recall.wasm.sigstore.json"), "{}").expect("written");
        assert_eq!(signatures_beside(&file).expect("a bundle"), [Signature::Bundle(b"{}".to_vec())]);
    }

    #[test]
    fn bundle_is_a_file_of_limited_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.wasm");
        let bundle = folder.path().join("a.wasm.sigstore.json");
        fs::write(&bundle, vec![b' '; MAX_SIGNATURE_BYTES + 1]).expect("written");
        let error = signatures_beside(&file).expect_err("too large").recorded("plugins");
        assert_eq!(error, "it has 1048577 bytes; at most 1048576 bytes are allowed for a signature");
        fs::remove_file(&bundle).expect("removed");
        fs::create_dir(&bundle).expect("a folder");
        let error = signatures_beside(&file).expect_err("a folder").recorded("plugins");
        assert_eq!(error, "it is a folder, not a regular file");
    }
}

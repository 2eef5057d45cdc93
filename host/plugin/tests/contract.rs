//! Released versions of the contract never change.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_core::Digest;
use gage_plugin::WIT_VERSION;
use std::path::{Path, PathBuf};

/// Every released file with its digest. A new version adds lines; existing lines never change.
const RELEASED: [(&str, &str); 3] = [
    ("0.1.0/host.wit", "db76d768614cfd41d3fa152ac10c98273b03578d525176cc62eeeb9227fa78e0"),
    ("0.1.0/plugin.wit", "cc616055481def1cf83aa5a8e4de441da6ed4e879ad7400d05971167fccdd871"),
    ("0.1.0/types.wit", "7f8c9de8a7e6319d68ed570d1caedd54745657978a0dddac7bc8f1b8a2b9f541"),
];

fn wit() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")
}

/// Lists the `.wit` files in and below a folder.
fn files_below(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            let path = path.strip_prefix(wit().join("released")).expect("below").to_owned();
            found.push(path.to_str().expect("UTF-8").to_owned());
        }
    }
}

#[test]
fn released_files_are_what_was_released() {
    let mut found = Vec::new();
    files_below(&wit().join("released"), &mut found);
    found.sort();
    let known: Vec<&str> = RELEASED.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, known, "each released file stands in this test with its digest");
    for (file, digest) in RELEASED {
        let bytes = std::fs::read(wit().join("released").join(file)).expect("a file");
        assert_eq!(Digest::of_bytes(&bytes).hex(), digest, "{file} was released and must not change");
    }
}

#[test]
fn the_contract_is_the_released_one_of_its_version() {
    for file in ["host.wit", "plugin.wit", "types.wit"] {
        let text = std::fs::read_to_string(wit().join(file)).expect("a file");
        assert!(
            text.starts_with(&format!("package gage:plugin@{WIT_VERSION};")),
            "{file} is of another version"
        );
        let released = wit().join("released").join(WIT_VERSION).join(file);
        let released = std::fs::read_to_string(released).expect("the released file");
        assert_eq!(
            text, released,
            "{file}: a change needs a new version, in wit/ and in the host (WIT_VERSION)"
        );
    }
}

//! Released versions of the contract never change.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_core::Digest;
use gage_plugin::{MIN_WIT_VERSION, WIT_VERSION};
use std::path::{Path, PathBuf};

/// Every released file with its digest. A new version adds lines; existing lines never change.
const RELEASED: [(&str, &str); 6] = [
    ("0.1.0/host.wit", "db76d768614cfd41d3fa152ac10c98273b03578d525176cc62eeeb9227fa78e0"),
    ("0.1.0/plugin.wit", "cc616055481def1cf83aa5a8e4de441da6ed4e879ad7400d05971167fccdd871"),
    ("0.1.0/types.wit", "7f8c9de8a7e6319d68ed570d1caedd54745657978a0dddac7bc8f1b8a2b9f541"),
    ("0.1.1/host.wit", "c22505d4691ba69b18c0ebf94eb2a2b63b7b8b395ddcbf285820a22f3b036d41"),
    ("0.1.1/plugin.wit", "594f77710c9cfd23dcd73a41e72fde514c9fbe3048e4c5c694d160518f620ca4"),
    ("0.1.1/types.wit", "ec4abae031889cf16887b73f570160feb47780577ac61f45abab3d691bae29b9"),
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

/// Returns the lines of a file without its version and its comments. A line with `@since` is joined to the item below it.
fn items_of(version: &str, file: &str) -> Vec<String> {
    let path = wit().join("released").join(version).join(file);
    let text = std::fs::read_to_string(path).expect("a file");
    let is_item = |line: &&str| !line.is_empty() && !line.starts_with("///") && !line.starts_with("package ");
    let mut items: Vec<String> = Vec::new();
    let mut gate = String::new();
    for line in text.lines().map(str::trim).filter(is_item) {
        if line.starts_with("@since") {
            gate = format!("{line} ");
        } else {
            items.push(std::mem::take(&mut gate) + line);
        }
    }
    items
}

#[test]
fn compatible_versions_only_add_gated_items() {
    let is_in_track = |version: &str| version.starts_with("0.1.") && version <= WIT_VERSION;
    assert!(is_in_track(MIN_WIT_VERSION) && is_in_track(WIT_VERSION));
    let gate = format!("@since(version = {WIT_VERSION}) ");
    for file in ["host.wit", "plugin.wit", "types.wit"] {
        let (old, new) = (items_of(MIN_WIT_VERSION, file), items_of(WIT_VERSION, file));
        let kept: Vec<&String> = new.iter().filter(|item| !item.starts_with(&gate)).collect();
        assert_eq!(kept, old.iter().collect::<Vec<_>>(), "{file} changes a released item");
    }
    let added = items_of(WIT_VERSION, "host.wit").into_iter().filter(|item| item.starts_with(&gate));
    assert_eq!(added.count(), 1, "the items that are new in {WIT_VERSION}");
}

#[test]
fn pages_list_every_released_version() {
    for page in ["README.md", "../docs/reference/plugin-contract.md"] {
        let text = std::fs::read_to_string(wit().join(page)).expect("a page");
        for (file, _) in RELEASED {
            let version = file.split('/').next().expect("a version");
            assert!(text.contains(&format!("\n| {version} | ")), "{page} does not list {version}");
        }
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

//! The API for plugin authors changes only on purpose: the public items of the SDKs and the WIT contract are those that the files in
//! `api` list. `GAGE_RECORD_API=1` updates the lists.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_source_rules::public_items;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the lines of one list and not of the other, as in a diff.
fn difference(recorded: &str, found: &str) -> Vec<String> {
    let missing = |from: &str, other: &str, sign: char| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        from.lines().filter(|line| !other.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    [missing(recorded, found, '-'), missing(found, recorded, '+')].concat()
}

fn compare(name: &str, lines: &[String]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("api").join(name);
    let found = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    if std::env::var_os("GAGE_RECORD_API").is_some() {
        fs::write(&file, found).expect("written");
        return;
    }
    let recorded = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        recorded == found,
        "the public API is not the one that api/{name} lists. If that is intended, run the test with GAGE_RECORD_API=1 and add \
         the change to CHANGELOG.md:\n{}",
        difference(&recorded, &found).join("\n")
    );
}

/// Compares the lines of some files outside of comments.
fn compare_lines(name: &str, files: &[(String, String)]) {
    let lines = files.iter().flat_map(|(file, text)| {
        without_comments(text).into_iter().map(move |line| format!("{file}: {line}"))
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.len() > 100, "{} lines", lines.len());
    compare(name, &lines);
}

/// Files below a folder with an ending, each with its text; sorted.
fn texts(folder: &Path, ending: &str) -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let name = path.strip_prefix(folder).expect("below it").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// Returns the lines of a text outside of comments. A comment begins a line.
fn without_comments(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let is_code = |line: &&str| {
        let trimmed = line.trim();
        in_block |= trimmed.starts_with("/*");
        let is_comment = in_block || trimmed.starts_with("//");
        in_block &= !trimmed.ends_with("*/");
        !is_comment && !trimmed.is_empty()
    };
    text.lines().map(str::trim_end).filter(is_code).collect()
}

/// Returns the declarations of a Python module that have no leading underscore: functions, classes with their members,
/// constants and re-exports. Each is given by its first line, with the rest of its parentheses.
fn python_items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let (mut open, mut in_text, mut in_class) = (0_i64, false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if open == 0 && (in_text || trimmed.starts_with("\"\"\"")) {
            let quotes = trimmed.matches("\"\"\"").count();
            in_text = in_text != (quotes % 2 == 1);
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let is_new = open == 0;
        if is_new && indent == 0 && !trimmed.is_empty() {
            in_class = trimmed.starts_with("class ");
        }
        let is_level = indent == 0 || (indent == 4 && in_class);
        let declared = ["def ", "async def ", "class ", "from ", "import "]
            .iter()
            .find_map(|word| trimmed.strip_prefix(word));
        let is_assignment =
            || trimmed.chars().next().is_some_and(char::is_alphabetic) && trimmed.contains([':', '=']);
        let is_public = declared
            .map_or_else(is_assignment, |name| !name.starts_with('_') || name.starts_with("__init__"));
        let brackets: i64 = trimmed
            .chars()
            .map(|next| i64::from("([{".contains(next)) - i64::from(")]}".contains(next)))
            .sum();
        if is_new && is_level && is_public && !trimmed.starts_with('#') {
            items.push(line.to_owned());
        } else if let Some(item) = items.last_mut().filter(|item| {
            !is_new && item.matches(['(', '[', '{']).count() > item.matches([')', ']', '}']).count()
        }) {
            item.push(' ');
            item.push_str(trimmed);
        }
        open = (open + brackets).max(0);
    }
    items
}

#[test]
fn rust_sdk_api_matches_its_list() {
    let items = public_items(&repository().join("sdk/rust/src/lib.rs")).expect("Rust");
    assert!(items.len() > 100, "{} items", items.len());
    compare("rust.txt", &items);
}

#[test]
fn python_sdk_api_matches_its_list() {
    let files = texts(&repository().join("sdk/python/src/gage_sdk"), ".py");
    let items: Vec<String> = files
        .iter()
        .flat_map(|(name, text)| {
            // Only the package re-exports what it imports.
            let is_own = move |item: &String| {
                name == "__init__.py" || !(item.starts_with("from ") || item.starts_with("import "))
            };
            python_items(text).into_iter().filter(is_own).map(move |item| format!("{name}: {item}"))
        })
        .collect();
    assert!(items.len() > 100, "{} items", items.len());
    compare("python.txt", &items);
}

#[test]
fn javascript_sdk_api_matches_its_list() {
    let files = texts(&repository().join("sdk/js/src"), ".d.ts");
    compare_lines("javascript.txt", &files);
}

#[test]
fn wit_contract_matches_its_list() {
    let folder = repository().join("wit");
    let files = ["types.wit", "host.wit", "plugin.wit"]
        .map(|name| (name.to_owned(), fs::read_to_string(folder.join(name)).expect("WIT")));
    compare_lines("wit.txt", &files);
}

#[test]
fn python_declarations_are_found_with_their_signatures() {
    let text = "\"\"\"Doc.\ndef not_this(): ...\n\"\"\"\nfrom .a import (\n    B,\n)\nLIMIT = 3\n_HIDDEN = 4\n\ndef f(\n    one: int,\n    two: str = \"x\",\n) -> bool:\n    inner = 1\n    return True\n\nclass C:\n    size: int\n\n    def __init__(self) -> None:\n        self.x = 1\n\n    def _own(self): ...\n";
    assert_eq!(
        python_items(text),
        [
            "from .a import ( B, )",
            "LIMIT = 3",
            "def f( one: int, two: str = \"x\", ) -> bool:",
            "class C:",
            "    size: int",
            "    def __init__(self) -> None:",
        ]
    );
}

//! The page of messages shows every error and warning of the program.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_source_rules::message_texts;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_NOT_SHOWN: usize = 20;

/// Messages that no test causes: the text, and the reason.
const NOT_SHOWN: &[(&str, &str)] = &[
    ("a sequence could not be cleared; all are", LLAMA),
    ("llama.cpp cannot be initialised: {0}", LLAMA),
    ("the model could not be loaded; trying fewer layers", "needs a GPU with too little memory"),
    ("the model does not fit into memory as it is configured; ", "needs a machine with too little memory"),
    ("failed to write a record as JSON", BUG),
    ("failed to fill in the template of the page", BUG),
    ("cannot write the configuration as YAML", BUG),
    ("internal error: the {0} failed", BUG),
    ("{expected} samples were expected, and ", BUG),
    ("an event is lost, because it is not JSON", BUG),
    ("the suite has errors", "the program prints the errors instead"),
    ("cannot begin to export traces and metrics: {0}", THREAD),
    ("cannot begin to post events: {0}", THREAD),
    ("cannot begin to record events: {0}", THREAD),
    ("a signal will end the process at once", THREAD),
    ("cannot make an HTTP client: {0}", "needs a broken TLS library"),
    ("the server ended", "needs a failure of the network stack"),
    ("failed to use the index {}; delete it: it is rebuilt from the runs", DISK),
    ("a report ends early: {error}", DISK),
    ("the blocks of the run's page are not written: {}", DISK),
];
const LLAMA: &str = "needs a failure inside llama.cpp";
const BUG: &str = "shows a bug of this program";
const THREAD: &str = "needs a system that cannot start a thread";
const DISK: &str = "needs a disk that fails during the work";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Adds the Rust files below a folder, except for those of tests.
fn add_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !["tests", "examples", "benches"].contains(&name.as_ref()) {
            add_sources(&path, files);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

#[test]
fn page_of_messages_shows_errors_and_warnings() {
    let page = fs::read_to_string(repository().join("docs/reference/messages.md")).expect("the page");
    let mut files = Vec::new();
    add_sources(&repository().join("host"), &mut files);
    let (mut lacking, mut excused) = (Vec::new(), Vec::new());
    for file in files {
        for message in message_texts(&file).expect("a Rust file") {
            let excuse = NOT_SHOWN.iter().find(|(text, _)| message.text.starts_with(text));
            match (message.is_in(&page), excuse) {
                (true, _) => {}
                (false, Some(excuse)) => excused.push(excuse),
                (false, None) => {
                    let place = file.strip_prefix(repository()).unwrap_or(&file);
                    lacking.push(format!("{}: {}", place.display(), message.text));
                }
            }
        }
    }
    assert!(
        lacking.is_empty(),
        "docs/reference/messages.md lacks {} messages; let a test cause them and run `make reference`:\n{}",
        lacking.len(),
        lacking.join("\n")
    );
    let unused: Vec<_> = NOT_SHOWN.iter().filter(|one| !excused.contains(one)).collect();
    assert!(unused.is_empty(), "these messages are on the page, or no longer exist: {unused:?}");
    assert!(NOT_SHOWN.len() <= MAX_NOT_SHOWN);
}

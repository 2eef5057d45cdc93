//! Errors and warnings that tests cause. If `GAGE_RECORD_MESSAGES` names a folder, they are appended to files there, from which
//! `make reference` writes the page of messages. Otherwise nothing is recorded.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Once;
use tracing_subscriber::filter::LevelFilter;

/// Appends what the program printed to its standard error stream. The file has the name of the test.
pub fn record_output(output: &str) {
    append(&test_name(), output);
}

/// An error that a test causes.
pub trait RecordedError: Display {
    /// Returns the text of the error, and appends it as the program prints it. `area` belongs to a section of the page, as
    /// `tools/messages.py` lists them.
    fn recorded(&self, area: &str) -> String {
        let text = self.to_string();
        append(&format!("{area}.{}", test_name()), &format!("error: {text}\n\n"));
        text
    }
}

impl<E: Display + ?Sized> RecordedError for E {}

/// Appends the warnings of all tests of this process.
pub fn record_warnings(area: &str) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(file) = file(&format!("{area}.{}", std::process::id())) else { return };
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::WARN)
            .without_time()
            .with_ansi(false)
            .with_writer(file);
        // Another subscriber of the process keeps its place.
        drop(subscriber.try_init());
    });
}

fn test_name() -> String {
    std::thread::current().name().unwrap_or("main").replace("::", ".")
}

fn append(name: &str, text: &str) {
    if let Some(mut file) = file(name) {
        file.write_all(text.as_bytes()).expect("written");
    }
}

fn file(name: &str) -> Option<File> {
    let folder: OsString = std::env::var_os("GAGE_RECORD_MESSAGES")?;
    let file = OpenOptions::new().create(true).append(true).open(Path::new(&folder).join(name));
    Some(file.expect("a file for messages"))
}

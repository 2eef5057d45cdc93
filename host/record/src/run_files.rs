//! The files of a run folder. Others may have written them, so they are opened through [`foreign_file`], and each that is
//! read as a whole has a maximum size.

use crate::format::{
    CONFIG_FILE, LOCK_FILE, MANIFEST_FILE, MAX_JSON_VALUES, RECORDED_PATH, RESAMPLES_FILE, SUMMARY_FILE,
    TIMINGS_FILE,
};
use gage_core::foreign_file::{self, FileLimit};
use std::fs::File;
use std::io;
use std::path::Path;

/// Maximum length of a line of the journal and of `samples.jsonl`, in bytes. The largest row has 64 MiB, and a record may hold
/// it twice.
pub(crate) const MAX_LINE_BYTES: u64 = 256 << 20;

/// Maximum sizes by file name. Other files are read line by line, or only their digests are computed.
const LIMITS: [(&str, FileLimit); 7] = [
    (MANIFEST_FILE, FileLimit::new("a manifest", 64 << 20)),
    (CONFIG_FILE, FileLimit::new("a configuration", 64 << 20)),
    (LOCK_FILE, FileLimit::new("a lock", 64 << 20)),
    (SUMMARY_FILE, FileLimit::new("a summary", 128 << 20)),
    (TIMINGS_FILE, FileLimit::new("timings", 128 << 20)),
    (RESAMPLES_FILE, FileLimit::new("bootstrap replicates", 256 << 20)),
    (RECORDED_PATH, FileLimit::new("a count of lines", 64 << 10)),
];

/// Returns the maximum number of JSON values in a file. Suites with thousands of tasks have large figures; a replicate
/// takes only 16 bytes of memory.
pub(crate) fn max_values_of(name: &str) -> usize {
    match name {
        SUMMARY_FILE | TIMINGS_FILE => 1 << 23,
        RESAMPLES_FILE => 1 << 24,
        _ => MAX_JSON_VALUES,
    }
}

fn limit_of(name: &str) -> FileLimit {
    LIMITS.iter().find(|(limited, _)| *limited == name).map_or(FileLimit::NONE, |(_, limit)| *limit)
}

/// Opens a file of a run folder by its name in the folder, such as `samples.jsonl`.
///
/// # Errors
/// If there is no such file, or the system refuses. If it is a link or no regular file, or is larger than such a file may be.
pub fn open_run_file(folder: &Path, name: &str) -> io::Result<File> {
    foreign_file::open_below(folder, name, limit_of(name))
}

/// Reads a whole file of a run folder by its name in the folder, such as `summary.json`.
///
/// # Errors
/// Same as for [`open_run_file`].
pub fn read_run_file(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    foreign_file::read_below(folder, name, limit_of(name))
}

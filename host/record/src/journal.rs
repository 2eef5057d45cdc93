//! The journal: an append-only log of checksummed records.
//!
//! Files are named `journal/000001.jsonl` and so on. They are read in name order, and records are appended to
//! the last one. Once a file is large enough, the next one begins, and the file is sealed: it becomes
//! `000001.jsonl.zst`, which holds the same lines in compressed frames.
//!
//! A line is the CRC-32 of the JSON as eight hexadecimal digits, a space, the JSON, and a newline. The first line of a file is a header, every other line a [`JournalEntry`]. An entry is a whole
//! [`SampleRecord`](crate::SampleRecord), an answer that awaits its judges or its scores, or the scores of an
//! earlier answer. If a sample has several records or several scores, the last one counts.
//!
//! A killed process leaves at most a torn end: lines after the last good one, from a batch that was never
//! acknowledged. It is cut off when the journal is reopened. A bad line before a good one is reported as
//! damage. Each journal has a random [`JournalId`], which the manifest of its run records. Each file holds it, and
//! checksums are seeded with it, so neither a file nor a line of another journal is taken for one of this run. Each line
//! holds its number, which reveals missing lines. `journal/recorded` holds a lower bound of the number of
//! lines. [`JournalRepair`](crate::JournalRepair) sets damaged lines aside.

mod appender;
mod damage;
mod durable_count;
mod entry;
mod index;
mod line;
mod members;
mod scan;
mod sealed;
mod sealer;
mod segment_names;
mod segments;
mod tail;
mod writer;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sealing_tests;

pub use damage::{DamageKind, DamagedLine, DamagedSample};
pub(crate) use damage::{JournalFacts, JournalInspection, SegmentRepair, inspect};
pub(crate) use durable_count::{DurableCount, durable_lines};
pub use entry::{AnswerEntry, JournalEntry, Scores, ScoresEntry};
pub use index::{AnswerReader, EndedSample, IndexedSample, JournalIndex, PartialRecords, SampleStage};
pub(crate) use segment_names::segment_number;
pub(crate) use segments::segment_paths;
pub use tail::{JournalTail, TailEntry, TailRead};
pub use writer::{JournalWriter, OpenedJournal, QuarantinedTail, ReadJournal, Storage};

use crate::format::{JOURNAL_FOLDER, JOURNAL_FORMAT, RECORDED_FILE};
use crate::format_version::JournalVersion;
use crate::{FileDigest, JournalId, RecordError, RunFolder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The first line of a journal file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    format: String,
    format_version: JournalVersion,
    run_id: String,
    journal_id: JournalId,
}

impl Header {
    /// Returns the header of the journal of a run.
    fn of(folder: &RunFolder) -> Header {
        Header {
            format: JOURNAL_FORMAT.to_owned(),
            format_version: JournalVersion::CURRENT,
            run_id: folder.run_id().to_owned(),
            journal_id: folder.journal_id(),
        }
    }

    /// Checks that the first line of a file is the header of the journal with this id.
    fn check(path: &Path, json: &[u8], journal_id: JournalId) -> Result<(), RecordError> {
        let header: Header = serde_json::from_slice(json).map_err(|error| {
            RecordError::damaged(path, 1, format!("not the header of a journal: {error}"))
        })?;
        if header.format != JOURNAL_FORMAT {
            return Err(RecordError::damaged(path, 1, format!("the format is '{}'", header.format)));
        }
        JournalVersion::check(path, u64::from(header.format_version.number()))?;
        check_journal_id(path, header.journal_id, journal_id)
    }
}

/// Rejects a file that belongs to another journal than the manifest of the run names.
fn check_journal_id(path: &Path, found: JournalId, expected: JournalId) -> Result<(), RecordError> {
    match found == expected {
        true => Ok(()),
        false => Err(RecordError::ForeignJournal { path: path.to_owned(), found, expected }),
    }
}

/// Checks that a record has the expected line number. Numbers no longer match after a line that was removed,
/// inserted or moved.
///
/// # Errors
/// The problem, as text.
fn check_number(number: u64, said: Option<u64>) -> Result<(), String> {
    match said {
        Some(said) if said == number => Ok(()),
        Some(said) if said == number + 1 => {
            Err(format!("it was written as line {said}, so that line {number} is gone"))
        }
        Some(said) if said > number => {
            let last = said - 1;
            Err(format!("it was written as line {said}, so that lines from {number} to {last} are gone"))
        }
        Some(said) => Err(format!("it was written as line {said}, so that lines were moved or put in")),
        None => Err("it does not say which line it is".to_owned()),
    }
}

/// Syncs the journal's files and returns their digests, by file name in the run folder.
///
/// # Errors
/// If a file cannot be read.
pub fn journal_digests(folder: &RunFolder) -> Result<BTreeMap<String, FileDigest>, RecordError> {
    let mut digests = BTreeMap::new();
    let recorded = folder.path_of(JOURNAL_FOLDER).join(RECORDED_FILE);
    for path in segment_paths(folder.path())?.into_iter().chain(recorded.is_file().then_some(recorded)) {
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = format!("{JOURNAL_FOLDER}/{file_name}");
        if let Some(digest) = folder.sync_and_digest(&name)? {
            digests.insert(name, digest);
        }
    }
    Ok(digests)
}

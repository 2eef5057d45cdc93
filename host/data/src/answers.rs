//! Answers that were made elsewhere: a file of them, in the formats of datasets and in those of logs.

mod answer;
mod fields;
#[cfg(test)]
mod tests;

use crate::loader::{self, Content, MAX_ROW_VALUES, Record};
use crate::row::{DataError, RowPosition};
use crate::source::{DataFile, FormatOptions};
pub use answer::{AnswerKey, GivenAnswer};
use fields::{AnswerFields, FoundAnswer};
use gage_config::{AnswersConfig, FileFormat};
use gage_core::Digest;
use std::collections::HashMap;

/// Maximum number of answers in a file, with the entries that have none.
const MAX_ANSWERS: usize = 4_000_000;

/// Maximum length of all answers of a file together, with their ids and the names of their tasks, in bytes. They are kept in
/// memory.
const MAX_ANSWER_BYTES: usize = 2 << 30;

/// Limits of a file.
#[derive(Clone, Copy, Debug)]
struct AnswerLimits {
    answers: usize,
    bytes: usize,
}

impl Default for AnswerLimits {
    fn default() -> AnswerLimits {
        AnswerLimits { answers: MAX_ANSWERS, bytes: MAX_ANSWER_BYTES }
    }
}

/// Where the answers are in a log of Inspect, which is one JSON object.
const INSPECT_SAMPLES: &str = "samples";

/// The answers of a file, in its order.
#[derive(Debug)]
pub struct AnswersFile {
    file: DataFile,
    digest: Digest,
    /// The entries, including those without an answer.
    pub answers: Vec<GivenAnswer>,
    /// Number of entries without an answer, such as samples that failed.
    pub unanswered: u64,
}

/// Error of a file of answers that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswersError {
    /// The file cannot be read, or is not of the format that its name promises.
    #[error(transparent)]
    Data(#[from] DataError),
    /// An entry is no answer.
    #[error("{file}, {place}: {message}")]
    Entry {
        /// Path as written, and in full.
        file: String,
        /// Place of the entry.
        place: RowPosition,
        /// Description of the error, with a remedy.
        message: String,
    },
    /// The file has too many answers.
    #[error("{file} has more than {} answers, or more than {} GiB of them", MAX_ANSWERS, MAX_ANSWER_BYTES >> 30)]
    TooLarge {
        /// Path as written, and in full.
        file: String,
    },
}

impl AnswersFile {
    /// Reads all answers of a file. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry is no answer.
    pub fn read(config: &AnswersConfig) -> Result<AnswersFile, AnswersError> {
        AnswersFile::read_within(config, AnswerLimits::default())
    }

    fn read_within(config: &AnswersConfig, limits: AnswerLimits) -> Result<AnswersFile, AnswersError> {
        let mut file = DataFile::new(config.path.clone());
        let (digest, _) = file.pin().map_err(|source| DataError::unreadable(&file, source))?;
        let mut reader = EntryReader {
            fields: AnswerFields::new(config),
            limits,
            counts: HashMap::new(),
            kept: 0,
            kept_bytes: 0,
            found: AnswersFile { file, digest, answers: Vec::new(), unanswered: 0 },
        };
        reader.read_all(config.format)?;
        Ok(reader.found)
    }

    /// Returns the digest of the file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the entries that have an answer.
    pub fn answered(&self) -> impl Iterator<Item = &GivenAnswer> {
        self.answers.iter().filter(|answer| !answer.outputs.is_empty())
    }

    /// Returns the name of the file in messages.
    pub fn named(&self) -> String {
        self.file.named()
    }

    /// Checks that the file still has the content that was read.
    ///
    /// # Errors
    /// Describes the change.
    pub fn check_unchanged(&self) -> Result<(), String> {
        self.file.check_unchanged().map_err(|error| error.to_string())
    }
}

/// Reads the entries of a file.
struct EntryReader {
    fields: AnswerFields,
    limits: AnswerLimits,
    /// Number of entries so far, by task.
    counts: HashMap<Option<Box<str>>, u64>,
    /// Number of answers so far, and of entries without one.
    kept: usize,
    /// Length of what is kept of all entries so far, in bytes.
    kept_bytes: usize,
    found: AnswersFile,
}

impl EntryReader {
    fn read_all(&mut self, format: FileFormat) -> Result<(), AnswersError> {
        let file = self.found.file.clone();
        let fault = |rows: u64| {
            let file = file.clone();
            move |fault| loader::error(&file, rows, fault)
        };
        let is_log = format == FileFormat::Json && loader::begins_with_object(&file).map_err(fault(0))?;
        let records = is_log.then(|| INSPECT_SAMPLES.to_owned());
        let options = FormatOptions { records, ..FormatOptions::default() };
        let mut loader = loader::open(&file, format, &options).map_err(fault(0))?;
        let mut rows = 0;
        while let Some(record) = loader.next().map_err(fault(rows))? {
            rows += 1;
            self.add(record)?;
        }
        if rows == 0 {
            return Err(DataError::Empty { files: file.named() }.into());
        }
        Ok(())
    }

    /// Adds the answer of an entry, or counts the entry if it has none.
    fn add(&mut self, record: Record) -> Result<(), AnswersError> {
        let place = record.place;
        let entry = |message: String| AnswersError::Entry { file: self.found.file.named(), place, message };
        let parsed = match &record.content {
            Content::Raw(bytes) => gage_core::parse_json(bytes, MAX_ROW_VALUES),
            Content::Made(text) => gage_core::parse_json(text.as_bytes(), MAX_ROW_VALUES),
            Content::Broken { message, .. } => return Err(entry(message.clone())),
        };
        let value = parsed.map_err(|error| entry(format!("it is not JSON: {error}")))?;
        let found = self.fields.read(value).map_err(entry)?;
        self.kept += found.outputs.len().max(1);
        self.kept_bytes += found.kept_bytes();
        if self.kept > self.limits.answers || self.kept_bytes > self.limits.bytes {
            return Err(AnswersError::TooLarge { file: self.found.file.named() });
        }
        let FoundAnswer { task_id, key, outputs, error } = found;
        // An entry without an answer keeps its place in the order.
        let number = self.counts.entry(task_id.clone()).or_default();
        let key = key.unwrap_or(AnswerKey::Order(*number));
        *number += 1;
        self.found.unanswered += u64::from(outputs.is_empty());
        self.found.answers.push(GivenAnswer { place, task_id, key, outputs, error });
        Ok(())
    }
}

//! Converts a log of Inspect to a suite, its rows and its answers. A run of the suite has the scores of the log.

mod archive;
mod content;
mod error;
mod figures;
mod ids;
mod sample;
mod scorers;
mod suite;

pub use error::InspectLogError;

use crate::convert::Import;
use crate::note::Notes;
use archive::{Archive, MAX_LOG_BYTES, read_bounded};
use gage_core::{max_json_values, parse_json};
use sample::{LogSample, SampleConversion};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::io::{Read, Seek, SeekFrom};

/// Name of the suite that gives the scores of the log.
pub const RECORDED_SUITE: &str = "recorded.yaml";
/// Name of the suite that scores the answers of any model.
pub const SUITE: &str = "suite.yaml";
/// Name of the file of rows.
pub const ROWS: &str = "rows.jsonl";
/// Name of the file of answers.
pub const ANSWERS: &str = "answers.jsonl";

/// Bytes at the start of a zip archive.
const ZIP_START: &[u8] = b"PK";

/// The head of a log.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LogHead {
    #[serde(default)]
    status: String,
    #[serde(default)]
    eval: Map<String, Value>,
    #[serde(default)]
    results: Option<Value>,
}

/// A log in one file of JSON.
#[derive(Deserialize)]
struct WholeLog {
    #[serde(default)]
    version: Option<Value>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    eval: Map<String, Value>,
    #[serde(default)]
    results: Option<Value>,
    #[serde(default)]
    samples: Option<Vec<LogSample>>,
}

/// Converts a log: `.eval`, which is a zip archive, or `.json`. `name` is the name of the file. The files of the result are
/// [`SUITE`], [`ROWS`] and [`ANSWERS`]; its suite is [`RECORDED_SUITE`].
///
/// # Errors
/// If the log cannot be read, is not a log of Inspect, exceeds a limit, or has no answer.
pub fn import_inspect(name: &str, mut log: impl Read + Seek) -> Result<Import, InspectLogError> {
    let mut start = Vec::new();
    log.by_ref().take(ZIP_START.len() as u64).read_to_end(&mut start)?;
    log.seek(SeekFrom::Start(0))?;
    let mut converted = SampleConversion::default();
    let head =
        if start == ZIP_START { read_archive(log, &mut converted)? } else { read_json(log, &mut converted)? };
    if converted.is_empty() {
        return Err(InspectLogError::NoSamples);
    }
    if converted.errors == converted.len() {
        return Err(InspectLogError::OnlyErrors { samples: converted.len() });
    }
    let mut notes = Notes::default();
    Ok(suite::write(name, &head, converted, &mut notes))
}

fn read_archive(log: impl Read + Seek, converted: &mut SampleConversion) -> Result<LogHead, InspectLogError> {
    let mut archive = Archive::open(log)?;
    // A log that was interrupted has no header, only its beginning.
    let head = match archive.member("header.json")? {
        Some(bytes) => bytes,
        None => archive.member("_journal/start.json")?.ok_or(InspectLogError::NotALog)?,
    };
    let head: LogHead = parse("header.json", &head)?;
    for name in archive.names_below("samples/") {
        let Some(bytes) = archive.member(&name)? else { continue };
        converted.add(parse::<LogSample>(&name, &bytes)?)?;
    }
    Ok(head)
}

fn read_json(log: impl Read, converted: &mut SampleConversion) -> Result<LogHead, InspectLogError> {
    let bytes = read_bounded(log, MAX_LOG_BYTES, "the log")?;
    let log: WholeLog = parse("the log", &bytes)?;
    if log.version.is_none() || log.eval.is_empty() {
        return Err(InspectLogError::NotALog);
    }
    for sample in log.samples.into_iter().flatten() {
        converted.add(sample)?;
    }
    Ok(LogHead { status: log.status, eval: log.eval, results: log.results })
}

/// Parses a part of a log. Python writes `NaN` and infinite numbers, which JSON does not have: they are null here.
fn parse<T: DeserializeOwned>(part: &str, bytes: &[u8]) -> Result<T, InspectLogError> {
    // Events of a sample are many small values, which are skipped.
    const MIN_BYTES_PER_VALUE_FACTOR: usize = 8;
    let most = max_json_values(bytes.len()).saturating_mul(MIN_BYTES_PER_VALUE_FACTOR);
    let parsed = match parse_json(bytes, most) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => match with_finite_numbers(bytes) {
            Some(finite) => parse_json(&finite, most),
            None => Err(error),
        },
    };
    parsed.map_err(|source| InspectLogError::Json { part: part.to_owned(), source })
}

/// Replaces the numbers of Python that JSON does not have by null. `None` if there are none.
fn with_finite_numbers(bytes: &[u8]) -> Option<Vec<u8>> {
    const NOT_FINITE: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let mut finite = Vec::with_capacity(bytes.len());
    let (mut is_text, mut is_replaced) = (false, false);
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let number = NOT_FINITE.iter().find(|number| !is_text && rest.starts_with(number));
        if let Some(number) = number {
            finite.extend_from_slice(b"null");
            is_replaced = true;
            rest = &rest[number.len()..];
            continue;
        }
        match first {
            b'"' => is_text = !is_text,
            // The next byte has no meaning of its own.
            b'\\' if is_text => {
                if let Some((escaped, others)) = after.split_first() {
                    finite.extend_from_slice(&[*first, *escaped]);
                    rest = others;
                    continue;
                }
            }
            _ => {}
        }
        finite.push(*first);
        rest = after;
    }
    is_replaced.then_some(finite)
}

/// Returns a name as one part of a field path.
fn part_of(name: &str) -> String {
    name.chars().map(|one| if one.is_alphanumeric() || "_-".contains(one) { one } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_become_null() {
        for (json, expected) in [
            (r#"{"a": NaN, "b": [-Infinity, Infinity]}"#, Some(r#"{"a": null, "b": [null, null]}"#)),
            (r#"{"a": "NaN \"NaN", "b": NaN}"#, Some(r#"{"a": "NaN \"NaN", "b": null}"#)),
            (r#"{"a": "NaN"}"#, None),
            ("\"\\", None),
        ] {
            let found = with_finite_numbers(json.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{json}");
        }
    }
}

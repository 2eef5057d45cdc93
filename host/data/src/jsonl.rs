//! The `jsonl` loader: one JSON object a line.

use crate::labels::Labels;
use crate::row::{DataError, Row, RowProblem};
use crate::shuffle::shuffle;
use gage_config::DatasetSpec;
use gage_core::Digest;
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

/// A line may not be longer than this.
const MOST_BYTES: u64 = 64 << 20;
/// A file that is larger than this is not counted beforehand.
const MOST_COUNTED: u64 = 256 << 20;
/// How much of a broken row is kept.
const SHOWN_CHARACTERS: usize = 2_000;

/// The rows of a JSONL file. Blank lines are no rows.
pub struct JsonlRows {
    path: PathBuf,
    file: BufReader<File>,
    labels: Option<Labels>,
    /// Where to go on; for a shuffled file the places of all rows.
    order: Order,
    given: u64,
    most: u64,
    total: Option<u64>,
}

enum Order {
    OfFile { line: u64, number: u64 },
    Shuffled(std::vec::IntoIter<Place>),
}

#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    line: u64,
    number: u64,
}

impl JsonlRows {
    pub(crate) fn open(spec: &DatasetSpec, most: u64) -> Result<JsonlRows, DataError> {
        let unreadable = |error| DataError::unreadable(&spec.path, error);
        let file = File::open(&spec.path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
        }
        let labels =
            spec.labels_path.as_ref().map(|path| Labels::read(path, &spec.label_field)).transpose()?;
        let mut rows = JsonlRows {
            path: spec.path.clone(),
            file: BufReader::with_capacity(1 << 18, file),
            labels,
            order: Order::OfFile { line: 0, number: 0 },
            given: 0,
            most,
            total: None,
        };
        let is_counted =
            rows.file.get_ref().metadata().map_err(unreadable)?.len() <= MOST_COUNTED && most > 1;
        let wanted = if spec.shuffle || is_counted { usize::MAX } else { 1 };
        let first = rows.places(wanted).map_err(unreadable)?;
        rows.total = (wanted > 1).then_some(first.len() as u64);
        if first.is_empty() {
            return Err(DataError::Empty { path: spec.path.clone() });
        }
        if spec.shuffle {
            let mut places = first;
            shuffle(&mut places, spec.seed);
            rows.order = Order::Shuffled(places.into_iter());
        }
        rows.file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        Ok(rows)
    }

    /// How many rows will be given, where the file is small enough to count them.
    pub fn total(&self) -> Option<u64> {
        self.total.map(|total| total.min(self.most))
    }

    /// Where the rows begin, up to a number of them.
    fn places(&mut self, most: usize) -> std::io::Result<Vec<Place>> {
        let mut places = Vec::new();
        let (mut offset, mut line) = (0_u64, 0_u64);
        let mut bytes = Vec::new();
        while places.len() < most {
            bytes.clear();
            let length = self.read_line(&mut bytes)?;
            if length == 0 {
                break;
            }
            line += 1;
            if !is_blank(&bytes) {
                places.push(Place { offset, line, number: places.len() as u64 });
            }
            offset += length;
        }
        Ok(places)
    }

    /// Reads a line, keeping no more of it than is allowed, and returns how long it is.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<u64> {
        let mut length = self.file.by_ref().take(MOST_BYTES).read_until(b'\n', bytes)? as u64;
        while length >= MOST_BYTES && bytes.last() != Some(&b'\n') {
            let mut rest = Vec::new();
            let more = self.file.by_ref().take(MOST_BYTES).read_until(b'\n', &mut rest)? as u64;
            length += more;
            if more == 0 || rest.last() == Some(&b'\n') {
                break;
            }
        }
        Ok(length)
    }

    fn next_row(&mut self) -> std::io::Result<Option<Row>> {
        let mut bytes = Vec::new();
        let place = match &mut self.order {
            Order::Shuffled(places) => {
                let Some(place) = places.next() else { return Ok(None) };
                self.file.seek(SeekFrom::Start(place.offset))?;
                self.read_line(&mut bytes)?;
                place
            }
            Order::OfFile { .. } => loop {
                bytes.clear();
                if self.read_line(&mut bytes)? == 0 {
                    return Ok(None);
                }
                let Order::OfFile { line, number } = &mut self.order else { return Ok(None) };
                *line += 1;
                if !is_blank(&bytes) {
                    let place = Place { offset: 0, line: *line, number: *number };
                    *number += 1;
                    break place;
                }
            },
        };
        if place.line == 1 {
            // A byte order mark is no part of the first row.
            if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
                bytes = rest.to_vec();
            }
        }
        let index = self.given;
        self.given += 1;
        Ok(Some(self.row(index, place, &bytes)))
    }

    fn row(&self, index: u64, place: Place, bytes: &[u8]) -> Row {
        let text = bytes.trim_ascii_end();
        let body = check(text).and_then(|text| match &self.labels {
            Some(labels) => labels.join(place.number, text),
            None => Ok(text.to_owned()),
        });
        let digest = match (&self.labels, &body) {
            (Some(_), Ok(body)) => Digest::of_bytes(body.as_bytes()).short(),
            _ => Digest::of_bytes(text).short(),
        };
        let body = body.map_err(|message| RowProblem {
            message: format!("line {} of {}: {message}", place.line, self.path.display()),
            text: String::from_utf8_lossy(text).chars().take(SHOWN_CHARACTERS).collect(),
        });
        Row { index, number: place.number, line: place.line, digest, body }
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.trim_ascii().is_empty()
}

/// The text of a line, if it is a JSON object.
fn check(bytes: &[u8]) -> Result<&str, String> {
    if bytes.len() as u64 >= MOST_BYTES {
        return Err(format!("the row is longer than {MOST_BYTES} bytes"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("the row is not UTF-8 behind byte {}", error.valid_up_to()))?;
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| format!("the row is not JSON: {} (column {})", describe(&error), error.column()))?;
    if !text.trim_start().starts_with('{') {
        return Err("the row is not a JSON object".to_owned());
    }
    Ok(text)
}

/// The message of an error without the line, which is always 1 here.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

impl Iterator for JsonlRows {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Result<Row, DataError>> {
        if self.given >= self.most {
            return None;
        }
        match self.next_row() {
            Ok(row) => row.map(Ok),
            Err(error) => {
                self.most = 0;
                Some(Err(DataError::unreadable(&self.path, error)))
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! The `json` loader: an array of objects, returned element by element.
//!
//! The crate `struson` is not used: it returns tokens, not the text of an element. Here rows keep their text, and a
//! broken element does not affect the others.

mod scan;

use super::input::{BYTE_ORDER_MARK, Input};
use super::{Content, Loader, LoaderError, MAX_ROW_BYTES, Position, Record};
use crate::row::RowPosition;
use scan::{ScanStatus, ValueScanner};

const IS_LINES: &str = "this is JSON Lines; use loader: jsonl";
/// Number of keys that a message names.
const MAX_SHOWN_KEYS: usize = 12;
/// Nesting depth up to which objects are searched for arrays to name in a message.
const MAX_DEPTH: usize = 4;

pub(crate) struct Array {
    input: Input,
    /// Path to the array, if it is not the whole file.
    records: Option<String>,
    state: ArrayState,
    /// Position of the next byte.
    at: Position,
    element: u64,
    /// Number of objects around the array.
    around: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum ArrayState {
    Outside,
    Inside,
    Over,
}

/// Kind of value at a path.
enum ArrayElement {
    Array,
    Nothing,
}

impl Array {
    pub(crate) fn new(input: Input, records: Option<String>) -> Array {
        let at = Position { line: 1, column: 1 };
        Array { input, records, state: ArrayState::Outside, at, element: 0, around: 0 }
    }

    /// Advances to the first element of the array.
    fn enter(&mut self) -> Result<ArrayState, LoaderError> {
        if self.input.chunk()?.starts_with(BYTE_ORDER_MARK) {
            self.input.consume(BYTE_ORDER_MARK.len());
        }
        let first = self.peek()?;
        match (first, self.records.clone()) {
            (None, _) => Ok(ArrayState::Over),
            (Some(b'['), None) => {
                self.step();
                Ok(ArrayState::Inside)
            }
            (Some(b'['), Some(records)) => Err(LoaderError::Unsuited(format!(
                "the file is an array itself; leave out 'records', which is '{records}'"
            ))),
            (Some(b'{'), records) => self.enter_object(records.as_deref()),
            (Some(byte), _) => {
                let message = format!("the file begins with '{}', not with '['", byte.escape_ascii());
                Err(LoaderError::Unsuited(format!("{message}; loader json reads an array of objects")))
            }
        }
    }

    fn enter_object(&mut self, records: Option<&str>) -> Result<ArrayState, LoaderError> {
        let mut keys = Vec::new();
        self.step();
        if let ArrayElement::Array = self.seek(records, "", &mut keys, 1)? {
            return Ok(ArrayState::Inside);
        }
        if self.peek()?.is_some() {
            return Err(LoaderError::Unsuited(IS_LINES.to_owned()));
        }
        let keys = match keys.is_empty() {
            true => "there is none".to_owned(),
            false => format!("arrays are at: {}", gage_core::name_list(keys, MAX_SHOWN_KEYS, ", ")),
        };
        Err(LoaderError::Unsuited(match records {
            Some(records) => format!(
                "the object has no array at '{records}' ('records' takes object keys between dots, and no \
                 list indexes); {keys}"
            ),
            None => format!(
                "the file is one object, not an array; name the array in it with 'records' ({keys}), put the object \
                 into a list if it is a row itself, or use loader: jsonl if each line is a row"
            ),
        }))
    }

    /// Looks for a path in the object that was entered, and leaves the object if it is not there. Collects the keys
    /// of the arrays it encounters.
    fn seek(
        &mut self,
        path: Option<&str>,
        before: &str,
        keys: &mut Vec<String>,
        depth: usize,
    ) -> Result<ArrayElement, LoaderError> {
        while let Some(key) = self.key()? {
            let value = self.peek()?;
            let rest = path.and_then(|path| path.strip_prefix(key.as_str()));
            match (rest, value) {
                (Some(""), Some(b'[')) => {
                    self.step();
                    self.around = depth;
                    return Ok(ArrayElement::Array);
                }
                (Some(rest), Some(b'{')) if rest.starts_with('.') => {
                    self.step();
                    let within = format!("{before}{key}.");
                    if let ArrayElement::Array = self.seek(rest.get(1..), &within, keys, depth + 1)? {
                        return Ok(ArrayElement::Array);
                    }
                }
                // Nested arrays are collected only for the message.
                (_, Some(b'{')) if depth < MAX_DEPTH => {
                    self.step();
                    self.seek(None, &format!("{before}{key}."), keys, depth + 1)?;
                }
                (_, value) => {
                    if value == Some(b'[') && keys.len() < MAX_SHOWN_KEYS {
                        keys.push(format!("{before}{key}"));
                    }
                    self.value(None)?;
                }
            }
            self.separator()?;
        }
        Ok(ArrayElement::Nothing)
    }

    /// Returns the next key of an object and consumes its colon. `None` after the object's end.
    fn key(&mut self) -> Result<Option<String>, LoaderError> {
        match self.peek()? {
            Some(b'}') => {
                self.step();
                return Ok(None);
            }
            Some(b'"') => {}
            other => return Err(self.unexpected("a key or '}'", other)),
        }
        let (begin, mut bytes) = (self.at, Vec::new());
        self.value(Some(&mut bytes))?;
        let key = serde_json::from_slice(&bytes).map_err(|error| {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            LoaderError::Damaged(format!("the key at {begin} is broken: {what}"))
        })?;
        match self.peek()? {
            Some(b':') => self.step(),
            other => return Err(self.unexpected("':'", other)),
        }
        Ok(Some(key))
    }

    /// Skips the comma between two values of an object; stays before its end.
    fn separator(&mut self) -> Result<(), LoaderError> {
        match self.peek()? {
            Some(b'}') => Ok(()),
            Some(b',') => {
                self.step();
                match self.peek()? {
                    Some(b'"') => Ok(()),
                    other => Err(self.unexpected("a key", other)),
                }
            }
            other => Err(self.unexpected("',' or '}'", other)),
        }
    }

    /// Checks that only the rest of the enclosing objects follows the array.
    fn leave(&mut self) -> Result<(), LoaderError> {
        while self.around > 0 {
            self.around -= 1;
            self.separator()?;
            while self.key()?.is_some() {
                self.value(None)?;
                self.separator()?;
            }
        }
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(LoaderError::Damaged(format!(
                "unexpected text after the end of the array, at {}",
                self.at
            ))),
        }
    }

    /// Reads the next value, keeping at most [`MAX_ROW_BYTES`] of it.
    fn value(&mut self, mut kept: Option<&mut Vec<u8>>) -> Result<(), LoaderError> {
        let next = self.peek()?;
        if matches!(next, None | Some(b',' | b']' | b'}' | b':')) {
            return Err(self.unexpected("a value", next));
        }
        let first = self.at;
        let mut scan = ValueScanner::default();
        loop {
            let chunk = self.input.chunk()?;
            if chunk.is_empty() {
                return match scan.is_scalar() {
                    true => Ok(()),
                    false => Err(LoaderError::Damaged(format!(
                        "the file ends inside a value that begins at {first}"
                    ))),
                };
            }
            let (length, status) = scan.feed(chunk);
            let part = chunk.get(..length).unwrap_or(chunk);
            if let Some(kept) = &mut kept {
                let room = MAX_ROW_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(part.get(..room).unwrap_or(part));
            }
            self.at.pass(part);
            self.input.consume(length);
            if status == ScanStatus::Over {
                return Ok(());
            }
        }
    }

    /// Returns the next non-blank byte.
    fn peek(&mut self) -> Result<Option<u8>, LoaderError> {
        loop {
            let chunk = self.input.chunk()?;
            let length = chunk.len();
            let blanks = chunk.iter().position(|byte| !byte.is_ascii_whitespace());
            let skipped = chunk.get(..blanks.unwrap_or(length)).unwrap_or(chunk);
            let found = chunk.get(skipped.len()).copied();
            let consumed = skipped.len();
            self.at.pass(skipped);
            self.input.consume(consumed);
            if found.is_some() || length == 0 {
                return Ok(found);
            }
        }
    }

    /// Skips the byte that was peeked at.
    fn step(&mut self) {
        self.at.column += 1;
        self.input.consume(1);
    }

    fn unexpected(&self, expected: &str, found: Option<u8>) -> LoaderError {
        LoaderError::Damaged(match found {
            Some(byte) => {
                format!("expected {expected} at {}, found '{}'", self.at, byte.escape_ascii())
            }
            None => format!("the file ends where {expected} is expected"),
        })
    }
}

impl Loader for Array {
    fn next(&mut self) -> Result<Option<Record>, LoaderError> {
        if self.state == ArrayState::Outside {
            self.state = self.enter()?;
        }
        if self.state == ArrayState::Over {
            return Ok(None);
        }
        let first = self.peek()?;
        if first == Some(b']') {
            self.step();
            self.state = ArrayState::Over;
            self.leave()?;
            return Ok(None);
        }
        if self.element > 0 {
            if first != Some(b',') {
                return Err(self.unexpected("',' or ']'", first));
            }
            self.step();
            self.peek()?;
        }
        let (begin, mut bytes) = (self.at, Vec::new());
        self.value(Some(&mut bytes))?;
        self.element += 1;
        let (place, begin) = (RowPosition::Row(self.element), Some(begin));
        Ok(Some(Record { place, begin, content: Content::Raw(bytes) }))
    }
}

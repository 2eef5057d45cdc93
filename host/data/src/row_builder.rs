//! Construction of rows from records: each is checked, joined with its label, and filtered.

use crate::filter::Filter;
use crate::labels::Labels;
use crate::loader::{Content, MAX_ROW_BYTES, NumberedRecord, Position, Record};
use crate::missing_fields::FieldWatch;
use crate::row::{Row, RowPosition, RowProblem};
use gage_core::{Object, quote_long_integers};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;

/// Builds rows from records.
pub(crate) struct RowBuilder {
    /// Files as messages show them.
    pub files: Vec<String>,
    pub labels: Option<Labels>,
    pub filter: Filter,
    /// Watches the fields that the filter names.
    pub watch: FieldWatch,
}

/// Text of a row, or its problem and its bytes.
type CheckedRow = Result<String, (String, Vec<u8>)>;

impl RowBuilder {
    /// Builds the row of a record, `None` if the filter excludes it. The caller sets its `index`.
    pub(crate) fn build(&mut self, numbered: NumberedRecord) -> Option<Row> {
        let NumberedRecord { number, file, record: Record { place, begin, content } } = numbered;
        let body = self.check(number, begin, content)?.map_err(|(message, bytes)| {
            let name = self.files.get(file).map(String::as_str).unwrap_or_default();
            let place = match (place, begin) {
                (RowPosition::Row(row), Some(begin)) => format!("element {row} ({begin})"),
                _ => place.to_string(),
            };
            let hint = match bytes.first() {
                Some(b'[') if place == "line 1" => "; an array of objects is read by loader: json",
                _ => "",
            };
            RowProblem::new(format!("{place} of {name}: {message}{hint}"), &bytes)
        });
        Some(Row { index: 0, number, file, place, body })
    }

    /// Checks a row; `None` if the filter excludes it.
    fn check(&mut self, number: u64, begin: Option<Position>, content: Content) -> Option<CheckedRow> {
        let broken = |message, bytes| Some(Err((message, bytes)));
        let (text, is_sound) = match content {
            Content::Broken { message, bytes } => return broken(message, bytes),
            Content::Made(text) => (text, true),
            Content::Raw(bytes) if bytes.len() >= MAX_ROW_BYTES => {
                return broken(format!("the row is longer than {MAX_ROW_BYTES} bytes"), bytes);
            }
            Content::Raw(bytes) => match String::from_utf8(bytes) {
                Ok(text) => (text, false),
                Err(error) => {
                    let valid = error.utf8_error().valid_up_to();
                    return broken(format!("the row is not UTF-8 after byte {valid}"), error.into_bytes());
                }
            },
        };
        if self.labels.is_none() && self.filter.is_empty() {
            // The values are not needed, so they are not parsed.
            let problem = if is_sound { None } else { problem_of(&text, begin) };
            return match problem {
                None => Some(Ok(with_all_digits(text))),
                Some(message) => broken(message, text.into_bytes()),
            };
        }
        let mut object: Object = match serde_json::from_str(&quote_long_integers(&text)) {
            Ok(object) => object,
            Err(error) => {
                let message = problem_of(&text, begin).unwrap_or_else(|| describe(&error, begin));
                return broken(message, text.into_bytes());
            }
        };
        if let Some(labels) = &self.labels
            && let Err(message) = labels.join(number, &mut object)
        {
            return broken(message, text.into_bytes());
        }
        let value = Value::Object(object);
        self.watch.observe(&value);
        if !self.filter.keeps(&value) {
            return None;
        }
        Some(Ok(if self.labels.is_some() { value.to_string() } else { with_all_digits(text) }))
    }
}

/// Converts whole numbers of a row that do not fit into 64 bits to texts.
fn with_all_digits(text: String) -> String {
    match quote_long_integers(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(quoted) => quoted,
    }
}

/// Returns the reason why a text is not a JSON object.
fn problem_of(text: &str, begin: Option<Position>) -> Option<String> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) => Some(describe(&error, begin)),
        Ok(_) if !text.trim_start().starts_with('{') => Some("the row is not a JSON object".to_owned()),
        Ok(_) => None,
    }
}

/// Describes the problem of a text and its place: the column for a single-line row, otherwise the place in the file.
fn describe(error: &serde_json::Error, begin: Option<Position>) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let (line, column) = (error.line() as u64, error.column() as u64);
    match begin {
        None => format!("the row is not JSON: {what} (column {column})"),
        Some(begin) => {
            // The row may not start at the beginning of its first line.
            let before = if line <= 1 { begin.column.saturating_sub(1) } else { 0 };
            let at = Position { line: begin.line + line.saturating_sub(1), column: before + column };
            format!("the row is not JSON: {what} ({at})")
        }
    }
}

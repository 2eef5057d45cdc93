//! Construction of rows from records: each is checked, joined with its subset and its label, and filtered. Its examples
//! are picked.

use crate::filter::Filter;
use crate::labels::Labels;
use crate::loader::{Content, MAX_ROW_BYTES, MAX_ROW_VALUES, NumberedRecord, Position, Record};
use crate::missing_fields::FieldWatch;
use crate::object_text::with_member;
use crate::row::{Row, RowPosition, RowProblem};
use crate::row_fields::RowFields;
use crate::source::{RowSource, SubsetFiles};
use gage_config::SUBSET_FIELD;
use gage_core::{Object, has_more_values, quote_long_integers};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;

/// Picks examples of rows.
pub(crate) trait PickExamples: Send {
    /// Picks the examples of the next row of a subset. `row` is its text, or `None` if it cannot be read.
    ///
    /// # Errors
    /// Says what the row lacks.
    fn pick(&mut self, subset: usize, row: Option<&str>) -> Result<Vec<u32>, String>;
}

/// Builds rows from records.
pub(crate) struct RowBuilder {
    /// Files as messages show them.
    pub files: Vec<String>,
    pub labels: Option<Labels>,
    pub filter: Filter,
    /// Watches the fields that the filter names.
    pub watch: FieldWatch,
    /// Subsets whose names rows get.
    pub subsets: Vec<SubsetFiles>,
    /// Picks the examples of each row.
    pub examples: Option<Box<dyn PickExamples>>,
}

/// Problem of a row, and its bytes.
type BrokenRow = (String, Vec<u8>);

impl RowBuilder {
    /// Creates a builder of rows as they are in the files of a source.
    pub(crate) fn plain(source: &RowSource) -> RowBuilder {
        let filter = Filter::default();
        RowBuilder {
            files: source.files.iter().map(|file| file.shown.clone()).collect(),
            labels: None,
            watch: FieldWatch::new(&filter),
            filter,
            subsets: Vec::new(),
            examples: None,
        }
    }

    /// Builds the row of a record, `None` if the filter excludes it. The caller sets its `index`.
    pub(crate) fn build(&mut self, numbered: NumberedRecord) -> Option<Row> {
        let NumberedRecord { number, file, record: Record { place, begin, content } } = numbered;
        let checked = self.check(number, file, begin, content)?.map_err(|(message, bytes)| {
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
        let (body, examples) = match checked {
            Ok((text, examples)) => (Ok(text), examples),
            Err(problem) => (Err(problem), Vec::new()),
        };
        Some(Row { index: 0, number, file, place, body, examples })
    }

    /// Checks a row, and picks its examples; `None` if the filter excludes it.
    fn check(
        &mut self,
        number: u64,
        file: usize,
        begin: Option<Position>,
        content: Content,
    ) -> Option<Result<(String, Vec<u32>), BrokenRow>> {
        let subset = self.subset_of(file);
        let name = self.subsets.get(subset).map(|subset| Value::from(subset.name.as_str()).to_string());
        let read = text_of(content, begin).map(|text| match name {
            Some(name) => with_member(&text, SUBSET_FIELD, &name),
            None => text,
        });
        // A random draw depends on the rows before it, whatever becomes of them.
        let picked = match &mut self.examples {
            Some(picker) => picker.pick(subset, read.as_deref().ok()),
            None => Ok(Vec::new()),
        };
        let text = match read {
            Ok(text) => text,
            Err(broken) => return Some(Err(broken)),
        };
        let text = match &self.labels {
            None => text,
            Some(labels) => match with_label(&text, number, labels) {
                Ok(labelled) => labelled,
                Err(message) => return Some(Err((message, text.into_bytes()))),
            },
        };
        if !self.filter.is_empty() {
            let mut fields = RowFields::new(&text);
            self.watch.observe(&mut fields);
            if !self.filter.keeps(&mut fields) {
                return None;
            }
        }
        Some(match picked {
            Ok(examples) => Ok((text, examples)),
            Err(message) => Err((message, text.into_bytes())),
        })
    }

    /// Returns the number of the subset of a file; 0 without a list of subsets.
    fn subset_of(&self, file: usize) -> usize {
        let mut end = 0;
        let is_before = |subset: &&SubsetFiles| {
            end += subset.files;
            end <= file
        };
        self.subsets.iter().take_while(is_before).count()
    }
}

/// Returns the text of a record, if it is a JSON object.
fn text_of(content: Content, begin: Option<Position>) -> Result<String, BrokenRow> {
    let (text, is_sound) = match content {
        Content::Broken { message, bytes } => return Err((message, bytes)),
        Content::Made(text) => (text, true),
        Content::Raw(bytes) if bytes.len() >= MAX_ROW_BYTES => {
            return Err((format!("the row is longer than {MAX_ROW_BYTES} bytes"), bytes));
        }
        Content::Raw(bytes) => match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                return Err((format!("the row is not UTF-8 after byte {valid}"), error.into_bytes()));
            }
        },
    };
    let problem = if is_sound { None } else { problem_of(&text, begin) };
    match problem {
        Some(message) => Err((message, text.into_bytes())),
        None => Ok(with_all_digits(text)),
    }
}

/// Returns a row with its label. The row is built, so the number of its values is limited.
fn with_label(text: &str, number: u64, labels: &Labels) -> Result<String, String> {
    if has_more_values(text.as_bytes(), MAX_ROW_VALUES) {
        return Err(format!(
            "the row has more than {MAX_ROW_VALUES} JSON values, too many for a label to be added"
        ));
    }
    let mut object: Object =
        serde_json::from_str(text).map_err(|error| format!("no label can be added to the row: {error}"))?;
    labels.join(number, &mut object)?;
    Ok(Value::Object(object).to_string())
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

//! The `csv` and `tsv` loaders: delimited fields, each value a text.

mod fields;

use super::input::{BYTE_ORDER_MARK, Input};
use super::lines::BlankLines;
use super::{Content, Loader, LoaderError, MAX_ROW_BYTES, Record};
use crate::row::RowPosition;
use crate::source::FormatOptions;
use fields::FieldSplitter;

pub(crate) struct DelimitedLoader {
    input: Input,
    fields: FieldSplitter,
    /// Column names, written as JSON keys with their colon.
    keys: Vec<String>,
    /// Configured names, until the first record is known not to be a header.
    given: Option<Vec<String>>,
    line: u64,
}

/// Lines of one record: a single line, unless a quoted field spans several.
struct DelimitedLines {
    first: u64,
    bytes: Vec<u8>,
    problem: Option<String>,
}

impl DelimitedLoader {
    /// Reads the header, unless the columns are named.
    pub(crate) fn open(
        input: Input,
        options: &FormatOptions,
        delimiter: u8,
    ) -> Result<DelimitedLoader, LoaderError> {
        let mut delimited = DelimitedLoader {
            input,
            fields: FieldSplitter::new(delimiter),
            keys: Vec::new(),
            given: options.columns.clone(),
            line: 0,
        };
        let names = match &options.columns {
            Some(columns) => columns.clone(),
            None => {
                let names = with_index(delimited.header()?);
                check_form(&names, delimiter)?;
                names
            }
        };
        check_names(&names, options.columns.is_some())?;
        delimited.keys =
            names.iter().map(|name| format!("{}:", serde_json::Value::from(name.as_str()))).collect();
        Ok(delimited)
    }

    /// Counts the records that are left.
    pub(crate) fn count(mut self) -> Result<u64, LoaderError> {
        let mut records = 0;
        while self.read()?.is_some() {
            records += 1;
        }
        Ok(records)
    }

    /// Returns the names in the first line; empty if the file is empty.
    fn header(&mut self) -> Result<Vec<String>, LoaderError> {
        let Some(DelimitedLines { first, bytes, problem }) = self.read()? else { return Ok(Vec::new()) };
        let unsuited =
            |message: String| LoaderError::Unsuited(format!("the header (line {first}) {message}"));
        if let Some(problem) = problem {
            return Err(unsuited(format!("is broken: {problem}")));
        }
        if bytes.trim_ascii_end().contains(&b'\r') && !bytes.contains(&b'\n') {
            return Err(unsuited("ends with a lone carriage return; end lines with a line feed".to_owned()));
        }
        let names = self.fields.texts().map_err(unsuited)?;
        Ok(names.map(str::to_owned).collect())
    }

    /// Reads up to the end of a record, and splits it into fields. `None` at the end of the file. Empty lines are not
    /// records.
    fn read(&mut self) -> Result<Option<DelimitedLines>, LoaderError> {
        let (mut bytes, mut line, mut first, mut is_too_long) = (Vec::new(), Vec::new(), 0, false);
        let mut blank = BlankLines::default();
        self.fields.clear();
        loop {
            line.clear();
            let mut is_skimmed = false;
            if self.read_line(&mut line, &mut is_skimmed)? == 0 {
                if first == 0 {
                    return Ok(None);
                }
                // The last line may lack a line feed, which ends a record unless within quotes.
                self.fields.feed(b"\n", !is_too_long);
                if !self.fields.is_open() {
                    break;
                }
                let lines = self.line - first + 1;
                return Err(LoaderError::Damaged(format!(
                    "a quoted field that begins in line {first} does not end; it would take all {lines} lines up to \
                     the end of the file. Write a quote inside a quoted field twice"
                )));
            }
            self.line += 1;
            if self.line == 1 && line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            if first == 0 {
                if matches!(line.as_slice(), b"" | b"\n" | b"\r\n") {
                    blank.count(self.line, true).map_err(LoaderError::Unsuited)?;
                    continue;
                }
                first = self.line;
            }
            is_too_long = is_too_long || bytes.len() + line.len() >= MAX_ROW_BYTES;
            if !is_skimmed {
                self.fields.feed(&line, !is_too_long);
            }
            if bytes.is_empty() {
                std::mem::swap(&mut bytes, &mut line);
            } else if !is_too_long {
                bytes.extend_from_slice(&line);
            }
            if !self.fields.is_open() {
                break;
            }
        }
        let problem = match is_too_long {
            true => {
                let lines = self.line - first + 1;
                Some(format!("the record of {lines} lines is longer than {MAX_ROW_BYTES} bytes"))
            }
            false => self.fields.check(&bytes),
        };
        Ok(Some(DelimitedLines { first, bytes, problem }))
    }

    /// Reads a line. For one that is too long, the splitter looks only for its end.
    fn read_line(&mut self, line: &mut Vec<u8>, is_skimmed: &mut bool) -> Result<u64, LoaderError> {
        let DelimitedLoader { input, fields, .. } = self;
        input.read_line_with(line, |kept, beyond| {
            if !std::mem::replace(is_skimmed, true) {
                fields.feed(kept, false);
            }
            fields.feed(beyond, false);
        })
    }

    /// Refuses a first record that names columns if they are already configured; otherwise it would silently become a
    /// row.
    fn check_first(&mut self, line: u64) -> Result<(), LoaderError> {
        let Some(names) = self.given.take() else { return Ok(()) };
        let Ok(values) = self.fields.texts() else { return Ok(()) };
        let (mut same, mut other) = (0, 0);
        for (name, value) in names.iter().zip(values).filter(|(_, value)| !value.is_empty()) {
            let count = if name == value { &mut same } else { &mut other };
            *count += 1;
        }
        match same > 0 && other == 0 {
            true => Err(LoaderError::Unsuited(format!(
                "line {line} has the names that 'columns' gives: it is a header; leave out 'columns'"
            ))),
            false => Ok(()),
        }
    }

    /// Returns the record as the text of a JSON object.
    fn object(&self) -> Result<String, String> {
        let values = self.fields.texts().map_err(|problem| format!("the record {problem}"))?;
        let (found, expected) = (self.fields.count(), self.keys.len());
        if found != expected {
            return Err(format!("the record has {found} fields, but there are {expected} columns"));
        }
        let mut text = Vec::with_capacity(128);
        for (key, value) in self.keys.iter().zip(values) {
            text.push(if text.is_empty() { b'{' } else { b',' });
            text.extend_from_slice(key.as_bytes());
            serde_json::to_writer(&mut text, value).map_err(|error| error.to_string())?;
        }
        text.push(b'}');
        String::from_utf8(text).map_err(|error| error.to_string())
    }
}

impl Loader for DelimitedLoader {
    fn next(&mut self) -> Result<Option<Record>, LoaderError> {
        let Some(DelimitedLines { first, mut bytes, problem }) = self.read()? else { return Ok(None) };
        self.check_first(first)?;
        let made = problem.map_or_else(|| self.object(), Err);
        let content = match made {
            Ok(text) => Content::Made(text),
            Err(message) => {
                bytes.truncate(bytes.trim_ascii_end().len());
                Content::Broken { message, bytes }
            }
        };
        Ok(Some(Record { place: RowPosition::Line(first), begin: None, content }))
    }
}

/// Name of the first column if the header names all others. It contains the numbers that pandas writes before each
/// row.
const INDEX: &str = "index";

/// Names the first column if it is the only one without a name.
fn with_index(mut names: Vec<String>) -> Vec<String> {
    let is_free = !names.iter().any(|name| name == INDEX);
    match names.split_first_mut() {
        Some((first, rest)) if first.is_empty() && !rest.is_empty() && is_free => INDEX.clone_into(first),
        _ => {}
    }
    names
}

/// Checks that the header is not that of a file in another form: JSON, or fields with another separator.
fn check_form(names: &[String], delimiter: u8) -> Result<(), LoaderError> {
    let Some(first) = names.first() else { return Ok(()) };
    if first.starts_with("{\"") || first.starts_with("[{") {
        let message = "the file is JSON; use loader: jsonl, or loader: json if it is one array";
        return Err(LoaderError::Unsuited(message.to_owned()));
    }
    let [only] = names else { return Ok(()) };
    let found = [',', ';', '\t', '|'].into_iter().find(|one| only.contains(*one));
    let Some(found) = found.filter(|one| u32::from(*one) != u32::from(delimiter)) else { return Ok(()) };
    let advice = match found {
        '\t' => "use loader: tsv",
        ',' => "use loader: csv",
        _ => "separate the fields with commas, or name the only column in 'columns' and remove the header",
    };
    Err(LoaderError::Unsuited(format!(
        "the header has one column, '{}', and contains {found:?}, which this loader does not split at; {advice}",
        gage_core::shown_name(only)
    )))
}

fn check_names(names: &[String], is_given: bool) -> Result<(), LoaderError> {
    let origin = if is_given { "the option 'columns'" } else { "the header" };
    let advice = if is_given {
        ""
    } else {
        "; fix the line, or, if it is a row and not a header, name the columns in 'columns'"
    };
    let mut seen = std::collections::HashSet::new();
    for (position, name) in names.iter().enumerate() {
        let column = position + 1;
        if name.is_empty() {
            return Err(LoaderError::Unsuited(format!("column {column} of {origin} has no name{advice}")));
        }
        if !seen.insert(name.as_str()) {
            return Err(LoaderError::Unsuited(format!(
                "{origin} names the column '{}' twice (column {column}){advice}",
                gage_core::shown_name(name)
            )));
        }
    }
    Ok(())
}

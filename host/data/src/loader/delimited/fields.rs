//! Splitter of delimited records into fields: `csv-core` with an additional check.
//!
//! `csv-core` accepts text after a closing quote. Here that is an error, since it is nearly always a sign of wrong
//! quoting.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

/// Fields of one record, which is fed in pieces.
///
/// A field that begins with `"` extends to the next unpaired `"`; a pair stands for one quote. Quotes elsewhere are
/// text.
pub(crate) struct FieldSplitter {
    reader: Reader,
    delimiter: u8,
    /// Fields one after another, in the first `length` bytes.
    bytes: Vec<u8>,
    length: usize,
    /// End of each field, in the first `count` entries.
    ends: Vec<usize>,
    count: usize,
    is_open: bool,
}

impl FieldSplitter {
    pub(crate) fn new(delimiter: u8) -> FieldSplitter {
        let terminator = Terminator::Any(b'\n');
        let reader = ReaderBuilder::new().delimiter(delimiter).terminator(terminator).build();
        let (bytes, ends) = (vec![0; 4096], vec![0; 64]);
        FieldSplitter { reader, delimiter, bytes, length: 0, ends, count: 0, is_open: false }
    }

    /// Discards the fields, but not the state of the record.
    pub(crate) fn clear(&mut self) {
        (self.length, self.count) = (0, 0);
    }

    /// Returns whether the record continues after the pieces fed.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the number of fields.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the fields.
    pub(crate) fn texts(&self) -> Result<impl Iterator<Item = &str>, String> {
        let (bytes, ends) = self.parts();
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let field = ends.partition_point(|end| *end <= error.valid_up_to()) + 1;
            format!(
                "is not UTF-8 in field {field}; convert the file, for example with `iconv -f latin1 -t utf-8`"
            )
        })?;
        let mut start = 0;
        // The delimiter is ASCII, so every end is between two characters.
        Ok(ends
            .iter()
            .map(move |end| text.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default()))
    }

    fn parts(&self) -> (&[u8], &[usize]) {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        (bytes, self.ends.get(..self.count).unwrap_or_default())
    }

    /// Takes a piece of a record, which may end anywhere but after the record. Keeps its fields, or only looks for
    /// the end of the record.
    pub(crate) fn feed(&mut self, piece: &[u8], is_kept: bool) {
        let mut rest = piece;
        loop {
            let (bytes, ends) = (self.bytes.get_mut(self.length..), self.ends.get_mut(self.count..));
            let (bytes, ends) = (bytes.unwrap_or_default(), ends.unwrap_or_default());
            let (result, read, written, ended) = self.reader.read_record(rest, bytes, ends);
            rest = rest.get(read..).unwrap_or_default();
            if is_kept {
                self.length += written;
                self.count += ended;
            }
            self.is_open = !matches!(result, ReadRecordResult::Record | ReadRecordResult::End);
            match result {
                ReadRecordResult::OutputFull if is_kept => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if is_kept => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::InputEmpty | ReadRecordResult::Record | ReadRecordResult::End => return,
            }
        }
    }

    /// Removes the carriage return before the line feed that ended the record, and returns the problem of the
    /// record's quotes. The record is given as it is in the file.
    pub(crate) fn check(&mut self, record: &[u8]) -> Option<String> {
        if record.ends_with(b"\r\n")
            && let Some(last) = self.count.checked_sub(1).and_then(|last| self.ends.get_mut(last))
        {
            *last -= 1;
            self.length -= 1;
        }
        let (bytes, ends) = self.parts();
        let (mut start, mut rest) = (0, record);
        for (index, end) in ends.iter().enumerate() {
            let field = bytes.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default();
            let mut length = field.len();
            if rest.first() == Some(&b'"') {
                let doubled = field.split(|byte| *byte == b'"').collect::<Vec<_>>().join(&b"\"\""[..]);
                let quoted = [b"\"", doubled.as_slice(), b"\""].concat();
                length = quoted.len();
                let is_end = |byte: &u8| *byte == self.delimiter || matches!(*byte, b'\r' | b'\n');
                if !rest.starts_with(&quoted) || !rest.get(length).is_none_or(is_end) {
                    let field = index + 1;
                    return Some(format!(
                        "text follows the closing quote of field {field}; write a quote inside a quoted field twice"
                    ));
                }
            }
            rest = rest.get(length + 1..).unwrap_or_default();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields_of(record: &str) -> (Vec<String>, bool, bool) {
        let mut fields = FieldSplitter::new(b',');
        record.split_inclusive('\n').for_each(|line| fields.feed(line.as_bytes(), true));
        if fields.is_open() {
            fields.feed(b"\n", true);
        }
        let is_broken = fields.check(record.as_bytes()).is_some();
        let texts = fields.texts().expect("UTF-8").map(str::to_owned).collect();
        (texts, fields.is_open(), is_broken)
    }

    #[test]
    fn records_are_split_into_fields() {
        let long = format!("{},\"{}\"\n", "x".repeat(10_000), "y\"\"".repeat(5_000));
        let (x, y) = ("x".repeat(10_000), "y\"".repeat(5_000));
        let many = format!("{}\n", ["a"; 100].join(","));
        for (record, expected) in [
            ("a,b\n", &["a", "b"][..]),
            ("a,b", &["a", "b"]),
            ("a,b\r\n", &["a", "b"]),
            ("a,b\r", &["a", "b\r"]),
            ("a\rb,c\n", &["a\rb", "c"]),
            (",\n", &["", ""]),
            ("\"\",\"\"\n", &["", ""]),
            ("\"a,b\",c\n", &["a,b", "c"]),
            ("\"a\"\"b\"\n", &["a\"b"]),
            ("\"a\r\nb\",\"\n\n\"\r\n", &["a\r\nb", "\n\n"]),
            ("5\" disk,a\"b\n", &["5\" disk", "a\"b"]),
            (" a , \"b\"\n", &[" a ", " \"b\""]),
            ("ä,\"ö\"\n", &["ä", "ö"]),
            (&long, &[&x, &y]),
            (&many, &["a"; 100]),
        ] {
            let (fields, is_open, is_broken) = fields_of(record);
            assert_eq!(fields, expected, "{record:?}");
            assert!(!is_open && !is_broken, "{record:?}");
        }
    }

    #[test]
    fn pieces_of_a_record_end_where_it_does() {
        for record in
            ["a,b\n", "a,\"b\n", "\"a\"\"\",\"b\"\n", "\"a,\"\"\n", "a\"b,\"c\"d\n", "\"\"\r\n", "x,\"\"\"\n"]
        {
            for size in 1..record.len() {
                let mut fields = FieldSplitter::new(b',');
                record.as_bytes().chunks(size).for_each(|piece| fields.feed(piece, false));
                assert_eq!(fields.is_open(), fields_of(record).1, "{record:?} by {size}");
            }
        }
    }

    #[test]
    fn broken_quotes_are_noticed() {
        assert!(fields_of("a,\"b\n").1);
        assert!(fields_of("a,\"b\"\"\n").1);
        for record in ["a,\"b\"c,d\n", "\"a\" ,b\n", "\"a\"b\",c\n", "\"a\"\r", "\"a\"\"b\"c\n"] {
            assert!(fields_of(record).2, "{record:?}");
        }
    }
}

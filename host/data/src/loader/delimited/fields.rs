//! The splitter of delimited records into fields.
//!
//! The crate `csv-core` is not used because it accepts text after a closing quote without a report; here that is an error,
//! since it is nearly always a sign of wrong quoting.

/// The fields of one record, which is fed line by line.
///
/// A field that begins with `"` goes on to the next `"` that stands alone; two are one. Quotes
/// elsewhere are text.
pub(crate) struct FieldSplitter {
    delimiter: u8,
    /// The fields behind one another, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    state: FieldState,
    problem: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum FieldState {
    Start,
    Bare,
    Quoted,
    /// Behind a quote inside a quoted field: its end, or one of two.
    Quote,
}

impl FieldSplitter {
    pub(crate) fn new(delimiter: u8) -> FieldSplitter {
        FieldSplitter {
            delimiter,
            bytes: Vec::new(),
            ends: Vec::new(),
            state: FieldState::Start,
            problem: None,
        }
    }

    /// Begins a record.
    pub(crate) fn begin(&mut self) {
        self.forget();
        self.state = FieldState::Start;
        self.problem = None;
    }

    /// Lets go of what was fed, because it is too much, but not of the state.
    pub(crate) fn forget(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Whether the record goes on in the next line.
    pub(crate) fn is_open(&self) -> bool {
        self.state == FieldState::Quoted
    }

    /// What is wrong with its quotes.
    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// How many fields there are.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// The fields.
    pub(crate) fn texts(&self) -> Result<impl Iterator<Item = &str>, String> {
        let text = std::str::from_utf8(&self.bytes).map_err(|error| {
            let field = self.ends.partition_point(|end| *end <= error.valid_up_to()) + 1;
            format!("is not UTF-8 in field {field}")
        })?;
        let mut start = 0;
        // The delimiter is ASCII, so that every end is between two characters.
        Ok(self.ends.iter().map(move |end| {
            let field = text.get(start..*end).unwrap_or_default();
            start = *end;
            field
        }))
    }

    /// Takes a piece of a record of which no more is wanted than where it ends. Pieces may end anywhere.
    pub(crate) fn skim(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((first, behind)) = rest.split_first() {
            (self.state, rest) = match self.state {
                FieldState::Start if *first == b'"' => (FieldState::Quoted, behind),
                FieldState::Start => (FieldState::Bare, rest),
                FieldState::Bare => match memchr::memchr(self.delimiter, rest) {
                    Some(end) => (FieldState::Start, rest.get(end + 1..).unwrap_or_default()),
                    None => return,
                },
                FieldState::Quoted => match memchr::memchr(b'"', rest) {
                    Some(end) => (FieldState::Quote, rest.get(end + 1..).unwrap_or_default()),
                    None => return,
                },
                FieldState::Quote if *first == b'"' => (FieldState::Quoted, behind),
                FieldState::Quote => (FieldState::Bare, rest),
            };
        }
    }

    /// Takes a line with its end.
    pub(crate) fn feed(&mut self, line: &[u8]) {
        let content = line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut rest = content;
        loop {
            match self.state {
                FieldState::Start => match rest.split_first() {
                    Some((b'"', behind)) => {
                        self.state = FieldState::Quoted;
                        rest = behind;
                    }
                    _ => self.state = FieldState::Bare,
                },
                FieldState::Bare => {
                    let end = memchr::memchr(self.delimiter, rest);
                    let (field, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    self.bytes.extend_from_slice(field);
                    self.ends.push(self.bytes.len());
                    match behind.split_first() {
                        Some((_, behind)) => {
                            self.state = FieldState::Start;
                            rest = behind;
                        }
                        None => return,
                    }
                }
                FieldState::Quoted => {
                    let end = memchr::memchr(b'"', rest);
                    let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    self.bytes.extend_from_slice(part);
                    match behind.split_first() {
                        Some((_, behind)) => {
                            self.state = FieldState::Quote;
                            rest = behind;
                        }
                        None => {
                            // The end of the line is a part of the field.
                            self.bytes.extend_from_slice(line.get(content.len()..).unwrap_or_default());
                            return;
                        }
                    }
                }
                FieldState::Quote => match rest.split_first() {
                    Some((b'"', behind)) => {
                        self.bytes.push(b'"');
                        self.state = FieldState::Quoted;
                        rest = behind;
                    }
                    Some((byte, _)) if *byte != self.delimiter => {
                        let field = self.ends.len() + 1;
                        self.problem.get_or_insert_with(|| {
                            format!("text stands behind the closing quote of field {field}; write a quote inside a quoted field twice")
                        });
                        self.state = FieldState::Bare;
                    }
                    _ => self.state = FieldState::Bare,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields_of(record: &str) -> (Vec<String>, bool, bool) {
        let mut fields = FieldSplitter::new(b',');
        fields.begin();
        record.split_inclusive('\n').for_each(|line| fields.feed(line.as_bytes()));
        let texts = fields.texts().expect("UTF-8").map(str::to_owned).collect();
        (texts, fields.is_open(), fields.problem().is_some())
    }

    #[test]
    fn records_are_taken_apart() {
        for (record, expected) in [
            ("a,b\n", &["a", "b"][..]),
            ("a,b", &["a", "b"]),
            ("a,b\r\n", &["a", "b"]),
            (",\n", &["", ""]),
            ("\"\",\"\"\n", &["", ""]),
            ("\"a,b\",c\n", &["a,b", "c"]),
            ("\"a\"\"b\"\n", &["a\"b"]),
            ("\"a\r\nb\",\"\n\n\"\r\n", &["a\r\nb", "\n\n"]),
            ("5\" disk,a\"b\n", &["5\" disk", "a\"b"]),
            (" a , \"b\"\n", &[" a ", " \"b\""]),
            ("ä,\"ö\"\n", &["ä", "ö"]),
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
                fields.begin();
                record.as_bytes().chunks(size).for_each(|piece| fields.skim(piece));
                assert_eq!(fields.is_open(), fields_of(record).1, "{record:?} by {size}");
            }
        }
    }

    #[test]
    fn broken_quotes_are_noticed() {
        assert!(fields_of("a,\"b\n").1);
        assert!(fields_of("a,\"b\"\"\n").1);
        assert!(fields_of("a,\"b\"c,d\n").2);
        assert!(fields_of("\"a\" ,b\n").2);
    }
}

//! Server-sent events, assembled from chunks with arbitrary boundaries.
//!
//! `eventsource-stream` 0.2 parses its whole buffer again with each chunk, so a long line takes quadratic time. It also
//! does not limit the size of an event. It drops a last event without an empty line after it, which some servers send.

/// Some servers begin their text with this.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Maximum size of one event's data.
const MAX_EVENT_BYTES: usize = 8 << 20;

/// Collects bytes, and emits the data of complete events.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    line: Vec<u8>,
    data: String,
    has_data: bool,
    ended_with_return: bool,
    /// True once the first line has been read.
    has_begun: bool,
}

impl EventStream {
    /// Adds a chunk, and calls `event` with the data of each event that it completes.
    ///
    /// # Errors
    /// If the stream is invalid, or `event` fails.
    pub(super) fn feed<E>(
        &mut self,
        piece: &[u8],
        mut event: impl FnMut(&str) -> Result<(), E>,
        wrong: impl Fn(String) -> E,
    ) -> Result<(), E> {
        let mut rest = piece;
        while !rest.is_empty() {
            // A line ends with a line feed, a carriage return, or both.
            if std::mem::take(&mut self.ended_with_return) && rest.first() == Some(&b'\n') {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                if self.line.len() > MAX_EVENT_BYTES {
                    return Err(wrong(format!(
                        "a line of the stream is longer than {MAX_EVENT_BYTES} bytes"
                    )));
                }
                return Ok(());
            };
            let (head, tail) = rest.split_at(end);
            self.line.extend_from_slice(head);
            self.ended_with_return = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            let is_first = !std::mem::replace(&mut self.has_begun, true);
            let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(&line);
            let line = std::str::from_utf8(line)
                .map_err(|error| wrong(format!("the stream is not UTF-8: {error}")))?;
            if line.is_empty() {
                self.dispatch(&mut event)?;
            } else {
                self.take_line(line).map_err(&wrong)?;
            }
        }
        Ok(())
    }

    /// Handles the end of the stream. Some servers leave out the last empty line.
    pub(super) fn finish<E>(&mut self, mut event: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        self.dispatch(&mut event)
    }

    fn dispatch<E>(&mut self, event: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if !std::mem::take(&mut self.has_data) {
            return Ok(());
        }
        let data = std::mem::take(&mut self.data);
        event(&data)
    }

    fn take_line(&mut self, line: &str) -> Result<(), String> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        // All protocols here put the type of an event in its data. Comments have no field name.
        if name != "data" {
            return Ok(());
        }
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
        if self.data.len() > MAX_EVENT_BYTES {
            return Err(format!("an event of the stream is longer than {MAX_EVENT_BYTES} bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<String>, String> {
        let (mut stream, mut found) = (EventStream::default(), Vec::new());
        let mut take = |data: &str| {
            found.push(data.to_owned());
            Ok(())
        };
        for piece in pieces {
            stream.feed(piece, &mut take, |message| message)?;
        }
        stream.finish(take)?;
        Ok(found)
    }

    const TEXT: &str =
        ": hello\n\ndata: {\"a\":1}\r\n\r\nevent: x\ndata:two\ndata: lines\nid: 7\n\rdata: \u{e9}";

    #[test]
    fn events_are_found() {
        assert_eq!(events(&[TEXT.as_bytes()]), Ok(vec!["{\"a\":1}".into(), "two\nlines".into()]));
        assert_eq!(events(&[b"data: last\n"]), Ok(vec!["last".into()]));
        assert_eq!(events(&[b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"]), Ok(vec!["a".into()]));
        assert!(events(&[b"data: \xff\n\n"]).is_err());
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_pieces_end(cuts in prop::collection::vec(0..TEXT.len(), 0..6)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([TEXT.len()]) {
                pieces.push(&TEXT.as_bytes()[from..cut]);
                from = cut;
            }
            prop_assert_eq!(events(&pieces), events(&[TEXT.as_bytes()]));
        }
    }
}

//! Text of an answer that grows token by token: decodes bytes and detects the end.

use std::str::from_utf8;

/// Text of an answer, and its stop strings.
#[derive(Debug, Default)]
pub struct AnswerText {
    text: String,
    /// Trailing bytes that may be the beginning of a character.
    incomplete: Vec<u8>,
    stops: Vec<String>,
    longest_stop: usize,
}

impl AnswerText {
    /// Creates an empty answer.
    pub fn new(mut stops: Vec<String>) -> AnswerText {
        stops.retain(|stop| !stop.is_empty());
        let longest_stop = stops.iter().map(String::len).max().unwrap_or(0);
        AnswerText { stops, longest_stop, ..AnswerText::default() }
    }

    /// Adds the bytes of a token. Returns true if a stop string is now complete, wherever it began; the text then ends
    /// before it.
    ///
    /// A character may be split across tokens. Invalid bytes are replaced by `U+FFFD`.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let searched = self.text.len().saturating_sub(self.longest_stop.saturating_sub(1));
        self.incomplete.extend_from_slice(bytes);
        self.decode_pending();
        let new = self.text.as_bytes().get(searched..).unwrap_or_default();
        let found = self.stops.iter().filter_map(|stop| find(new, stop.as_bytes())).min();
        if let Some(offset) = found {
            self.text.truncate(searched + offset);
            self.incomplete.clear();
        }
        found.is_some()
    }

    /// Returns the text. A character that was never completed is replaced by `U+FFFD`.
    pub fn finish(mut self) -> String {
        if !self.incomplete.is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        self.text
    }

    fn decode_pending(&mut self) {
        let bytes = std::mem::take(&mut self.incomplete);
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text.push_str(chunk.valid());
            let may_go_on = |bytes| from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
            match chunk.invalid() {
                [] => {}
                open if chunks.peek().is_none() && may_go_on(open) => self.incomplete = open.to_vec(),
                _ => self.text.push(char::REPLACEMENT_CHARACTER),
            }
        }
    }
}

fn find(text: &[u8], sought: &[u8]) -> Option<usize> {
    text.windows(sought.len()).position(|window| window == sought)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text, and the index of the token that completed a stop string.
    fn run(stops: &[&str], tokens: &[&[u8]]) -> (String, Option<usize>) {
        let mut answer = AnswerText::new(stops.iter().map(|stop| (*stop).to_owned()).collect());
        let stopped = tokens.iter().position(|token| answer.push(token));
        (answer.finish(), stopped)
    }

    #[test]
    fn stop_strings_are_found_across_tokens() {
        let cases: [(&[&str], &[&[u8]], &str, Option<usize>); 8] = [
            (&[], &[b"a", b"b"], "ab", None),
            (&["\n\n"], &[b"a\n", b"\nb"], "a", Some(1)),
            (&["END"], &[b"xE", b"N", b"Dy"], "x", Some(2)),
            (&["END"], &[b"xE", b"N", b"d"], "xENd", None),
            (&["b", "ab"], &[b"xab"], "x", Some(0)),
            (&["aab"], &[b"aa", b"ab"], "a", Some(1)),
            (&[""], &[b"a"], "a", None),
            (&["é"], &[b"x\xc3", b"\xa9"], "x", Some(1)),
        ];
        for (stops, tokens, text, stopped) in cases {
            assert_eq!(run(stops, tokens), (text.to_owned(), stopped), "{stops:?} {tokens:?}");
        }
    }

    #[test]
    fn characters_are_put_together_and_what_is_none_is_replaced() {
        let cases: [(&[&[u8]], &str); 6] = [
            (&[b"\xf0\x9f", b"\x98", b"\x80!"], "😀!"),
            (&[b"a\xffb"], "a\u{fffd}b"),
            (&[b"a\xf0\x9f"], "a\u{fffd}"),
            (&[b"\xf0\x9f", b"x"], "\u{fffd}x"),
            (&[b"\xc3", b"\xc3\xa9"], "\u{fffd}é"),
            (&[b""], ""),
        ];
        for (tokens, expected) in cases {
            assert_eq!(run(&[], tokens).0, expected, "{tokens:?}");
        }
    }
}

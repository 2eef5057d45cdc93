//! Finds the end of a JSON value without parsing it.

/// State of scanning a value: its nesting depth, and whether it is inside a text.
#[derive(Default)]
pub(crate) struct ValueScanner {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    /// True for a number or a word, which ends where something else begins.
    is_scalar: bool,
}

/// Completeness of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ScanStatus {
    Over,
    Open,
}

impl ValueScanner {
    /// Returns whether the value may end where the text does.
    pub(crate) fn is_scalar(&self) -> bool {
        self.is_scalar
    }

    /// Scans the next piece of the text, and returns how much of it belongs to the value.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> (usize, ScanStatus) {
        let mut position = 0;
        while let Some(byte) = chunk.get(position).copied() {
            if self.is_text {
                if self.is_escaped {
                    self.is_escaped = false;
                    position += 1;
                    continue;
                }
                let rest = chunk.get(position..).unwrap_or_default();
                let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                    return (chunk.len(), ScanStatus::Open);
                };
                position += found + 1;
                match rest.get(found) {
                    Some(b'\\') => self.is_escaped = true,
                    _ => {
                        self.is_text = false;
                        if self.depth == 0 {
                            return (position, ScanStatus::Over);
                        }
                    }
                }
                continue;
            }
            match byte {
                b',' | b']' | b'}' | b':' | b'"' | b'{' | b'[' if self.is_scalar => {
                    return (position, ScanStatus::Over);
                }
                byte if self.is_scalar && byte.is_ascii_whitespace() => return (position, ScanStatus::Over),
                b'"' => self.is_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (position + 1, ScanStatus::Over);
                    }
                }
                _ if self.depth == 0 => self.is_scalar = true,
                _ => {}
            }
            position += 1;
        }
        (chunk.len(), ScanStatus::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found_however_the_text_is_cut() {
        for (text, length) in [
            (r#"{"a":1},"#, 7),
            (r#"{"a":"}]\"\\"}]"#, 14),
            (r#"[[],{}] "#, 7),
            (r#""a,\"b",1"#, 7),
            ("12,", 2),
            ("true ]", 4),
            (r#"{"a":[{"b":"{"}]}{"#, 17),
        ] {
            for cut in 0..length {
                let mut scan = ValueScanner::default();
                let (first, status) = scan.feed(&text.as_bytes()[..cut]);
                assert_eq!((first, status), (cut, ScanStatus::Open), "{text} {cut}");
                assert_eq!(
                    scan.feed(&text.as_bytes()[cut..]),
                    (length - cut, ScanStatus::Over),
                    "{text} {cut}"
                );
            }
        }
    }
}

//! A bounded writer for rendered texts.

use std::io;

/// Collects a template's output, up to a limit.
pub(crate) struct BoundedWriter {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl BoundedWriter {
    pub(crate) fn new(max_bytes: usize) -> BoundedWriter {
        BoundedWriter { bytes: Vec::new(), max_bytes }
    }

    /// Returns the text. Templates write nothing but UTF-8.
    pub(crate) fn into_text(self) -> String {
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(bytes.len()) > self.max_bytes {
            let message = format!("the text is longer than {} bytes", self.max_bytes);
            return Err(io::Error::other(message));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_text_ends_at_the_limit() {
        let mut writer = BoundedWriter::new(3);
        assert!(writer.write_all("a".as_bytes()).is_ok() && writer.write_all("é".as_bytes()).is_ok());
        let error = writer.write_all(b"b").expect_err("too long");
        assert_eq!(error.to_string(), "the text is longer than 3 bytes");
        assert_eq!(writer.into_text(), "aé");
    }
}

//! The first bytes of a guest's memory: texts, lists and records at known addresses.

/// Start of the image in the memory of a guest.
const BASE: u32 = 1024;

/// A range in memory: an address, and a length in bytes or in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) length: u32,
}

impl Span {
    /// Returns the two words by which a guest passes a string or a list.
    pub(crate) fn words(self) -> [u8; 8] {
        let mut words = [0; 8];
        words[..4].copy_from_slice(&self.at.to_le_bytes());
        words[4..].copy_from_slice(&self.length.to_le_bytes());
        words
    }
}

/// Bytes that are in memory from the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// Puts bytes at the next address that is a multiple of 16.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        let at = self.end();
        self.bytes.extend_from_slice(bytes);
        at
    }

    /// Puts a text.
    pub(crate) fn text(&mut self, text: &str) -> Span {
        self.raw_text(text.as_bytes())
    }

    /// Puts bytes that are passed as if they were a text.
    pub(crate) fn raw_text(&mut self, bytes: &[u8]) -> Span {
        Span { at: self.put(bytes), length: count(bytes.len()) }
    }

    /// Puts a list of elements, each given as bytes.
    pub(crate) fn list(&mut self, elements: &[Vec<u8>]) -> Span {
        Span { at: self.put(&elements.concat()), length: count(elements.len()) }
    }

    /// Returns the first address after the image.
    pub(crate) fn end(&self) -> u32 {
        BASE + count(self.bytes.len())
    }

    /// Returns the data segment in text.
    pub(crate) fn segment(&self) -> String {
        let bytes: String = self.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
        format!("(data (i32.const {BASE}) \"{bytes}\")")
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).expect("images are small")
}

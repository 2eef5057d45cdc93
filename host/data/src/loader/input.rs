//! Bytes of a text file, decompressed where it is compressed.

use super::gzip::{Gzip, TrailingBytesError};
use super::{FileKind, LoaderError, MAX_ROW_BYTES};
use gage_config::FileFormat;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read as _};

/// How much is read at once.
const BUFFER_BYTES: usize = 1 << 18;
/// How much is decompressed at once. Where a stream is broken, no more than this is lost before it.
const UNPACKED_BYTES: usize = 1 << 15;

/// A byte order mark, which is no part of the text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text, read from its beginning to its end in constant memory.
pub(crate) struct Input {
    reader: Box<dyn BufRead + Send>,
    /// By what it is compressed.
    packing: Option<&'static str>,
}

impl Input {
    /// Reads an opened file. Members of gzip and frames of zstd that follow one another are one
    /// text.
    pub(crate) fn open(file: File, kind: FileKind, format: FileFormat) -> Result<Input, LoaderError> {
        let plain = BufReader::with_capacity(BUFFER_BYTES, file);
        let (reader, packing): (Box<dyn BufRead + Send>, _) = match kind {
            FileKind::Gzip => {
                (Box::new(BufReader::with_capacity(UNPACKED_BYTES, Gzip::new(plain))), Some("gzip"))
            }
            FileKind::Zstd => {
                let decoder =
                    zstd::stream::read::Decoder::with_buffer(plain).map_err(LoaderError::Unreadable)?;
                (Box::new(BufReader::with_capacity(UNPACKED_BYTES, decoder)), Some("zstd"))
            }
            _ => (Box::new(plain), None),
        };
        let mut input = Input { reader, packing };
        if packing.is_some() {
            FileKind::of(input.chunk()?).check_unpacked(format)?;
        }
        Ok(input)
    }

    /// What can be had without waiting; empty at the end of the text.
    pub(crate) fn chunk(&mut self) -> Result<&[u8], LoaderError> {
        // Asked twice, because the borrow of the first answer would last.
        loop {
            match self.reader.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(fault(self.packing, error)),
            }
        }
        let packing = self.packing;
        self.reader.fill_buf().map_err(|error| fault(packing, error))
    }

    /// Goes on after so many bytes of the chunk.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
    }

    /// Reads a line with its end, and returns how long it is; 0 at the end of the text. Of a
    /// longer line no more than [`MAX_ROW_BYTES`] are kept.
    pub(crate) fn read_line(&mut self, line: &mut Vec<u8>) -> Result<u64, LoaderError> {
        self.read_line_with(line, |_, _| {})
    }

    /// The same; what is not kept is given to `beyond` piece by piece, each time with what is kept.
    pub(crate) fn read_line_with(
        &mut self,
        line: &mut Vec<u8>,
        mut beyond: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64, LoaderError> {
        let mut length = 0_u64;
        loop {
            let chunk = self.chunk()?;
            let end = memchr::memchr(b'\n', chunk).map(|end| end + 1);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            let room = MAX_ROW_BYTES.saturating_sub(line.len());
            line.extend_from_slice(part.get(..room).unwrap_or(part));
            if let Some(rest) = part.get(room..).filter(|rest| !rest.is_empty()) {
                beyond(line, rest);
            }
            let consumed = part.len();
            self.consume(consumed);
            length += consumed as u64;
            if end.is_some() || consumed == 0 {
                return Ok(length);
            }
        }
    }

    /// Everything up to the end, at most `most` bytes.
    pub(crate) fn read_all(&mut self, most: u64) -> Result<String, LoaderError> {
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| fault(self.packing, error))?;
        if bytes.len() as u64 > most {
            return Err(LoaderError::Unsuited(format!("it is larger than {} MiB, unpacked", most >> 20)));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            LoaderError::Unsuited(format!(
                "the text is not UTF-8 after byte {}",
                error.utf8_error().valid_up_to()
            ))
        })?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }
}

/// What the error of a reader means: the system's own are told apart from those of a stream.
fn fault(packing: Option<&str>, error: std::io::Error) -> LoaderError {
    match packing {
        Some(packing) if error.raw_os_error().is_none() => match error.kind() {
            _ if error.get_ref().is_some_and(|inner| inner.is::<TrailingBytesError>()) => {
                LoaderError::Damaged(error.to_string())
            }
            ErrorKind::UnexpectedEof => LoaderError::Damaged(format!("the {packing} stream is cut off")),
            _ => LoaderError::Damaged(format!("the {packing} stream is broken: {error}")),
        },
        _ => LoaderError::Unreadable(error),
    }
}

/// Returns whether a line is no row.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii_start().is_empty()
}

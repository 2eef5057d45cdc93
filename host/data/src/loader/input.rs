//! Bytes of a text file, decompressed if needed.

use super::gzip::{Gzip, TrailingBytesError};
use super::{FileKind, LoaderError, MAX_ROW_BYTES};
use crate::checked_file::CheckedFile;
use gage_config::FileFormat;
use std::io::{BufRead, BufReader, ErrorKind, Read as _};

/// Size of a decompression step, in bytes. Before a broken place in a stream, at most this much is lost.
const UNPACKED_BYTES: usize = 1 << 15;

/// Byte order mark, which is not part of the text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text, read from beginning to end in constant memory.
pub(crate) struct Input {
    reader: Box<dyn BufRead + Send>,
    /// Compression of the text.
    packing: Option<&'static str>,
}

impl Input {
    /// Reads an opened file. Consecutive gzip members and zstd frames form one text.
    pub(crate) fn open(plain: CheckedFile, kind: FileKind, format: FileFormat) -> Result<Input, LoaderError> {
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

    /// Returns the buffered bytes, reading if there are none; empty at the end of the text.
    pub(crate) fn chunk(&mut self) -> Result<&[u8], LoaderError> {
        // Called twice, because the borrow of the first result would last.
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

    /// Consumes `bytes` of the chunk.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
    }

    /// Reads a line with its end, and returns its length; 0 at the end of the text. Keeps at most [`MAX_ROW_BYTES`]
    /// of a longer line.
    pub(crate) fn read_line(&mut self, line: &mut Vec<u8>) -> Result<u64, LoaderError> {
        self.read_line_with(line, |_, _| {})
    }

    /// Same as [`Input::read_line`], but passes each discarded piece to `beyond`, along with the kept bytes.
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

    /// Reads everything up to the end, at most `most` bytes.
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

/// Converts an error of a reader, distinguishing system errors from those of a stream.
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

/// Returns whether a line contains no row.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii_start().is_empty()
}

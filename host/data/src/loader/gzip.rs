//! Gzip decompression. Consecutive members form one text; other trailing bytes are an error.

use flate2::bufread::GzDecoder;
use std::io::{BufRead, Error, Read};

/// First byte of every member.
const FIRST: u8 = 0x1f;
/// Second byte of every member.
const SECOND: u8 = 0x8b;

/// Bytes after the last member that do not start another one.
#[derive(Debug, thiserror::Error)]
#[error(
    "the gzip stream ended, and other bytes follow (the first is {first:#04x}); unpack the file with gzip -dc, which ignores them, and pack it again"
)]
pub(crate) struct TrailingBytesError {
    first: u8,
}

/// Decompresses one member after another.
pub(crate) struct Gzip<R> {
    /// `None` after the last member.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(packed: R) -> Gzip<R> {
        Gzip { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let behind = member.get_mut().fill_buf()?;
            match behind {
                [] => self.member = None,
                // Bytes not yet in the buffer are checked by the next member.
                [FIRST] | [FIRST, SECOND, ..] => {
                    self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
                }
                [first, ..] => return Err(Error::other(TrailingBytesError { first: *first })),
            }
        }
        Ok(0)
    }
}

//! A block of the page: compressed data in an element that browsers do not execute.

use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// Compression level, from 0 to 9. Higher levels save only a few percent, and take twice the time.
const LEVEL: u32 = 6;

/// Writes gzip in Base64.
pub(super) type BlockWriter<'a, W> = GzEncoder<EncoderWriter<'static, GeneralPurpose, &'a mut W>>;

/// Begins a block of a kind, and returns its writer. Must be followed by [`end`].
pub(super) fn begin<'a, W: Write>(out: &'a mut W, kind: &str) -> io::Result<BlockWriter<'a, W>> {
    write!(out, "<script type=\"text/plain\" data-block=\"{kind}\">")?;
    Ok(GzEncoder::new(EncoderWriter::new(out, &STANDARD), Compression::new(LEVEL)))
}

/// Ends a block.
pub(super) fn end<W: Write>(writer: BlockWriter<'_, W>) -> io::Result<()> {
    let mut encoder = writer.finish()?;
    let out = encoder.finish()?;
    out.write_all(b"</script>\n")
}

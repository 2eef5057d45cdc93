//! A block of the page: compressed data in an element that a browser does not run.

use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// How hard data is compressed, from 0 to 9: above it a file shrinks by a few in a hundred, and takes twice
/// the time.
const LEVEL: u32 = 6;

/// Writes gzip in base64.
pub(super) type BlockWriter<'a, W> = GzEncoder<EncoderWriter<'static, GeneralPurpose, &'a mut W>>;

/// Begins a block of a kind; what is written goes into it. [`end`] has to follow.
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

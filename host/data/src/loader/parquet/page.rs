//! Page sizes, read from the page headers. The reader decompresses a page as a whole, however little of it is needed.

use std::io::{Read, Seek, SeekFrom};

/// Maximum size of a decompressed page. Pages are usually about a megabyte. Large values are an exception, since a
/// page may contain a thousand of them.
pub(super) const MAX_PAGE_BYTES: u64 = 512 << 20;

/// Maximum length of a header's first two numbers.
const HEAD_BYTES: u64 = 16;

/// Describes the problem of a page that is too large.
pub(super) fn too_large(column: &str, row: u64, bytes: u64) -> String {
    format!(
        "column '{column}' has a page of {} MiB, unpacked, from row {row} on, and at most {} MiB are read at once; \
         write the file with smaller pages or row groups",
        bytes >> 20,
        MAX_PAGE_BYTES >> 20
    )
}

/// Returns the decompressed size of the page at an offset. `None` if no page begins there, which the reader describes
/// better.
pub(super) fn unpacked_bytes(file: &mut (impl Read + Seek), offset: u64) -> std::io::Result<Option<u64>> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(in_header(&head))
}

/// Returns the second number of a header. Headers are structures of Thrift's compact protocol. They begin with the
/// page type and this number, each preceded by a byte that announces it.
fn in_header(head: &[u8]) -> Option<u64> {
    let (_, rest) = number(head)?;
    let (bytes, _) = number(rest)?;
    u64::try_from(bytes).ok()
}

/// Returns the number of the next field: seven bits in each byte, zigzag-encoded with the sign in the lowest bit.
fn number(head: &[u8]) -> Option<(i64, &[u8])> {
    /// Announces the next field, a 32-bit number.
    const NEXT: u8 = 0x15;
    let rest = head.strip_prefix(&[NEXT])?;
    let mut bits = 0_u64;
    for (index, byte) in rest.iter().enumerate().take(5) {
        bits |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let magnitude = i64::try_from(bits >> 1).ok()?;
            let value = if bits & 1 == 0 { magnitude } else { -magnitude - 1 };
            return Some((value, rest.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_how_large_a_page_is() {
        for (head, expected) in [
            (&[0x15, 0x00, 0x15, 0x50, 0x15][..], Some(40)),
            (&[0x15, 0x04, 0x15, 0x80, 0x80, 0x80, 0x80, 0x08, 0x15], Some(1 << 30)),
            (&[0x15, 0x00, 0x15, 0x01], None),
            (&[0x15, 0x00, 0x15, 0x80], None),
            (&[0x15, 0x00, 0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], None),
            (b"PAR1", None),
            (&[], None),
        ] {
            assert_eq!(in_header(head), expected, "{head:x?}");
        }
        let message = too_large("image.bytes", 1, 954 << 20);
        assert!(
            message.contains("'image.bytes' has a page of 954 MiB, unpacked, from row 1 on"),
            "{message}"
        );
    }
}

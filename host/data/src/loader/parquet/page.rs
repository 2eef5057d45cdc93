//! Page sizes from their headers: the reader unpacks it as a whole, whatever is wanted of it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

/// Pages of more bytes than this are not unpacked. Writers make pages of about a megabyte, but for values that are
/// large themselves, of which they may put a thousand into one.
pub(super) const MAX_PAGE_BYTES: u64 = 512 << 20;

/// The longest beginning of a header that its first two numbers take.
const HEAD_BYTES: u64 = 16;

/// What is wrong with a page that is too large.
pub(super) fn too_large(column: &str, row: u64, bytes: u64) -> String {
    format!(
        "column '{column}' has a page of {} MiB, unpacked, from row {row} on, and at most {} MiB are read at once; \
         write the file with smaller pages or row groups",
        bytes >> 20,
        MAX_PAGE_BYTES >> 20
    )
}

/// Returns how many bytes the page at an offset has once it is unpacked; nothing where no page begins there, of
/// which the
/// reader says more.
pub(super) fn unpacked_bytes(file: &mut File, offset: u64) -> std::io::Result<Option<u64>> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(in_header(&head))
}

/// The second number of a header. Headers are structures of Thrift's compact protocol, which begin with the kind of
/// the page and this number, each after a byte that says so.
fn in_header(head: &[u8]) -> Option<u64> {
    let (_, rest) = number(head)?;
    let (bytes, _) = number(rest)?;
    u64::try_from(bytes).ok()
}

/// The number of the next field: seven bits in each byte, the sign in the last of all.
fn number(head: &[u8]) -> Option<(i64, &[u8])> {
    /// The next field, a number of 32 bits.
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

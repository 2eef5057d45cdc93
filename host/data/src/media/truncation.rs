//! Detection of truncated images.
//!
//! Decoders stop after the last pixel that they need, and some fill in missing ones. Therefore this module walks the
//! structure of each format, block by block, up to its end marker.

use super::format::Format;

/// Returns whether the image is complete. Returns true for a format whose decoder detects truncation itself.
pub(super) fn is_whole(bytes: &[u8], format: Format) -> bool {
    let end = match format {
        Format::Png => png_end(bytes),
        Format::Jpeg => jpeg_end(bytes),
        Format::Gif => gif_end(bytes),
        Format::WebP => riff_end(bytes),
        _ => Some(()),
    };
    end.is_some()
}

/// Returns whether a WebP image has a chunk of this name.
pub(super) fn has_riff_chunk(bytes: &[u8], name: &[u8; 4]) -> bool {
    let mut offset = 12;
    while let Some(header) = slice(bytes, offset, 8) {
        if header.starts_with(name) {
            return true;
        }
        let Some(length) = number(bytes, offset + 4, u32::from_le_bytes) else { return false };
        offset = offset.saturating_add(8).saturating_add(length).saturating_add(length % 2);
    }
    false
}

/// Skips chunks of a length, a name, content and a checksum, up to `IEND`.
fn png_end(bytes: &[u8]) -> Option<()> {
    let mut offset = 8;
    loop {
        let length = number(bytes, offset, u32::from_be_bytes)?;
        let name = slice(bytes, offset + 4, 4)?;
        let end = offset.checked_add(12)?.checked_add(length)?;
        if end > bytes.len() {
            return None;
        }
        if name == b"IEND" {
            return Some(());
        }
        offset = end;
    }
}

/// Skips segments by their lengths; after the start of a scan, skips to the next marker.
fn jpeg_end(bytes: &[u8]) -> Option<()> {
    let mut offset = 2;
    loop {
        // Any number of 0xff bytes may precede a marker.
        while *bytes.get(offset)? != 0xff {
            offset += 1;
        }
        while *bytes.get(offset)? == 0xff {
            offset += 1;
        }
        let mark = *bytes.get(offset)?;
        offset += 1;
        match mark {
            0xd9 => return Some(()),
            // A stuffed byte, a restart, or the start of the image: no payload follows.
            0x00 | 0x01 | 0xd0..=0xd8 => {}
            _ => {
                let [high, low] = *bytes.get(offset..)?.first_chunk()?;
                offset += usize::from(u16::from_be_bytes([high, low])).max(2);
            }
        }
    }
}

/// Skips extensions and images of sub-blocks, up to the trailer.
fn gif_end(bytes: &[u8]) -> Option<()> {
    let table = |flags: u8| if flags & 0x80 != 0 { 3 << ((flags & 7) + 1) } else { 0 };
    let mut offset = 13 + table(*bytes.get(10)?);
    loop {
        match *bytes.get(offset)? {
            0x3b => return Some(()),
            0x21 => offset += 2,
            0x2c => offset += 11 + table(*bytes.get(offset + 9)?),
            // Some writers leave zeros between blocks.
            0 => {
                offset += 1;
                continue;
            }
            _ => return None,
        }
        loop {
            let length = usize::from(*bytes.get(offset)?);
            offset += 1 + length;
            if length == 0 {
                break;
            }
        }
    }
}

/// Returns the length that the header of a WAV file states, if the file is shorter. `None` if the header does not
/// know it, as in a file written during recording.
pub(super) fn missing_wav_bytes(head: &[u8], length: u64) -> Option<u64> {
    /// Lower bound of the placeholders that writers store for an unknown length.
    const UNKNOWN: u64 = 0x7fff_0000;
    /// Some writers also count the eight-byte header.
    const TOLERANCE: u64 = 8;
    let told = u64::try_from(number(head, 4, u32::from_le_bytes)?).ok()?;
    let whole = told.checked_add(8)?;
    (head.starts_with(b"RIFF") && told < UNKNOWN && whole > length + TOLERANCE).then_some(whole)
}

fn riff_end(bytes: &[u8]) -> Option<()> {
    let length = number(bytes, 4, u32::from_le_bytes)?;
    (bytes.len() >= length.checked_add(8)?).then_some(())
}

fn slice(bytes: &[u8], offset: usize, length: usize) -> Option<&[u8]> {
    bytes.get(offset..offset.checked_add(length)?)
}

fn number(bytes: &[u8], offset: usize, convert: fn([u8; 4]) -> u32) -> Option<usize> {
    let found = *slice(bytes, offset, 4)?.first_chunk()?;
    usize::try_from(convert(found)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_that_are_cut_off() {
        let header = |told: u32| [&b"RIFF"[..], &told.to_le_bytes(), b"WAVE"].concat();
        for (head, length, expected) in [
            (header(1636), 1644, None),
            (header(1636), 822, Some(1644)),
            (header(1644), 1644, None),
            (header(0), 1644, None),
            (header(u32::MAX), 1644, None),
            (header(0x7fff_f024), 1644, None),
            (b"RF64\x64\x06\0\0WAVE".to_vec(), 822, None),
            (b"RIFF".to_vec(), 4, None),
        ] {
            assert_eq!(missing_wav_bytes(&head, length), expected, "{}", head.escape_ascii());
        }
    }
}

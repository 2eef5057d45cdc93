//! Detection of media formats by the first bytes of a file.
//!
//! The crate `infer` (0.19) is not used. It recognizes only MP3 frames that begin with `ff fb`. It takes any EBML
//! file except one exact Matroska header for WebM, and any text that begins with `BM` for a bitmap.

use super::format::Format;

/// Number of bytes examined at the beginning of a file.
pub(super) const HEAD_BYTES: usize = 4096;

/// Returns the format of content that begins with these bytes.
pub(super) fn sniff(head: &[u8]) -> Format {
    let head = &head[..head.len().min(HEAD_BYTES)];
    let at = |offset: usize, magic: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(magic));
    const AT_START: &[(&[u8], Format)] = &[
        (b"\x89PNG\r\n\x1a\n", Format::Png),
        (b"\xff\xd8\xff", Format::Jpeg),
        (b"GIF87a", Format::Gif),
        (b"GIF89a", Format::Gif),
        (b"II*\0", Format::Tiff),
        (b"MM\0*", Format::Tiff),
        (b"II+\0", Format::Tiff),
        (b"MM\0+", Format::Tiff),
        (b"fLaC", Format::Flac),
        (b"OggS", Format::Ogg),
        (b"ID3", Format::Mp3),
        (b"PK\x03\x04", Format::Zip),
        (b"PK\x05\x06", Format::Zip),
    ];
    if let Some((_, format)) = AT_START.iter().find(|(magic, _)| at(0, magic)) {
        return *format;
    }
    if at(0, b"RIFF") || at(0, b"RF64") {
        match head.get(8..12) {
            Some(b"WAVE") => return Format::Wav,
            Some(b"WEBP") => return Format::WebP,
            Some(b"AVI ") => return Format::Avi,
            _ => {}
        }
    }
    if at(0, b"BM") && is_bitmap(head) {
        return Format::Bmp;
    }
    if at(4, b"ftyp") {
        return iso_media(head);
    }
    // Old QuickTime files begin with a different atom.
    if [b"moov", b"mdat", b"wide"].iter().any(|atom| at(4, *atom)) {
        return Format::Mov;
    }
    if at(0, b"\x1a\x45\xdf\xa3") {
        return if contains(head, b"webm") { Format::WebM } else { Format::Mkv };
    }
    if contains(&head[..head.len().min(1024)], b"%PDF-") {
        return Format::Pdf;
    }
    if let [0xff, second, ..] = head
        && second & 0xe0 == 0xe0
    {
        // AAC frames have layer 00, MP3 frames the second or third layer, and no version is 01.
        match (second & 0xf6, second & 0x06, second & 0x18) {
            (0xf0, ..) => return Format::Aac,
            (_, 0x02 | 0x04, 0x00 | 0x10 | 0x18) => return Format::Mp3,
            _ => {}
        }
    }
    if is_text(head) { Format::Text } else { Format::Unknown }
}

/// Returns whether it is a pointer that Git LFS stores in place of a file.
pub(super) fn is_lfs_pointer(head: &[u8]) -> bool {
    head.starts_with(b"version https://git-lfs")
}

/// Returns whether the header size is valid for a bitmap, because text may begin with the same letters.
fn is_bitmap(head: &[u8]) -> bool {
    matches!(head.get(14..18), Some([12 | 16 | 40 | 52 | 56 | 64 | 108 | 124, 0, 0, 0]))
}

/// Returns the format by the brands of an ISO media file.
fn iso_media(head: &[u8]) -> Format {
    let size = head.first_chunk().map_or(0, |size| u32::from_be_bytes(*size));
    let end = usize::try_from(size).unwrap_or(usize::MAX).clamp(8, head.len().max(8));
    let brands: Vec<&[u8]> = head
        .get(8..end)
        .unwrap_or_default()
        .chunks(4)
        .enumerate()
        .filter(|(index, _)| *index != 1)
        .map(|(_, brand)| brand)
        .collect();
    let has = |names: &[&[u8]]| brands.iter().any(|brand| names.contains(brand));
    let major = brands.first().copied().unwrap_or_default();
    match major {
        b"M4A " | b"M4B " | b"M4P " => Format::M4a,
        b"qt  " => Format::Mov,
        _ if has(&[b"avif", b"avis"]) => Format::Avif,
        _ if has(&[b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"]) => Format::Heic,
        _ => Format::Mp4,
    }
}

/// Returns whether it is UTF-8 without binary control characters. The last character may be cut.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && head.len() == HEAD_BYTES => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !head.is_empty()
        && !text.chars().any(|character| {
            character.is_ascii_control() && !matches!(character, '\n' | '\r' | '\t' | '\x0c' | '\x1b')
        })
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_their_first_bytes() {
        let bitmap = b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".as_slice();
        let cut = [vec![b'a'; HEAD_BYTES - 1], "é".into()].concat();
        let cases: &[(&[u8], Format)] = &[
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"\xff\xd8\xff\xe0", Format::Jpeg),
            (b"GIF89a", Format::Gif),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Format::WebP),
            (b"RIFF\x10\0\0\0WAVEfmt ", Format::Wav),
            (b"RIFF\x10\0\0\0AVI LIST", Format::Avi),
            (b"RIFF\x10\0\0\0ACON\0", Format::Unknown),
            (bitmap, Format::Bmp),
            (b"BMW is a maker of cars", Format::Text),
            (b"II*\0\x08\0\0\0", Format::Tiff),
            (b"\0\0\0\x18ftypmif1\0\0\0\0avifmif1", Format::Avif),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Format::Heic),
            (b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42", Format::M4a),
            (b"\0\0\0\x18ftypisom\0\0\0\0isommp41", Format::Mp4),
            (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", Format::Mov),
            (b"\0\0\0\x04ftyp", Format::Mp4),
            (b"\0\0\0\x08moov", Format::Mov),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", Format::WebM),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska", Format::Mkv),
            (b"ID3\x04", Format::Mp3),
            (b"\xff\xfb\x90\x64", Format::Mp3),
            (b"\xff\xf1\x50\x80", Format::Aac),
            (b"fLaC", Format::Flac),
            (b"OggS", Format::Ogg),
            (b"%PDF-1.7\n", Format::Pdf),
            (b"PK\x03\x04", Format::Zip),
            ("größer\n".as_bytes(), Format::Text),
            (&cut, Format::Text),
            (b"\xc3", Format::Unknown),
            (b"a\0b", Format::Unknown),
            (b"\xff\xfe", Format::Unknown),
            (b"", Format::Unknown),
        ];
        for (head, expected) in cases {
            assert_eq!(sniff(head), *expected, "{}", head.escape_ascii());
        }
    }
}

//! Searches that read eight bytes at a time: an answer may be a megabyte, and most of its bytes are of no interest.

/// A word of eight bytes that are all 1, and the highest bits of eight bytes.
const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = ONES << 7;

/// Returns the first position, from `from`, of a byte that is one of several.
pub(crate) fn find_any<const COUNT: usize>(bytes: &[u8], from: usize, wanted: [u8; COUNT]) -> Option<usize> {
    if bytes.get(from).is_some_and(|byte| wanted.contains(byte)) {
        return Some(from);
    }
    let patterns = wanted.map(|byte| ONES * u64::from(byte));
    let (chunks, rest) = bytes.get(from..)?.as_chunks::<8>();
    for (number, chunk) in chunks.iter().enumerate() {
        let chunk = u64::from_le_bytes(*chunk);
        // The lowest bit of the result marks the first byte that is wanted. Those above it may be wrong.
        let found = patterns.iter().fold(0, |found, pattern| found | zeros(chunk ^ pattern));
        if found != 0 {
            return Some(from + 8 * number + found.trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|byte| wanted.contains(byte))?;
    Some(from + 8 * chunks.len() + place)
}

/// Returns the highest bit of each byte that is zero, and perhaps of bytes after such a one.
fn zeros(chunk: u64) -> u64 {
    chunk.wrapping_sub(ONES) & !chunk & HIGHS
}

/// Returns the highest bit of each byte between two ASCII characters, and of no other byte.
fn between(chunk: u64, first: u8, last: u8) -> u64 {
    let low = chunk & !HIGHS;
    let from_first = low + ONES * u64::from(0x80 - first);
    let behind_last = low + ONES * u64::from(0x7f - last);
    from_first & !behind_last & !chunk & HIGHS
}

/// Returns whether a text has an upper-case ASCII letter.
pub(crate) fn has_upper_ascii(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<8>();
    chunks.iter().any(|chunk| between(u64::from_le_bytes(*chunk), b'A', b'Z') != 0)
        || rest.iter().any(u8::is_ascii_uppercase)
}

/// Replaces the upper-case ASCII letters of a text by lower-case ones.
pub(crate) fn lower_ascii(bytes: &mut [u8]) {
    let (chunks, rest) = bytes.as_chunks_mut::<8>();
    for bytes in chunks {
        let chunk = u64::from_le_bytes(*bytes);
        // The difference between the cases is 0x20, two bits below the highest.
        *bytes = (chunk | between(chunk, b'A', b'Z') >> 2).to_le_bytes();
    }
    rest.make_ascii_lowercase();
}

/// Returns the first positions of ASCII letters that have no ASCII letter or digit next to them.
pub(crate) fn letters_alone(bytes: &[u8], maximum: usize) -> Vec<usize> {
    let mut places = Vec::new();
    let (chunks, rest) = bytes.as_chunks::<8>();
    let tail = std::array::from_fn(|place| rest.get(place).copied().unwrap_or_default());
    let mut follows_word = false;
    for (number, chunk) in chunks.iter().chain([&tail]).enumerate() {
        let chunk = u64::from_le_bytes(*chunk);
        let letters = between(chunk | HIGHS >> 2, b'a', b'z');
        let words = letters | between(chunk, b'0', b'9');
        let is_before = words << 8 | if follows_word { 0x80 } else { 0 };
        follows_word = words >> 63 == 1;
        // A letter that ends the chunk may have a neighbour after it.
        let mut alone = letters & !is_before & !(words >> 8);
        while alone != 0 {
            let at = 8 * number + alone.trailing_zeros() as usize / 8;
            alone &= alone - 1;
            if !bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) {
                places.push(at);
                if places.len() == maximum {
                    return places;
                }
            }
        }
    }
    places
}

/// Returns the number of bytes at the beginning of a text that are in a set.
pub(crate) fn leading(bytes: &[u8], set: &[bool; 256]) -> usize {
    bytes.iter().position(|byte| !set[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// Returns the number of bytes at the end of a text that are in a set.
pub(crate) fn trailing(bytes: &[u8], set: &[bool; 256]) -> usize {
    bytes.iter().rev().position(|byte| !set[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// Returns the set of some bytes.
pub(crate) const fn set_of(members: &[u8]) -> [bool; 256] {
    let (mut set, mut at) = ([false; 256], 0);
    while at < members.len() {
        set[members[at] as usize] = true;
        at += 1;
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns texts of every length around that of a chunk.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let bytes: Vec<u8> = (0..=255).chain(*b"a b1 c'd 1e F_g h AB I\x80J\xffK z").collect();
        (0..bytes.len()).flat_map(move |start| {
            let bytes = bytes.clone();
            (start..bytes.len().min(start + 20)).map(move |end| bytes[start..end].to_vec())
        })
    }

    #[test]
    fn bytes_are_found() {
        for text in texts() {
            for wanted in [[b'a', b'$'], [0, 0xff], [b'\\', 0x80]] {
                for from in 0..=text.len() {
                    let found = text[from..].iter().position(|byte| wanted.contains(byte));
                    assert_eq!(find_any(&text, from, wanted), found.map(|place| from + place), "{text:?}");
                }
            }
        }
        assert_eq!(find_any(b"", 1, [0]), None);
    }

    #[test]
    fn letters_become_lower_case() {
        for text in texts() {
            let mut lower = text.clone();
            lower_ascii(&mut lower);
            assert_eq!(lower, text.to_ascii_lowercase(), "{text:?}");
            assert_eq!(has_upper_ascii(&text), lower != text, "{text:?}");
        }
    }

    #[test]
    fn letters_without_neighbours() {
        for text in texts() {
            let is_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
            let is_alone = |at: &usize| {
                text[*at].is_ascii_alphabetic() && !is_word(at.wrapping_sub(1)) && !is_word(at + 1)
            };
            let alone: Vec<usize> = (0..text.len()).filter(is_alone).collect();
            assert_eq!(letters_alone(&text, usize::MAX), alone, "{text:?}");
        }
        assert_eq!(letters_alone(b"a b c d e f", 2), [0, 2]);
    }
}

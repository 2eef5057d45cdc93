//! The `precompiled_charsmap` of SentencePiece's normalizer: the size of a trie, the trie, and the texts that it leads to.
//! The crate `tokenizers` panics if the trie leads elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Number of units that begin with the same bits, except for their last byte. A character leads to one of them.
const BLOCK_UNITS: usize = 256;

/// Returns the length of the longest text that a charsmap puts in the place of a character; `None` if it is damaged.
pub(super) fn longest_replacement(charsmap: &str) -> Option<u64> {
    let bytes = STANDARD.decode(charsmap).ok()?;
    let (size, rest) = bytes.split_first_chunk::<4>()?;
    let units = usize::try_from(u32::from_le_bytes(*size) / 4).ok()?;
    let (trie, texts) = rest.split_at_checked(units.checked_mul(4)?)?;
    let units: Vec<u32> =
        trie.chunks_exact(4).map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]])).collect();
    let texts = std::str::from_utf8(texts).ok()?;
    let longest = texts.split('\0').map(|text| text.len() as u64).max()?;
    is_sound(&units, texts).then_some(longest.max(1))
}

/// Returns whether every path through a trie stays in it, and ends at a text. The trie is a double array: a unit has a
/// label, and the place of the block with its children.
fn is_sound(units: &[u32], texts: &str) -> bool {
    let Some(root) = units.first() else {
        return false;
    };
    let mut seen = vec![false; units.len()];
    let mut nodes = vec![offset(*root)];
    while let Some(node) = nodes.pop() {
        let block = node - node % BLOCK_UNITS;
        if block + BLOCK_UNITS > units.len() {
            return false;
        }
        for label in 1..BLOCK_UNITS {
            let place = node ^ label;
            let unit = units[place];
            if (unit & ((1 << 31) | 0xff)) as usize != label {
                continue;
            }
            let next = place ^ offset(unit);
            let Some(leaf) = units.get(next) else {
                return false;
            };
            let is_leaf = (unit >> 8) & 1 == 1;
            if is_leaf && !texts.is_char_boundary((leaf & !(1 << 31)) as usize) {
                return false;
            }
            if !std::mem::replace(&mut seen[next], true) {
                nodes.push(next);
            }
        }
    }
    true
}

/// Returns the distance of a unit from the block with its children.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}

/// Returns a charsmap that replaces `a` by the text at an address.
#[cfg(test)]
pub(super) fn charsmap_of_a(address: u32, texts: &str) -> String {
    let mut units = vec![0_u32; 3 * BLOCK_UNITS];
    let place = BLOCK_UNITS ^ usize::from(b'a');
    let distance = |from: usize, to: usize| u32::try_from(from ^ to).unwrap_or_default() << 10;
    units[0] = distance(0, BLOCK_UNITS);
    units[place] = distance(place, 2 * BLOCK_UNITS) | (1 << 8) | u32::from(b'a');
    units[2 * BLOCK_UNITS] = address;
    let size = u32::try_from(4 * units.len()).unwrap_or_default();
    let trie = units.iter().flat_map(|unit| unit.to_le_bytes());
    let bytes: Vec<u8> = size.to_le_bytes().into_iter().chain(trie).chain(texts.bytes()).collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokenizers::{NormalizedString, Normalizer as _, NormalizerWrapper};

    #[test]
    fn every_path_of_a_trie_ends_at_a_text() {
        assert_eq!(longest_replacement(&charsmap_of_a(3, "ab\0xyz\0")), Some(3));
        for damaged in [
            charsmap_of_a(8, "ab\0xyz\0"),
            charsmap_of_a(1, "é"),
            // A size that is larger than the rest, no trie, and a trie that leads out of itself.
            STANDARD.encode([255; 4]),
            STANDARD.encode([0; 4]),
            STANDARD.encode([4, 0, 0, 0, 0, 4, 0, 0]),
        ] {
            assert_eq!(longest_replacement(&damaged), None, "{damaged}");
        }
    }

    #[test]
    fn tries_are_read_as_the_crate_reads_them() {
        let json =
            serde_json::json!({"type": "Precompiled", "precompiled_charsmap": charsmap_of_a(3, "ab\0xyz\0")});
        let normalizer: NormalizerWrapper = serde_json::from_value(json).expect("a normalizer");
        let mut text = NormalizedString::from("bab");
        normalizer.normalize(&mut text).expect("normalized");
        assert_eq!(text.get(), "bxyzb");
    }
}

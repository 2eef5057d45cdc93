//! Decodes escapes while a text is read: `\n`, `\u0041`, `%41`, `&#65;` and similar become the characters they
//! represent.
//!
//! The decoder replaces an escape as soon as its last byte arrives. The replacement may complete another escape, so
//! JSON within JSON within an address is also decoded. Each replacement examines a bounded number of bytes and
//! shortens the text, so the work is linear in its length.

use crate::examined::count_examined;

/// Maximum number of backslashes before an escape. Each level of JSON within JSON doubles them, so this allows six
/// levels.
pub(crate) const MAX_BACKSLASHES: usize = 64;

/// Maximum number of open bytes of three nested escapes: the longest one, an HTML entity, has 12. Later bytes cannot
/// change bytes further back.
pub(crate) const MAX_ESCAPE_BYTES: usize = 36;

/// HTML entity names for ASCII characters, each followed by its character.
const ENTITIES: &str = "quot\" amp& lt< gt> apos' excl! num# dollar$ percnt% lpar( rpar) ast* midast* plus+ comma, period. \
                        sol/ colon: semi; equals= quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ UnderBar_ \
                        grave` lcub{ lbrace{ verbar| vert| rcub} rbrace}";

/// A byte of the decoded text, and its position in the original.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedByte {
    pub(crate) byte: u8,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Number of backslashes that a backslash represents.
    backslashes: usize,
    /// Number of nested escapes that it was decoded from.
    depth: u8,
}

/// Meaning of an escape.
enum Meaning {
    Char(char),
    Byte(u8),
    /// One half of a UTF-16 surrogate pair.
    Surrogate(u16),
}

/// Adds a byte of the text at a position, and decodes the escape that it completes. Bytes before `fixed` are not
/// changed.
pub(crate) fn push(bytes: &mut Vec<DecodedByte>, fixed: usize, byte: u8, position: usize) {
    bytes.push(DecodedByte { byte, start: position, end: position + 1, backslashes: 1, depth: 0 });
    loop {
        merge_backslashes(bytes, fixed);
        let open = bytes.get(fixed..).unwrap_or_default();
        let Some((length, meaning)) = escape_at_end(open) else { return };
        count_examined(length);
        let mut at = bytes.len() - length;
        let (mut start, end) = (bytes[at].start, bytes[bytes.len() - 1].end);
        let depth = bytes[at..].iter().map(|byte| byte.depth).max().unwrap_or(0).saturating_add(1);
        let mut text = [0; 4];
        let meant: &[u8] = match meaning {
            Meaning::Char(character) => character.encode_utf8(&mut text).as_bytes(),
            Meaning::Byte(byte) => {
                text[0] = byte;
                &text[..1]
            }
            Meaning::Surrogate(unit) => {
                let first = at.checked_sub(3).filter(|first| *first >= fixed);
                let pair = first.and_then(|first| Some((first, in_pair(&bytes[first..at], unit)?)));
                match pair {
                    Some((first, character)) => {
                        (at, start) = (first, bytes[first].start);
                        character.encode_utf8(&mut text).as_bytes()
                    }
                    None => {
                        text = surrogate_bytes(unit);
                        &text[..3]
                    }
                }
            }
        };
        bytes.truncate(at);
        let byte_of = |byte: &u8| DecodedByte { byte: *byte, start, end, backslashes: 1, depth };
        bytes.extend(meant.iter().map(byte_of));
        if meant.len() > 1 {
            return;
        }
    }
}

/// Returns a text with all its escapes decoded.
pub(crate) fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    text.iter().enumerate().for_each(|(position, byte)| push(&mut bytes, 0, *byte, position));
    bytes.into_iter().map(|decoded| decoded.byte).collect()
}

/// Merges two trailing backslashes into one, because a backslash is doubled each time a text is embedded in another.
/// Both forms are then equal. One that follows an escaped backslash begins its own escape.
fn merge_backslashes(bytes: &mut Vec<DecodedByte>, fixed: usize) {
    if let [.., first, second] = bytes.get(fixed..).unwrap_or_default()
        && (first.byte, second.byte) == (b'\\', b'\\')
        && first.depth == second.depth
        && first.backslashes + second.backslashes <= MAX_BACKSLASHES
    {
        let backslashes = first.backslashes + second.backslashes;
        let merged = DecodedByte { end: second.end, backslashes, ..*first };
        bytes.pop();
        bytes.pop();
        bytes.push(merged);
    }
}

/// Returns the length and the meaning of the escape that ends with the last byte.
fn escape_at_end(bytes: &[DecodedByte]) -> Option<(usize, Meaning)> {
    count_examined(1);
    let last = bytes.last()?.byte;
    if last == b';' {
        return entity_at_end(bytes);
    }
    if last == b'}' {
        return braces_at_end(bytes);
    }
    if back(bytes, 2) == Some(b'\\')
        && let Some(meant) = after_backslash(last)
    {
        return Some((2, Meaning::Char(meant)));
    }
    if !last.is_ascii_hexdigit() {
        return None;
    }
    if back(bytes, 3) == Some(b'%') {
        return Some((3, Meaning::Byte(u8::try_from(number(&bytes[bytes.len() - 2..], 16)?).ok()?)));
    }
    let digits = |letter: u8, count: usize| {
        let is_escape = back(bytes, count + 1) == Some(letter) && back(bytes, count + 2) == Some(b'\\');
        is_escape.then(|| number(&bytes[bytes.len() - count..], 16)).flatten()
    };
    if let Some(code) = digits(b'x', 2) {
        return Some((4, Meaning::Char(char::from_u32(code)?)));
    }
    if let Some(code) = digits(b'u', 4) {
        let unit = u16::try_from(code).ok()?;
        return Some((6, char::from_u32(code).map_or(Meaning::Surrogate(unit), Meaning::Char)));
    }
    digits(b'U', 8).and_then(|code| Some((10, Meaning::Char(char::from_u32(code)?))))
}

/// Returns the byte at a distance from the end, 1 for the last one.
fn back(bytes: &[DecodedByte], count: usize) -> Option<u8> {
    Some(bytes.get(bytes.len().checked_sub(count)?)?.byte)
}

fn after_backslash(letter: u8) -> Option<char> {
    Some(match letter {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'/' | b'\'' | b' ' => char::from(letter),
        _ => return None,
    })
}

/// Parses `\u{1f600}` at the end.
fn braces_at_end(bytes: &[DecodedByte]) -> Option<(usize, Meaning)> {
    let open = (3..=8).find(|count| back(bytes, *count) == Some(b'{'))?;
    if (back(bytes, open + 1), back(bytes, open + 2)) != (Some(b'u'), Some(b'\\')) {
        return None;
    }
    let code = number(&bytes[bytes.len() - open + 1..bytes.len() - 1], 16)?;
    Some((open + 2, Meaning::Char(char::from_u32(code)?)))
}

/// Parses `&#233;`, `&#xe9;` or `&quot;` at the end.
fn entity_at_end(bytes: &[DecodedByte]) -> Option<(usize, Meaning)> {
    let length = (3..=12).find(|count| back(bytes, *count) == Some(b'&'))?;
    let inner = &bytes[bytes.len() - length + 1..bytes.len() - 1];
    let name: Vec<u8> = inner.iter().map(|decoded| decoded.byte).collect();
    let meant = match name.as_slice() {
        [b'#', b'x' | b'X', ..] => char::from_u32(number(&inner[2..], 16)?)?,
        [b'#', ..] => char::from_u32(number(&inner[1..], 10)?)?,
        name => {
            let of_name =
                |entity: &&str| entity.as_bytes().strip_prefix(name).is_some_and(|rest| rest.len() == 1);
            ENTITIES.split_whitespace().find(of_name)?.chars().last()?
        }
    };
    Some((length, Meaning::Char(meant)))
}

fn number(digits: &[DecodedByte], radix: u32) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, digit| {
        sum.checked_mul(radix)?.checked_add(char::from(digit.byte).to_digit(radix)?)
    })
}

/// Returns the character of a surrogate pair; its first half is already three bytes.
fn in_pair(first: &[DecodedByte], second: u16) -> Option<char> {
    let [one, two, three] = first else { return None };
    if one.byte != 0xed || two.byte & 0xf0 != 0xa0 {
        return None;
    }
    let unit = 0xd800 | u16::from(two.byte & 0x0f) << 6 | u16::from(three.byte & 0x3f);
    char::decode_utf16([unit, second]).next()?.ok()
}

/// Returns a surrogate encoded like a character in UTF-8.
fn surrogate_bytes(unit: u16) -> [u8; 4] {
    let low = |shift: u16| 0x80 | u8::try_from(unit >> shift & 0x3f).unwrap_or_default();
    [0xed, low(6), low(0), 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_every_kind_become_their_characters() {
        for (text, expected) in [
            ("plain text", "plain text"),
            (r#"a\n\r\t\b\f\"\/\'"#, "a\n\r\t\u{8}\u{c}\"/'"),
            (r"\u0041\x42\U00000043\u{44}\u{1f600}", "ABCD😀"),
            (r"\ud83d\ude00 \\ud83d\\ude00", "😀 😀"),
            ("%41%C3%A9%2541%25252541", "AéAA"),
            ("&#65;&#x42;&quot;&amp;&lt;&gt;&apos;&amp;lt;", "AB\"&<>'<"),
            (r"%5Cu0041 \u0025%34%31 \u005cn", "A A \n"),
            (r"\\\\n \\\q", "\n \\q"),
            ("100% &x; \\u{110000} &#; %zz", "100% &x; \\u{110000} &#; %zz"),
        ] {
            assert_eq!(String::from_utf8_lossy(&decoded(text.as_bytes())), expected, "{text}");
        }
    }
}

//! How a value may be spelled in other texts.

use std::collections::BTreeSet;

/// The spellings of one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SecretSpellings {
    /// Its characters, each of which may be spelled in several ways.
    characters: Vec<char>,
    /// What it is within Base64 and as hexadecimal digits.
    encoded: Vec<String>,
}

/// Of Base64 and hexadecimal digits so many characters at least are looked for.
const MIN_ENCODED_CHARS: usize = 8;

/// The most backslashes that the spelling of one character may begin with. Each level of JSON within JSON doubles them, so
/// this allows six levels. Without a limit, a scan would read a run of backslashes again from each of its positions.
const MAX_BACKSLASHES: usize = 64;

impl SecretSpellings {
    pub(super) fn of(value: &str) -> SecretSpellings {
        let mut encoded: Vec<String> = Vec::new();
        for offset in 0..3 {
            for alphabet in [STANDARD, FOR_ADDRESSES] {
                encoded.push(within_base64(value.as_bytes(), offset, alphabet));
            }
        }
        encoded.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
        encoded.push(value.bytes().map(|byte| format!("{byte:02X}")).collect());
        encoded.retain(|spelling| spelling.len() >= MIN_ENCODED_CHARS && spelling != value);
        encoded.sort();
        encoded.dedup();
        SecretSpellings { characters: value.chars().collect(), encoded }
    }

    /// The bytes that a spelling may begin with, each once.
    pub(super) fn begins(&self) -> BTreeSet<u8> {
        let mut buffer = [0; 4];
        let first = self.characters.first().map(|first| first.encode_utf8(&mut buffer).as_bytes()[0]);
        let encoded = self.encoded.iter().filter_map(|spelling| spelling.bytes().next());
        encoded.chain(first).chain(*b"\\%&").collect()
    }

    /// Where the value ends that begins at a place of a text as Base64 or as hexadecimal digits.
    pub(super) fn encoded_end(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = self.encoded.iter().filter(|spelling| rest.starts_with(spelling.as_bytes()));
        found.map(|spelling| at + spelling.len()).max()
    }

    /// Where the value ends that begins at a place, character by character. All ways are followed at a time, for some begin
    /// alike.
    pub(super) fn spelled_end(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut buffer = [0; 4];
        let first = self.characters.first()?.encode_utf8(&mut buffer).as_bytes()[0];
        if !text.get(at).is_some_and(|byte| *byte == first || b"\\%&".contains(byte)) {
            return None;
        }
        let (mut ends, mut next) = (vec![at], Vec::new());
        for character in &self.characters {
            next.clear();
            for end in &ends {
                spelled(text, *end, *character, &mut next);
            }
            next.sort_unstable();
            next.dedup();
            std::mem::swap(&mut ends, &mut next);
            if ends.is_empty() {
                return None;
            }
        }
        ends.last().copied()
    }
}

/// Adds where each spelling of a character ends that begins at a place.
fn spelled(text: &[u8], at: usize, character: char, ends: &mut Vec<usize>) {
    let Some(rest) = text.get(at..) else { return };
    let mut buffer = [0; 4];
    let bytes = character.encode_utf8(&mut buffer).as_bytes();
    count_examined(bytes.len());
    if rest.starts_with(bytes) {
        ends.push(at + bytes.len());
        // Quotes are doubled within quotes of their kind, in YAML and in CSV.
        if matches!(character, '\'' | '"') && rest.get(1) == Some(&bytes[0]) {
            ends.push(at + 2);
        }
    }
    match rest.first() {
        Some(b'\\') => {
            // One is doubled each time that a text is put into another.
            let slashes = backslashes(rest);
            if character == '\\' {
                // What stands behind them may begin with one of its own.
                let doubled = [2, 4, 8].into_iter().filter(|count| *count <= slashes);
                ends.extend(doubled.map(|count| at + count));
            }
            ends.extend(escaped(&rest[slashes..], character).map(|length| at + slashes + length));
            ends.extend(in_pair(rest, character).map(|length| at + length));
        }
        Some(b'%') => ends.extend(in_address(rest, bytes).map(|length| at + length)),
        Some(b'&') => ends.extend(in_html(rest, character).map(|length| at + length)),
        Some(b'+') if character == ' ' => ends.push(at + 1),
        _ => {}
    }
}

/// Counts the backslashes that a text begins with, up to [`MAX_BACKSLASHES`].
fn backslashes(text: &[u8]) -> usize {
    let examined = text.iter().take(MAX_BACKSLASHES).inspect(|_| count_examined(1));
    examined.take_while(|byte| **byte == b'\\').count()
}

/// How long the spelling of a character is behind a backslash.
fn escaped(rest: &[u8], character: char) -> Option<usize> {
    let digits = |from: usize, count: usize| number(rest.get(from..from + count)?, 16);
    let code = u32::from(character);
    match rest.first()? {
        b'u' if rest.get(1) == Some(&b'{') => {
            let end = rest.iter().take(10).position(|byte| *byte == b'}')?;
            (number(&rest[2..end], 16) == Some(code)).then_some(end + 1)
        }
        b'u' => (digits(1, 4) == Some(code)).then_some(5),
        b'U' => (digits(1, 8) == Some(code)).then_some(9),
        b'x' => (digits(1, 2) == Some(code)).then_some(3),
        first => {
            let meant = match first {
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'"' | b'/' | b'\'' => char::from(*first),
                _ => return None,
            };
            (meant == character).then_some(1)
        }
    }
}

/// How long a character is as a pair of `\uXXXX`, where it needs one.
fn in_pair(rest: &[u8], character: char) -> Option<usize> {
    let mut units = [0; 2];
    if character.encode_utf16(&mut units).len() < 2 {
        return None;
    }
    let mut length = 0;
    for unit in units {
        let slashes = backslashes(&rest[length..]);
        length += slashes;
        let is_unit = rest.get(length) == Some(&b'u')
            && number(rest.get(length + 1..length + 5)?, 16) == Some(u32::from(unit));
        if slashes == 0 || !is_unit {
            return None;
        }
        length += 5;
    }
    Some(length)
}

/// How long a character is as `%XX`, also where the `%` is spelled so itself.
fn in_address(rest: &[u8], bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    for byte in bytes {
        if rest.get(length) != Some(&b'%') {
            return None;
        }
        length += 1;
        while rest.get(length..length + 2) == Some(b"25") && *byte != b'%' {
            length += 2;
            count_examined(2);
        }
        if number(rest.get(length..length + 2)?, 16) != Some(u32::from(*byte)) {
            return None;
        }
        length += 2;
    }
    Some(length)
}

/// How long a character is as `&#233;`, `&#xe9;` or by a name.
fn in_html(rest: &[u8], character: char) -> Option<usize> {
    let end = rest.iter().take(12).position(|byte| *byte == b';')?;
    let code = match &rest[1..end] {
        b"quot" => Some(u32::from('"')),
        b"amp" => Some(u32::from('&')),
        b"lt" => Some(u32::from('<')),
        b"gt" => Some(u32::from('>')),
        b"apos" => Some(u32::from('\'')),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    };
    (code == Some(u32::from(character))).then_some(end + 1)
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u32::from_str_radix(text, radix).ok()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The digits of a value that begins so many bytes behind a group of three: those that no neighbour changes.
fn within_base64(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let bits = |place: usize| -> u8 {
        let of = |bit: usize| {
            let byte = (bit / 8).checked_sub(offset).and_then(|index| value.get(index)).copied().unwrap_or(0);
            byte >> (7 - bit % 8) & 1
        };
        (0..6).fold(0, |sum, step| sum << 1 | of(place * 6 + step))
    };
    let (first, last) = ((offset * 8).div_ceil(6), (offset + value.len()) * 8 / 6);
    (first..last).map(|place| char::from(alphabet[usize::from(bits(place))])).collect()
}

#[cfg(test)]
thread_local! {
    /// The number of bytes that scans on this thread have examined.
    pub(super) static EXAMINED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that a scan examines. Tests use the count, because time is not the same on each machine.
#[cfg(test)]
pub(super) fn count_examined(bytes: usize) {
    EXAMINED.with(|examined| examined.set(examined.get() + bytes));
}

/// Counts nothing outside tests.
#[cfg(not(test))]
pub(super) fn count_examined(_: usize) {}

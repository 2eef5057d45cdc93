//! Answers in lower case.

use crate::characters::{ClassMemo, is_east_asian};
use crate::scan::{has_upper_ascii, leading, lower_ascii};
use gage_text_kit::text::is_space;
use std::borrow::Cow;

/// A text in lower case in which every byte keeps its place. A character whose lower case has another length stays as
/// it is, and so do East Asian characters.
pub(crate) struct Lowered<'a> {
    pub(crate) text: Cow<'a, str>,
    /// True if the text has a capital sigma, which is `σ` in [`Lowered::text`] even at the end of a word.
    pub(crate) has_sigma: bool,
    /// True if the text has a character whose lower case is not the one in [`Lowered::text`], sigma aside.
    pub(crate) is_partial: bool,
}

impl<'a> Lowered<'a> {
    pub(crate) fn new(text: &'a str) -> Lowered<'a> {
        let mut lowered = Lowered { text: Cow::Borrowed(text), has_sigma: false, is_partial: false };
        // The text in lower case, once it differs.
        let mut bytes = has_upper_ascii(text.as_bytes()).then(|| {
            let mut bytes = text.as_bytes().to_vec();
            lower_ascii(&mut bytes);
            bytes
        });
        for (at, character) in cased(text) {
            match lower(character) {
                Some(lower) if lower == character => {}
                Some(lower) => {
                    lowered.has_sigma |= character == 'Σ';
                    let bytes = bytes.get_or_insert_with(|| text.as_bytes().to_vec());
                    if let Some(place) = bytes.get_mut(at..at + lower.len_utf8()) {
                        lower.encode_utf8(place);
                    }
                }
                None => lowered.is_partial = true,
            }
        }
        // Characters are replaced as a whole, so the text is valid.
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            lowered.text = Cow::Owned(text);
        }
        lowered
    }
}

/// Returns a text without capital sigmas in lower case, as [`str::to_lowercase`] does.
pub(crate) fn lowered_in_full(text: &str) -> String {
    let mut lowered = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, character) in cased(text) {
        lowered.push_str(text.get(copied..at).unwrap_or_default());
        match lower(character) {
            Some(lower) => lowered.push(lower),
            // The most common letters whose lower case has another length.
            None if character == 'İ' => lowered.push_str("i\u{307}"),
            None if character == 'ẞ' => lowered.push('ß'),
            None => lowered.extend(character.to_lowercase()),
        }
        copied = at + character.len_utf8();
    }
    lowered.push_str(text.get(copied..).unwrap_or_default());
    lowered.make_ascii_lowercase();
    lowered
}

/// Returns the characters beyond ASCII that may not be their own lower case, with their positions.
fn cased(text: &str) -> impl Iterator<Item = (usize, char)> {
    let bytes = if text.is_ascii() { &[] } else { text.as_bytes() };
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at;
            let character = match *bytes.get(start)? {
                0..=0x7f => {
                    at += 1;
                    continue;
                }
                // Most East Asian characters, by their first byte.
                0xe3..=0xe9 => {
                    at += 3;
                    continue;
                }
                first @ 0xc2..=0xdf => {
                    at += 2;
                    let last = bytes.get(start + 1)? & 0x3f;
                    char::from_u32(u32::from(first & 0x1f) << 6 | u32::from(last))?
                }
                _ => {
                    let character = text.get(start..)?.chars().next()?;
                    at += character.len_utf8();
                    character
                }
            };
            if !is_lower(character)
                && !OWN.get(character, |character| character.to_lowercase().eq([character]))
            {
                return Some((start, character));
            }
        }
    })
}

/// Whether characters are their own lower case.
static OWN: ClassMemo = ClassMemo::new();

/// Returns whether a character is known to be its own lower case. Looking into large tables costs more than everything
/// else.
fn is_lower(character: char) -> bool {
    matches!(character,
        '\u{df}'..='\u{ff}' | '\u{300}'..='\u{344}' | '\u{3ac}'..='\u{3ce}' | '\u{430}'..='\u{45f}'
        | '\u{590}'..='\u{109f}' | '\u{2000}'..='\u{20ff}' | '\u{2190}'..='\u{24b5}' | '\u{2500}'..='\u{2bff}'
        | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{fb00}'..='\u{fb06}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns the lower case of a character. `None` if it has another length, or if it is another character's form of East
/// Asian width.
fn lower(character: char) -> Option<char> {
    let shifted = |distance: u32| char::from_u32(u32::from(character) + distance);
    match character {
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{de}' => return shifted(0x20),
        '\u{391}'..='\u{3a1}' | '\u{3a3}'..='\u{3ab}' | '\u{410}'..='\u{42f}' => return shifted(0x20),
        '\u{400}'..='\u{40f}' => return shifted(0x50),
        'Ά' => return Some('ά'),
        'Έ'..='Ί' => return shifted(0x25),
        '\u{80}'..='\u{bf}' | '\u{d7}' => return Some(character),
        'İ' | 'ẞ' => return None,
        _ => {}
    }
    let mut characters = character.to_lowercase();
    let lower = characters.next().filter(|lower| lower.len_utf8() == character.len_utf8())?;
    let is_kept = is_east_asian(character) && lower != character;
    (characters.next().is_none() && !is_kept).then_some(lower)
}

/// Replaces each run of white space in a text by one space.
pub(crate) fn collapsed(text: &str) -> Cow<'_, str> {
    let Some(from) = first_to_collapse(text) else { return Cow::Borrowed(text) };
    let (kept, rest) = text.split_at(from);
    let mut collapsed = Vec::with_capacity(text.len());
    collapsed.extend_from_slice(kept.as_bytes());
    let mut follows_space = kept.ends_with(' ');
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let width = space_at(rest, at, byte);
        if width == 0 {
            collapsed.push(byte);
        } else if !follows_space {
            collapsed.push(b' ');
        }
        follows_space = width > 0;
        at += width.max(1);
    }
    // White space is removed as a whole, so the text is valid.
    Cow::Owned(String::from_utf8(collapsed).unwrap_or_else(|_| text.to_owned()))
}

/// Bytes that are, or begin, a character other than white space.
static VISIBLE: [bool; 256] = {
    let (mut set, mut byte) = ([true; 256], 0);
    while byte < 256 {
        set[byte] = !matches!(byte, 0x09..=0x0d | 0x1c..=0x20 | 0xc2 | 0xe1..=0xe3);
        byte += 1;
    }
    set
};

/// Returns the position of the first white space that is not a single space.
fn first_to_collapse(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += leading(bytes.get(at..)?, &VISIBLE);
        match bytes.get(at)? {
            b' ' if bytes.get(at + 1).is_none_or(|next| *next > b' ' && next.is_ascii()) => {}
            b' ' if space_at(text, at + 1, *bytes.get(at + 1)?) > 0 => return Some(at + 1),
            byte if *byte != b' ' && space_at(text, at, *byte) > 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

/// Returns the length of the white space whose first byte is at `at`; 0 if there is none.
fn space_at(text: &str, at: usize, byte: u8) -> usize {
    match byte {
        b'\t'..=b'\r' | b'\x1c'..=b' ' => 1,
        // The first bytes of all other white space.
        0xc2 | 0xe1..=0xe3 => {
            let next = text.get(at..).and_then(|rest| rest.chars().next());
            next.filter(|next| is_space(*next)).map_or(0, char::len_utf8)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a text in lower case as [`Lowered`] defines it.
    fn expected(text: &str) -> String {
        let lower = |character: char| {
            let mut lower = character.to_lowercase();
            lower.next().filter(|lower| lower.len_utf8() == character.len_utf8()).unwrap_or(character)
        };
        text.chars()
            .map(|character| if is_east_asian(character) { character } else { lower(character) })
            .collect()
    }

    #[test]
    fn every_character_is_lowered_in_its_place() {
        for character in '\0'..=char::MAX {
            let text = format!("éX{character}y");
            let lowered = Lowered::new(&text);
            assert_eq!(lowered.text, expected(&text), "{character:?}");
            let is_full = lowered.text == text.to_lowercase();
            assert_eq!(!lowered.is_partial, is_full, "{character:?}");
            assert_eq!(lowered.has_sigma, character == 'Σ', "{character:?}");
            assert_eq!(lowered_in_full(&text), text.to_lowercase(), "{character:?}");
        }
    }

    #[test]
    fn white_space_collapses() {
        for character in '\0'..=char::MAX {
            let text = format!("a b{character} {character}c {character}");
            assert_eq!(collapsed(&text), gage_text_kit::text::collapse(&text), "{character:?}");
        }
        for text in ["", " ", "  ", "a  b", "a b", "a\n\nb\u{3000} c"] {
            assert_eq!(collapsed(text), gage_text_kit::text::collapse(text), "{text:?}");
        }
    }
}

//! Character classes used when searching an answer: words, borders, decoration.

use crate::scan::{leading, set_of, trailing};
use gage_text_kit::text::{Normalization, is_space};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns whether a character belongs to a word in a script that separates words by spaces. A Chinese character next
/// to a letter does not hide it: `选B`.
pub(crate) fn is_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    // The letters of Western European languages and Russian, without a look into large tables.
    let is_common = matches!(character, '\u{c0}'..='\u{17f}' | '\u{3b1}'..='\u{3c9}' | '\u{410}'..='\u{44f}')
        && !matches!(character, '×' | '÷');
    is_common || (!is_east_asian(character) && is_alphanumeric(character))
}

/// Returns whether a character is a letter or a digit, as [`char::is_alphanumeric`] does. The letters of the common
/// scripts, accents, punctuation and emoji need no look into large tables.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    match character {
        '\0'..='\x7f' => character.is_ascii_alphanumeric(),
        '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        '\u{300}'..='\u{344}'
        | '\u{2000}'..='\u{206f}'
        | '\u{3001}'..='\u{3004}'
        | '\u{3008}'..='\u{3020}' => false,
        '\u{2190}'..='\u{245f}' | '\u{2500}'..='\u{2775}' | '\u{1f200}'..='\u{1faff}' => false,
        // Latin, Greek, Cyrillic, Hebrew, Arabic, Hindi, Thai, and the rest of Latin.
        '\u{f8}'..='\u{2c1}' | '\u{3a3}'..='\u{3f5}' | '\u{3f7}'..='\u{481}' | '\u{48a}'..='\u{52f}' => true,
        '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{657}' | '\u{66e}'..='\u{6d3}' | '\u{904}'..='\u{939}' => true,
        'Ά' | 'Έ'..='Ί' | '\u{38e}'..='\u{3a1}' | '\u{e01}'..='\u{e3a}' | '\u{1e00}'..='\u{1f15}' => true,
        _ => ALPHANUMERIC.get(character, char::is_alphanumeric),
    }
}

static ALPHANUMERIC: ClassMemo = ClassMemo::new();

/// What is known of characters that were looked up. A text has few different ones, and a look into large tables costs
/// hundreds of instructions.
pub(crate) struct ClassMemo([AtomicU32; 256]);

impl ClassMemo {
    pub(crate) const fn new() -> ClassMemo {
        ClassMemo([const { AtomicU32::new(0) }; 256])
    }

    /// Returns the result of a look-up, which is always the same.
    pub(crate) fn get(&self, character: char, look_up: impl Fn(char) -> bool) -> bool {
        let code = u32::from(character);
        // A place holds the last of its characters, and the result in the lowest bit.
        let place = &self.0[code as usize % 256];
        let known = place.load(Ordering::Relaxed);
        if known >> 1 == code && code > 0 {
            return known & 1 == 1;
        }
        let found = look_up(character);
        place.store(code << 1 | u32::from(found), Ordering::Relaxed);
        found
    }
}

/// Returns whether a character belongs to Chinese, Japanese or Korean, which do not separate words.
pub(crate) fn is_east_asian(character: char) -> bool {
    matches!(character,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether a character is white space within a line.
pub(crate) fn is_blank(character: char) -> bool {
    is_space(character) && !matches!(character, '\n' | '\r')
}

/// ASCII characters that may come before an answer, or after it, without being part of it.
static LEADS: [bool; 256] = set_of(b"*_\\`\"'$,:;!?([{< \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f");
static TRAILS: [bool; 256] = set_of(b"*_\\`\"'$,:;!?)]}>. \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f");

/// Returns whether a character may come before an answer without being part of it.
pub(crate) fn may_lead(character: char) -> bool {
    is_one_of(character, &LEADS)
}

/// Returns whether a character may come after an answer without being part of it.
pub(crate) fn may_trail(character: char) -> bool {
    is_one_of(character, &TRAILS)
}

/// Chinese punctuation marks.
const MARKS: [char; 17] =
    ['，', '、', '；', '：', '！', '？', '。', '【', '】', '「', '」', '『', '』', '《', '》', '〈', '〉'];

/// Returns whether a character is in a set of ASCII characters, or is a Chinese mark or other white space. A long
/// answer may be full of them.
fn is_one_of(character: char, ascii: &[bool; 256]) -> bool {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => ascii[usize::from(byte)],
        // The East Asian ones are marks that stand close together.
        _ if character >= '\u{2e80}' => {
            matches!(character, '\u{3000}'..='\u{3011}' | '\u{ff00}'..='\u{ff1f}')
                && (character == '\u{3000}' || MARKS.contains(&character))
        }
        _ => is_space(character),
    }
}

/// Strips the decoration from both ends of a label: `**(B).**` becomes `B`.
pub(crate) fn bare(text: &str) -> &str {
    // A long answer may begin or end with much decoration. Nearly all of it is ASCII.
    let bytes = text.as_bytes();
    let text = text.get(leading(bytes, &LEADS)..).unwrap_or_default();
    let text = text.get(..text.len() - trailing(text.as_bytes(), &TRAILS)).unwrap_or_default();
    text.trim_matches(|character| may_lead(character) || may_trail(character))
}

/// Strips the decoration around the text of an option, and keeps the option's own signs (`.5`, `C++`).
pub(crate) fn undecorated(text: &str) -> &str {
    let text = text.get(leading(text.as_bytes(), &LEADS)..).unwrap_or_default();
    let text = text.trim_start_matches(may_lead);
    let text = text.get(..text.len() - trailing(text.as_bytes(), &TRAILS)).unwrap_or_default();
    text.trim_end_matches(may_trail)
}

/// Returns the text in lower case, with single spaces.
pub(crate) fn normalized(text: &str) -> Cow<'_, str> {
    Normalization { case_sensitive: false, strip: true, collapse: true }.apply(text)
}

/// Returns the rest of an answer after the text of an option, both compared as [`normalized`]; `None` if the answer
/// does not begin with the option. Reads no further than it has to, so callers can try it at every position of a long
/// answer.
pub(crate) fn begins_with<'text>(
    text: &'text str,
    option: &str,
) -> Option<impl Iterator<Item = char> + 'text> {
    let text = text.trim_start_matches(is_space);
    // Most texts differ in the first character. ASCII and East Asian characters are easily compared.
    let is_other = match text.chars().next() {
        Some(first) if first.is_ascii() => !option.starts_with(first.to_ascii_lowercase()),
        Some(first @ '\u{2e80}'..='\u{a4cf}') => !option.starts_with(first),
        Some(_) => false,
        None => !option.is_empty(),
    };
    if is_other && !option.is_empty() {
        return None;
    }
    let mut was_space = false;
    let characters = text.chars().filter_map(move |character| {
        let is_space = is_space(character);
        let is_repeated = is_space && was_space;
        was_space = is_space;
        (!is_repeated).then_some(if is_space { ' ' } else { character })
    });
    let mut characters = characters.flat_map(char::to_lowercase);
    // The lower case of a capital sigma depends on the character after it.
    let is_same = |one: char, other: char| one == other || (is_sigma(one) && is_sigma(other));
    option
        .chars()
        .all(|expected| characters.next().is_some_and(|found| is_same(found, expected)))
        .then_some(characters)
}

fn is_sigma(character: char) -> bool {
    matches!(character, 'σ' | 'ς')
}

/// Maximum length of a word, in bytes. No word that the rules know is as long.
const MAX_WORD_BYTES: usize = 256;

/// ASCII characters of words.
static WORDS: [bool; 256] = set_of(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'");

/// Returns the word that starts at `at`. Of a word longer than [`MAX_WORD_BYTES`] it returns about as much, so that
/// reading words around every letter of a long answer takes linear time.
pub(crate) fn word_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let near = match rest.len() {
        0..=MAX_WORD_BYTES => rest,
        _ => rest.get(..rest.floor_char_boundary(MAX_WORD_BYTES)).unwrap_or_default(),
    };
    near.get(..word_len(near, 0)).unwrap_or_default()
}

/// Returns the length of the word that starts at `at`.
pub(crate) fn word_len(text: &str, at: usize) -> usize {
    let Some(bytes) = text.as_bytes().get(at..) else { return 0 };
    let ascii = leading(bytes, &WORDS);
    if bytes.get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    let rest = text.get(at + ascii..).unwrap_or_default();
    let is_part = |character: &char| is_word(*character) || *character == '\'';
    ascii + rest.chars().take_while(is_part).map(char::len_utf8).sum::<usize>()
}

/// Splits off the last word of the text. The word is empty if the text does not end with one. A word longer than
/// [`MAX_WORD_BYTES`] is cut as in [`word_at`].
pub(crate) fn split_last_word(text: &str) -> (&str, &str) {
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_WORD_BYTES));
    let near = text.get(from..).unwrap_or_default();
    let ascii = trailing(near.as_bytes(), &WORDS);
    let before = near.get(..near.len() - ascii).unwrap_or_default();
    let before = match before.as_bytes().last() {
        Some(last) if !last.is_ascii() => {
            before.trim_end_matches(|character| is_word(character) || character == '\'')
        }
        _ => before,
    };
    text.split_at(from + before.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoration_goes_and_signs_stay() {
        assert_eq!(bare(" **(B).** "), "B");
        assert_eq!(bare("【B】"), "B");
        assert_eq!(undecorated("\"C++.\""), "C++");
        assert_eq!(undecorated(".5"), ".5");
        assert_eq!(undecorated("-1."), "-1");
    }

    #[test]
    fn texts_that_begin_with_an_option() {
        for (text, option, after) in [
            ("  Blue \n WHALE, yes", "blue whale", Some(", yes")),
            ("blue whale", "blue whale", Some("")),
            ("ΟΔΟΣ 5", "οδος", Some(" 5")),
            ("İ.", "i\u{307}", Some(".")),
            ("blue", "blue whale", None),
            ("a blue whale", "blue whale", None),
        ] {
            let found = begins_with(text, option).map(Iterator::collect::<String>);
            assert_eq!(found.as_deref(), after, "{text}");
        }
    }

    #[test]
    fn letters_and_digits() {
        for character in '\0'..=char::MAX {
            assert_eq!(is_alphanumeric(character), character.is_alphanumeric(), "{character:?}");
            let is_mark = is_space(character) || MARKS.contains(&character);
            assert_eq!(
                may_lead(character),
                is_mark || "*_\\`\"'$,:;!?([{<".contains(character),
                "{character:?}"
            );
            assert_eq!(
                may_trail(character),
                is_mark || "*_\\`\"'$,:;!?)]}>.".contains(character),
                "{character:?}"
            );
        }
    }

    #[test]
    fn words() {
        assert_eq!(word_at("it isn't so", 3), "isn't");
        assert_eq!(split_last_word("it isn't"), ("it ", "isn't"));
        assert_eq!(split_last_word("答案是B"), ("答案是", "B"));
        assert_eq!(split_last_word("it: "), ("it: ", ""));
    }
}

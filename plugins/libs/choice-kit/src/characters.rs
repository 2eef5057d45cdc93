//! Character classes used when searching an answer: words, borders, decoration.

use gage_text_kit::text::{Normalization, is_space};
use std::borrow::Cow;

/// Returns whether a character belongs to a word in a script that separates words by spaces. A Chinese character next
/// to a letter does not hide it: `选B`.
pub(crate) fn is_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    // The letters of Western European languages and Russian, without a look into large tables.
    let is_common = matches!(character, '\u{c0}'..='\u{17f}' | '\u{3b1}'..='\u{3c9}' | '\u{410}'..='\u{44f}')
        && !matches!(character, '×' | '÷');
    is_common || (!is_east_asian(character) && character.is_alphanumeric())
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

/// Returns a text in lower case in which every byte keeps its place. A character whose lower case has another length
/// stays as it is.
pub(crate) fn lowered(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let lower = |character: char| {
        let mut lower = character.to_lowercase();
        lower.next().filter(|lower| lower.len_utf8() == character.len_utf8()).unwrap_or(character)
    };
    text.chars()
        .map(|character| if is_east_asian(character) { character } else { lower(character) })
        .collect()
}

/// Returns whether a character may come before an answer without being part of it.
pub(crate) fn may_lead(character: char) -> bool {
    is_one_of(character, const { bits("*_\\`\"'$,:;!?([{<") })
}

/// Returns whether a character may come after an answer without being part of it.
pub(crate) fn may_trail(character: char) -> bool {
    is_one_of(character, const { bits("*_\\`\"'$,:;!?)]}>.") })
}

/// Returns a bit set of ASCII characters.
const fn bits(characters: &str) -> u128 {
    let (bytes, mut bits, mut at) = (characters.as_bytes(), 0, 0);
    while at < bytes.len() {
        bits |= 1_u128 << bytes[at];
        at += 1;
    }
    bits
}

/// Chinese punctuation marks.
const MARKS: [char; 17] =
    ['，', '、', '；', '：', '！', '？', '。', '【', '】', '「', '」', '『', '』', '《', '》', '〈', '〉'];

/// Returns whether a character is white space, a Chinese mark, or in a set of ASCII characters. A long answer may be
/// full of them.
fn is_one_of(character: char, ascii: u128) -> bool {
    if character.is_ascii() {
        return ascii >> (character as u32) & 1 == 1 || is_space(character);
    }
    is_space(character) || MARKS.contains(&character)
}

/// Strips the decoration from both ends of a label: `**(B).**` becomes `B`.
pub(crate) fn bare(text: &str) -> &str {
    text.trim_matches(|character| may_lead(character) || may_trail(character))
}

/// Strips the decoration around the text of an option, and keeps the option's own signs (`.5`, `C++`).
pub(crate) fn undecorated(text: &str) -> &str {
    text.trim_start_matches(may_lead).trim_end_matches(may_trail)
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
    let mut was_space = false;
    let characters = text.trim_start_matches(is_space).chars().filter_map(move |character| {
        let is_space = is_space(character);
        let is_repeated = is_space && was_space;
        was_space = is_space;
        (!is_repeated).then_some(if is_space { ' ' } else { character })
    });
    // Most texts differ in the first character, and East Asian characters have no case.
    let first = text.trim_start_matches(is_space).chars().next();
    if first.is_some_and(|first| matches!(first, '\u{2e80}'..='\u{a4cf}') && !option.starts_with(first)) {
        return None;
    }
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

/// Returns the word that starts at `at`.
pub(crate) fn word_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.find(|character| !is_word(character) && character != '\'').unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// Splits off the last word of the text. The word is empty if the text does not end with one.
pub(crate) fn split_last_word(text: &str) -> (&str, &str) {
    let before = text.trim_end_matches(|character| is_word(character) || character == '\'');
    text.split_at(before.len())
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
    fn words() {
        assert_eq!(word_at("it isn't so", 3), "isn't");
        assert_eq!(split_last_word("it isn't"), ("it ", "isn't"));
        assert_eq!(split_last_word("答案是B"), ("答案是", "B"));
        assert_eq!(split_last_word("it: "), ("it: ", ""));
    }
}

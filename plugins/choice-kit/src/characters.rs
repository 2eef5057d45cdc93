//! What the characters of an answer are to the search: words, borders, decoration.

use gage_text_kit::text::{Normalization, is_space};
use std::borrow::Cow;

/// Whether a character belongs to a word of a script that puts blanks between words. A Chinese
/// character beside a letter does not hide it: `选B`.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() && !is_east_asian(character)
}

fn is_east_asian(character: char) -> bool {
    matches!(character,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character may stand before an answer without belonging to it.
pub(crate) fn may_lead(character: char) -> bool {
    is_space(character) || is_mark(character) || matches!(character, '(' | '[' | '{' | '<')
}

/// Whether a character may stand after an answer without belonging to it.
pub(crate) fn may_trail(character: char) -> bool {
    is_space(character) || is_mark(character) || matches!(character, ')' | ']' | '}' | '>' | '.')
}

fn is_mark(character: char) -> bool {
    matches!(
        character,
        '*' | '_'
            | '\\'
            | '`'
            | '"'
            | '\''
            | '$'
            | ','
            | ':'
            | ';'
            | '!'
            | '?'
            | '，'
            | '、'
            | '；'
            | '：'
            | '！'
            | '？'
            | '。'
            | '【'
            | '】'
            | '「'
            | '」'
            | '『'
            | '』'
            | '《'
            | '》'
            | '〈'
            | '〉'
    )
}

/// The text without decoration on either side, for a label: `**(B).**` is `B`.
pub(crate) fn bare(text: &str) -> &str {
    text.trim_matches(|character| may_lead(character) || may_trail(character))
}

/// The text without what may stand around an answer, for the text of an option, whose own signs
/// (`.5`, `C++`) stay.
pub(crate) fn undecorated(text: &str) -> &str {
    text.trim_start_matches(may_lead).trim_end_matches(may_trail)
}

/// The text in lower case, with single blanks.
pub(crate) fn normalized(text: &str) -> Cow<'_, str> {
    Normalization { case_sensitive: false, strip: true, collapse: true }.apply(text)
}

/// The word that starts at a place.
pub(crate) fn word_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.find(|character| !is_word(character) && character != '\'').unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// The text before its last word, and that word, which is empty where the text ends in none.
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
    fn words() {
        assert_eq!(word_at("it isn't so", 3), "isn't");
        assert_eq!(split_last_word("it isn't"), ("it ", "isn't"));
        assert_eq!(split_last_word("答案是B"), ("答案是", "B"));
        assert_eq!(split_last_word("it: "), ("it: ", ""));
    }
}

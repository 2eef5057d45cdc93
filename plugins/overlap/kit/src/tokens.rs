//! Texts cut into the words that are compared.

use gage_sdk::{json, serde_json};
use gage_text_kit::text::{fold, is_space, lower};
use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// How a text is cut into words. All of them ignore case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// Stretches of letters and digits of any script with their combining marks; Chinese characters
    /// and Japanese kana one by one. Fullwidth forms are taken for ASCII, and decomposed characters
    /// for composed ones.
    Unicode,
    /// Stretches of the ASCII letters and digits: what the `rouge-score` package compares.
    RougeScore,
    /// What stands between white space.
    Whitespace,
}

impl Tokenizer {
    /// The words that name them in parameters.
    pub const NAMES: [(&'static str, Tokenizer); 3] = [
        ("unicode", Tokenizer::Unicode),
        ("rouge_score", Tokenizer::RougeScore),
        ("whitespace", Tokenizer::Whitespace),
    ];

    /// The JSON Schema of the parameter.
    pub fn schema() -> serde_json::Value {
        json!({
            "enum": Tokenizer::NAMES.map(|(name, _)| name), "default": "unicode",
            "description": "What a word is: letters and digits of any script, with CJK by character; ASCII \
                letters and digits as in the rouge-score package; or what stands between white space",
        })
    }

    /// The text as it is cut: in lower case, and for Unicode words normalized.
    pub fn prepare(self, text: &str) -> Cow<'_, str> {
        if self != Tokenizer::Unicode || text.is_ascii() {
            return lower(text);
        }
        let text = owned_or(fold(text), |text| match is_nfc_quick(text.chars()) {
            IsNormalized::Yes => Cow::Borrowed(text),
            IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
        });
        owned_or(text, lower)
    }

    /// The words of a prepared text.
    pub fn words(self, prepared: &str) -> Words<'_> {
        let class = match self {
            Tokenizer::Unicode => unicode_class,
            Tokenizer::RougeScore => ascii_class,
            Tokenizer::Whitespace => space_class,
        };
        Words { rest: prepared, class }
    }
}

/// Applies a change that may leave a text as it is to one that may be borrowed.
fn owned_or<'text>(
    text: Cow<'text, str>,
    change: impl for<'any> Fn(&'any str) -> Cow<'any, str>,
) -> Cow<'text, str> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => Cow::Owned(change(&text).into_owned()),
    }
}

/// What a character is to the words around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It stands between words.
    Border,
    /// It is part of a word.
    Part,
    /// It is a word.
    Whole,
    /// It belongs to what stands before it.
    Mark,
}

fn ascii_class(character: char) -> Class {
    if character.is_ascii_alphanumeric() { Class::Part } else { Class::Border }
}

fn space_class(character: char) -> Class {
    if is_space(character) { Class::Border } else { Class::Part }
}

fn unicode_class(character: char) -> Class {
    if character.is_ascii() {
        ascii_class(character)
    } else if is_mark(character) || matches!(character, '\u{200c}' | '\u{200d}') {
        // The joiners shape the letters around them and end no word.
        Class::Mark
    } else if !character.is_alphanumeric() {
        Class::Border
    } else if is_written_without_spaces(character) {
        Class::Whole
    } else {
        Class::Part
    }
}

/// Whether a character is a combining mark.
pub fn is_mark(character: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    // Nothing below is one, and looking it up costs more than all else.
    character >= '\u{300}'
        && matches!(get_general_category(character), NonspacingMark | SpacingMark | EnclosingMark)
}

/// Chinese characters, kana and bopomofo.
fn is_written_without_spaces(character: char) -> bool {
    matches!(character,
        '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{1b000}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text, in order.
#[derive(Clone)]
pub struct Words<'text> {
    rest: &'text str,
    class: fn(char) -> Class,
}

impl<'text> Iterator for Words<'text> {
    type Item = &'text str;

    fn next(&mut self) -> Option<&'text str> {
        let class = self.class;
        let starts_word = |character| matches!(class(character), Class::Part | Class::Whole);
        let text = self.rest.get(self.rest.find(starts_word)?..)?;
        let mut characters = text.char_indices();
        let is_whole = characters.next().is_some_and(|(_, first)| class(first) == Class::Whole);
        let end = characters
            .find(|(_, character)| match class(*character) {
                Class::Mark => false,
                Class::Part => is_whole,
                Class::Whole | Class::Border => true,
            })
            .map_or(text.len(), |(end, _)| end);
        let (word, rest) = text.split_at_checked(end)?;
        self.rest = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        use Tokenizer::{RougeScore, Unicode, Whitespace};
        for (tokenizer, text, expected) in [
            (Unicode, "Don't well-known 3.5 a_b", vec!["don", "t", "well", "known", "3", "5", "a", "b"]),
            (Unicode, "营收 AI增长，", vec!["营", "收", "ai", "增", "长"]),
            (Unicode, "ＡＩ は強い。", vec!["ai", "は", "強", "い"]),
            (Unicode, "cafe\u{301} x\u{323}y", vec!["café", "x\u{323}y"]),
            (Unicode, "हिन्दी में", vec!["हिन्दी", "में"]),
            (Unicode, "한국어 조사", vec!["한국어", "조사"]),
            (Unicode, "か\u{3099}葛\u{e0100}", vec!["が", "葛\u{e0100}"]),
            (Unicode, "😀👩\u{200d}💻 \u{301} …", vec![]),
            (RougeScore, "Don't café 中文 ＡＩ \u{212a}m", vec!["don", "t", "caf", "km"]),
            (Whitespace, " Don't\u{3000}3.5\n😀 ", vec!["don't", "3.5", "😀"]),
            (Unicode, "", vec![]),
        ] {
            let prepared = tokenizer.prepare(text);
            assert_eq!(tokenizer.words(&prepared).collect::<Vec<_>>(), expected, "{tokenizer:?} {text:?}");
        }
    }
}

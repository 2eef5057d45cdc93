//! Texts cut into the words that are compared.

use gage_sdk::{json, serde_json};
use gage_text_kit::text::{fold, is_space, lower};
use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Method that splits a text into words. All of them ignore case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// Runs of letters and digits of any script with their combining marks; Chinese characters and Japanese kana one by
    /// one. Fullwidth forms are read as ASCII, and decomposed characters as composed ones.
    Unicode,
    /// Runs of ASCII letters and digits, as in the `rouge-score` package.
    RougeScore,
    /// Text between white space.
    Whitespace,
}

impl Tokenizer {
    /// Names of the tokenizers in parameters.
    pub const NAMES: [(&'static str, Tokenizer); 3] = [
        ("unicode", Tokenizer::Unicode),
        ("rouge_score", Tokenizer::RougeScore),
        ("whitespace", Tokenizer::Whitespace),
    ];

    /// Returns the JSON Schema of the parameter.
    pub fn schema() -> serde_json::Value {
        json!({
            "enum": Tokenizer::NAMES.map(|(name, _)| name), "default": "unicode",
            "description": "Definition of a word: `unicode` takes letters and digits of any script, and CJK \
             by character; `rouge_score` takes ASCII letters and digits, as the rouge-score package; \
             `whitespace` splits at white space",
        })
    }

    /// Returns the text to be split: in lower case, and normalized for Unicode words.
    pub fn prepare(self, text: &str) -> Cow<'_, str> {
        if self != Tokenizer::Unicode || text.is_ascii() {
            return lower(text);
        }
        // The skipped characters can neither be composed nor be in the wrong order.
        let doubtful =
            |text: &str| is_nfc_quick(text.chars().filter(|character| !is_surely_composed(*character)));
        let text = owned_or(fold(text), |text| match doubtful(text) {
            IsNormalized::Yes => Cow::Borrowed(text),
            IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
        });
        owned_or(text, lower)
    }

    /// Returns the words of a prepared text.
    pub fn words(self, prepared: &str) -> Words<'_> {
        let classes = match self {
            Tokenizer::Unicode if prepared.is_ascii() => Classes::Ascii,
            Tokenizer::Unicode => Classes::Unicode(Memo::default()),
            Tokenizer::RougeScore => Classes::Ascii,
            Tokenizer::Whitespace => Classes::Space,
        };
        Words { text: prepared, at: 0, classes, lines: 0 }
    }
}

/// Applies a change that may leave a text unchanged to one that may be borrowed.
fn owned_or<'text>(
    text: Cow<'text, str>,
    change: impl for<'any> Fn(&'any str) -> Cow<'any, str>,
) -> Cow<'text, str> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => Cow::Owned(change(&text).into_owned()),
    }
}

/// Role of a character in splitting words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Separates words.
    Border,
    /// Part of a word.
    Part,
    /// A word of its own.
    Whole,
    /// Belongs to the character before it.
    Mark,
}

/// Method that classifies characters.
enum Classes {
    Ascii,
    Space,
    Unicode(Memo),
}

impl Classes {
    fn of(&mut self, character: char) -> Class {
        match self {
            Classes::Ascii => ascii_class(character),
            Classes::Space => space_class(character),
            Classes::Unicode(memo) => quick_class(character).unwrap_or_else(|| memo.class(character)),
        }
    }
}

/// Classes of earlier characters: a text has few different ones, and a lookup in the Unicode tables costs more than
/// everything else.
#[derive(Default)]
struct Memo(Vec<Option<(char, Class)>>);

impl Memo {
    const PLACES: usize = 256;

    fn class(&mut self, character: char) -> Class {
        if self.0.is_empty() {
            self.0.resize(Memo::PLACES, None);
        }
        let place = self.0.get_mut(character as usize % Memo::PLACES);
        if let Some(Some((known, class))) = &place
            && *known == character
        {
            return *class;
        }
        let class = unicode_class(character);
        if let Some(place) = place {
            *place = Some((character, class));
        }
        class
    }
}

/// Returns the class of a character that needs no table.
fn quick_class(character: char) -> Option<Class> {
    match character {
        '\0'..='\x7f' => Some(ascii_class(character)),
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' => Some(Class::Whole),
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Some(Class::Whole),
        '\u{ac00}'..='\u{d7a3}' => Some(Class::Part),
        _ => None,
    }
}

/// Returns whether a character is composed and not a combining mark, as far as this is known without a table.
fn is_surely_composed(character: char) -> bool {
    matches!(character,
        '\0'..='\u{2ff}' | '\u{3a3}'..='\u{3ce}' | '\u{400}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff5e}')
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
        // Joiners shape the letters around them and do not end a word.
        Class::Mark
    } else if !character.is_alphanumeric() {
        Class::Border
    } else if is_written_without_spaces(character) {
        Class::Whole
    } else {
        Class::Part
    }
}

/// Returns whether a character is a combining mark.
pub fn is_mark(character: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    // No lower character is a mark, and a lookup costs more than everything else.
    character >= '\u{300}'
        && matches!(get_general_category(character), NonspacingMark | SpacingMark | EnclosingMark)
}

/// Returns whether a character is Chinese, kana or bopomofo.
fn is_written_without_spaces(character: char) -> bool {
    matches!(character,
        '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{1b000}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text, in order.
pub struct Words<'text> {
    text: &'text str,
    at: usize,
    classes: Classes,
    lines: usize,
}

impl<'text> Words<'text> {
    /// Returns the number of lines that end before the last word returned, or before the end of the text if no word is
    /// left.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Returns the next word of ASCII letters and digits, without decoding characters.
    fn next_of_ascii(&mut self) -> Option<&'text str> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric();
        let between = rest.iter().position(is_part).unwrap_or(rest.len());
        let (between, word) = rest.split_at_checked(between)?;
        self.lines += between.iter().filter(|byte| **byte == b'\n').count();
        let start = self.at + between.len();
        self.at = start + word.iter().position(|byte| !is_part(byte)).unwrap_or(word.len());
        self.text.get(start..self.at).filter(|word| !word.is_empty())
    }
}

impl<'text> Iterator for Words<'text> {
    type Item = &'text str;

    fn next(&mut self) -> Option<&'text str> {
        if matches!(self.classes, Classes::Ascii) {
            return self.next_of_ascii();
        }
        let mut characters = self.text.get(self.at..)?.char_indices();
        let (start, is_whole) = loop {
            let Some((start, character)) = characters.next() else {
                self.at = self.text.len();
                return None;
            };
            match self.classes.of(character) {
                Class::Part => break (start, false),
                Class::Whole => break (start, true),
                Class::Border => self.lines += usize::from(character == '\n'),
                Class::Mark => {}
            }
        };
        let end = characters.find(|(_, character)| match self.classes.of(*character) {
            Class::Mark => false,
            Class::Part => is_whole,
            Class::Whole | Class::Border => true,
        });
        let start = self.at + start;
        self.at = end.map_or(self.text.len(), |(end, _)| self.at + end);
        self.text.get(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_normalization::char::canonical_combining_class;

    #[test]
    fn what_is_known_without_a_table_is_what_the_tables_say() {
        for character in '\0'..=char::MAX {
            if let Some(class) = quick_class(character) {
                assert_eq!(class, unicode_class(character), "{character:?}");
            }
            let is_composed = is_nfc_quick([character].into_iter()) == IsNormalized::Yes
                && canonical_combining_class(character) == 0;
            assert!(is_composed || !is_surely_composed(character), "{character:?}");
        }
        let mut memo = Memo::default();
        for character in ['é', '\u{301}', 'и', '\u{538}', 'é', '\u{301}'] {
            assert_eq!(memo.class(character), unicode_class(character), "{character:?}");
        }
    }

    #[test]
    fn lines_are_counted() {
        let mut words = Tokenizer::Unicode.words("\n中文\n\na b\n");
        let mut lines = Vec::new();
        while words.next().is_some() {
            lines.push(words.lines());
        }
        assert_eq!((lines, words.lines()), (vec![1, 1, 3, 3], 4));
    }

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

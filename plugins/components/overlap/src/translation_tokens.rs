//! Texts split into tokens for scoring translations: the tokenizers of sacreBLEU 2.
//!
//! Each puts spaces around every token, and then splits at white space.

use gage_sdk::{json, serde_json};
use gage_text_kit::text::{is_space, strip};
use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};

/// Method that splits a text into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TranslationTokenizer {
    /// Tokenizer of `mteval-v13a.pl`, for languages that separate words by spaces.
    Mteval13a,
    /// Every character.
    Characters,
    /// Chinese characters one by one, the rest like `Mteval13a`.
    Chinese,
    /// Tokenizer of `mteval-v14.pl`: punctuation and symbols of any script.
    International,
    /// Text between white space.
    Whitespace,
}

impl TranslationTokenizer {
    /// Names of the tokenizers in parameters.
    pub(crate) const NAMES: [(&'static str, TranslationTokenizer); 5] = [
        ("13a", TranslationTokenizer::Mteval13a),
        ("char", TranslationTokenizer::Characters),
        ("zh", TranslationTokenizer::Chinese),
        ("intl", TranslationTokenizer::International),
        ("none", TranslationTokenizer::Whitespace),
    ];

    /// Returns the JSON Schema of the parameter.
    pub(crate) fn schema() -> serde_json::Value {
        json!({
            "enum": TranslationTokenizer::NAMES.map(|(name, _)| name), "default": "13a",
            "description": "Tokenizer of sacreBLEU: `zh` for Chinese, `char` for languages without spaces",
        })
    }

    /// Returns the text with white space between its tokens.
    pub(crate) fn prepare(self, text: &str) -> Cow<'_, str> {
        let text = text.trim_end_matches(is_space);
        match self {
            TranslationTokenizer::Mteval13a => {
                // The spaces at the ends give the first and the last character neighbours.
                let text = format!(" {} ", plain_text(text));
                Cow::Owned(separate_western(&text))
            }
            TranslationTokenizer::Characters => {
                let mut separated = String::with_capacity(2 * text.len());
                for character in text.chars() {
                    separated.push(character);
                    separated.push(' ');
                }
                Cow::Owned(separated)
            }
            TranslationTokenizer::Chinese => Cow::Owned(separate_western(&separate_chinese(strip(text)))),
            TranslationTokenizer::International => Cow::Owned(separate_international(text)),
            TranslationTokenizer::Whitespace => Cow::Borrowed(text),
        }
    }
}

/// Removes the parts that `mteval-v13a.pl` does not treat as text: marks of skipped segments, hyphens at line ends,
/// line ends, and the escapes of four characters.
fn plain_text(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for (old, new) in [
        ("<skipped>", ""),
        ("-\n", ""),
        ("\n", " "),
        ("&quot;", "\""),
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ] {
        if text.contains(old) {
            text = Cow::Owned(text.replace(old, new));
        }
    }
    text
}

/// Puts spaces around ASCII punctuation, but not around points and commas between digits, hyphens after anything but a
/// digit, and apostrophes.
fn separate_western(text: &str) -> String {
    let mut separated = Vec::with_capacity(text.len() + text.len() / 4);
    for &byte in text.as_bytes() {
        match byte {
            b'{'..=b'~' | b'['..=b'`' | b'!'..=b'&' | b'('..=b'+' | b':'..=b'@' | b'/' => {
                separated.extend_from_slice(&[b' ', byte, b' ']);
            }
            _ => separated.push(byte),
        }
    }
    let is_point = |byte: u8| matches!(byte, b'.' | b',');
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let separated =
        separate_bytes(&separated, |left, right| is_point(right) && !is_digit(left), Blanks::Right);
    let separated =
        separate_bytes(&separated, |left, right| is_point(left) && !is_digit(right), Blanks::Left);
    let separated = separate_bytes(&separated, |left, right| right == b'-' && is_digit(left), Blanks::Right);
    // Spaces were only added next to ASCII characters, so no other character was split.
    String::from_utf8(separated).unwrap_or_default()
}

/// Implements [`separate_pairs`] on bytes, which is several times as fast, for rules whose separated character is
/// ASCII. To the rules, bytes of other characters are neither digits nor points.
fn separate_bytes(text: &[u8], rule: impl Fn(u8, u8) -> bool, blanks: Blanks) -> Vec<u8> {
    let mut separated = Vec::with_capacity(text.len() + text.len() / 8);
    let mut bytes = text.iter().copied().peekable();
    while let Some(left) = bytes.next() {
        match (bytes.next_if(|right| rule(left, *right)), blanks) {
            (None, _) => separated.push(left),
            (Some(right), Blanks::Left) => separated.extend_from_slice(&[b' ', left, b' ', right]),
            (Some(right), Blanks::Right) => separated.extend_from_slice(&[left, b' ', right, b' ']),
        }
    }
    separated
}

/// Position of spaces around one of a pair of characters.
#[derive(Clone, Copy)]
enum Blanks {
    Left,
    Right,
}

/// Puts spaces around one character of each pair that matches a rule. Pairs do not overlap: the search continues after
/// the last one, like that of a regular expression.
fn separate_pairs(text: &str, rule: impl Fn(char, char) -> bool, blanks: Blanks) -> String {
    let mut separated = String::with_capacity(text.len() + text.len() / 2);
    let mut characters = text.chars().peekable();
    while let Some(left) = characters.next() {
        match (characters.next_if(|right| rule(left, *right)), blanks) {
            (None, _) => separated.push(left),
            (Some(right), Blanks::Left) => separated.extend([' ', left, ' ', right]),
            (Some(right), Blanks::Right) => separated.extend([left, ' ', right, ' ']),
        }
    }
    separated
}

/// Puts spaces around Chinese characters and their punctuation.
fn separate_chinese(text: &str) -> String {
    let mut separated = String::with_capacity(2 * text.len());
    for character in text.chars() {
        if is_chinese(character) {
            separated.extend([' ', character, ' ']);
        } else {
            separated.push(character);
        }
    }
    separated
}

/// Returns whether sacreBLEU's `zh` treats a character as Chinese. It means U+20000 to U+2A6D6 and U+2F800 to U+2FA1D,
/// but its comparison holds for U+2001 to U+2A6D and U+2F81 to U+2FA1 instead.
fn is_chinese(character: char) -> bool {
    matches!(character,
        '\u{2001}'..='\u{2a6d}' | '\u{2e80}'..='\u{2fdf}' | '\u{2ff0}'..='\u{303f}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31c0}'..='\u{31ef}' | '\u{3200}'..='\u{4db5}'
        | '\u{4e00}'..='\u{9fbb}' | '\u{f900}'..='\u{fa2d}' | '\u{fa30}'..='\u{fa6a}'
        | '\u{fa70}'..='\u{fad9}' | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}')
}

/// Class of a character in the international rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Punctuation,
    Symbol,
    Other,
}

fn kind(character: char) -> Kind {
    use GeneralCategory as Category;
    if character.is_ascii_alphabetic() || character == ' ' {
        return Kind::Other;
    }
    match get_general_category(character) {
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber => Kind::Number,
        Category::ConnectorPunctuation
        | Category::DashPunctuation
        | Category::OpenPunctuation
        | Category::ClosePunctuation
        | Category::InitialPunctuation
        | Category::FinalPunctuation
        | Category::OtherPunctuation => Kind::Punctuation,
        Category::MathSymbol
        | Category::CurrencySymbol
        | Category::ModifierSymbol
        | Category::OtherSymbol => Kind::Symbol,
        _ => Kind::Other,
    }
}

/// Puts spaces around symbols, and around punctuation that is not between numbers.
fn separate_international(text: &str) -> String {
    let is_number = |character| kind(character) == Kind::Number;
    let is_punctuation = |character| kind(character) == Kind::Punctuation;
    let separated =
        separate_pairs(text, |left, right| !is_number(left) && is_punctuation(right), Blanks::Right);
    let marked =
        separate_pairs(&separated, |left, right| is_punctuation(left) && !is_number(right), Blanks::Left);
    let mut separated = String::with_capacity(2 * marked.len());
    for character in marked.chars() {
        if kind(character) == Kind::Symbol {
            separated.extend([' ', character, ' ']);
        } else {
            separated.push(character);
        }
    }
    separated
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_text_kit::text::words;
    use proptest::prelude::*;

    fn tokens(tokenizer: TranslationTokenizer, text: &str) -> String {
        words(&tokenizer.prepare(text)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_cut() {
        use TranslationTokenizer::{Characters, Chinese, International, Mteval13a, Whitespace};
        for (tokenizer, text, expected) in [
            (
                Mteval13a,
                "Hello, world... 3.5 1,000 2-3 don't.",
                "Hello , world . . . 3.5 1,000 2 - 3 don't .",
            ),
            (Mteval13a, "&quot;a&amp;lt;b&quot; well-\nknown", "\" a < b \" wellknown"),
            (Characters, "a b。", "a b 。"),
            (Chinese, " 我有3.5元，AI好。", "我 有 3.5 元 ， AI 好 。"),
            (Chinese, "𠀀好", "𠀀 好"),
            (Chinese, "𠀀𠀁", "𠀀𠀁"),
            (International, "«Ça» coûte 3,5€ — 5.", "« Ça » coûte 3,5 € — 5."),
            (Whitespace, "a,\u{3000}b. ", "a, b."),
            (Mteval13a, "", ""),
        ] {
            assert_eq!(tokens(tokenizer, text), expected, "{tokenizer:?} {text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_is_added(text in "\\PC{0,60}") {
            for (name, tokenizer) in TranslationTokenizer::NAMES {
                let plain = |text: &str| text.chars().filter(|character| !is_space(*character)).collect::<String>();
                if !text.contains(['&', '<']) {
                    prop_assert_eq!(plain(&tokenizer.prepare(&text)), plain(&text), "{}", name);
                }
            }
        }
    }
}

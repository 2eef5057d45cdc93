//! White space and case as in Python's `str` methods.

use std::borrow::Cow;

/// Implements Python's `str.isspace`: Unicode white space and the four separators U+001C to U+001F, but neither the
/// byte-order mark nor the zero-width space.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Implements Python's `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Implements Python's `str.split()`: the words between white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Replaces each run of white space with one space, including at the ends.
pub fn collapse(text: &str) -> Cow<'_, str> {
    if is_collapsed(text) {
        return Cow::Borrowed(text);
    }
    let mut collapsed = String::with_capacity(text.len());
    let mut in_space = false;
    for character in text.chars() {
        if !is_space(character) {
            collapsed.push(character);
            in_space = false;
        } else if !in_space {
            collapsed.push(' ');
            in_space = true;
        }
    }
    Cow::Owned(collapsed)
}

/// Returns whether all white space is single spaces.
fn is_collapsed(text: &str) -> bool {
    let mut in_space = false;
    for (at, byte) in text.bytes().enumerate() {
        // Most bytes are visible ASCII characters, and need no decoding. Nor do the later bytes of a character.
        let space = !byte.is_ascii_graphic()
            && text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(is_space);
        if space && (in_space || byte != b' ') {
            return false;
        }
        in_space = space;
    }
    true
}

/// Implements Python's `str.lower()`, including the final sigma. Allocates only if something changes.
pub fn lower(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    let mut lowered = String::new();
    let mut copied = 0;
    for (at, character) in text.char_indices() {
        let quick = quick_lower(character);
        if quick == Some(character) {
            continue;
        }
        let behind = at + character.len_utf8();
        lowered.push_str(text.get(copied..at).unwrap_or_default());
        copied = behind;
        match quick {
            // The lower case of a sigma depends on the characters around it.
            Some('σ') => match is_final(text, at, behind) {
                Some(is_final) => lowered.push(if is_final { 'ς' } else { 'σ' }),
                None => return Cow::Owned(text.to_lowercase()),
            },
            Some(lower) => lowered.push(lower),
            None => lowered.extend(character.to_lowercase()),
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    lowered.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(lowered)
}

/// Returns the lower case of a character if it is known without a table: a lookup costs more than everything else.
/// `None` for other characters. A capital sigma is lowered as in the middle of a word.
fn quick_lower(character: char) -> Option<char> {
    let shifted = |distance: u32| char::from_u32(u32::from(character) + distance);
    match character {
        '\0'..='\x7f' => Some(character.to_ascii_lowercase()),
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{de}' => shifted(0x20),
        '\u{80}'..='\u{ff}' | '\u{300}'..='\u{344}' => Some(character),
        '\u{391}'..='\u{3a1}' | '\u{3a3}'..='\u{3ab}' | '\u{410}'..='\u{42f}' => shifted(0x20),
        '\u{3ac}'..='\u{3ce}' | '\u{430}'..='\u{45f}' => Some(character),
        '\u{400}'..='\u{40f}' => shifted(0x50),
        // Arabic, Hebrew and the scripts of India; punctuation; signs; East Asian characters; emoji.
        '\u{590}'..='\u{109f}'
        | '\u{2000}'..='\u{20ff}'
        | '\u{2190}'..='\u{24b5}'
        | '\u{2500}'..='\u{2bff}' => Some(character),
        '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{fadf}' => Some(character),
        '\u{ff21}'..='\u{ff3a}' => shifted(0x20),
        '\u{ff01}'..='\u{ffef}' | '\u{1f000}'..='\u{1faff}' => Some(character),
        _ => None,
    }
}

/// Returns whether the capital sigma between two positions ends a word: a letter precedes it and none follows it.
/// `None` if the answer requires tables.
fn is_final(text: &str, start: usize, end: usize) -> Option<bool> {
    Some(has_case(text.get(..start)?.chars().rev())? && !has_case(text.get(end..)?.chars())?)
}

/// Returns whether the first character that counts is a letter with a case.
fn has_case(mut characters: impl Iterator<Item = char>) -> Option<bool> {
    match characters.find(|character| !matches!(character, '\'' | '.' | ':' | '^' | '`')) {
        None | Some('\u{4e00}'..='\u{9fff}') => Some(false),
        Some('\u{391}'..='\u{3a1}' | '\u{3a3}'..='\u{3ab}' | '\u{3ac}'..='\u{3ce}') => Some(true),
        Some(near) => near.is_ascii().then_some(near.is_ascii_alphabetic()),
    }
}

/// Replaces fullwidth forms (`Ｂ`, `（`, `：`) and curly quotes with ASCII.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || text.chars().all(|character| folded(character) == character) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(folded).collect())
}

fn folded(character: char) -> char {
    /// Distance from a fullwidth form to its ASCII character.
    const FULLWIDTH_OFFSET: u32 = 0xfee0;
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - FULLWIDTH_OFFSET).unwrap_or(character)
        }
        '\u{3000}' => ' ',
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        _ => character,
    }
}

/// Rules that make two texts comparable.
#[derive(Clone, Copy, Debug)]
pub struct Normalization {
    /// True if case counts.
    pub case_sensitive: bool,
    /// True if white space at the ends is removed.
    pub strip: bool,
    /// True if each run of white space becomes one space.
    pub collapse: bool,
}

impl Normalization {
    /// Applies the normalization.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        let text = if self.strip { strip(text) } else { text };
        let text = if self.collapse { collapse(text) } else { Cow::Borrowed(text) };
        if self.case_sensitive {
            return text;
        }
        match text {
            Cow::Borrowed(text) => lower(text),
            Cow::Owned(text) => Cow::Owned(lower(&text).into_owned()),
        }
    }

    /// Returns whether two texts are equal after normalization.
    pub fn same(self, left: &str, right: &str) -> bool {
        if left == right {
            return true;
        }
        if !self.collapse && !self.case_sensitive && left.is_ascii() && right.is_ascii() {
            let (left, right) = if self.strip { (strip(left), strip(right)) } else { (left, right) };
            return left.eq_ignore_ascii_case(right);
        }
        self.apply(left) == self.apply(right)
    }
}

/// Maximum length of a text that a score card shows, in bytes.
const EXCERPT_BYTES: usize = 256;

/// Returns the text as a score card shows it. A very long text is cut, since a card has a size limit and the record of
/// the sample holds the whole text anyway.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    if text.len() <= EXCERPT_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=EXCERPT_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    let mut cut = text.get(..end).unwrap_or_default().to_owned();
    cut.push('…');
    Cow::Owned(cut)
}

/// Maximum length of a text that an explanation quotes, in bytes.
const QUOTE_BYTES: usize = 64;

/// Returns the text as an explanation quotes it: in one line, in quotes, and cut if it is long.
pub fn quoted(text: &str) -> String {
    // Nothing after the cut is read, since the text may be long.
    let end = text.floor_char_boundary(4 * QUOTE_BYTES);
    let line = collapse(strip(text.get(..end).unwrap_or_default())).into_owned();
    let kept = line.get(..line.floor_char_boundary(QUOTE_BYTES)).unwrap_or_default();
    let mark = if kept.len() < line.len() || end < text.len() { "…" } else { "" };
    format!("'{kept}{mark}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_is_that_of_every_character() {
        for character in '\0'..=char::MAX {
            let text = format!("éX{character}y");
            assert_eq!(lower(&text), text.to_lowercase(), "{character:?}");
        }
        for (text, expected) in [
            ("ΟΔΟΣ ΟΣ", "οδος ος"),
            ("ΑΣ'Α Σ ΑΣ. ΑΣé ΑΣ\u{ad}Β", "ασ'α σ ας. ασé ασ\u{ad}β"),
            ("中文", "中文"),
            ("ÀB中", "àb中"),
            ("\u{130}", "i\u{307}"),
        ] {
            assert_eq!(lower(text), expected);
        }
        assert!(matches!(lower("中文 é"), Cow::Borrowed(_)));
    }

    #[test]
    fn strips_what_python_strips() {
        for (text, expected) in [
            ("\u{a0}a\u{a0}", "a"),
            ("\u{85}a\u{1c}\u{1f}", "a"),
            ("\u{3000}a\n", "a"),
            ("\u{feff}a", "\u{feff}a"),
            ("\u{200b}a", "\u{200b}a"),
        ] {
            assert_eq!(strip(text), expected, "{text:?}");
        }
    }

    #[test]
    fn collapses_at_the_ends_too() {
        for (text, expected) in
            [("  a \t\nb ", " a b "), ("a\u{1c}b", "a b"), ("a\u{200b}b", "a\u{200b}b"), ("a b", "a b")]
        {
            assert_eq!(collapse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lowers_like_python() {
        for (text, expected) in
            [("ΑΣ ΑΣ.", "ας ας."), ("İ", "i\u{307}"), ("STRAẞE", "straße"), ("\u{212a}", "k"), ("ǅ", "ǆ")]
        {
            assert_eq!(lower(text), expected, "{text:?}");
        }
    }

    #[test]
    fn fullwidth_forms_are_folded() {
        assert_eq!(fold("（Ｂ）：\u{3000}it’s"), "(B): it's");
        assert!(matches!(fold("选 B。"), Cow::Borrowed(_)));
    }

    #[test]
    fn normalizations_combine() {
        let all = Normalization { case_sensitive: false, strip: true, collapse: true };
        assert_eq!(all.apply("  New \n YORK "), "new york");
        let keep_ends = Normalization { strip: false, ..all };
        assert_eq!(keep_ends.apply("  A  b\tC\n"), " a b c ");
        let plain = Normalization { collapse: false, ..all };
        assert!(plain.same(" Paris ", "paris"));
        assert!(!plain.same("New\nYork", "new york"));
    }

    #[test]
    fn quotes_are_short_lines() {
        assert_eq!(quoted(" New \n York "), "'New York'");
        assert_eq!(quoted(""), "''");
        let long = quoted(&"é".repeat(1000));
        assert!(long.len() < 80 && long.ends_with("é…'"), "{long}");
    }

    #[test]
    fn excerpts_end_at_a_character() {
        assert_eq!(excerpt("short"), "short");
        let long = "é".repeat(EXCERPT_BYTES);
        assert!(excerpt(&long).ends_with("é…"));
    }
}

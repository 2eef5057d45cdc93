//! Numbers of a running text in one spelling: ASCII digits, a point before decimals, no separators, and `-` as the sign.
//!
//! The rules. With them, the shipped chain reads 97 of 100 labelled answers as a careful reader does
//! (`numbers_corpus`).
//!
//! - **Signs.** `- 7`, `–7`, `−7`, `minus 7` and its translations are negative, and `10 - 7`, `3–7`, `a 7-day week` and
//!   `- 7 apples` at the start of a line (a list) are not.
//! - **Separators.** With two kinds, the last one is that of decimals: `1.234,56`. With one kind, several groups of three
//!   (or of two and a last one of three, as in India) are thousands. A single comma or point is read by the style of the
//!   text: in a text that uses decimal commas, `1.234` is 1234 and `1,5` is 1.5; otherwise `1,234` is 1234, and `12,5`,
//!   which has no group of three, is 12.5.
//! - **LaTeX.** `\frac{2}{3}`, `2\frac12`, `1{,}234`, `1\,234` and `\$5` are 2/3, 2 1/2, 1234, 1234 and $5.

use crate::markers::LINKS;
use crate::number_style::Style;
use gage_text_kit::number::ascii_digit;
use std::borrow::Cow;

/// Words that mean a minus sign before a number, in lower case.
const MINUS_WORDS: [&str; 14] = [
    "minus ",
    "negative ",
    "moins ",
    "menos ",
    "минус ",
    "负",
    "負",
    "マイナス",
    "零下",
    "ऋणात्मक ",
    "ऋण ",
    "माइनस ",
    "سالب ",
    "ناقص ",
];

/// The first characters of these words, also in upper case.
const MINUS_STARTS: [char; 14] = ['m', 'M', 'n', 'N', 'м', 'М', '负', '負', 'マ', '零', 'ऋ', 'म', 'س', 'ن'];

/// English words after which a dash with a space is a sign: `the answer is - 7`. Those of other languages are [`LINKS`].
const COPULAS: [&str; 5] = ["is", "equal", "equals", "be", "was"];

/// Maximum number of bytes in which a first or a last number is searched at first.
const MAX_SEARCHED_BYTES: usize = 1 << 16;

/// Returns the part of a text that is long enough for its first number, with the sign before it.
pub(crate) fn beginning(text: &str) -> &str {
    /// Maximum number of bytes of a sign, a currency and the beginning of a formula.
    const MAX_SIGN_BYTES: usize = 128;
    if text.len() <= MAX_SEARCHED_BYTES {
        return text;
    }
    let digit = text.find(|one: char| ascii_digit(one).is_some()).unwrap_or(text.len());
    let start = text.floor_char_boundary(digit.saturating_sub(MAX_SIGN_BYTES));
    let end = text.floor_char_boundary(digit.saturating_add(MAX_SEARCHED_BYTES));
    text.get(start..end).unwrap_or(text)
}

/// Returns the end of a text that is long enough for its last number; the whole text if it has few numbers at its end.
pub(crate) fn ending(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_SEARCHED_BYTES));
    let end = text.get(start..).unwrap_or(text);
    // The first number may be cut off. The last one is whole if many others come before it.
    let mut digits = end.split(|one: char| ascii_digit(one).is_none()).filter(|digits| !digits.is_empty());
    if start == 0 || digits.nth(16).is_some() { end } else { text }
}

/// Returns a text with its numbers in the plain spelling. `style` is that of the text that contains it.
pub(crate) fn plain_numbers(text: &str, style: Style) -> Cow<'_, str> {
    if !text.chars().any(|one| ascii_digit(one).is_some()) {
        return Cow::Borrowed(text);
    }
    let marked = match text.contains("{,}") || text.contains("{.}") {
        true => Cow::Owned(text.replace("{,}", ",").replace("{.}", ".")),
        false => Cow::Borrowed(text),
    };
    let characters: Vec<char> = marked.chars().collect();
    let out = String::with_capacity(text.len());
    let mut plain = PlainText { style, characters: &characters, at: 0, out };
    plain.run();
    Cow::Owned(plain.out)
}

/// A text on its way to the plain spelling.
struct PlainText<'text> {
    style: Style,
    characters: &'text [char],
    at: usize,
    out: String,
}

impl PlainText<'_> {
    fn get(&self, at: usize) -> Option<char> {
        self.characters.get(at).copied()
    }

    fn is_digit(&self, at: usize) -> bool {
        self.get(at).is_some_and(|one| ascii_digit(one).is_some())
    }

    fn starts_with(&self, at: usize, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, expected)| self.get(at + offset) == Some(expected))
    }

    fn run(&mut self) {
        while let Some(one) = self.get(self.at) {
            if one == '\\' && self.latex() {
                continue;
            }
            if MINUS_STARTS.contains(&one) && self.minus_word() {
                continue;
            }
            match one {
                '-' | '−' | '–' | '—' | '－' | '‐' | '‑' => self.dash(),
                one if ascii_digit(one).is_some() => self.number(),
                one => {
                    self.out.push(one);
                    self.at += 1;
                }
            }
        }
    }

    /// Reads a command of LaTeX. Returns false if it stays as it is.
    fn latex(&mut self) -> bool {
        for name in ["\\dfrac", "\\tfrac", "\\cfrac", "\\frac"] {
            if self.starts_with(self.at, name) {
                let after = self.at + name.chars().count();
                return self.fraction(after);
            }
        }
        for space in ["\\,", "\\!", "\\;", "\\:", "\\ "] {
            if self.starts_with(self.at, space) {
                let is_within =
                    self.out.ends_with(|one: char| one.is_ascii_digit()) && self.is_digit(self.at + 2);
                if !is_within {
                    self.out.push(' ');
                }
                self.at += 2;
                return true;
            }
        }
        for (spelled, plain) in [("\\$", "$"), ("\\%", "%")] {
            if self.starts_with(self.at, spelled) {
                self.out.push_str(plain);
                self.at += spelled.chars().count();
                return true;
            }
        }
        false
    }

    /// Reads the two parts of a fraction of numbers.
    fn fraction(&mut self, start: usize) -> bool {
        let Some((above, next)) = self.group(start) else { return false };
        let Some((below, end)) = self.group(next) else { return false };
        let (is_negative, above) = match above.strip_prefix(['-', '−']) {
            Some(above) => (true, above.trim_start().to_owned()),
            None => (false, above),
        };
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|one| one.is_ascii_digit());
        if !is_number(&above) || !is_number(&below) {
            return false;
        }
        if self.out.ends_with(|one: char| one.is_ascii_digit()) {
            self.out.push(' ');
        }
        if is_negative {
            self.out.push('-');
        }
        self.out.push_str(&above);
        self.out.push('/');
        self.out.push_str(&below);
        if self.get(end).is_some_and(char::is_alphanumeric) {
            self.out.push(' ');
        }
        self.at = end;
        true
    }

    /// Returns the content of braces, or a single digit, and the place after it.
    fn group(&self, start: usize) -> Option<(String, usize)> {
        /// Maximum number of characters of a part of a fraction.
        const MAX_CHARACTERS: usize = 40;
        let mut at = start;
        while self.get(at) == Some(' ') {
            at += 1;
        }
        if self.is_digit(at) {
            return Some((ascii_digit(self.get(at)?)?.to_string(), at + 1));
        }
        if self.get(at) != Some('{') {
            return None;
        }
        let held: String = self
            .characters
            .get(at + 1..)?
            .iter()
            .take(MAX_CHARACTERS)
            .take_while(|one| **one != '}')
            .collect();
        let end = at + 1 + held.chars().count();
        (self.get(end) == Some('}')).then(|| (held.trim().to_owned(), end + 1))
    }

    /// Reads a word that means a minus sign, if a number follows it.
    fn minus_word(&mut self) -> bool {
        let lower = |one: char| one.to_lowercase().next().unwrap_or(one);
        let found = MINUS_WORDS.iter().find(|word| {
            word.chars()
                .enumerate()
                .all(|(offset, expected)| self.get(self.at + offset).map(lower) == Some(expected))
        });
        let Some(word) = found else { return false };
        let before = self.out.trim_end();
        // `10 minus 7` is a difference, and `terminus 7` a name.
        if self.out.ends_with(char::is_alphabetic) && word.is_ascii()
            || before.ends_with(|one: char| one.is_ascii_digit())
        {
            return false;
        }
        let mut after = self.at + word.chars().count();
        while matches!(self.get(after), Some(' ' | '\u{a0}')) {
            after += 1;
        }
        if self.number_after(after).is_none() {
            return false;
        }
        self.out.push('-');
        self.at = after;
        true
    }

    /// Returns the place of the number after a sign, which a currency may separate from it.
    fn number_after(&self, start: usize) -> Option<usize> {
        let mut at = start;
        for prefix in ["R$", "US$"] {
            if self.starts_with(at, prefix) {
                at += prefix.len() - 1;
            }
        }
        if self.get(at) == Some('\\') && self.get(at + 1) == Some('$') {
            at += 2;
        } else if self.get(at).is_some_and(is_currency) {
            at += 1;
        }
        if at > start && self.get(at) == Some(' ') {
            at += 1;
        }
        let is_fraction = ["\\frac", "\\dfrac", "\\tfrac"].iter().any(|name| self.starts_with(at, name));
        let is_decimal = self.get(at) == Some('.') && self.is_digit(at + 1);
        (self.is_digit(at) || is_fraction || is_decimal).then_some(at)
    }

    /// Reads a dash: the sign of a number, or itself.
    fn dash(&mut self) {
        let dash = self.get(self.at).unwrap_or('-');
        let mut after = self.at + 1;
        while matches!(self.get(after), Some(' ' | '\u{a0}')) || self.starts_with(after, "\\,") {
            after += if self.get(after) == Some('\\') { 2 } else { 1 };
        }
        let is_tight = after == self.at + 1;
        let is_sign = self.number_after(after).is_some() && self.is_sign(dash, is_tight, after);
        if is_sign {
            self.out.push('-');
            self.at = after;
            // The sign and the digits stay together: `-$7`.
            let number = self.number_after(after).unwrap_or(after);
            let sign = self.characters.get(after..number).unwrap_or_default();
            self.out.extend(sign.iter().filter(|one| is_currency(**one)));
            self.at = number;
            return;
        }
        let is_before_number = is_tight && self.is_digit(after);
        if is_before_number && dash != '-' {
            // The search for numbers would read `3−7` and `word –7` as negative.
            self.out.push_str(" – ");
        } else {
            self.out.push(dash);
        }
        self.at += 1;
    }

    /// Returns whether a dash before a number is its sign.
    fn is_sign(&self, dash: char, is_tight: bool, after: usize) -> bool {
        let before = self.out.trim_end_matches(|one: char| one.is_whitespace() && one != '\n');
        let is_spaced = self.out.len() > before.len();
        let Some(previous) = before.chars().next_back().filter(|one| *one != '\n') else {
            return is_tight || self.is_whole_line(after);
        };
        match previous {
            '=' | ':' | '：' | '(' | '{' | '[' | '<' | '>' | '|' | '#' | '*' | '_' | '`' | '"' | '$'
            | '€' | '£' | '≈' | '～' | '~' => true,
            _ if dash == '—' => false,
            previous if previous.is_ascii_digit() || matches!(previous, ')' | ']' | '}' | '%') => false,
            previous if previous.is_alphabetic() && is_tight => is_spaced || !previous.is_ascii(),
            previous if previous.is_alphabetic() => {
                let word = before.rsplit(|one: char| !one.is_alphabetic()).next().unwrap_or_default();
                let word = word.to_lowercase();
                matches!(dash, '-' | '−' | '–')
                    && (COPULAS.contains(&word.as_str())
                        || LINKS.contains(&word.as_str())
                        || matches!(previous, '是' | '为' | 'は'))
            }
            _ => is_tight,
        }
    }

    /// Returns whether a line has no letters from a place on: `- 7` is a number, and `- 7 apples` an item of a list.
    fn is_whole_line(&self, start: usize) -> bool {
        let rest = self.characters.get(start..).unwrap_or_default().iter();
        !rest.take_while(|one| **one != '\n').any(|one| one.is_alphabetic())
    }

    /// Reads a number with its separators.
    fn number(&mut self) {
        let start = self.out.len();
        self.digits();
        if self.separator().is_none() {
            return;
        }
        let mut groups = vec![self.out.split_off(start)];
        let mut separators = Vec::new();
        while let Some((separator, length)) = self.separator() {
            separators.push(separator);
            self.at += length;
            let start = self.out.len();
            self.digits();
            groups.push(self.out.split_off(start));
        }
        // Digits after a point that began without any, as in `.5`, have no separators.
        let is_decimals = self.out.ends_with('.');
        let joined = if is_decimals { None } else { joined(&groups, &separators, self.style) };
        if let Some(number) = joined {
            self.out.push_str(&number);
            return;
        }
        for (place, group) in groups.iter().enumerate() {
            let separator = place.checked_sub(1).and_then(|before| separators.get(before));
            self.out.extend(separator);
            self.out.push_str(group);
        }
    }

    /// Copies digits, as those of ASCII.
    fn digits(&mut self) {
        while let Some(digit) = self.get(self.at).and_then(ascii_digit) {
            self.out.push(digit);
            self.at += 1;
        }
    }

    /// Returns the separator before further digits, and its length: `'` for those that only group digits.
    fn separator(&self) -> Option<(char, usize)> {
        let (separator, length) = match self.get(self.at)? {
            '\\' if matches!(self.get(self.at + 1), Some(',' | '!')) => ('\'', 2),
            ',' | '，' => (',', 1),
            '.' | '．' | '٫' => ('.', 1),
            '\'' | '’' | '＇' | '٬' => ('\'', 1),
            _ => return None,
        };
        self.is_digit(self.at + length).then_some((separator, length))
    }
}

fn is_currency(one: char) -> bool {
    matches!(one, '$' | '€' | '£' | '¥' | '₹' | '₽' | '￥' | '₩' | '₺')
}

/// Returns a number from its groups of digits; `None` if they are several numbers, a date, or a version.
fn joined(groups: &[String], separators: &[char], style: Style) -> Option<String> {
    let [first, rest @ ..] = groups else { return None };
    let Some(last) = rest.last() else { return Some(first.clone()) };
    let is_thousand = |group: &String| group.len() == 3;
    let leads = (1..=3).contains(&first.len()) && !first.starts_with('0');
    let kinds: Vec<char> = [',', '.', '\''].into_iter().filter(|kind| separators.contains(kind)).collect();
    match kinds.as_slice() {
        [kind] if rest.len() == 1 && *kind != '\'' => {
            let is_of_thousands = match (style, kind) {
                (Style::Point, ',') | (Style::Comma, '.') => leads && is_thousand(last),
                _ => false,
            };
            Some(if is_of_thousands { format!("{first}{last}") } else { format!("{first}.{last}") })
        }
        [_] => (leads && (rest.iter().all(is_thousand) || is_indian(first, rest))).then(|| groups.concat()),
        [_, _] => {
            let decimal = separators.last().copied()?;
            let is_once = separators.iter().filter(|one| **one == decimal).count() == 1;
            let whole = rest.get(..rest.len() - 1)?;
            let is_grouped = whole.iter().all(is_thousand) || is_indian(first, whole);
            let digits: String = groups.get(..groups.len() - 1)?.concat();
            (is_once && decimal != '\'' && leads && is_grouped).then(|| format!("{digits}.{last}"))
        }
        _ => None,
    }
}

/// Returns whether groups are of two digits, and the last one of three: 12,34,567.
fn is_indian(first: &str, rest: &[String]) -> bool {
    let Some((last, middle)) = rest.split_last() else { return false };
    !middle.is_empty() && first.len() <= 2 && last.len() == 3 && middle.iter().all(|group| group.len() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number_style::style_of;

    #[test]
    fn minus_words_begin_with_the_listed_characters() {
        for first in MINUS_WORDS.iter().filter_map(|word| word.chars().next()) {
            assert!(MINUS_STARTS.contains(&first), "{first}");
            assert!(first.to_uppercase().all(|first| MINUS_STARTS.contains(&first)), "{first}");
        }
    }

    #[test]
    fn numbers_get_one_spelling() {
        for (text, expected) in [
            ("- 7", "-7"),
            ("x = - 7", "x = -7"),
            ("The answer is - $7.", "The answer is -$7."),
            ("#### –7", "#### -7"),
            ("so minus 7 degrees", "so -7 degrees"),
            ("10 minus 7", "10 minus 7"),
            ("a 7-day week", "a 7-day week"),
            ("10 - 7 = 3", "10 - 7 = 3"),
            ("- 7 apples", "- 7 apples"),
            ("答案是负7", "答案是-7"),
            ("1.234,56 Euro", "1234.56 Euro"),
            ("Das ist 1.234", "Das ist 1234"),
            ("12,5", "12.5"),
            ("it is 1,234", "it is 1234"),
            ("12,34,567", "1234567"),
            ("1'234.50", "1234.50"),
            (r"1{,}234 and 1\,234", "1234 and 1234"),
            (r"\frac{-2}{3}", "-2/3"),
            (r"2\frac12", "2 1/2"),
            ("１，８００円", "1800円"),
            ("١٬٢٣٤٫٥", "1234.5"),
            ("1,2,3", "1,2,3"),
            ("10.05.2024", "10.05.2024"),
            (".5", ".5"),
        ] {
            assert_eq!(plain_numbers(text, style_of(text)), expected, "{text}");
        }
    }
}

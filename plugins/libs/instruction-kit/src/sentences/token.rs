//! Words and marks around the possible end of a sentence, and the decision whether it is one.

use super::english::{is_abbreviation, is_starter};
use gage_text_kit::number::ascii_digit;
use gage_text_kit::text::{is_space, lower};

/// A word or a mark.
struct Token<'text> {
    text: &'text str,
    is_break: bool,
    is_abbreviation: bool,
    is_ellipsis: bool,
}

/// Returns whether a sentence ends before the last word of a text.
pub(super) fn ends_sentence_within(text: &str) -> bool {
    let mut tokens: Vec<Token<'_>> = text.split('\n').flat_map(words).map(Token::new).collect();
    for place in 1..tokens.len() {
        let (before, after) = tokens.split_at_mut(place);
        if let (Some(token), Some(next)) = (before.last_mut(), after.first()) {
            token.decide(next);
            if token.is_break {
                return true;
            }
        }
    }
    false
}

impl<'text> Token<'text> {
    fn new(text: &'text str) -> Token<'text> {
        let mut token = Token { text, is_break: false, is_abbreviation: false, is_ellipsis: false };
        if matches!(text, "." | "?" | "!") {
            token.is_break = true;
        } else if text.len() > 1 && text.bytes().all(|byte| byte == b'.') {
            token.is_ellipsis = true;
        } else if let Some(word) = text.strip_suffix('.').filter(|word| !word.ends_with('.')) {
            let word = lower(word);
            let last = word.rsplit('-').next().unwrap_or_default();
            token.is_abbreviation = is_abbreviation(&word) || is_abbreviation(last);
            token.is_break = !token.is_abbreviation;
        }
        token
    }

    fn starts_upper(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    /// Returns whether the token is a letter and a period.
    fn is_initial(&self) -> bool {
        let mut characters = self.text.chars();
        let letter = characters.next();
        characters.as_str() == "."
            && letter.is_some_and(|letter| crate::case::is_word(letter) && ascii_digit(letter).is_none())
    }

    /// Decides again whether a token with a period ends a sentence, by the token after it.
    fn decide(&mut self, next: &Token<'_>) {
        if !self.text.ends_with('.') {
            return;
        }
        let begins = next.begins_sentence();
        let is_initial = self.is_initial();
        if is_initial || is_number(self.text) {
            // The capital after an initial is that of a name.
            let is_name = is_initial && begins.is_none() && next.starts_upper();
            self.is_break &= begins != Some(false) && !is_name;
        } else if self.is_abbreviation || self.is_ellipsis {
            self.is_break |= begins == Some(true);
        }
    }

    /// Returns whether the token begins a sentence, judged by its spelling. `None` if that is unknown.
    fn begins_sentence(&self) -> Option<bool> {
        if matches!(self.text, ";" | ":" | "," | "." | "!" | "?") || self.text.starts_with(char::is_lowercase)
        {
            return Some(false);
        }
        let word = lower(self.text.strip_suffix('.').unwrap_or(self.text));
        (self.starts_upper() && !self.is_initial() && is_starter(&word)).then_some(true)
    }
}

/// Returns whether a text is a number: `^-?[.,]?\d[\d,.-]*\.?$`.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let text = text.strip_prefix(['.', ',']).unwrap_or(text);
    let is_digit = |character: char| ascii_digit(character).is_some();
    text.starts_with(is_digit)
        && text.chars().all(|character| is_digit(character) || matches!(character, ',' | '.' | '-'))
}

/// Returns whether a character is never part of a word.
pub(super) fn is_separate(character: char) -> bool {
    ")\";}]*:@'({[\u{2018}\u{2019}\u{201c}\u{201d}\u{ab}\u{bb}?!".contains(character)
}

/// Returns the words and marks of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(is_space);
        let first = rest.chars().next()?;
        let length = run(rest).unwrap_or_else(|| {
            if "(\"`{[:;&#*@)}]-,".contains(first) { first.len_utf8() } else { word_length(rest) }
        });
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

/// Returns the length of the word that begins a text: up to white space, or a mark that is not part of it.
fn word_length(text: &str) -> usize {
    let mut ends = text.char_indices().skip(1).map(|(at, _)| at);
    ends.find(|at| ends_word(text.get(*at..).unwrap_or_default())).unwrap_or(text.len())
}

fn ends_word(rest: &str) -> bool {
    let is_end = |rest: &str| {
        rest.chars().next().is_none_or(|next| is_space(next) || is_separate(next)) || run(rest).is_some()
    };
    is_end(rest) || rest.strip_prefix(',').is_some_and(is_end)
}

/// Returns the length of a mark of several characters that begins a text: dashes, or periods with or without spaces.
fn run(text: &str) -> Option<usize> {
    for mark in ["-", "."] {
        let length = text.len() - text.trim_start_matches(mark).len();
        if length > 1 {
            return Some(length);
        }
    }
    // Periods that are followed by one space each, and another period.
    let mut places = Vec::new();
    let mut characters = text.char_indices();
    while let Some((at, '.')) = characters.next() {
        places.push(at);
        if !characters.next().is_some_and(|(_, space)| is_space(space)) {
            break;
        }
    }
    places.get(2).and(places.last()).map(|last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_words_and_marks() {
        for (line, expected) in [
            ("Hi, (you)!", vec!["Hi", ",", "(", "you", ")", "!"]),
            ("a,b 3,5.", vec!["a,b", "3,5."]),
            ("wait... . . . no--yes", vec!["wait", "...", ". . .", "no", "--", "yes"]),
            (". . x", vec![".", ".", "x"]),
            ("U.S. \u{201c}x\u{201d}", vec!["U.S.", "\u{201c}x", "\u{201d}"]),
            ("", vec![]),
        ] {
            assert_eq!(words(line).collect::<Vec<_>>(), expected, "{line}");
        }
    }

    #[test]
    fn numbers_are_alike() {
        for (text, expected) in [("-.5", true), ("1,000.-", true), ("5a", false), ("-", false), ("٣.", true)]
        {
            assert_eq!(is_number(text), expected, "{text}");
        }
    }

    #[test]
    fn sentences_end_by_the_next_word() {
        for (text, expected) in [
            ("Dr. Brown", false),
            ("Inc. The", true),
            ("Inc. the", false),
            ("ex-Gov. Brown", false),
            ("J. Brown", false),
            ("B. However", true),
            ("A. B.", false),
            ("x. 5", true),
            ("etc. and", true),
            ("7. april", false),
            ("7. April", true),
            ("... What", true),
            ("... Brown", false),
            ("...what", false),
            ("end. .", true),
            ("word", false),
        ] {
            assert_eq!(ends_sentence_within(text), expected, "{text}");
        }
    }
}

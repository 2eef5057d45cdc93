//! Stand-alone letters in an answer, and the test whether they name an option.

use crate::characters::{bare, is_word, may_lead, may_trail, split_last_word, word_at};
use crate::choices::Choices;
use crate::denial::{eliminated, is_negated};
use crate::refutation::is_refuted;
use gage_text_kit::text::is_space;
use std::cell::OnceCell;

/// Words after `A` that show that it is a label, not an article: `A is right`.
const AFTER_NAME: &[&str] = &[
    "is",
    "was",
    "because",
    "as",
    "since",
    "and",
    "or",
    "but",
    "seems",
    "would",
    "must",
    "will",
    "should",
    "can",
    "cannot",
    "could",
    "has",
    "looks",
    "appears",
    "isn't",
    "wasn't",
    "doesn't",
    "does",
    "states",
    "says",
    "describes",
    "refers",
    "fits",
    "makes",
    "matches",
    "contains",
    "represents",
    "over",
    "instead",
    "rather",
    "not",
    "being",
    "can't",
    "won't",
    "wouldn't",
    "remains",
    "remain",
];

/// Words after `I` that show that it is a label. Far fewer, since `I was` and `I would` begin with a pronoun.
const AFTER_NAME_I: &[&str] = &["is", "because", "or", "and", "since"];

/// Words before an upper-case letter that make it a label regardless of the text after it: `option A dolphin`.
const BEFORE_NAME: &[&str] = &["option", "choice", "answer", "letter", "select", "choose", "pick"];

/// Words that a label may follow without a space: `AnswerB`.
const JOINED_WORDS: [&str; 3] = ["answer", "option", "choice"];

/// Maximum length of a text that may be a single word with marks around it, in bytes.
pub(crate) const MAX_WORD_BYTES: usize = 256;

/// Maximum number of stand-alone letters examined, from the beginning of the answer. No meaningful answer has more.
const MAX_LETTERS: usize = 10_000;

/// An answer to be searched for letters.
pub(crate) struct Answer<'a> {
    pub(crate) text: &'a str,
    /// The text with ASCII letters in lower case, so that byte positions match those in `text`.
    pub(crate) lower: String,
    /// Positions of ASCII letters that have no ASCII letter or digit next to them, up to a maximum. Found on first use.
    alone: OnceCell<Vec<usize>>,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(text: &'a str) -> Answer<'a> {
        Answer { text, lower: text.to_ascii_lowercase(), alone: OnceCell::new() }
    }

    /// Returns the first letter that names an option and is not denied.
    pub(crate) fn first_letter(&self, choices: &Choices) -> Option<char> {
        self.letters(choices).next()
    }

    /// Returns the only letter that the answer names, even if it is said to be wrong: the question may have asked for
    /// that.
    pub(crate) fn only_letter(&self, choices: &Choices) -> Option<char> {
        let mut letters = self.letters_but(choices, |_| false);
        let first = letters.next()?;
        letters.all(|letter| letter == first).then_some(first)
    }

    /// Returns the first letter that follows a word like `answer` without a space, names an option and is not said to
    /// be wrong: `AnswerB`. In lower case, it must be the whole answer. `answers` is a plural.
    pub(crate) fn joined_letter(&self, choices: &Choices) -> Option<char> {
        // Longer texts are no single word. Stripping their marks would take quadratic time.
        let whole = if self.text.len() <= MAX_WORD_BYTES { bare(self.text).len() } else { usize::MAX };
        let bytes = self.text.as_bytes();
        let named = |word: &str, start: usize| {
            let at = start + word.len();
            let byte = *bytes.get(at).filter(|byte| byte.is_ascii_alphabetic())?;
            let letter = char::from(byte.to_ascii_uppercase());
            let ends_word = |near: Option<char>| !near.is_some_and(|near| is_word(near) || near == '_');
            let is_alone = ends_word(self.text.get(..start)?.chars().next_back())
                && ends_word(self.text.get(at + 1..)?.chars().next());
            let follows_lower = bytes.get(at - 1).is_some_and(u8::is_ascii_lowercase);
            let is_marked = byte.is_ascii_uppercase() && (follows_lower || letter != 'S');
            let is_whole = whole == word.len() + 1 && letter != 'S';
            let is_named = is_alone && (is_marked || is_whole) && choices.has_letter(letter);
            (is_named && !self.is_refuted(at, choices)).then_some((at, letter))
        };
        let is_first = |byte: u8| JOINED_WORDS.iter().any(|word| word.as_bytes().first() == Some(&byte));
        // A single pass that checks the first bytes, since the answer may be long.
        let words =
            self.lower.bytes().enumerate().filter(|(_, byte)| is_first(*byte)).filter_map(|(start, _)| {
                let rest = self.lower.get(start..)?;
                JOINED_WORDS.iter().find(|word| rest.starts_with(**word)).map(|word| (*word, start))
            });
        words.take(MAX_LETTERS).find_map(|(word, start)| named(word, start)).map(|(_, letter)| letter)
    }

    /// Returns all letters that name options and are not denied, in order.
    pub(crate) fn letters(&self, choices: &Choices) -> impl Iterator<Item = char> {
        self.letters_but(choices, |at| self.is_refuted(at, choices))
    }

    /// Returns the letters that name options and are not denied. `is_refuted` decides which ones are said to be wrong.
    fn letters_but(
        &self,
        choices: &Choices,
        is_refuted: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = char> {
        let mut denied = None;
        let mut eliminated_to = 0;
        self.alone().iter().filter_map(move |&at| {
            let letter = char::from(self.text.as_bytes().get(at)?.to_ascii_uppercase());
            if !self.names_option(at, letter, choices) {
                return None;
            }
            if at >= eliminated_to
                && let Some(end) = eliminated(&self.lower, at)
            {
                eliminated_to = end;
            }
            if at >= eliminated_to && !is_negated(&self.lower, at, denied) && !is_refuted(at) {
                return Some(letter);
            }
            denied = Some(at);
            None
        })
    }

    fn alone(&self) -> &[usize] {
        self.alone.get_or_init(|| {
            // Most letters of an answer are inside words, so they get no further checks.
            let mut was_word = false;
            let mut bytes = self.text.bytes().enumerate().peekable();
            let places = std::iter::from_fn(|| {
                loop {
                    let (at, byte) = bytes.next()?;
                    let is_word = byte.is_ascii_alphanumeric();
                    let follows_word = std::mem::replace(&mut was_word, is_word);
                    if is_word
                        && !follows_word
                        && byte.is_ascii_alphabetic()
                        && bytes.peek().is_none_or(|(_, next)| !next.is_ascii_alphanumeric())
                    {
                        return Some(at);
                    }
                }
            });
            places.take(MAX_LETTERS).collect()
        })
    }

    /// Returns whether the text after the letter at `at` calls it wrong. If that text is what the option itself says,
    /// as in a question whether something is right, the letter names the option instead.
    pub(crate) fn is_refuted(&self, at: usize, choices: &Choices) -> bool {
        if !is_refuted(&self.lower, at + 1) {
            return false;
        }
        let rest = self
            .text
            .get(at + 1..)
            .unwrap_or_default()
            .trim_start_matches(may_trail)
            .trim_start_matches(may_lead);
        let letter = self.text.get(at..at + 1).unwrap_or_default().to_ascii_uppercase();
        !letter.chars().next().is_some_and(|letter| choices.says_wrong(letter, rest))
    }

    /// Returns the last stand-alone letter that is a label, even if it is denied. The first five letters, which most
    /// questions have, may be joined to other words (`e-mail`). Other letters may not, and must be upper case.
    pub(crate) fn last_letter(&self, choices: &Choices) -> Option<char> {
        let ends_word = |near: Option<char>| !near.is_some_and(|near| is_word(near) || near == '_');
        let alone = self.text.bytes().enumerate().rev().filter(|(at, byte)| {
            byte.is_ascii_alphabetic()
                && ends_word(self.text.get(..*at).and_then(|before| before.chars().next_back()))
                && ends_word(self.text.get(at + 1..).and_then(|after| after.chars().next()))
        });
        let mut letters = alone.map(|(at, byte)| (at, byte, char::from(byte.to_ascii_uppercase())));
        let is_named = |at: usize, byte: u8, letter: char| match letter {
            'A'..='E' => choices.has_letter(letter) && !self.is_article_or_pronoun(at, letter, choices),
            _ => byte.is_ascii_uppercase() && self.names_option(at, letter, choices),
        };
        letters.find(|(at, byte, letter)| is_named(*at, *byte, *letter)).map(|(_, _, letter)| letter)
    }

    /// Returns whether the ASCII letter at `at` is a stand-alone label and is meant as one.
    pub(crate) fn names_option(&self, at: usize, letter: char, choices: &Choices) -> bool {
        if !choices.has_letter(letter) {
            return false;
        }
        let mut before = self.text.get(..at).unwrap_or_default().chars().rev();
        let mut after = self.text.get(at + 1..).unwrap_or_default().chars();
        let before = [before.next(), before.next(), before.next()];
        let after = [after.next(), after.next(), after.next()];
        if before[0].is_some_and(is_word) || after[0].is_some_and(is_word) {
            return false;
        }
        !is_part_of_word(before, after, letter, || self.says_option(at + 2, letter, choices))
            && !self.is_article_or_pronoun(at, letter, choices)
    }

    fn says_option(&self, at: usize, letter: char, choices: &Choices) -> bool {
        self.text.get(at..).is_some_and(|rest| choices.says(letter, rest))
    }

    /// Returns whether an `A` or `I` is the article or the pronoun.
    fn is_article_or_pronoun(&self, at: usize, letter: char, choices: &Choices) -> bool {
        let rest = self.lower.get(at + 1..).unwrap_or_default();
        let names: &[&str] = match letter {
            'A' => AFTER_NAME,
            'I' if rest.starts_with('\'') => return true,
            'I' => AFTER_NAME_I,
            _ => return false,
        };
        let next = rest.trim_start_matches(is_space);
        if next.len() == rest.len() || !next.starts_with(is_word) {
            return false;
        }
        let next_at = self.lower.len() - next.len();
        if names.contains(&word_at(&self.lower, next_at)) || self.says_option(next_at, letter, choices) {
            return false;
        }
        let is_upper = self.text.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
        let before = self.lower.get(..at).unwrap_or_default().trim_end_matches(is_space);
        !(is_upper && BEFORE_NAME.contains(&split_last_word(before).1))
    }
}

/// Returns whether a letter with no word character next to it is still part of a longer word: `it's`, `A-level`, `R&D`,
/// `C++`, `°C`, `e.g.`
fn is_part_of_word(
    before: [Option<char>; 3],
    after: [Option<char>; 3],
    letter: char,
    says_option: impl Fn() -> bool,
) -> bool {
    let is_joined =
        |near: Option<char>, far: Option<char>, joint: char| near == Some(joint) && far.is_some_and(is_word);
    let is_letter = |character: Option<char>| character.is_some_and(|letter| letter.is_ascii_alphabetic());
    let abbreviates_on = after[0] == Some('.') && is_letter(after[1]) && after[2] == Some('.');
    let abbreviates_back = before[0] == Some('.')
        && after[0] == Some('.')
        && is_letter(before[1])
        && !before[2].is_some_and(is_word);
    ['\'', '-', '&'].iter().any(|joint| is_joined(before[0], before[1], *joint))
        || before[0] == Some('°')
        || matches!(after[0], Some('+' | '#'))
        || is_joined(after[0], after[1], '&')
        || (letter == 'I' && after[0] == Some('\''))
        || (is_joined(after[0], after[1], '-') && !says_option())
        || abbreviates_on
        || abbreviates_back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<char> {
        Answer::new(text).first_letter(&Choices::default())
    }

    #[test]
    fn letters_that_name_options() {
        for (text, expected) in [
            ("A is correct", 'A'),
            ("a) because", 'A'),
            ("I choose A because it is large", 'A'),
            ("Option A dolphin", 'A'),
            ("C's answer", 'C'),
            ("option_b", 'B'),
            ("选B", 'B'),
            ("A/B", 'A'),
        ] {
            assert_eq!(first(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn letters_that_do_not() {
        for text in [
            "A mammal",
            "a 3-year-old",
            "I think so",
            "I'd say",
            "it's",
            "A-level",
            "e-mail",
            "R&D",
            "C++",
            "30 °C",
            "e.g. this",
            "AB",
            "В",
            "option1b",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
    }

    #[test]
    fn letters_may_follow_a_word_without_a_space() {
        for (text, expected) in [
            ("AnswerB", Some('B')),
            ("AnswerB.", Some('B')),
            ("So it is OptionC", Some('C')),
            ("OptionA is wrong, OptionB is right", Some('B')),
            ("answerb", Some('B')),
            ("ANSWERB", Some('B')),
            ("OptionS", Some('S')),
            ("the optiond", None),
            ("answers", None),
            ("ANSWERS", None),
            ("answered", None),
            ("AnswerBook", None),
            ("myAnswerB", None),
            ("AnswerB_1", None),
        ] {
            assert_eq!(Answer::new(text).joined_letter(&Choices::default()), expected, "{text}");
        }
    }

    #[test]
    fn denied_letters() {
        for (text, expected) in [
            ("It is not A, it is B", 'B'),
            ("It isn't option (A) but B", 'B'),
            ("neither A nor B: C", 'C'),
            ("not A or B, but C", 'C'),
            ("B rather than A", 'B'),
            ("rather than A, B", 'B'),
            ("不是A，是B", 'B'),
            ("不选选项A，选B", 'B'),
            ("A错误，B正确", 'B'),
            ("A、C都不对，B对", 'B'),
            ("A is wrong, B is right", 'B'),
            ("Option (A) isn't correct; B is", 'B'),
            ("A and C are wrong, B is right", 'B'),
            ("B 不正确，A 正确", 'A'),
            ("选项 B 错误，选项 A 正确", 'A'),
            ("B 不是，A 是", 'A'),
            ("B、C 都不对，A 对", 'A'),
            ("B和C错误，A正确", 'A'),
            ("B: wrong\nA: correct", 'A'),
            ("B cannot be right; A", 'A'),
            ("I rule out B. A", 'A'),
            ("I rule out B, A", 'A'),
            ("We can rule out options B, C, and D, so A", 'A'),
            ("Ruling out B and C leaves D", 'D'),
            ("Eliminate B, C and D. A remains", 'A'),
            ("Eliminate B, C, D. A remains", 'A'),
            ("B can be ruled out; A", 'A'),
            ("incorrect: B. correct: A", 'A'),
            ("Wrong: B, Right: A", 'A'),
            ("**Wrong:** B\n**Right:** A", 'A'),
            ("错误:B，正确:A", 'A'),
            ("A is not wrong", 'A'),
            ("A正确，B错误", 'A'),
        ] {
            assert_eq!(first(text), Some(expected), "{text}");
        }
        for text in ["It is not A", "A is wrong", "A错误"] {
            assert_eq!(first(text), None, "{text}");
        }
    }
}

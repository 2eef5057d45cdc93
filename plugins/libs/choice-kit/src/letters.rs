//! Stand-alone letters in an answer, and the test whether they name an option.

use crate::announcements::Announcements;
use crate::articles::is_word_of_one_letter;
use crate::characters::{bare, is_word, may_lead, may_trail, normalized, split_last_word};
use crate::choices::Choices;
use crate::denial::{eliminated, is_negated};
use crate::lowering::{Lowered, collapsed, lowered_in_full};
use crate::names::{Formula, formulas, is_equated, name_end};
use crate::scan::{find_any, letters_alone};
use crate::verdict::{Verdict, verdict, verdict_around};
use crate::vocabulary::OPTION_NOUNS;
use gage_text_kit::text::{is_space, strip};
use std::borrow::Cow;
use std::cell::OnceCell;

/// Words that a label may follow without a space: `AnswerB`. Each has the place of a letter that is rare, and the letter.
const JOINED_WORDS: [(&str, usize, u8); 3] = [("answer", 3, b'w'), ("option", 1, b'p'), ("choice", 1, b'h')];

/// Maximum length of a text that may be a single word with marks around it, in bytes.
pub(crate) const MAX_WORD_BYTES: usize = 256;

/// Maximum number of stand-alone letters examined, from the beginning of the answer. No meaningful answer has more.
const MAX_LETTERS: usize = 10_000;

/// An answer to be searched for letters.
pub(crate) struct Answer<'a> {
    pub(crate) text: &'a str,
    /// The text in lower case, with the same byte positions as `text`.
    pub(crate) lower: Cow<'a, str>,
    /// See [`Lowered`].
    has_sigma: bool,
    is_partial: bool,
    formulas: Vec<Formula>,
    announcements: OnceCell<Announcements>,
    /// Positions of ASCII letters that have no ASCII letter or digit next to them, up to a maximum. Found on first use.
    alone: OnceCell<Vec<usize>>,
}

/// A letter that an answer mentions.
#[derive(Clone, Copy)]
pub(crate) struct Mention {
    /// Position of the letter in the text.
    pub(crate) at: usize,
    /// The letter in upper case.
    pub(crate) letter: char,
    pub(crate) is_upper: bool,
    /// The judgement of the text after the letter.
    pub(crate) verdict: Option<Verdict>,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(text: &'a str) -> Answer<'a> {
        let Lowered { text: lower, has_sigma, is_partial } = Lowered::new(text);
        Answer {
            text,
            lower,
            has_sigma,
            is_partial,
            formulas: formulas(text),
            announcements: OnceCell::new(),
            alone: OnceCell::new(),
        }
    }

    /// Returns the phrases that announce an answer.
    pub(crate) fn announcements(&self) -> &Announcements {
        self.announcements.get_or_init(|| Announcements::new(&self.lower))
    }

    /// Returns the text in lower case, with single spaces, to be compared with the texts of options. A sigma at the end
    /// of a word may be one from its middle, if no option has either.
    pub(crate) fn compared(&self, choices: &Choices) -> Cow<'_, str> {
        let has_sigma = |text: &str| text.contains(['σ', 'ς']);
        match self.has_sigma {
            true if self.is_partial || choices.texts().any(|(_, option)| has_sigma(option)) => {
                normalized(self.text)
            }
            false if self.is_partial => lowered_in_full(&collapsed(strip(self.text))).into(),
            _ => collapsed(strip(&self.lower)),
        }
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
        // A single pass for letters that are rare, since the answer may be long.
        let lower = self.lower.as_bytes();
        let next = |from: usize| find_any(lower, from, JOINED_WORDS.map(|(.., rare)| rare));
        let places = std::iter::successors(next(0), |place| next(place + 1));
        let words = places.filter_map(|near| {
            let is_here = |(word, place, _): &&(&str, usize, u8)| {
                near.checked_sub(*place)
                    .and_then(|start| lower.get(start..))
                    .is_some_and(|rest| rest.starts_with(word.as_bytes()))
            };
            JOINED_WORDS.iter().find(is_here).map(|(word, place, _)| (*word, near - place))
        });
        words.take(MAX_LETTERS).find_map(|(word, start)| named(word, start)).map(|(_, letter)| letter)
    }

    /// Returns all letters that name options and are not denied, in order.
    pub(crate) fn letters(&self, choices: &Choices) -> impl Iterator<Item = char> {
        let named = self.mentions(choices).filter(|mention| mention.verdict != Some(Verdict::Wrong));
        named.map(|mention| mention.letter)
    }

    /// Returns the letters that name options and are not denied, in order, with what the answer says about them.
    pub(crate) fn mentions(&self, choices: &Choices) -> impl Iterator<Item = Mention> {
        let mut denied = None;
        let (mut eliminated_to, mut name_to) = (0, 0);
        let mut formulas = self.formulas.iter().peekable();
        let symbols = self.symbols();
        self.alone().iter().filter_map(move |&at| {
            let letter = char::from(self.text.as_bytes().get(at)?.to_ascii_uppercase());
            while formulas.next_if(|(_, end)| *end <= at).is_some() {}
            let is_in_formula = formulas.peek().is_some_and(|(start, _)| *start <= at);
            if is_in_formula || at < name_to || !self.names_option(at, letter, choices) {
                return None;
            }
            if symbols & letter_bit(letter) != 0 && !follows_noun(&self.lower, at) {
                return None;
            }
            if let Some(end) = name_end(&self.lower, at) {
                name_to = end;
                return None;
            }
            if at >= eliminated_to
                && let Some(end) = eliminated(&self.lower, at)
            {
                eliminated_to = end;
            }
            if at < eliminated_to || is_negated(&self.lower, at, denied) {
                denied = Some(at);
                return None;
            }
            let verdict = self.verdict(at, choices);
            if verdict == Some(Verdict::Wrong) {
                denied = Some(at);
            }
            let is_upper = self.text.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
            Some(Mention { at, letter, is_upper, verdict })
        })
    }

    /// Returns the letters in upper case that are symbols of a formula or an equation, as a bit set: after `F = ma`, F is
    /// a force.
    fn symbols(&self) -> u32 {
        let mut formulas = self.formulas.iter().peekable();
        let symbols = self.alone().iter().filter_map(|&at| {
            let letter =
                char::from(*self.text.as_bytes().get(at).filter(|letter| letter.is_ascii_uppercase())?);
            while formulas.next_if(|(_, end)| *end <= at).is_some() {}
            let is_in_formula = formulas.peek().is_some_and(|(start, _)| *start <= at);
            let is_equated = || is_equated(self.text.get(at + 1..).unwrap_or_default());
            (is_in_formula || is_equated()).then_some(letter_bit(letter))
        });
        symbols.fold(0, |symbols, symbol| symbols | symbol)
    }

    fn alone(&self) -> &[usize] {
        self.alone.get_or_init(|| letters_alone(self.text.as_bytes(), MAX_LETTERS))
    }

    /// Returns what the text after the letter at `at` says about it. If that text is what the option itself says, as in a
    /// question whether something is right, the letter names the option instead.
    pub(crate) fn verdict(&self, at: usize, choices: &Choices) -> Option<Verdict> {
        let verdict = verdict(&self.lower, at + 1).or_else(|| verdict_around(&self.lower, at))?;
        let rest = self
            .text
            .get(at + 1..)
            .unwrap_or_default()
            .trim_start_matches(may_trail)
            .trim_start_matches(may_lead);
        let letter = self.text.get(at..at + 1).unwrap_or_default().to_ascii_uppercase();
        let is_said = letter.chars().next().is_some_and(|letter| choices.says_verdict(letter, rest));
        (!is_said).then_some(verdict)
    }

    /// Returns whether the text after the letter at `at` calls it wrong.
    pub(crate) fn is_refuted(&self, at: usize, choices: &Choices) -> bool {
        self.verdict(at, choices) == Some(Verdict::Wrong)
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
            'A'..='E' => choices.has_letter(letter) && !self.is_word_of_one_letter(at, letter, choices),
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
        let after = [after.next(), after.next(), after.next(), after.next()];
        if before[0].is_some_and(is_word) || after[0].is_some_and(is_word) {
            return false;
        }
        let says_option = || self.says_option(at + 2, letter, choices);
        let is_option = |letter: char| choices.has_letter(letter.to_ascii_uppercase());
        let is_part = is_part_of_word(before, after, letter, says_option)
            || is_part_of_formula(before, after)
            || is_part_of_pair(before, after, is_option);
        let is_symbol = || {
            is_equated(self.text.get(at + 1..).unwrap_or_default()) && !self.says_equated(at, letter, choices)
        };
        !is_part && !is_symbol() && !self.is_word_of_one_letter(at, letter, choices)
    }

    /// Returns whether the text after the letter at `at` and an equals sign is that of the letter's option.
    fn says_equated(&self, at: usize, letter: char, choices: &Choices) -> bool {
        let rest = self.text.get(at + 1..).unwrap_or_default();
        choices.says(letter, rest.trim_start_matches(|sign: char| sign == '=' || is_space(sign)))
    }

    fn says_option(&self, at: usize, letter: char, choices: &Choices) -> bool {
        self.text.get(at..).is_some_and(|rest| choices.says(letter, rest))
    }

    /// Returns whether the letter at `at` is a word, such as the article *a* or the pronoun *I*.
    fn is_word_of_one_letter(&self, at: usize, letter: char, choices: &Choices) -> bool {
        is_word_of_one_letter(self.text, &self.lower, at, |next| {
            let rest = self.text.get(next..)?;
            choices.says(letter, rest).then_some(true).or_else(|| choices.says_any(rest).then_some(false))
        })
    }
}

/// Returns the bit of an upper-case ASCII letter, or 0 for any other character.
fn letter_bit(letter: char) -> u32 {
    if letter.is_ascii_uppercase() { 1 << (letter as u32 - 'A' as u32) } else { 0 }
}

/// Returns whether a word for an option is before the letter at `at`: `option F`, `choice (F)`.
fn follows_noun(lower: &str, at: usize) -> bool {
    let before = lower.get(..at).unwrap_or_default();
    let near = before.trim_end_matches(|mark| is_space(mark) || may_lead(mark));
    OPTION_NOUNS.contains(split_last_word(near).1)
}

/// Returns whether a letter with no word character next to it is still part of a longer word: `it's`, `c'est`,
/// `A-level`, `R&D`, `C++`, `°C`, `e.g.`, `J. K.`
fn is_part_of_word(
    before: [Option<char>; 3],
    after: [Option<char>; 4],
    letter: char,
    says_option: impl Fn() -> bool,
) -> bool {
    let is_joined =
        |near: Option<char>, far: Option<char>, joint: char| near == Some(joint) && far.is_some_and(is_word);
    let is_letter = |character: Option<char>| character.is_some_and(|letter| letter.is_ascii_alphabetic());
    let abbreviates_on = after[0] == Some('.') && is_letter(after[1]) && after[2] == Some('.');
    let is_upper = |character: Option<char>| character.is_some_and(|letter| letter.is_ascii_uppercase());
    let is_initial =
        after[0] == Some('.') && after[1] == Some(' ') && is_upper(after[2]) && after[3] == Some('.');
    let abbreviates_back = before[0] == Some('.')
        && after[0] == Some('.')
        && is_letter(before[1])
        && !before[2].is_some_and(is_word);
    // `C's answer` is about C, but French and Italian leave out vowels: `c'est`, `d'accordo`.
    let is_possessive = after[1] == Some('s') && !after[2].is_some_and(is_word);
    ['\'', '-', '&'].iter().any(|joint| is_joined(before[0], before[1], *joint))
        || before[0] == Some('°')
        || matches!(after[0], Some('+' | '#'))
        || is_joined(after[0], after[1], '&')
        || (is_joined(after[0], after[1], '\'') && (letter == 'I' || !is_possessive))
        || (is_joined(after[0], after[1], '-') && !says_option())
        || abbreviates_on
        || is_initial
        || abbreviates_back
}

/// Returns whether a letter is part of a formula: `f(x)`, `P(A)`, `A_1`, `x^n`.
fn is_part_of_formula(before: [Option<char>; 3], after: [Option<char>; 4]) -> bool {
    let is_function = |name: Option<char>, before_name: Option<char>| {
        name.is_some_and(|name| name.is_ascii_alphabetic()) && !before_name.is_some_and(is_word)
    };
    let is_word_character = |character: Option<char>| character.is_some_and(is_word);
    (before[0] == Some('(') && is_function(before[1], before[2]))
        || (after[0] == Some('(') && after[2] == Some(')') && is_word_character(after[1]))
        || (matches!(after[0], Some('_' | '^')) && (is_word_character(after[1]) || after[1] == Some('{')))
        || matches!(before[0], Some('^' | '°'))
}

/// Returns whether a letter is half of an abbreviation such as `N/A`, whose other half is not an option.
fn is_part_of_pair(
    before: [Option<char>; 3],
    after: [Option<char>; 4],
    is_option: impl Fn(char) -> bool,
) -> bool {
    let is_pair = |slash: Option<char>, other: Option<char>, beyond: Option<char>| {
        slash == Some('/')
            && !beyond.is_some_and(is_word)
            && other.is_some_and(|other| other.is_ascii_alphabetic() && !is_option(other))
    };
    is_pair(before[0], before[1], before[2]) || is_pair(after[0], after[1], after[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<char> {
        Answer::new(text).letters(&Choices::default()).next()
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

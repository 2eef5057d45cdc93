//! The letter that an answer names without announcing it: `B`, `B, because …`, `C is right`, `A) verb  B) noun ✅`.

use crate::announcements::is_conditional;
use crate::characters::{is_blank, is_word, word_at};
use crate::choices::Choices;
use crate::letters::{Answer, Mention};
use crate::verdict::{Verdict, marked, rest_of_list};
use crate::vocabulary::REASONS;
use gage_text_kit::text::is_space;
use std::collections::BTreeSet;

/// The options that an answer names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// One option.
    One(String),
    /// Several options, without a choice between them.
    Several,
    /// No option.
    Nothing,
}

impl Outcome {
    /// Returns the outcome of several letters.
    pub(crate) fn of(letters: impl IntoIterator<Item = char>) -> Outcome {
        let mut letters = letters.into_iter();
        let Some(first) = letters.next() else { return Outcome::Nothing };
        if letters.all(|letter| letter == first) { Outcome::One(first.into()) } else { Outcome::Several }
    }

    /// Returns this outcome, or another one if this is nothing.
    pub(crate) fn or_else(self, other: impl FnOnce() -> Outcome) -> Outcome {
        if self == Outcome::Nothing { other() } else { self }
    }

    /// Returns the label, if the outcome is one option.
    pub(crate) fn label(self) -> Option<String> {
        match self {
            Outcome::One(label) => Some(label),
            Outcome::Several | Outcome::Nothing => None,
        }
    }
}

/// Place of a mention in its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The mention is alone in its line.
    Alone,
    /// The mention is the label of an item: `A) verb`.
    Label,
    /// The mention looks like the label of an item inside a line: `(B) decreases`.
    Bracket,
    /// The mention is inside the line.
    Inside,
}

/// A mention and its place.
struct Entry {
    mention: Mention,
    place: Place,
}

/// The letters that an answer mentions and does not deny.
pub(crate) struct Decision {
    entries: Vec<Entry>,
    is_leading: bool,
}

impl Decision {
    pub(crate) fn new(answer: &Answer<'_>, choices: &Choices) -> Decision {
        let mut entries: Vec<Entry> =
            answer.mentions(choices).map(|mention| Entry::new(answer.text, &answer.lower, mention)).collect();
        let is_leading = entries.first().is_some_and(|entry| leads(&answer.lower, entry.mention.at));
        let is_listed = listed(&entries);
        let mut is_listed = is_listed.iter();
        // The labels of a list of options name none, unless the list says which is right. Neither do conditions.
        entries.retain(|entry| {
            let is_listed = is_listed.next().copied().unwrap_or_default();
            let is_conditional = || is_conditional(answer.lower.get(..entry.mention.at).unwrap_or_default());
            entry.mention.verdict.is_some() || !(is_listed || is_conditional())
        });
        Decision { entries, is_leading }
    }

    /// Returns the letter that is alone in a line.
    pub(crate) fn alone(&self) -> Outcome {
        let alone = self.entries.iter().filter(|entry| entry.place == Place::Alone);
        let outcome = Outcome::of(alone.map(|entry| entry.mention.letter));
        if outcome == Outcome::Several { Outcome::Nothing } else { outcome }
    }

    /// Returns the letter that the answer names: the one that is alone in a line, is called right, begins the answer, or
    /// is the only one.
    pub(crate) fn outcome(&self) -> Outcome {
        let right = || self.with(|mention| mention.verdict == Some(Verdict::Right));
        let plain = || self.with(|mention| !matches!(mention.verdict, Some(Verdict::Right | Verdict::Wrong)));
        let leading = || {
            let leading =
                self.entries.first().filter(|entry| self.is_leading && entry.mention.verdict.is_none());
            Outcome::of(leading.map(|entry| entry.mention.letter))
        };
        self.alone().or_else(right).or_else(|| self.odd_one()).or_else(leading).or_else(plain)
    }

    /// Returns the only true one of several options that are otherwise false, or the only false one. All other letters
    /// of the answer must be called one or the other.
    fn odd_one(&self) -> Outcome {
        let called = |verdict: Verdict| -> BTreeSet<char> {
            let entries = self.entries.iter().filter(|entry| entry.mention.verdict == Some(verdict));
            entries.map(|entry| entry.mention.letter).collect()
        };
        let (right, wrong) = (called(Verdict::True), called(Verdict::False));
        let odd = match (right.len(), wrong.len()) {
            (1, 2..) => right.first(),
            (2.., 1) => wrong.first(),
            _ => None,
        };
        let is_complete = self.entries.iter().all(|entry| entry.mention.verdict.is_some());
        Outcome::of(odd.copied().filter(|_| is_complete))
    }

    /// Returns the only letter that the answer calls wrong: the question may have asked for that.
    pub(crate) fn wrong(&self) -> Outcome {
        self.with(|mention| mention.verdict == Some(Verdict::Wrong))
    }

    fn with(&self, is_meant: impl Fn(&Mention) -> bool) -> Outcome {
        let meant = || self.entries.iter().map(|entry| &entry.mention).filter(|mention| is_meant(mention));
        // Letters in lower case are often not labels. They count if there is no other.
        let has_upper = meant().any(|mention| mention.is_upper);
        Outcome::of(meant().filter(|mention| mention.is_upper || !has_upper).map(|mention| mention.letter))
    }
}

impl Entry {
    fn new(text: &str, lower: &str, mut mention: Mention) -> Entry {
        let (before, after) =
            (text.get(..mention.at).unwrap_or_default(), text.get(mention.at + 1..).unwrap_or_default());
        let marks = before.trim_end_matches(is_mark);
        let is_first = marks.is_empty() || marks.ends_with('\n');
        let close = after.trim_start_matches(is_mark);
        let place = match () {
            () if !is_first && brackets(before, after) => Place::Bracket,
            () if !is_first => Place::Inside,
            () if close.is_empty() || close.starts_with('\n') => Place::Alone,
            () if after.get(..after.len() - close.len()).is_some_and(separates) => Place::Label,
            () => Place::Inside,
        };
        if place == Place::Label && mention.verdict.is_none() {
            let rest = lower.get(lower.len() - close.len()..).unwrap_or_default();
            let line = rest.split('\n').next().unwrap_or_default();
            let around = [before.get(marks.len()..), after.get(..after.len() - close.len())];
            mention.verdict = marked(&around.map(Option::unwrap_or_default).concat(), line);
        }
        Entry { mention, place }
    }
}

/// Returns whether the marks after a letter make it the label of an item: `A)`, `A.`, `A:`, `A -`, `A ✓`.
fn separates(marks: &str) -> bool {
    marks
        .chars()
        .any(|mark| !is_space(mark) && !matches!(mark, ',' | '\'' | '"' | '*' | '_' | '`' | '&' | '/'))
}

/// Returns whether a character may stand around a label in its line.
fn is_mark(character: char) -> bool {
    character != '\n' && !character.is_alphanumeric()
}

/// Returns whether a letter is in brackets and a word follows: `(B) decreases`.
fn brackets(before: &str, after: &str) -> bool {
    let next = after.strip_prefix(')').map(|rest| rest.trim_start_matches(is_blank));
    before.ends_with(['(', ' ', '\t']) && next.is_some_and(|next| next.starts_with(char::is_alphanumeric))
}

/// Minimum number of labels that form a list inside a line.
const MIN_INLINE_LABELS: usize = 3;

/// Returns which entries are labels in a list of options: their letters follow one another.
fn listed(entries: &[Entry]) -> Vec<bool> {
    let mut listed = vec![false; entries.len()];
    let mut mark = |places: &[usize]| {
        for place in places {
            if let Some(is_listed) = listed.get_mut(*place) {
                *is_listed = true;
            }
        }
    };
    let mut previous: Option<(usize, char)> = None;
    let mut inline: Vec<usize> = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let letter = entry.mention.letter;
        if entry.place == Place::Label {
            if let Some((before, _)) = previous.filter(|(_, before)| *before < letter) {
                mark(&[before, number]);
            }
            previous = Some((number, letter));
        }
        if matches!(entry.place, Place::Label | Place::Bracket) {
            let is_next = ('A'..='Z').nth(inline.len()) == Some(letter);
            if is_next {
                inline.push(number);
            } else if inline.len() < MIN_INLINE_LABELS {
                inline.clear();
            }
        }
    }
    if inline.len() >= MIN_INLINE_LABELS {
        mark(&inline);
    }
    listed
}

/// Returns whether the letter at `at` begins the answer and is followed by the end of a clause or a reason.
fn leads(lower: &str, at: usize) -> bool {
    let (Some(before), Some(after)) = (lower.get(..at), lower.get(at + 1..)) else { return false };
    if before.contains(|character: char| is_word(character) || !is_mark(character) && character != '\n')
        || rest_of_list(after).is_some()
    {
        return false;
    }
    let rest = after.trim_start_matches(['*', '_', '`', '"', '\'']);
    let next = rest.trim_start_matches(is_blank);
    let ends =
        next.starts_with([',', '.', ')', ']', ':', ';', '!', '—', '–', '-', '(', '\n', '，', '。', '、']);
    next.is_empty() || ends || REASONS.contains(word_at(next, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_answers_name() {
        for (text, expected) in [
            ("B\n\nA is too narrow, C is off topic.", Some("B")),
            ("It is stored as sugar.\n\nB", Some("B")),
            ("F, with a confidence of 0.7", Some("F")),
            ("C - because, unlike A and B, it fits", Some("C")),
            ("A is right, unlike B", Some("A")),
            ("A scheidet aus. C und D sind Pflanzen. Also ist B richtig.", Some("B")),
            ("Aは誤りです。Bが正しいです。", Some("B")),
            ("This matches option B", Some("B")),
            ("A) verb\nB) noun ✅\nC) adverb", Some("B")),
            ("❌ A. Keynes\n✅ D. Smith", Some("D")),
            ("A. 12\nB. 14 (correct)\nC. 16", Some("B")),
            ("| A | wrong |\n| B | correct |", Some("B")),
            ("- A: no moons\n- B: two moons\n\nThe planet is B.", Some("B")),
            ("(A), (B) and (C) are all false. (D) is true.", Some("D")),
            ("The statement in A holds, unlike D", Some("A")),
            ("A or B", None),
            ("Both A and J could be right", None),
            ("B and C are both correct", None),
            ("Sowohl A als auch C", None),
            ("A와 D 둘 다 가능합니다.", None),
            ("A) red\nB) green", None),
            ("(A) increases (B) decreases (C) stays", None),
            ("If the gas is ideal, B; otherwise, C.", None),
            ("It depends on whether B holds", None),
            ("The force F is given by F = ma", None),
            ("Scurvy is caused by a lack of vitamin C", None),
            ("N/A", None),
            ("C'est une question", None),
        ] {
            let choices = Choices::new(&gage_sdk::metric::Value::Json(
                r#"{"A":"","B":"","C":"","D":"","E":"","F":"","G":"","H":"","I":"","J":""}"#.to_owned(),
            ));
            let outcome = Decision::new(&Answer::new(text), &choices).outcome();
            assert_eq!(outcome.label().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn letters_that_are_called_wrong() {
        for (text, expected) in
            [("A is wrong", Some("A")), ("A is wrong and B is wrong", None), ("not A", None)]
        {
            let wrong = Decision::new(&Answer::new(text), &Choices::default()).wrong();
            assert_eq!(wrong.label().as_deref(), expected, "{text}");
        }
    }
}

//! Words as numbers, so that comparing them costs nothing.

use crate::porter;
use crate::tokens::Tokenizer;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The number of every word that the prediction does not have: it is in no overlap, whatever it is.
pub const UNKNOWN: u32 = u32::MAX;

/// The words of a prediction, numbered in the order in which they come first.
#[derive(Default)]
pub struct Vocabulary<'text>(FxHashMap<Cow<'text, str>, u32>);

impl<'text> Vocabulary<'text> {
    /// The number of a word, which is a new one where the word is.
    pub fn learn(&mut self, word: Cow<'text, str>) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(UNKNOWN);
        *self.0.entry(word).or_insert(next)
    }

    /// The number of a word; [`UNKNOWN`] where it was never learned.
    pub fn find(&self, word: &str) -> u32 {
        self.0.get(word).copied().unwrap_or(UNKNOWN)
    }
}

/// Numbers that stand for the words of a text, and where its lines end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NumberedText {
    /// One for each word.
    pub words: Vec<u32>,
    /// How many words there are up to the end of each line.
    line_ends: Vec<usize>,
}

impl NumberedText {
    /// The lines that have words.
    pub fn lines(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.line_ends.iter().filter_map(move |&end| {
            let line = self.words.get(start..end)?;
            start = end;
            (!line.is_empty()).then_some(line)
        })
    }

    fn read<'text>(
        prepared: &'text str,
        reading: Reading,
        mut number: impl FnMut(Cow<'text, str>) -> u32,
    ) -> NumberedText {
        let mut text = NumberedText::default();
        for line in prepared.split('\n') {
            for word in reading.tokenizer.words(line) {
                let word = if reading.stems { porter::stem(word) } else { Cow::Borrowed(word) };
                text.words.push(number(word));
            }
            text.line_ends.push(text.words.len());
        }
        text
    }
}

/// How texts become words.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// What a word is.
    pub tokenizer: Tokenizer,
    /// Whether English words lose their endings.
    pub stems: bool,
}

impl Reading {
    /// The prepared text of a prediction as numbers, with the vocabulary for its references.
    pub fn learn<'text>(self, prepared: &'text str) -> (Vocabulary<'text>, NumberedText) {
        let mut vocabulary = Vocabulary::default();
        let text = NumberedText::read(prepared, self, |word| vocabulary.learn(word));
        (vocabulary, text)
    }

    /// The prepared text of a reference as numbers.
    pub fn find(self, prepared: &str, vocabulary: &Vocabulary<'_>) -> NumberedText {
        NumberedText::read(prepared, self, |word| vocabulary.find(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_numbers() {
        let reading = Reading { tokenizer: Tokenizer::Unicode, stems: true };
        let (vocabulary, text) = reading.learn("cats eat\n\n!\ncats running\n");
        assert_eq!(text.words, [0, 1, 0, 2]);
        assert_eq!(text.lines().collect::<Vec<_>>(), [[0, 1], [0, 2]]);
        let reference = reading.find("runs dogs eat", &vocabulary);
        assert_eq!(reference.words, [2, UNKNOWN, 1]);
        assert_eq!(reading.find("", &vocabulary).lines().count(), 0);
    }
}

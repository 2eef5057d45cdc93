//! Words as numbers, so that comparing them costs nothing.

use crate::porter;
use crate::tokens::Tokenizer;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Number of every word that the prediction lacks. No such word is in any overlap.
pub const UNKNOWN: u32 = u32::MAX;

/// Words of a prediction, numbered in the order in which they first occur.
#[derive(Default)]
pub struct Vocabulary<'text> {
    words: HashMap<Cow<'text, str>, u32, BuildHasherDefault<WordHasher>>,
    /// Numbers of one-character words, by character code. A text of single letters, or of Chinese, has hardly any other
    /// words.
    single: Vec<u32>,
    count: u32,
}

/// Number of slots for one-character words: for ASCII, and for 16-bit codes.
const SINGLE_PLACES: [usize; 2] = [0x80, 0x1_0000];

/// Returns the slot of a one-character word.
fn single_place(word: &str) -> Option<usize> {
    if word.len() > 3 {
        return None;
    }
    let mut characters = word.chars();
    let first = characters.next()?;
    characters.next().is_none().then_some(first as usize)
}

/// Hashes words with one multiplication per eight bytes, none of them wider than a WebAssembly register. Most words
/// take one.
#[derive(Default)]
pub struct WordHasher(u64);

impl WordHasher {
    fn add(&mut self, bytes: u64) {
        // An odd number whose bits look random, so that every bit of a word reaches the upper ones.
        self.0 = (self.0.rotate_left(5) ^ bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut eights = bytes.chunks_exact(8);
        for eight in &mut eights {
            self.add(u64::from_le_bytes(<[u8; 8]>::try_from(eight).unwrap_or_default()));
        }
        let rest = eights.remainder();
        if !rest.is_empty() {
            self.add(rest.iter().fold(rest.len() as u64, |all, byte| all << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, _: u8) {
        // The standard library ends each text with a separator byte, which a single word does not need.
    }

    fn finish(&self) -> u64 {
        // The table takes its slot from the lower bits.
        self.0.rotate_left(26)
    }
}

impl<'text> Vocabulary<'text> {
    /// Returns the number of a word. A new word gets a new number.
    pub fn learn(&mut self, word: Cow<'text, str>) -> u32 {
        let next = self.count;
        let number = match single_place(&word) {
            Some(place) => {
                if place >= self.single.len() {
                    let places =
                        SINGLE_PLACES.into_iter().find(|places| place < *places).unwrap_or(place + 1);
                    self.single.resize(places, UNKNOWN);
                }
                match self.single.get_mut(place) {
                    Some(number) if *number == UNKNOWN => {
                        *number = next;
                        next
                    }
                    Some(number) => *number,
                    None => UNKNOWN,
                }
            }
            None => *self.words.entry(word).or_insert(next),
        };
        self.count += u32::from(number == next);
        number
    }

    /// Returns the number of a word; [`UNKNOWN`] if it was never learned.
    pub fn find(&self, word: &str) -> u32 {
        let found = match single_place(word) {
            Some(place) => self.single.get(place),
            None => self.words.get(word),
        };
        found.copied().unwrap_or(UNKNOWN)
    }
}

/// Numbers of the words of a text, and the ends of its lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NumberedText {
    /// One number per word.
    pub words: Vec<u32>,
    /// Number of words up to the end of each line.
    line_ends: Vec<usize>,
}

impl NumberedText {
    /// Returns the lines that have words.
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
        reading: TextReader,
        mut number: impl FnMut(Cow<'text, str>) -> u32,
    ) -> NumberedText {
        let mut text = NumberedText::default();
        let mut words = reading.tokenizer.words(prepared);
        while let Some(word) = words.next() {
            // Includes lines without words.
            text.line_ends.resize(words.lines(), text.words.len());
            let word = if reading.stems { porter::stem(word) } else { Cow::Borrowed(word) };
            text.words.push(number(word));
        }
        text.line_ends.push(text.words.len());
        text
    }
}

/// Method that turns texts into words.
#[derive(Clone, Copy, Debug)]
pub struct TextReader {
    /// Method that splits a text into words.
    pub tokenizer: Tokenizer,
    /// True if English words are stemmed.
    pub stems: bool,
}

impl TextReader {
    /// Returns the prepared text of a prediction as numbers, with the vocabulary for its references.
    pub fn learn<'text>(self, prepared: &'text str) -> (Vocabulary<'text>, NumberedText) {
        let mut vocabulary = Vocabulary::default();
        let text = NumberedText::read(prepared, self, |word| vocabulary.learn(word));
        (vocabulary, text)
    }

    /// Returns the prepared text of a reference as numbers.
    pub fn find(self, prepared: &str, vocabulary: &Vocabulary<'_>) -> NumberedText {
        NumberedText::read(prepared, self, |word| vocabulary.find(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hashes_are_spread() {
        let hash = |word: &str| {
            let mut hasher = WordHasher::default();
            hasher.write(word.as_bytes());
            hasher.finish()
        };
        let words = (0..50_000_u32).map(|number| match number % 3 {
            0 => format!("w{number}"),
            1 => format!("a longer word than eight bytes {number}"),
            _ => char::from_u32(0x4e00 + number / 3).map(String::from).unwrap_or_default(),
        });
        let hashes: Vec<u64> = words.map(|word| hash(&word)).collect();
        let first: HashSet<u64> = hashes.iter().map(|hash| hash & 0xffff).collect();
        let tags: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        // Random numbers would take some 35,000 of 65,536 slots.
        assert!(first.len() > 32_000, "{}", first.len());
        assert_eq!(tags.len(), 128);
    }

    #[test]
    fn words_become_numbers() {
        let reading = TextReader { tokenizer: Tokenizer::Unicode, stems: true };
        let (vocabulary, text) = reading.learn("cats eat\n\n!\ncats running\n");
        assert_eq!(text.words, [0, 1, 0, 2]);
        assert_eq!(text.lines().collect::<Vec<_>>(), [[0, 1], [0, 2]]);
        let reference = reading.find("runs dogs eat", &vocabulary);
        assert_eq!(reference.words, [2, UNKNOWN, 1]);
        assert_eq!(reading.find("", &vocabulary).lines().count(), 0);
    }
}

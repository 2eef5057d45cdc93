//! Words as numbers, so that comparing them costs nothing.

use crate::porter;
use crate::tokens::Tokenizer;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The number of every word that the prediction does not have: it is in no overlap, whatever it is.
pub const UNKNOWN: u32 = u32::MAX;

/// The words of a prediction, numbered in the order in which they come first.
#[derive(Default)]
pub struct Vocabulary<'text> {
    words: HashMap<Cow<'text, str>, u32, BuildHasherDefault<WordHasher>>,
    /// The numbers of words of one character by its code: in a text of single letters, or of Chinese, there is hardly any other
    /// word.
    single: Vec<u32>,
    count: u32,
}

/// How many places there are for words of one character: for those of ASCII, and for those of 16 bits.
const SINGLE_PLACES: [usize; 2] = [0x80, 0x1_0000];

/// The place of a word of one character.
fn single_place(word: &str) -> Option<usize> {
    if word.len() > 3 {
        return None;
    }
    let mut characters = word.chars();
    let first = characters.next()?;
    characters.next().is_none().then_some(first as usize)
}

/// Hashes words with one multiplication for every eight bytes, none of them wider than a register of WebAssembly: most
/// words take one.
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
        // What the standard library puts behind a text, to tell several apart; a word is one.
    }

    fn finish(&self) -> u64 {
        // The table takes its place from the lower bits.
        self.0.rotate_left(26)
    }
}

impl<'text> Vocabulary<'text> {
    /// The number of a word, which is a new one where the word is.
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

    /// The number of a word; [`UNKNOWN`] where it was never learned.
    pub fn find(&self, word: &str) -> u32 {
        let found = match single_place(word) {
            Some(place) => self.single.get(place),
            None => self.words.get(word),
        };
        found.copied().unwrap_or(UNKNOWN)
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
        reading: TextReader,
        mut number: impl FnMut(Cow<'text, str>) -> u32,
    ) -> NumberedText {
        let mut text = NumberedText::default();
        let mut words = reading.tokenizer.words(prepared);
        while let Some(word) = words.next() {
            // Those without words among them.
            text.line_ends.resize(words.lines(), text.words.len());
            let word = if reading.stems { porter::stem(word) } else { Cow::Borrowed(word) };
            text.words.push(number(word));
        }
        text.line_ends.push(text.words.len());
        text
    }
}

/// How texts become words.
#[derive(Clone, Copy, Debug)]
pub struct TextReader {
    /// What a word is.
    pub tokenizer: Tokenizer,
    /// Whether English words lose their endings.
    pub stems: bool,
}

impl TextReader {
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
        // Of random numbers some 35,000 of 65,536 places would be taken.
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

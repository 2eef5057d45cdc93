//! Sets of characters: `[…]`, the categories `\d`, `\s`, `\w`, and word boundaries, which rest on
//! them.

use crate::PatternError;
use crate::escape::Escaped;
use crate::parser::{Alphabet, Flags, Parser};
use crate::piece::{Piece, Width};
use std::fmt::Write;

/// The characters that Python takes for one another without case, and the engine does not.
pub(crate) const DOTTED: &str = "iI\u{130}\u{131}";

/// Whether a character is one of [`DOTTED`].
pub(crate) fn is_dotted(character: char) -> bool {
    DOTTED.contains(character)
}

/// Writes a character so that it stands for itself, inside a set and outside.
pub(crate) fn push_literal(text: &mut String, character: char) {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        text.push(character);
    } else {
        // Writing to a String cannot fail.
        let _ = write!(text, r"\x{:02X}", u32::from(character));
    }
}

/// `\d`, `\s`, `\w` and what they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Category {
    kind: Kind,
    negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Digit,
    Space,
    Word,
}

impl Category {
    /// The category that the letter of an escape names.
    pub(crate) fn of(letter: char) -> Option<Category> {
        let kind = match letter.to_ascii_lowercase() {
            'd' => Kind::Digit,
            's' => Kind::Space,
            'w' => Kind::Word,
            _ => return None,
        };
        Some(Category { kind, negated: letter.is_ascii_uppercase() })
    }

    /// The category on its own.
    pub(crate) fn as_set(self, alphabet: Alphabet, flags: Flags) -> String {
        let negation = if self.negated { "^" } else { "" };
        without_folding(format!("[{negation}{}]", self.kind.members(alphabet, flags)), flags)
    }

    /// The category inside a set.
    fn as_members(self, alphabet: Alphabet, flags: Flags) -> String {
        let members = self.kind.members(alphabet, flags);
        if self.negated { format!("[^{members}]") } else { members.to_owned() }
    }
}

impl Kind {
    fn members(self, alphabet: Alphabet, flags: Flags) -> &'static str {
        match (self, alphabet) {
            (Kind::Space, _) if flags.ascii => r"\x09-\x0D\x20",
            (Kind::Space, Alphabet::Ascii) => r"\x09-\x0D\x1C-\x20",
            (Kind::Space, Alphabet::Unicode) => r"\s\x1C-\x1F",
            (Kind::Digit, Alphabet::Unicode) if !flags.ascii => r"\d",
            (Kind::Digit, _) => "0-9",
            (Kind::Word, Alphabet::Unicode) if !flags.ascii => r"\p{L}\p{N}_",
            (Kind::Word, _) => "0-9A-Za-z_",
        }
    }
}

/// Keeps the engine from folding the case of a large set, which is slow, or of an ASCII set, which
/// would let characters outside ASCII in.
fn without_folding(text: String, flags: Flags) -> String {
    if flags.folds() { format!("(?-i:{text})") } else { text }
}

/// `\b`: between a word character and none, or the ends of the text.
pub(crate) fn word_boundary(alphabet: Alphabet, flags: Flags) -> String {
    if alphabet == Alphabet::Ascii {
        return r"\b".to_owned();
    }
    let word = Kind::Word.members(alphabet, flags);
    without_folding(format!("(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))"), flags)
}

/// `\B`: anywhere else, except in the empty text.
pub(crate) fn not_word_boundary(alphabet: Alphabet, flags: Flags) -> String {
    if alphabet == Alphabet::Ascii {
        return r"(?!\A\z)\B".to_owned();
    }
    let word = Kind::Word.members(alphabet, flags);
    without_folding(format!(r"(?!\A\z)(?:(?<=[{word}])(?=[{word}])|(?<![{word}])(?![{word}]))"), flags)
}

/// Reads a set of which the opening bracket, at `start`, is read already.
pub(crate) fn parse(parser: &mut Parser, start: usize, flags: Flags) -> Result<Piece, PatternError> {
    let unterminated = || PatternError::at("unterminated character set", start);
    let mut set = Set { text: String::from("["), flags, alphabet: parser.alphabet, has_dotted: false };
    if parser.eat('^') {
        set.text.push('^');
    }
    let mut is_empty = true;
    loop {
        let item_start = parser.at;
        let next = parser.bump().ok_or_else(unterminated)?;
        if next == ']' && !is_empty {
            break;
        }
        is_empty = false;
        let first = read_item(parser, next, item_start)?;
        if !parser.eat('-') {
            set.add(first);
            continue;
        }
        let last_start = parser.at;
        let next = parser.bump().ok_or_else(unterminated)?;
        if next == ']' {
            set.add(first);
            set.add(Item::Literal('-'));
            break;
        }
        match (first, read_item(parser, next, last_start)?) {
            (Item::Literal(first), Item::Literal(last)) if first <= last => set.add_range(first, last),
            _ => {
                let range: String = parser.slice(item_start).collect();
                return Err(PatternError::at(format!("bad character range {range}"), item_start));
            }
        }
    }
    Ok(Piece::atom(set.finish(), Width::ONE))
}

enum Item {
    Literal(char),
    Category(Category),
}

fn read_item(parser: &mut Parser, next: char, start: usize) -> Result<Item, PatternError> {
    if next != '\\' {
        return Ok(Item::Literal(next));
    }
    match parser.read_escape(start, true)? {
        Escaped::Literal(character) => Ok(Item::Literal(character)),
        Escaped::Category(category) => Ok(Item::Category(category)),
        // `read_escape` gives nothing else inside a set.
        _ => Err(PatternError::at("bad escape in a character set", start)),
    }
}

/// A set that is being written.
struct Set {
    text: String,
    flags: Flags,
    alphabet: Alphabet,
    has_dotted: bool,
}

impl Set {
    fn add(&mut self, item: Item) {
        match item {
            Item::Literal(character) => self.add_range(character, character),
            Item::Category(category) => {
                self.text.push_str(&category.as_members(self.alphabet, self.flags));
            }
        }
    }

    fn add_range(&mut self, first: char, last: char) {
        self.push_range(first, last);
        self.has_dotted |= DOTTED.chars().any(|dotted| (first..=last).contains(&dotted));
        if self.flags.writes_cases() {
            self.add_other_case(first, last, 'a', 'A');
            self.add_other_case(first, last, 'A', 'a');
        }
    }

    /// Adds the other case of the ASCII letters in a range: those of the alphabet that begins with
    /// `from`, in the alphabet that begins with `to`.
    fn add_other_case(&mut self, first: char, last: char, from: char, to: char) {
        const LETTERS: u32 = 26;
        let (from, to) = (u32::from(from), u32::from(to));
        let low = u32::from(first).max(from);
        let high = u32::from(last).min(from + LETTERS - 1);
        let shifted = |code: u32| char::from_u32(code - from + to);
        if low <= high
            && let (Some(low), Some(high)) = (shifted(low), shifted(high))
        {
            self.push_range(low, high);
        }
    }

    fn push_range(&mut self, first: char, last: char) {
        push_literal(&mut self.text, first);
        if first != last {
            self.text.push('-');
            push_literal(&mut self.text, last);
        }
    }

    fn finish(mut self) -> String {
        if self.has_dotted && self.flags.folds() {
            self.text.push_str(DOTTED);
        }
        self.text.push(']');
        self.text
    }
}

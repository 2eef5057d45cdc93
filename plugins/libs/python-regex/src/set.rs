//! Sets of characters: `[…]`.

use crate::PatternError;
use crate::category::Category;
use crate::escape::Escape;
use crate::parser::{Alphabet, Flags, Parser};
use crate::piece::Piece;
use crate::width::Width;
use std::fmt::Write;

/// Characters that Python treats as equal when it ignores case, unlike the engine.
pub(crate) const DOTTED: &str = "iI\u{130}\u{131}";

/// Returns whether a character is one of [`DOTTED`].
pub(crate) fn is_dotted(character: char) -> bool {
    DOTTED.contains(character)
}

/// Writes a character as a literal, valid inside and outside a set.
pub(crate) fn push_literal(text: &mut String, character: char) {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        text.push(character);
    } else {
        // Writing to a String cannot fail.
        let _ = write!(text, r"\x{:02X}", u32::from(character));
    }
}

/// Reads a set after its opening bracket, which is at `start`.
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
        Escape::Literal(character) => Ok(Item::Literal(character)),
        Escape::Category(category) => Ok(Item::Category(category)),
        // `read_escape` returns nothing else inside a set.
        _ => Err(PatternError::at("bad escape in a character set", start)),
    }
}

/// A set under construction.
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

    /// Adds the other case of the ASCII letters in a range: it maps the alphabet that begins with `from` to the one
    /// that begins with `to`.
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

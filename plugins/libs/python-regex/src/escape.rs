//! Escapes: a backslash and what follows it.

use crate::PatternError;
use crate::parser::Parser;
use crate::set::Category;

/// Largest value of an octal escape.
const MAX_OCTAL: u32 = 0o377;

/// What an escape means.
pub(crate) enum Escaped {
    Literal(char),
    Category(Category),
    /// `\A`
    Start,
    /// `\Z`
    End,
    /// `\b`
    WordBoundary,
    /// `\B`
    NotWordBoundary,
    /// `\1` and so on: what a group has matched.
    Group(usize),
}

impl Parser {
    /// Reads an escape of which the backslash, at `start`, is read already.
    pub(crate) fn read_escape(&mut self, start: usize, in_set: bool) -> Result<Escaped, PatternError> {
        let Some(letter) = self.bump() else {
            return Err(PatternError::at("bad escape (end of pattern)", start));
        };
        if let Some(category) = Category::of(letter) {
            return Ok(Escaped::Category(category));
        }
        Ok(match letter {
            'a' => Escaped::Literal('\u{7}'),
            'f' => Escaped::Literal('\u{c}'),
            'n' => Escaped::Literal('\n'),
            'r' => Escaped::Literal('\r'),
            't' => Escaped::Literal('\t'),
            'v' => Escaped::Literal('\u{b}'),
            'b' if in_set => Escaped::Literal('\u{8}'),
            'b' => Escaped::WordBoundary,
            'B' if !in_set => Escaped::NotWordBoundary,
            'A' if !in_set => Escaped::Start,
            'Z' if !in_set => Escaped::End,
            'x' => Escaped::Literal(self.hexadecimal(start, letter, 2)?),
            'u' => Escaped::Literal(self.hexadecimal(start, letter, 4)?),
            'U' => Escaped::Literal(self.hexadecimal(start, letter, 8)?),
            'N' => return Err(PatternError::at(r"\N{…} is not supported, write \uXXXX", start)),
            '0' => {
                let digits = self.take_while(2, is_octal);
                Escaped::Literal(octal(&format!("0{digits}"), start)?)
            }
            '1'..='7' if in_set => {
                let digits = self.take_while(2, is_octal);
                Escaped::Literal(octal(&format!("{letter}{digits}"), start)?)
            }
            '1'..='9' if !in_set => self.group_or_octal(start, letter)?,
            _ if letter.is_ascii_alphanumeric() => {
                return Err(PatternError::at(format!(r"bad escape \{letter}"), start));
            }
            _ => Escaped::Literal(letter),
        })
    }

    /// Reads the rest of `\12`: three octal digits are a character, anything less is a group.
    fn group_or_octal(&mut self, start: usize, first: char) -> Result<Escaped, PatternError> {
        let mut digits = String::from(first);
        if let Some(second) = self.peek().filter(char::is_ascii_digit) {
            self.at += 1;
            digits.push(second);
            if let Some(third) = self.peek().filter(|third| is_octal(*third))
                && is_octal(first)
                && is_octal(second)
            {
                self.at += 1;
                digits.push(third);
                return Ok(Escaped::Literal(octal(&digits, start)?));
            }
        }
        let group = digits.parse().unwrap_or(usize::MAX);
        if group >= self.groups.len() {
            return Err(PatternError::at(format!("invalid group reference {digits}"), start + 1));
        }
        self.check_reference(group, start)?;
        Ok(Escaped::Group(group))
    }

    /// Refuses a reference to a group that is still open, or that belongs to the same look-behind.
    pub(crate) fn check_reference(&self, group: usize, position: usize) -> Result<(), PatternError> {
        if self.groups.get(group).is_some_and(Option::is_none) {
            return Err(PatternError::at("cannot refer to an open group", position));
        }
        self.check_look_behind(group, position)
    }

    /// Refuses a reference to a group of the same look-behind.
    pub(crate) fn check_look_behind(&self, group: usize, position: usize) -> Result<(), PatternError> {
        if self.look_behind.is_some_and(|first| group >= first) {
            let message = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(PatternError::at(message, position));
        }
        Ok(())
    }

    fn hexadecimal(&mut self, start: usize, letter: char, length: usize) -> Result<char, PatternError> {
        let digits = self.take_while(length, |next| next.is_ascii_hexdigit());
        if digits.len() < length {
            return Err(PatternError::at(format!(r"incomplete escape \{letter}{digits}"), start));
        }
        u32::from_str_radix(&digits, 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| PatternError::at(format!(r"\{letter}{digits} is no character"), start))
    }
}

fn is_octal(character: char) -> bool {
    matches!(character, '0'..='7')
}

fn octal(digits: &str, start: usize) -> Result<char, PatternError> {
    match u32::from_str_radix(digits, 8) {
        Ok(code) if code <= MAX_OCTAL => {
            char::from_u32(code).ok_or_else(|| PatternError::at("no character", start))
        }
        _ => {
            let message = format!(r"octal escape value \{digits} outside of range 0-0o377");
            Err(PatternError::at(message, start))
        }
    }
}

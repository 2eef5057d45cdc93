//! Escapes: a backslash and what follows it.

use crate::PatternError;
use crate::category::Category;
use crate::parser::Parser;

/// Largest value of an octal escape.
const MAX_OCTAL: u32 = 0o377;

/// Meaning of an escape.
pub(crate) enum Escape {
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
    /// `\1` and so on: the text that a group matched.
    Group(usize),
}

impl Parser {
    /// Reads an escape after its backslash, which is at `start`.
    pub(crate) fn read_escape(&mut self, start: usize, in_set: bool) -> Result<Escape, PatternError> {
        let Some(letter) = self.bump() else {
            return Err(PatternError::at("bad escape (end of pattern)", start));
        };
        if let Some(category) = Category::of(letter) {
            return Ok(Escape::Category(category));
        }
        Ok(match letter {
            'a' => Escape::Literal('\u{7}'),
            'f' => Escape::Literal('\u{c}'),
            'n' => Escape::Literal('\n'),
            'r' => Escape::Literal('\r'),
            't' => Escape::Literal('\t'),
            'v' => Escape::Literal('\u{b}'),
            'b' if in_set => Escape::Literal('\u{8}'),
            'b' => Escape::WordBoundary,
            'B' if !in_set => Escape::NotWordBoundary,
            'A' if !in_set => Escape::Start,
            'Z' if !in_set => Escape::End,
            'x' => Escape::Literal(self.hexadecimal(start, letter, 2)?),
            'u' => Escape::Literal(self.hexadecimal(start, letter, 4)?),
            'U' => Escape::Literal(self.hexadecimal(start, letter, 8)?),
            'N' => return Err(PatternError::at(r"\N{…} is not supported, write \uXXXX", start)),
            '0' => {
                let digits = self.take_while(2, is_octal);
                Escape::Literal(octal(&format!("0{digits}"), start)?)
            }
            '1'..='7' if in_set => {
                let digits = self.take_while(2, is_octal);
                Escape::Literal(octal(&format!("{letter}{digits}"), start)?)
            }
            '1'..='9' if !in_set => self.group_or_octal(start, letter)?,
            _ if letter.is_ascii_alphanumeric() => {
                return Err(PatternError::at(format!(r"bad escape \{letter}"), start));
            }
            _ => Escape::Literal(letter),
        })
    }

    /// Reads the rest of `\12`: three octal digits are a character, anything less is a group.
    fn group_or_octal(&mut self, start: usize, first: char) -> Result<Escape, PatternError> {
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
                return Ok(Escape::Literal(octal(&digits, start)?));
            }
        }
        let group = digits.parse().unwrap_or(usize::MAX);
        if group >= self.groups.len() {
            return Err(PatternError::at(format!("invalid group reference {digits}"), start + 1));
        }
        self.check_reference(group, start)?;
        Ok(Escape::Group(group))
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

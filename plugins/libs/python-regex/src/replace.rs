//! Replacement of matches, as `re.sub` does.

use crate::{Group, PatternError, PythonRegex, SearchError};

/// A replacement text of a pattern, in which `\1` and `\g<name>` stand for groups. The default is the empty
/// text.
#[derive(Default)]
pub struct Replacement {
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Group(Group),
}

impl PythonRegex {
    /// Reads a replacement text. `\1` to `\99`, `\g<1>` and `\g<name>` are groups; `\n`, `\t` and octal escapes are
    /// characters. Other escapes of letters are errors, as in Python.
    ///
    /// # Errors
    /// Reports what is wrong with the text, and at which character.
    pub fn replacement(&self, text: &str) -> Result<Replacement, PatternError> {
        let reader = Reader {
            regex: self,
            characters: text.chars().collect(),
            place: 0,
            literal: String::new(),
            parts: Vec::new(),
        };
        reader.read()
    }

    /// Returns the text with all matches replaced, as `re.sub` does. A group that takes part in no match is empty. An
    /// empty match directly after another match is not replaced, as in Python before 3.7.
    ///
    /// # Errors
    /// Same as for [`PythonRegex::find`].
    pub fn replace_all(&self, text: &str, replacement: &Replacement) -> Result<String, SearchError> {
        let mut replaced = String::with_capacity(text.len());
        let mut end = 0;
        self.each_captures(text, |captures| {
            let Some(whole) = self.span(captures) else { return false };
            replaced.push_str(text.get(end..whole.start).unwrap_or_default());
            for part in &replacement.parts {
                match part {
                    Part::Text(text) => replaced.push_str(text),
                    Part::Group(group) => {
                        replaced.push_str(captures.get(group.0).map_or("", |held| held.as_str()));
                    }
                }
            }
            end = whole.end;
            false
        })?;
        replaced.push_str(text.get(end..).unwrap_or_default());
        Ok(replaced)
    }
}

/// Reads a replacement text.
struct Reader<'r> {
    regex: &'r PythonRegex,
    characters: Vec<char>,
    place: usize,
    /// Text that is not a part yet.
    literal: String,
    parts: Vec<Part>,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Replacement, PatternError> {
        while let Some(character) = self.next() {
            match character {
                '\\' => self.read_escape()?,
                _ => self.literal.push(character),
            }
        }
        self.end_literal();
        Ok(Replacement { parts: self.parts })
    }

    fn next(&mut self) -> Option<char> {
        let character = self.characters.get(self.place).copied()?;
        self.place += 1;
        Some(character)
    }

    fn next_digit(&mut self, radix: u32) -> Option<u32> {
        let digit = self.characters.get(self.place)?.to_digit(radix)?;
        self.place += 1;
        Some(digit)
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.literal)));
        }
    }

    fn push_group(&mut self, group: Group) {
        self.end_literal();
        self.parts.push(Part::Group(group));
    }

    /// Reads an escape after its backslash.
    fn read_escape(&mut self) -> Result<(), PatternError> {
        let start = self.place - 1;
        let Some(character) = self.next() else {
            return Err(PatternError::at("bad escape (end of pattern)", start));
        };
        let literal = match character {
            'g' => return self.read_named_group(),
            '0' => {
                let code = (0..2).map_while(|_| self.next_digit(8)).fold(0, |code, digit| code * 8 + digit);
                char::from_u32(code).unwrap_or_default()
            }
            '1'..='9' => return self.read_number(start, character),
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            _ if character.is_ascii_alphabetic() => {
                return Err(PatternError::at(format!("bad escape \\{character}"), start));
            }
            _ => {
                self.literal.push('\\');
                character
            }
        };
        self.literal.push(literal);
        Ok(())
    }

    /// Reads the number of a group, or three octal digits of a character.
    fn read_number(&mut self, start: usize, first: char) -> Result<(), PatternError> {
        let first = first.to_digit(10).unwrap_or_default();
        let Some(second) = self.next_digit(10) else { return self.read_group(start, &first.to_string()) };
        if first < 8
            && second < 8
            && let Some(third) = self.next_digit(8)
        {
            let code = (first * 8 + second) * 8 + third;
            if code > 0o377 {
                let message = format!("octal escape value \\{first}{second}{third} outside of range 0-0o377");
                return Err(PatternError::at(message, start));
            }
            self.literal.push(char::from_u32(code).unwrap_or_default());
            return Ok(());
        }
        self.read_group(start, &format!("{first}{second}"))
    }

    fn read_group(&mut self, start: usize, number: &str) -> Result<(), PatternError> {
        let found = self.regex.group(number);
        let missing = |_| PatternError::at(format!("invalid group reference {number}"), start + 1);
        self.push_group(found.map_err(missing)?);
        Ok(())
    }

    /// Reads `<name>` or `<number>`.
    fn read_named_group(&mut self) -> Result<(), PatternError> {
        let start = self.place;
        if self.next() != Some('<') {
            return Err(PatternError::at("missing <", start));
        }
        let rest = self.characters.get(self.place..).unwrap_or_default();
        let Some(length) = rest.iter().position(|character| *character == '>') else {
            return Err(PatternError::at("missing >, unterminated name", start + 1));
        };
        let name: String = rest.iter().take(length).collect();
        if name.is_empty() {
            return Err(PatternError::at("missing group name", start + 1));
        }
        self.place += length + 1;
        let group = self.regex.group(&name)?;
        self.push_group(group);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, replacement: &str, text: &str) -> Result<String, String> {
        let regex = PythonRegex::new(pattern, false).map_err(|error| error.to_string())?;
        let replacement = regex.replacement(replacement).map_err(|error| error.to_string())?;
        regex.replace_all(text, &replacement).map_err(|error| error.to_string())
    }

    #[test]
    fn replacements_are_those_of_python() {
        for (pattern, replacement, text, expected) in [
            (r"\[.*?\]", "", "a [title] b [step]", "a  b "),
            (r"\(\s*([^\)]*?)\s*\)", r"(\1)", "x ( y ) (z)", "x (y) (z)"),
            (r#""\s*([^"]*?)\s*""#, r#""\1""#, r#"say " yes " ."#, r#"say "yes" ."#),
            ("(?P<a>x)(y)?", r"[\g<a>|\2|\g<1>]", "xy x", "[x|y|x] [x||x]"),
            ("b", r"\n\t\\\.\060\101\0", "abc", "a\n\t\\\\.0A\0c"),
            ("x*", "-", "abxd", "-a-b-d-"),
            ("é", r"\g<0>\g<0>", "né", "néé"),
            ("b", "$1", "abc", "a$1c"),
        ] {
            assert_eq!(
                replaced(pattern, replacement, text).as_deref(),
                Ok(expected),
                "{pattern} {replacement}"
            );
        }
    }

    #[test]
    fn bad_replacements_are_errors_of_python() {
        for (replacement, expected) in [
            (r"\q", r"bad escape \q at position 0"),
            (r"a\", "bad escape (end of pattern) at position 1"),
            (r"\2", "invalid group reference 2 at position 1"),
            (r"\777", r"octal escape value \777 outside of range 0-0o377 at position 0"),
            (r"\g1", "missing < at position 2"),
            (r"\g<1", "missing >, unterminated name at position 3"),
            (r"\g<>", "missing group name at position 3"),
            (r"\g<b>", "no such group 'b'"),
        ] {
            assert_eq!(replaced("(a)", replacement, "a"), Err(expected.to_owned()), "{replacement}");
        }
    }
}

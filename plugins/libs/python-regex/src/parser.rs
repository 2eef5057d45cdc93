//! State of the parser: the position in the pattern, its flags, and the groups so far.

use crate::PatternError;
use crate::width::Width;

/// Maximum nesting depth, so that no pattern exhausts the stack.
pub(crate) const MAX_DEPTH: usize = 100;

/// Texts that a translation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// ASCII texts only.
    Ascii,
    /// Any text.
    Unicode,
}

/// Flags in effect at a position of the pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multi_line: bool,
    pub(crate) dot_all: bool,
    pub(crate) verbose: bool,
    pub(crate) ascii: bool,
}

impl Flags {
    /// Returns whether the engine folds case. In ASCII mode it must not, since it only knows Unicode folding; the
    /// translation writes out both cases there.
    pub(crate) fn folds(self) -> bool {
        self.ignore_case && !self.ascii
    }

    /// Returns whether both cases of ASCII letters are written out.
    pub(crate) fn writes_cases(self) -> bool {
        self.ignore_case && self.ascii
    }
}

/// State of the parser.
pub(crate) struct Parser {
    pattern: Vec<char>,
    /// Position of the next character.
    pub(crate) at: usize,
    pub(crate) alphabet: Alphabet,
    /// Width of each group by number; `None` while the group is open. Number 0 is the whole pattern.
    pub(crate) groups: Vec<Option<Width>>,
    pub(crate) names: Vec<(String, usize)>,
    /// First group that was opened inside the current look-behind.
    pub(crate) look_behind: Option<usize>,
    /// Groups that a condition names before they are opened, with the positions of the conditions.
    pub(crate) awaited: Vec<(usize, usize)>,
    /// Position at which the pattern becomes too large to compile, if it does.
    pub(crate) too_large: Option<usize>,
}

impl Parser {
    /// Creates the state before the first character of a pattern.
    pub(crate) fn new(pattern: &str, alphabet: Alphabet) -> Parser {
        Parser {
            pattern: pattern.chars().collect(),
            at: 0,
            alphabet,
            groups: vec![None],
            names: Vec::new(),
            look_behind: None,
            awaited: Vec::new(),
            too_large: None,
        }
    }

    /// Returns the next character without reading it.
    pub(crate) fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).copied()
    }

    /// Reads the next character.
    pub(crate) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    /// Reads the next character if it is the expected one.
    pub(crate) fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += 1;
        }
        found
    }

    /// Returns the characters from a position up to the next one.
    pub(crate) fn slice(&self, from: usize) -> impl Iterator<Item = char> {
        self.pattern.iter().take(self.at).skip(from).copied()
    }

    /// Reads characters that satisfy a condition, up to a limit.
    pub(crate) fn take_while(&mut self, limit: usize, condition: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while taken.len() < limit {
            let Some(next) = self.peek().filter(|next| condition(*next)) else { break };
            taken.push(next);
            self.at += 1;
        }
        taken
    }

    /// Rejects a reference to a group that is still open, or that belongs to the same look-behind.
    pub(crate) fn check_reference(&self, group: usize, position: usize) -> Result<(), PatternError> {
        if self.groups.get(group).is_some_and(Option::is_none) {
            return Err(PatternError::at("cannot refer to an open group", position));
        }
        self.check_look_behind(group, position)
    }

    /// Rejects a reference to a group of the same look-behind.
    pub(crate) fn check_look_behind(&self, group: usize, position: usize) -> Result<(), PatternError> {
        if self.look_behind.is_some_and(|first| group >= first) {
            let message = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(PatternError::at(message, position));
        }
        Ok(())
    }
}

//! Groups: everything that begins with a parenthesis.

use crate::PatternError;
use crate::parser::{Flags, Parser};
use crate::piece::{Piece, Shape};
use crate::required::RequiredText;
use crate::width::Width;

/// Letters that are valid flags.
const FLAG_LETTERS: &str = "aiLmsux";

/// Kind of a group.
enum Group {
    Capture,
    /// No effect other than grouping, perhaps with different flags.
    Plain(Flags),
    Atomic,
    LookAhead {
        negative: bool,
    },
    LookBehind {
        negative: bool,
    },
}

impl Parser {
    /// Reads a group after its parenthesis, which is at `start`. `None` for a comment and for global flags.
    pub(crate) fn group(
        &mut self,
        start: usize,
        flags: &mut Flags,
        depth: usize,
        allow_global: bool,
    ) -> Result<Option<Piece>, PatternError> {
        if !self.eat('?') {
            self.groups.push(None);
            return self.body(start, Group::Capture, *flags, depth).map(Some);
        }
        let group = match self.bump_or_end()? {
            'P' => match self.bump_or_end()? {
                '<' => {
                    let name = self.name('>')?;
                    self.open_named(name)?;
                    Group::Capture
                }
                '=' => return self.named_reference().map(Some),
                other => return Err(self.unknown_extension(&format!("P{other}"))),
            },
            ':' => Group::Plain(*flags),
            '>' => Group::Atomic,
            '=' => Group::LookAhead { negative: false },
            '!' => Group::LookAhead { negative: true },
            '<' => match self.bump_or_end()? {
                '=' => Group::LookBehind { negative: false },
                '!' => Group::LookBehind { negative: true },
                other => return Err(self.unknown_extension(&format!("<{other}"))),
            },
            '#' => {
                while self.bump().ok_or_else(|| PatternError::at("missing ), unterminated comment", start))?
                    != ')'
                {}
                return Ok(None);
            }
            '(' => return self.conditional(start, *flags, depth).map(Some),
            letter if letter == '-' || FLAG_LETTERS.contains(letter) => match self.flags(letter, *flags)? {
                FlagGroup::Scoped(scoped) => Group::Plain(scoped),
                FlagGroup::Global(_) if !allow_global => {
                    return Err(PatternError::at("global flags not at the start of the expression", start));
                }
                FlagGroup::Global(global) => {
                    *flags = global;
                    return Ok(None);
                }
            },
            other => return Err(self.unknown_extension(&other.to_string())),
        };
        self.body(start, group, *flags, depth).map(Some)
    }

    fn bump_or_end(&mut self) -> Result<char, PatternError> {
        self.bump().ok_or_else(|| PatternError::at("unexpected end of pattern", self.at))
    }

    fn unknown_extension(&self, extension: &str) -> PatternError {
        let position = self.at.saturating_sub(extension.chars().count() + 1);
        PatternError::at(format!("unknown extension ?{extension}"), position)
    }

    /// Reads the content of a group and its closing parenthesis.
    fn body(
        &mut self,
        start: usize,
        group: Group,
        outer: Flags,
        depth: usize,
    ) -> Result<Piece, PatternError> {
        // The caller has already opened a capture group.
        let number = self.groups.len() - 1;
        let outer_look_behind = self.look_behind;
        if matches!(group, Group::LookBehind { .. }) {
            self.look_behind = outer_look_behind.or(Some(self.groups.len()));
        }
        let mut inner = match group {
            Group::Plain(inner) => inner,
            _ => outer,
        };
        let held = self.alternation(&mut inner, depth + 1)?;
        self.look_behind = outer_look_behind;
        if !self.eat(')') {
            return Err(PatternError::at("missing ), unterminated subpattern", start));
        }
        let Piece { text, width, shape, required, weight, .. } = held;
        let look = |text: String| Piece { shape: Shape::Look, ..Piece::atom(text, Width::ZERO) };
        // A positive look-around also requires its content.
        let is_needed =
            !matches!(group, Group::LookAhead { negative: true } | Group::LookBehind { negative: true });
        let required = if is_needed { required.alone() } else { RequiredText::default() };
        let required = match group {
            Group::LookBehind { .. } => required.before(width),
            _ => required,
        };
        let piece = match group {
            Group::Capture => {
                if let Some(open) = self.groups.get_mut(number) {
                    *open = Some(width);
                }
                Piece::atom(format!("({text})"), width)
            }
            Group::Plain(_) if shape == Shape::Nothing => Piece::nothing(),
            Group::Plain(inner) => {
                let opening = match (outer.folds(), inner.folds()) {
                    (false, true) => "(?i:",
                    (true, false) => "(?-i:",
                    _ => "(?:",
                };
                let shape = if shape == Shape::Look { Shape::Look } else { Shape::Atom };
                Piece { shape, ..Piece::atom(format!("{opening}{text})"), width) }
            }
            Group::Atomic if shape == Shape::Nothing => Piece::nothing(),
            Group::Atomic => Piece::atom(format!("(?>{text})"), width),
            Group::LookAhead { negative: false } => look(format!("(?={text})")),
            Group::LookAhead { negative: true } => look(format!("(?!{text})")),
            Group::LookBehind { .. } if width.least != width.most => {
                return Err(PatternError::at("look-behind requires fixed-width pattern", start));
            }
            Group::LookBehind { negative: false } => look(format!("(?<={text})")),
            Group::LookBehind { negative: true } => look(format!("(?<!{text})")),
        };
        Ok(Piece { required, weight: weight.saturating_add(1), ..piece })
    }

    /// Reads a name up to a closing character.
    fn name(&mut self, closing: char) -> Result<String, PatternError> {
        let start = self.at;
        let name = self.until(closing)?;
        if is_identifier(&name) {
            Ok(name)
        } else {
            Err(PatternError::at(format!("bad character in group name '{name}'"), start))
        }
    }

    /// Reads a non-empty text up to a closing character, and consumes that character.
    fn until(&mut self, closing: char) -> Result<String, PatternError> {
        let start = self.at;
        let name = self.take_while(usize::MAX, |next| next != closing);
        if !self.eat(closing) {
            let message = if name.is_empty() {
                "missing group name".to_owned()
            } else {
                format!("missing {closing}, unterminated name")
            };
            return Err(PatternError::at(message, start));
        }
        if name.is_empty() {
            return Err(PatternError::at("missing group name", start));
        }
        Ok(name)
    }

    fn open_named(&mut self, name: String) -> Result<(), PatternError> {
        let number = self.groups.len();
        if let Some(earlier) = self.group_named(&name) {
            let message =
                format!("redefinition of group name '{name}' as group {number}; was group {earlier}");
            return Err(PatternError::at(message, self.at.saturating_sub(name.chars().count() + 1)));
        }
        self.names.push((name, number));
        self.groups.push(None);
        Ok(())
    }

    fn group_named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// Reads the rest of `(?P=name)`.
    fn named_reference(&mut self) -> Result<Piece, PatternError> {
        let start = self.at;
        let name = self.name(')')?;
        let number = self
            .group_named(&name)
            .ok_or_else(|| PatternError::at(format!("unknown group name '{name}'"), start))?;
        self.check_reference(number, start)?;
        Ok(self.reference(number))
    }

    /// Reads the rest of `(?(group)yes|no)`.
    fn conditional(&mut self, start: usize, flags: Flags, depth: usize) -> Result<Piece, PatternError> {
        let name_start = self.at;
        let name = self.until(')')?;
        let group = if is_identifier(&name) {
            self.group_named(&name)
                .ok_or_else(|| PatternError::at(format!("unknown group name '{name}'"), name_start))?
        } else {
            match name.parse() {
                Ok(0) => return Err(PatternError::at("bad group number", name_start)),
                Ok(group) => {
                    self.awaited.push((group, name_start));
                    group
                }
                Err(_) => {
                    let message = format!("bad character in group name '{name}'");
                    return Err(PatternError::at(message, name_start));
                }
            }
        };
        self.check_look_behind(group, name_start)?;
        if depth > crate::parser::MAX_DEPTH {
            return Err(PatternError::at("nested too deeply", start));
        }
        let mut inner = flags;
        let yes = self.branch(&mut inner, depth + 1, false)?;
        let no = if self.eat('|') { self.branch(&mut inner, depth + 1, false)? } else { Piece::nothing() };
        if self.peek() == Some('|') {
            let message = "conditional backref with more than two branches";
            return Err(PatternError::at(message, self.at));
        }
        if !self.eat(')') {
            return Err(PatternError::at("missing ), unterminated subpattern", start));
        }
        if yes.text.is_empty() && no.text.is_empty() {
            // The engine would read an empty condition as a test of the group.
            return Ok(Piece::nothing());
        }
        let separator = if no.text.is_empty() { "" } else { "|" };
        let text = format!("(?({group}){}{separator}{})", yes.text, no.text);
        let width = yes.width.or(no.width);
        let branches = [yes, no];
        let required = RequiredText::one_of(branches.iter().map(|branch| &branch.required));
        let weight = Piece::weight_of(&branches).saturating_add(1);
        Ok(Piece { text, width, shape: Shape::Atom, repeated: false, required, weight })
    }

    /// Reads the rest of a group that begins with flags.
    fn flags(&mut self, first: char, outer: Flags) -> Result<FlagGroup, PatternError> {
        let mut added = String::new();
        let mut next = first;
        while !matches!(next, ')' | '-' | ':') {
            self.check_flag(next, "missing -, : or )")?;
            match next {
                'L' => {
                    let message = "bad inline flags: cannot use 'L' flag with a str pattern";
                    return Err(PatternError::at(message, self.at));
                }
                'a' | 'u' if added.contains(if next == 'a' { 'u' } else { 'a' }) => {
                    let message = "bad inline flags: flags 'a', 'u' and 'L' are incompatible";
                    return Err(PatternError::at(message, self.at));
                }
                _ => added.push(next),
            }
            next = self.bump().ok_or_else(|| PatternError::at("missing -, : or )", self.at))?;
        }
        let mut flags = outer;
        for letter in added.chars() {
            set_flag(&mut flags, letter, true);
        }
        match next {
            ')' => return Ok(FlagGroup::Global(flags)),
            ':' => return Ok(FlagGroup::Scoped(flags)),
            _ => {}
        }
        next = self.bump().ok_or_else(|| PatternError::at("missing flag", self.at))?;
        if next == ':' {
            return Err(PatternError::at("missing flag", self.at - 1));
        }
        while next != ':' {
            self.check_flag(next, "missing :")?;
            if matches!(next, 'a' | 'u' | 'L') {
                let message = "bad inline flags: cannot turn off flags 'a', 'u' and 'L'";
                return Err(PatternError::at(message, self.at));
            }
            if added.contains(next) {
                let message = "bad inline flags: flag turned on and off";
                return Err(PatternError::at(message, self.at));
            }
            set_flag(&mut flags, next, false);
            next = self.bump().ok_or_else(|| PatternError::at("missing :", self.at))?;
        }
        Ok(FlagGroup::Scoped(flags))
    }

    fn check_flag(&self, letter: char, otherwise: &str) -> Result<(), PatternError> {
        if FLAG_LETTERS.contains(letter) {
            return Ok(());
        }
        let message = if letter.is_alphabetic() { "unknown flag" } else { otherwise };
        Err(PatternError::at(message, self.at.saturating_sub(1)))
    }
}

/// Flags of a group, or of the whole pattern.
enum FlagGroup {
    Global(Flags),
    Scoped(Flags),
}

fn set_flag(flags: &mut Flags, letter: char, value: bool) {
    match letter {
        'i' => flags.ignore_case = value,
        'm' => flags.multi_line = value,
        's' => flags.dot_all = value,
        'x' => flags.verbose = value,
        'a' => flags.ascii = value,
        // 'u', the default: it turns on what 'a' turns off.
        _ => flags.ascii = !value,
    }
}

/// Returns whether a text could be a Python name.
fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|character| character == '_' || character.is_alphanumeric())
}

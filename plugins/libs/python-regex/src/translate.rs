//! Reads a pattern as Python's `re` does and translates it for `fancy-regex`.

use crate::PatternError;
use crate::category;
use crate::escape::Escape;
use crate::parser::{Alphabet, Flags, MAX_DEPTH, Parser};
use crate::piece::{Mode, Piece, Quantifier, Shape};
use crate::required::{Offset, RequiredText};
use crate::set;
use crate::weight;
use crate::width::Width;

/// Limit of repetitions in Python.
const MAX_REPETITIONS: u64 = 4_294_967_295;

/// A pattern in the syntax of `fancy-regex`.
pub(crate) struct Translation {
    pub(crate) text: String,
    /// Names of groups, which the text no longer contains, and their numbers.
    pub(crate) names: Vec<(String, usize)>,
    /// Number of groups without the whole match.
    pub(crate) group_count: usize,
    /// Pattern of a text that every match contains, and its offset in characters from the beginning of the match.
    /// `None` if nothing is known.
    pub(crate) required: Option<(String, Offset)>,
    /// Position at which the pattern becomes too large for an engine that copies repeated parts.
    pub(crate) too_large: Option<usize>,
}

/// Translates a pattern for texts of an alphabet.
pub(crate) fn translate(
    pattern: &str,
    ignore_case: bool,
    alphabet: Alphabet,
) -> Result<Translation, PatternError> {
    let mut parser = Parser::new(pattern, alphabet);
    let mut flags = Flags { ignore_case, multi_line: false, dot_all: false, verbose: false, ascii: false };
    let whole = parser.alternation(&mut flags, 0)?;
    if parser.peek().is_some() {
        return Err(PatternError::at("unbalanced parenthesis", parser.at));
    }
    for (group, position) in &parser.awaited {
        if *group >= parser.groups.len() {
            return Err(PatternError::at(format!("invalid group reference {group}"), *position));
        }
    }
    let text = if flags.folds() { format!("(?i:{})", whole.text) } else { whole.text };
    Ok(Translation {
        text,
        names: parser.names,
        group_count: parser.groups.len().saturating_sub(1),
        required: whole.required.pattern(),
        too_large: parser.too_large,
    })
}

impl Parser {
    /// Reads branches up to a closing parenthesis or the end.
    pub(crate) fn alternation(&mut self, flags: &mut Flags, depth: usize) -> Result<Piece, PatternError> {
        if depth > MAX_DEPTH {
            return Err(PatternError::at("nested too deeply", self.at));
        }
        let mut branches = vec![self.branch(flags, depth, depth == 0)?];
        while self.eat('|') {
            let start = self.at;
            branches.push(self.branch(flags, depth, false)?);
            if Piece::weight_of(&branches) > weight::MAX_WEIGHT {
                self.too_large.get_or_insert(start);
            }
        }
        Ok(Piece::alternation(branches))
    }

    /// Reads one branch. Global flags are allowed only at the very start.
    pub(crate) fn branch(
        &mut self,
        flags: &mut Flags,
        depth: usize,
        at_start: bool,
    ) -> Result<Piece, PatternError> {
        let mut pieces: Vec<Piece> = Vec::new();
        // Weight of all pieces before the last one, and their number.
        let (mut weight, mut finished) = (0_u64, 0);
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            let start = self.at;
            self.at += 1;
            if flags.verbose && self.skip_verbose(next) {
                continue;
            }
            match next {
                '\\' => pieces.push(self.escape(start, *flags)?),
                '[' => pieces.push(set::parse(self, start, *flags)?),
                '.' => pieces.push(Piece::atom(any(*flags), Width::ONE)),
                '^' => pieces.push(Piece::anchor(if flags.multi_line { "(?m:^)" } else { r"\A" })),
                '$' => pieces.push(end_of_text(*flags)),
                '(' => {
                    let allow_global = at_start && pieces.is_empty();
                    pieces.extend(self.group(start, flags, depth, allow_global)?);
                }
                '*' | '+' | '?' | '{' => match self.quantifier(next, start)? {
                    Some(quantifier) => repeat_last(&mut pieces, quantifier, start)?,
                    None => pieces.push(self.literal(next, *flags)),
                },
                _ => pieces.push(self.literal(next, *flags)),
            }
            // A quantifier changes the last piece, so it is added only when the next one begins.
            let last = pieces.last().map_or(0, |piece| piece.weight);
            if pieces.len() > finished + 1 {
                weight = weight.saturating_add(pieces.get(finished).map_or(0, |piece| piece.weight));
                finished += 1;
            }
            if weight.saturating_add(last) > weight::MAX_WEIGHT {
                self.too_large.get_or_insert(start);
            }
        }
        // In the last branch only: the group that it adds must not change the numbers of others.
        if depth == 0 && self.peek().is_none() {
            consume_trailing_newline(&mut pieces);
        }
        Ok(Piece::sequence(&pieces))
    }

    /// Skips anything that verbose mode ignores: white space, and comments to the end of the line.
    fn skip_verbose(&mut self, next: char) -> bool {
        match next {
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' => true,
            '#' => {
                while self.bump().is_some_and(|skipped| skipped != '\n') {}
                true
            }
            _ => false,
        }
    }

    /// Translates a literal character.
    pub(crate) fn literal(&self, character: char, flags: Flags) -> Piece {
        let text = if flags.folds() && set::is_dotted(character) {
            // In ASCII texts, folding alone finds `i` and `I`.
            match self.alphabet {
                Alphabet::Ascii if character.is_ascii() => character.to_string(),
                _ => format!("[{}]", set::DOTTED),
            }
        } else if flags.writes_cases() && character.is_ascii_alphabetic() {
            format!("[{}{}]", character.to_ascii_lowercase(), character.to_ascii_uppercase())
        } else {
            let mut text = String::new();
            set::push_literal(&mut text, character);
            text
        };
        let required = RequiredText::character(&text, flags.folds());
        Piece { required, ..Piece::atom(text, Width::ONE) }
    }

    /// Translates an escape outside a set.
    fn escape(&mut self, start: usize, flags: Flags) -> Result<Piece, PatternError> {
        Ok(match self.read_escape(start, false)? {
            Escape::Literal(character) => self.literal(character, flags),
            Escape::Category(category) => Piece::atom(category.as_set(self.alphabet, flags), Width::ONE),
            Escape::Start => Piece::anchor(r"\A"),
            Escape::End => Piece::anchor(r"\z"),
            Escape::WordBoundary => Piece::anchor(category::word_boundary(self.alphabet, flags)),
            Escape::NotWordBoundary => Piece::anchor(category::not_word_boundary(self.alphabet, flags)),
            Escape::Group(group) => self.reference(group),
        })
    }

    /// Translates a reference to the text that a group matched.
    pub(crate) fn reference(&self, group: usize) -> Piece {
        let width = self.groups.get(group).copied().flatten().unwrap_or(Width::ZERO);
        Piece::atom(format!(r"\k<{group}>"), width)
    }

    /// Reads a quantifier after its first character. `None` if a brace is only a brace.
    fn quantifier(&mut self, first: char, start: usize) -> Result<Option<Quantifier>, PatternError> {
        let (least, most) = match first {
            '?' => (0, Some(1)),
            '*' => (0, None),
            '+' => (1, None),
            _ => match self.braces(start)? {
                Some(bounds) => bounds,
                None => return Ok(None),
            },
        };
        let mode = if self.eat('?') {
            Mode::Lazy
        } else if self.eat('+') {
            Mode::Possessive
        } else {
            Mode::Greedy
        };
        Ok(Some(Quantifier { least, most, mode }))
    }

    /// Reads the rest of `{least,most}`, or leaves it unread if it is something else.
    fn braces(&mut self, start: usize) -> Result<Option<(u64, Option<u64>)>, PatternError> {
        let after_brace = self.at;
        if self.peek() == Some('}') {
            return Ok(None);
        }
        let is_digit = |next: char| next.is_ascii_digit();
        let least = self.take_while(usize::MAX, is_digit);
        let most = if self.eat(',') { self.take_while(usize::MAX, is_digit) } else { least.clone() };
        if !self.eat('}') {
            self.at = after_brace;
            return Ok(None);
        }
        let bound = |digits: &str| match digits.parse::<u64>() {
            Ok(bound) if bound < MAX_REPETITIONS => Ok(bound),
            _ => Err(PatternError::at("the repetition number is too large", start)),
        };
        let least = if least.is_empty() { 0 } else { bound(&least)? };
        let most = if most.is_empty() { None } else { Some(bound(&most)?) };
        if most.is_some_and(|most| most < least) {
            return Err(PatternError::at("min repeat greater than max repeat", after_brace));
        }
        Ok(Some((least, most)))
    }
}

fn any(flags: Flags) -> String {
    if flags.dot_all { "(?s:.)" } else { "." }.to_owned()
}

/// Translates `$`: before every newline in multi-line mode, otherwise only before the last one.
fn end_of_text(flags: Flags) -> Piece {
    if flags.multi_line {
        Piece::anchor("(?m:$)")
    } else {
        Piece { shape: Shape::End, ..Piece::anchor(r"(?=\n?\z)") }
    }
}

/// Lets a `$` at the end of the pattern consume the newline that it allows: without a look-ahead the fast engine can be
/// used. The empty group before it, which has the last number, marks the end of Python's match.
fn consume_trailing_newline(pieces: &mut [Piece]) {
    if let Some(last) = pieces.last_mut().filter(|last| last.shape == Shape::End) {
        last.text = r"()\n?\z".to_owned();
    }
}

fn repeat_last(pieces: &mut Vec<Piece>, quantifier: Quantifier, start: usize) -> Result<(), PatternError> {
    let item = match pieces.pop() {
        Some(item) if !matches!(item.shape, Shape::Anchor | Shape::End) => item,
        _ => return Err(PatternError::at("nothing to repeat", start)),
    };
    if item.repeated {
        return Err(PatternError::at("multiple repeat", start));
    }
    pieces.push(item.repeated(quantifier));
    Ok(())
}

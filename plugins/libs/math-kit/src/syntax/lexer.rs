//! The lexer: turns the text of an answer into tokens.

use crate::answer::{RelationSign, SetOperation};
use crate::expression::NamedNumber;
use crate::syntax::characters::{character_token, subscript, superscript, vulgar_fraction};
use crate::syntax::commands::{ArgumentKind, CommandMeaning, meaning, plain_name};
use crate::syntax::numeral::read_numeral;
use crate::syntax::token::{Fence, Numeral, ReadError, Token};
use crate::unit_table::is_abbreviation;
use dashu_ratio::RBig;

/// Words of up to three letters, which would otherwise be products of letters.
const SHORT_WORDS: &[&str] = &[
    "or", "and", "to", "not", "yes", "no", "odd", "the", "an", "all", "dne", "of", "is", "for", "if", "per",
    "sq", "cu", "day", "are",
];

/// Letters that a run has at least if it is a word and not a product.
const MIN_WORD_LETTERS: usize = 4;

/// Signs of several characters.
const COMPOUND: &[(&str, Token)] = &[
    ("**", Token::Caret),
    ("<=", Token::Relation(RelationSign::LessEqual)),
    (">=", Token::Relation(RelationSign::GreaterEqual)),
    ("!=", Token::Relation(RelationSign::Unequal)),
    ("==", Token::Relation(RelationSign::Equal)),
    ("+-", Token::PlusMinus(true)),
    ("+/-", Token::PlusMinus(true)),
];

/// Escaped characters.
const ESCAPES: &[(char, Token)] = &[
    ('{', Token::Open(Fence::Curly)),
    ('}', Token::Close(Fence::Curly)),
    ('%', Token::Percent),
    ('$', Token::Currency("dollar")),
    ('_', Token::Underscore),
];

/// Environments of matrices, and whether they are determinants.
const MATRICES: &[(&str, bool)] = &[
    ("pmatrix", false),
    ("bmatrix", false),
    ("Bmatrix", false),
    ("matrix", false),
    ("smallmatrix", false),
    ("array", false),
    ("vmatrix", true),
];

/// Splits an answer into tokens.
///
/// # Errors
/// Reports a sign or a command without a known meaning.
pub fn tokens(text: &str) -> Result<Vec<Token>, ReadError> {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::new(),
        groups: Vec::new(),
        brackets: 0,
        has_money: text.matches('$').count() == 1,
    };
    while lexer.at < text.len() {
        lexer.step().ok_or(ReadError::UnknownSign)?;
    }
    Ok(lexer.tokens)
}

/// State of the lexer.
struct Lexer<'text> {
    text: &'text str,
    /// Offset of the rest, in bytes.
    at: usize,
    tokens: Vec<Token>,
    /// For each open group of LaTeX: whether it holds words, and whether it gives no brackets.
    groups: Vec<(bool, bool)>,
    /// Number of open brackets in which commas separate members.
    brackets: usize,
    /// True if a dollar sign is money. Two of them enclose a formula.
    has_money: bool,
}

impl<'text> Lexer<'text> {
    fn rest(&self) -> &'text str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn is_in_words(&self) -> bool {
        self.groups.last().is_some_and(|(is_text, _)| *is_text)
    }

    /// Reads one token, or what gives none. `None` for an unknown sign.
    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let character = rest.chars().next()?;
        if character.is_whitespace() || character == '~' {
            self.at += character.len_utf8();
            return Some(());
        }
        if character.is_ascii_digit() || self.starts_decimal(rest) {
            let (numeral, length) = read_numeral(rest, self.brackets == 0)?;
            self.at += length;
            self.tokens.push(Token::Number(numeral));
            return Some(());
        }
        if character == '\\' {
            self.at += 1;
            return self.command();
        }
        if character.is_ascii_alphabetic() {
            return self.letters();
        }
        if let Some((sign, token)) = COMPOUND.iter().find(|(sign, _)| rest.starts_with(sign)) {
            self.at += sign.len();
            self.tokens.push(token.clone());
            return Some(());
        }
        self.at += character.len_utf8();
        self.character(character)
    }

    /// Returns whether a decimal point begins a number. After a digit it would end one.
    fn starts_decimal(&self, rest: &str) -> bool {
        let mut characters = rest.chars();
        characters.next() == Some('.')
            && characters.next().is_some_and(|next| next.is_ascii_digit())
            && !matches!(self.tokens.last(), Some(Token::Number(_)))
    }

    fn character(&mut self, character: char) -> Option<()> {
        match character {
            '{' => return self.open_group(self.is_in_words(), false),
            '}' => {
                let (_, is_silent) = self.groups.pop().unwrap_or((false, false));
                if !is_silent {
                    self.tokens.push(Token::Close(Fence::Group));
                }
                return Some(());
            }
            '$' => {
                if self.has_money {
                    self.tokens.push(Token::Currency("dollar"));
                }
                return Some(());
            }
            // A full stop after a word, as in `sq. in.`
            '.' | '\'' | '"' if self.is_in_words() || matches!(self.tokens.last(), Some(Token::Word(_))) => {
                return Some(());
            }
            _ => {}
        }
        if let Some((above, below)) = vulgar_fraction(character) {
            let value = RBig::from_parts(above.into(), below.into());
            self.tokens.push(Token::Number(Numeral { value, digits: None, is_vulgar_fraction: true }));
            return Some(());
        }
        if superscript(character).is_some() || subscript(character).is_some() {
            return self.raised(character);
        }
        let token = character_token(character)?;
        match token {
            Token::Open(Fence::Round | Fence::Square | Fence::Curly | Fence::Angle) => self.brackets += 1,
            Token::Close(Fence::Round | Fence::Square | Fence::Curly | Fence::Angle) => {
                self.brackets = self.brackets.saturating_sub(1);
            }
            _ => {}
        }
        self.tokens.push(token);
        Some(())
    }

    /// Reads superscripts or subscripts after the first one.
    fn raised(&mut self, first: char) -> Option<()> {
        let digit_of = if superscript(first).is_some() { superscript } else { subscript };
        let mut digits = String::from(digit_of(first)?);
        while let Some(next) = self.rest().chars().next()
            && let Some(digit) = digit_of(next)
        {
            digits.push(digit);
            self.at += next.len_utf8();
        }
        let sign = if superscript(first).is_some() { Token::Caret } else { Token::Underscore };
        self.tokens.extend([sign, Token::Open(Fence::Group)]);
        self.tokens.extend(tokens(&digits).ok()?);
        self.tokens.push(Token::Close(Fence::Group));
        Some(())
    }

    fn open_group(&mut self, is_text: bool, is_silent: bool) -> Option<()> {
        self.groups.push((is_text, is_silent));
        if !is_silent {
            self.tokens.push(Token::Open(Fence::Group));
        }
        Some(())
    }

    /// Reads a command, whose backslash has been passed.
    fn command(&mut self) -> Option<()> {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
        let name = rest.get(..end)?;
        if name.is_empty() {
            return self.escape(rest.chars().next()?);
        }
        self.at += end;
        match name {
            "begin" | "end" => return self.environment(name == "begin"),
            "mathbb" | "Bbb" => return self.named_set(),
            "left" | "bigl" | "Bigl" | "biggl" | "Biggl" => return self.sized(Token::Open(Fence::Bar)),
            "right" | "bigr" | "Bigr" | "biggr" | "Biggr" => return self.sized(Token::Close(Fence::Bar)),
            "middle" => return self.sized(Token::Mid),
            "overline" | "vec" | "bar" | "hat" | "widehat" | "overrightarrow" | "tilde" => {
                self.tokens.push(Token::NameSign("‾"));
                return Some(());
            }
            _ => {}
        }
        match meaning(name)? {
            CommandMeaning::Ignored => Some(()),
            CommandMeaning::Token(token) => {
                // Brackets that are commands enclose members too.
                match token {
                    Token::Open(Fence::Curly | Fence::Angle) => self.brackets += 1,
                    Token::Close(Fence::Curly | Fence::Angle) => {
                        self.brackets = self.brackets.saturating_sub(1)
                    }
                    _ => {}
                }
                self.tokens.push(token);
                Some(())
            }
            CommandMeaning::Argument(kind) => self.argument(kind),
        }
    }

    /// Reads what follows a backslash that begins no name.
    fn escape(&mut self, character: char) -> Option<()> {
        self.at += character.len_utf8();
        if character == '\\' {
            // A row may end with a distance to the next one.
            if let Some(after) = self.rest().strip_prefix('[')
                && let Some(end) = after.find(']')
                && end < 8
                && after.get(..end)?.ends_with(|last: char| last.is_ascii_alphabetic())
            {
                self.at += end + 2;
            }
            self.tokens.push(Token::RowBreak);
            return Some(());
        }
        if matches!(character, ',' | ';' | ':' | '!' | '>' | '(' | ')' | '[' | ']')
            || character.is_whitespace()
        {
            return Some(());
        }
        let (_, token) = ESCAPES.iter().find(|(found, _)| *found == character)?;
        match token {
            Token::Open(_) => self.brackets += 1,
            Token::Close(_) => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        self.tokens.push(token.clone());
        Some(())
    }

    /// Reads the bracket after a command for its size. A bar takes the meaning given; a full stop is no bracket.
    fn sized(&mut self, bar: Token) -> Option<()> {
        self.skip_spaces();
        match self.rest().chars().next()? {
            '|' => self.tokens.push(bar),
            '.' => {}
            '<' => self.tokens.push(Token::Open(Fence::Angle)),
            '>' => self.tokens.push(Token::Close(Fence::Angle)),
            _ => return Some(()),
        }
        self.at += 1;
        Some(())
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Returns the content of the group that follows, without passing it. Groups inside end the search.
    fn next_group(&mut self) -> Option<&'text str> {
        self.skip_spaces();
        let inside = self.rest().strip_prefix('{')?;
        let end =
            inside.find(['{', '}']).filter(|end| inside.get(*end..).is_some_and(|at| at.starts_with('}')))?;
        inside.get(..end)
    }

    fn environment(&mut self, is_begin: bool) -> Option<()> {
        let name = self.next_group()?;
        let (_, is_determinant) = MATRICES.iter().find(|(found, _)| *found == name)?;
        self.at += name.len() + 2;
        if is_begin && name == "array" {
            let columns = self.next_group()?;
            self.at += columns.len() + 2;
        }
        self.tokens.push(if is_begin { Token::BeginMatrix(*is_determinant) } else { Token::EndMatrix });
        Some(())
    }

    fn named_set(&mut self) -> Option<()> {
        self.skip_spaces();
        let rest = self.rest();
        let letter = rest.trim_start_matches(['{', ' ']).chars().next().filter(char::is_ascii_uppercase)?;
        let end = rest.find(letter)? + 1;
        let is_group = rest.starts_with('{');
        self.at += end;
        if is_group {
            self.skip_spaces();
            self.rest().strip_prefix('}')?;
            self.at += 1;
        }
        self.tokens.push(Token::NamedSet(letter));
        Some(())
    }

    /// Reads the beginning of the argument of a command for words or for a style.
    fn argument(&mut self, kind: ArgumentKind) -> Option<()> {
        self.skip_spaces();
        if kind == ArgumentKind::Style
            && let Some(name) = self.next_group()
        {
            let is_name = name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == ' ');
            if is_name && name.trim().len() > 1 {
                self.at += name.len() + 2;
                match plain_name(name.trim()) {
                    Some(token) => self.tokens.push(token),
                    None => {
                        self.tokens.extend(name.split_whitespace().map(|word| Token::Word(word.to_owned())))
                    }
                }
                return Some(());
            }
            let is_unit = name.trim_start().starts_with(|first: char| first.is_ascii_alphabetic())
                && name.contains(['/', '\\', '^']);
            if is_unit {
                self.at += 1;
                return self.open_group(true, true);
            }
        }
        if self.rest().starts_with('{') {
            self.at += 1;
            let is_text = kind == ArgumentKind::Text;
            return self.open_group(is_text, is_text);
        }
        Some(())
    }

    /// Reads a run of letters: a word, a name, or a product of letters.
    fn letters(&mut self) -> Option<()> {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
        let run = rest.get(..end)?;
        self.at += end;
        if self.is_in_words() {
            self.tokens.push(Token::Word(run.to_owned()));
            return Some(());
        }
        if run == "in" && matches!(self.tokens.last(), Some(Token::Letter(_))) {
            self.tokens.push(Token::Relation(RelationSign::In));
            return Some(());
        }
        if run == "U"
            && matches!(self.tokens.last(), Some(Token::Close(Fence::Round | Fence::Square | Fence::Curly)))
            && self.rest().trim_start().starts_with(['(', '[', '{', '\\'])
        {
            self.tokens.push(Token::Operation(SetOperation::Union));
            return Some(());
        }
        if let Some(token) = plain_name(run) {
            self.tokens.push(token);
            return Some(());
        }
        let is_after_number =
            matches!(self.tokens.last(), Some(Token::Number(_) | Token::Named(_) | Token::Close(_)));
        let is_word = end >= MIN_WORD_LETTERS || SHORT_WORDS.contains(&run.to_lowercase().as_str());
        if let Some(name) = run.get(..end.saturating_sub(1)).and_then(plain_name) {
            // A name with its argument, such as `sinx`.
            self.tokens.push(name);
            self.single_letters(run.get(end - 1..)?);
        } else if is_word || (is_after_number && is_abbreviation(run)) {
            self.tokens.push(Token::Word(run.to_owned()));
        } else {
            self.single_letters(run);
        }
        Some(())
    }

    fn single_letters(&mut self, run: &str) {
        self.tokens.extend(run.chars().map(|letter| match letter {
            'e' => Token::Named(NamedNumber::Euler),
            'i' => Token::Named(NamedNumber::Imaginary),
            _ => Token::Letter(letter.to_string()),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_letters() {
        let words = |text: &str| -> Vec<String> {
            let all = tokens(text).unwrap().into_iter();
            all.map(|token| match token {
                Token::Word(word) => format!("'{word}'"),
                Token::Letter(letter) => letter,
                Token::Number(numeral) => numeral.value.to_string(),
                other => format!("{other:?}"),
            })
            .collect()
        };
        assert_eq!(words("3xy"), ["3", "x", "y"]);
        assert_eq!(words("15 minutes."), ["15", "'minutes'"]);
        assert_eq!(words(r"5\text{ cm}"), ["5", "'cm'"]);
        assert_eq!(words("5 cm"), ["5", "'cm'"]);
        assert_eq!(words(r"\mathrm{odd}"), ["'odd'"]);
        assert_eq!(words(r"\mathbf{21}"), ["Open(Group)", "21", "Close(Group)"]);
        assert_eq!(words(r"\mathrm{m/s}"), ["'m'", "Slash", "'s'"]);
        assert_eq!(words("$45"), ["Currency(\"dollar\")", "45"]);
        assert_eq!(words("$45$"), ["45"]);
        assert_eq!(
            words("x₁²"),
            [
                "x",
                "Underscore",
                "Open(Group)",
                "1",
                "Close(Group)",
                "Caret",
                "Open(Group)",
                "2",
                "Close(Group)"
            ]
        );
    }

    #[test]
    fn unknown_signs_are_refused() {
        for text in ["0.333...", r"\sum x", "f'(x)", "x → 1", r"\begin{cases}x\end{cases}", "#"] {
            assert_eq!(tokens(text), Err(ReadError::UnknownSign), "{text}");
        }
    }
}

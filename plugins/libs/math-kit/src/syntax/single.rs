//! Single things: numbers, letters, fractions, roots, and what brackets enclose.

use crate::answer::Answer;
use crate::expression::{Expression, FunctionName, NamedNumber};
use crate::syntax::cursor::{Parser, Reading};
use crate::syntax::numeral::in_base;
use crate::syntax::token::{Fence, Numeral, ReadError, Token};
use dashu_ratio::RBig;

/// Maximum number of tokens in the digits of a number in a base.
const MAX_BASE_TOKENS: usize = 16;

/// Names of bases in words, from two on.
const BASE_NAMES: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen",
];

impl Parser {
    /// Reads something single, without the powers and signs after it.
    pub fn single(&mut self) -> Reading<Answer> {
        if let Some(number) = self.number_in_base()? {
            return Ok(Answer::Value(Expression::Number(number)));
        }
        let Some(token) = self.take() else { return Err(ReadError::Syntax) };
        let value = match token {
            Token::Number(numeral) => self.number(numeral)?,
            Token::Named(number) => self.named(number)?,
            Token::Letter(letter) => self.letter(letter)?,
            Token::NameSign(sign) => self.name(sign)?,
            Token::Fraction => {
                let above = self.argument()?;
                Expression::quotient(above, self.argument()?)
            }
            Token::BinomialSign => {
                let above = self.argument()?;
                Expression::Call(FunctionName::Binomial, vec![above, self.argument()?])
            }
            Token::RootSign(is_latex) => self.root(is_latex)?,
            Token::IndexedRoot(index) => {
                let of = self.plain_argument()?;
                Expression::Call(FunctionName::Root, vec![of, Expression::whole(index.into())])
            }
            Token::Function(name) => self.function(name)?,
            Token::Log => self.logarithm()?,
            Token::Bar => self.between_bars()?,
            Token::Open(fence) => return self.brackets(fence),
            Token::BeginMatrix(is_determinant) => return self.matrix(is_determinant),
            Token::NamedSet(letter) => return Ok(Answer::NamedSet(letter)),
            Token::Empty => return Ok(Answer::Empty),
            // A reversed bracket encloses an open interval: ]0, 1[.
            Token::Close(Fence::Square) => return self.reversed_interval(),
            _ => return Err(ReadError::Syntax),
        };
        Ok(Answer::Value(value))
    }

    /// Reads what follows a number that belongs to it: the fraction of a mixed number.
    fn number(&mut self, numeral: Numeral) -> Reading<Expression> {
        let whole = numeral.value;
        if numeral.digits.is_none() {
            return Ok(Expression::Number(whole));
        }
        let fraction = match self.peek() {
            Some(Token::Number(next)) if next.is_vulgar_fraction => {
                let fraction = next.value.clone();
                self.skip(1);
                Some(fraction)
            }
            Some(Token::Fraction) => self.proper_fraction(),
            Some(Token::Number(_)) => self.plain_fraction(),
            _ => None,
        };
        Ok(Expression::Number(match fraction {
            Some(fraction) => whole + fraction,
            None => whole,
        }))
    }

    /// Reads a fraction of two plain numbers that is less than one, as in `2\frac{3}{4}`. Otherwise reads nothing.
    fn proper_fraction(&mut self) -> Option<RBig> {
        let (above, below, length) = match self.peek_at(1) {
            Some(Token::Number(Numeral { digits: Some(digits), .. })) if digits.len() == 2 => {
                let (above, below) = digits.split_at(1);
                (in_base(above, 10)?, in_base(below, 10)?, 2)
            }
            _ => {
                let (above, length) = self.plain_number_at(1)?;
                let (below, end) = self.plain_number_at(1 + length)?;
                (above, below, 1 + length + end)
            }
        };
        // A power would belong to the fraction alone.
        if above <= RBig::ZERO || above >= below || self.peek_at(length) == Some(&Token::Caret) {
            return None;
        }
        self.skip(length);
        Some(above / below)
    }

    /// Returns the integer at an offset, a single digit or a group, and its number of tokens.
    fn plain_number_at(&self, offset: usize) -> Option<(RBig, usize)> {
        match (self.peek_at(offset)?, self.peek_at(offset + 1)?, self.peek_at(offset + 2)) {
            (Token::Open(Fence::Group), Token::Number(numeral), Some(Token::Close(Fence::Group))) => {
                numeral.digits.as_ref().map(|_| (numeral.value.clone(), 3))
            }
            (Token::Number(Numeral { value, digits: Some(digits), .. }), ..) if digits.len() == 1 => {
                Some((value.clone(), 1))
            }
            _ => None,
        }
    }

    /// Reads a fraction with a slash that is less than one, as in `1 1/2`. Otherwise reads nothing.
    fn plain_fraction(&mut self) -> Option<RBig> {
        let (Some(Token::Number(above)), Some(Token::Slash), Some(Token::Number(below))) =
            (self.peek(), self.peek_at(1), self.peek_at(2))
        else {
            return None;
        };
        let is_plain = above.digits.is_some() && below.digits.is_some();
        if !is_plain || above.value <= RBig::ZERO || above.value >= below.value {
            return None;
        }
        let fraction = &above.value / &below.value;
        self.skip(3);
        Some(fraction)
    }

    fn named(&mut self, number: NamedNumber) -> Reading<Expression> {
        let letter = match number {
            NamedNumber::Euler => "e",
            NamedNumber::Imaginary => "i",
            NamedNumber::Pi | NamedNumber::Infinity => return Ok(Expression::Named(number)),
        };
        // With an index it is an ordinary letter.
        if self.peek() == Some(&Token::Underscore) {
            return self.letter(letter.to_owned());
        }
        Ok(Expression::Named(number))
    }

    /// Reads the index of a letter.
    fn letter(&mut self, mut letter: String) -> Reading<Expression> {
        if self.accept(&Token::Underscore) {
            letter.push('_');
            letter.push_str(&self.index()?);
        }
        Ok(Expression::Letter(letter))
    }

    /// Reads an index: a number, a letter, a word, or several of these in braces.
    fn index(&mut self) -> Reading<String> {
        let is_group = self.accept(&Token::Open(Fence::Group));
        let mut index = String::new();
        while let Some(token) = self.take() {
            match token {
                Token::Number(numeral) => index.push_str(&numeral.digits.ok_or(ReadError::Syntax)?),
                Token::Letter(letter) | Token::Word(letter) => index.push_str(&letter),
                Token::Named(NamedNumber::Imaginary) => index.push('i'),
                Token::Named(NamedNumber::Euler) => index.push('e'),
                Token::Comma if is_group => index.push(','),
                Token::Plus if is_group => index.push('+'),
                Token::Minus if is_group => index.push('-'),
                Token::Close(Fence::Group) if is_group => return Ok(index),
                _ => return Err(ReadError::Syntax),
            }
            if !is_group {
                return Ok(index);
            }
        }
        Err(ReadError::Syntax)
    }

    /// Reads letters that are one name after a sign such as `∠`.
    fn name(&mut self, sign: &str) -> Reading<Expression> {
        let mut name = sign.to_owned();
        let is_group = self.accept(&Token::Open(Fence::Group));
        while let Some(Token::Letter(letter) | Token::Word(letter)) = self.peek() {
            name.push_str(letter);
            self.skip(1);
        }
        if is_group {
            self.expect(&Token::Close(Fence::Group))?;
        }
        if name == sign { Err(ReadError::Syntax) } else { Ok(Expression::Letter(name)) }
    }

    /// Reads an argument as LaTeX does: a group, or a single digit, letter or command.
    pub fn argument(&mut self) -> Reading<Expression> {
        if let Some(Token::Number(numeral)) = self.peek()
            && let Some(digits) = numeral.digits.as_deref()
            && digits.len() > 1
        {
            let (first, others) = digits.split_at(1);
            let first: i64 = first.parse().map_err(|_| ReadError::Syntax)?;
            let value = in_base(others, 10).ok_or(ReadError::Syntax)?;
            let digits = Some(others.to_owned());
            self.replace(Token::Number(Numeral { value, digits, is_vulgar_fraction: false }));
            return Ok(Expression::whole(first));
        }
        let argument = match self.peek() {
            Some(Token::Number(_)) => match self.take() {
                Some(Token::Number(numeral)) => Answer::Value(Expression::Number(numeral.value)),
                _ => return Err(ReadError::Syntax),
            },
            _ => self.deeper(Parser::single)?,
        };
        argument.into_value().ok_or(ReadError::Syntax)
    }

    /// Reads an argument as plain text writes it: a whole number, a letter, or brackets.
    fn plain_argument(&mut self) -> Reading<Expression> {
        match self.peek() {
            Some(Token::Number(_)) => match self.take() {
                Some(Token::Number(numeral)) => Ok(Expression::Number(numeral.value)),
                _ => Err(ReadError::Syntax),
            },
            _ => self.deeper(Parser::single)?.into_value().ok_or(ReadError::Syntax),
        }
    }

    /// Reads the index and the argument of a root sign.
    fn root(&mut self, is_latex: bool) -> Reading<Expression> {
        if !is_latex {
            let of = self.plain_argument()?;
            return Ok(Expression::Call(FunctionName::Root, vec![of, Expression::whole(2)]));
        }
        let mut index = Expression::whole(2);
        if self.accept(&Token::Open(Fence::Square)) {
            let (inside, _) = self.enclosed(&[Fence::Square], Parser::sum)?;
            index = inside.into_value().ok_or(ReadError::Syntax)?;
        }
        let of = self.argument()?;
        Ok(Expression::Call(FunctionName::Root, vec![of, index]))
    }

    /// Reads a number whose base follows it, such as `101_2`, `(101)_2` and `7A_{16}`. `None` for anything else.
    fn number_in_base(&mut self) -> Reading<Option<RBig>> {
        let has_brackets = self.peek() == Some(&Token::Open(Fence::Round));
        let mut offset = usize::from(has_brackets);
        if !matches!(self.peek_at(offset), Some(Token::Number(_))) {
            return Ok(None);
        }
        let mut digits = String::new();
        while let Some(token) = self.peek_at(offset) {
            match token {
                Token::Number(Numeral { digits: Some(more), .. }) => digits.push_str(more),
                Token::Letter(more) | Token::Word(more)
                    if more.chars().all(|one| one.is_ascii_uppercase()) =>
                {
                    digits.push_str(more);
                }
                _ => break,
            }
            offset += 1;
            if offset > MAX_BASE_TOKENS {
                return Ok(None);
            }
        }
        if has_brackets {
            if self.peek_at(offset) != Some(&Token::Close(Fence::Round)) {
                return Ok(None);
            }
            offset += 1;
        }
        if self.peek_at(offset) != Some(&Token::Underscore) {
            return Ok(None);
        }
        self.skip(offset + 1);
        let base = self.base()?;
        in_base(&digits, base).map(Some).ok_or(ReadError::Syntax)
    }

    /// Reads a base in digits or in words, with or without brackets.
    fn base(&mut self) -> Reading<u32> {
        let mut closing = Vec::new();
        while let Some(Token::Open(fence @ (Fence::Group | Fence::Round))) = self.peek() {
            closing.push(*fence);
            self.skip(1);
        }
        let base = match self.take() {
            Some(Token::Number(numeral)) => numeral.digits.and_then(|digits| digits.parse().ok()),
            Some(Token::Word(word)) => {
                let word = word.to_lowercase();
                let at = BASE_NAMES.iter().position(|name| *name == word);
                at.and_then(|at| u32::try_from(at + 2).ok())
            }
            _ => None,
        };
        while let Some(fence) = closing.pop() {
            self.expect(&Token::Close(fence))?;
        }
        base.ok_or(ReadError::Syntax)
    }
}

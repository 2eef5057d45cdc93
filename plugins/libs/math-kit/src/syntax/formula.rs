//! Sums, products and powers.

use crate::answer::Answer;
use crate::expression::{Expression, FunctionName, NamedNumber};
use crate::limits::MAX_DEPTH;
use crate::syntax::cursor::{Parser, Reading};
use crate::syntax::matrix;
use crate::syntax::token::{Fence, ReadError, Token};

impl Parser {
    /// Reads a sum, or a single structure.
    pub fn sum(&mut self) -> Reading<Answer> {
        let mut terms = vec![self.term()?];
        loop {
            match self.peek() {
                Some(Token::Plus) => {
                    self.skip(1);
                    terms.push(self.term()?);
                }
                // A minus after a set is their difference.
                Some(Token::Minus) if !matches!(terms.as_slice(), [Answer::NamedSet(_) | Answer::Set(_)]) => {
                    self.skip(1);
                    terms.push(matrix::negative(self.term()?)?);
                }
                Some(Token::PlusMinus(plus_first)) => {
                    let plus_first = *plus_first;
                    self.skip(1);
                    let term = self.term()?.into_value().ok_or(ReadError::Syntax)?;
                    terms.push(Answer::Value(Expression::PlusMinus(Box::new(term), plus_first)));
                }
                _ => break,
            }
        }
        matrix::sum(terms)
    }

    /// Reads a product with its sign.
    fn term(&mut self) -> Reading<Answer> {
        match self.peek() {
            Some(Token::Plus) => {
                self.skip(1);
                self.deeper(Parser::term)
            }
            Some(Token::Minus) => {
                self.skip(1);
                matrix::negative(self.deeper(Parser::term)?)
            }
            Some(Token::PlusMinus(plus_first)) => {
                let plus_first = *plus_first;
                self.skip(1);
                let term = self.deeper(Parser::term)?.into_value().ok_or(ReadError::Syntax)?;
                Ok(Answer::Value(Expression::PlusMinus(Box::new(term), plus_first)))
            }
            _ => self.product(),
        }
    }

    /// Reads factors, with or without signs of multiplication. A factor after a divisor without a sign may belong to it or
    /// not: `1/2x` and `1/2/3` have no agreed meaning, and are refused.
    fn product(&mut self) -> Reading<Answer> {
        let mut factors = vec![self.factor()?];
        let mut is_divided = false;
        loop {
            match self.peek() {
                Some(Token::Times) => {
                    self.skip(1);
                    is_divided = false;
                    factors.push(self.signed_factor()?);
                }
                Some(Token::Slash) if self.divides_units() => return matrix::product(factors),
                Some(Token::Slash) if !is_divided => {
                    self.skip(1);
                    is_divided = true;
                    let below = self.signed_factor()?.into_value().ok_or(ReadError::Syntax)?;
                    let last = factors.pop().ok_or(ReadError::Syntax)?;
                    // A product of numbers and quotients is the same in any order of its factors.
                    factors.push(matrix::quotient(last, below)?);
                }
                _ if is_divided && (self.peek() == Some(&Token::Slash) || self.starts_factor()) => {
                    return Err(ReadError::Syntax);
                }
                _ if self.starts_factor() => factors.push(self.factor()?),
                _ => return matrix::product(factors),
            }
        }
    }

    fn divides_units(&self) -> bool {
        matches!(self.peek_at(1), Some(Token::Word(_)))
    }

    /// Reads a factor after a sign of multiplication, where a sign may come first.
    fn signed_factor(&mut self) -> Reading<Answer> {
        match self.peek() {
            Some(Token::Minus) => {
                self.skip(1);
                matrix::negative(self.deeper(Parser::signed_factor)?)
            }
            Some(Token::Plus) => {
                self.skip(1);
                self.deeper(Parser::signed_factor)
            }
            _ => self.factor(),
        }
    }

    /// Returns whether the next token begins a factor without a sign of multiplication before it.
    pub fn starts_factor(&self) -> bool {
        match self.peek() {
            // Two numbers side by side are not a product.
            Some(Token::Number(_)) => !matches!(self.previous(), Some(Token::Number(_) | Token::Exclamation)),
            Some(Token::Bar) => self.open_bars == 0,
            Some(Token::Open(_)) => true,
            // The scale of a temperature.
            Some(Token::Letter(letter)) if matches!(letter.as_str(), "C" | "F") => !self.follows_degree(),
            Some(
                Token::Named(_)
                | Token::Letter(_)
                | Token::NameSign(_)
                | Token::Function(_)
                | Token::Log
                | Token::Fraction
                | Token::BinomialSign
                | Token::RootSign(_)
                | Token::IndexedRoot(_)
                | Token::BeginMatrix(_),
            ) => true,
            _ => false,
        }
    }

    /// Reads a factor: something single, with the powers and signs after it.
    pub fn factor(&mut self) -> Reading<Answer> {
        let mut base = self.deeper(Parser::single)?;
        let mut signs = 0;
        loop {
            match self.peek() {
                Some(Token::Caret) => {
                    self.skip(1);
                    base = self.raise(base)?;
                }
                Some(Token::Exclamation) => {
                    self.skip(1);
                    // A double factorial is another function.
                    if self.peek() == Some(&Token::Exclamation) {
                        return Err(ReadError::UnknownSign);
                    }
                    base = of_value(base, |value| Expression::Call(FunctionName::Factorial, vec![value]))?;
                }
                Some(Token::Percent) => {
                    self.skip(1);
                    base = of_value(base, |value| Expression::quotient(value, Expression::whole(100)))?;
                }
                Some(Token::Degree) => {
                    self.skip(1);
                    base = of_value(base, |value| Expression::Degrees(Box::new(value)))?;
                }
                _ => return Ok(base),
            }
            signs += 1;
            if signs > MAX_DEPTH {
                return Err(ReadError::TooLarge);
            }
        }
    }

    /// Reads the exponent of a base.
    fn raise(&mut self, base: Answer) -> Reading<Answer> {
        if self.accept(&Token::Degree) {
            return of_value(base, |value| Expression::Degrees(Box::new(value)));
        }
        if self.peek() == Some(&Token::Open(Fence::Group)) && self.peek_at(1) == Some(&Token::Degree) {
            self.skip(2);
            self.expect(&Token::Close(Fence::Group))?;
            return of_value(base, |value| Expression::Degrees(Box::new(value)));
        }
        let exponent = self.exponent()?;
        match base {
            Answer::Matrix(rows) => match &exponent {
                Expression::Letter(letter) if letter == "T" => Ok(Answer::Matrix(matrix::transpose(&rows))),
                _ => Err(ReadError::Syntax),
            },
            Answer::Value(base) => Ok(Answer::Value(match base {
                Expression::Named(NamedNumber::Euler) => {
                    Expression::Call(FunctionName::Exponential, vec![exponent])
                }
                base => Expression::power(base, exponent),
            })),
            _ => Err(ReadError::Syntax),
        }
    }

    /// Reads an exponent, which may have a sign and an exponent of its own.
    pub fn exponent(&mut self) -> Reading<Expression> {
        let exponent = match self.peek() {
            Some(Token::Minus) => {
                self.skip(1);
                return Ok(Expression::negative(self.deeper(Parser::exponent)?));
            }
            Some(Token::Plus) => {
                self.skip(1);
                return self.deeper(Parser::exponent);
            }
            _ => self.deeper(Parser::single)?,
        };
        let exponent = if self.peek() == Some(&Token::Caret) {
            self.skip(1);
            self.deeper(|parser| parser.raise(exponent))?
        } else {
            exponent
        };
        exponent.into_value().ok_or(ReadError::Syntax)
    }
}

/// Applies a function to an answer that is a value.
fn of_value(answer: Answer, change: impl FnOnce(Expression) -> Expression) -> Reading<Answer> {
    Ok(Answer::Value(change(answer.into_value().ok_or(ReadError::Syntax)?)))
}

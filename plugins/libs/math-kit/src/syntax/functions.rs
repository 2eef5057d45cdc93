//! Functions with their arguments, with and without brackets.

use crate::answer::Answer;
use crate::expression::{Expression, FunctionName};
use crate::syntax::cursor::{Parser, Reading};
use crate::syntax::token::{Fence, ReadError, Token};

/// Maximum number of arguments of a function.
const MAX_ARGUMENTS: usize = 20;

impl Parser {
    /// Reads the power and the arguments of a function whose name has been passed.
    pub fn function(&mut self, name: FunctionName) -> Reading<Expression> {
        let power = if self.accept(&Token::Caret) { Some(self.exponent()?) } else { None };
        let arguments = match name {
            FunctionName::Maximum
            | FunctionName::Minimum
            | FunctionName::Divisor
            | FunctionName::Multiple => self.arguments()?,
            _ => vec![self.function_argument()?],
        };
        let Some(power) = power else { return Ok(Expression::Call(name, arguments)) };
        if power == Expression::whole(-1) {
            // sin⁻¹ is the inverse function, and not the reciprocal.
            return match inverse(name) {
                Some(inverse) => Ok(Expression::Call(inverse, arguments)),
                None => Err(ReadError::UnknownSign),
            };
        }
        Ok(Expression::power(Expression::Call(name, arguments), power))
    }

    /// Reads the base and the argument of `\log`, which has base 10 if none is written.
    pub fn logarithm(&mut self) -> Reading<Expression> {
        let base =
            if self.accept(&Token::Underscore) { self.argument_or_number()? } else { Expression::whole(10) };
        let power = if self.accept(&Token::Caret) { Some(self.exponent()?) } else { None };
        let argument = self.function_argument()?;
        let logarithm = Expression::Call(FunctionName::Logarithm, vec![argument, base]);
        Ok(match power {
            Some(power) => Expression::power(logarithm, power),
            None => logarithm,
        })
    }

    /// Reads the base of a logarithm: a group or something single. A number that an argument follows is read whole.
    fn argument_or_number(&mut self) -> Reading<Expression> {
        let is_followed = matches!(
            self.peek_at(1),
            Some(Token::Open(_) | Token::Number(_) | Token::Letter(_) | Token::Fraction | Token::RootSign(_))
        );
        match self.peek() {
            Some(Token::Number(numeral)) if is_followed => {
                let base = Expression::Number(numeral.value.clone());
                self.skip(1);
                Ok(base)
            }
            _ => self.argument(),
        }
    }

    /// Reads an argument: what brackets enclose, or the factors up to a sign, another function or brackets.
    fn function_argument(&mut self) -> Reading<Expression> {
        if let Some(Token::Open(Fence::Round | Fence::Square | Fence::Group)) = self.peek() {
            return self.deeper(Parser::single)?.into_value().ok_or(ReadError::Syntax);
        }
        if self.peek() == Some(&Token::Minus) {
            self.skip(1);
            return Ok(Expression::negative(self.deeper(Parser::function_argument)?));
        }
        let mut factors = vec![self.deeper(Parser::factor)?];
        loop {
            let is_coefficient = matches!(factors.as_slice(), [Answer::Value(Expression::Number(_))]);
            let goes_on = match self.peek() {
                Some(Token::Function(_) | Token::Log | Token::Bar) => false,
                Some(Token::Open(Fence::Group)) => true,
                Some(Token::Open(_)) => is_coefficient,
                _ => self.starts_factor(),
            };
            if !goes_on {
                break;
            }
            factors.push(self.deeper(Parser::factor)?);
        }
        let factors: Option<Vec<Expression>> = factors.into_iter().map(Answer::into_value).collect();
        let mut factors = factors.ok_or(ReadError::Syntax)?;
        match factors.len() {
            1 => factors.pop().ok_or(ReadError::Syntax),
            _ => Ok(Expression::Product(factors)),
        }
    }

    /// Reads arguments between round brackets.
    fn arguments(&mut self) -> Reading<Vec<Expression>> {
        let (Some(Token::Open(fence @ (Fence::Round | Fence::Curly))), _) = (self.take(), ()) else {
            return Err(ReadError::Syntax);
        };
        let ((members, _), _) = self.enclosed(&[fence], Parser::members)?;
        if members.len() > MAX_ARGUMENTS {
            return Err(ReadError::TooLarge);
        }
        members.into_iter().map(|member| member.into_value().ok_or(ReadError::Syntax)).collect()
    }

    /// Reads up to the bar that closes an absolute value, whose first bar has been passed.
    pub fn between_bars(&mut self) -> Reading<Expression> {
        self.open_bars += 1;
        let inside = self.deeper(Parser::sum);
        self.open_bars = self.open_bars.saturating_sub(1);
        let inside = inside?;
        self.expect(&Token::Bar)?;
        absolute(inside)
    }
}

/// Returns the absolute value of a number, or the determinant of a matrix.
pub fn absolute(inside: Answer) -> Reading<Expression> {
    match inside {
        Answer::Value(value) => Ok(Expression::Call(FunctionName::Absolute, vec![value])),
        Answer::Matrix(rows) => crate::syntax::matrix::determinant(&rows),
        _ => Err(ReadError::Syntax),
    }
}

fn inverse(name: FunctionName) -> Option<FunctionName> {
    match name {
        FunctionName::Sine => Some(FunctionName::Arcsine),
        FunctionName::Cosine => Some(FunctionName::Arccosine),
        FunctionName::Tangent => Some(FunctionName::Arctangent),
        _ => None,
    }
}

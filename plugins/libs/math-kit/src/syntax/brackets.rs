//! Brackets: terms, tuples, intervals, sets, absolute values, matrices.

use crate::answer::{Answer, Bracket, RelationSign};
use crate::expression::{Expression, FunctionName};
use crate::limits::MAX_MEMBERS;
use crate::syntax::cursor::{Parser, Reading};
use crate::syntax::functions::absolute;
use crate::syntax::matrix::{Rows, determinant};
use crate::syntax::token::{Fence, ReadError, Token};

impl Parser {
    /// Reads what a bracket encloses that has been passed.
    pub fn brackets(&mut self, fence: Fence) -> Reading<Answer> {
        match fence {
            Fence::Group => self.group(),
            Fence::Curly => self.set(),
            Fence::Round | Fence::Square => self.tuple(fence),
            Fence::Angle => {
                let ((members, _), _) = self.enclosed(&[Fence::Angle], Parser::members)?;
                Ok(Answer::Tuple(Bracket::Angle, members, Bracket::Angle))
            }
            Fence::Bar => {
                let (inside, _) = self.enclosed(&[Fence::Bar], Parser::sum)?;
                Ok(Answer::Value(absolute(inside)?))
            }
            Fence::Floor => self.rounding(fence, FunctionName::Floor),
            Fence::Ceiling => self.rounding(fence, FunctionName::Ceiling),
        }
    }

    fn rounding(&mut self, fence: Fence, name: FunctionName) -> Reading<Answer> {
        let (inside, _) = self.enclosed(&[fence], Parser::sum)?;
        let value = inside.into_value().ok_or(ReadError::Syntax)?;
        Ok(Answer::Value(Expression::Call(name, vec![value])))
    }

    /// Reads a group of LaTeX. Several members are a set whose braces lack their backslash.
    fn group(&mut self) -> Reading<Answer> {
        let (inside, _) = self.enclosed(&[Fence::Group], |parser| {
            if parser.peek() == Some(&Token::Close(Fence::Group)) {
                return Ok(Answer::Empty);
            }
            let inside = parser.list()?;
            let above = |answer: Answer| answer.into_value().ok_or(ReadError::Syntax);
            if parser.accept(&Token::Choose) {
                let below = above(parser.list()?)?;
                return Ok(Answer::Value(Expression::Call(
                    FunctionName::Binomial,
                    vec![above(inside)?, below],
                )));
            }
            if parser.accept(&Token::Over) {
                let below = above(parser.list()?)?;
                return Ok(Answer::Value(Expression::quotient(above(inside)?, below)));
            }
            Ok(inside)
        })?;
        Ok(match inside {
            Answer::List(members, _) => Answer::Set(members),
            inside => inside,
        })
    }

    /// Reads members in round or square brackets. A single value is a term in brackets.
    fn tuple(&mut self, fence: Fence) -> Reading<Answer> {
        let ((mut members, _), closing) = self.enclosed(&[Fence::Round, Fence::Square], Parser::members)?;
        if members.len() == 1 && fence == closing {
            return match members.pop() {
                Some(inside @ (Answer::Value(_) | Answer::Matrix(_))) => Ok(inside),
                Some(inside) if fence == Fence::Round => Ok(inside),
                _ => Err(ReadError::Syntax),
            };
        }
        Ok(Answer::Tuple(bracket(fence), members, bracket(closing)))
    }

    /// Reads an interval whose first bracket is reversed and has been passed.
    pub fn reversed_interval(&mut self) -> Reading<Answer> {
        let bars = std::mem::take(&mut self.open_bars);
        let (members, _) = self.deeper(Parser::members)?;
        self.open_bars = bars;
        let end = match self.take() {
            Some(Token::Open(Fence::Square)) => Bracket::Round,
            Some(Token::Close(Fence::Square)) => Bracket::Square,
            _ => return Err(ReadError::Syntax),
        };
        Ok(Answer::Tuple(Bracket::Round, members, end))
    }

    /// Reads a set: its members, or a letter with the condition on it.
    fn set(&mut self) -> Reading<Answer> {
        let had_ratios = std::mem::replace(&mut self.has_ratios, false);
        let inside = self.enclosed(&[Fence::Curly], |parser| {
            if parser.peek() == Some(&Token::Close(Fence::Curly)) {
                return Ok(Answer::Empty);
            }
            if parser.skip_set_letter() {
                return parser.list();
            }
            Ok(Answer::Set(parser.members()?.0))
        });
        self.has_ratios = had_ratios;
        Ok(inside?.0)
    }

    /// Passes the letter of a set and the bar after it, as in `{x | x > 1}`. Otherwise passes nothing.
    fn skip_set_letter(&mut self) -> bool {
        let mut length = 1;
        if !matches!(self.peek(), Some(Token::Letter(_))) {
            return false;
        }
        if self.peek_at(1) == Some(&Token::Relation(RelationSign::In))
            && self.peek_at(2) == Some(&Token::NamedSet('R'))
        {
            length += 2;
        }
        let is_condition = matches!(self.peek_at(length), Some(Token::Bar | Token::Mid | Token::Colon));
        if is_condition {
            self.skip(length + 1);
        }
        is_condition
    }

    /// Reads the rows of a matrix up to its end.
    pub fn matrix(&mut self, is_determinant: bool) -> Reading<Answer> {
        let rows = self.deeper(Parser::rows)?;
        if is_determinant { Ok(Answer::Value(determinant(&rows)?)) } else { Ok(Answer::Matrix(rows)) }
    }

    fn rows(&mut self) -> Reading<Rows> {
        let mut rows: Rows = Vec::new();
        let mut row = Vec::new();
        loop {
            if self.accept(&Token::EndMatrix) {
                break;
            }
            row.push(self.sum()?.into_value().ok_or(ReadError::Syntax)?);
            if row.len() > MAX_MEMBERS || rows.len() > MAX_MEMBERS {
                return Err(ReadError::TooLarge);
            }
            match self.take() {
                Some(Token::Ampersand) => {}
                Some(Token::RowBreak) => rows.push(std::mem::take(&mut row)),
                Some(Token::EndMatrix) => break,
                _ => return Err(ReadError::Syntax),
            }
        }
        if !row.is_empty() {
            rows.push(row);
        }
        let width = rows.first().map_or(0, Vec::len);
        let is_even = width > 0 && rows.iter().all(|row| row.len() == width);
        if is_even { Ok(rows) } else { Err(ReadError::Syntax) }
    }
}

fn bracket(fence: Fence) -> Bracket {
    if fence == Fence::Square { Bracket::Square } else { Bracket::Round }
}

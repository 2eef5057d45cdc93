//! Whole answers: lists, relations, operations on sets, ratios.

use crate::answer::{Answer, Connective, RelationSign, SetOperation};
use crate::expression::Expression;
use crate::limits::{MAX_DEPTH, MAX_MEMBERS};
use crate::syntax::cursor::{Parser, Reading};
use crate::syntax::token::{ReadError, Token};

/// Words that mean "or".
const OR: &[&str] = &["or"];
/// Words that mean "and".
const AND: &[&str] = &["and"];

impl Parser {
    /// Reads all tokens as one answer.
    ///
    /// # Errors
    /// Reports tokens in an order that has no meaning, and answers that are too large.
    pub fn read_all(mut self) -> Reading<Answer> {
        if self.peek().is_none() {
            return Err(ReadError::Blank);
        }
        let answer = self.list()?;
        if self.peek().is_some() { Err(ReadError::Syntax) } else { Ok(answer) }
    }

    /// Reads members between commas, semicolons, `and`, `or`. A single member is not a list.
    pub fn list(&mut self) -> Reading<Answer> {
        let (mut members, connective) = self.members()?;
        match (members.len(), members.pop()) {
            (1, Some(single)) => Ok(single),
            (_, Some(last)) => {
                members.push(last);
                Ok(Answer::List(members, connective))
            }
            (_, None) => Err(ReadError::Syntax),
        }
    }

    /// Reads members and what separates them.
    pub fn members(&mut self) -> Reading<(Vec<Answer>, Connective)> {
        let mut members = vec![self.member()?];
        let mut connective = None;
        loop {
            let comma = self.accept(&Token::Comma) || self.accept(&Token::Semicolon);
            let word = if self.accept_word(OR) {
                Some(Connective::Or)
            } else if self.accept_word(AND) {
                Some(Connective::And)
            } else {
                None
            };
            let found = match (comma, word) {
                (true, _) => Connective::Comma,
                (false, Some(word)) => word,
                (false, None) => break,
            };
            connective = match connective {
                None => Some(found),
                Some(same) if same == found => Some(same),
                Some(_) => Some(Connective::Comma),
            };
            if members.len() >= MAX_MEMBERS {
                return Err(ReadError::TooLarge);
            }
            members.push(self.member()?);
        }
        Ok((members, connective.unwrap_or(Connective::Comma)))
    }

    /// Reads a member of a list: a label with its value, or a chain of relations.
    fn member(&mut self) -> Reading<Answer> {
        if self.skip_label() {
            return Ok(Answer::Labelled(Box::new(self.relation()?)));
        }
        self.relation()
    }

    /// Passes words that end with an equals sign, or returns false.
    fn skip_label(&mut self) -> bool {
        let words = (0..).take_while(|offset| matches!(self.peek_at(*offset), Some(Token::Word(_)))).count();
        let is_label = words > 0 && self.peek_at(words) == Some(&Token::Relation(RelationSign::Equal));
        if is_label {
            self.skip(words + 1);
        }
        is_label
    }

    fn relation(&mut self) -> Reading<Answer> {
        let first = self.sets()?;
        let mut further = Vec::new();
        while let Some(Token::Relation(sign)) = self.peek() {
            let sign = *sign;
            self.skip(1);
            if further.len() >= MAX_DEPTH {
                return Err(ReadError::TooLarge);
            }
            further.push((sign, self.sets()?));
        }
        if further.is_empty() { Ok(first) } else { Ok(Answer::Relation(Box::new(first), further)) }
    }

    fn sets(&mut self) -> Reading<Answer> {
        let mut left = self.ratio()?;
        let mut count = 0;
        loop {
            let operation = match self.peek() {
                Some(Token::Operation(operation)) => *operation,
                // A minus sign between sets is their difference.
                Some(Token::Minus) if is_set(&left) => SetOperation::Difference,
                _ => return Ok(left),
            };
            self.skip(1);
            count += 1;
            if count > MAX_DEPTH {
                return Err(ReadError::TooLarge);
            }
            let right = self.ratio()?;
            left = Answer::Operation(operation, Box::new(left), Box::new(right));
        }
    }

    fn ratio(&mut self) -> Reading<Answer> {
        let first = self.quantity()?;
        let mut terms: Vec<Expression> = Vec::new();
        while self.has_ratios && (self.accept(&Token::Colon) || self.accept_word(&["to"])) {
            if terms.len() >= MAX_MEMBERS {
                return Err(ReadError::TooLarge);
            }
            terms.push(self.quantity()?.into_value().ok_or(ReadError::Syntax)?);
        }
        if terms.is_empty() {
            return Ok(first);
        }
        terms.insert(0, first.into_value().ok_or(ReadError::Syntax)?);
        Ok(Answer::Ratio(terms))
    }
}

fn is_set(answer: &Answer) -> bool {
    matches!(answer, Answer::NamedSet(_) | Answer::Set(_) | Answer::Operation(..))
}

//! Numbers with a unit, and text.

use crate::answer::Answer;
use crate::expression::Expression;
use crate::syntax::cursor::{Parser, Reading};
use crate::syntax::token::{Fence, ReadError, Token};
use crate::unit::Unit;
use dashu_ratio::RBig;

/// Words in a unit that say nothing about it.
const FILLERS: &[&str] = &["of", "the", "an", "a", "in", "total", "about"];

/// Words that change the meaning of a number, and so are no units.
const CONDITIONS: &[&str] = &[
    "at",
    "least",
    "most",
    "not",
    "than",
    "less",
    "fewer",
    "more",
    "approximately",
    "approx",
    "roughly",
    "if",
    "when",
    "where",
    "for",
    "with",
    "mod",
    "modulo",
    "remainder",
    "is",
    "are",
    "but",
    "except",
    "only",
    "plus",
    "minus",
    "over",
    "under",
    "above",
    "below",
    "between",
    "from",
    "half",
    "quarter",
    "third",
    "thirds",
    "quarters",
    "halves",
    "point",
];

/// Words that end a number with its unit.
const CONNECTIVES: &[&str] = &["or", "and", "to"];

impl Parser {
    /// Reads a number with or without a unit or a sign of money, or anything else between relations.
    pub fn quantity(&mut self) -> Reading<Answer> {
        let is_negative =
            self.peek() == Some(&Token::Minus) && matches!(self.peek_at(1), Some(Token::Currency(_)));
        if is_negative {
            self.skip(1);
        }
        if let Some(Token::Currency(name)) = self.peek() {
            let mut unit = Unit::named(name);
            self.skip(1);
            let value = self.sum()?.into_value().ok_or(ReadError::Syntax)?;
            if let Some(more) = self.unit()?.filter(|more| *more != unit) {
                unit = unit.times(&more);
            }
            let value = if is_negative { Expression::negative(value) } else { value };
            return Ok(Answer::Quantity(value, unit));
        }
        let answer = self.sum()?;
        let Answer::Value(value) = answer else { return Ok(answer) };
        if let Some(Token::Currency(name)) = self.peek() {
            let unit = Unit::named(name);
            self.skip(1);
            return Ok(Answer::Quantity(value, unit));
        }
        // A temperature: degrees with the letter of a scale.
        if let (Expression::Degrees(degrees), Some(scale)) = (&value, self.temperature_scale()) {
            self.skip(1);
            return Ok(Answer::Quantity((**degrees).clone(), Unit::named(scale)));
        }
        match self.unit()? {
            Some(unit) if unit.is_factor() => {
                let factor = Expression::Number(unit.scale);
                Ok(Answer::Value(if factor == Expression::Number(RBig::ONE) {
                    value
                } else {
                    Expression::Product(vec![value, factor])
                }))
            }
            Some(unit) => Ok(Answer::Quantity(value, unit)),
            None => Ok(Answer::Value(value)),
        }
    }

    fn temperature_scale(&self) -> Option<&'static str> {
        match self.peek()? {
            Token::Letter(name) | Token::Word(name) if name == "C" => Some("°C"),
            Token::Letter(name) | Token::Word(name) if name == "F" => Some("°F"),
            _ => None,
        }
    }

    /// Reads a unit: words with powers and signs of division.
    fn unit(&mut self) -> Reading<Option<Unit>> {
        let mut unit = Unit::one();
        let mut has_any = false;
        let mut is_below = false;
        let mut power_before = 1;
        while let Some(token) = self.peek() {
            match token {
                Token::Word(word) if CONNECTIVES.iter().any(|one| word.eq_ignore_ascii_case(one)) => break,
                Token::Word(word) => {
                    let word = word.clone();
                    self.skip(1);
                    match word.to_lowercase().as_str() {
                        "square" | "sq" => power_before = 2,
                        "cubic" | "cu" => power_before = 3,
                        "per" => is_below = true,
                        "squared" => unit = power(&unit, 2)?,
                        "cubed" => unit = power(&unit, 3)?,
                        condition if CONDITIONS.contains(&condition) => return Err(ReadError::Syntax),
                        filler if has_any && FILLERS.contains(&filler) => {}
                        _ => {
                            let exponent =
                                self.unit_power()?.unwrap_or(1) * std::mem::take(&mut power_before).max(1);
                            let part =
                                power(&Unit::named(&word), if is_below { -exponent } else { exponent })?;
                            unit = unit.times(&part);
                            is_below = false;
                        }
                    }
                    has_any = true;
                }
                Token::Slash if has_any && matches!(self.peek_at(1), Some(Token::Word(_))) => {
                    self.skip(1);
                    is_below = true;
                }
                Token::Times if has_any && matches!(self.peek_at(1), Some(Token::Word(_))) => self.skip(1),
                _ => break,
            }
        }
        Ok(has_any.then_some(unit))
    }

    /// Reads the power of a unit.
    fn unit_power(&mut self) -> Reading<Option<i64>> {
        if !self.accept(&Token::Caret) {
            return Ok(None);
        }
        let is_group = self.accept(&Token::Open(Fence::Group));
        let is_negative = self.accept(&Token::Minus);
        let Some(Token::Number(numeral)) = self.take() else { return Err(ReadError::Syntax) };
        if is_group {
            self.expect(&Token::Close(Fence::Group))?;
        }
        let digits = numeral.digits.ok_or(ReadError::Syntax)?;
        let exponent: i64 = digits.parse().map_err(|_| ReadError::TooLarge)?;
        Ok(Some(if is_negative { -exponent } else { exponent }))
    }
}

fn power(unit: &Unit, exponent: i64) -> Reading<Unit> {
    unit.power(exponent).ok_or(ReadError::TooLarge)
}

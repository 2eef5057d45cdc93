//! Answers: numbers, and the structures that hold them.

use crate::expression::Expression;
use crate::unit::Unit;

/// Kind of bracket at one end of a tuple or an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bracket {
    /// `(`, or the end of an open interval.
    Round,
    /// `[`, or the end of a closed interval.
    Square,
    /// `⟨`, around the components of a vector.
    Angle,
}

/// Relation between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationSign {
    /// `=`
    Equal,
    /// `≈`
    Near,
    /// `≠`
    Unequal,
    /// `<`
    Less,
    /// `≤`
    LessEqual,
    /// `>`
    Greater,
    /// `≥`
    GreaterEqual,
    /// `∈`
    In,
}

/// Word or sign between the members of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connective {
    /// A comma or a semicolon, with or without a word before the last member.
    Comma,
    /// Only the word `and`.
    And,
    /// Only the word `or`.
    Or,
}

/// An operation on two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// `∪`
    Union,
    /// `∩`
    Intersection,
    /// `∖`
    Difference,
}

/// The content of an answer, as its notation gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A number or a formula.
    Value(Expression),
    /// A number with a unit.
    Quantity(Expression, Unit),
    /// Members in brackets: a tuple, a vector, or the two ends of an interval.
    Tuple(Bracket, Vec<Answer>, Bracket),
    /// Members in braces.
    Set(Vec<Answer>),
    /// Members without brackets.
    List(Vec<Answer>, Connective),
    /// Rows of a matrix, all of the same length.
    Matrix(Vec<Vec<Expression>>),
    /// Terms of a ratio.
    Ratio(Vec<Expression>),
    /// A chain of relations: the first side, and each further side with the sign before it.
    Relation(Box<Answer>, Vec<(RelationSign, Answer)>),
    /// Something with a name in words, such as `Area = 5`: the words are left out.
    Labelled(Box<Answer>),
    /// An operation on two sets.
    Operation(SetOperation, Box<Answer>, Box<Answer>),
    /// A set with a name, such as the real numbers `R`.
    NamedSet(char),
    /// The empty set.
    Empty,
}

impl Answer {
    /// Returns the expression of a plain value.
    pub fn into_value(self) -> Option<Expression> {
        match self {
            Answer::Value(value) => Some(value),
            _ => None,
        }
    }
}

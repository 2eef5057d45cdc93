//! Forms of answers: what an answer says, without labels and without the choice among equivalent notations.

use crate::answer::Bracket;
use crate::comparison::region::Region;
use crate::expression::Expression;
use crate::limits::Budget;
use crate::unit::Unit;

/// The meaning of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A number or a formula.
    Value(Expression),
    /// A number with a unit.
    Quantity(Expression, Unit),
    /// A letter and its value.
    Assigned(String, Box<Form>),
    /// Several letters with their values, sorted by letter.
    System(Vec<(String, Form)>),
    /// An equation: the difference of its sides is zero.
    Equation(Expression),
    /// An inequality: the expression is above zero, or at least zero if not strict.
    Inequality(Expression, bool),
    /// Members in brackets, in their order.
    Tuple(Bracket, Vec<Form>, Bracket),
    /// Members in any order; each counts once if they are a set.
    Members(Vec<Form>, Multiplicity),
    /// Rows of a matrix.
    Matrix(Vec<Vec<Expression>>),
    /// Terms of a ratio.
    Ratio(Vec<Expression>),
    /// A set of real numbers with intervals.
    Region(Region),
    /// A set with a name, other than the real numbers.
    NamedSet(char),
    /// The empty set.
    Empty,
}

/// Treatment of equal members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplicity {
    /// Equal members count once: `{1, 1}` is `{1}`.
    Set,
    /// Each member counts: the list 1, 1 differs from 1.
    List,
}

/// Returns the interval that two members in brackets may be.
pub fn interval_of(open: Bracket, members: &[Form], close: Bracket, budget: &Budget) -> Option<Region> {
    match members {
        [Form::Value(low), Form::Value(high)] if low.is_constant() && high.is_constant() => {
            Region::from_brackets((open, low.clone()), (high.clone(), close), budget)
        }
        _ => None,
    }
}

/// Returns the set of real numbers that a form may be.
pub fn region_of(form: &Form, budget: &Budget) -> Option<Region> {
    match form {
        Form::Region(region) => Some(region.clone()),
        Form::Tuple(open, members, close) => interval_of(*open, members, *close, budget),
        Form::Members(members, Multiplicity::Set) => {
            let value = |member: &Form| match member {
                Form::Value(value) if value.is_constant() => Some(value.clone()),
                _ => None,
            };
            Region::points(members.iter().map(value).collect::<Option<_>>()?, budget)
        }
        _ => None,
    }
}

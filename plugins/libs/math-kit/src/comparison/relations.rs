//! Labels, inequalities, and operations on finite sets.

use crate::answer::{RelationSign, SetOperation};
use crate::arithmetic::{Verdict, same_value};
use crate::comparison::form::{Form, Multiplicity, region_of};
use crate::comparison::region::Region;
use crate::expression::{Expression, FunctionName};
use crate::limits::Budget;

/// Letters that are names of functions before brackets.
const FUNCTIONS: &[&str] = &["f", "g", "h", "p", "q", "F", "G", "P", "Q"];

/// The left side of an equation whose right side is its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// A letter.
    Letter(String),
    /// An expression of letters, such as `m + n`, or the value of a function.
    Other,
}

/// Returns the label that one side of an equation is for the other.
pub fn label(side: &Form, value: &Form) -> Option<Label> {
    // A tuple of letters, as in (x, y) = (1, 2).
    if let Form::Tuple(_, members, _) = side {
        let is_letter = |member: &Form| matches!(member, Form::Value(Expression::Letter(_)));
        let is_tuple = matches!(value, Form::Tuple(..) | Form::Region(_) | Form::Members(..));
        return (is_tuple && members.iter().all(is_letter)).then_some(Label::Other);
    }
    let Form::Value(side) = side else { return None };
    if let Expression::Letter(letter) = side {
        let is_free = match value {
            Form::Value(value) => !value.contains_letter(letter),
            _ => true,
        };
        return is_free.then(|| Label::Letter(letter.clone()));
    }
    let Form::Value(value) = value else { return is_name(side).then_some(Label::Other) };
    if is_application(side, value) || (value.is_constant() && is_name(side)) {
        return Some(Label::Other);
    }
    None
}

/// Returns whether an expression has letters and no numbers: `AB`, `m + n`, `P(A)`, `cos A`. Absolute values and roots
/// do not count, since the letter itself may have another value: `|x| = 5`.
fn is_name(side: &Expression) -> bool {
    let is_part_of_name = |part: &Expression| match part {
        Expression::Letter(_) | Expression::Sum(_) | Expression::Product(_) => true,
        Expression::Quotient(..) | Expression::Negative(_) | Expression::Named(_) => true,
        Expression::Call(name, _) => {
            matches!(name, FunctionName::Sine | FunctionName::Cosine | FunctionName::Tangent)
        }
        _ => false,
    };
    !side.is_constant() && !side.has(&|part| !is_part_of_name(part))
}

/// Returns whether an expression is a function of the letters of its value: `f(x)` for `x^2`.
fn is_application(side: &Expression, value: &Expression) -> bool {
    match side {
        Expression::Product(parts) => match parts.as_slice() {
            [Expression::Letter(name), _] => {
                FUNCTIONS.contains(&name.as_str()) && !value.contains_letter(name)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns the form of a chain of inequalities: the values of a letter, or an inequality of expressions.
pub fn inequality_form(sides: Vec<Form>, signs: &[RelationSign], budget: &Budget) -> Option<Form> {
    if let ([RelationSign::In], [letter, set]) = (signs, sides.as_slice()) {
        let Form::Value(Expression::Letter(letter)) = letter else { return None };
        return match region_of(set, budget) {
            Some(region) if !matches!(set, Form::Members(..)) => {
                Some(Form::Region(Region { letter: Some(letter.clone()), ..region }))
            }
            _ => Some(Form::Assigned(letter.clone(), Box::new(set.clone()))),
        };
    }
    let values: Option<Vec<Expression>> = sides
        .into_iter()
        .map(|side| match side {
            Form::Value(value) => Some(value),
            _ => None,
        })
        .collect();
    let values = values?;
    let mut region: Option<Region> = None;
    let mut letter: Option<String> = None;
    for (pair, sign) in values.windows(2).zip(signs) {
        let [left, right] = pair else { return None };
        let (name, at, is_above) = match (left, right) {
            (Expression::Letter(name), at) if at.is_constant() => (name, at, is_greater(*sign)),
            (at, Expression::Letter(name)) if at.is_constant() => (name, at, !is_greater(*sign)),
            _ => return general_inequality(&values, signs),
        };
        if letter.as_ref().is_some_and(|letter| letter != name) {
            return None;
        }
        letter = Some(name.clone());
        let half = match sign {
            RelationSign::Unequal => Region::points(vec![at.clone()], budget)?.complement(budget)?,
            RelationSign::Equal | RelationSign::Near | RelationSign::In => return None,
            _ => Region::half_line(at.clone(), !is_strict(*sign), is_above, budget)?,
        };
        region = Some(match region {
            Some(region) => region.intersection(&half, budget)?,
            None => half,
        });
    }
    let region = Region { letter, ..region? };
    Some(if region.intervals.is_empty() { Form::Empty } else { Form::Region(region) })
}

/// Returns a single inequality as the sign of a difference.
fn general_inequality(values: &[Expression], signs: &[RelationSign]) -> Option<Form> {
    let ([left, right], [sign]) = (values, signs) else { return None };
    let (high, low) = match sign {
        RelationSign::Less | RelationSign::LessEqual => (right, left),
        RelationSign::Greater | RelationSign::GreaterEqual => (left, right),
        _ => return None,
    };
    Some(Form::Inequality(Expression::difference(high.clone(), low.clone()), is_strict(*sign)))
}

fn is_greater(sign: RelationSign) -> bool {
    matches!(sign, RelationSign::Greater | RelationSign::GreaterEqual)
}

fn is_strict(sign: RelationSign) -> bool {
    matches!(sign, RelationSign::Greater | RelationSign::Less)
}

/// Returns the form of an operation on two finite sets of values.
pub fn finite_operation(
    operation: SetOperation,
    left: &[Form],
    right: &[Form],
    budget: &Budget,
) -> Option<Form> {
    let mut members = Vec::new();
    if operation == SetOperation::Union {
        members.extend(left.iter().chain(right).cloned());
    } else {
        for member in left {
            let is_common = contains(right, member, budget)?;
            if is_common == (operation == SetOperation::Intersection) {
                members.push(member.clone());
            }
        }
    }
    Some(if members.is_empty() { Form::Empty } else { Form::Members(members, Multiplicity::Set) })
}

/// Returns whether a value is among others. `None` if that cannot be shown.
fn contains(members: &[Form], wanted: &Form, budget: &Budget) -> Option<bool> {
    let Form::Value(wanted) = wanted else { return None };
    for member in members {
        let Form::Value(member) = member else { return None };
        match same_value(member, wanted, budget) {
            Verdict::Equal => return Some(true),
            Verdict::Different => {}
            Verdict::Undecided => return None,
        }
    }
    Some(false)
}

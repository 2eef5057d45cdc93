//! The comparison of two forms.

use crate::answer::Bracket;
use crate::arithmetic::{Verdict, same_multiple, same_value};
use crate::comparison::form::{Form, Multiplicity, interval_of, region_of};
use crate::comparison::region::Region;
use crate::expression::{Expression, NamedNumber};
use crate::limits::Budget;
use crate::unit::Unit;

/// Maximum number of terms of a ratio.
const MAX_TERMS: usize = 12;

/// Compares two forms.
pub fn same_form(left: &Form, right: &Form, budget: &Budget) -> Verdict {
    match (left, right) {
        (Form::Value(left), Form::Value(right)) => same_value(left, right, budget),
        (Form::Quantity(left, unit), Form::Quantity(right, other)) => {
            same_quantity((left, unit), (right, other), budget)
        }
        (Form::Quantity(quantity, unit), Form::Value(value))
        | (Form::Value(value), Form::Quantity(quantity, unit)) => without_unit(quantity, unit, value, budget),
        (Form::Assigned(letter, value), Form::Assigned(other, other_value)) => {
            same_assignment((letter, value), (other, other_value), budget)
        }
        (Form::System(left), Form::System(right)) => {
            let pairs = left.iter().zip(right);
            let names = Verdict::from(
                left.len() == right.len() && pairs.clone().all(|((left, _), (right, _))| left == right),
            );
            pairs.fold(names, |verdict, ((_, left), (_, right))| {
                verdict.and(|| same_form(left, right, budget))
            })
        }
        (Form::System(system), other) | (other, Form::System(system)) => same_system(system, other, budget),
        (Form::Assigned(letter, value), Form::Equation(difference))
        | (Form::Equation(difference), Form::Assigned(letter, value)) => match &**value {
            Form::Value(value) => {
                let own = Expression::difference(Expression::Letter(letter.clone()), value.clone());
                same_multiple(&own, difference, false, budget)
            }
            _ => Verdict::Different,
        },
        // A set with one member is a solution, but not the member itself.
        (Form::Assigned(_, value), Form::Members(members, Multiplicity::Set))
        | (Form::Members(members, Multiplicity::Set), Form::Assigned(_, value))
            if !matches!(**value, Form::Members(..)) =>
        {
            same_members(std::slice::from_ref(&**value), members, Multiplicity::Set, budget)
        }
        (Form::Assigned(_, value), other) | (other, Form::Assigned(_, value)) => {
            same_form(value, other, budget)
        }
        (Form::Equation(left), Form::Equation(right)) => same_multiple(left, right, false, budget),
        (Form::Inequality(left, strict), Form::Inequality(right, other)) => {
            Verdict::from(strict == other).and(|| same_multiple(left, right, true, budget))
        }
        (Form::Members(left, kind), Form::Members(right, other)) => {
            let both = *kind == Multiplicity::List && *other == Multiplicity::List;
            same_members(left, right, if both { Multiplicity::List } else { Multiplicity::Set }, budget)
        }
        (Form::Tuple(open, left, close), Form::Tuple(other_open, right, other_close)) => {
            let same_brackets = same_bracket(*open, *other_open) && same_bracket(*close, *other_close);
            Verdict::from(same_brackets).and(|| in_order(left, right, budget))
        }
        (Form::Matrix(left), Form::Matrix(right)) => same_matrix(left, right, budget),
        (Form::Ratio(left), Form::Ratio(right)) => same_ratio(left, right, budget),
        (Form::Ratio(terms), Form::Value(value)) | (Form::Value(value), Form::Ratio(terms)) => {
            match terms.as_slice() {
                [above, below] => {
                    same_value(&Expression::quotient(above.clone(), below.clone()), value, budget)
                }
                _ => Verdict::Different,
            }
        }
        (Form::Region(region), other) | (other, Form::Region(region)) => same_region(region, other, budget),
        (left, right) => (left == right).into(),
    }
}

/// Compares a set of real numbers with a form that may be one.
fn same_region(region: &Region, other: &Form, budget: &Budget) -> Verdict {
    let other = match other {
        Form::Region(other) => Some(other.clone()),
        // A pair in round brackets is an open interval if the other side has intervals.
        Form::Tuple(open, members, close) => interval_of(*open, members, *close, budget),
        Form::Members(..) => region_of(other, budget),
        _ => None,
    };
    let Some(other) = other else { return Verdict::Different };
    region.same_as(&other, budget).map_or(Verdict::Undecided, Verdict::from)
}

/// Compares two numbers with units, after conversion to the same one.
fn same_quantity(
    (left, unit): (&Expression, &Unit),
    (right, other): (&Expression, &Unit),
    budget: &Budget,
) -> Verdict {
    if unit == other {
        return same_value(left, right, budget);
    }
    if let Some((degrees, radians)) = degrees_and_radians((left, unit), (right, other)) {
        return same_value(&Expression::Degrees(Box::new(degrees.clone())), radians, budget);
    }
    if !unit.measures_same(other) {
        return Verdict::Different;
    }
    let scaled = |value: &Expression, unit: &Unit| {
        Expression::Product(vec![value.clone(), Expression::Number(unit.scale.clone())])
    };
    same_value(&scaled(left, unit), &scaled(right, other), budget)
}

fn degrees_and_radians<'value>(
    left: (&'value Expression, &Unit),
    right: (&'value Expression, &Unit),
) -> Option<(&'value Expression, &'value Expression)> {
    if left.1.is_angle("degree") && right.1.is_angle("radian") {
        return Some((left.0, right.0));
    }
    (left.1.is_angle("radian") && right.1.is_angle("degree")).then_some((right.0, left.0))
}

/// Compares a number with a unit and a number without one. The unit may be left out. An angle that is written with π is
/// in radians.
fn without_unit(quantity: &Expression, unit: &Unit, value: &Expression, budget: &Budget) -> Verdict {
    let has_pi = value.has(&|part| matches!(part, Expression::Named(NamedNumber::Pi)));
    if unit.is_angle("degree") && has_pi {
        return same_value(&Expression::Degrees(Box::new(quantity.clone())), value, budget);
    }
    same_value(quantity, value, budget)
}

/// Compares the values of two letters. Different letters can only be sides of the same equation.
fn same_assignment(
    (letter, value): (&String, &Form),
    (other, other_value): (&String, &Form),
    budget: &Budget,
) -> Verdict {
    if letter == other {
        return same_form(value, other_value, budget);
    }
    let (Form::Value(value), Form::Value(other_value)) = (value, other_value) else {
        return Verdict::Different;
    };
    if value.is_constant() || other_value.is_constant() {
        return Verdict::Different;
    }
    let left = Expression::difference(Expression::Letter(letter.clone()), value.clone());
    let right = Expression::difference(Expression::Letter(other.clone()), other_value.clone());
    same_multiple(&left, &right, false, budget)
}

/// Compares the values of several letters with a tuple, in the order of the letters. Values of one letter with different
/// indices may also be members in any order.
fn same_system(system: &[(String, Form)], other: &Form, budget: &Budget) -> Verdict {
    let values: Vec<Form> = system.iter().map(|(_, value)| value.clone()).collect();
    match other {
        Form::Tuple(Bracket::Round, members, Bracket::Round) => in_order(&values, members, budget),
        Form::Members(members, kind) => {
            let stem = |letter: &str| letter.split('_').next().unwrap_or_default().to_owned();
            let is_indexed = system.iter().all(|(letter, _)| letter.contains('_'));
            let mut stems = system.iter().map(|(letter, _)| stem(letter));
            let first = stems.next();
            let is_same_letter = is_indexed && stems.all(|other| Some(&other) == first.as_ref());
            Verdict::from(is_same_letter).and(|| same_members(&values, members, *kind, budget))
        }
        _ => Verdict::Different,
    }
}

fn same_bracket(left: Bracket, right: Bracket) -> bool {
    (left == Bracket::Square) == (right == Bracket::Square)
}

fn in_order(left: &[Form], right: &[Form], budget: &Budget) -> Verdict {
    let start = Verdict::from(left.len() == right.len());
    left.iter()
        .zip(right)
        .fold(start, |verdict, (left, right)| verdict.and(|| same_form(left, right, budget)))
}

/// Compares members in any order.
fn same_members(left: &[Form], right: &[Form], kind: Multiplicity, budget: &Budget) -> Verdict {
    if kind == Multiplicity::List && left.len() != right.len() {
        return Verdict::Different;
    }
    let mut is_taken = vec![false; right.len()];
    let mut verdict = Verdict::Equal;
    for member in left {
        let mut found = Verdict::Different;
        for (at, other) in right.iter().enumerate() {
            let is_free = kind == Multiplicity::Set || is_taken.get(at) == Some(&false);
            if !is_free {
                continue;
            }
            match same_form(member, other, budget) {
                Verdict::Equal => {
                    found = Verdict::Equal;
                    if let Some(taken) = is_taken.get_mut(at) {
                        *taken = true;
                    }
                    // In a set, equal members on the right are all taken.
                    if kind == Multiplicity::List {
                        break;
                    }
                }
                Verdict::Undecided if found == Verdict::Different => found = Verdict::Undecided,
                Verdict::Undecided | Verdict::Different => {}
            }
        }
        if found == Verdict::Different {
            return Verdict::Different;
        }
        verdict = verdict.and(|| found);
    }
    if verdict == Verdict::Equal && is_taken.contains(&false) { Verdict::Different } else { verdict }
}

fn same_matrix(left: &[Vec<Expression>], right: &[Vec<Expression>], budget: &Budget) -> Verdict {
    let shape = |rows: &[Vec<Expression>]| (rows.len(), rows.first().map_or(0, Vec::len));
    let cells = left.iter().flatten().zip(right.iter().flatten());
    cells.fold(Verdict::from(shape(left) == shape(right)), |verdict, (left, right)| {
        verdict.and(|| same_value(left, right, budget))
    })
}

/// Compares two ratios: each pair of terms is in the same proportion.
fn same_ratio(left: &[Expression], right: &[Expression], budget: &Budget) -> Verdict {
    if left.len() != right.len() {
        return Verdict::Different;
    }
    let zero = Expression::whole(0);
    // 0 : 0 is no ratio.
    let has_zero = left.iter().chain(right).any(|term| same_value(term, &zero, budget) != Verdict::Different);
    if left.len() > MAX_TERMS || has_zero {
        return (left == right).into();
    }
    let (Some(first), Some(other_first)) = (left.first(), right.first()) else { return Verdict::Undecided };
    let product =
        |one: &Expression, other: &Expression| Expression::Product(vec![one.clone(), other.clone()]);
    left.iter().zip(right).skip(1).fold(Verdict::Equal, |verdict, (term, other)| {
        verdict.and(|| same_value(&product(term, other_first), &product(other, first), budget))
    })
}

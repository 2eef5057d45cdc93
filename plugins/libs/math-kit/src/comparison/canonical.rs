//! Canonical forms, for reports: each part that has an exact value is that value.

use crate::arithmetic::exact_value;
use crate::comparison::form::Form;
use crate::comparison::region::{End, Interval, Region};
use crate::expression::Expression;
use crate::limits::Budget;

/// Returns a form with the exact values of its parts. Parts for which the budget is too small stay as they are.
pub fn canonical(form: &Form, budget: &Budget) -> Form {
    let value = |value: &Expression| simplified(value, budget);
    let values = |values: &[Expression]| values.iter().map(value).collect();
    let forms = |forms: &[Form]| forms.iter().map(|form| canonical(form, budget)).collect();
    match form {
        Form::Value(of) => Form::Value(value(of)),
        Form::Quantity(of, unit) => Form::Quantity(value(of), unit.clone()),
        Form::Assigned(letter, of) => Form::Assigned(letter.clone(), Box::new(canonical(of, budget))),
        Form::System(system) => {
            let member = |(letter, of): &(String, Form)| (letter.clone(), canonical(of, budget));
            Form::System(system.iter().map(member).collect())
        }
        Form::Equation(difference) => Form::Equation(value(difference)),
        Form::Inequality(difference, strict) => Form::Inequality(value(difference), *strict),
        Form::Tuple(open, members, close) => Form::Tuple(*open, forms(members), *close),
        Form::Members(members, kind) => Form::Members(forms(members), *kind),
        Form::Matrix(rows) => Form::Matrix(rows.iter().map(|row| values(row)).collect()),
        Form::Ratio(terms) => Form::Ratio(values(terms)),
        Form::Region(region) => {
            let end = |end: &End| End { at: value(&end.at), is_closed: end.is_closed };
            let interval = |of: &Interval| Interval { low: end(&of.low), high: end(&of.high) };
            let intervals = region.intervals.iter().map(interval).collect();
            Form::Region(Region { intervals, letter: region.letter.clone() })
        }
        Form::NamedSet(_) | Form::Empty => form.clone(),
    }
}

/// Replaces the parts that have exact values, from the inside out.
fn simplified(expression: &Expression, budget: &Budget) -> Expression {
    let changed = expression.map_parts(&|part| simplified(part, budget));
    let is_plain = changed.parts().iter().all(|part| matches!(part, Expression::Number(_)));
    match is_plain.then(|| exact_value(&changed, &[], budget)).flatten() {
        Some(value) => Expression::Number(value),
        None => changed,
    }
}

//! The form of an answer from its notation.

use crate::answer::{Answer, Bracket, Connective, RelationSign, SetOperation};
use crate::arithmetic::{Verdict, same_value};
use crate::comparison::form::{Form, Multiplicity, interval_of, region_of};
use crate::comparison::region::Region;
use crate::comparison::relations;
use crate::expression::Expression;
use crate::limits::{Budget, MAX_MEMBERS};
use crate::unit::Unit;

/// Returns the form of an answer. `None` if it has no meaning that is known.
pub fn form_of(answer: Answer, budget: &Budget) -> Option<Form> {
    Some(match answer {
        Answer::Value(value) => value_form(value),
        Answer::Quantity(value, unit) => Form::Quantity(value, unit),
        Answer::Labelled(answer) => form_of(*answer, budget)?,
        Answer::Tuple(open, members, close) => {
            let members: Option<Vec<Form>> =
                members.into_iter().map(|member| form_of(member, budget)).collect();
            tuple_form(open, members?, close, budget)
        }
        Answer::Set(members) => Form::Members(members_of(members, budget)?, Multiplicity::Set),
        Answer::List(members, connective) => {
            let members = members_of(members, budget)?;
            list_form(members, connective, budget)?
        }
        Answer::Matrix(rows) => Form::Matrix(rows),
        Answer::Ratio(terms) => Form::Ratio(terms),
        Answer::Relation(first, further) => relation_form(*first, further, budget)?,
        Answer::Operation(operation, left, right) => {
            operation_form(operation, form_of(*left, budget)?, form_of(*right, budget)?, budget)?
        }
        Answer::NamedSet('R') => Form::Region(Region::all()),
        Answer::NamedSet(letter) => Form::NamedSet(letter),
        Answer::Empty => Form::Empty,
    })
}

/// Returns the form of a value: an angle is a quantity, and a plus-minus sign gives two values.
fn value_form(value: Expression) -> Form {
    if value.has_plus_minus() {
        let values = [true, false].map(|upper| value_form(value.with_sign(upper)));
        return Form::Members(values.into(), Multiplicity::Set);
    }
    match value {
        Expression::Degrees(value) => Form::Quantity(*value, Unit::named("degree")),
        Expression::Negative(part) if matches!(*part, Expression::Degrees(_)) => match *part {
            Expression::Degrees(value) => Form::Quantity(Expression::negative(*value), Unit::named("degree")),
            other => Form::Value(Expression::negative(other)),
        },
        value => Form::Value(value),
    }
}

/// Returns the form of a tuple: an interval if a bracket or an end can only be one of an interval.
fn tuple_form(open: Bracket, members: Vec<Form>, close: Bracket, budget: &Budget) -> Form {
    let is_interval = open == Bracket::Square
        || close == Bracket::Square
        || members.iter().any(|member| matches!(member, Form::Value(value) if value.infinity().is_some()));
    if is_interval && let Some(region) = interval_of(open, &members, close, budget) {
        return Form::Region(region);
    }
    Form::Tuple(open, members, close)
}

/// Returns the forms of members, with both values of a plus-minus sign.
fn members_of(members: Vec<Answer>, budget: &Budget) -> Option<Vec<Form>> {
    let mut forms = Vec::new();
    for member in members {
        let has_signs = matches!(&member, Answer::Value(value) if value.has_plus_minus());
        match form_of(member, budget)? {
            Form::Members(values, _) if has_signs => forms.extend(values),
            form => forms.push(form),
        }
    }
    (forms.len() <= MAX_MEMBERS).then_some(forms)
}

/// Returns the form of members without brackets.
fn list_form(members: Vec<Form>, connective: Connective, budget: &Budget) -> Option<Form> {
    if members.iter().all(|member| matches!(member, Form::Region(_))) {
        let mut regions = members.into_iter().filter_map(|member| match member {
            Form::Region(region) => Some(region),
            _ => None,
        });
        let first = regions.next()?;
        let letter = first.letter.clone();
        let mut all = first;
        for region in regions {
            if region.letter != letter {
                return None;
            }
            all = match connective {
                Connective::Or => all.union(&region, budget)?,
                Connective::And => all.intersection(&region, budget)?,
                // Conditions after a comma may be joined in either way.
                Connective::Comma => return None,
            };
        }
        return Some(region_form(Region { letter, ..all }));
    }
    if members.iter().all(|member| matches!(member, Form::Assigned(..))) {
        let mut system: Vec<(String, Form)> = members
            .into_iter()
            .filter_map(|member| match member {
                Form::Assigned(letter, value) => Some((letter, *value)),
                _ => None,
            })
            .collect();
        system.sort_by(|left, right| left.0.cmp(&right.0));
        let (letter, _) = system.first()?;
        if system.iter().all(|(other, _)| other == letter) {
            let letter = letter.clone();
            let values = system.into_iter().map(|(_, value)| value).collect();
            return Some(Form::Assigned(letter, Box::new(Form::Members(values, Multiplicity::Set))));
        }
        return Some(Form::System(system));
    }
    Some(Form::Members(members, Multiplicity::List))
}

fn relation_form(first: Answer, further: Vec<(RelationSign, Answer)>, budget: &Budget) -> Option<Form> {
    let mut sides = vec![form_of(first, budget)?];
    let mut signs = Vec::new();
    for (sign, side) in further {
        signs.push(sign);
        sides.push(form_of(side, budget)?);
    }
    if signs.iter().all(|sign| matches!(sign, RelationSign::Equal | RelationSign::Near)) {
        return equation_form(sides, &signs, budget);
    }
    relations::inequality_form(sides, &signs, budget)
}

/// Returns the form of a chain of equations: the value of a letter, or an equation.
fn equation_form(mut sides: Vec<Form>, signs: &[RelationSign], budget: &Budget) -> Option<Form> {
    let last = sides.pop()?;
    // In the middle of a chain are equal values, as in `x = 1/2 = 0.5`. An approximation comes last.
    let mut value = last;
    let mut at = signs.len();
    while sides.len() > 1 {
        at -= 1;
        let before = sides.pop()?;
        if signs.get(at) == Some(&RelationSign::Equal) {
            let (Form::Value(left), Form::Value(right)) = (&before, &value) else { return None };
            if same_value(left, right, budget) != Verdict::Equal {
                return None;
            }
        }
        value = before;
    }
    let first = sides.pop()?;
    match relations::label(&first, &value) {
        Some(relations::Label::Letter(letter)) => return Some(Form::Assigned(letter, Box::new(value))),
        Some(relations::Label::Other) => return Some(value),
        None => {}
    }
    if let Some(relations::Label::Letter(letter)) = relations::label(&value, &first) {
        return Some(Form::Assigned(letter, Box::new(first)));
    }
    let (Form::Value(left), Form::Value(right)) = (first, value) else { return None };
    if signs.first() == Some(&RelationSign::Near) {
        // A constant and its approximation.
        return left.is_constant().then_some(Form::Value(left));
    }
    if left.is_constant() && right.is_constant() {
        let is_true = same_value(&left, &right, budget) == Verdict::Equal;
        return is_true.then_some(Form::Value(right));
    }
    Some(Form::Equation(Expression::difference(left, right)))
}

/// Returns the form of an operation on two sets.
fn operation_form(operation: SetOperation, left: Form, right: Form, budget: &Budget) -> Option<Form> {
    if let (Form::Members(left, Multiplicity::Set), Form::Members(right, Multiplicity::Set)) = (&left, &right)
    {
        return relations::finite_operation(operation, left, right, budget);
    }
    let (left, right) = (region_of(&left, budget)?, region_of(&right, budget)?);
    Some(region_form(match operation {
        SetOperation::Union => left.union(&right, budget)?,
        SetOperation::Intersection => left.intersection(&right, budget)?,
        SetOperation::Difference => left.intersection(&right.complement(budget)?, budget)?,
    }))
}

fn region_form(region: Region) -> Form {
    if region.intervals.is_empty() { Form::Empty } else { Form::Region(region) }
}

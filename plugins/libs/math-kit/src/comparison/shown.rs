//! Forms as text, for reports.

use crate::answer::Bracket;
use crate::comparison::form::{Form, Multiplicity};
use crate::comparison::region::{End, Interval};
use crate::expression::{Expression, FunctionName, NamedNumber};
use std::fmt;

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Value(value) => write!(formatter, "{value}"),
            Form::Quantity(value, unit) => write!(formatter, "{value} {}", unit.shown()),
            Form::Assigned(letter, value) => write!(formatter, "{letter} = {value}"),
            Form::System(system) => {
                let members = system.iter().map(|(letter, value)| format!("{letter} = {value}"));
                formatter.write_str(&joined(members))
            }
            Form::Equation(difference) => write!(formatter, "{difference} = 0"),
            Form::Inequality(difference, strict) => {
                write!(formatter, "{difference} {} 0", if *strict { ">" } else { "≥" })
            }
            Form::Tuple(open, members, close) => {
                let members = joined(members.iter().map(Form::to_string));
                write!(formatter, "{}{members}{}", opening(*open), closing(*close))
            }
            Form::Members(members, Multiplicity::Set) => {
                write!(formatter, "{{{}}}", joined(members.iter().map(Form::to_string)))
            }
            Form::Members(members, Multiplicity::List) => {
                formatter.write_str(&joined(members.iter().map(Form::to_string)))
            }
            Form::Matrix(rows) => {
                let row =
                    |row: &Vec<Expression>| format!("[{}]", joined(row.iter().map(Expression::to_string)));
                write!(formatter, "[{}]", joined(rows.iter().map(row)))
            }
            Form::Ratio(terms) => {
                let terms: Vec<String> = terms.iter().map(Expression::to_string).collect();
                formatter.write_str(&terms.join(" : "))
            }
            Form::Region(region) => {
                let intervals: Vec<String> = region.intervals.iter().map(interval).collect();
                formatter.write_str(&intervals.join(" ∪ "))
            }
            Form::NamedSet(letter) => write!(formatter, "the set {letter}"),
            Form::Empty => formatter.write_str("∅"),
        }
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn opening(bracket: Bracket) -> char {
    match bracket {
        Bracket::Round => '(',
        Bracket::Square => '[',
        Bracket::Angle => '⟨',
    }
}

fn closing(bracket: Bracket) -> char {
    match bracket {
        Bracket::Round => ')',
        Bracket::Square => ']',
        Bracket::Angle => '⟩',
    }
}

fn interval(interval: &Interval) -> String {
    let (low, high) = (&interval.low, &interval.high);
    if low == high {
        return format!("{{{}}}", low.at);
    }
    let bracket = |end: &End| if end.is_closed { Bracket::Square } else { Bracket::Round };
    format!("{}{}, {}{}", opening(bracket(low)), low.at, high.at, closing(bracket(high)))
}

/// Returns the strength with which an expression binds its parts.
fn strength(expression: &Expression) -> u8 {
    match expression {
        Expression::Sum(_) | Expression::PlusMinus(..) => 1,
        Expression::Negative(_) => 2,
        Expression::Product(_) | Expression::Quotient(..) => 3,
        Expression::Number(number) if !number.is_int() || *number < dashu_ratio::RBig::ZERO => 2,
        Expression::Power(..) | Expression::Degrees(_) => 4,
        Expression::Number(_) | Expression::Named(_) | Expression::Letter(_) | Expression::Call(..) => 5,
    }
}

/// Returns a part, in brackets if it binds less tightly than needed.
fn part(expression: &Expression, needed: u8) -> String {
    if strength(expression) < needed { format!("({expression})") } else { expression.to_string() }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Number(number) => write!(formatter, "{number}"),
            Expression::Named(NamedNumber::Pi) => formatter.write_str("π"),
            Expression::Named(NamedNumber::Euler) => formatter.write_str("e"),
            Expression::Named(NamedNumber::Imaginary) => formatter.write_str("i"),
            Expression::Named(NamedNumber::Infinity) => formatter.write_str("∞"),
            Expression::Letter(letter) => formatter.write_str(letter),
            Expression::Sum(terms) => {
                let terms: Vec<String> = terms.iter().map(|term| part(term, 2)).collect();
                formatter.write_str(&terms.join(" + "))
            }
            Expression::Product(factors) => {
                let factors: Vec<String> = factors.iter().map(|factor| part(factor, 4)).collect();
                formatter.write_str(&factors.join("·"))
            }
            Expression::Quotient(above, below) => write!(formatter, "{}/{}", part(above, 4), part(below, 4)),
            Expression::Power(base, exponent) => write!(formatter, "{}^{}", part(base, 5), part(exponent, 5)),
            Expression::Negative(of) => write!(formatter, "-{}", part(of, 3)),
            Expression::PlusMinus(of, plus_first) => {
                write!(formatter, "{}{}", if *plus_first { '±' } else { '∓' }, part(of, 3))
            }
            Expression::Degrees(of) => write!(formatter, "{}°", part(of, 5)),
            Expression::Call(name, parts) => {
                write!(formatter, "{}({})", function(*name), joined(parts.iter().map(Expression::to_string)))
            }
        }
    }
}

fn function(name: FunctionName) -> &'static str {
    match name {
        FunctionName::Sine => "sin",
        FunctionName::Cosine => "cos",
        FunctionName::Tangent => "tan",
        FunctionName::Cotangent => "cot",
        FunctionName::Secant => "sec",
        FunctionName::Cosecant => "csc",
        FunctionName::Arcsine => "arcsin",
        FunctionName::Arccosine => "arccos",
        FunctionName::Arctangent => "arctan",
        FunctionName::HyperbolicSine => "sinh",
        FunctionName::HyperbolicCosine => "cosh",
        FunctionName::HyperbolicTangent => "tanh",
        FunctionName::Logarithm => "log",
        FunctionName::Exponential => "exp",
        FunctionName::Root => "root",
        FunctionName::Absolute => "abs",
        FunctionName::Floor => "floor",
        FunctionName::Ceiling => "ceil",
        FunctionName::Factorial => "factorial",
        FunctionName::Binomial => "binomial",
        FunctionName::Maximum => "max",
        FunctionName::Minimum => "min",
        FunctionName::Divisor => "gcd",
        FunctionName::Multiple => "lcm",
    }
}

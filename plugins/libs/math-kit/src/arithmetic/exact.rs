//! Exact rational values.

use crate::expression::{Expression, FunctionName};
use crate::limits::{Budget, MAX_FACTORIAL, MAX_INTEGER_BITS};
use dashu_base::{Abs, BitTest, Gcd, Signed};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Values of letters.
pub type Bindings = [(String, RBig)];

/// Largest index of a root that is taken exactly.
const MAX_ROOT_INDEX: usize = 64;

/// Returns the exact value of an expression. `None` if it is not rational as written, is not defined, or is too large.
pub fn exact_value(expression: &Expression, letters: &Bindings, budget: &Budget) -> Option<RBig> {
    let value = unlimited_value(expression, letters, budget)?;
    limited(value, budget)
}

/// Takes the steps of a sum or a product, whose time grows with the square of its size. `None` if it is too large.
fn limited(value: RBig, budget: &Budget) -> Option<RBig> {
    let bits = size_of(&value);
    let blocks = u64::try_from(bits / 256).ok()?;
    budget.spend(1 + blocks * blocks)?;
    (bits <= MAX_INTEGER_BITS).then_some(value)
}

/// Returns the number of bits of the larger of the numerator and the denominator.
fn size_of(value: &RBig) -> usize {
    value.numerator().bit_len().max(value.denominator().bit_len())
}

fn unlimited_value(expression: &Expression, letters: &Bindings, budget: &Budget) -> Option<RBig> {
    let value = |part: &Expression| exact_value(part, letters, budget);
    match expression {
        Expression::Number(number) => Some(number.clone()),
        Expression::Letter(letter) => {
            letters.iter().find(|(name, _)| name == letter).map(|(_, value)| value.clone())
        }
        Expression::Named(_) | Expression::PlusMinus(..) | Expression::Degrees(_) => None,
        Expression::Sum(parts) => fold(parts, RBig::ZERO, &value, budget, |total, part| total + part),
        Expression::Product(parts) => fold(parts, RBig::ONE, &value, budget, |total, part| total * part),
        Expression::Negative(part) => value(part).map(|value| -value),
        Expression::Quotient(above, below) => {
            let below = value(below).filter(|below| !below.is_zero())?;
            Some(value(above)? / below)
        }
        Expression::Power(base, exponent) => power(&value(base)?, &value(exponent)?),
        Expression::Call(name, parts) => {
            let parts: Option<Vec<RBig>> = parts.iter().map(value).collect();
            call(*name, &parts?, budget)
        }
    }
}

/// Combines the values of parts, and stops as soon as the result is too large.
fn fold(
    parts: &[Expression],
    start: RBig,
    value: &dyn Fn(&Expression) -> Option<RBig>,
    budget: &Budget,
    combine: impl Fn(RBig, RBig) -> RBig,
) -> Option<RBig> {
    parts.iter().try_fold(start, |total, part| limited(combine(total, value(part)?), budget))
}

/// Returns a power with a rational exponent. `None` if it is not rational, or too large.
fn power(base: &RBig, exponent: &RBig) -> Option<RBig> {
    let index: usize = exponent.denominator().try_into().ok()?;
    let root = if index == 1 { base.clone() } else { root(base, index)? };
    let exponent: i32 = exponent.numerator().try_into().ok()?;
    if root.is_zero() {
        return (exponent > 0).then_some(RBig::ZERO);
    }
    let times = usize::try_from(exponent.unsigned_abs()).ok()?;
    if (size_of(&root) - 1).checked_mul(times)? > MAX_INTEGER_BITS {
        return None;
    }
    Some(root.pow(isize::try_from(exponent).ok()?))
}

/// Returns a root that is rational. An odd root of a negative number is negative.
fn root(of: &RBig, index: usize) -> Option<RBig> {
    if index == 0 || index > MAX_ROOT_INDEX || (of.is_negative() && index.is_multiple_of(2)) {
        return None;
    }
    let (above, below) = (of.numerator().clone().abs(), of.denominator());
    let above = exact_root(&UBig::try_from(above).ok()?, index)?;
    let below = exact_root(below, index)?;
    let above = if of.is_negative() { -IBig::from(above) } else { IBig::from(above) };
    Some(RBig::from_parts(above, below))
}

fn exact_root(of: &UBig, index: usize) -> Option<UBig> {
    let root = of.nth_root(index);
    (root.pow(index) == *of).then_some(root)
}

fn call(name: FunctionName, parts: &[RBig], budget: &Budget) -> Option<RBig> {
    match (name, parts) {
        (FunctionName::Absolute, [value]) => Some(value.clone().abs()),
        (FunctionName::Floor, [value]) => Some(value.floor().into()),
        (FunctionName::Ceiling, [value]) => Some(value.ceil().into()),
        (FunctionName::Factorial, [value]) => factorial(whole(value)?, budget),
        (FunctionName::Binomial, [above, below]) => binomial(above, whole(below)?, budget),
        (FunctionName::Root, [value, index]) => root(value, whole(index)?),
        (FunctionName::Maximum, values) => values.iter().max().cloned(),
        (FunctionName::Minimum, values) => values.iter().min().cloned(),
        (FunctionName::Divisor, values) => common(values, budget, |left, right| left.gcd(right)),
        (FunctionName::Multiple, values) => {
            common(values, budget, |left, right| left * right / left.gcd(right))
        }
        _ => None,
    }
}

/// Returns a small whole number that is not negative.
fn whole(value: &RBig) -> Option<usize> {
    if !value.is_int() {
        return None;
    }
    usize::try_from(value.numerator()).ok()
}

fn factorial(of: usize, budget: &Budget) -> Option<RBig> {
    if of > MAX_FACTORIAL {
        return None;
    }
    (2..=of).try_fold(RBig::ONE, |product, factor| limited(product * RBig::from(factor), budget))
}

/// Returns a binomial coefficient, which is a polynomial in its upper argument.
fn binomial(above: &RBig, below: usize, budget: &Budget) -> Option<RBig> {
    // The smaller of the two lower arguments with the same value.
    let complement = whole(above).and_then(|above| above.checked_sub(below));
    let steps = complement.map_or(below, |complement| complement.min(below));
    if steps > MAX_FACTORIAL {
        return None;
    }
    let mut product = RBig::ONE;
    for step in 0..steps {
        product = limited(product * (above - RBig::from(step)) / RBig::from(step + 1), budget)?;
    }
    Some(product)
}

/// Combines positive whole numbers.
fn common(values: &[RBig], budget: &Budget, combine: impl Fn(&UBig, &UBig) -> UBig) -> Option<RBig> {
    let whole = |value: &RBig| UBig::try_from(value.numerator().clone()).ok().filter(|_| value.is_int());
    let values: Option<Vec<UBig>> = values.iter().map(whole).collect();
    let values = values?;
    if values.iter().any(UBig::is_zero) {
        return None;
    }
    let (first, others) = values.split_first()?;
    others
        .iter()
        .try_fold(first.clone(), |result, value| {
            let result = combine(&result, value);
            limited(result.clone().into(), budget).map(|_| result)
        })
        .map(RBig::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use crate::syntax::read_notation;

    fn value(text: &str) -> Option<String> {
        let Ok(Answer::Value(expression)) = read_notation(text) else { panic!("{text} is a value") };
        exact_value(&expression, &[], &Budget::new()).map(|value| value.to_string())
    }

    #[test]
    fn rational_expressions_are_exact() {
        for (text, expected) in [
            (r"\frac{1}{2}+\frac{1}{3}", Some("5/6")),
            ("2^{3^2}", Some("512")),
            ("8^{2/3}", Some("4")),
            (r"\sqrt[3]{-8}", Some("-2")),
            ("4^{-1/2}", Some("1/2")),
            (r"\sqrt{2}", None),
            ("1/0", None),
            ("0^0", None),
            ("20!", Some("2432902008176640000")),
            (r"\binom{10}{7}", Some("120")),
            (r"\binom{3}{5}", Some("0")),
            (r"\lfloor -1/2 \rfloor", Some("-1")),
            (r"\gcd(12, 18)", Some("6")),
            (r"\operatorname{lcm}(4, 6)", Some("12")),
            ("|-5|", Some("5")),
            ("9^9^9^9", None),
            ("2^{100000}", None),
            ("100000!", None),
        ] {
            assert_eq!(value(text).as_deref(), expected, "{text}");
        }
    }
}

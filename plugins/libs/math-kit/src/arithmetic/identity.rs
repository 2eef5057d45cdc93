//! Identities: two expressions with the same value for all values of their letters.

use crate::arithmetic::ball::{Arithmetic, Overlap};
use crate::arithmetic::complex::Complex;
use crate::arithmetic::evaluation::Point;
use crate::arithmetic::exact::exact_value;
use crate::expression::{Expression, FunctionName};
use crate::limits::Budget;
use dashu_base::{Abs, Signed};
use dashu_ratio::RBig;

/// Result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are the same.
    Equal,
    /// Both are shown to differ.
    Different,
    /// Neither could be shown within the limits.
    Undecided,
}

/// The order of two numbers.
pub use std::cmp::Ordering as Order;

/// Maximum number of points at which two expressions are compared.
const MAX_POINTS: u64 = 24;
/// Number of points of agreement that is enough.
const MAX_AGREEMENTS: u32 = 12;
/// Number of points of agreement that is enough for expressions without pieces.
const MAX_SMOOTH_AGREEMENTS: u32 = 6;
/// Number of points at which both must be defined, and agree.
const MIN_AGREEMENTS: u32 = 4;
/// Maximum number of letters in two expressions.
const MAX_LETTERS: usize = 24;
/// Sizes of the numbers that letters stand for. Beyond and below the constants of the expressions, absolute values and
/// other functions in pieces may differ.
const SCALES: [Scale; 7] = [
    Scale::Fixed(1),
    Scale::Constants(4),
    Scale::Constants(2),
    Scale::Fixed(3),
    Scale::Constants(4),
    Scale::Fixed(10),
    Scale::Fixed(1),
];
/// Largest number that a letter stands for if it must be an integer.
const MAX_INTEGER: u64 = 9;

/// Size of the number that a letter stands for.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// A number.
    Fixed(i64),
    /// A multiple of the largest constant.
    Constants(i64),
}

impl Verdict {
    /// Returns the verdict on two pairs that must both be equal.
    pub fn and(self, other: impl FnOnce() -> Verdict) -> Verdict {
        match self {
            Verdict::Different => Verdict::Different,
            Verdict::Equal => other(),
            Verdict::Undecided if other() == Verdict::Different => Verdict::Different,
            Verdict::Undecided => Verdict::Undecided,
        }
    }
}

impl From<bool> for Verdict {
    fn from(same: bool) -> Verdict {
        if same { Verdict::Equal } else { Verdict::Different }
    }
}

/// Compares the values of two expressions. Letters are real numbers, and the expressions are equal if they agree
/// wherever both are defined.
pub fn same_value(left: &Expression, right: &Expression, budget: &Budget) -> Verdict {
    if left == right {
        return Verdict::Equal;
    }
    match (left.infinity(), right.infinity()) {
        (None, None) => {}
        (left, right) => return (left == right).into(),
    }
    if let (Some(left), Some(right)) = (exact_value(left, &[], budget), exact_value(right, &[], budget)) {
        return (left == right).into();
    }
    compare(&[left, right], budget, |values, _| values[0].overlap(&values[1]))
}

/// Compares two expressions up to a constant factor that is not zero; a positive one if `positive`.
pub fn same_multiple(left: &Expression, right: &Expression, positive: bool, budget: &Budget) -> Verdict {
    let arithmetic = Arithmetic::new(budget);
    // The values at the first point at which neither is zero: their ratio is the factor.
    let mut first: Option<[Complex; 2]> = None;
    let verdict = compare(&[left, right], budget, |values, _| {
        let [left, right] = values;
        if left.is_zero() || right.is_zero() {
            return left.overlap(right);
        }
        let Some([first_left, first_right]) = &first else {
            let ratio = arithmetic.divide_complex(left, right)?;
            let is_allowed = !positive || ratio.as_real()?.sign()? == Order::Greater;
            first = Some([left.clone(), right.clone()]);
            return Some(if is_allowed { Overlap::Close } else { Overlap::None });
        };
        let one = arithmetic.multiply_complex(left, first_right)?;
        one.overlap(&arithmetic.multiply_complex(right, first_left)?)
    });
    // Without a second point nothing has been compared.
    if verdict == Verdict::Equal && first.is_none() { Verdict::Undecided } else { verdict }
}

/// Compares two constants by size. `None` if they are not real, or too near to tell.
pub fn order(left: &Expression, right: &Expression, budget: &Budget) -> Option<Order> {
    if let (Some(left), Some(right)) = (exact_value(left, &[], budget), exact_value(right, &[], budget)) {
        return Some(left.cmp(&right));
    }
    let arithmetic = Arithmetic::new(budget);
    let point = Point { arithmetic: &arithmetic, letters: &[], is_complex: true };
    let (left, right) = (point.value(left)?, point.value(right)?);
    let (left, right) = (left.as_real()?, right.as_real()?);
    match left.overlap(right)? {
        Overlap::Close => Some(Order::Equal),
        Overlap::None => arithmetic.add(left, &right.negative())?.sign(),
        Overlap::Wide => None,
    }
}

/// Compares the values of two expressions at several points.
fn compare(
    sides: &[&Expression; 2],
    budget: &Budget,
    mut agree: impl FnMut(&[Complex; 2], u64) -> Option<Overlap>,
) -> Verdict {
    let mut letters = Vec::new();
    for side in sides {
        side.collect_letters(&mut letters);
    }
    if letters.len() > MAX_LETTERS {
        return Verdict::Undecided;
    }
    let arithmetic = Arithmetic::new(budget);
    let is_constant = letters.is_empty();
    let is_complex = is_constant || sides.iter().any(|side| side.is_complex());
    let sample = Sample {
        scale: sides.iter().map(|side| largest_constant(side)).max().unwrap_or_default(),
        has_integers: sides.iter().any(|side| needs_integers(side)),
        letters,
    };
    let is_smooth = !sides.iter().any(|side| side.has(&is_in_pieces));
    let wanted = if is_smooth { MAX_SMOOTH_AGREEMENTS } else { MAX_AGREEMENTS };
    let mut agreements = 0;
    for index in 0..if is_constant { 1 } else { MAX_POINTS } {
        let bindings = sample.point(index);
        let point = Point { arithmetic: &arithmetic, letters: &bindings, is_complex };
        let values = point.value(sides[0]).zip(point.value(sides[1]));
        if budget.is_spent() {
            return Verdict::Undecided;
        }
        let Some((left, right)) = values else { continue };
        match agree(&[left, right], index) {
            Some(Overlap::None) => return Verdict::Different,
            Some(Overlap::Close) => agreements += 1,
            Some(Overlap::Wide) | None => {}
        }
        if agreements >= wanted {
            break;
        }
    }
    let enough = if is_constant { 1 } else { MIN_AGREEMENTS };
    if agreements >= enough { Verdict::Equal } else { Verdict::Undecided }
}

/// The points at which two expressions are compared.
struct Sample {
    letters: Vec<String>,
    /// Size of the largest constant in the expressions.
    scale: RBig,
    /// True if the letters must be positive integers.
    has_integers: bool,
}

impl Sample {
    /// Returns the values of the letters at a point. They are the same on every run.
    fn point(&self, index: u64) -> Vec<(String, RBig)> {
        let value = |(at, letter): (usize, &String)| {
            let noise = mix(index.wrapping_mul(1_000_003).wrapping_add(at as u64));
            (letter.clone(), self.value(index, noise))
        };
        self.letters.iter().enumerate().map(value).collect()
    }

    fn value(&self, index: u64, noise: u64) -> RBig {
        if self.has_integers {
            return RBig::from(1 + noise % MAX_INTEGER);
        }
        let at = usize::try_from(index).unwrap_or(0) % SCALES.len();
        let scale = match SCALES.get(at) {
            Some(Scale::Constants(times)) => &self.scale * RBig::from(*times),
            Some(Scale::Fixed(scale)) => RBig::from(*scale),
            None => RBig::ONE,
        };
        // Powers with such exponents are square roots of square roots.
        let part = RBig::from_parts((noise % 128 * 2 + 1).into(), 256_u16.into());
        // Every other point has only positive numbers, where roots and logarithms are defined.
        let is_negative = index % 2 == 1 && (noise >> 32) % 2 == 1;
        if is_negative { -(scale * part) } else { scale * part }
    }
}

/// Returns pseudo-random bits (the finalizer of SplitMix64).
fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Returns the size of the largest number in an expression, and at least 1.
fn largest_constant(expression: &Expression) -> RBig {
    let own = match expression {
        Expression::Number(number) => number.clone().abs(),
        _ => RBig::ONE,
    };
    expression.parts().into_iter().map(largest_constant).fold(own.max(RBig::ONE), RBig::max)
}

/// Returns whether an expression has a meaning only for integers: it has a factorial, a binomial coefficient with a
/// letter below, or a power of a negative number with a letter in the exponent.
fn needs_integers(expression: &Expression) -> bool {
    expression.has(&|part| match part {
        Expression::Call(FunctionName::Factorial | FunctionName::Divisor | FunctionName::Multiple, parts) => {
            parts.iter().any(|part| !part.is_constant())
        }
        Expression::Call(FunctionName::Binomial, parts) => {
            parts.last().is_some_and(|below| !below.is_constant())
        }
        Expression::Power(base, exponent) => !exponent.is_constant() && is_negative(base),
        _ => false,
    })
}

/// Returns whether an expression may have different formulas in different places.
fn is_in_pieces(expression: &Expression) -> bool {
    match expression {
        Expression::Power(base, exponent) => {
            let is_integer = matches!(&**exponent, Expression::Number(number) if number.is_int());
            !is_integer && !base.is_constant()
        }
        Expression::Call(name, parts) => {
            let is_smooth = matches!(
                name,
                FunctionName::Sine
                    | FunctionName::Cosine
                    | FunctionName::Tangent
                    | FunctionName::Cotangent
                    | FunctionName::Secant
                    | FunctionName::Cosecant
                    | FunctionName::HyperbolicSine
                    | FunctionName::HyperbolicCosine
                    | FunctionName::HyperbolicTangent
                    | FunctionName::Exponential
                    | FunctionName::Logarithm
            );
            !is_smooth && !parts.iter().all(Expression::is_constant)
        }
        _ => false,
    }
}

fn is_negative(base: &Expression) -> bool {
    match base {
        Expression::Number(number) => number.is_negative(),
        Expression::Negative(part) => part.is_constant(),
        _ => false,
    }
}

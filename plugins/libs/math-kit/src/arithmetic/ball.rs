//! Real numbers within proven bounds: a middle of about 57 digits, and a radius. The library rounds correctly, and each
//! radius is rounded up.

use crate::limits::Budget;
use dashu_base::{Abs, Approximation, Signed};
use dashu_float::round::mode::{HalfEven, Up};
use dashu_float::{ConstCache, Context, FBig, FpResult, Repr};
use dashu_int::IBig;
use dashu_ratio::RBig;
use std::cmp::Ordering;

/// Precision of the middle, in bits.
const MIDDLE_BITS: usize = 192;
/// Precision of the radius, in bits.
const RADIUS_BITS: usize = 32;
/// Two balls that overlap are the same number if their radii are below their size by this many bits.
const MIN_AGREEMENT_BITS: isize = 120;
/// Largest size of a number, as a power of two. Larger and smaller numbers are not evaluated.
const MAX_MAGNITUDE: isize = 1 << 22;
/// Largest size of an exponent of Euler's number, as a power of two.
const MAX_EXPONENT: isize = 22;
/// Largest size of an angle, as a power of two.
const MAX_ANGLE: isize = 64;

const MIDDLE: Context<HalfEven> = Context::new(MIDDLE_BITS);
const RADIUS: Context<Up> = Context::new(RADIUS_BITS);

type Float = Repr<2>;

/// All numbers whose distance from the middle is at most the radius.
#[derive(Clone, Debug)]
pub struct Ball {
    middle: Float,
    radius: Float,
}

/// Result of comparing two numbers that are known within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The numbers differ.
    None,
    /// The numbers agree in at least [`MIN_AGREEMENT_BITS`] bits.
    Close,
    /// The bounds are too wide to tell.
    Wide,
}

/// Operations on balls, with the steps that are left and the constants known so far.
pub struct Arithmetic<'budget> {
    budget: &'budget Budget,
    constants: std::cell::RefCell<ConstCache>,
}

/// Steps that the operations take, as measured; see [`crate::limits::MAX_STEPS`].
const SUM_STEPS: u64 = 2;
const PRODUCT_STEPS: u64 = 4;
const QUOTIENT_STEPS: u64 = 4;
const ROOT_STEPS: u64 = 5;
const EXPONENTIAL_STEPS: u64 = 170;
const LOGARITHM_STEPS: u64 = 1_000;
const ANGLE_STEPS: u64 = 320;
const ARCTANGENT_STEPS: u64 = 850;

impl<'budget> Arithmetic<'budget> {
    /// Creates an arithmetic whose steps are taken from a budget.
    pub fn new(budget: &'budget Budget) -> Self {
        Arithmetic { budget, constants: std::cell::RefCell::new(ConstCache::new()) }
    }

    /// Returns the budget.
    pub fn budget(&self) -> &'budget Budget {
        self.budget
    }

    /// Returns a rational number.
    pub fn rational(&self, value: &RBig) -> Option<Ball> {
        self.budget.spend(SUM_STEPS)?;
        let above = rounded(Ok(MIDDLE.convert_int(value.numerator().clone())), zero())?;
        let below = rounded(Ok(MIDDLE.convert_int(IBig::from(value.denominator().clone()))), zero())?;
        if value.is_int() { Some(above) } else { self.divide(&above, &below) }
    }

    /// Returns a sum.
    pub fn add(&self, left: &Ball, right: &Ball) -> Option<Ball> {
        self.budget.spend(SUM_STEPS)?;
        rounded(MIDDLE.add(&left.middle, &right.middle), upward(RADIUS.add(&left.radius, &right.radius))?)
    }

    /// Returns a product.
    pub fn multiply(&self, left: &Ball, right: &Ball) -> Option<Ball> {
        self.budget.spend(PRODUCT_STEPS)?;
        let outer = product_up(&size(&left.middle)?, &right.radius)?;
        let inner = product_up(&upper(right)?, &left.radius)?;
        rounded(MIDDLE.mul(&left.middle, &right.middle), sum_up(&outer, &inner)?)
    }

    /// Returns a quotient. `None` if the divisor may be zero.
    pub fn divide(&self, above: &Ball, below: &Ball) -> Option<Ball> {
        self.budget.spend(QUOTIENT_STEPS)?;
        let nearest = lower(below)?;
        let quotient = MIDDLE.div(&above.middle, &below.middle);
        let size = size(value_of(&quotient)?.repr())?;
        // The rounding of the quotient itself is far below the doubled product.
        let error = sum_up(&above.radius, &product_up(&doubled(&size), &below.radius)?)?;
        let radius = upward(RADIUS.div(&error, &nearest))?;
        rounded(quotient, radius)
    }

    /// Returns the square root of a number that is not negative.
    pub fn square_root(&self, of: &Ball) -> Option<Ball> {
        self.budget.spend(ROOT_STEPS)?;
        if of.is_zero() {
            return Some(of.clone());
        }
        if lower(of).is_none() {
            // The number may be zero, or below by an error of rounding.
            let radius = upward(RADIUS.sqrt(&upper(of)?))?;
            return Some(Ball { middle: zero(), radius });
        }
        if of.sign()? == Ordering::Less {
            return None;
        }
        let root = MIDDLE.sqrt(&of.middle);
        let below = value_of(&root)?.repr().clone();
        // |√(m+t) − √m| ≤ |t| / √m; doubled for the rounding of the root.
        let radius = doubled(&upward(RADIUS.div(&of.radius, &below))?);
        rounded(root, radius)
    }

    /// Returns a power of Euler's number.
    pub fn exponential(&self, of: &Ball) -> Option<Ball> {
        self.budget.spend(EXPONENTIAL_STEPS)?;
        if magnitude(&of.middle) > MAX_EXPONENT || magnitude(&of.radius) > 0 {
            return None;
        }
        if of.is_zero() {
            return Some(one());
        }
        let mut constants = self.constants.try_borrow_mut().ok()?;
        let power = MIDDLE.exp(&of.middle, Some(&mut *constants));
        // For r ≤ 1, e^r − 1 ≤ 2r; doubled again for the rounding of the power.
        let radius = product_up(&size(value_of(&power)?.repr())?, &doubled(&doubled(&of.radius)))?;
        rounded(power, radius)
    }

    /// Returns the natural logarithm of a positive number.
    pub fn logarithm(&self, of: &Ball) -> Option<Ball> {
        self.budget.spend(LOGARITHM_STEPS)?;
        let nearest = lower(of)?;
        if of.sign()? == Ordering::Less {
            return None;
        }
        if of.is_exact() && of.middle.is_one() {
            return Some(Ball::zero());
        }
        let mut constants = self.constants.try_borrow_mut().ok()?;
        let logarithm = MIDDLE.ln(&of.middle, Some(&mut *constants));
        rounded(logarithm, upward(RADIUS.div(&of.radius, &nearest))?)
    }

    /// Returns the sine and the cosine of an angle.
    pub fn sine_and_cosine(&self, of: &Ball) -> Option<(Ball, Ball)> {
        self.budget.spend(ANGLE_STEPS)?;
        if of.is_zero() {
            return Some((Ball::zero(), one()));
        }
        if magnitude(&of.middle) > MAX_ANGLE {
            return None;
        }
        let mut constants = self.constants.try_borrow_mut().ok()?;
        let (sine, cosine) = MIDDLE.sin_cos(&of.middle, Some(&mut *constants));
        Some((rounded(sine, of.radius.clone())?, rounded(cosine, of.radius.clone())?))
    }

    /// Returns the angle of the point with these coordinates, in radians. `None` if it may be the origin, or may be on
    /// either side of the negative axis.
    pub fn angle(&self, ordinate: &Ball, abscissa: &Ball) -> Option<Ball> {
        self.budget.spend(ARCTANGENT_STEPS)?;
        if ordinate.is_zero() {
            return if abscissa.sign()? == Ordering::Less { self.pi() } else { Some(Ball::zero()) };
        }
        if lower(ordinate).is_none() && abscissa.sign()? == Ordering::Less {
            return None;
        }
        let nearest = match (lower(ordinate), lower(abscissa)) {
            (Some(ordinate), Some(abscissa)) => std::cmp::max(ordinate, abscissa),
            (ordinate, abscissa) => ordinate.or(abscissa)?,
        };
        let mut constants = self.constants.try_borrow_mut().ok()?;
        let angle = MIDDLE.atan2(&ordinate.middle, &abscissa.middle, Some(&mut *constants));
        let error = sum_up(&ordinate.radius, &abscissa.radius)?;
        rounded(angle, upward(RADIUS.div(&error, &nearest))?)
    }

    /// Returns π.
    pub fn pi(&self) -> Option<Ball> {
        self.budget.spend(10)?;
        let mut constants = self.constants.try_borrow_mut().ok()?;
        let pi = MIDDLE.pi::<2>(Some(&mut *constants));
        rounded(Ok(pi), zero())
    }
}

impl Ball {
    /// Returns zero, exactly.
    pub fn zero() -> Ball {
        Ball { middle: zero(), radius: zero() }
    }

    /// Returns the negative.
    pub fn negative(&self) -> Ball {
        Ball { middle: -self.middle.clone(), radius: self.radius.clone() }
    }

    /// Returns the absolute value.
    pub fn absolute(&self) -> Ball {
        let middle = Repr::new(self.middle.significand().clone().abs(), self.middle.exponent());
        Ball { middle, radius: self.radius.clone() }
    }

    /// Returns whether the number is zero, exactly.
    pub fn is_zero(&self) -> bool {
        self.is_exact() && self.middle.significand().is_zero()
    }

    fn is_exact(&self) -> bool {
        self.radius.significand().is_zero()
    }

    /// Returns how the number compares with zero. `None` if the bounds do not tell.
    pub fn sign(&self) -> Option<Ordering> {
        if self.is_zero() {
            return Some(Ordering::Equal);
        }
        lower(self)?;
        Some(if self.middle.significand().is_negative() { Ordering::Less } else { Ordering::Greater })
    }

    /// Compares two numbers.
    pub fn overlap(&self, other: &Ball) -> Option<Overlap> {
        let difference = value_of(&MIDDLE.sub(&self.middle, &other.middle))?.repr().clone();
        let radius = sum_up(&self.radius, &other.radius)?;
        let size = std::cmp::max(magnitude(&self.middle), magnitude(&other.middle));
        // The difference itself is rounded, by less than the last bit of the larger number.
        let rounding = Repr::new(IBig::ONE, size - isize::try_from(MIDDLE_BITS).ok()?);
        let reach =
            if difference.significand().is_zero() { radius.clone() } else { sum_up(&radius, &rounding)? };
        let is_exact = radius.significand().is_zero();
        if absolute(&difference) > reach || (is_exact && !difference.significand().is_zero()) {
            return Some(Overlap::None);
        }
        let allowed = std::cmp::max(size, 0) - MIN_AGREEMENT_BITS;
        Some(if is_exact || magnitude(&reach) <= allowed { Overlap::Close } else { Overlap::Wide })
    }

    /// Returns the largest integer that is not above the number. `None` if the bounds do not tell.
    pub fn floor(&self) -> Option<IBig> {
        if magnitude(&self.middle) > 128 {
            return None;
        }
        let below = value_of(&MIDDLE.sub(&self.middle, &self.radius))?.repr().clone();
        let above = value_of(&MIDDLE.add(&self.middle, &self.radius))?.repr().clone();
        let (below, above) = (floor(below), floor(above));
        (below == above && !self.is_near_integer()?).then_some(below)
    }

    /// Returns whether an integer is so near that rounding may have crossed it.
    fn is_near_integer(&self) -> Option<bool> {
        let nearest = FBig::from_repr(self.middle.clone(), MIDDLE).round();
        let nearest = Ball { middle: nearest.into_repr(), radius: zero() };
        Some(self.overlap(&nearest)? != Overlap::None)
    }
}

fn floor(value: Float) -> IBig {
    let floor = FBig::from_repr(value, MIDDLE).floor();
    floor.to_int().value()
}

fn zero() -> Float {
    Repr::zero()
}

fn one() -> Ball {
    Ball { middle: Repr::one(), radius: zero() }
}

fn absolute(value: &Float) -> Float {
    Repr::new(value.significand().clone().abs(), value.exponent())
}

fn doubled(value: &Float) -> Float {
    Repr::new(value.significand().clone(), value.exponent() + 1)
}

/// Returns the power of two that is just above the size of a number; a very low one for zero.
fn magnitude(value: &Float) -> isize {
    if value.significand().is_zero() {
        return -MAX_MAGNITUDE;
    }
    isize::try_from(value.digits()).map_or(MAX_MAGNITUDE, |digits| digits.saturating_add(value.exponent()))
}

fn value_of<R: dashu_float::round::Round>(result: &FpResult<FBig<R, 2>>) -> Option<&FBig<R, 2>> {
    let value = match result.as_ref().ok()? {
        Approximation::Exact(value) | Approximation::Inexact(value, _) => value,
    };
    let is_in_range = value.repr().is_finite()
        && (value.repr().significand().is_zero() || magnitude(value.repr()).abs() < MAX_MAGNITUDE);
    is_in_range.then_some(value)
}

/// Creates a ball from a result and its error, to which the error of rounding is added.
fn rounded(result: FpResult<FBig<HalfEven, 2>>, radius: Float) -> Option<Ball> {
    let middle = value_of(&result)?.repr().clone();
    let radius = match result.ok()? {
        Approximation::Exact(_) => radius,
        Approximation::Inexact(..) => {
            let last_bit = magnitude(&middle) - isize::try_from(MIDDLE_BITS).ok()?;
            sum_up(&radius, &Repr::new(IBig::ONE, last_bit))?
        }
    };
    Some(Ball { middle, radius })
}

fn upward(result: FpResult<FBig<Up, 2>>) -> Option<Float> {
    Some(value_of(&result)?.repr().clone())
}

fn sum_up(left: &Float, right: &Float) -> Option<Float> {
    upward(RADIUS.add(left, right))
}

fn product_up(left: &Float, right: &Float) -> Option<Float> {
    upward(RADIUS.mul(left, right))
}

/// Returns the absolute value of a number, rounded up.
fn size(value: &Float) -> Option<Float> {
    sum_up(&absolute(value), &zero())
}

/// Returns the largest absolute value in a ball.
fn upper(ball: &Ball) -> Option<Float> {
    sum_up(&absolute(&ball.middle), &ball.radius)
}

/// Returns a positive number below all absolute values in a ball. `None` if there is none.
fn lower(ball: &Ball) -> Option<Float> {
    let down: Context<dashu_float::round::mode::Down> = Context::new(RADIUS_BITS);
    let nearest = down.sub(&absolute(&ball.middle), &ball.radius);
    let nearest = value_of(&nearest)?.repr().clone();
    (!nearest.significand().is_zero() && !nearest.significand().is_negative()).then_some(nearest)
}

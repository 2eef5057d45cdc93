//! The value of an expression at a point, within proven bounds.

use crate::arithmetic::ball::{Arithmetic, Ball};
use crate::arithmetic::complex::Complex;
use crate::arithmetic::exact::{Bindings, exact_value};
use crate::expression::{Expression, FunctionName, NamedNumber};
use dashu_base::Signed;
use dashu_int::IBig;
use dashu_ratio::RBig;
use std::cmp::Ordering;

/// Largest lower argument of a binomial coefficient that is evaluated as a product.
const MAX_BINOMIAL: u32 = 200;

/// Largest number of square roots, and largest integer power, that replace a power.
const MAX_ROOTS: u32 = 10;
const MAX_TIMES: u32 = 100_000;

/// A point at which expressions are evaluated.
pub struct Point<'arithmetic, 'budget> {
    /// The arithmetic in which they are evaluated.
    pub arithmetic: &'arithmetic Arithmetic<'budget>,
    /// Values of the letters.
    pub letters: &'arithmetic Bindings,
    /// True if roots and logarithms of negative numbers have values.
    pub is_complex: bool,
}

impl Point<'_, '_> {
    /// Returns the value of an expression. `None` if it has none at this point, or needs too many steps.
    pub fn value(&self, expression: &Expression) -> Option<Complex> {
        let arithmetic = self.arithmetic;
        arithmetic.budget().spend(1)?;
        match expression {
            Expression::Number(number) => Some(arithmetic.rational(number)?.into()),
            Expression::Letter(letter) => {
                let (_, value) = self.letters.iter().find(|(name, _)| name == letter)?;
                Some(arithmetic.rational(value)?.into())
            }
            Expression::Named(NamedNumber::Pi) => Some(arithmetic.pi()?.into()),
            Expression::Named(NamedNumber::Euler) => {
                Some(arithmetic.exponential(&arithmetic.rational(&RBig::ONE)?)?.into())
            }
            Expression::Named(NamedNumber::Imaginary) => {
                Some(Complex { real: Ball::zero(), imaginary: Some(arithmetic.rational(&RBig::ONE)?) })
            }
            Expression::Named(NamedNumber::Infinity) | Expression::PlusMinus(..) => None,
            Expression::Sum(parts) => {
                let mut total = Complex::from(Ball::zero());
                for part in parts {
                    total = arithmetic.add_complex(&total, &self.value(part)?)?;
                }
                Some(total)
            }
            Expression::Product(parts) => {
                let mut total = Complex::from(arithmetic.rational(&RBig::ONE)?);
                for part in parts {
                    total = arithmetic.multiply_complex(&total, &self.value(part)?)?;
                }
                Some(total)
            }
            Expression::Quotient(above, below) => {
                arithmetic.divide_complex(&self.value(above)?, &self.value(below)?)
            }
            Expression::Negative(part) => Some(self.value(part)?.negative()),
            Expression::Degrees(part) => {
                let half_turn = arithmetic.rational(&RBig::from(180))?;
                let degree = arithmetic.divide(&arithmetic.pi()?, &half_turn)?;
                arithmetic.multiply_complex(&self.value(part)?, &degree.into())
            }
            Expression::Power(base, exponent) => self.power(base, exponent),
            Expression::Call(name, parts) => self.call(*name, parts),
        }
    }

    fn exact(&self, expression: &Expression) -> Option<RBig> {
        exact_value(expression, self.letters, self.arithmetic.budget())
    }

    fn real(&self, expression: &Expression) -> Option<Ball> {
        self.value(expression)?.as_real().cloned()
    }

    fn power(&self, base: &Expression, exponent: &Expression) -> Option<Complex> {
        let value = self.value(base)?;
        match self.exact(exponent) {
            Some(exponent) => self.rational_power(&value, &exponent),
            None => {
                let exponent = self.value(exponent)?;
                let is_positive = value.as_real().and_then(Ball::sign) == Some(Ordering::Greater);
                if !is_positive && !self.is_complex {
                    return None;
                }
                let logarithm = self.arithmetic.logarithm_complex(&value)?;
                self.arithmetic.exponential_complex(&self.arithmetic.multiply_complex(&logarithm, &exponent)?)
            }
        }
    }

    /// Returns a power with a rational exponent. An odd root of a negative number is negative.
    fn rational_power(&self, base: &Complex, exponent: &RBig) -> Option<Complex> {
        let arithmetic = self.arithmetic;
        if base.is_zero() {
            return exponent.is_positive().then(|| Ball::zero().into());
        }
        if exponent.is_int() {
            let times: i64 = exponent.numerator().try_into().ok()?;
            let times_up = u32::try_from(times.unsigned_abs()).ok()?;
            let one = Complex::from(arithmetic.rational(&RBig::ONE)?);
            if times == 0 {
                return Some(one);
            }
            let power = arithmetic.integer_power(base, times_up)?;
            return if times < 0 { arithmetic.divide_complex(&one, &power) } else { Some(power) };
        }
        let is_square_root = *exponent == RBig::from_parts(IBig::ONE, 2_u8.into());
        let Some(real) = base.as_real() else {
            return self.general_power(base, exponent);
        };
        // A number that may be zero has a square root within bounds.
        let sign = if is_square_root { real.sign().unwrap_or(Ordering::Greater) } else { real.sign()? };
        match sign {
            Ordering::Less => {
                let is_odd_root = exponent.denominator() % 2_u8 != 0;
                if is_odd_root {
                    let power = self.rational_power(&real.negative().into(), exponent)?;
                    let is_even_power = exponent.numerator() % 2_u8 == 0;
                    return Some(if is_even_power { power } else { power.negative() });
                }
                if !self.is_complex {
                    return None;
                }
                if is_square_root {
                    let root = arithmetic.square_root(&real.negative())?;
                    return Some(Complex { real: Ball::zero(), imaginary: Some(root) });
                }
                self.general_power(base, exponent)
            }
            _ if is_square_root => Some(arithmetic.square_root(real)?.into()),
            _ => match self.dyadic_power(real, exponent) {
                Some(power) => Some(power.into()),
                None => self.general_power(base, exponent),
            },
        }
    }

    /// Returns a power of a positive number whose exponent has a small power of two below: square roots of an integer
    /// power. `None` for other exponents.
    fn dyadic_power(&self, base: &Ball, exponent: &RBig) -> Option<Ball> {
        let below = u32::try_from(exponent.denominator()).ok().filter(|below| below.is_power_of_two())?;
        let roots = below.trailing_zeros();
        let times = i32::try_from(exponent.numerator()).ok()?;
        if roots > MAX_ROOTS || times.unsigned_abs() > MAX_TIMES {
            return None;
        }
        let power = self.arithmetic.integer_power(&base.clone().into(), times.unsigned_abs())?;
        let mut power = power.as_real()?.clone();
        for _ in 0..roots {
            power = self.arithmetic.square_root(&power)?;
        }
        if times < 0 {
            self.arithmetic.divide(&self.arithmetic.rational(&RBig::ONE)?, &power)
        } else {
            Some(power)
        }
    }

    fn general_power(&self, base: &Complex, exponent: &RBig) -> Option<Complex> {
        let logarithm = self.arithmetic.logarithm_complex(base)?;
        let exponent = Complex::from(self.arithmetic.rational(exponent)?);
        self.arithmetic.exponential_complex(&self.arithmetic.multiply_complex(&logarithm, &exponent)?)
    }

    fn call(&self, name: FunctionName, parts: &[Expression]) -> Option<Complex> {
        let arithmetic = self.arithmetic;
        match (name, parts) {
            (FunctionName::Exponential, [of]) => arithmetic.exponential_complex(&self.value(of)?),
            (FunctionName::Logarithm, [of]) => self.logarithm(of),
            (FunctionName::Logarithm, [of, base]) => {
                let base = self.real(base)?;
                let below = arithmetic.logarithm(&base)?;
                arithmetic.divide_complex(&self.logarithm(of)?, &below.into())
            }
            (FunctionName::Root, [of, index]) => {
                let index = self.exact(index).filter(|index| index.is_int() && index.is_positive())?;
                self.rational_power(&self.value(of)?, &(RBig::ONE / index))
            }
            (FunctionName::Absolute, [of]) => Some(arithmetic.modulus(&self.value(of)?)?.into()),
            (FunctionName::Floor | FunctionName::Ceiling, [of]) => self.rounding(name, of),
            (FunctionName::Binomial, [above, below]) => self.binomial(above, below),
            (FunctionName::Factorial | FunctionName::Divisor | FunctionName::Multiple, _) => {
                let value = self.exact(&Expression::Call(name, parts.to_vec()))?;
                Some(arithmetic.rational(&value)?.into())
            }
            (FunctionName::Maximum | FunctionName::Minimum, [first, others @ ..]) => {
                let mut best = self.real(first)?;
                for other in others {
                    best = self.larger(&best, &self.real(other)?, name == FunctionName::Maximum)?;
                }
                Some(best.into())
            }
            (_, [of]) => self.angle_function(name, &self.value(of)?),
            _ => None,
        }
    }

    fn logarithm(&self, of: &Expression) -> Option<Complex> {
        let value = self.value(of)?;
        if !self.is_complex && value.as_real()?.sign()? != Ordering::Greater {
            return None;
        }
        self.arithmetic.logarithm_complex(&value)
    }

    /// Returns the larger of two numbers, or the smaller one: half of their sum and of their distance.
    fn larger(&self, left: &Ball, right: &Ball, is_maximum: bool) -> Option<Ball> {
        let arithmetic = self.arithmetic;
        let distance = arithmetic.add(left, &right.negative())?.absolute();
        let distance = if is_maximum { distance } else { distance.negative() };
        let sum = arithmetic.add(&arithmetic.add(left, right)?, &distance)?;
        arithmetic.divide(&sum, &arithmetic.rational(&RBig::from(2))?)
    }

    fn rounding(&self, name: FunctionName, of: &Expression) -> Option<Complex> {
        let rounded = match self.exact(of) {
            Some(value) if name == FunctionName::Floor => value.floor(),
            Some(value) => value.ceil(),
            None if name == FunctionName::Floor => self.real(of)?.floor()?,
            None => -self.real(of)?.negative().floor()?,
        };
        Some(self.arithmetic.rational(&rounded.into())?.into())
    }

    /// Returns a binomial coefficient as a polynomial in its upper argument.
    fn binomial(&self, above: &Expression, below: &Expression) -> Option<Complex> {
        let arithmetic = self.arithmetic;
        if let Some(value) =
            self.exact(&Expression::Call(FunctionName::Binomial, vec![above.clone(), below.clone()]))
        {
            return Some(arithmetic.rational(&value)?.into());
        }
        let below = self.exact(below).filter(RBig::is_int)?;
        let steps = u32::try_from(below.numerator()).ok().filter(|steps| *steps <= MAX_BINOMIAL)?;
        let above = self.value(above)?;
        let mut product = Complex::from(arithmetic.rational(&RBig::ONE)?);
        for step in 0..steps {
            let less = arithmetic.rational(&-RBig::from(step))?;
            let factor = arithmetic.add_complex(&above, &less.into())?;
            product = arithmetic.multiply_complex(&product, &factor)?;
            product =
                arithmetic.divide_complex(&product, &arithmetic.rational(&RBig::from(step + 1))?.into())?;
        }
        Some(product)
    }

    fn angle_function(&self, name: FunctionName, of: &Complex) -> Option<Complex> {
        let arithmetic = self.arithmetic;
        match name {
            FunctionName::Arcsine | FunctionName::Arccosine | FunctionName::Arctangent => {
                Some(self.inverse_angle(name, of.as_real()?)?.into())
            }
            FunctionName::HyperbolicSine
            | FunctionName::HyperbolicCosine
            | FunctionName::HyperbolicTangent => {
                let (sine, cosine) = self.hyperbolic(of)?;
                match name {
                    FunctionName::HyperbolicSine => Some(sine),
                    FunctionName::HyperbolicCosine => Some(cosine),
                    _ => arithmetic.divide_complex(&sine, &cosine),
                }
            }
            _ => {
                let (sine, cosine) = self.sine_and_cosine(of)?;
                let one = Complex::from(arithmetic.rational(&RBig::ONE)?);
                match name {
                    FunctionName::Sine => Some(sine),
                    FunctionName::Cosine => Some(cosine),
                    FunctionName::Tangent => arithmetic.divide_complex(&sine, &cosine),
                    FunctionName::Cotangent => arithmetic.divide_complex(&cosine, &sine),
                    FunctionName::Secant => arithmetic.divide_complex(&one, &cosine),
                    FunctionName::Cosecant => arithmetic.divide_complex(&one, &sine),
                    _ => None,
                }
            }
        }
    }

    fn inverse_angle(&self, name: FunctionName, of: &Ball) -> Option<Ball> {
        let arithmetic = self.arithmetic;
        let one = arithmetic.rational(&RBig::ONE)?;
        if name == FunctionName::Arctangent {
            return arithmetic.angle(of, &one);
        }
        let square = arithmetic.multiply(of, of)?;
        let other = arithmetic.square_root(&arithmetic.add(&one, &square.negative())?)?;
        if name == FunctionName::Arcsine {
            arithmetic.angle(of, &other)
        } else {
            arithmetic.angle(&other, of)
        }
    }

    fn hyperbolic(&self, of: &Complex) -> Option<(Complex, Complex)> {
        let arithmetic = self.arithmetic;
        let (up, down) =
            (arithmetic.exponential_complex(of)?, arithmetic.exponential_complex(&of.negative())?);
        let two = Complex::from(arithmetic.rational(&RBig::from(2))?);
        let sine = arithmetic.divide_complex(&arithmetic.add_complex(&up, &down.negative())?, &two)?;
        Some((sine, arithmetic.divide_complex(&arithmetic.add_complex(&up, &down)?, &two)?))
    }

    fn sine_and_cosine(&self, of: &Complex) -> Option<(Complex, Complex)> {
        let arithmetic = self.arithmetic;
        if let Some(real) = of.as_real() {
            let (sine, cosine) = arithmetic.sine_and_cosine(real)?;
            return Some((sine.into(), cosine.into()));
        }
        // sin z = sinh(iz) / i and cos z = cosh(iz).
        let unit = self.value(&Expression::Named(NamedNumber::Imaginary))?;
        let (sine, cosine) = self.hyperbolic(&arithmetic.multiply_complex(of, &unit)?)?;
        Some((arithmetic.divide_complex(&sine, &unit)?, cosine))
    }
}

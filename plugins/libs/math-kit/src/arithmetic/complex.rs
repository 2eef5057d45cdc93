//! Complex numbers within proven bounds.

use crate::arithmetic::ball::{Arithmetic, Ball, Overlap};
use std::cmp::Ordering;

/// A complex number.
#[derive(Clone, Debug)]
pub struct Complex {
    /// Real part.
    pub real: Ball,
    /// Imaginary part. `None` if the number is real by construction.
    pub imaginary: Option<Ball>,
}

impl From<Ball> for Complex {
    fn from(real: Ball) -> Complex {
        Complex { real, imaginary: None }
    }
}

impl Complex {
    /// Returns whether the number is zero, exactly.
    pub fn is_zero(&self) -> bool {
        self.real.is_zero() && self.imaginary.as_ref().is_none_or(Ball::is_zero)
    }

    /// Returns the negative.
    pub fn negative(&self) -> Complex {
        Complex { real: self.real.negative(), imaginary: self.imaginary.as_ref().map(Ball::negative) }
    }

    /// Returns the number as a real one if its imaginary part is zero, exactly.
    pub fn as_real(&self) -> Option<&Ball> {
        self.imaginary.as_ref().is_none_or(Ball::is_zero).then_some(&self.real)
    }

    /// Compares two numbers.
    pub fn overlap(&self, other: &Complex) -> Option<Overlap> {
        let real = self.real.overlap(&other.real)?;
        let imaginary = match (&self.imaginary, &other.imaginary) {
            (None, None) => Overlap::Close,
            (Some(left), Some(right)) => left.overlap(right)?,
            (Some(single), None) | (None, Some(single)) => single.overlap(&Ball::zero())?,
        };
        Some(match (real, imaginary) {
            (Overlap::None, _) | (_, Overlap::None) => Overlap::None,
            (Overlap::Close, Overlap::Close) => Overlap::Close,
            _ => Overlap::Wide,
        })
    }
}

impl Arithmetic<'_> {
    /// Returns the sum of complex numbers.
    pub fn add_complex(&self, left: &Complex, right: &Complex) -> Option<Complex> {
        let imaginary = match (&left.imaginary, &right.imaginary) {
            (Some(left), Some(right)) => Some(self.add(left, right)?),
            (single, None) | (None, single) => single.clone(),
        };
        Some(Complex { real: self.add(&left.real, &right.real)?, imaginary })
    }

    /// Returns the product of complex numbers.
    pub fn multiply_complex(&self, left: &Complex, right: &Complex) -> Option<Complex> {
        let real = self.multiply(&left.real, &right.real)?;
        Some(match (&left.imaginary, &right.imaginary) {
            (None, None) => real.into(),
            (Some(imaginary), None) => {
                Complex { real, imaginary: Some(self.multiply(imaginary, &right.real)?) }
            }
            (None, Some(imaginary)) => {
                Complex { real, imaginary: Some(self.multiply(&left.real, imaginary)?) }
            }
            (Some(first), Some(second)) => {
                let cross = self.multiply(first, second)?;
                let (one, other) = (self.multiply(&left.real, second)?, self.multiply(first, &right.real)?);
                Complex {
                    real: self.add(&real, &cross.negative())?,
                    imaginary: Some(self.add(&one, &other)?),
                }
            }
        })
    }

    /// Returns the quotient of complex numbers. `None` if the divisor may be zero.
    pub fn divide_complex(&self, above: &Complex, below: &Complex) -> Option<Complex> {
        let Some(imaginary) = &below.imaginary else {
            let part = |part: &Ball| self.divide(part, &below.real);
            let imaginary = match &above.imaginary {
                Some(imaginary) => Some(part(imaginary)?),
                None => None,
            };
            return Some(Complex { real: part(&above.real)?, imaginary });
        };
        let conjugate = Complex { real: below.real.clone(), imaginary: Some(imaginary.negative()) };
        let square =
            self.add(&self.multiply(&below.real, &below.real)?, &self.multiply(imaginary, imaginary)?)?;
        let product = self.multiply_complex(above, &conjugate)?;
        self.divide_complex(&product, &square.into())
    }

    /// Returns the absolute value.
    pub fn modulus(&self, of: &Complex) -> Option<Ball> {
        let Some(imaginary) = &of.imaginary else { return Some(of.real.absolute()) };
        let square = self.add(&self.multiply(&of.real, &of.real)?, &self.multiply(imaginary, imaginary)?)?;
        self.square_root(&square)
    }

    /// Returns a power of Euler's number.
    pub fn exponential_complex(&self, of: &Complex) -> Option<Complex> {
        let size = self.exponential(&of.real)?;
        let Some(imaginary) = &of.imaginary else { return Some(size.into()) };
        let (sine, cosine) = self.sine_and_cosine(imaginary)?;
        Some(Complex { real: self.multiply(&size, &cosine)?, imaginary: Some(self.multiply(&size, &sine)?) })
    }

    /// Returns the principal logarithm.
    pub fn logarithm_complex(&self, of: &Complex) -> Option<Complex> {
        if let Some(real) = of.as_real()
            && real.sign()? == Ordering::Greater
        {
            return Some(self.logarithm(real)?.into());
        }
        let real = self.logarithm(&self.modulus(of)?)?;
        let ordinate = of.imaginary.clone().unwrap_or_else(Ball::zero);
        Some(Complex { real, imaginary: Some(self.angle(&ordinate, &of.real)?) })
    }

    /// Returns an integer power, by repeated squaring.
    pub fn integer_power(&self, base: &Complex, exponent: u32) -> Option<Complex> {
        let mut result: Option<Complex> = None;
        let mut square = base.clone();
        let mut left = exponent;
        while left > 0 {
            if left % 2 == 1 {
                result = Some(match result {
                    Some(result) => self.multiply_complex(&result, &square)?,
                    None => square.clone(),
                });
            }
            left /= 2;
            if left > 0 {
                square = self.multiply_complex(&square, &square)?;
            }
        }
        result
    }
}

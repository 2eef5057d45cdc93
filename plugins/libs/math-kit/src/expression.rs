//! Expressions: what an answer's formula says, without its notation.

use dashu_ratio::RBig;

/// A number with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedNumber {
    /// The ratio of a circle's circumference to its diameter.
    Pi,
    /// The base of natural logarithms.
    Euler,
    /// The square root of −1.
    Imaginary,
    /// Positive infinity, which is a value only as a whole answer or as an end of an interval.
    Infinity,
}

/// A function of one argument, or of several where that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionName {
    /// Sine of an angle in radians.
    Sine,
    /// Cosine of an angle in radians.
    Cosine,
    /// Tangent of an angle in radians.
    Tangent,
    /// Cotangent of an angle in radians.
    Cotangent,
    /// Secant of an angle in radians.
    Secant,
    /// Cosecant of an angle in radians.
    Cosecant,
    /// Inverse sine.
    Arcsine,
    /// Inverse cosine.
    Arccosine,
    /// Inverse tangent.
    Arctangent,
    /// Hyperbolic sine.
    HyperbolicSine,
    /// Hyperbolic cosine.
    HyperbolicCosine,
    /// Hyperbolic tangent.
    HyperbolicTangent,
    /// Natural logarithm, or the logarithm to the base that is the second argument.
    Logarithm,
    /// Power of Euler's number.
    Exponential,
    /// Root whose index is the second argument.
    Root,
    /// Absolute value, or the modulus of a complex number.
    Absolute,
    /// Largest integer that is not above the argument.
    Floor,
    /// Smallest integer that is not below the argument.
    Ceiling,
    /// Factorial of a non-negative integer.
    Factorial,
    /// Binomial coefficient of two arguments.
    Binomial,
    /// Largest of the arguments.
    Maximum,
    /// Smallest of the arguments.
    Minimum,
    /// Greatest common divisor of the arguments.
    Divisor,
    /// Least common multiple of the arguments.
    Multiple,
}

/// A formula whose value is a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A rational number.
    Number(RBig),
    /// A number with a name.
    Named(NamedNumber),
    /// An unknown or a parameter, with its index.
    Letter(String),
    /// A sum of terms.
    Sum(Vec<Expression>),
    /// A product of factors.
    Product(Vec<Expression>),
    /// A quotient of two expressions.
    Quotient(Box<Expression>, Box<Expression>),
    /// A power: base and exponent.
    Power(Box<Expression>, Box<Expression>),
    /// The negative of an expression.
    Negative(Box<Expression>),
    /// An expression and its negative: `±` takes the positive one first, `∓` the negative one.
    PlusMinus(Box<Expression>, bool),
    /// An angle in degrees.
    Degrees(Box<Expression>),
    /// The value of a function.
    Call(FunctionName, Vec<Expression>),
}

impl Expression {
    /// Creates a whole number.
    pub fn whole(number: i64) -> Expression {
        Expression::Number(RBig::from(number))
    }

    /// Creates a quotient.
    pub fn quotient(above: Expression, below: Expression) -> Expression {
        Expression::Quotient(Box::new(above), Box::new(below))
    }

    /// Creates a power.
    pub fn power(base: Expression, exponent: Expression) -> Expression {
        Expression::Power(Box::new(base), Box::new(exponent))
    }

    /// Creates a negative. The negative of a number is a number.
    pub fn negative(of: Expression) -> Expression {
        match of {
            Expression::Number(number) => Expression::Number(-number),
            other => Expression::Negative(Box::new(other)),
        }
    }

    /// Creates a difference.
    pub fn difference(left: Expression, right: Expression) -> Expression {
        Expression::Sum(vec![left, Expression::negative(right)])
    }

    /// Returns the parts of an expression, without the parts of those.
    pub fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::Number(_) | Expression::Named(_) | Expression::Letter(_) => Vec::new(),
            Expression::Sum(parts) | Expression::Product(parts) | Expression::Call(_, parts) => {
                parts.iter().collect()
            }
            Expression::Quotient(left, right) | Expression::Power(left, right) => vec![left, right],
            Expression::Negative(part) | Expression::PlusMinus(part, _) | Expression::Degrees(part) => {
                vec![part]
            }
        }
    }

    /// Returns the number of parts at all depths, with the expression itself.
    pub fn size(&self) -> usize {
        1 + self.parts().iter().map(|part| part.size()).sum::<usize>()
    }

    /// Returns whether the expression or one of its parts has a property.
    pub fn has(&self, property: &dyn Fn(&Expression) -> bool) -> bool {
        property(self) || self.parts().iter().any(|part| part.has(property))
    }

    /// Replaces each part by a function of it.
    pub fn map_parts(&self, change: &dyn Fn(&Expression) -> Expression) -> Expression {
        let all = |parts: &[Expression]| parts.iter().map(change).collect();
        match self {
            Expression::Number(_) | Expression::Named(_) | Expression::Letter(_) => self.clone(),
            Expression::Sum(parts) => Expression::Sum(all(parts)),
            Expression::Product(parts) => Expression::Product(all(parts)),
            Expression::Call(name, parts) => Expression::Call(*name, all(parts)),
            Expression::Quotient(above, below) => Expression::quotient(change(above), change(below)),
            Expression::Power(base, exponent) => Expression::power(change(base), change(exponent)),
            Expression::Negative(part) => Expression::negative(change(part)),
            Expression::PlusMinus(part, first) => Expression::PlusMinus(Box::new(change(part)), *first),
            Expression::Degrees(part) => Expression::Degrees(Box::new(change(part))),
        }
    }

    /// Returns the expression with all of its plus-minus signs read as the upper or as the lower sign.
    pub fn with_sign(&self, upper: bool) -> Expression {
        match self {
            Expression::PlusMinus(part, plus_first) => {
                let part = part.with_sign(upper);
                if *plus_first == upper { part } else { Expression::negative(part) }
            }
            other => other.map_parts(&|part| part.with_sign(upper)),
        }
    }

    /// Returns whether the expression has a plus-minus sign.
    pub fn has_plus_minus(&self) -> bool {
        self.has(&|part| matches!(part, Expression::PlusMinus(..)))
    }

    /// Returns whether the expression has no letters.
    pub fn is_constant(&self) -> bool {
        !self.has(&|part| matches!(part, Expression::Letter(_)))
    }

    /// Returns whether the imaginary unit is in the expression.
    pub fn is_complex(&self) -> bool {
        self.has(&|part| matches!(part, Expression::Named(NamedNumber::Imaginary)))
    }

    /// Returns whether a letter is in the expression.
    pub fn contains_letter(&self, letter: &str) -> bool {
        self.has(&|part| matches!(part, Expression::Letter(found) if found == letter))
    }

    /// Adds the letters of the expression that are not in the list yet.
    pub fn collect_letters(&self, letters: &mut Vec<String>) {
        if let Expression::Letter(letter) = self
            && !letters.contains(letter)
        {
            letters.push(letter.clone());
        }
        for part in self.parts() {
            part.collect_letters(letters);
        }
    }

    /// Returns the sign of an infinity: true if positive. `None` for anything else.
    pub fn infinity(&self) -> Option<bool> {
        match self {
            Expression::Named(NamedNumber::Infinity) => Some(true),
            Expression::Negative(part) => part.infinity().map(|positive| !positive),
            _ => None,
        }
    }
}

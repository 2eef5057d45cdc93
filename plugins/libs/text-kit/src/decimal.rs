//! JSON numbers compared by value, without the rounding of floating point.

use std::fmt::{self, Display, Formatter};

/// The value of a JSON number: its sign, its digits without zeros at either end, and the power of
/// ten that they are multiplied by. Two of them are equal exactly when the numbers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Display for Decimal {
    /// Writes the only spelling of a value: `-12e3`, `0e0`.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        write!(formatter, "{sign}{digits}e{}", self.exponent)
    }
}

impl Decimal {
    /// Reads a number in the grammar of JSON (RFC 8259, section 6); `None` for any other text.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction),
            None => (mantissa, ""),
        };
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let exponent = exponent - i64::try_from(fraction.len()).ok()?;
        Some(Decimal::reduced(negative, &digits, exponent))
    }

    /// Returns the value of a finite float, by the shortest digits that identify it.
    pub fn from_float(number: f64) -> Option<Decimal> {
        // Infinity and NaN have no spelling in the grammar.
        Decimal::parse(&format!("{number:e}"))
    }

    fn reduced(negative: bool, digits: &str, exponent: i64) -> Decimal {
        let digits = digits.trim_start_matches('0');
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Decimal { negative: false, digits: String::new(), exponent: 0 };
        }
        let zeros = i64::try_from(digits.len() - significant.len()).unwrap_or(i64::MAX);
        Decimal { negative, digits: significant.to_owned(), exponent: exponent.saturating_add(zeros) }
    }
}

fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Nine digits: far beyond any real exponent, and far from overflow.
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude: i64 = digits.parse().ok()?;
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal() {
        for (left, right) in [("1", "1.0"), ("1e16", "10000000000000000"), ("-0.0", "0"), ("0.5", "5e-1")] {
            assert!(Decimal::parse(left).is_some(), "{left}");
            assert_eq!(Decimal::parse(left), Decimal::parse(right), "{left} {right}");
        }
        assert_ne!(Decimal::parse("9007199254740993"), Decimal::parse("9007199254740992"));
        assert_eq!(Decimal::from_float(0.1), Decimal::parse("0.10"));
        assert_eq!(Decimal::from_float(1e16), Decimal::parse("1E+16"));
    }

    #[test]
    fn each_value_has_one_spelling() {
        for (text, expected) in [("-12.50e1", "-125e0"), ("1000", "1e3"), ("-0.0", "0e0"), ("0.01", "1e-2")] {
            let spelled = Decimal::parse(text).map(|decimal| decimal.to_string());
            assert_eq!(spelled.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn only_json_numbers_are_read() {
        for text in ["", "-", "01", "+5", ".5", "5.", "1_0", "1e", "0x1", "inf", "NaN", "1 ", "１"] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
        assert_eq!(Decimal::from_float(f64::INFINITY), None);
        assert_eq!(Decimal::from_float(f64::NAN), None);
    }
}

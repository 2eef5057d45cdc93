//! Numbers as written: with separators of thousands, decimals, repeating decimals, and powers of ten.

use crate::syntax::token::Numeral;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Maximum power of ten after an `e`.
const MAX_EXPONENT: i64 = 1_000;

/// Separators of groups of three digits. The comma is the last one, since it also separates members.
const SEPARATORS: &[&str] =
    &["{,}", ",\\!", "\\,", "\\ ", "\\;", "\\:", "{\\,}", "~", "\u{a0}", "\u{202f}", "\u{2009}", " ", ","];

/// Commands over the digits that repeat.
const REPEATS: &[&str] = &["\\overline{", "\\bar{", "\\dot{", "\\overline ", "\\bar ", "\\dot "];

/// Reads the number at the start of a text. Returns it with its length in bytes. A comma separates thousands only if
/// `with_commas`.
pub fn read_numeral(text: &str, with_commas: bool) -> Option<(Numeral, usize)> {
    let (mut digits, mut at) = whole_part(text, with_commas);
    let is_grouped = digits.len() != at;
    let mut fraction = String::new();
    let mut repeating = String::new();
    let rest = text.get(at..)?;
    if let Some(after) = rest.strip_prefix('.') {
        let decimals = leading_digits(after);
        if let Some((repeated, length)) = repeating_digits(after.get(decimals.len()..)?, decimals.is_empty())
        {
            fraction.push_str(decimals);
            repeated.clone_into(&mut repeating);
            at += 1 + decimals.len() + length;
        } else if !decimals.is_empty() {
            fraction.push_str(decimals);
            at += 1 + decimals.len();
        }
    } else if let Some(after) = rest.strip_prefix("{,}") {
        // A comma in braces is a decimal comma if the digits after it are not a group of three.
        let decimals = leading_digits(after);
        if !is_grouped && !decimals.is_empty() {
            fraction.push_str(decimals);
            at += 3 + decimals.len();
        }
    }
    if digits.is_empty() && fraction.is_empty() && repeating.is_empty() {
        return None;
    }
    let is_integer = fraction.is_empty() && repeating.is_empty();
    if digits.is_empty() {
        digits.push('0');
    }
    let mut value = value_of(&digits, &fraction, &repeating)?;
    let exponent = exponent_of(text.get(at..)?);
    if let Some((power, length)) = exponent {
        value *= power_of_ten(power)?;
        at += length;
    }
    let plain = (is_integer && exponent.is_none()).then_some(digits);
    Some((Numeral { value, digits: plain, is_vulgar_fraction: false }, at))
}

/// Returns the digits before the decimal point without separators, and their length with them.
fn whole_part(text: &str, with_commas: bool) -> (String, usize) {
    let first = leading_digits(text);
    let single = (first.to_owned(), first.len());
    if first.is_empty() || first.len() > 3 || first.starts_with('0') {
        return single;
    }
    let rest = text.get(first.len()..).unwrap_or_default();
    let allowed = SEPARATORS
        .iter()
        .filter(|separator| rest.starts_with(**separator) && (with_commas || **separator != ","));
    for separator in allowed {
        let (mut digits, mut at) = single.clone();
        let mut left = rest;
        while let Some(after) = left.strip_prefix(separator) {
            let group = leading_digits(after);
            if group.is_empty() {
                break;
            }
            if group.len() != 3 {
                // The signs between these digits do not separate thousands.
                (digits, at) = single.clone();
                break;
            }
            digits.push_str(group);
            at += separator.len() + 3;
            left = after.get(3..).unwrap_or_default();
        }
        if at > first.len() {
            return (digits, at);
        }
    }
    single
}

fn leading_digits(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Returns the repeating digits at the start of a text, and the length of their notation. Round brackets mark them only
/// directly after the point.
fn repeating_digits(text: &str, is_after_point: bool) -> Option<(&str, usize)> {
    if is_after_point && let Some(after) = text.strip_prefix('(') {
        let digits = leading_digits(after);
        let is_closed = after.get(digits.len()..)?.starts_with(')');
        return (is_closed && !digits.is_empty()).then_some((digits, digits.len() + 2));
    }
    let mark = REPEATS.iter().find(|mark| text.starts_with(**mark))?;
    let after = text.get(mark.len()..)?;
    let digits = leading_digits(after);
    if digits.is_empty() {
        return None;
    }
    if mark.ends_with('{') {
        let is_closed = after.get(digits.len()..)?.starts_with('}');
        return is_closed.then_some((digits, mark.len() + digits.len() + 1));
    }
    Some((digits.get(..1)?, mark.len() + 1))
}

/// Returns the power of ten after an `e`, and the length of its notation.
fn exponent_of(text: &str) -> Option<(i64, usize)> {
    let after = text.strip_prefix(['e', 'E'])?;
    let (sign, unsigned) = match after.strip_prefix(['-', '+']) {
        Some(unsigned) => (if after.starts_with('-') { -1 } else { 1 }, unsigned),
        None => (1, after),
    };
    let digits = leading_digits(unsigned);
    let power: i64 = digits.parse().ok().filter(|power| *power <= MAX_EXPONENT)?;
    Some((sign * power, 1 + after.len() - unsigned.len() + digits.len()))
}

/// Returns the value of the digits before the point, after it, and of those that repeat.
fn value_of(whole: &str, fraction: &str, repeating: &str) -> Option<RBig> {
    let written = integer(&format!("{whole}{fraction}"))?;
    let shift = ten_to(fraction.len());
    if repeating.is_empty() {
        return Some(RBig::from_parts(written, shift));
    }
    // A block of n digits that repeats is the block over 10^n − 1.
    let block = integer(repeating)?;
    let nines = ten_to(repeating.len()) - UBig::ONE;
    Some(RBig::from_parts(written * IBig::from(nines.clone()) + block, shift * nines))
}

fn integer(digits: &str) -> Option<IBig> {
    IBig::from_str_radix(digits, 10).ok()
}

fn ten_to(power: usize) -> UBig {
    UBig::from(10_u8).pow(power)
}

fn power_of_ten(power: i64) -> Option<RBig> {
    let size = ten_to(usize::try_from(power.unsigned_abs()).ok()?);
    Some(if power < 0 { RBig::from_parts(IBig::ONE, size) } else { RBig::from(size) })
}

/// Returns the value of digits in a base. Letters are digits from ten on. `None` for a digit that the base does not
/// have.
pub fn in_base(digits: &str, base: u32) -> Option<RBig> {
    if !(2..=36).contains(&base) {
        return None;
    }
    IBig::from_str_radix(&digits.to_lowercase(), base).ok().map(RBig::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, &str)> {
        read_numeral(text, true).map(|(numeral, at)| (numeral.value.to_string(), &text[at..]))
    }

    #[test]
    fn numbers() {
        for (text, value, rest) in [
            ("42", "42", ""),
            ("073", "73", ""),
            ("1,000", "1000", ""),
            ("1{,}234{,}567.5", "2469135/2", ""),
            ("12\\,345", "12345", ""),
            ("10,\\!000x", "10000", "x"),
            ("1,2", "1", ",2"),
            ("1,234,56", "1", ",234,56"),
            ("100, 200", "100", ", 200"),
            ("0,125", "0", ",125"),
            ("3{,}14", "157/50", ""),
            ("2.", "2", "."),
            (".5", "1/2", ""),
            ("0.\\overline{9}", "1", ""),
            ("0.1\\overline{6}", "1/6", ""),
            ("0.(36)", "4/11", ""),
            ("0.1(6)", "1/10", "(6)"),
            ("1.5e3", "1500", ""),
            ("2e", "2", "e"),
            ("12 345", "12345", ""),
            ("12 34", "12", " 34"),
        ] {
            assert_eq!(read(text), Some((value.to_owned(), rest)), "{text}");
        }
        assert_eq!(read("x"), None);
        assert_eq!(read_numeral("1,000", false).map(|(_, at)| at), Some(1));
    }

    #[test]
    fn digits_in_a_base() {
        assert_eq!(in_base("7A", 16), Some(RBig::from(122)));
        assert_eq!(in_base("12", 2), None);
        assert_eq!(in_base("1", 1), None);
    }
}

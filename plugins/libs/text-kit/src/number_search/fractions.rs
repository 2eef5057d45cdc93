//! Fractions in a running text: `3/4`, `1 1/2`, `½`.

use super::{BARS, digits, is_digit, is_vulgar, unsigned_length};
use crate::number::ascii_digit;

/// Returns the length of the fraction that a text begins with: `3/4`, `1 1/2`, `½`, `1½`, `1 ½`.
pub(super) fn fraction_length(text: &str) -> Option<usize> {
    let whole = whole_length(text)?;
    let rest = text.get(whole..)?;
    if whole > 0 && rest.starts_with(|next: char| next.is_ascii() && !matches!(next, ' ' | '/')) {
        return None;
    }
    let apart = usize::from(whole > 0 && rest.starts_with(' '));
    let next = rest.get(apart..)?;
    if let Some(sign) = next.chars().next().filter(|next| is_vulgar(*next)) {
        return Some(whole + apart + sign.len_utf8());
    }
    let above = if apart == 0 { text } else { next };
    let Ratio { numerator, denominator, length } = Ratio::read(above)?;
    // In `5 3/2` the 5 is a separate number, and so is `5 300` in `5 300/400`.
    let is_sound = apart == 0 || (is_smaller(numerator, denominator) && digits(numerator).1 != 3);
    let length = if apart == 0 { length } else { whole + apart + length };
    let ends = !text.get(length..)?.strip_prefix(BARS).is_some_and(|after| after.starts_with(is_digit));
    (is_sound && ends && !is_zero(denominator)).then_some(length)
}

/// The two numbers of a fraction, and its length in bytes.
struct Ratio<'text> {
    numerator: &'text str,
    denominator: &'text str,
    length: usize,
}

impl Ratio<'_> {
    fn read(text: &str) -> Option<Ratio<'_>> {
        let numerator = text.get(..whole_length(text).filter(|length| *length > 0)?)?;
        let below = text.get(numerator.len()..)?.strip_prefix(BARS)?;
        let denominator = below.get(..whole_length(below).filter(|length| *length > 0)?)?;
        Some(Ratio { numerator, denominator, length: text.len() - below.len() + denominator.len() })
    }
}

fn is_zero(digits: &str) -> bool {
    digits.chars().all(|digit| ascii_digit(digit) == Some('0'))
}

/// Returns whether one number is smaller than another, both of nothing but digits.
fn is_smaller(left: &str, right: &str) -> bool {
    let (left, right) = (significant(left), significant(right));
    left.len().cmp(&right.len()).then_with(|| left.cmp(&right)).is_lt()
}

/// Digits as ASCII, without zeros before them.
fn significant(digits: &str) -> String {
    digits.chars().filter_map(ascii_digit).skip_while(|digit| *digit == '0').collect()
}

/// Returns the length of the digits that a text begins with; `None` if they only begin a number with a separator, a
/// point or an exponent.
fn whole_length(text: &str) -> Option<usize> {
    let (length, _) = digits(text);
    let may_go_on = text.as_bytes().get(length).is_some_and(|next| matches!(next, b',' | b'.' | b'e' | b'E'));
    (length == 0 || !may_go_on || unsigned_length(text, true) == length).then_some(length)
}

//! Numbers in running text.

use crate::units::{is_currency_sign, unit};
use gage_sdk::PluginError;
use gage_text_kit::number::{ascii_digit, parse_float};
use gage_text_kit::text::excerpt;

/// A number in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FoundNumber<'text> {
    /// Always finite.
    pub(crate) value: f64,
    /// As the text spells it.
    pub(crate) unit: Option<&'text str>,
    /// The number without its unit.
    pub(crate) spelled: &'text str,
}

/// Where a number stands, its sign included; in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    negative: bool,
    /// Where its digits begin, behind sign and currency.
    digits: usize,
}

/// The first number of a text, or the last one.
///
/// A number is digits of any script, with a comma before each group of three, a fraction and an
/// exponent where it has them. A minus belongs to it where it stands right before it, or before its
/// currency sign, and not behind a letter, a digit or a closing bracket: `10-12` ends in 12. A
/// fraction `3/4` is two numbers.
///
/// # Errors
/// `invalid-input` where that number is beyond the range of a float; another one is not taken
/// in its place.
pub(crate) fn first_or_last(text: &str, last: bool) -> Result<Option<FoundNumber<'_>>, PluginError> {
    let mut spans = Spans { text, at: 0 };
    let span = if last { spans.last() } else { spans.next() };
    span.map(|span| read(text, span)).transpose()
}

/// The number of a text that holds just one; `None` where there are several or none.
///
/// # Errors
/// As for [`first_or_last`].
pub(crate) fn only(text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
    let mut spans = Spans { text, at: 0 };
    match (spans.next(), spans.next()) {
        (Some(span), None) => read(text, span).map(Some),
        _ => Ok(None),
    }
}

fn read(text: &str, span: Span) -> Result<FoundNumber<'_>, PluginError> {
    let spelled = text.get(span.start..span.end).unwrap_or_default();
    let digits = text.get(span.digits..span.end).unwrap_or_default();
    let number = parse_float(&digits.replace(',', "")).filter(|number| number.is_finite());
    let Some(number) = number else {
        let shown = excerpt(spelled);
        return Err(PluginError::invalid_input(format!("the number '{shown}' is too large for a float")));
    };
    let value = if span.negative && number != 0.0 { -number } else { number };
    Ok(FoundNumber { value, unit: unit(text, span.digits, span.end), spelled })
}

struct Spans<'text> {
    text: &'text str,
    at: usize,
}

impl Iterator for Spans<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let rest = self.text.get(self.at..)?;
        let (offset, _) = rest.char_indices().find(|(_, character)| is_digit(*character))?;
        let first_digit = self.at + offset;
        let before = self.text.get(self.at..first_digit)?;
        // `.5`; a point behind a digit cannot come here, unless it ended a number: `1.2.3`.
        let digits = if before.ends_with('.') { first_digit - 1 } else { first_digit };
        let (start, negative) = self.signed(digits);
        let after = self.text.get(first_digit..)?;
        let end = first_digit + unsigned_length(after, digits == first_digit);
        self.at = end;
        Some(Span { start, end, negative, digits })
    }
}

impl Spans<'_> {
    /// Where the sign of a number begins, and whether it is a minus.
    fn signed(&self, digits: usize) -> (usize, bool) {
        let before = self.text.get(self.at..digits).unwrap_or_default();
        let direct = sign(before);
        let through_currency = || sign(before.strip_suffix(is_currency_sign)?);
        let Some((unsigned, negative)) = direct.or_else(through_currency) else { return (digits, false) };
        // What ended the number before counts as well: the minus of `10-12` stands behind a digit.
        let start = self.at + unsigned.len();
        let joined = self.text.get(..start).unwrap_or_default().ends_with(|near: char| {
            near.is_ascii_alphabetic() || is_digit(near) || matches!(near, ')' | ']' | '}' | '%' | '_')
        });
        if joined { (digits, false) } else { (start, negative) }
    }
}

/// The text before the sign that it ends in, and whether that is a minus.
fn sign(text: &str) -> Option<(&str, bool)> {
    let minus = text.strip_suffix(['-', '−', '－']).map(|before| (before, true));
    minus.or_else(|| text.strip_suffix(['+', '＋']).map(|before| (before, false)))
}

/// How long the number is that a text begins with, in bytes; `whole` where what comes first are
/// the digits before the point.
fn unsigned_length(text: &str, whole: bool) -> usize {
    let (mut length, mut count) = digits(text);
    if whole {
        while count <= 3
            && let Some(group) = text.get(length..).and_then(|rest| rest.strip_prefix(','))
            && let (group_length, 3) = digits(group)
        {
            length += 1 + group_length;
            count = 3;
        }
        if let Some(fraction) = text.get(length..).and_then(|rest| rest.strip_prefix('.'))
            && let (fraction_length, 1..) = digits(fraction)
        {
            length += 1 + fraction_length;
        }
    }
    if let Some(exponent) = text.get(length..).and_then(|rest| rest.strip_prefix(['e', 'E'])) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if let (exponent_length, 1..) = digits(unsigned) {
            length += 1 + (exponent.len() - unsigned.len()) + exponent_length;
        }
    }
    length
}

/// How many bytes of digits a text begins with, and how many digits.
fn digits(text: &str) -> (usize, usize) {
    text.chars()
        .take_while(|character| is_digit(*character))
        .fold((0, 0), |(length, count), digit| (length + digit.len_utf8(), count + 1))
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit() || (!character.is_ascii() && ascii_digit(character).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &str) -> Option<(f64, &str)> {
        first_or_last(text, true).ok()?.map(|found| (found.value, found.spelled))
    }

    #[test]
    fn last_numbers() {
        for (text, expected) in [
            ("3 apples and 4.5 pears", Some((4.5, "4.5"))),
            ("it fell to -12.", Some((-12.0, "-12"))),
            ("10-12", Some((12.0, "12"))),
            ("f(x)-12", Some((12.0, "12"))),
            ("5 - 3", Some((3.0, "3"))),
            ("x=-3", Some((-3.0, "-3"))),
            ("答案是-3元", Some((-3.0, "-3"))),
            ("−7 °C", Some((-7.0, "−7"))),
            ("-$5.20", Some((-5.2, "-$5.20"))),
            ("1,234,567.8", Some((1_234_567.8, "1,234,567.8"))),
            ("12,34", Some((34.0, "34"))),
            ("1,2345", Some((2345.0, "2345"))),
            ("1234,567", Some((567.0, "567"))),
            ("1, 2, 3.", Some((3.0, "3"))),
            ("v1.2.3", Some((0.3, ".3"))),
            ("-.5", Some((-0.5, "-.5"))),
            ("0.5.", Some((0.5, "0.5"))),
            ("+5", Some((5.0, "+5"))),
            ("1e3", Some((1000.0, "1e3"))),
            ("2E-3x", Some((0.002, "2E-3"))),
            ("5e", Some((5.0, "5"))),
            ("3/4", Some((4.0, "4"))),
            ("-0", Some((0.0, "-0"))),
            ("１２．", Some((12.0, "１２"))),
            ("٣ و ٤", Some((4.0, "٤"))),
            ("x² + ½", None),
            ("inf NaN 三", None),
            ("", None),
        ] {
            assert_eq!(last(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_float_cannot_hold_is_an_error() {
        for text in ["1 or 1e400", "-1e400", &"9".repeat(400)] {
            assert!(first_or_last(text, true).is_err(), "{text}");
        }
        assert_eq!(
            first_or_last("1e400 or 1", true).map(|found| found.map(|found| found.value)),
            Ok(Some(1.0))
        );
    }

    #[test]
    fn the_first_and_the_only_one() {
        let value = |found: Result<Option<FoundNumber<'_>>, PluginError>| {
            found.ok().flatten().map(|found| found.value)
        };
        assert_eq!(value(first_or_last("-1 or 2", false)), Some(-1.0));
        assert_eq!(value(only("so 2 kg")), Some(2.0));
        assert_eq!(value(only("2 or 3")), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in r"\PC*") {
            if let Ok(Some(found)) = first_or_last(&text, true) {
                proptest::prop_assert!(found.value.is_finite() && text.contains(found.spelled));
            }
        }

        #[test]
        fn numbers_are_found_as_they_are_written(number in -1e12..1e12_f64) {
            let text = format!("so it is {number}, I think");
            proptest::prop_assert_eq!(last(&text).map(|(value, _)| value), Some(number));
        }
    }
}

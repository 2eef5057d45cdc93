//! Numbers inside a running text.

use crate::number::{ascii_digit, parse_float};
use crate::number_fraction::vulgar;
use crate::number_power::{power, raised, times_ten};
use crate::number_scale::{Place, Scale, read_scale};
use crate::number_written::{Quantity, read_quantity};
use crate::text::excerpt;
use crate::unit_search::{is_currency_sign, unit_beside};
use gage_sdk::PluginError;

/// A number in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundNumber<'text> {
    /// Always finite.
    pub value: f64,
    /// As the text spells it.
    pub unit: Option<&'text str>,
    /// The number without its unit.
    pub spelled: &'text str,
}

/// What is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberSearch {
    /// Whether `3/4`, `1 1/2` and `½` are one number; otherwise the first two are several, and the last
    /// is none. `1/2/3` is no fraction, nor is what has a point, a separator or an exponent in it, or 0
    /// below the bar.
    pub fractions: bool,
}

impl NumberSearch {
    /// The first number of a text.
    ///
    /// A number is digits of any script, with a comma before each group of three, a decimal point and an
    /// exponent where it has them, and all that multiplies it: `1.2 × 10^3`, `10^3`, `3 million`, `5k`, 3万. A minus belongs to it where it stands right before it, or before its
    /// currency sign, and not behind a letter, a digit or a closing bracket: `10-12` ends in 12. Takes time
    /// in proportion to the text.
    ///
    /// # Errors
    /// `invalid-input` where that number is beyond the range of a float; another one is not taken
    /// in its place.
    pub fn first(self, text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
        self.spans(text).next().map(|span| read(text, span)).transpose()
    }

    /// The last number of a text; the rest as for [`NumberSearch::first`].
    ///
    /// # Errors
    /// As for [`NumberSearch::first`].
    pub fn last(self, text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
        self.spans(text).last().map(|span| read(text, span)).transpose()
    }

    fn spans(self, text: &str) -> Spans<'_> {
        Spans { text, at: 0, fractions: self.fractions }
    }
}

/// The number of a text that holds just one, which may be a fraction; `None` where there are several or
/// none.
///
/// # Errors
/// As for [`NumberSearch::first`].
pub fn only_number(text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
    let mut spans = NumberSearch { fractions: true }.spans(text);
    let (first, second) = (spans.next(), spans.next());
    // Numerals without digits, and formulas, are numbers where there is nothing else: 三千五百, `\frac{3}{4}`.
    if (first.is_none() || text.contains(['\\', '点', '點', '成', '半']))
        && let Some(Quantity { value, unit }) = read_quantity(text)
    {
        let spelled = unit
            .as_ref()
            .and_then(|unit| text.get(text.rfind(unit.spelled())?..)?.get(..unit.spelled().len()));
        if unit.is_none() || spelled.is_some() {
            return Ok(Some(FoundNumber { value, unit: spelled, spelled: text }));
        }
    }
    match (first, second) {
        (Some(span), None) => read(text, span).map(Some),
        _ => Ok(None),
    }
}

/// Where a number stands, its sign included; in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    start: usize,
    end: usize,
    negative: bool,
    /// Where its digits begin, behind sign and currency.
    digits: usize,
    /// Where they end, before what multiplies the number.
    digits_end: usize,
    /// Its value without the sign, where it is a fraction.
    fraction: Option<f64>,
    /// What multiplies it.
    tail: Tail,
}

/// What stands behind the digits of a number and belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tail {
    /// What it is raised to.
    raised: Option<i64>,
    scale: Scale,
}

impl Tail {
    const NONE: Tail = Tail { raised: None, scale: Scale::ONE };

    /// The tail that a text begins with, and what follows it.
    fn read(text: &str, is_whole: bool, has_currency: bool) -> (Tail, &str) {
        let place = Place { has_currency, is_running: true };
        if is_whole && let Some((exponent, rest)) = raised(text) {
            let (scale, rest) = read_scale(rest, place);
            return (Tail { raised: Some(exponent), scale }, rest);
        }
        let Some((exponent, rest)) = times_ten(text) else {
            let (scale, rest) = read_scale(text, place);
            return (Tail { raised: None, scale }, rest);
        };
        let (scale, rest) = read_scale(rest, place);
        (Tail { raised: None, scale: Scale { power: scale.power.saturating_add(exponent), ..scale } }, rest)
    }
}

fn read(text: &str, span: Span) -> Result<FoundNumber<'_>, PluginError> {
    let spelled = text.get(span.start..span.end).unwrap_or_default();
    let digits = text.get(span.digits..span.digits_end).unwrap_or_default();
    let number = magnitude(digits, &span).filter(|number| number.is_finite());
    let Some(number) = number else {
        let shown = excerpt(spelled);
        return Err(PluginError::invalid_input(format!("the number '{shown}' is too large for a float")));
    };
    let value = if span.negative && number != 0.0 { -number } else { number };
    Ok(FoundNumber { value, unit: unit_beside(text, span.digits, span.end), spelled })
}

/// The value of a number without its sign.
fn magnitude(digits: &str, span: &Span) -> Option<f64> {
    let Tail { raised, scale } = span.tail;
    let digits = digits.replace(',', "");
    let plain = |digits: &str| span.fraction.or_else(|| parse_float(digits));
    let number = match raised {
        Some(exponent) => power(plain(&digits)?, exponent)? * scale.size(),
        None if scale == Scale::ONE => plain(&digits)?,
        // The power goes into the text, so that the value is rounded once.
        None if span.fraction.is_none() && !digits.contains(['e', 'E']) => {
            parse_float(&format!("{digits}e{}", scale.power))? * scale.factor
        }
        None => plain(&digits)? * scale.size(),
    };
    Some(number + scale.added)
}

struct Spans<'text> {
    text: &'text str,
    at: usize,
    fractions: bool,
}

impl Iterator for Spans<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let rest = self.text.get(self.at..)?;
        let (offset, _) = rest.char_indices().find(|(_, character)| self.begins(*character))?;
        let first_digit = self.at + offset;
        let before = self.text.get(self.at..first_digit)?;
        // `.5`; a point behind a digit cannot come here, unless it ended a number: `1.2.3`.
        let after = self.text.get(first_digit..)?;
        let is_whole = !before.ends_with('.') || after.starts_with(is_vulgar);
        let digits = if is_whole { first_digit } else { first_digit - 1 };
        let (start, negative) = self.signed(digits);
        let fraction = (self.fractions && is_whole).then(|| self.fraction(first_digit)).flatten();
        let length = fraction.map_or_else(|| unsigned_length(after, is_whole), |(length, _)| length);
        let digits_end = first_digit + length;
        let spelled = self.text.get(digits..digits_end)?;
        let behind = self.text.get(digits_end..)?;
        let (tail, rest) = if may_multiply(behind) {
            let before = self.text.get(..start.min(digits))?.trim_end_matches(['-', '+', '−', ' ']);
            let has_currency = before.ends_with(is_currency_sign)
                || self.text.get(start..digits).is_some_and(|signs| signs.contains(is_currency_sign));
            Tail::read(behind, fraction.is_none() && spelled.chars().all(is_digit), has_currency)
        } else {
            (Tail::NONE, behind)
        };
        let end = self.text.len() - rest.len();
        self.at = end;
        Some(Span {
            start,
            end,
            negative,
            digits,
            digits_end,
            fraction: fraction.map(|(_, value)| value),
            tail,
        })
    }
}

impl Spans<'_> {
    fn begins(&self, character: char) -> bool {
        is_digit(character) || (self.fractions && is_vulgar(character))
    }

    /// The length of the fraction at a place, in bytes, and its value.
    fn fraction(&self, start: usize) -> Option<(usize, f64)> {
        let (before, text) = self.text.split_at_checked(start)?;
        // The end of `1/2/3`.
        let is_below_bar = before.strip_suffix(BARS).is_some_and(|before| before.ends_with(is_digit));
        if is_below_bar && text.starts_with(is_digit) {
            return None;
        }
        let length = fraction_length(text)?;
        let spelled = text.get(..length)?;
        read_quantity(spelled).map(|quantity| (length, quantity.value))
    }

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

/// Whether a text may begin with what multiplies a number; most do not, and are not looked at further.
fn may_multiply(text: &str) -> bool {
    let text = text.strip_prefix([' ', '\u{a0}']).unwrap_or(text);
    text.starts_with(|first: char| {
        first.is_ascii_alphabetic() || matches!(first, '^' | '*' | '\\') || !first.is_ascii()
    })
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

/// How long what looks like a fraction is that a text begins with: `3/4`, `1 1/2`, `½`, `1½`, `1 ½`.
fn fraction_length(text: &str) -> Option<usize> {
    let whole = whole_length(text)?;
    let rest = text.get(whole..)?;
    let apart = usize::from(whole > 0 && rest.starts_with(' '));
    let next = rest.get(apart..)?;
    if let Some(sign) = next.chars().next().filter(|next| is_vulgar(*next)) {
        return Some(whole + apart + sign.len_utf8());
    }
    let ratio = if apart == 0 {
        ratio_length(text)?
    } else {
        // Of `5 3/2` the 5 is a number of its own, which is for the reader to say.
        whole + apart + ratio_length(next)?
    };
    let ends = !text.get(ratio..)?.strip_prefix(BARS).is_some_and(|after| after.starts_with(is_digit));
    ends.then_some(ratio)
}

fn ratio_length(text: &str) -> Option<usize> {
    let numerator = whole_length(text).filter(|length| *length > 0)?;
    let below = text.get(numerator..)?.strip_prefix(BARS)?;
    let denominator = whole_length(below).filter(|length| *length > 0)?;
    Some(text.len() - below.len() + denominator)
}

/// The length of the digits that a text begins with; `None` where they are only the beginning of a number
/// with a separator, a point or an exponent.
fn whole_length(text: &str) -> Option<usize> {
    let (length, _) = digits(text);
    (length == 0 || unsigned_length(text, true) == length).then_some(length)
}

/// The bars of fractions.
const BARS: &[char] = &['/', '\u{2044}', '\u{2215}'];

fn is_vulgar(character: char) -> bool {
    !character.is_ascii() && vulgar(character.encode_utf8(&mut [0; 4])).is_some()
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
mod tests;

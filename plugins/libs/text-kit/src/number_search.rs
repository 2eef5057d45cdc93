//! Numbers inside a running text.

mod fractions;

use crate::number::{ascii_digit, parse_float};
use crate::number_fraction::vulgar;
use crate::number_power::{power, raised, times_ten};
use crate::number_scale::{Place, Scale, read_scale};
use crate::number_written::{Quantity, read_quantity};
use crate::text::excerpt;
use crate::unit_search::{is_currency_sign, unit_beside};
use fractions::fraction_length;
use gage_sdk::PluginError;

/// A number in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundNumber<'text> {
    /// The value, always finite.
    pub value: f64,
    /// The unit as spelled in the text.
    pub unit: Option<&'text str>,
    /// The number without its unit.
    pub spelled: &'text str,
}

/// Options of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberSearch {
    /// True if `3/4`, `1 1/2` and `½` are one number. Otherwise the first two are several, and the last is not a
    /// number. `1/2/3` is not a fraction. Neither is a text with a point, a separator or an exponent in it, or with 0
    /// below the bar.
    pub fractions: bool,
}

impl NumberSearch {
    /// Returns the first number of a text.
    ///
    /// A number consists of digits of any script, with a comma or a space before each group of three. It may have a
    /// decimal point, an exponent and multipliers: `1.2 × 10^3`, `10^3`, `3 million`, `5k`, 3万.
    ///
    /// Spaces (including thin and no-break ones) separate groups if one to three digits come first and each further
    /// group has exactly three. A comma is then a decimal comma: `1 234,5`. `100 200` is such a row; `1 2 345` and
    /// `2024 100` are not.
    ///
    /// A minus counts if it directly precedes the number or its currency sign, and does not follow a letter, a digit or
    /// a closing bracket: `10-12` ends in 12. Takes linear time.
    ///
    /// # Errors
    /// `invalid-input` if that number is beyond the range of a float. The search does not fall back to another one.
    pub fn first(self, text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
        self.spans(text).next().map(|span| read(text, span)).transpose()
    }

    /// Returns the last number of a text; otherwise like [`NumberSearch::first`].
    ///
    /// # Errors
    /// See [`NumberSearch::first`].
    pub fn last(self, text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
        // The end of a long text is enough if it has several numbers: only the first of them may be cut off.
        for tail in [1 << 17, 1 << 19] {
            let start = text.len().saturating_sub(tail);
            if start > 0 {
                let spans = Spans { at: text.floor_char_boundary(start), ..self.spans(text) };
                let (last, count) = spans.fold((None, 0), |(_, count), span| (Some(span), count + 1));
                if let Some(span) = last.filter(|_| count > 2) {
                    return read(text, span).map(Some);
                }
            }
        }
        self.spans(text).last().map(|span| read(text, span)).transpose()
    }

    fn spans(self, text: &str) -> Spans<'_> {
        Spans { text, at: 0, fractions: self.fractions }
    }
}

/// Returns the number of a text that holds exactly one, which may be a fraction; `None` if there are several or none.
///
/// # Errors
/// See [`NumberSearch::first`].
pub fn only_number(text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
    let mut spans = NumberSearch { fractions: true }.spans(text);
    let (first, second) = (spans.next(), spans.next());
    // Numerals without digits, and formulas, are numbers if there is nothing else: 三千五百, `\frac{3}{4}`.
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

/// Position of a number including its sign, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    start: usize,
    end: usize,
    negative: bool,
    /// Start of its digits, after sign and currency.
    digits: usize,
    /// End of its digits, before any multiplier.
    digits_end: usize,
    /// True if it is a fraction.
    is_fraction: bool,
    /// True if spaces separate its groups, and a comma its decimals.
    is_spaced: bool,
    /// Multiplier of the number.
    tail: Tail,
}

/// Part of a number after its digits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tail {
    /// Exponent of the number.
    raised: Option<i64>,
    scale: Scale,
}

impl Tail {
    const NONE: Tail = Tail { raised: None, scale: Scale::ONE };

    /// Returns the tail that a text begins with, and the text after it.
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

/// Returns the value of a number without its sign.
fn magnitude(digits: &str, span: &Span) -> Option<f64> {
    let Tail { raised, scale } = span.tail;
    let fraction = if span.is_fraction { Some(read_quantity(digits)?.value) } else { None };
    let digits = match span.is_spaced {
        true => digits.replace(is_group_blank, "").replace(',', "."),
        false => digits.replace(',', ""),
    };
    let plain = |digits: &str| fraction.or_else(|| parse_float(digits));
    let number = match raised {
        Some(exponent) => power(plain(&digits)?, exponent)? * scale.size(),
        None if scale == Scale::ONE => plain(&digits)?,
        // The power is written into the text, so that the value is rounded once.
        None if !span.is_fraction && !digits.contains(['e', 'E']) => {
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
        let first_digit = self.next_digit()?;
        let after = self.text.get(first_digit..)?;
        // `.5`; a point after a digit gets here only if it ended a number: `1.2.3`.
        let is_whole = !self.text.get(self.at..first_digit)?.ends_with('.') || after.starts_with(is_vulgar);
        let digits = if is_whole { first_digit } else { first_digit - 1 };
        let (start, negative) = self.signed(digits);
        let fraction = (self.fractions && is_whole).then(|| self.fraction(first_digit)).flatten();
        let grouped = || if is_whole { self.grouped_length(first_digit) } else { None };
        let spaced = if fraction.is_some() { None } else { grouped() };
        let length = fraction.or(spaced).unwrap_or_else(|| unsigned_length(after, is_whole));
        let digits_end = first_digit + length;
        let behind = self.text.get(digits_end..)?;
        let (tail, rest) = match near_multiplier(behind) {
            Some(near) => {
                let spelled = self.text.get(digits..digits_end)?;
                let is_plain = fraction.is_none() && spelled.chars().all(is_digit);
                Tail::read(behind, is_plain, may_be_of_money(near) && self.has_currency(start, digits))
            }
            None => (Tail::NONE, behind),
        };
        let end = self.text.len() - rest.len();
        self.at = end;
        let (is_fraction, is_spaced) = (fraction.is_some(), spaced.is_some());
        Some(Span { start, end, negative, digits, digits_end, is_fraction, is_spaced, tail })
    }
}

impl Spans<'_> {
    /// Returns the position of the next digit or single-character fraction.
    fn next_digit(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            // Decoding characters costs more than everything else.
            let byte = *bytes.get(at)?;
            if byte.is_ascii_digit() {
                return Some(at);
            }
            if byte.is_ascii() {
                at += 1;
                continue;
            }
            let character = self.text.get(at..)?.chars().next()?;
            if is_digit(character) || (self.fractions && is_vulgar(character)) {
                return Some(at);
            }
            at += character.len_utf8();
        }
    }

    /// Returns the length of the fraction at a position, in bytes.
    fn fraction(&self, start: usize) -> Option<usize> {
        let (before, text) = self.text.split_at_checked(start)?;
        if !may_be_fraction(text) {
            return None;
        }
        // The end of `1/2/3`.
        let is_below_bar = before.strip_suffix(BARS).is_some_and(|before| before.ends_with(is_digit));
        if is_below_bar && text.starts_with(is_digit) {
            return None;
        }
        fraction_length(text).filter(|length| *length <= MAX_FRACTION_BYTES)
    }

    /// Returns the length in bytes of the number at a position whose groups are separated by spaces; `None` if it has
    /// no groups.
    fn grouped_length(&self, start: usize) -> Option<usize> {
        let (before, text) = self.text.split_at_checked(start)?;
        let (first, 1..=3) = digits(text) else { return None };
        text.get(first..)?.chars().next().filter(|near| is_group_blank(*near))?;
        // A row of numbers that began earlier, the rest of `10:30`, or an array printed by a program.
        let goes_on = |joint: char| is_group_blank(joint) || matches!(joint, ':' | '/' | '.' | ',');
        if before.ends_with('[')
            || before.strip_suffix(goes_on).is_some_and(|before| before.ends_with(is_digit))
        {
            return None;
        }
        if text.starts_with(|first| ascii_digit(first) == Some('0')) {
            return None;
        }
        let mut length = first;
        let mut groups = 0;
        while let Some(group) = text.get(length..)?.strip_prefix(is_group_blank)
            && let (group_length, 1..) = digits(group)
        {
            let is_group = digits(group).1 == 3 && groups < MAX_GROUPS;
            if !is_group {
                return None;
            }
            groups += 1;
            length = text.len() - group.len() + group_length;
        }
        let rest = text.get(length..).filter(|_| groups > 0)?;
        let decimals = rest.strip_prefix(['.', ',']).map_or((0, 0), digits);
        if decimals.1 == 0 {
            return Some(length);
        }
        length += 1 + decimals.0;
        // `1 234,567,890` is ambiguous.
        let goes_on =
            text.get(length..)?.strip_prefix([',', '.']).is_some_and(|after| after.starts_with(is_digit));
        (!goes_on).then_some(length)
    }

    /// Returns whether a currency sign precedes a number, or is between its sign and its digits.
    fn has_currency(&self, start: usize, digits: usize) -> bool {
        let before = self.text.get(..start.min(digits)).unwrap_or_default();
        before.trim_end_matches(['-', '+', '−', ' ']).ends_with(is_currency_sign)
            || self.text.get(start..digits).is_some_and(|signs| signs.contains(is_currency_sign))
    }

    /// Returns the position of a number's sign, and whether it is a minus.
    fn signed(&self, digits: usize) -> (usize, bool) {
        let before = self.text.get(self.at..digits).unwrap_or_default();
        if before.as_bytes().last().is_none_or(|last| last.is_ascii() && !matches!(last, b'-' | b'+' | b'$'))
        {
            return (digits, false);
        }
        let direct = sign(before);
        let through_currency = || sign(before.strip_suffix(is_currency_sign)?);
        let Some((unsigned, negative)) = direct.or_else(through_currency) else { return (digits, false) };
        // The end of the previous number also counts: the minus of `10-12` follows a digit.
        let start = self.at + unsigned.len();
        let joined = self.text.get(..start).unwrap_or_default().ends_with(|near: char| {
            near.is_ascii_alphabetic() || is_digit(near) || matches!(near, ')' | ']' | '}' | '%' | '_')
        });
        if joined { (digits, false) } else { (start, negative) }
    }
}

/// Returns the first character of a possible multiplier after a number. Most texts have none and get no further checks.
fn near_multiplier(text: &str) -> Option<char> {
    let text = text.strip_prefix([' ', '\u{a0}']).unwrap_or(text);
    text.chars().next().filter(|first| {
        // Only the first letters of scale words and abbreviations; an x only before a power of ten.
        matches!(first.to_ascii_lowercase(), 'b' | 'c' | 'd' | 'h' | 'k' | 'l' | 'm' | 'q' | 't')
            || (matches!(first, 'x' | 'X' | 'e' | 'E')
                && text.get(1..).is_some_and(|behind| behind.trim_start_matches(' ').starts_with("10")))
            || matches!(first, '^' | '*' | '\\' | '×' | '·' | '⋅' | '¹' | '²' | '³' | '⁰' | '⁴'..='⁹' | '⁻')
            || matches!(first, '十' | '百' | '千' | '万' | '萬' | '亿' | '億')
    })
}

/// Returns whether the leading digits may belong to a fraction, which most do not.
fn may_be_fraction(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits_at = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits_at(0);
    match bytes.get(whole) {
        None => false,
        Some(b' ') => {
            let above = digits_at(whole + 1);
            bytes.get(whole + 1 + above).is_some_and(|next| !next.is_ascii() || (*next == b'/' && above > 0))
        }
        Some(next) => *next == b'/' || !next.is_ascii(),
    }
}

/// Returns whether a currency sign before the number can affect a multiplier with this first character.
fn may_be_of_money(first: char) -> bool {
    !first.is_ascii_alphabetic() || matches!(first.to_ascii_lowercase(), 'k' | 'm' | 'b' | 't' | 'x')
}

/// Returns whether a character may separate groups of three digits.
fn is_group_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}')
}

/// Maximum number of space-separated groups after the first; more are a row of numbers.
const MAX_GROUPS: usize = 10;

/// Maximum length of a fraction, in bytes.
const MAX_FRACTION_BYTES: usize = 256;

/// Returns the text before its final sign, and whether that sign is a minus.
fn sign(text: &str) -> Option<(&str, bool)> {
    let minus = text.strip_suffix(['-', '−', '－']).map(|before| (before, true));
    minus.or_else(|| text.strip_suffix(['+', '＋']).map(|before| (before, false)))
}

/// Returns the length in bytes of the number that a text begins with. `whole` is true if the digits before the point
/// come first.
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

/// Fraction bars.
const BARS: &[char] = &['/', '\u{2044}', '\u{2215}'];

fn is_vulgar(character: char) -> bool {
    !character.is_ascii() && vulgar(character.encode_utf8(&mut [0; 4])).is_some()
}

/// Returns the length in bytes and the number of the digits that a text begins with.
fn digits(text: &str) -> (usize, usize) {
    let ascii = text.bytes().take_while(u8::is_ascii_digit).count();
    if text.as_bytes().get(ascii).is_none_or(u8::is_ascii) {
        return (ascii, ascii);
    }
    text.chars()
        .take_while(|character| is_digit(*character))
        .fold((0, 0), |(length, count), digit| (length + digit.len_utf8(), count + 1))
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit() || (!character.is_ascii() && ascii_digit(character).is_some())
}

#[cfg(test)]
mod tests;

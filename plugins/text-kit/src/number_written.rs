//! Numbers as people write them: separators, signs, fractions, percent, currencies, units,
//! Chinese numerals.

use crate::number::ascii_digit;
use crate::number_chinese as chinese;
use crate::number_digits::{plain, split};
use crate::text::{fold, strip};
use crate::unit::{SIGNS, Unit, is_known};

/// The longest text that is read as a number, in bytes.
const LONGEST: usize = 256;

/// A number, and the unit that it was written with.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Always finite.
    pub value: f64,
    /// Currencies are units too.
    pub unit: Option<Unit>,
}

/// Reads a text that is one number and nothing else, but for its unit: `1,234.5`, `1 234,5`, `−3`, `(3)`,
/// `$5`, `12.5%`, `1.2e3`, `1.2 × 10^3`, `3/4`, `1 1/2`, `½`, `三千五百`, `一万二`, `百分之十二`, `3 million km`.
///
/// Digits may be of any script. A number in brackets is negative, as in accounts. What separators mean
/// is decided as by [`plain`](crate::number_digits); where it is not clear there is no number. There is none
/// either in a text of more than 256 bytes, and none where the value is not finite.
pub fn read_quantity(text: &str) -> Option<Quantity> {
    let text = strip(text);
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let text = with_plain_characters(text);
    let text = text.trim();
    match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => {
            let quantity = unsigned(inner.trim())?;
            Some(Quantity { value: -quantity.value, ..quantity })
        }
        None => signed(text),
    }
}

/// ASCII in place of other digits, fullwidth forms, minus signs, blanks and fraction bars.
fn with_plain_characters(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{2212}' | '\u{fe63}' => '-',
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => ' ',
        '\u{2044}' | '\u{2215}' => '/',
        '\u{ffe5}' => '¥',
        _ if character.is_ascii() => character,
        _ => ascii_digit(character).unwrap_or(character),
    };
    fold(text).chars().map(plain).collect()
}

/// A number with a sign, before or behind the sign of a currency.
fn signed(text: &str) -> Option<Quantity> {
    let (text, sign) = without_sign(text);
    if sign.is_some() {
        let quantity = unsigned(text)?;
        return Some(Quantity { value: sign? * quantity.value, ..quantity });
    }
    unsigned(text)
}

fn without_sign(text: &str) -> (&str, Option<f64>) {
    let stripped = |signs: &[char]| text.strip_prefix(signs).map(str::trim_start);
    match (stripped(&['-', '负', '負']), stripped(&['+', '正'])) {
        (Some(rest), _) => (rest, Some(-1.0)),
        (None, Some(rest)) => (rest, Some(1.0)),
        (None, None) => (text, None),
    }
}

fn unsigned(text: &str) -> Option<Quantity> {
    let currency = SIGNS.iter().find(|sign| text.starts_with(**sign));
    let text = currency.and_then(|sign| text.strip_prefix(*sign)).unwrap_or(text).trim_start();
    let (text, sign) = if currency.is_some() { without_sign(text) } else { (text, None) };
    let (mut magnitude, rest) = share(text).or_else(|| magnitude(text))?;
    let rest = magnitude.take_scale(rest.trim());
    let unit = match (magnitude.unit, currency) {
        (Some(unit), None) if is_end(rest) => Unit::parse(unit),
        (None, Some(currency)) if is_end(rest) => Unit::parse(currency),
        (None, None) => unit_of(rest)?,
        _ => return None,
    };
    let value = sign.unwrap_or(1.0) * magnitude.value()?;
    value.is_finite().then_some(Quantity { value, unit })
}

fn is_end(rest: &str) -> bool {
    matches!(rest, "" | "." | "。")
}

/// The unit that a text is: `None` where it is none, and no unit where it is blank.
fn unit_of(rest: &str) -> Option<Option<Unit>> {
    const LONGEST_UNIT: usize = 48;
    let mut before = ' ';
    for character in rest.chars() {
        // `m2` and `m^2`, but no second number.
        if character.is_ascii_digit() && !(before.is_alphabetic() || before == '^') {
            return None;
        }
        before = character;
    }
    let starts_well = !rest.starts_with(['/', ',', '+', '-', '*', '=', '<', '>', ':', '!', '?'])
        && !rest.starts_with("分之");
    (rest.len() <= LONGEST_UNIT && starts_well).then(|| Unit::parse(rest))
}

/// A number without its sign, as exact as it was written.
struct Magnitude {
    /// Digits with at most one point.
    digits: String,
    exponent: i64,
    /// What it is divided by, and what is added to it first.
    fraction: Option<(f64, f64)>,
    unit: Option<&'static str>,
}

impl Magnitude {
    fn of(digits: String) -> Magnitude {
        Magnitude { digits, exponent: 0, fraction: None, unit: None }
    }

    fn value(&self) -> Option<f64> {
        // The exponent goes into the text, so that the value is rounded once.
        let value: f64 = format!("{}e{}", self.digits, self.exponent).parse().ok()?;
        match self.fraction {
            // An exponent belongs to the whole: 1 1/2 million.
            Some((numerator, denominator)) => {
                let scale = 10_f64.powi(i32::try_from(self.exponent).ok()?);
                Some((value * denominator + numerator * scale) / denominator)
            }
            None => Some(value),
        }
    }

    /// Takes a word such as million that a text begins with.
    fn take_scale<'text>(&mut self, rest: &'text str) -> &'text str {
        const SCALES: &[(&str, i64)] = &[
            ("thousand", 3),
            ("million", 6),
            ("billion", 9),
            ("trillion", 12),
            ("lakh", 5),
            ("crore", 7),
            ("万亿", 12),
            ("百万", 6),
            ("千万", 7),
            ("十亿", 9),
            ("万", 4),
            ("亿", 8),
            ("千", 3),
            ("百", 2),
        ];
        // 千克 is a unit, not a thousand 克.
        if is_known(rest) {
            return rest;
        }
        for (word, power) in SCALES {
            let Some(head) = rest.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word)) else {
                continue;
            };
            let after = rest.get(head.len()..).unwrap_or_default();
            if !(head.is_ascii() && after.starts_with(|next: char| next.is_ascii_alphanumeric())) {
                self.exponent += power;
                return after.trim_start();
            }
        }
        rest
    }
}

/// A share in Chinese: 百分之十二, 千分之五, 四分之三.
fn share(text: &str) -> Option<(Magnitude, &str)> {
    for (words, unit, exponent) in [("百分之", Some("%"), 0), ("千分之", Some("‰"), 0), ("万分之", None, -4)]
    {
        if let Some(text) = text.strip_prefix(words) {
            let (magnitude, rest) = magnitude(text)?;
            let exponent = magnitude.exponent + exponent;
            return Some((Magnitude { unit, exponent, ..magnitude }, rest));
        }
    }
    let (denominator, rest) = chinese::read(text)?;
    let (numerator, rest) = chinese::read(rest.strip_prefix("分之")?)?;
    Some((fraction("0".to_owned(), &numerator, &denominator)?, rest))
}

/// The number that a text begins with.
fn magnitude(text: &str) -> Option<(Magnitude, &str)> {
    if let Some((digits, rest)) = chinese::read(text) {
        if let Some(after) = rest.strip_prefix(['点', '點']) {
            let (decimals, rest) = chinese::read_digits(after);
            if !decimals.is_empty() {
                return Some((Magnitude::of(format!("{digits}.{decimals}")), rest));
            }
        }
        return Some((Magnitude::of(digits), rest));
    }
    let (written, rest) = split(text);
    if let Some((numerator, denominator, rest)) = vulgar(rest.trim_start()) {
        let whole = if written.is_empty() { "0".to_owned() } else { plain(written)? };
        let fraction = Some((f64::from(numerator), f64::from(denominator)));
        return Some((Magnitude { fraction, ..Magnitude::of(whole) }, rest));
    }
    if written.is_empty() {
        return None;
    }
    let is_whole = written.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((denominator, rest)) = rest.strip_prefix('/').and_then(leading_digits) {
        return is_whole.then(|| fraction("0".to_owned(), written, denominator))?.map(|found| (found, rest));
    }
    if let Some((numerator, denominator, rest)) = rest.strip_prefix(' ').and_then(ratio) {
        // Only a proper fraction makes a mixed number; `5 3/2` is two numbers.
        let is_proper = numerator.parse::<f64>().ok()? < denominator.parse::<f64>().ok()?;
        let mixed = || fraction(written.to_owned(), numerator, denominator);
        return (is_whole && is_proper).then(mixed)?.map(|found| (found, rest));
    }
    let mut magnitude = Magnitude::of(plain(written)?);
    let rest = match exponent(rest) {
        Some((exponent, rest)) => {
            magnitude.exponent = exponent;
            rest
        }
        None => rest,
    };
    Some((magnitude, rest))
}

fn fraction(whole: String, numerator: &str, denominator: &str) -> Option<Magnitude> {
    let parts: (f64, f64) = (numerator.parse().ok()?, denominator.parse().ok()?);
    (parts.1 != 0.0).then(|| Magnitude { fraction: Some(parts), ..Magnitude::of(whole) })
}

fn ratio(text: &str) -> Option<(&str, &str, &str)> {
    let (numerator, rest) = leading_digits(text.trim_start())?;
    let (denominator, rest) = leading_digits(rest.strip_prefix('/')?)?;
    Some((numerator, denominator, rest))
}

fn leading_digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A fraction that is one character, and what follows it.
pub(crate) fn vulgar(text: &str) -> Option<(u8, u8, &str)> {
    let character = text.chars().next()?;
    let (numerator, denominator) = match character {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅐' => (1, 7),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        '⅑' => (1, 9),
        '⅒' => (1, 10),
        _ => return None,
    };
    Some((numerator, denominator, text.get(character.len_utf8()..)?))
}

/// `e3`, `×10^3`, `x 10^{-3}`, `·10³`: the exponent, and what follows.
fn exponent(text: &str) -> Option<(i64, &str)> {
    if let Some(exponent) = text.strip_prefix(['e', 'E']) {
        return integer(exponent);
    }
    let text = text.trim_start();
    let text = ["×", "x", "X", "*", "·", "\\times"].iter().find_map(|times| text.strip_prefix(times))?;
    let text = text.trim_start().strip_prefix("10")?;
    let Some(raised) = text.strip_prefix('^') else { return superscript(text) };
    match raised.strip_prefix('{') {
        Some(inner) => {
            let (exponent, rest) = integer(inner)?;
            Some((exponent, rest.strip_prefix('}')?))
        }
        None => integer(raised),
    }
}

fn integer(text: &str) -> Option<(i64, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, rest) = leading_digits(unsigned)?;
    // Six digits: far beyond any float, and far from overflow.
    let value: i64 = if digits.len() <= 6 { digits.parse().ok()? } else { 999_999 };
    Some((if text.starts_with('-') { -value } else { value }, rest))
}

fn superscript(text: &str) -> Option<(i64, &str)> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let unsigned = text.strip_prefix('⁻').unwrap_or(text);
    let end = unsigned.find(|character| !DIGITS.contains(&character)).unwrap_or(unsigned.len());
    let (raised, rest) = unsigned.split_at(end);
    let digit = |character| DIGITS.iter().position(|digit| *digit == character);
    let digits: String =
        raised.chars().filter_map(digit).filter_map(|digit| char::from_digit(digit as u32, 10)).collect();
    let (value, _) = integer(&digits)?;
    Some((if unsigned.len() < text.len() { -value } else { value }, rest))
}

#[cfg(test)]
mod tests;

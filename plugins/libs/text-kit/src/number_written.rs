//! Numbers as people write them: separators, signs, fractions, percent, currencies, units,
//! Chinese numerals.

use crate::number::ascii_digit;
use crate::number_chinese as chinese;
use crate::number_digits::{plain, split};
use crate::number_fraction::{latex, ratio, slashed, vulgar};
use crate::number_markup::{undressed, unwrapped_unit};
use crate::number_power::{exponent, leading_digits, power, raised};
use crate::number_scale::{Place, Scale, read_scale};
use crate::text::{fold, strip};
use crate::unit::Unit;
use crate::unit_spelling::SIGNS;

/// Maximum length of a text that is read as a number, in bytes.
const MAX_NUMBER_BYTES: usize = 256;

/// A number with the unit that it was written with.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The value, always finite.
    pub value: f64,
    /// The unit; currencies are units too.
    pub unit: Option<Unit>,
}

/// Reads a text that is one number and nothing else except its unit: `1,234.5`, `1 234,5`, `−3`, `(3)`, `$5`, `12.5%`,
/// `1.2e3`, `1.2 × 10^3`, `10^3`, `3/4`, `1 1/2`, `½`, `\frac{3}{4}`, `三千五百`, `一万二`, `百分之十二`, `3 million km`, `5k`,
/// `3万5千`, `五成`, `**5**`, `≈5`.
///
/// Digits may be of any script. A number in brackets is negative, as in accounting. [`plain`](crate::number_digits)
/// defines the meaning of separators.
///
/// `None` if separators are ambiguous, or if words after the number change it in an unknown way (`5 mil`, `3 tenths`,
/// `5 and a half`). Also `None` for a text of more than 256 bytes, and for a value that is not finite.
pub fn read_quantity(text: &str) -> Option<Quantity> {
    read_quantity_in(text, None)
}

/// Reads a number like [`read_quantity`], with the unit that it should be in, if known: with kelvin, `300K` is 300
/// kelvin, otherwise 300 thousand.
pub fn read_quantity_in(text: &str, wanted: Option<&Unit>) -> Option<Quantity> {
    let text = strip(text);
    if text.is_empty() || text.len() > MAX_NUMBER_BYTES {
        return None;
    }
    let text = with_plain_characters(text);
    let text = undressed(&text);
    let text = text.as_str();
    match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => {
            let quantity = unsigned(inner.trim(), wanted)?;
            Some(Quantity { value: -quantity.value, ..quantity })
        }
        None => signed(text, wanted),
    }
}

/// Replaces other digits, fullwidth forms, minus signs, spaces and fraction bars with ASCII.
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

/// Reads a number with a sign, before or after the currency sign.
fn signed(text: &str, wanted: Option<&Unit>) -> Option<Quantity> {
    let (text, sign) = without_sign(text);
    if sign.is_some() {
        let quantity = unsigned(text, wanted)?;
        return Some(Quantity { value: sign? * quantity.value, ..quantity });
    }
    unsigned(text, wanted)
}

fn without_sign(text: &str) -> (&str, Option<f64>) {
    let stripped = |signs: &[char]| text.strip_prefix(signs).map(str::trim_start);
    match (stripped(&['-', '负', '負']), stripped(&['+', '正'])) {
        (Some(rest), _) => (rest, Some(-1.0)),
        (None, Some(rest)) => (rest, Some(1.0)),
        (None, None) => (text, None),
    }
}

fn unsigned(text: &str, wanted: Option<&Unit>) -> Option<Quantity> {
    let currency = SIGNS.iter().find(|sign| text.starts_with(**sign));
    let text = currency.and_then(|sign| text.strip_prefix(*sign)).unwrap_or(text).trim_start();
    let (text, sign) = if currency.is_some() { without_sign(text) } else { (text, None) };
    let (mut magnitude, rest) = share(text).or_else(|| magnitude(text))?;
    let as_unit = Unit::parse(unwrapped_unit(rest.trim()));
    let is_wanted = as_unit.as_ref().zip(wanted).is_some_and(|(unit, wanted)| unit.measures_as(wanted));
    // A letter directly after the number is a scale before it is a unit: 5K is five thousand.
    let is_unit =
        as_unit.is_some_and(|unit| unit.is_known()) && currency.is_none() && !matches!(rest, "K" | "K.");
    let rest = if is_wanted || is_unit {
        rest
    } else {
        let (scale, rest) = read_scale(rest, Place { has_currency: currency.is_some(), is_running: false });
        magnitude.scale = scale;
        rest
    };
    let is_attached = !rest.starts_with(' ');
    let rest = rest.trim();
    let unit = match (magnitude.unit, currency) {
        (Some(unit), None) if is_end(rest) => Unit::parse(unit),
        (None, Some(currency)) if is_end(rest) => Unit::parse(currency),
        (None, None) => unit_of(rest, is_attached && !is_wanted)?,
        _ => return None,
    };
    let value = sign.unwrap_or(1.0) * magnitude.value()?;
    value.is_finite().then_some(Quantity { value, unit })
}

fn is_end(rest: &str) -> bool {
    matches!(rest, "" | "." | "。")
}

/// Words after a number that change it in a way that is unknown here.
const CHANGING: &[&str] = &[
    "mil",
    "score",
    "gross",
    "and",
    "or",
    "to",
    "plus",
    "minus",
    "times",
    "over",
    "point",
    "half",
    "halves",
    "third",
    "thirds",
    "quarter",
    "quarters",
    "fifth",
    "fifths",
    "tenth",
    "tenths",
    "hundredth",
    "hundredths",
    "thousandth",
    "thousandths",
    "millionth",
    "millionths",
    "billionth",
    "billionths",
    "squared",
    "cubed",
    "factorial",
];

/// Characters that no unit begins with: operators, brackets, exponents and continuations of a numeral.
const NO_UNIT: &str = "/,+-*=<>:!?^×·÷±~–—…\\{[(成折点點多几余²³¹⁻⁰⁴⁵⁶⁷⁸⁹十百千万萬亿億";

/// Returns the unit that a text is: `None` if it is not a unit, `Some(None)` if it is blank.
fn unit_of(rest: &str, is_attached: bool) -> Option<Option<Unit>> {
    const MAX_UNIT_BYTES: usize = 48;
    let rest = unwrapped_unit(rest);
    let mut before = ' ';
    for character in rest.chars() {
        // `m2` and `m^2`, but not a second number.
        let is_raised = before.is_alphabetic() || matches!(before, '^' | '-' | '/');
        if character.is_ascii_digit() && !is_raised || character == '半' {
            return None;
        }
        before = character;
    }
    let unit = Unit::parse(rest);
    if unit.as_ref().is_some_and(Unit::is_known) {
        // `5B` may be billions or bytes.
        return (!(is_attached && rest == "B")).then_some(unit);
    }
    let starts_badly = rest.starts_with(|first| NO_UNIT.contains(first))
        || rest.starts_with("分之")
        || rest.starts_with("个半");
    let is_product = rest.strip_prefix(['x', 'X']).is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
    // `5G`, `5T`: giga, tera, or tesla.
    let is_prefix = is_attached && matches!(rest, "G" | "T" | "P" | "E" | "B" | "b");
    let word = rest.split(|character: char| !character.is_ascii_alphabetic()).next().unwrap_or_default();
    let changes = CHANGING.iter().any(|changing| changing.eq_ignore_ascii_case(word));
    (rest.len() <= MAX_UNIT_BYTES && !starts_badly && !is_product && !is_prefix && !changes).then_some(unit)
}

/// A number without its sign, as exact as written.
struct Magnitude {
    /// Digits with at most one point.
    digits: String,
    exponent: i64,
    /// Exponent of the number.
    raised: Option<i64>,
    /// Denominator of the number, and the amount added to it first.
    fraction: Option<(f64, f64)>,
    /// Multiplier of the number.
    scale: Scale,
    unit: Option<&'static str>,
}

impl Magnitude {
    fn of(digits: String) -> Magnitude {
        Magnitude { digits, exponent: 0, raised: None, fraction: None, scale: Scale::ONE, unit: None }
    }

    fn value(&self) -> Option<f64> {
        let exponent = self.exponent + self.scale.power;
        // The exponent is written into the text, so that the value is rounded once.
        let whole = |exponent: i64| format!("{}e{exponent}", self.digits).parse::<f64>().ok();
        let value = match (self.fraction, self.raised) {
            // A scale applies to the whole number: 1 1/2 million.
            (Some((numerator, denominator)), _) => {
                let scale = 10_f64.powi(i32::try_from(exponent).ok()?);
                (whole(exponent)? * denominator + numerator * scale) / denominator
            }
            (None, Some(raised)) => power(whole(0)?, raised)? * 10_f64.powi(i32::try_from(exponent).ok()?),
            (None, None) => whole(exponent)?,
        };
        Some(value * self.scale.factor + self.scale.added)
    }
}

/// Reads a share in Chinese: 百分之十二, 千分之五, 四分之三.
fn share(text: &str) -> Option<(Magnitude, &str)> {
    for (words, unit, exponent) in [("百分之", Some("%"), 0), ("千分之", Some("‰"), 0), ("万分之", None, -4)]
    {
        if let Some(text) = text.strip_prefix(words) {
            let (magnitude, rest) = magnitude(text)?;
            let exponent = magnitude.exponent + exponent;
            return Some((Magnitude { unit, exponent, ..magnitude }, rest));
        }
    }
    if let Some(found) = tenths(text) {
        return Some(found);
    }
    let (denominator, rest) = chinese::read(text)?;
    let (numerator, rest) = chinese::read(rest.strip_prefix("分之")?)?;
    Some((fraction("0".to_owned(), &numerator, &denominator)?, rest))
}

/// Reads tenths in Chinese: 五成, 3成, 三成五.
fn tenths(text: &str) -> Option<(Magnitude, &str)> {
    let (digits, rest) = chinese::read(text)
        .or_else(|| leading_digits(text).map(|(digits, rest)| (digits.to_owned(), rest)))?;
    let rest = rest.strip_prefix('成')?;
    let (more, rest) = chinese::read(rest)
        .or_else(|| leading_digits(rest).map(|(digits, rest)| (digits.to_owned(), rest)))
        .unwrap_or((String::new(), rest));
    let is_sound = is_end(rest) && more.len() <= 1 && digits.len() <= 2;
    let digits = format!("{digits}.{more}0");
    is_sound.then(|| (Magnitude { exponent: 1, unit: Some("%"), ..Magnitude::of(digits) }, rest))
}

/// Reads the number that a text begins with.
fn magnitude(text: &str) -> Option<(Magnitude, &str)> {
    if let Some(rest) =
        text.strip_prefix("一半").filter(|rest| is_end(rest)).or_else(|| text.strip_prefix('半'))
    {
        return Some((Magnitude::of("0.5".to_owned()), rest));
    }
    if let Some((digits, rest)) = chinese::read(text) {
        return with_decimals(digits, rest);
    }
    let (written, rest) = split(text);
    let part = vulgar(rest.trim_start())
        .map(|(numerator, denominator, rest)| ((f64::from(numerator), f64::from(denominator)), rest));
    if let Some((parts, rest)) = part.or_else(|| latex(rest.trim_start())) {
        let whole = if written.is_empty() { "0".to_owned() } else { plain(written)? };
        let is_mixed =
            written.is_empty() || (written.bytes().all(|byte| byte.is_ascii_digit()) && parts.0 < parts.1);
        let found = Magnitude { fraction: Some(parts), ..Magnitude::of(whole) };
        return (is_mixed && parts.1 != 0.0).then_some((found, rest));
    }
    if written.is_empty() {
        return None;
    }
    let is_whole = written.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((denominator, rest)) = slashed(rest) {
        return is_whole.then(|| fraction("0".to_owned(), written, denominator))?.map(|found| (found, rest));
    }
    // `1 1/2`, and `1-1/2` as in recipes and on drawings.
    if let Some((numerator, denominator, rest)) = rest.strip_prefix([' ', '-']).and_then(ratio) {
        // Only a proper fraction makes a mixed number; `5 3/2` is two numbers.
        let is_proper = numerator.parse::<f64>().ok()? < denominator.parse::<f64>().ok()?;
        let mixed = || fraction(written.to_owned(), numerator, denominator);
        return (is_whole && is_proper).then(mixed)?.map(|found| (found, rest));
    }
    let digits = plain(written)?;
    if is_whole && rest.starts_with(['点', '點']) {
        return with_decimals(digits, rest);
    }
    let mut magnitude = Magnitude::of(digits);
    if let Some((raised, rest)) = raised(rest) {
        magnitude.raised = Some(raised);
        return Some((magnitude, rest));
    }
    let rest = match exponent(rest) {
        Some((exponent, rest)) => {
            magnitude.exponent = exponent;
            rest
        }
        None => rest,
    };
    Some((magnitude, rest))
}

/// Reads an integer with decimals after 点, if any: 三点一四, 1点5. `1点5分` is a time, not a number.
fn with_decimals(digits: String, rest: &str) -> Option<(Magnitude, &str)> {
    let Some(after) = rest.strip_prefix(['点', '點']) else { return Some((Magnitude::of(digits), rest)) };
    let (decimals, end) = match leading_digits(after) {
        Some((decimals, end)) => (decimals.to_owned(), end),
        None => chinese::read_digits(after),
    };
    match decimals.is_empty() {
        true => Some((Magnitude::of(digits), rest)),
        false if end.starts_with('分') && !end.starts_with("分之") && !end.starts_with("分米") => None,
        false => Some((Magnitude::of(format!("{digits}.{decimals}")), end)),
    }
}

fn fraction(whole: String, numerator: &str, denominator: &str) -> Option<Magnitude> {
    let parts: (f64, f64) = (numerator.parse().ok()?, denominator.parse().ok()?);
    (parts.1 != 0.0).then(|| Magnitude { fraction: Some(parts), ..Magnitude::of(whole) })
}

#[cfg(test)]
mod tests;

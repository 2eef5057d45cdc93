//! Words and letters after a number that multiply it: million, 万, `k`, dozen.

use crate::number_power::leading_digits;
use crate::unit_search::begins_unit;

/// Multiplier of a number, and the amount added afterwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// A power of ten.
    pub(crate) power: i64,
    /// Factor that is not a power of ten.
    pub(crate) factor: f64,
    /// Added amount, such as the 5,000 of 3万5千.
    pub(crate) added: f64,
}

impl Scale {
    /// Scale of a number with nothing after it.
    pub(crate) const ONE: Scale = Scale { power: 0, factor: 1.0, added: 0.0 };

    /// Returns the scale as one number, without the added amount.
    pub(crate) fn size(&self) -> f64 {
        format!("1e{}", self.power).parse::<f64>().unwrap_or(f64::INFINITY) * self.factor
    }
}

/// Context in which a scale is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// True if a currency sign precedes the number: `$5m` means millions.
    pub(crate) has_currency: bool,
    /// True in running text, where a letter after a space is as likely a variable.
    pub(crate) is_running: bool,
}

/// English words, recognized in any case and in the plural. The short ones follow press usage.
const WORDS: &[(&str, i64, f64)] = &[
    ("dozen", 0, 12.0),
    ("hundred", 2, 1.0),
    ("thousand", 3, 1.0),
    ("lakh", 5, 1.0),
    ("million", 6, 1.0),
    ("mn", 6, 1.0),
    ("mln", 6, 1.0),
    ("mio", 6, 1.0),
    ("crore", 7, 1.0),
    ("billion", 9, 1.0),
    ("bn", 9, 1.0),
    ("bln", 9, 1.0),
    ("mrd", 9, 1.0),
    ("trillion", 12, 1.0),
    ("trn", 12, 1.0),
    ("tn", 12, 1.0),
    ("quadrillion", 15, 1.0),
];

/// Maximum number of scale words: `5 hundred thousand`, `3 million dozen`.
const MAX_WORDS: usize = 3;

/// Reads everything that multiplies a number, from the text directly after it. Also returns the remaining text with its
/// leading space. Reads nothing if the text begins with a unit (千克 is not a thousand 克).
pub(crate) fn read_scale(text: &str, place: Place) -> (Scale, &str) {
    let (mut scale, mut rest) = (Scale::ONE, text);
    for _ in 0..MAX_WORDS {
        let near = rest.strip_prefix([' ', '\u{a0}']).unwrap_or(rest);
        if let Some((power, after)) = chinese(near) {
            scale.power += power;
            if power > 0
                && let Some((added, after)) = smaller_parts(after, scale.power)
            {
                scale.added = added;
                return (scale, after);
            }
            rest = after;
        } else if let Some((power, factor, after)) = word(near) {
            scale.power += power;
            scale.factor *= factor;
            rest = after;
        } else {
            // A letter must be the first and only scale: `5 million m` are metres.
            let is_first = scale == Scale::ONE;
            if let Some((power, after)) = letter(near, near.len() == rest.len(), place).filter(|_| is_first) {
                scale.power += power;
                rest = after;
            }
            break;
        }
    }
    (scale, rest)
}

/// Returns a run of 十, 百, 千, 万, 亿.
fn chinese(text: &str) -> Option<(i64, &str)> {
    let first = text.chars().next().filter(|first| !first.is_ascii())?;
    chinese_power(first)?;
    if begins_unit(text) {
        return None;
    }
    let mut power = 0;
    let mut rest = text;
    while let Some((character, own)) =
        rest.chars().next().and_then(|character| Some((character, chinese_power(character)?)))
    {
        if power > 0 && begins_unit(rest) {
            break;
        }
        power += own;
        rest = rest.get(character.len_utf8()..)?;
    }
    (power <= 24).then_some((power, rest))
}

fn chinese_power(character: char) -> Option<i64> {
    Some(match character {
        '十' => 1,
        '百' => 2,
        '千' => 3,
        '万' | '萬' => 4,
        '亿' | '億' => 8,
        _ => return None,
    })
}

/// Returns the parts after 3万 in 3万5千, 3万零500, 3万5: digits, each part smaller than the one before.
fn smaller_parts(text: &str, mut power: i64) -> Option<(f64, &str)> {
    let (mut added, mut rest, mut found) = (0.0, text, false);
    loop {
        let (is_spaced, near) = match rest.strip_prefix('零') {
            Some(near) => (true, near),
            None => (false, rest),
        };
        let Some((digits, after)) = leading_digits(near).filter(|(digits, _)| digits.len() < 16) else {
            break;
        };
        let value: f64 = digits.parse().ok()?;
        // `3万5.5` is not a number.
        if after.starts_with(['.', ',', '/', ':'])
            && after.chars().nth(1).is_some_and(|next| next.is_ascii_digit())
        {
            return None;
        }
        let (own, after) = match chinese(after) {
            Some((own, after)) => (own, after),
            // 3万5 is 35,000, and 3万05 is 30,005.
            None if digits.len() == 1 && !is_spaced => (power - 1, after),
            None => (0, after),
        };
        if own >= power {
            return None;
        }
        let part = value * 10_f64.powi(i32::try_from(own).ok()?);
        if part >= 10_f64.powi(i32::try_from(power).ok()?) {
            return None;
        }
        added += part;
        (power, rest, found) = (own, after, true);
    }
    found.then_some((added, rest))
}

/// Returns an English word.
fn word(text: &str) -> Option<(i64, f64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_alphabetic).take(16).count();
    let (found, rest) = text.split_at_checked(end)?;
    let singular = if end > 4 { found.strip_suffix(['s', 'S']).unwrap_or(found) } else { found };
    let (_, power, factor) = WORDS.iter().find(|(word, ..)| word.eq_ignore_ascii_case(singular))?;
    (!continues(rest)).then_some((*power, *factor, rest))
}

/// Returns a letter that abbreviates a word: `5k`, `5K`, `5M`; with a currency also `$5m`, `$5B`, `$5T`.
fn letter(text: &str, is_attached: bool, place: Place) -> Option<(i64, &str)> {
    let letter = text.chars().next()?;
    let near = is_attached || !place.is_running;
    let power = match letter {
        'k' if near => 3,
        // After a space it is kelvin.
        'K' if is_attached => 3,
        'M' if near => 6,
        'k' | 'K' if place.has_currency => 3,
        'm' | 'M' if place.has_currency => 6,
        'b' | 'B' if place.has_currency => 9,
        't' | 'T' if place.has_currency => 12,
        _ => return None,
    };
    let rest = text.get(1..)?;
    (!continues(rest)).then_some((power, rest))
}

/// Returns whether a text continues a word, or makes a unit of the letter before it: `k/s`.
fn continues(text: &str) -> bool {
    text.starts_with(|next: char| {
        next.is_alphanumeric() && next.is_ascii() || matches!(next, '_' | '/' | '^' | '\'')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        let whole = Place { has_currency: false, is_running: false };
        let running = Place { is_running: true, ..whole };
        let money = Place { has_currency: true, ..running };
        for (text, place, size, added, rest) in [
            (" million", whole, 1e6, 0.0, ""),
            (" Millions of", running, 1e6, 0.0, " of"),
            (" hundred thousand km", whole, 1e5, 0.0, " km"),
            (" dozen", whole, 12.0, 0.0, ""),
            ("bn", whole, 1e9, 0.0, ""),
            ("k", whole, 1e3, 0.0, ""),
            (" k", whole, 1e3, 0.0, ""),
            (" k", running, 1.0, 0.0, " k"),
            (" K", whole, 1.0, 0.0, " K"),
            ("K", running, 1e3, 0.0, ""),
            ("km", whole, 1.0, 0.0, "km"),
            ("M.", running, 1e6, 0.0, "."),
            ("m", running, 1.0, 0.0, "m"),
            ("m", money, 1e6, 0.0, ""),
            (" B", money, 1e9, 0.0, ""),
            (" million m", whole, 1e6, 0.0, " m"),
            (" millionaire", running, 1.0, 0.0, " millionaire"),
            ("万人", running, 1e4, 0.0, "人"),
            ("万亿元", running, 1e12, 0.0, "元"),
            ("千克", running, 1.0, 0.0, "千克"),
            ("万千克", running, 1e4, 0.0, "千克"),
            ("百分点", running, 1.0, 0.0, "百分点"),
            ("千", whole, 1e3, 0.0, ""),
            ("万5千", whole, 1e4, 5e3, ""),
            ("亿5千万元", whole, 1e8, 5e7, "元"),
            ("万零5", whole, 1e4, 5.0, ""),
            ("万5", whole, 1e4, 5e3, ""),
            ("万500", whole, 1e4, 500.0, ""),
            ("千5万", whole, 1e3, 0.0, "5万"),
            ("", whole, 1.0, 0.0, ""),
        ] {
            let (scale, found) = read_scale(text, place);
            assert_eq!((scale.size(), scale.added, found), (size, added, rest), "{text}");
        }
    }
}

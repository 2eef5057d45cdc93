//! Units next to a number in running text.

use crate::text::is_space;
use crate::unit_spelling::{SIGNS, is_spelled, singular, spellings};
use std::sync::OnceLock;

/// Currency signs in addition to [`SIGNS`]; the first two are fullwidth forms.
const FURTHER_SIGNS: &[char] = &['￥', '＄', '₩', '₽'];

/// Units that are recognized but do not convert here. Number words are excluded: `5 million` is a number.
const FURTHER_UNITS: &[&str] = &["％", "°", "度", "month", "个月", "year", "年", "岁", "人", "个", "次"];

/// Units in the table that in running text are as likely a number, another word or a variable. `5 in a row` is not a
/// length, and `5 A` may be grades. `at` is ambiguous too, but is in no table.
const AMBIGUOUS: &[&str] = &[
    "1", "fraction", "ratio", "share", "us", "t", "d", "l", "in", "mu", "ac", "kn", "kt", "stone", "A", "B",
    "C", "F", "K", "N", "里", "节", "毛", "卡", "安", "牛", "欧", "码", "巴",
];

/// Maximum length of a word that may be a unit, in bytes.
const MAX_UNIT_CHARS: usize = 32;

/// Returns the unit of the number between two positions of a text, as spelled: a currency sign before it, otherwise the
/// unit directly after it or after one space. `None` if the unit is unknown.
pub(crate) fn unit_beside(text: &str, start: usize, end: usize) -> Option<&str> {
    let before = text.get(..start)?.trim_end_matches(['-', '+', '−']);
    // `$5$` is a formula.
    if before.ends_with('$')
        && let Some(rest) = text.get(end..).and_then(|rest| rest.strip_prefix('$'))
    {
        return unit_at(rest.strip_prefix(is_space).unwrap_or(rest));
    }
    if let Some(sign) = before.chars().next_back().filter(|sign| is_currency_sign(*sign)) {
        return before.get(before.len() - sign.len_utf8()..);
    }
    let rest = text.get(end..)?;
    if let Some(sign) = rest.chars().next().filter(|sign| is_currency_sign(*sign)) {
        return rest.get(..sign.len_utf8());
    }
    unit_at(rest.strip_prefix(is_space).unwrap_or(rest))
}

/// Returns the unit that a text begins with.
fn unit_at(near: &str) -> Option<&str> {
    let word = leading_word(near);
    let lower = singular(word);
    let known = spellings().filter(|name| !AMBIGUOUS.contains(name));
    let lengths = known.chain(FURTHER_UNITS.iter().copied()).filter_map(|name| {
        let is_it = !word.is_empty() && is_spelled(name, word, &lower);
        if is_it { Some(word.len()) } else { length_of(near, name) }
    });
    near.get(..lengths.max()?)
}

/// Returns whether a text begins with a unit whose first character is a number word: 千克, 百帕.
pub(crate) fn begins_unit(text: &str) -> bool {
    static UNITS: OnceLock<Vec<&str>> = OnceLock::new();
    if !text.starts_with(['千', '百']) {
        return false;
    }
    let units = UNITS.get_or_init(|| spellings().filter(|name| name.starts_with(['千', '百'])).collect());
    units.iter().any(|name| text.starts_with(name))
}

/// Returns whether a character is a currency sign.
pub(crate) fn is_currency_sign(character: char) -> bool {
    if character.is_ascii() {
        return character == '$';
    }
    let mut bytes = [0; 4];
    FURTHER_SIGNS.contains(&character) || SIGNS.contains(&&*character.encode_utf8(&mut bytes))
}

/// Returns the letters that a text begins with, if they are a separate word.
fn leading_word(text: &str) -> &str {
    let end = text.bytes().take_while(u8::is_ascii_alphabetic).take(MAX_UNIT_CHARS).count();
    let (word, after) = text.split_at_checked(end).unwrap_or_default();
    if continues_word(after) { "" } else { word }
}

/// Returns the length of a unit that a text begins with, as spelled or in the plural.
fn length_of(text: &str, name: &str) -> Option<usize> {
    let mut after = text.strip_prefix(name)?;
    let is_word = name.ends_with(|last: char| last.is_ascii_alphanumeric());
    if is_word && name.contains(' ') {
        after = after.strip_prefix('s').unwrap_or(after);
    }
    (!(is_word && continues_word(after))).then(|| text.len() - after.len())
}

fn continues_word(text: &str) -> bool {
    text.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_beside_a_number() {
        for (text, expected) in [
            ("5%", Some("%")),
            ("5 %.", Some("%")),
            ("5 percentage points", Some("percentage points")),
            ("5 per cent", Some("per cent")),
            ("$5", Some("$")),
            ("$-5", Some("$")),
            ("5€", Some("€")),
            ("₩5", Some("₩")),
            ("5 km away", Some("km")),
            ("5km/h", Some("km/h")),
            ("5 kmx", None),
            ("5 Kilometres", Some("Kilometres")),
            ("5 days", Some("days")),
            ("5 m²", Some("m²")),
            ("5 m^2", Some("m^2")),
            ("5 inches", Some("inches")),
            ("5 pounds", Some("pounds")),
            ("5 in a row", None),
            ("5 of us", None),
            ("5 us", None),
            ("5 1", None),
            ("5 apples", None),
            ("5  m", None),
            ("5 元。", Some("元")),
            ("5 °C", Some("°C")),
            ("5℃", Some("℃")),
            ("5 square feet", Some("square feet")),
            ("5 A", None),
            ("$5$", None),
            ("$5$ km", Some("km")),
            ("5 million", None),
            ("5万元", None),
            ("5个月", Some("个月")),
            ("5百分点", Some("百分点")),
            ("5", None),
        ] {
            let start = text.find('5').unwrap_or_default();
            let start = if text.contains("-5") { start - 1 } else { start };
            let end = text.find('5').map_or(0, |at| at + 1);
            assert_eq!(unit_beside(text, start, end), expected, "{text}");
        }
    }

    #[test]
    fn no_unit_stands_in_both_tables() {
        for unit in FURTHER_UNITS {
            assert!(!spellings().any(|name| name == *unit), "{unit}");
        }
        for unit in AMBIGUOUS {
            assert!(spellings().any(|name| name == *unit), "{unit}");
        }
    }
}

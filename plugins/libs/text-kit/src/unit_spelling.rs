//! Spellings of units: the names in the table, their plurals, and the signs of currencies.

use crate::unit_table::KINDS;

/// Signs of currencies that stand before a number, longer ones first.
pub(crate) const SIGNS: &[&str] =
    &["US$", "USD", "EUR", "GBP", "CNY", "RMB", "JPY", "INR", "人民币", "$", "€", "£", "¥", "₹"];

/// The spellings of the units that convert, each with the rule of [`is_spelled`].
pub(crate) fn spellings() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.units.iter().flat_map(|unit| unit.names.iter().copied()))
}

/// Returns whether a text, in `singular` once more as [`singular`] gives it, is a spelling of the table.
pub(crate) fn is_spelled(name: &str, text: &str, singular: &str) -> bool {
    name == text || (name.len() >= 3 && name == singular)
}

/// In lower case, without the ending of an English plural.
pub(crate) fn singular(text: &str) -> String {
    let mut lower = text.to_lowercase();
    if lower.len() > 3 && lower.ends_with('s') && !lower.ends_with("ss") {
        lower.pop();
    }
    lower
}

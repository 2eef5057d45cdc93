//! Spellings of units: the names in the table, their plurals, and currency signs.

use crate::unit_table::KINDS;

/// Currency signs that precede a number, longer ones first.
pub(crate) const SIGNS: &[&str] =
    &["US$", "USD", "EUR", "GBP", "CNY", "RMB", "JPY", "INR", "人民币", "$", "€", "£", "¥", "₹"];

/// Returns the spellings of the units that convert, each subject to the rule of [`is_spelled`].
pub(crate) fn spellings() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.units.iter().flat_map(|unit| unit.names.iter().copied()))
}

/// Returns whether a text is a spelling in the table. `singular` is the text as returned by [`singular`].
pub(crate) fn is_spelled(name: &str, text: &str, singular: &str) -> bool {
    name == text || (name.len() >= 3 && name == singular)
}

/// Returns the text in lower case, without the ending of an English plural.
pub(crate) fn singular(text: &str) -> String {
    let mut lower = text.to_lowercase();
    if lower.len() > 3 && lower.ends_with('s') && !lower.ends_with("ss") {
        lower.pop();
    }
    lower
}

//! Size of a compiled pattern.

/// Maximum weight of a pattern. Compiling costs some 4,000 units of fuel per unit of weight, so this is four fifths of
/// the default budget of an item.
pub(crate) const MAX_WEIGHT: u64 = 100_000;

/// Returns the weight of a set or a character from its translation: roughly the fuel to compile it, relative to `a`.
/// Unicode sets are large, ASCII sets are not.
pub(crate) fn of_atom(text: &str) -> u64 {
    let count = |part: &str| text.matches(part).count() as u64;
    let sets = count(r"\p{L}") * 860 + count(r"\d") * 88 + count(r"\s") * 13;
    let complement = match text {
        "." | "(?s:.)" => 14,
        _ => count("[^") * if text.contains(r"\s") { 31 } else { 14 },
    };
    let wide = if text.is_ascii() { 0 } else { 5 };
    1 + sets + complement + wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_unicode_are_heavy() {
        for (text, expected) in
            [("a", 1), ("[0-9A-Za-z_]", 1), (".", 15), (r"[\p{L}\p{N}_]", 861), (r"[\d]", 89), ("é", 6)]
        {
            assert_eq!(of_atom(text), expected, "{text}");
        }
    }
}

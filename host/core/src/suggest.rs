//! Checks of user-supplied names: suggestions for unknown names, and safe file names.

use crate::bounded_text::shown_name;

/// Maximum length of a name that is compared with others. The time of a comparison grows with the product of both lengths.
const MAX_COMPARED_BYTES: usize = 128;

/// Returns the known name that is closest to the input, if one is close enough.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let found = known.iter().filter_map(|name| Some((distance(typed, name)?, *name)));
    let nearest = found.min_by_key(|(distance, _)| *distance).map(|(_, name)| name);
    nearest.or_else(|| only_completion(typed, &known))
}

/// Returns the only known name that begins with the input, if that has at least three characters.
fn only_completion<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    if typed.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let typed = typed.to_lowercase();
    let mut found = known.iter().filter(|name| name.to_lowercase().starts_with(&typed));
    match (typed.chars().count() >= 3, found.next(), found.next()) {
        (true, Some(name), None) => Some(name),
        _ => None,
    }
}

/// Returns the number of typos between two names, ignoring case. `None` if there are more than a third of the
/// longer name's length (but at least 1), or if a name is longer than 128 bytes.
pub fn distance(typed: &str, name: &str) -> Option<usize> {
    if typed.len().max(name.len()) > MAX_COMPARED_BYTES {
        return None;
    }
    let (typed, name) = (typed.to_lowercase(), name.to_lowercase());
    let (shorter, longer) = (typed.chars().count(), name.chars().count());
    let (shorter, longer) = (shorter.min(longer), shorter.max(longer));
    let most = (longer / 3).max(1);
    // Names whose lengths differ by more cannot be close.
    if longer - shorter > most {
        return None;
    }
    let distance = strsim::damerau_levenshtein(&typed, &name);
    (distance <= most).then_some(distance)
}

/// Checks a name for use as a file or folder name: 1 to 128 ASCII letters, digits, `.`, `_` and `-`, starting
/// with a letter or a digit.
///
/// # Errors
/// Description of the problem.
pub fn check_name(name: &str) -> Result<(), String> {
    const ALLOWED: &str =
        "use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or a digit";
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    let is_safe = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    if let Some(bad) = name.chars().find(|character| !is_safe(*character)) {
        return Err(format!("'{}' contains the character {bad:?}; {ALLOWED}", shown_name(name)));
    }
    if !starts_well || name.len() > 128 {
        return Err(format!("'{}' is not a usable name; {ALLOWED}", shown_name(name)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_far_off() {
        let known = ["max_samples", "metrics", "loader"];
        assert_eq!(nearest("max_sample", known), Some("max_samples"));
        assert_eq!(nearest("Metric", known), Some("metrics"));
        assert_eq!(nearest("laoder", known), Some("loader"));
        assert_eq!(nearest("max", known), Some("max_samples"));
        assert_eq!(nearest("me", known), None);
        assert_eq!(nearest("temperature", known), None);
    }

    #[test]
    fn long_names_are_not_compared() {
        let name = "a".repeat(MAX_COMPARED_BYTES);
        assert_eq!(distance(&name, &name.replacen('a', "b", 1)), Some(1));
        let long = name + "a";
        assert_eq!((distance(&long, &long), nearest(&long, [long.as_str()])), (None, None));
    }

    #[test]
    fn names_cannot_leave_their_folder() {
        for good in ["a", "run-1", "2026-01-01_x.y"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "-x", "a b", "é", &"x".repeat(129)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}

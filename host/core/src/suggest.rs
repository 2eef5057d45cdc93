//! Names that a person typed: which known one was meant, and which are safe as a file name.

/// The known name that is nearest to what was typed, where one is near enough to be meant.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = known.into_iter().filter_map(|name| Some((distance(typed, name)?, name)));
    found.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Returns how many slips of the pen lie between two names, whatever their case: at most a third of the characters
/// of the longer,
/// or 1; none where they are further apart.
pub fn distance(typed: &str, name: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(&typed.to_lowercase(), &name.to_lowercase());
    let most = (name.chars().count().max(typed.chars().count()) / 3).max(1);
    (distance <= most).then_some(distance)
}

/// Checks a name that becomes a file or folder name: 1 to 128 of ASCII letters, digits, `.`,
/// `_` and `-`, the first one a letter or a digit.
///
/// # Errors
/// What is wrong, in words.
pub fn check_name(name: &str) -> Result<(), String> {
    const ALLOWED: &str =
        "use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or a digit";
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    let is_safe = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    if let Some(bad) = name.chars().find(|character| !is_safe(*character)) {
        return Err(format!("'{name}' holds the character {bad:?}; {ALLOWED}"));
    }
    if !starts_well || name.len() > 128 {
        return Err(format!("'{name}' is not a usable name; {ALLOWED}"));
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
        assert_eq!(nearest("temperature", known), None);
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

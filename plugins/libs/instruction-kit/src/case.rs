//! Upper and lower case of texts as in Python's `str` methods.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Implements Python's `str.isupper()`: at least one letter has a case, and all of those are upper case.
pub(crate) fn is_upper(text: &str) -> bool {
    is_all(text, char::is_uppercase, char::is_lowercase)
}

/// Implements Python's `str.islower()`.
pub(crate) fn is_lower(text: &str) -> bool {
    is_all(text, char::is_lowercase, char::is_uppercase)
}

fn is_all(text: &str, wanted: fn(char) -> bool, unwanted: fn(char) -> bool) -> bool {
    let mut is_found = false;
    for character in text.chars() {
        if unwanted(character) || is_title(character) {
            return false;
        }
        is_found |= wanted(character);
    }
    is_found
}

/// Returns whether a character joins an upper case and a lower case letter, such as `ǅ`.
fn is_title(character: char) -> bool {
    !character.is_ascii() && get_general_category(character) == GeneralCategory::TitlecaseLetter
}

/// Returns whether a character is part of a word by the Unicode standard (UTS 18, annex C), as for NLTK 3.10: letters,
/// combining marks, decimal digits, connectors such as the underscore. Python's own `re`, which NLTK 3.9 used,
/// takes no marks, and so splits words of Hindi or Thai.
pub(crate) fn is_word(character: char) -> bool {
    use GeneralCategory as Category;
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    character.is_alphabetic()
        || matches!(character, '\u{200c}' | '\u{200d}')
        || matches!(
            get_general_category(character),
            Category::NonspacingMark
                | Category::SpacingMark
                | Category::EnclosingMark
                | Category::DecimalNumber
                | Category::ConnectorPunctuation
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_those_of_python() {
        for (text, upper, lower) in [
            ("", false, false),
            ("12, 3", false, false),
            ("A 1!", true, false),
            ("a 1!", false, true),
            ("Aa", false, false),
            ("ǅ", false, false),
            ("Ａ", true, false),
            ("中文", false, false),
            ("ª", false, true),
        ] {
            assert_eq!((is_upper(text), is_lower(text)), (upper, lower), "{text:?}");
        }
    }

    #[test]
    fn marks_are_parts_of_words() {
        let found: String = "aé_5Ⅷ中\u{301}-²😀".chars().filter(|character| is_word(*character)).collect();
        assert_eq!(found, "aé_5Ⅷ中\u{301}");
    }
}

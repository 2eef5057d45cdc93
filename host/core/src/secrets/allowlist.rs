//! Which words are so ordinary that they are looked for nowhere, whoever uses one as a key.

/// A word has fewer letters than this, and a name that is made of several fewer characters.
const MAX_WORD_CHARS: usize = 20;
const MAX_NAME_CHARS: usize = 24;
/// What stands between the words of a name.
const JOINTS: [char; 3] = ['_', '-', '.'];

/// Whether a text is one word: letters of one case, or with a capital in front.
pub(super) fn is_plain_word(text: &str) -> bool {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return false };
    let (is_lower, is_upper) = letters.fold((true, true), |(is_lower, is_upper), one| {
        (is_lower && one.is_lowercase(), is_upper && one.is_uppercase())
    });
    let is_word = first.is_alphabetic() && (is_lower || first.is_uppercase() && is_upper);
    is_word && text.chars().count() < MAX_WORD_CHARS
}

/// The names in a text that are made of several words: `exact_match`, `gage-tiny`.
pub(super) fn words(text: &str) -> Vec<String> {
    let is_part = |one: char| one.is_alphanumeric() || JOINTS.contains(&one);
    let parts = text.split(|one| !is_part(one)).map(|part| part.trim_matches(JOINTS));
    let is_name = |part: &&str| {
        part.contains(JOINTS)
            && part.chars().count() < MAX_NAME_CHARS
            && part.split(JOINTS).all(is_plain_word)
    };
    parts.filter(is_name).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_what_is_random() {
        for (text, is_word) in [
            ("question", true),
            ("Question", true),
            ("QUESTION", true),
            ("élève", true),
            ("qUestion", false),
            ("QUEStion", false),
            ("question1", false),
            ("exact_match", false),
            ("abcdefghijklmnopqrstuvwx", false),
            ("", false),
        ] {
            assert_eq!(is_plain_word(text), is_word, "{text}");
        }
        assert_eq!(words("an exact_match, (gage-tiny) a.B-c; sk-1 x"), ["exact_match", "gage-tiny", "a.B-c"]);
    }
}

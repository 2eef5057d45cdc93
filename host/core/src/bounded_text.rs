//! Bounded texts and lists for messages. Names that strangers choose may have any length, and there may be any number.

use crate::escape::printable_line;
use std::borrow::Cow;

/// Maximum length of a name in a message, in characters.
pub const MAX_SHOWN_NAME_CHARS: usize = 200;

/// Returns a text of at most `max_chars` characters: the text itself, or its beginning and an ellipsis.
pub fn shortened(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.char_indices().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    let beginning: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    Cow::Owned(beginning + "…")
}

/// Returns a name for a message: shortened, and on one line.
pub fn shown_name(name: &str) -> String {
    printable_line(&shortened(name, MAX_SHOWN_NAME_CHARS)).into_owned()
}

/// Lists names for a message: up to `max_names` of them, each shortened and on one line, and the number of the others.
pub fn name_list<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
    max_names: usize,
    separator: &str,
) -> String {
    let mut names = names.into_iter();
    let mut list: Vec<String> =
        names.by_ref().take(max_names).map(|name| shown_name(name.as_ref())).collect();
    let others = names.count();
    if others > 0 {
        list.push(format!("and {others} more"));
    }
    list.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_lists_are_bounded() {
        for (text, max_chars, expected) in [("éé", 2, "éé"), ("ééé", 2, "é…"), ("", 0, ""), ("a", 1, "a")]
        {
            assert_eq!(shortened(text, max_chars), expected, "{text}");
        }
        let long = "a".repeat(1_000);
        assert_eq!(shortened(&long, 10).chars().count(), 10);
        assert_eq!(name_list(["a", "b"], 2, ", "), "a, b");
        assert_eq!(name_list(["a", "b\nc", "d", "e"], 2, ", "), "a, b\\nc, and 2 more");
        assert_eq!(shown_name("a\nerror: b\u{202e}"), "a\\nerror: b\\u{202e}");
        assert_eq!(name_list([""; 0], 2, ", "), "");
        assert_eq!(shown_name(&long).chars().count(), MAX_SHOWN_NAME_CHARS);
    }
}
